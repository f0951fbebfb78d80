"""Feature spaces as kernel PCA produces them, built directly."""

from __future__ import annotations

import numpy as np

from princomp import KernelPCA
from princomp.kernel_pca.feature_space.expansion import Expansion
from princomp.kernel_pca.feature_space.matrix import KernelMatrix
from princomp.kernel_pca.feature_space.solve import solve
from princomp.kernel_pca.parameters import KernelParameters


def expansion_of(function, rows, k=None):
    """The first k axes (all that are not zero) of the rows, as the exact solution has them."""
    if not hasattr(rows, "tocsr"):
        function = function.with_shift(rows.mean(axis=0, dtype=np.float64))
    matrix = KernelMatrix(function, rows, memory=10**9)
    n = matrix.n
    spectrum = solve(matrix, KernelParameters.of(KernelPCA(k))).spectrum
    kept = int((spectrum.variances[: spectrum.k] > 0).sum())
    weights = spectrum.axes[:kept].T / np.sqrt(spectrum.variances[:kept] * (n - 1))
    return Expansion(
        function=function,
        points=rows,
        weights=weights - weights.mean(axis=0),
        mean=np.full(n, 1 / n),
        centre=matrix.sums.column_means,
        mean_square=matrix.sums.mean_square,
    )
