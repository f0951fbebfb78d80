"""
Three components at once
========================

For a first look; a printed figure is easier to read in two dimensions.
"""

from matplotlib.figure import Figure
from sklearn.datasets import load_wine

from princomp import PCA

wine = load_wine(as_frame=True)
scores = PCA(3, scale="unit").fit_transform(wine.data)

figure = Figure(figsize=(6, 5), layout="constrained")
ax = figure.add_subplot(projection="3d")
for i, (name, colour) in enumerate(
    zip(wine.target_names, ["#0072B2", "#D55E00", "#009E73"], strict=True)
):
    ax.scatter(*scores[wine.target == i].T, color=colour, label=name, s=12)
ax.set(xlabel="PC1", ylabel="PC2", zlabel="PC3")
ax.legend()
figure
