"""
Loadings with intervals
=======================

Loadings whose interval includes zero should not be interpreted.
"""

import pandas as pd

from princomp import PCA, bootstrap

states = pd.read_csv("../../usarrests.csv", index_col="State")
model = PCA(2, scale="unit").fit(states)
sure = bootstrap(states, n=500, random_state=0, n_components=2, scale="unit")
model.plot.loadings(bootstrap=sure).figure
