"""
Parallel analysis
=================

A component counts if its variance is larger than that of the same component in tables without
structure (Horn 1965). The dashed line is the 95% quantile of 100 such tables.
"""

from sklearn.datasets import load_wine

from princomp import PCA, choose, plots

wine = load_wine(as_frame=True)
model = PCA(scale="unit").fit(wine.data)
decision = choose(wine.data, ["parallel"], scale="unit")["parallel"]
plots.scree(model, decision=decision, most=10).figure
