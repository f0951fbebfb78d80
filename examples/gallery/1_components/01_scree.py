"""
Scree plot
==========

Bars are the share of the *total* variance of each component; the line is their cumulative sum.
The components that the model keeps are darker.
"""

import pandas as pd

from princomp import PCA

states = pd.read_csv("../../usarrests.csv", index_col="State")
model = PCA(2, scale="unit").fit(states)
model.plot.scree().figure
