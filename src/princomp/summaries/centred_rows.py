"""Centred, scaled, weighted rows as a matrix to multiply with, never formed when sparse.

With W the weights, μ the mean and D the scale, the matrix is
``A = W^½ (X − 1μᵀ) D⁻¹``, so that AᵀA is the scatter.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from princomp.arrays import FloatArray
from princomp.summaries.blocks import Weights, is_sparse
from princomp.threads import in_order

__all__ = ["CentredRows", "safe_exponent", "split_full_columns"]

# A mean that exceeds this many standard deviations would cancel in an implicit product.
_MEAN_DOMINATES = 3.0
# Rows of up to 2 to this, by bytes of a number, may be squared twice within their precision.
_SAFE_EXPONENT = {4: 20, 8: 200}
# Numbers of a dense matrix that are multiplied as one piece, and from how many on a thread
# has something to do.
_PIECE, _THREADS_PAY = 2**20, 2**21


def safe_exponent(column_scatter: FloatArray, dtype: np.dtype[Any]) -> int:
    """Power of two to divide rows by where their products would leave the precision's range."""
    largest = float(np.sqrt(column_scatter.max(initial=0.0)))
    exponent = int(np.frexp(largest)[1])
    return exponent if largest > 0 and abs(exponent) > _SAFE_EXPONENT[dtype.itemsize] else 0


def split_full_columns(rows: Any, mean: FloatArray, variances: FloatArray) -> tuple[Any, Any]:
    """Indices of the columns whose mean would cancel, and the sparse rows without them.

    Such columns hold a value in nearly every row, so there are few of them and
    centring them explicitly costs no more than storing them did.
    """
    full = np.flatnonzero(mean**2 > _MEAN_DOMINATES**2 * variances)
    if not full.size:
        return full, rows
    kept = np.ones(rows.shape[1])
    kept[full] = 0.0
    masked = rows.copy()
    masked.data = masked.data * kept[masked.indices]
    return full, masked


@dataclass(frozen=True, eq=False)
class CentredRows:
    """The matrix A of shape (n, p), for products from both sides.

    Parameters
    ----------
    rows : ndarray or CSR array of shape (n, p)
        When dense: already centred, scaled and weighted.
    mean : ndarray of shape (p,)
        Scaled mean that is still to be subtracted; zero for dense rows.
    roots : ndarray of shape (n,), optional
        Square roots of the weights, still to be applied.
    """

    rows: Any
    mean: FloatArray | None = None
    roots: FloatArray | None = None
    full: FloatArray | None = None
    full_columns: FloatArray | None = None

    @classmethod
    def of(
        cls,
        data: Any,
        mean: FloatArray,
        mean_low: FloatArray,
        variances: FloatArray,
        divisor: FloatArray | None,
        weights: Weights,
    ) -> CentredRows:
        """Build from rows of data (n, p) and their mean, column variances and scale."""
        roots = None if weights is None else np.sqrt(weights)
        if not is_sparse(data):
            return cls(_centred_copy(data, mean, mean_low, divisor, roots))
        full, light = split_full_columns(data, mean, variances)
        dense = None
        if full.size:
            dense = (data[:, full].toarray() - mean[full]) - mean_low[full]
            if divisor is not None:
                dense /= divisor[full]
            mean = mean.copy()
            mean[full] = 0.0
        if divisor is not None:
            light = light.astype(np.result_type(light.dtype, np.float64))
            light.data /= divisor[light.indices]
            mean = mean / divisor
        return cls(light, mean, roots, full if full.size else None, dense)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.rows.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """Precision of the products."""
        return np.dtype(self.rows.dtype if self.mean is None else np.float64)

    def matmul(self, right: FloatArray) -> FloatArray:
        """A @ right, for ``right`` of shape (p, m)."""
        if self.mean is None:
            return _dense_product(self.rows, right)
        product: FloatArray = self.rows @ right.astype(self.dtype, copy=False)
        product = product - self.mean @ right
        if self.full is not None and self.full_columns is not None:
            product += self.full_columns @ right[self.full]
        return product if self.roots is None else product * self.roots[:, None]

    def add_rmatmul(self, left: FloatArray, into: FloatArray) -> None:
        """Add Aᵀ @ left to ``into`` (p, m), in float64 and, where dense, without a copy of it."""
        if self.mean is not None:
            into += self.rmatmul(left)
            return
        columns = self.rows.shape[1]
        step = max(1, _PIECE // max(self.rows.shape[0], left.shape[1]))

        def add(start: int) -> None:
            into[start : start + step] += self.rows[:, start : start + step].T @ left

        few = 1 if self.rows.size < _THREADS_PAY else None
        for _ in in_order(add, range(0, columns, step), few):
            pass

    def rmatmul(self, left: FloatArray) -> FloatArray:
        """Aᵀ @ left, for ``left`` of shape (n, m)."""
        if self.mean is None:
            return _dense_product(self.rows.T, left)
        if self.roots is not None:
            left = left * self.roots[:, None]
        product: FloatArray = self.rows.T @ left - np.outer(self.mean, left.sum(axis=0))
        if self.full is not None and self.full_columns is not None:
            product[self.full] += self.full_columns.T @ left
        return product


def _dense_product(matrix: FloatArray, right: FloatArray) -> FloatArray:
    """``matrix @ right`` over fixed pieces of the longer side, on threads."""
    height, width = matrix.shape
    if height * width < _THREADS_PAY:
        return matrix @ right.astype(matrix.dtype, copy=False)
    step = max(1, _PIECE // min(height, width))
    if height >= width:
        right = right.astype(matrix.dtype, copy=False)
        out = np.empty((height, right.shape[1]), dtype=matrix.dtype)

        def fill(start: int) -> None:
            np.matmul(matrix[start : start + step], right, out=out[start : start + step])

        for _ in in_order(fill, range(0, height, step)):
            pass
        return out
    parts = in_order(
        # The cast is a copy of a piece only, where the other factor has less precision.
        lambda start: (
            matrix[:, start : start + step] @ right[start : start + step].astype(matrix.dtype)
        ),
        range(0, width, step),
    )
    return reduce(np.add, parts)


def _centred_copy(
    data: FloatArray,
    mean: FloatArray,
    mean_low: FloatArray,
    divisor: FloatArray | None,
    roots: FloatArray | None,
) -> FloatArray:
    """Dense rows, centred through both parts of the mean, scaled and weighted."""
    high = mean.astype(data.dtype)
    rest = ((mean - high) + mean_low).astype(data.dtype)
    rows: FloatArray = np.subtract(data, high, order="C")
    rows -= rest
    if divisor is not None:
        rows /= divisor.astype(data.dtype)
    if roots is not None:
        rows *= roots.astype(data.dtype)[:, None]
    return rows
