"""
Four ways to scale
==================

The same table, divided by nothing, the standard deviation, its square root, or the range.
Proline, whose numbers are in the hundreds, decides everything where nothing is divided.
"""

from matplotlib.figure import Figure
from sklearn.datasets import load_wine

from princomp import PCA

wine = load_wine(as_frame=True)
figure = Figure(figsize=(8, 8), layout="constrained")
for ax, scale in zip(figure.subplots(2, 2).flat, [None, "unit", "pareto", "range"], strict=True):
    model = PCA(2, scale=scale).fit(wine.data)
    groups = wine.target_names[wine.target].tolist()
    model.plot.scores(wine.data, groups=groups, label=0, ellipses="none", ax=ax)
    ax.set_title(f"scale={scale!r}")
figure
