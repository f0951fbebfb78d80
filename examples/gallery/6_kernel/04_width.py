"""
The width of a kernel
=====================

γ decides what is near. Too small, and kernel PCA is linear; too large, and each row is alone.
``"median"`` is a good start.
"""

from matplotlib.figure import Figure
from sklearn.datasets import make_moons

from princomp import KernelPCA

X, moon = make_moons(300, noise=0.06, random_state=0)

figure = Figure(figsize=(9, 2.6), layout="constrained")
for ax, gamma in zip(figure.subplots(1, 4), (0.01, "median", 10, 1000), strict=True):
    scores = KernelPCA(2, kernel="rbf", gamma=gamma).fit_transform(X)
    ax.scatter(*scores.T, s=8, c=moon, cmap="coolwarm", linewidths=0)
    ax.set(title=f"gamma={gamma!r}", xticks=[], yticks=[])
figure
