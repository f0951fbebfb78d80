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
        self._kind, self._kept = "", np.empty((0, 0))

    def shifted(self, function: KernelFunction) -> KernelFunction:
        """Return the kernel of rows minus the mean of all rows, if it is shift-invariant."""
        return function if self._shift is None else function.about(self._shift)

    def matrix(self, function: KernelFunction | None) -> FloatArray:
        """Compute the kernel matrix of all rows (n, n); None stands for a precomputed kernel.

        Raises
        ------
        NotFiniteError
        """
        if function is None:
            return self.rows
        function = self.shifted(function)
        if not function.of_products:
            sides = function.sides(self.rows)
            return function.tile(sides, sides)
        with np.errstate(all="ignore"):  # checked below
            made = function.finished(self._products(function))
        if not np.isfinite(made).all():
            raise NotFiniteError(
                f"kernel {function.name!r} with gamma {function.gamma:g} is not finite between all "
                "rows",
                place={"parameter": "grid"},
                hint="leave out larger gammas or degrees, or scale the columns",
            )
        return made

    def _products(self, function: KernelFunction) -> FloatArray:
        """Compute the argument of :meth:`KernelFunction.finished` as a new array."""
        kind = kind_of_products(function.name)
        if kind != self._kind:
            self._kind, self._kept = kind, self._made(function, kind)
        assert function.gamma is not None
        if kind == "distances":
            return -function.gamma * self._kept
        return self._kept * function.gamma if kind == "raw" else self._kept.copy()

    def _made(self, function: KernelFunction, kind: str) -> FloatArray:
        self._kept = np.empty((0, 0))  # freed before another array of its size is made
        plain = function if kind == "cosine" else self.shifted(KernelFunction("linear"))
        if kind == "raw":
            plain = KernelFunction("linear")
        sides = plain.sides(self.rows)
        products = plain.tile(sides, sides)
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
    scores : ndarray of shape (m, most)
        Scores of the held-out rows.
    squares : ndarray of shape (m,)
        Squared lengths of the centred images of the held-out rows.
    own_squares : ndarray of shape (n,)
        Squared lengths of the centred images of the rows of the fit.
    left_out : array of shape (m, p)
        The held-out rows.
    limit : int
        Bytes that pre-images may use.
    """

    fitted: ExactFit
    expansion: Expansion
    scores: FloatArray
    squares: FloatArray
    own_squares: FloatArray
    left_out: RowArray
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
        inside, outside = fold
        most = _most([one.settings.n_components for one in group])
        settings = group[0].settings._replace(n_components=most, memory_limit=limit)
        fitted = solve_matrix(matrix[np.ix_(inside, inside)], None, settings)
        expansion = fitted.expansion
        cross = matrix[np.ix_(outside, inside)]
        squares = matrix[outside, outside] - 2 * (cross @ expansion.mean) + expansion.mean_square
        scores = expansion.scores_of(cross)
        if (function := group[0].function) is not None:
            points = shared.rows[inside]
            expansion = replace(expansion, function=shared.shifted(function), points=points)
        own = matrix[inside, inside] - 2 * expansion.centre + expansion.mean_square
        return cls(
            fitted,
            expansion,
            scores,
            np.maximum(squares, 0.0),
            np.maximum(own, 0.0),
            shared.rows[outside],
            limit,
        )

    def error(self, one: Candidate, by: str) -> float:
        """Compute the error of a candidate on the held-out rows."""
        k = self._kept(one.settings.n_components)
        scores = self.scores[:, :k]
        if by == "reconstruction":
            residuals = np.maximum(self.squares - np.einsum("ij,ij->i", scores, scores), 0.0)
            total = float(self.squares.mean())
            return float(residuals.mean()) / total if total > 0 else float(residuals.any())
        assert one.settings.pre_image is not None
        inverse = pre_images(
            one.settings.pre_image,
            replace(self.expansion, weights=self.expansion.weights[:, :k]),
            scores=self.fitted.training_scores[:, :k],
            squares=self.own_squares,
            alpha=one.settings.alpha,
            n_neighbors=one.settings.n_neighbors,
            memory=self.limit,
        )
        return float(np.sqrt(np.mean((self.left_out - inverse.rows(scores)) ** 2)))

    def _kept(self, wanted: int | float | None) -> int:
        """Count the components that a separate fit with ``n_components=wanted`` would keep."""
        spectrum = self.fitted.spectrum
        values = spectrum.variances[: self.fitted.k]
        if isinstance(wanted, int):
            return min(wanted, len(values))
        passed = np.flatnonzero(np.cumsum(values) > (wanted or 1.0) * spectrum.total)
        full = int((values > 0).sum())
        return int(passed[0]) + 1 if wanted is not None and passed.size else full


def _most(wanted: Sequence[int | float | None]) -> int | float | None:
    """Return the largest request; None (all) if numbers and fractions are mixed."""
    numbers = [each for each in wanted if each is not None]
    if len(numbers) < len(wanted) or len({isinstance(each, int) for each in numbers}) > 1:
        return None
    return max(numbers)
