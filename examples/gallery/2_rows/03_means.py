"""
Do the means differ?
====================

Ellipses for the *mean* of each group are much smaller than those for its rows. Where they do not
overlap, the means differ.
"""

import pandas as pd

from princomp import PCA

measured = ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]
penguins = pd.read_csv("../../learn/penguins.csv").dropna(subset=measured)
complete = penguins.dropna(subset="sex")
model = PCA(2, scale="unit").fit(complete[measured])
groups = (complete["species"] + " " + complete["sex"]).tolist()
ax = model.plot.scores(complete[measured], groups=groups, ellipses="mean", label=0)
for points in ax.collections:
    points.set_alpha(0.25)
ax.figure
