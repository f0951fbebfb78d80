"""
A control chart
===============

Fit while the process is good, then watch new rows. The limits are frozen. A sensor drifts from
row 120 on; Q finds it.
"""

import numpy as np
from matplotlib.figure import Figure

from princomp import PCA, diagnostics

rng = np.random.default_rng(0)
mixing = rng.standard_normal((2, 8))


def process(n):
    """Rows of eight sensors that follow two causes."""
    return rng.standard_normal((n, 2)) @ mixing + 0.3 * rng.standard_normal((n, 8))


model = PCA(2).fit(process(500))
new = process(200)
new[120:, 3] += np.linspace(0, 4, 80)
found = diagnostics.distances(model, new, frame="listing")
limits = diagnostics.limits(model, level=0.99)

figure = Figure(figsize=(7, 4), layout="constrained")
for ax, name, limit in zip(
    figure.subplots(2, 1, sharex=True), ("t2", "q"), (limits.t2_new, limits.q_new), strict=True
):
    ax.plot(found[name], color="#0072B2", linewidth=1)
    ax.axhline(limit, color="#D55E00", linestyle="--", label="99% limit")
    ax.set_ylabel({"t2": "T²", "q": "Q"}[name])
ax.set_xlabel("row")
ax.legend()
figure
