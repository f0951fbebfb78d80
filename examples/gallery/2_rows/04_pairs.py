"""
All planes of four components
=============================

Two components may hide what the third shows.
"""

from sklearn.datasets import load_wine

from princomp import PCA, plots

wine = load_wine(as_frame=True)
model = PCA(4, scale="unit").fit(wine.data)
plots.pairs(model, wine.data, groups=wine.target_names[wine.target].tolist())[0, 0].figure
