"""
Signal above noise
==================

Variances of pure noise fill an interval whose upper edge is known (Marchenko & Pastur 1967).
Components above the edge are signal. Here 5 of 100.
"""

import numpy as np
from matplotlib.figure import Figure

from princomp import PCA

rng = np.random.default_rng(0)
signal = (
    rng.standard_normal((400, 5))
    * [5, 4, 3, 2.5, 2]
    @ np.linalg.qr(rng.standard_normal((100, 5)))[0].T
)
X = signal + rng.standard_normal((400, 100))
model = PCA("marchenko-pastur").fit(X)
variances = PCA().fit(X).explained_variance_

figure = Figure(figsize=(6, 3.2), layout="constrained")
ax = figure.subplots()
ax.hist(variances, bins=60, color="#56B4E9")
edge = model.decision_.threshold
ax.axvline(edge, color="#D55E00", linestyle="--", label=f"edge of noise: {edge:.2f}")
ax.set(xlabel="variance", ylabel="components", title=f"{model.n_components_} above the edge")
ax.legend()
figure
