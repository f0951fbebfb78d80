"""
Components that change
======================

Rows keep coming, and their structure turns. ``decay`` forgets old rows slowly; without it, the
past outweighs the present.
"""

import numpy as np
from matplotlib.figure import Figure

from princomp import PCA

rng = np.random.default_rng(0)
keeps, fades = PCA(1), PCA(1, decay=0.99)
angles = {"all rows": [], "decay=0.99": [], "truth": []}
for step in range(60):
    turn = np.pi / 3 * step / 59
    axis = np.array([np.cos(turn), np.sin(turn)])
    X = 2 * rng.standard_normal((50, 1)) * axis + 0.5 * rng.standard_normal((50, 2))
    for model, name in ((keeps, "all rows"), (fades, "decay=0.99")):
        model.partial_fit(X)
        a, b = model.components_[0]
        angles[name].append(np.degrees(np.arctan(b / a)))
    angles["truth"].append(np.degrees(turn))

figure = Figure(figsize=(6, 3.2), layout="constrained")
ax = figure.subplots()
for (name, values), colour in zip(angles.items(), ("#E69F00", "#0072B2", "black"), strict=True):
    ax.plot(values, label=name, color=colour, linestyle="--" if name == "truth" else "-")
ax.set(xlabel="batch of 50 rows", ylabel="angle of PC1, degrees")
ax.legend()
figure
