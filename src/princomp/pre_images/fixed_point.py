"""Pre-images by iteration: the row whose image lies nearest to a projection.

S. Mika et al., "Kernel PCA and de-noising in feature spaces" (NIPS 1998, printed 1999): where the
distance ‖φ(z) − P‖² is stationary, z is a mean of the points, weighted by what z itself makes
of them; so the mean is taken again and again. Steps that would take z further away are halved.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from princomp.arrays import EPS, FloatArray, empty, one_blas_thread
from princomp.feature_space import Expansion
from princomp.pre_images.descent import Slope, slope_of
from princomp.pre_images.given import checked_scores
from princomp.pre_images.nearest import Nearest
from princomp.threads import in_order

__all__ = ["FixedPoint"]

# Steps that went well are lengthened, as the plain iteration creeps along where the objective is
# flat, and halved where they did not. A step this short in vain means that rounding is all
# that is left.
_LONGER, _LONGEST, _IN_VAIN = 1.5, 8.0, 2.0**-30
# The objective may seem to rise by so many units of rounding of its terms.
_UNITS = 8.0


class _Walk(NamedTuple):
    """Rows on their way: what they are, where, how good that is, and where to go."""

    row: NDArray[np.intp]
    shares: FloatArray
    at: FloatArray
    value: FloatArray
    way: FloatArray
    length: FloatArray

    def of(self, which: NDArray[np.bool_]) -> _Walk:
        return _Walk(*(each[which] for each in self))


@dataclass(frozen=True, eq=False)
class FixedPoint:
    """Pre-images of "rbf" and "poly".

    Each begins at the mean of the points whose images are nearest, weighted by how near they
    are, or at the nearest one, whichever is better. It ends where the next mean is no further
    away than ``tol`` times the spread of the points, the root of their mean squared distance
    from their mean.

    Parameters
    ----------
    expansion : Expansion
        With dense points.
    n_neighbors : int
        Nearest points to begin with.
    tol : float
    max_iter : int
        Most steps.
    known : tuple of ndarray, optional
        What :class:`Nearest` takes.
    """

    expansion: Expansion
    n_neighbors: int = 10
    tol: float = 1e-5
    max_iter: int = 500
    known: tuple[FloatArray, FloatArray] | None = None

    @cached_property
    def nearest(self) -> Nearest:
        """Distances in feature space."""
        return Nearest(self.expansion, self.known)

    @cached_property
    def _slope(self) -> Slope:
        return slope_of(self.expansion.function, self.nearest.points)

    @cached_property
    def _enough(self) -> float:
        points = self.nearest.points
        return self.tol * float(np.sqrt(points.var(axis=0).sum()))

    def rows(self, scores: FloatArray) -> FloatArray:
        """Rows (n, p) of scores (n, k), in their precision.

        Warns
        -----
        ConvergenceWarning
            With the share of the rows that went on to ``max_iter``.
        """
        scores = checked_scores(scores, self.expansion.k)
        nearest = self.nearest
        step, shift = nearest.step(), self.expansion.function.shift
        nearest.beyond, self._slope, self._enough  # noqa: B018  (before threads ask for them)
        out = empty((len(scores), nearest.points.shape[1]), dtype=scores.dtype)

        def fill(start: int) -> int:
            made, going_on = self._found(scores[start : start + step].astype(np.float64))
            out[start : start + step] = made if shift is None else made + shift
            return going_on

        with one_blas_thread():
            left = sum(in_order(fill, range(0, len(scores), step)))
        if left:
            warnings.warn(
                f"{left:,} of {len(scores):,} pre-images ({left / len(scores):.1%}) still moved "
                f"after {self.max_iter} steps. Fewer components or another gamma would help.",
                ConvergenceWarning,
                stacklevel=2,
            )
        return out

    def _found(self, scores: FloatArray) -> tuple[FloatArray, int]:
        """Pre-images (b, p) about the shift, and how many were still moving."""
        shares = self.expansion.coefficients(scores)
        walk = self._begun(shares, scores)
        out = np.empty_like(walk.at)
        for _ in range(self.max_iter):
            walk = self._stepped(walk)
            size = np.sqrt(np.einsum("ij,ij->i", walk.way, walk.way))
            ended = (size <= self._enough) | (walk.length < _IN_VAIN)
            if ended.any():
                out[walk.row[ended]] = walk.at[ended]
                walk = walk.of(~ended)
            if not len(walk.row):
                break
        out[walk.row] = walk.at
        return out, len(walk.row)

    def _begun(self, shares: FloatArray, scores: FloatArray) -> _Walk:
        """Where rows begin."""
        points = self.nearest.points
        found, squares = self.nearest.of(scores, self.n_neighbors)
        least = np.maximum(squares[:, :1], EPS * squares[:, -1:] + np.finfo(np.float64).tiny)
        near = least / np.maximum(squares, least)
        near /= near.sum(axis=1, keepdims=True)
        first = np.einsum("nq,nqp->np", near, points[found])
        value, way, _ = self._slope(shares, first)
        other = points[found[:, 0]]
        others, other_way, _ = self._slope(shares, other)
        # Not "others < value": a start whose value overflowed is worse than any.
        worse = ~(value <= others)
        return _Walk(
            np.arange(len(scores)),
            shares,
            np.where(worse[:, None], other, first),
            np.where(worse, others, value),
            np.where(worse[:, None], other_way, way),
            np.ones(len(scores)),
        )

    def _stepped(self, walk: _Walk) -> _Walk:
        """One step of each row, or half of it where it led away."""
        trial = walk.at + walk.length[:, None] * walk.way
        value, way, size = self._slope(walk.shares, trial)
        better = value <= walk.value + _UNITS * EPS * size
        length = np.where(better, np.minimum(walk.length * _LONGER, _LONGEST), walk.length / 2)
        return _Walk(
            walk.row,
            walk.shares,
            np.where(better[:, None], trial, walk.at),
            np.where(better, value, walk.value),
            np.where(better[:, None], way, walk.way),
            length,
        )
