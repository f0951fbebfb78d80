"""
Correlation circle
==================

Correlations of columns with two components. An arrow that reaches the circle is shown completely.
Only for ``scale="unit"``, where loadings are correlations.
"""

import pandas as pd

from princomp import PCA

states = pd.read_csv("../../usarrests.csv", index_col="State")
model = PCA(2, scale="unit").fit(states)
model.plot.circle().figure
