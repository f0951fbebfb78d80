"""Kernels in extended precision, and the eigenvalues of their centred matrices."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from oracle import EPS, LONG, LONG_EPS, prepared, svd_of

# Largest number of rows whose eigenvalues are computed in extended precision, else by LAPACK.
_SIDE = 48
# Kernels evaluated from the rows minus their mean.
_OF_DIFFERENCES = ("linear", "rbf", "laplacian")


class Kernel(NamedTuple):
    """A kernel of rows (n, p): its name and parameters, as KernelPCA has them."""

    name: str
    gamma: float
    degree: float
    coef0: float

    def between(self, rows, points):
        """Kernel values (m, n), of rows that are longdouble and scaled already."""
        gamma = LONG(self.gamma)
        if self.name in ("linear", "poly", "sigmoid"):
            products = rows @ points.T
            if self.name == "linear":
                return products
            values = gamma * products + LONG(self.coef0)
            return np.tanh(values) if self.name == "sigmoid" else values ** LONG(self.degree)
        if self.name == "cosine":
            one, other = (np.sqrt((some**2).sum(axis=1)) for some in (rows, points))
            size = np.outer(one, other)
            return np.where(size > 0, rows @ points.T / np.where(size > 0, size, 1), 0)
        total = np.zeros((len(rows), len(points)), LONG)
        for x, y in zip(rows.T, points.T, strict=True):
            difference = x[:, None] - y
            if self.name == "laplacian":
                total += np.abs(difference)
            elif self.name == "rbf":
                total += difference**2
            else:  # chi2
                size = x[:, None] + y
                total += np.where(size > 0, difference**2 / np.where(size > 0, size, 1), 0)
        return np.exp(-gamma * total)

    def entry_error(self, rows, dtype, *, about_mean=True):
        """Bound of the error of one kernel value, computed in the precision of rows.

        Products of p columns have relative errors of p units; an exponential has those of its
        argument, γ‖x − y‖², from squares about the mean, or sums of |x − y| about it. The linear
        kernel is also of rows about their mean, but for landmarks (``about_mean=False``).
        """
        unit, p = float(np.finfo(dtype).eps), rows.shape[1]
        moved = self.name in _OF_DIFFERENCES and (about_mean or self.name != "linear")
        about = rows - rows.mean(axis=0) if moved else rows
        square = float((about**2).sum(axis=1).max())
        if self.name == "linear":
            return unit * (p + 4) * square
        if self.name == "poly":
            size = abs(self.gamma) * square + abs(self.coef0)
            return unit * (p + 4) * max(self.degree, 1) * size**self.degree
        if self.name == "sigmoid":
            return unit * (p + 4) * (1 + abs(self.gamma) * square)
        if self.name == "rbf":
            return unit + 4 * EPS * (p + 4) * (1 + self.gamma * square)
        if self.name == "laplacian":
            return unit * (p + 4) * (1 + self.gamma * float(np.abs(about).sum(axis=1).max()))
        if self.name == "chi2":
            # Divided rows are rounded: the argument moves by 2γ|x − y| units, the value by √(2γ
            # (x + y)) of them at most.
            sums = float(np.abs(rows).sum(axis=1).max())
            return unit * (p + 4) * (4 + np.sqrt(4 * self.gamma * sums))
        return unit * (p + 4) * 4


class KernelTruth(NamedTuple):
    """True values of a centred kernel matrix, named as in `oracle.Truth`.

    ``matrix`` (n, n) is √w H K Hᵀ √w; ``error`` the error of ``variances``; ``largest`` the largest
    entry of K, ``entry`` the bound of the error of one in the precision of the rows.
    """

    kernel: Kernel | None
    rows: np.ndarray | None
    values: np.ndarray
    means: np.ndarray
    matrix: np.ndarray
    variances: np.ndarray
    total: float
    degrees: float
    error: float
    largest: float
    entry: float
    slack: float = 0.0
    divisor: np.ndarray = np.ones(1)

    @property
    def total_error(self):
        """Errors of entries that all have one sign hardly change eigenvalues, but the trace."""
        return self.entry


def scaled(kernel, rows, scale, weights=None):
    """Rows in extended precision, divided as ``scale`` says.

    Those of a kernel of differences are about one of them first, which loses no digit.
    """
    found = prepared(rows, weights, scale, True)
    near = found.near if kernel.name in _OF_DIFFERENCES else 0
    return (rows.astype(LONG) - near) / found.divisor


def kernel_truth(kernel, rows, weights, dtype, matrix=None):
    """The KernelTruth of rows that are scaled already, or of a kernel ``matrix``."""
    if kernel.name == "linear":
        rows = rows - rows.mean(axis=0)  # the centred kernel is the same, without cancellation
    values = kernel.between(rows, rows) if matrix is None else matrix.astype(LONG)
    # A given matrix is exact, but the sums for its means are not.
    entry = kernel.entry_error(rows, dtype) if matrix is None else EPS * float(np.abs(matrix).max())
    n = len(values)
    weight = np.ones(n, LONG) if weights is None else weights.astype(LONG)
    shares = weight / weight.sum()
    means = shares @ values
    # Centred about the mean entry, so that equal entries have no rounding.
    centred = (values - means) - (means - shares @ means)[:, None]
    centred *= np.sqrt(np.outer(weight, weight))
    total = float(weight.sum())
    degrees = total - 1 if total > 1 else 1.0
    largest = float(np.abs(values).max())
    if n <= _SIDE:
        ((sizes, axes),) = svd_of([centred])
        # Singular vectors of a symmetric matrix: the sign of a value is that of its vector's.
        signs = 1.0 if axes is None else np.sign((axes @ centred * axes).sum(axis=1))
        found, error = np.sort(signs * sizes)[::-1], 64 * LONG_EPS * n * largest * weight.max()
    else:
        found = np.linalg.eigvalsh(centred.astype(np.float64))[::-1].astype(LONG)
        error = n * EPS * np.abs(found).max() + LONG_EPS * n * largest * weight.max()
    return KernelTruth(
        kernel,
        rows,
        values,
        means,
        centred,
        found / degrees,
        float(np.trace(centred) / degrees),
        degrees,
        float(error / degrees),
        largest,
        entry,
    )
