"""
Two rings
=========

No line separates two rings. Components of a Gaussian kernel do.
"""

from matplotlib.figure import Figure
from sklearn.datasets import make_circles

from princomp import PCA, KernelPCA

X, ring = make_circles(500, factor=0.3, noise=0.05, random_state=0)
linear = PCA(2).fit_transform(X)
kernel = KernelPCA(2, kernel="rbf", gamma=2).fit_transform(X)

figure = Figure(figsize=(9, 3.1), layout="constrained")
for ax, rows, title in zip(
    figure.subplots(1, 3),
    (X, linear, kernel),
    ("rows", "linear", "kernel: rbf, gamma 2"),
    strict=True,
):
    for one, colour, marker in ((0, "#0072B2", "o"), (1, "#D55E00", "^")):
        ax.scatter(*rows[ring == one].T, s=9, color=colour, marker=marker, linewidths=0)
    ax.set(title=title, xticks=[], yticks=[])
figure
