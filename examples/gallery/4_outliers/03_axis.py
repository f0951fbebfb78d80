"""
What outliers do to an axis
===========================

The first axis of a PCA (orange) follows five rows of sixty. That of ``RobustPCA`` (blue) does
not.
"""

import numpy as np
from matplotlib.figure import Figure

from princomp import PCA, RobustPCA

rng = np.random.default_rng(0)
X = rng.standard_normal((60, 2)) * [2, 0.4]
X[:5] += [0, 9]

figure = Figure(figsize=(5, 4.5), layout="constrained")
ax = figure.subplots()
ax.scatter(*X.T, color="gray", s=14)
for model, colour in ((PCA(1), "#D55E00"), (RobustPCA(1), "#0072B2")):
    model.fit(X)
    axis = model.components_[0]
    ax.axline(model.mean_, model.mean_ + axis, color=colour, label=type(model).__name__)
ax.set(aspect="equal")
ax.legend()
figure
