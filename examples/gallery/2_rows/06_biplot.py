"""
Biplot
======

Rows and variables in one figure. Arrows are loadings times one factor for both axes, so their
angles are right: a small angle means correlated columns.
"""

import pandas as pd

from princomp import PCA

states = pd.read_csv("../../usarrests.csv", index_col="State")
model = PCA(2, scale="unit").fit(states)
model.plot.biplot(states).figure
