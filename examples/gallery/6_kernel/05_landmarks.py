"""
Landmarks for many rows
=======================

With the Nyström approximation the cost does not grow with the square of the rows. The error falls
with the number of landmarks, faster with ``"kmeans"``.
"""

import numpy as np
from matplotlib.figure import Figure

from princomp import KernelPCA

rng = np.random.default_rng(0)
X = rng.standard_normal((2000, 5)) * [3, 2, 1, 1, 1]
exact = KernelPCA(3, kernel="rbf", gamma=0.02).fit(X).explained_variance_
sizes = [25, 50, 100, 200, 400]

figure = Figure(figsize=(5.5, 3.2), layout="constrained")
ax = figure.subplots()
for rule, colour in (("uniform", "#E69F00"), ("kmeans", "#0072B2")):
    errors = []
    for size in sizes:
        model = KernelPCA(
            3,
            kernel="rbf",
            gamma=0.02,
            approximation="nystrom",
            landmarks=rule,
            n_landmarks=size,
            random_state=0,
        ).fit(X)
        errors.append(np.abs(model.explained_variance_ / exact - 1).max())
    ax.loglog(sizes, errors, "o-", label=rule, color=colour)
ax.set(xlabel="landmarks", ylabel="relative error of a variance")
ax.legend()
figure
