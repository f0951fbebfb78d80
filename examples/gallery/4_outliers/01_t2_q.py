"""
T² and Q
========

T² is the distance of a row within the components, Q its distance from them, with limits for 95%
of the rows.
"""

import pandas as pd

from princomp import PCA

states = pd.read_csv("../../usarrests.csv", index_col="State")
model = PCA(2, scale="unit").fit(states)
model.plot.outliers(states, training=True).figure
