"""
Filled cells
============

A tenth of the cells is missing. Regularised EM fills them by two components: filled against true
values.
"""

import numpy as np
from matplotlib.figure import Figure

from princomp import PCA

rng = np.random.default_rng(0)
truth = rng.standard_normal((200, 2)) @ rng.standard_normal((2, 8))
truth += 0.3 * rng.standard_normal(truth.shape)
holes = rng.random(truth.shape) < 0.1
X = np.where(holes, np.nan, truth)
filled = PCA(2, missing="em").fit(X).impute(X)

figure = Figure(figsize=(4.5, 4.2), layout="constrained")
ax = figure.subplots()
ax.scatter(truth[holes], filled[holes], s=10, color="#0072B2")
ax.axline((0, 0), slope=1, color="gray", linestyle="--")
r = np.corrcoef(truth[holes], filled[holes])[0, 1]
ax.set(xlabel="true", ylabel="filled", aspect="equal", title=f"{holes.sum()} cells, r = {r:.2f}")
figure
