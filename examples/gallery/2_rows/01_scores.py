"""
Scores
======

Rows on the first two components, at equal scales, so that distances are right. Rows far from the
centre are labelled; labels never overlap.
"""

import pandas as pd

from princomp import PCA

states = pd.read_csv("../../usarrests.csv", index_col="State")
model = PCA(2, scale="unit").fit(states)
model.plot.scores(states).figure
