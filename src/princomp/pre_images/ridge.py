"""Pre-images by regression: rows as a function of their scores, learned from those of the fit.

G. Bakır, J. Weston, B. Schölkopf, "Learning to find pre-images" (NIPS 2003, printed 2004): kernel
ridge regression of the rows on their scores, with the kernel of the fit between scores. For the
linear kernel nothing has to be learned: what axes and mean add up to is the answer itself.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import scipy.linalg

from princomp.arrays import FloatArray, one_blas_thread, reproducible
from princomp.errors import DataError, MemoryLimitError
from princomp.feature_space import Expansion
from princomp.feature_space.tiles import by_tiles
from princomp.kernel_functions import KernelFunction
from princomp.memory import in_words
from princomp.pre_images.given import checked_scores, dense_points
from princomp.summaries.blocks import is_sparse
from princomp.threads import in_order

__all__ = ["Linear", "Ridge", "learned"]

# Rows of the kernel matrix that are computed at a time.
_STRIPE = 256


@dataclass(frozen=True, eq=False)
class Linear:
    """Of the linear kernel: scores times axes, and the mean.

    Parameters
    ----------
    axes : ndarray of shape (k, p)
        In the input's units, in float64.
    mean : ndarray of shape (p,)
    """

    axes: FloatArray
    mean: FloatArray

    @classmethod
    def of(cls, expansion: Expansion) -> Self:
        """What the points add up to; they may be sparse."""
        points, shift = expansion.points, expansion.function.shift
        sparse = is_sparse(points)
        points = points.astype(np.float64)
        if shift is None or sparse:
            return cls(np.asarray(points.T @ expansion.weights).T, points.T @ expansion.mean)
        points = points - shift
        # The weights of the mean add up to 1: the shift comes back once.
        return cls(expansion.weights.T @ points, expansion.mean @ points + shift)

    def rows(self, scores: FloatArray) -> FloatArray:
        """Rows (n, p) of scores (n, k), in their precision."""
        scores = checked_scores(scores, len(self.axes))
        return (scores @ self.axes + self.mean).astype(scores.dtype, copy=False)


@dataclass(frozen=True, eq=False)
class Ridge:
    """A row is the kernel of its scores with the known ones, times coefficients.

    Parameters
    ----------
    function : KernelFunction
        Between scores.
    scores : ndarray of shape (n, k)
        Of the rows that it was learned from.
    coefficients : ndarray of shape (n, p)
        In float64.
    """

    function: KernelFunction
    scores: FloatArray
    coefficients: FloatArray

    def rows(self, scores: FloatArray) -> FloatArray:
        """Rows (m, p) of scores (m, k), in their precision."""
        scores = checked_scores(scores, self.scores.shape[1])
        made = by_tiles(
            self.function,
            scores,
            self.function.sides(self.scores),
            lambda tile: tile @ self.coefficients,
            self.coefficients.shape[1],
            np.float64,
        )
        return made.astype(scores.dtype, copy=False)


def learned(
    function: KernelFunction, scores: FloatArray, rows: Any, alpha: float, *, memory: int
) -> Ridge:
    """The ridge regression of rows on their scores, (K + αI)⁻¹ rows, by one Cholesky factor.

    It holds n² doubles for a moment, and n (k + p) from then on.

    Parameters
    ----------
    function : KernelFunction
        Of the fit; its γ is applied to scores as it is; they are neither shifted nor divided.
    scores : ndarray of shape (n, k)
    rows : ndarray of shape (n, p)
        Not centred: the ridge draws them to zero.
    alpha : float
        The ridge α, in units of the kernel.
    memory : int
        Bytes that it may take.

    Raises
    ------
    MemoryLimitError
        When the n² numbers do not fit.
    DataError
        For sparse rows; where the kernel between scores is not finite, or K + αI is not
        positive definite.
    """
    rows = dense_points(rows)
    n = len(scores)
    needed = 8.0 * n * (n + rows.shape[1])
    if needed > memory:
        raise MemoryLimitError(
            f"to learn pre-images of {n:,} rows takes {in_words(needed)}, and the limit is "
            f"{in_words(memory)}",
            place={"rows": n},
            hint="pre_image='fixed_point' learns nothing, or raise memory_limit",
        )
    function = replace(function, shift=None, divisors=None)
    matrix = _kernel_of(function, scores.astype(np.float64, copy=False))
    matrix.flat[:: n + 1] += alpha
    if not np.isfinite(matrix).all():
        raise DataError(
            f"kernel {function.name!r} between the scores is not finite",
            place={"parameter": "pre_image"},
            hint="scale the columns, or use pre_image='fixed_point'",
        )
    try:
        with reproducible(n):
            # Of the transpose, which is the same matrix in the order that LAPACK takes.
            factor = scipy.linalg.cho_factor(matrix.T, overwrite_a=True, check_finite=False)
            coefficients = scipy.linalg.cho_solve(factor, rows.astype(np.float64))
    except np.linalg.LinAlgError:
        raise DataError(
            f"kernel {function.name!r} between the scores plus alpha={alpha:g} is not positive "
            "definite",
            place={"parameter": "alpha"},
            hint="raise alpha, or choose another pre_image",
        ) from None
    return Ridge(function, scores, np.ascontiguousarray(coefficients))


def _kernel_of(function: KernelFunction, scores: FloatArray) -> FloatArray:
    """The kernel matrix of scores (n, n); only what lies on or under its diagonal is written."""
    n = len(scores)
    matrix = np.zeros((n, n))
    try:
        sides = function.sides(scores)

        def fill(start: int) -> None:
            stop = min(start + _STRIPE, n)
            with np.errstate(all="ignore"):  # what is not finite is told of by the caller
                matrix[start:stop, :stop] = function.tile(sides[start:stop], sides[:stop])

        with one_blas_thread():
            for _ in in_order(fill, range(0, n, _STRIPE)):
                pass
    except ValueError as error:
        # Such as chi2, which takes no negative numbers, or a function of somebody's.
        raise DataError(
            f"kernel {function.name!r} cannot be taken between scores: {error}",
            place={"parameter": "pre_image"},
            hint="a learned pre-image needs a kernel of all numbers, such as 'rbf'",
        ) from error
    if function.name == "rbf":
        np.fill_diagonal(matrix, 1.0)
    return matrix
