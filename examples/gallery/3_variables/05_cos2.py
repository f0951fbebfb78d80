"""
Which columns are shown well?
=============================

cos² is the share of a column's variance that a component shows.
"""

from sklearn.datasets import load_wine

from princomp import PCA, plots

wine = load_wine(as_frame=True)
model = PCA(5, scale="unit").fit(wine.data)
plots.cos2(model).figure
