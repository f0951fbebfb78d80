"""
New rows on an old map
======================

A model is fitted to some rows; others are projected on it. They do not move the axes.
"""

import pandas as pd

from princomp import PCA

measured = ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]
penguins = pd.read_csv("../../learn/penguins.csv").dropna(subset=measured)
old = penguins[penguins["year"] < 2009]
new = penguins[penguins["year"] == 2009]
model = PCA(2, scale="unit").fit(old[measured])

ax = model.plot.scores(old[measured], label=0)
ax.collections[0].set_label("2007 and 2008")
scores = model.transform(new[measured])
ax.scatter(scores[:, 0], scores[:, 1], marker="x", color="#D55E00", label="2009")
ax.legend()
ax.figure
