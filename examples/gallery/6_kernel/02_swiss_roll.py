"""
Unroll a Swiss roll
===================

A kernel can be any matrix of similarities. With distances along the sheet (shortest paths between
neighbours) kernel PCA unrolls it, which is Isomap.
"""

from matplotlib.figure import Figure
from scipy.sparse.csgraph import shortest_path
from sklearn.datasets import make_swiss_roll
from sklearn.neighbors import kneighbors_graph

from princomp import PCA, KernelPCA

X, along = make_swiss_roll(1000, noise=0.05, random_state=0)
paths = shortest_path(kneighbors_graph(X, 10, mode="distance"), directed=False)
linear = PCA(2).fit_transform(X)
sheet = KernelPCA(2, kernel="precomputed").fit_transform(-0.5 * paths**2)

figure = Figure(figsize=(9, 3.1), layout="constrained")
for ax, rows, title in zip(
    figure.subplots(1, 3),
    (X[:, [0, 2]], linear, sheet),
    ("rows, from the side", "linear", "distances along the sheet"),
    strict=True,
):
    ax.scatter(*rows.T, s=9, c=along, cmap="viridis", linewidths=0)
    ax.set(title=title, xticks=[], yticks=[])
figure
