"""
A path through time
===================

Rows that follow each other, joined by a line: twelve sensors of a machine that starts, runs and
slows down.
"""

import numpy as np
from matplotlib.figure import Figure

from princomp import PCA

rng = np.random.default_rng(0)
t = np.linspace(0, 1, 200)
states = np.column_stack([np.tanh(6 * t) - 0.6 * t**6, np.sin(np.pi * t), 0.2 * np.cos(9 * t)])
X = states @ rng.standard_normal((3, 12)) + 0.05 * rng.standard_normal((200, 12))
scores = PCA(2).fit_transform(X)

figure = Figure(figsize=(6.5, 2.6), layout="constrained")
ax = figure.subplots()
ax.plot(scores[:, 0], scores[:, 1], color="lightgray", zorder=0)
points = ax.scatter(scores[:, 0], scores[:, 1], c=t, cmap="viridis", s=12)
figure.colorbar(points, label="time")
ax.set(xlabel="PC1", ylabel="PC2", aspect="equal")
figure
