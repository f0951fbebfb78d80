"""
Groups with ellipses
====================

An ellipse holds 95% of further rows of its group, if they are normal.
"""

import pandas as pd

from princomp import PCA

measured = ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]
penguins = pd.read_csv("../../learn/penguins.csv").dropna(subset=measured)
model = PCA(2, scale="unit").fit(penguins[measured])
species = penguins["species"].tolist()
model.plot.scores(penguins[measured], groups=species, label=0).figure
