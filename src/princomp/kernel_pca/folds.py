"""What a search over parameters computes once: products of rows, and a fold's eigenpairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from princomp.arrays import FloatArray
from princomp.errors import NotFiniteError
from princomp.feature_space import Expansion
from princomp.kernel_functions import KernelFunction
from princomp.kernel_pca.fits import ExactFit, fit_given
from princomp.kernel_pca.grid import Candidate
from princomp.pre_images import pre_images
from princomp.summaries.blocks import is_sparse

__all__ = ["Fold", "SharedProducts", "SolvedFold"]

# Row numbers to fit to, and to measure errors on.
Fold: TypeAlias = tuple[NDArray[np.intp], NDArray[np.intp]]


class SharedProducts:
    """Inner products of all rows, or their squared distances, kept for one kernel after another.

    Parameters
    ----------
    rows : array or CSR array of shape (n, p)
        In float64; a kernel matrix (n, n) where that is precomputed.
    """

    def __init__(self, rows: Any) -> None:
        self.rows = rows
        self._shift = None if is_sparse(rows) else rows.mean(axis=0)
        self._kind, self._kept = "", np.empty((0, 0))

    def shifted(self, function: KernelFunction) -> KernelFunction:
        """The same kernel about the mean of all rows, where that is lawful."""
        return function if self._shift is None else function.about(self._shift)

    def matrix(self, function: KernelFunction | None) -> FloatArray:
        """The kernel matrix of all rows (n, n).

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
        with np.errstate(all="ignore"):  # told below
            made = function.finished(self._products(function))
        if not np.isfinite(made).all():
            raise NotFiniteError(
                f"kernel {function.name!r} with gamma {function.gamma:g} is not finite between "
                "all rows",
                place={"parameter": "grid"},
                hint="leave out larger gammas or degrees, or scale the columns",
            )
        return made

    def _products(self, function: KernelFunction) -> FloatArray:
        """What ``finished`` takes, as a new array."""
        kind = {"rbf": "distances", "linear": "about", "cosine": "cosine"}.get(function.name, "raw")
        if kind != self._kind:
            self._kind, self._kept = kind, self._made(function, kind)
        assert function.gamma is not None
        if kind == "distances":
            return -function.gamma * self._kept
        return self._kept * function.gamma if kind == "raw" else self._kept.copy()

    def _made(self, function: KernelFunction, kind: str) -> FloatArray:
        self._kept = np.empty((0, 0))  # before another array of its size is made
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
    """The most components that any combination of a kernel wants, of the rows of a fold.

    Parameters
    ----------
    fitted : ExactFit
    expansion : Expansion
        Of the rows of the fit, where there are rows.
    scores : ndarray of shape (m, most)
        Of the rows that were left out.
    squares : ndarray of shape (m,)
        Squared lengths of their centred images.
    own_squares : ndarray of shape (n,)
        The same of the rows of the fit.
    left_out : array of shape (m, p)
    limit : int
        Bytes that pre-images may take.
    """

    fitted: ExactFit
    expansion: Expansion
    scores: FloatArray
    squares: FloatArray
    own_squares: FloatArray
    left_out: Any
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
        """Solve the kernel matrix of a fold, cut out of that of all rows."""
        inside, outside = fold
        most = _most([one.asked.n_components for one in group])
        asked = group[0].asked._replace(n_components=most, memory=limit)
        fitted = fit_given(matrix[np.ix_(inside, inside)], None, asked)
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
        """Of a combination, on the rows that were left out."""
        k = self._kept(one.asked.n_components)
        scores = self.scores[:, :k]
        if by == "reconstruction":
            left = np.maximum(self.squares - np.einsum("ij,ij->i", scores, scores), 0.0)
            whole = float(self.squares.mean())
            return float(left.mean()) / whole if whole > 0 else float(left.any())
        assert one.asked.pre_image is not None
        way = pre_images(
            one.asked.pre_image,
            replace(self.expansion, weights=self.expansion.weights[:, :k]),
            scores=self.fitted.training_scores[:, :k],
            squares=self.own_squares,
            alpha=one.asked.alpha,
            n_neighbors=one.n_neighbors,
            memory=self.limit,
        )
        return float(np.sqrt(np.mean((self.left_out - way.rows(scores)) ** 2)))

    def _kept(self, wanted: int | float | None) -> int:
        """How many components a fit of this combination alone would keep."""
        spectrum = self.fitted.spectrum
        values = spectrum.variances[: self.fitted.k]
        if isinstance(wanted, int):
            return min(wanted, len(values))
        passed = np.flatnonzero(np.cumsum(values) > (wanted or 1.0) * spectrum.total)
        full = int((values > 0).sum())
        return int(passed[0]) + 1 if wanted is not None and passed.size else full


def _most(wanted: Sequence[int | float | None]) -> int | float | None:
    """What holds all that is wanted; all components, where shares and numbers are mixed."""
    numbers = [each for each in wanted if each is not None]
    if len(numbers) < len(wanted) or len({isinstance(each, int) for each in numbers}) > 1:
        return None
    return max(numbers)
