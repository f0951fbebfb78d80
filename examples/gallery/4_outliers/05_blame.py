"""
Which column is to blame?
=========================

The contributions of the columns to Q of one row, here Alaska: more rapes, fewer inhabitants of
cities than its other numbers suggest.
"""

import pandas as pd
from matplotlib.figure import Figure

from princomp import PCA, diagnostics

states = pd.read_csv("../../usarrests.csv", index_col="State")
model = PCA(2, scale="unit").fit(states)
parts = diagnostics.contributions(model, states.loc[["Alaska"]])

figure = Figure(figsize=(5, 3), layout="constrained")
ax = figure.subplots()
ax.barh(parts["variable"], parts["q"], color="#0072B2")
ax.axvline(0, color="black", linewidth=0.8)
ax.set(xlabel="contribution to Q, with the sign of the residual", title="Alaska")
figure
