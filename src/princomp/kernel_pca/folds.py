"""Results shared by the candidates of a parameter search: products of rows, eigenpairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from princomp.errors import NotFiniteError
from princomp.io import RowArray
from princomp.kernel_pca.exact import ExactFit, solve_matrix
from princomp.kernel_pca.feature_space import Expansion
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
        self.rows = rows
        self._shift = shift_of(rows)
        self._cached_kind, self._cached = "", np.empty((0, 0))

    def shifted(self, function: KernelFunction) -> KernelFunction:
        """Return the kernel of rows minus the mean of all rows, if it is shift-invariant."""
        return function if self._shift is None else function.with_shift(self._shift)

    def matrix(self, function: KernelFunction | None) -> FloatArray:
        """Compute the kernel matrix of all rows (n, n); None stands for a precomputed kernel.

        Raises
        ------
        NotFiniteError
        """
        if function is None:
            return self.rows
        function = self.shifted(function)
        if not function.uses_products:
            sides = function.sides(self.rows)
            return function.tile(sides, sides)
        with np.errstate(all="ignore"):  # checked below
            values = function.apply_to_products(self._products(function))
        if not np.isfinite(values).all():
            raise NotFiniteError(
                f"kernel {function.name!r} with gamma {function.gamma:g} is not finite between all "
                "rows",
                place={"parameter": "grid"},
                hint="leave out larger gammas or degrees, or scale the columns",
            )
        return values

    def _products(self, function: KernelFunction) -> FloatArray:
        """Compute the argument of :meth:`KernelFunction.apply_to_products` as a new array."""
        kind = kind_of_products(function.name)
        if kind != self._cached_kind:
            self._cached_kind, self._cached = kind, self._compute(function, kind)
        assert function.gamma is not None
        if kind == "distances":
            return -function.gamma * self._cached
        return self._cached * function.gamma if kind == "raw" else self._cached.copy()

    def _compute(self, function: KernelFunction, kind: str) -> FloatArray:
        self._cached = np.empty((0, 0))  # freed before another array of its size is made
        kernel = function if kind == "cosine" else self.shifted(KernelFunction("linear"))
        if kind == "raw":
            kernel = KernelFunction("linear")
        sides = kernel.sides(self.rows)
        products = kernel.tile(sides, sides)
        if kind != "distances":
            return products
        squares = np.diagonal(products).copy()
        products *= -2
        products += squares
        products += squares[:, None]
        np.maximum(products, 0.0, out=products)
        np.fill_diagonal(products, 0.0)
        return products


@dataclass(frozen=True, eq=False)
class SolvedFold:
    """A fold, solved for the most components that any candidate with one kernel asks for.

    Parameters
    ----------
    fitted : ExactFit
    expansion : Expansion
        Axes as weighted sums of the images of the rows of the fit.
    scores : ndarray of shape (m, k)
        Scores of the held-out rows.
    squared_norms : ndarray of shape (m,)
        Squared lengths of the centred images of the held-out rows.
    training_squared_norms : ndarray of shape (n,)
        Squared lengths of the centred images of the rows of the fit.
    held_out_rows : array of shape (m, p)
        The held-out rows.
    limit : int
        Bytes that pre-images may use.
    """

    fitted: ExactFit
    expansion: Expansion
    scores: FloatArray
    squared_norms: FloatArray
    training_squared_norms: FloatArray
    held_out_rows: RowArray
    limit: int

    @classmethod
    def of(
        cls,
        matrix: FloatArray,
        shared: SharedProducts,
        fold: Fold,
        group: Sequence[Candidate],
        limit: int,
    ) -> SolvedFold:
        """Solve the kernel matrix of a fold, which is a part of the matrix of all rows."""
        training, held_out = fold
        n_components = _largest_request([candidate.settings.n_components for candidate in group])
        settings = group[0].settings._replace(n_components=n_components, memory_limit=limit)
        fitted = solve_matrix(matrix[np.ix_(training, training)], None, settings)
        expansion = fitted.expansion
        cross = matrix[np.ix_(held_out, training)]
        squared_norms = (
            matrix[held_out, held_out] - 2 * (cross @ expansion.mean) + expansion.mean_square
        )
        scores = expansion.scores_from_kernel(cross)
        if (function := group[0].function) is not None:
            points = shared.rows[training]
            expansion = replace(expansion, function=shared.shifted(function), points=points)
        training_squared_norms = (
            matrix[training, training] - 2 * expansion.centre + expansion.mean_square
        )
        return cls(
            fitted,
            expansion,
            scores,
            np.maximum(squared_norms, 0.0),
            np.maximum(training_squared_norms, 0.0),
            shared.rows[held_out],
            limit,
        )

    def error(self, candidate: Candidate, by: str) -> float:
        """Compute the error of a candidate on the held-out rows."""
        k = self._count_components(candidate.settings.n_components)
        scores = self.scores[:, :k]
        if by == "reconstruction":
            residuals = np.maximum(self.squared_norms - np.einsum("ij,ij->i", scores, scores), 0.0)
            total = float(self.squared_norms.mean())
            return float(residuals.mean()) / total if total > 0 else float(residuals.any())
        assert candidate.settings.pre_image is not None
        inverse = pre_images(
            candidate.settings.pre_image,
            replace(self.expansion, weights=self.expansion.weights[:, :k]),
            scores=self.fitted.training_scores[:, :k],
            squared_norms=self.training_squared_norms,
            alpha=candidate.settings.alpha,
            n_neighbors=candidate.settings.n_neighbors,
            memory=self.limit,
        )
        return float(np.sqrt(np.mean((self.held_out_rows - inverse.rows(scores)) ** 2)))

    def _count_components(self, n_components: int | float | None) -> int:
        """Count the components that a separate fit with ``n_components`` would keep."""
        spectrum = self.fitted.spectrum
        values = spectrum.variances[: self.fitted.k]
        if isinstance(n_components, int):
            return min(n_components, len(values))
        exceeding = np.flatnonzero(np.cumsum(values) > (n_components or 1.0) * spectrum.total)
        n_positive = int((values > 0).sum())
        return int(exceeding[0]) + 1 if n_components is not None and exceeding.size else n_positive


def _largest_request(requests: Sequence[int | float | None]) -> int | float | None:
    """Return the largest request; None (all) if numbers and fractions are mixed."""
    numbers = [request for request in requests if request is not None]
    if len(numbers) < len(requests) or len({isinstance(request, int) for request in numbers}) > 1:
        return None
    return max(numbers)
