"""
Components of pictures
======================

An axis of pictures is a picture.
"""

from matplotlib.figure import Figure
from sklearn.datasets import load_digits

from princomp import PCA

model = PCA(16).fit(load_digits().data)

figure = Figure(figsize=(6, 6.4), layout="constrained")
for i, ax in enumerate(figure.subplots(4, 4).flat):
    ax.imshow(model.components_[i].reshape(8, 8), cmap="RdBu", vmin=-0.4, vmax=0.4)
    ax.set(title=f"PC{i + 1}: {model.explained_variance_ratio_[i]:.1%}", xticks=[], yticks=[])
figure
