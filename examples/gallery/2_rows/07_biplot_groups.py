"""
Biplot with groups
==================

The largest arrows of many.
"""

from sklearn.datasets import load_wine

from princomp import PCA

wine = load_wine(as_frame=True)
model = PCA(2, scale="unit").fit(wine.data)
groups = wine.target_names[wine.target].tolist()
model.plot.biplot(wine.data, groups=groups, top=6, label=0).figure
