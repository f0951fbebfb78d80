"""
Components of curves
====================

Where columns are ordered, such as wavelengths or hours, an axis is a curve. The mean, plus and
minus two standard deviations of a component, shows what it changes.
"""

import numpy as np
from matplotlib.figure import Figure

from princomp import PCA

rng = np.random.default_rng(0)
x = np.linspace(0, 10, 200)
height, place = rng.normal(1, 0.3, (100, 1)), rng.normal(5, 0.4, (100, 1))
spectra = height * np.exp(-((x - place) ** 2)) + 0.4 * np.exp(-((x - 8) ** 2) / 0.2)
spectra += 0.02 * rng.standard_normal(spectra.shape)
model = PCA(2).fit(spectra)

figure = Figure(figsize=(7, 3), layout="constrained")
for i, ax in enumerate(figure.subplots(1, 2, sharey=True)):
    step = 2 * np.sqrt(model.explained_variance_[i]) * model.components_[i]
    ax.plot(x, model.mean_, color="black", label="mean")
    ax.plot(x, model.mean_ + step, color="#D55E00", label="+2 deviations")
    ax.plot(x, model.mean_ - step, color="#0072B2", label="−2 deviations")
    ax.set(title=f"PC{i + 1}: {model.explained_variance_ratio_[i]:.0%}", xlabel="wavelength")
ax.legend()
figure
