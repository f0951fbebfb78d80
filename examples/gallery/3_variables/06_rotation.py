"""
Varimax rotation
================

Rotated components have loadings that are either large or near zero, which makes them easier to
name. Together they hold the same variance.
"""

from matplotlib.figure import Figure
from sklearn.datasets import load_wine

from princomp import PCA, rotate

wine = load_wine(as_frame=True)
model = PCA(3, scale="unit").fit(wine.data)
turned = rotate(model, "varimax")

figure = Figure(figsize=(6.5, 5), layout="constrained")
axes = figure.subplots(1, 2, sharey=True)
for ax, table, title in zip(
    axes, (model.loadings_, turned.loadings), ("PCA", "varimax"), strict=True
):
    picture = ax.imshow(table, cmap="RdBu", vmin=-1, vmax=1, aspect="auto")
    ax.set(title=title, xticks=range(3), yticks=range(13), yticklabels=wine.data.columns)
    ax.set_xticklabels([f"{'RC' if title == 'varimax' else 'PC'}{i + 1}" for i in range(3)])
figure.colorbar(picture, label="loading")
figure
