"""
Chosen labels
=============

Label the rows that you write about.
"""

import pandas as pd

from princomp import PCA

states = pd.read_csv("../../usarrests.csv", index_col="State")
model = PCA(2, scale="unit").fit(states)
model.plot.scores(states, label=["Florida", "California", "Vermont", "North Dakota"]).figure
