"""
Large means
===========

Twenty columns with deviations from 1 to 0.1, around a mean m. With float32 rows and large means,
many programs lose all digits; princomp subtracts a shift before it multiplies.
"""

import numpy as np
from matplotlib.figure import Figure
from sklearn import decomposition

from princomp import PCA

rng = np.random.default_rng(0)
noise = rng.standard_normal((2000, 20)) * np.linspace(1, 0.1, 20)
means = 10.0 ** np.arange(0, 5)
errors = {"princomp": [], "scikit-learn": []}
for mean in means:
    X = (noise + mean).astype("f4")
    true = np.linalg.eigvalsh(np.cov(X.astype("f8"), rowvar=False))[::-1][:5]
    for name, model in (("princomp", PCA(5)), ("scikit-learn", decomposition.PCA(5))):
        errors[name].append(np.abs(model.fit(X).explained_variance_ / true - 1).max())

figure = Figure(figsize=(5.5, 3.2), layout="constrained")
ax = figure.subplots()
for (name, values), colour in zip(errors.items(), ("#0072B2", "#D55E00"), strict=True):
    ax.loglog(means, values, "o-", label=name, color=colour)
ax.set(xlabel="mean", ylabel="largest relative error of a variance")
ax.legend()
figure
