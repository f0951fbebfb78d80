"""
Contributions
=============

The share of a component that comes from each column, in percent. The line is where all columns
would be if they were equal.
"""

from sklearn.datasets import load_wine

from princomp import PCA, plots

wine = load_wine(as_frame=True)
model = PCA(2, scale="unit").fit(wine.data)
plots.contributions(model, 1).figure
