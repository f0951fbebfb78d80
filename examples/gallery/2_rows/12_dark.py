"""
On a dark background
====================

For slides. ``dark=True`` works for every figure, and ``plots.new_axes`` makes a
dark panel to draw on.
"""

import pandas as pd

from princomp import PCA, plots

states = pd.read_csv("../../usarrests.csv", index_col="State")
model = PCA(2, scale="unit").fit(states)
ax = plots.new_axes(dark=True)
plots.biplot(model, states, ax=ax).figure
