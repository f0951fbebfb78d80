"""Pre-images by regression: rows as a function of their scores, learned from the rows of the fit.

G. Bakır, J. Weston, B. Schölkopf, "Learning to find pre-images" (NIPS 2003, printed 2004): kernel
ridge regression of the rows on their scores, with the kernel of the fit between scores.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import scipy.linalg

from princomp.errors import DataError, MemoryLimitError, PrincompError
from princomp.io import RowArray
from princomp.kernel_pca.feature_space.expansion import map_tiles
from princomp.kernel_pca.functions import KernelFunction
from princomp.kernel_pca.pre_images.pre_image import dense_points
from princomp.linalg import (
    FloatArray,
    Weights,
    for_each,
    format_bytes,
    one_blas_thread,
    reproducible_blas,
    slices,
)

# Rows of the kernel matrix that are computed at a time.
_STRIPE_ROWS = 256


@dataclass(frozen=True, eq=False)
class Ridge:
    """Rows are computed as the kernel of their scores with known scores, times coefficients.

    Parameters
    ----------
    function : KernelFunction
        Applied to scores.
    scores : ndarray of shape (n, k)
        Scores of the rows that the map was learned from.
    coefficients : ndarray of shape (n, p)
        In float64.
    """

    function: KernelFunction
    scores: FloatArray
    coefficients: FloatArray

    @classmethod
    def learn(
        cls,
        function: KernelFunction,
        scores: FloatArray,
        rows: RowArray,
        alpha: float,
        *,
        memory: int,
        weights: Weights = None,
    ) -> Self:
        """Solve the ridge regression of rows on their scores, (K + αI)⁻¹ rows, by Cholesky.

        This needs memory for n² doubles; the result keeps n (k + p).

        Parameters
        ----------
        function : KernelFunction
            The kernel of the fit. Its γ is applied to scores as it is; scores are neither
            shifted nor divided.
        scores : ndarray of shape (n, k)
        rows : ndarray of shape (n, p)
            Not centred: the ridge shrinks them towards zero.
        alpha : float
            The ridge α, in units of the kernel.
        memory : int
            Bytes that the solution may use.
        weights : ndarray of shape (n,), optional
            Positive frequencies w: the coefficient of a row is the sum of those of w equal rows,
            which are (K + α/w)⁻¹ rows.

        Raises
        ------
        MemoryLimitError
            If the n² numbers do not fit.
        DataError
            For sparse rows; if the kernel between scores is not finite, or K + αI is not
            positive definite.
        """
        table, n = dense_points(rows), len(scores)
        needed = 8.0 * n * (n + table.shape[1])
        if needed > memory:
            raise MemoryLimitError(
                f"learning pre-images from {n:,} rows needs {format_bytes(needed)}, and the limit "
                f"is {format_bytes(memory)}",
                place={"rows": n},
                hint="use pre_image='fixed_point', which learns nothing, or raise memory_limit",
            )
        function = replace(function, shift=None, divisors=None)
        matrix = _kernel_between(function, scores.astype(np.float64, copy=False))
        matrix.flat[:: n + 1] += alpha if weights is None else alpha / weights
        if not np.isfinite(matrix).all():
            raise DataError(
                f"kernel {function.name!r} between the scores is not finite",
                place={"parameter": "pre_image"},
                hint="scale the columns, or use pre_image='fixed_point'",
            )
        try:
            with reproducible_blas(n):
                # The transpose is the same matrix in the memory order that LAPACK takes.
                factor = scipy.linalg.cho_factor(matrix.T, overwrite_a=True, check_finite=False)
                coefficients = scipy.linalg.cho_solve(factor, table.astype(np.float64))
        except np.linalg.LinAlgError:
            raise DataError(
                f"kernel {function.name!r} between the scores plus alpha={alpha:g} is not positive "
                "definite",
                place={"parameter": "alpha"},
                hint="raise alpha, or choose another pre_image",
            ) from None
        return cls(function, scores, np.ascontiguousarray(coefficients))

    def rows(self, scores: FloatArray) -> FloatArray:
        """Compute rows (m, p) from scores (m, k), in their precision."""
        made = map_tiles(
            self.function,
            scores,
            self.function.sides(self.scores),
            lambda tile: tile @ self.coefficients,
            self.coefficients.shape[1],
            np.float64,
        )
        return made.astype(scores.dtype, copy=False)


def _kernel_between(function: KernelFunction, scores: FloatArray) -> FloatArray:
    """Compute the lower triangle of the kernel matrix of scores (n, n)."""
    if not scores.shape[1]:
        raise DataError(
            "there are no scores to learn pre-images from: the fit has no components",
            place={"parameter": "pre_image"},
            hint="give n_components a number, or leave pre-images out",
        )
    n = len(scores)
    matrix = np.zeros((n, n))
    try:
        sides = function.sides(scores)

        def fill(part: slice) -> None:
            before = slice(part.stop)
            with np.errstate(all="ignore"):  # the caller reports values that are not finite
                matrix[part, before] = function.tile(sides[part], sides[before])

        with one_blas_thread():
            for_each(fill, slices(n, _STRIPE_ROWS))
    except ValueError as error:
        # For example a function of the user that refuses negative numbers.
        why = error.message if isinstance(error, PrincompError) else error
        raise DataError(
            f"kernel {function.name!r} cannot be evaluated between scores: {why}",
            place={"parameter": "pre_image"},
            hint="a learned pre-image needs a kernel of all numbers, such as 'rbf'",
        ) from error
    if function.name == "rbf":
        np.fill_diagonal(matrix, 1.0)
    return matrix
