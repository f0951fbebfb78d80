"""Results shared by the candidates of a parameter search: products of rows, eigenpairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from princomp.errors import NotFiniteError
from princomp.io import RowArray
from princomp.kernel_pca.exact import solve_matrix
from princomp.kernel_pca.feature_space import count_for_share
from princomp.kernel_pca.functions import KernelFunction, shift_of
from princomp.kernel_pca.grid import Candidate, kind_of_products
from princomp.kernel_pca.pre_images import pre_images
from princomp.linalg import FloatArray

# Row numbers: those to fit, and those held out to measure errors.
Fold: TypeAlias = tuple[NDArray[np.intp], NDArray[np.intp]]


class SharedProducts:
    """Inner products or squared distances of all rows, computed once for several kernels.

    Parameters
    ----------
    rows : array or CSR array of shape (n, p)
        In float64; a kernel matrix (n, n) if the kernel is precomputed.
    """

    def __init__(self, rows: RowArray) -> None:
        self.rows, self.shift = rows, shift_of(rows)
        self._kind, self._products = "", np.empty((0, 0))

    def matrix(self, function: KernelFunction) -> FloatArray:
        """Compute the kernel matrix of all rows (n, n).

        Raises
        ------
        NotFiniteError
        """
        if function.name == "precomputed":
            return self.rows
        kind = kind_of_products(function.name)
        with np.errstate(all="ignore" if function.uses_products else None):  # checked below
            if kind is None:
                values = self._tile(function.with_shift(self.shift))
            else:
                if kind != self._kind:
                    self._kind, self._products = kind, self._compute(kind)
                assert function.gamma is not None
                factor = -function.gamma if kind == "distances" else function.gamma
                values = function.values_of_products(factor * self._products, np.float64)
        if function.uses_products and not np.isfinite(values).all():
            raise NotFiniteError(
                f"kernel {function.name!r} with gamma {function.gamma:g} is not finite between all "
                "rows",
                place={"parameter": "grid"},
                hint="leave out larger gammas or degrees, or scale the columns",
            )
        return values

    def _compute(self, kind: str) -> FloatArray:
        """Compute inner products, or squared distances."""
        self._products = np.empty((0, 0))  # freed before another array of its size is made
        linear = KernelFunction("linear")
        if kind == "products":
            return self._tile(linear)
        products = self._tile(linear.with_shift(self.shift))
        squares = np.diagonal(products).copy()
        products *= -2
        products += squares
        products += squares[:, None]
        np.maximum(products, 0.0, out=products)
        np.fill_diagonal(products, 0.0)
        return products

    def _tile(self, function: KernelFunction) -> FloatArray:
        sides = function.sides(self.rows)
        return function.tile(sides, sides)


class SolvedFold:
    """A fold, solved for the most components that any candidate with one kernel asks for.

    Its kernel matrix is a part of the matrix of all rows.

    Parameters
    ----------
    matrix : ndarray of shape (n, n)
        The kernel matrix of all rows.
    shared : SharedProducts
    fold : tuple of ndarray
    group : sequence of Candidate
    """

    def __init__(
        self, matrix: FloatArray, shared: SharedProducts, fold: Fold, group: Sequence[Candidate]
    ) -> None:
        training, held_out = fold
        n_components = _largest_request([candidate.settings.n_components for candidate in group])
        settings = group[0].settings._replace(n_components=n_components)
        self.fitted = solve_matrix(matrix[np.ix_(training, training)], None, settings)
        self.held_out_rows = shared.rows[held_out]
        expansion = self.fitted.expansion
        cross = matrix[np.ix_(held_out, training)]
        self.scores = expansion.scores_from_kernel(cross)
        # Squared lengths of centred images, of the held-out rows and of the rows of the fit.
        squared_norms = (
            matrix[held_out, held_out] - 2 * (cross @ expansion.mean) + expansion.mean_square
        )
        training_squared_norms = (
            matrix[training, training] - 2 * expansion.centre + expansion.mean_square
        )
        self.squared_norms = np.maximum(squared_norms, 0.0)
        self.training_squared_norms = np.maximum(training_squared_norms, 0.0)
        if group[0].function.name != "precomputed":
            function = group[0].function.with_shift(shared.shift)
            expansion = replace(expansion, function=function, points=shared.rows[training])
        self.expansion = expansion

    def error(self, candidate: Candidate, by: str) -> float:
        """Compute the error of a candidate on the held-out rows."""
        k = self._count_components(candidate.settings.n_components)
        scores = self.scores[:, :k]
        if by == "reconstruction":
            residuals = np.maximum(self.squared_norms - np.einsum("ij,ij->i", scores, scores), 0.0)
            total = float(self.squared_norms.mean())
            return float(residuals.mean()) / total if total > 0 else float(residuals.any())
        inverse = pre_images(
            replace(self.expansion, weights=self.expansion.weights[:, :k]),
            candidate.settings,
            scores=self.fitted.training_scores[:, :k],
            squared_norms=self.training_squared_norms,
        )
        return float(np.sqrt(np.mean((self.held_out_rows - inverse.rows(scores)) ** 2)))

    def _count_components(self, n_components: int | float | None) -> int:
        """Count the components that a separate fit with ``n_components`` would keep."""
        spectrum = self.fitted.spectrum
        values = spectrum.variances[: self.fitted.k]
        if n_components is None:
            return int((values > 0).sum())
        if isinstance(n_components, int):
            return min(n_components, len(values))
        return count_for_share(values, spectrum.total, n_components)


def _largest_request(requests: Sequence[int | float | None]) -> int | float | None:
    """Return the largest request; None (all) if numbers and fractions are mixed."""
    numbers = [request for request in requests if request is not None]
    if len(numbers) < len(requests) or len({isinstance(request, int) for request in numbers}) > 1:
        return None
    return max(numbers)
