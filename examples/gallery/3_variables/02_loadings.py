"""
Loadings
========

What each component is made of.
"""

from sklearn.datasets import load_wine

from princomp import PCA

wine = load_wine(as_frame=True)
model = PCA(3, scale="unit").fit(wine.data)
model.plot.loadings().figure
