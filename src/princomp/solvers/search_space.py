"""The step of a block Lanczos search: it grows a space and projects the operator onto it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from princomp.linalg import EPS, FloatArray, eigh, eigh_top, empty
from princomp.solvers.bases import factored, growth, orthonormal, swept

# After two sweeps a block is orthogonal to the space up to EPS over the share of its length that
# its smallest direction keeps. A share below _KEPT (or one that costs more than _UNITS of the
# tolerance) takes a third sweep.
_KEPT, _UNITS = 1e-2, 16
# Images shorter than this many times their rounding are mostly rounding. They are swept again, or
# each block would lose orthogonality on top of what the last one lost.
_NOISE = 64


class SearchSpace:
    """A space of vectors, and the projection of a symmetric operator onto it.

    Parameters
    ----------
    apply : callable
        The operator; maps (size, m) to (size, m).
    block : ndarray of shape (m, size)
        Orthonormal rows, the first block.
    room : int
        Vectors that the space can hold.
    tol : float
        Largest relative residual that the search may end with.

    Attributes
    ----------
    room, size : int
        Vectors that the space can hold, and their length.
    stop : int
        Vectors in the space.
    products : int
        Number of times that the operator was applied.
    overlap : float
        Largest inner product of two basis vectors, where the tolerance allows more than rounding.
        Residuals may be off by as much of the first eigenvalue.
    """

    def __init__(
        self,
        apply: Callable[[FloatArray], FloatArray],
        block: FloatArray,
        room: int,
        tol: float,
    ) -> None:
        self._apply, self._tol = apply, tol
        self.room, self.size = room, block.shape[1]
        self._basis = empty((room, self.size))
        self._projected = np.zeros((room, room))
        self._block, self._image, self._afresh = block, block, False
        self._first = self.stop = self.products = 0
        self._longest = self._largest = self._shortest = self._rounding = 0.0
        self.overlap = 0.0

    @property
    def vectors(self) -> FloatArray:
        """The orthonormal basis (stop, size)."""
        return self._basis[: self.stop]

    def is_full(self, width: int) -> bool:
        """Whether there is no room for another block of this width, or no direction left."""
        return self.stop >= self.size or self.stop + min(width, self.size - self.stop) > self.room

    def grow(self) -> None:
        """Apply the operator to the block, and add the block to the space."""
        first, stop = self.stop, self.stop + len(self._block)
        self._basis[first:stop] = self._block
        self._first, self.stop = first, stop
        image, coupling = swept(self._apply(self._block.T).T, self.vectors, "swept once")
        self.products += 1
        self._projected[:stop, first:stop] = coupling
        self._projected[first:stop, :stop] = coupling.T
        length = self._longest = _longest(image)
        self._largest = max(self._largest, length, _longest(coupling.T))
        self._shortest = length * min(_KEPT, _UNITS * EPS / max(self._tol, EPS))
        # Of the largest products, not of this one: what a block shares with the first vectors comes
        # back multiplied by the first eigenvalue.
        self._rounding = EPS * self._largest
        # Twice is enough (Kahan; Parlett 1998).
        self._image, _ = swept(image, self.vectors, "swept")

    def pairs(self, most: int | None = None) -> tuple[FloatArray, FloatArray]:
        """Return Ritz values, descending, and vectors in the basis as rows: all or ``most``."""
        inner = self._projected[: self.stop, : self.stop]
        if most is None or 3 * most >= self.stop:
            values, vectors = eigh(inner)
        else:
            values, vectors = eigh_top(inner, most)
        return values[:most], vectors[:most]

    def residuals(self, inner: FloatArray) -> FloatArray:
        """Norms of ``A v − λ v`` of Ritz vectors, by the recurrence."""
        norms: FloatArray = np.linalg.norm(inner[:, self._first : self.stop] @ self._image, axis=1)
        return norms

    def restart(self, values: FloatArray, inner: FloatArray, *, afresh: bool = False) -> None:
        """Keep these Ritz pairs and discard the rest of the space (thick restart).

        ``afresh``: continue with random vectors instead of the last images.
        """
        keep = len(values)
        self._basis[:keep] = inner @ self.vectors
        self._projected[:] = 0.0
        self._projected[np.arange(keep), np.arange(keep)] = values
        self.stop, self._afresh = keep, afresh

    def extend(self, width: int, rng: np.random.Generator) -> None:
        """Make the next block from the images of the last one, and random vectors where needed.

        The images were swept twice. What they still share with the space grows as they are made
        orthonormal: by more than 1 / ``_shortest``, and they are swept again. A direction in which
        no image is longer than the rounding is replaced by a random one.
        """
        width = min(width, self.size - self.stop)
        if self._afresh:
            self._afresh = False
            self._block = self._outside(rng.standard_normal((width, self.size)))
            return
        block, triangle = factored(self._image)
        # A direction that is short in its own image may be long in later ones.
        largest = np.abs(triangle).max(axis=1)
        lost = (largest <= self._rounding) | ~np.isfinite(block).all(axis=1)
        if lost.any():
            block[lost] = rng.standard_normal((int(lost.sum()), block.shape[1]))
        block = block[:width]
        shortest = max(self._shortest, _NOISE * self._rounding)
        grown = growth(triangle)
        if lost.any() or grown * shortest > 1.0:
            block = self._outside(block)
        elif grown * self._longest * _KEPT > 1.0:
            self.overlap = max(self.overlap, EPS * grown * self._longest)
        self._block = block

    def _outside(self, block: FloatArray) -> FloatArray:
        """Orthonormalise a block, orthogonal to the space."""
        for _ in range(2):
            block = orthonormal(swept(block, self.vectors, "swept once")[0])
        return block


def _longest(vectors: FloatArray) -> float:
    """Length of the longest of some vectors (m, size)."""
    return float(np.sqrt(np.einsum("ij,ij->i", vectors, vectors).max(initial=1e-300)))
