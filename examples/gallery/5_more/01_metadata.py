"""
Components against other columns
================================

What explains the components? r for numbers, η² for groups; stars mark p-values that are adjusted
for the number of tests.
"""

import pandas as pd

from princomp import PCA, plots

measured = ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]
penguins = pd.read_csv("../../learn/penguins.csv").dropna(subset=measured)
complete = penguins.dropna(subset="sex")
model = PCA(scale="unit").fit(complete[measured])
other = complete[["species", "island", "sex", "year"]].to_dict("list")
plots.metadata(model, complete[measured], other).figure
