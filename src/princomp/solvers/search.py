"""Search for eigenpairs: each step grows the search space, and a rule ends the search.

Block Lanczos with full reorthogonalisation and thick restart, after Golub & Underwood (1977) and Wu
& Simon (2000). Pairs are accepted by their residuals, never after a number of iterations.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from princomp.errors import NotFiniteError
from princomp.linalg import EPS, FloatArray, Operator, eigh, eigh_top, empty
from princomp.solvers.bases import inverse_and_growth, orthonormal, project_out, qr_of_rows

# After two passes of Gram-Schmidt, inner products of a block with the space are about EPS / s,
# where s is the ratio of the block's smallest to its largest singular value. There is another pass
# if s is below _LEAST_RATIO and EPS / s exceeds the tolerance over _TOL_FRACTION.
_LEAST_RATIO, _TOL_FRACTION = 1e-2, 16
# Images shorter than this multiple of their rounding errors are mostly noise. They get another
# pass, too: without it, the loss of orthogonality would grow from block to block.
_NOISE = 64
# Largest norm of the part of an orthonormal block in the space that one more pass of Gram-Schmidt
# removes up to rounding.
_MAX_PART_INSIDE = 0.5


@dataclass(frozen=True)
class Pairs:
    """The largest eigenpairs of a symmetric operator.

    Parameters
    ----------
    values : ndarray of shape (k,)
        Eigenvalues, descending.
    vectors : ndarray of shape (size, k)
        Eigenvectors.
    residuals : ndarray of shape (k,)
        Norm of ``A v − λ v``, from the Lanczos recurrence.
    products : int
        Number of times that the operator was applied to a block.
    converged : bool
        False if the search was abandoned; the pairs are then the best so far.
    missed : float
        Upper bound of the probability that a larger eigenvalue is missing; see
        :func:`~princomp.solvers.missed.miss_probability`.
    """

    values: FloatArray
    vectors: FloatArray
    residuals: FloatArray
    products: int
    converged: bool
    missed: float = 1.0


class Rule(Protocol):
    """Decides when a search computes its pairs, and when it ends."""

    @property
    def width(self) -> int:
        """Number of vectors in the next block."""

    def check(self, space: SearchSpace) -> Pairs | None:
        """Return pairs to end the search, or None to continue; called when the space has grown.

        To continue with a full space, the rule must restart it.
        """


class SearchSpace:
    """An orthonormal basis, and the projection of a symmetric operator onto its span.

    Parameters
    ----------
    apply : callable
        Maps an array (size, m) to the operator times it, of the same shape.
    block : ndarray of shape (m, size)
        Orthonormal rows, the first block.
    max_vectors : int
        Number of vectors that the basis can hold.
    tol : float
        Largest relative residual that the search may end with.

    Attributes
    ----------
    max_vectors, size : int
        Number of vectors that the basis can hold, and their length.
    stop : int
        Number of vectors in the basis.
    products : int
        Number of times that the operator was applied.
    overlap : float
        Estimate of the largest inner product of two basis vectors; 0 if it is at the level of
        rounding. Residuals relative to the first eigenvalue may be off by the same amount.
    """

    def __init__(self, apply: Operator, block: FloatArray, max_vectors: int, tol: float) -> None:
        self._apply, self._tol = apply, tol
        self.max_vectors, self.size = max_vectors, block.shape[1]
        self._basis = empty((max_vectors, self.size))
        self._projected = np.zeros((max_vectors, max_vectors))
        self._block, self._image, self._random_next = block, block, False
        self._block_start = self.stop = self.products = 0
        self._largest_so_far = self.overlap = 0.0

    @property
    def vectors(self) -> FloatArray:
        """The orthonormal basis (stop, size)."""
        return self._basis[: self.stop]

    def is_full(self, width: int) -> bool:
        """Whether there is no room for another block of this width, or no direction left."""
        return (
            self.stop >= self.size
            or self.stop + min(width, self.size - self.stop) > self.max_vectors
        )

    def grow(self) -> None:
        """Apply the operator to the block, and add the block to the space."""
        first, stop = self.stop, self.stop + len(self._block)
        self._basis[first:stop] = self._block
        # Up to rounding, images have components only in the last two blocks, or, after a restart,
        # in the vectors kept. These are removed first, and the rounding in the second pass.
        recent, self._block_start, self.stop = self._block_start, first, stop
        image = self._apply(self._block.T).T
        if not np.isfinite(image).all():
            raise NotFiniteError(
                "a product with the rows is not finite: it overflowed",
                hint="divide the columns by a power of ten, or choose svd_solver='full'",
            )
        image, coupling = project_out(image, self._basis[recent:stop], "projected once")
        self.products += 1
        norm = self._image_norm = _largest_norm(image)
        self._largest_so_far = max(self._largest_so_far, norm, _largest_norm(coupling.T))
        ratio = min(_LEAST_RATIO, _TOL_FRACTION * EPS / max(self._tol, EPS))
        # Relative to the longest image so far, not to this one: components along the leading
        # eigenvectors that remain in a block are multiplied by the largest eigenvalue.
        self._rounding_norm = EPS * self._largest_so_far
        # `extend` makes another pass of Gram-Schmidt if an image is shorter than this.
        self._norm_needed = max(norm * ratio, _NOISE * self._rounding_norm)
        # The second pass, which is usually enough (Kahan; Parlett 1998). The image is in scratch
        # memory that the next step reuses.
        self._image, rest = project_out(image, self.vectors, "projected")
        rest[recent:] = coupling
        self._projected[:stop, first:stop] = rest
        self._projected[first:stop, :stop] = rest.T

    def pairs(self, count: int | None = None) -> tuple[FloatArray, FloatArray]:
        """Return the Ritz values, descending, and the Ritz vectors as rows of coordinates.

        All pairs, or those of the ``count`` largest values. Coordinates refer to :attr:`vectors`.
        """
        projected = self._projected[: self.stop, : self.stop]
        if count is None or 3 * count >= self.stop:
            values, vectors = eigh(projected)
        else:
            values, vectors = eigh_top(projected, count)
        return values[:count], vectors[:count]

    def residuals(self, coordinates: FloatArray) -> FloatArray:
        """Norms of ``A v − λ v`` of Ritz vectors with these coordinates; call after `grow`.

        They are the norms of the part of the last images outside the space: A is not applied.
        """
        return np.linalg.norm(coordinates[:, self._block_start : self.stop] @ self._image, axis=1)

    def restart(self, values: FloatArray, coordinates: FloatArray, *, random: bool = False) -> None:
        """Keep these Ritz pairs and discard the rest of the space (thick restart).

        ``random``: continue with random vectors instead of the last images.
        """
        keep = len(values)
        self._basis[:keep] = coordinates @ self.vectors
        self._projected[:] = 0.0
        self._projected[np.arange(keep), np.arange(keep)] = values
        self._block_start, self.stop, self._random_next = 0, keep, random

    def extend(self, width: int, rng: np.random.Generator) -> None:
        """Make the next block from the images of the last one, and random vectors where needed.

        The images still have small components in the space. Orthonormalising the images amplifies
        these components, by ``growth`` for an image of length 1. If that is too much, or a
        direction was replaced, there is another pass of Gram-Schmidt. Directions in which no image
        is longer than its rounding errors are replaced by random ones.
        """
        width = min(width, self.size - self.stop)
        if self._random_next:
            self._random_next = False
            self._block = self._orthogonal_block(rng.standard_normal((width, self.size)), rng)
            return
        block, triangle = qr_of_rows(self._image)
        # A row of the triangle has the coefficients of one direction in all images.
        lengths = np.abs(triangle).max(axis=1)
        replaced = (lengths <= self._rounding_norm) | ~np.isfinite(block).all(axis=1)
        if replaced.any():
            block[replaced] = rng.standard_normal((int(replaced.sum()), block.shape[1]))
        block = block[:width]
        _, growth = inverse_and_growth(triangle)
        if replaced.any() or growth * self._norm_needed > 1.0:
            block = self._orthogonal_block(block, rng)
        elif growth * self._image_norm * _LEAST_RATIO > 1.0:
            self.overlap = max(self.overlap, EPS * growth * self._image_norm)
        self._block = block

    def _orthogonal_block(self, block: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Orthonormalise a block, orthogonal to the space.

        Each pass of Gram-Schmidt makes unit vectors of what is outside the space. If the second
        pass still finds vectors with a large part in the space, they were only rounding errors, and
        further passes would not help: random vectors replace them.
        """
        while True:
            block = orthonormal(project_out(block, self.vectors, "projected once")[0])
            remainder, coordinates = project_out(block, self.vectors, "projected once")
            block = orthonormal(remainder)
            if not np.linalg.norm(coordinates) > _MAX_PART_INSIDE:
                return block
            limit = _MAX_PART_INSIDE / np.sqrt(len(block))
            lengths = np.linalg.norm(coordinates, axis=0)
            in_space = lengths > limit
            block[in_space] = rng.standard_normal((int(in_space.sum()), self.size))


def _largest_norm(vectors: FloatArray) -> float:
    """Norm of the longest of some vectors (m, size); at least 1e-150, so that it is not zero."""
    return float(np.sqrt(np.einsum("ij,ij->i", vectors, vectors).max(initial=1e-300)))


def search(space: SearchSpace, rule: Rule, rng: np.random.Generator) -> Pairs:
    """Grow the space until the rule ends the search."""
    while True:
        space.grow()
        pairs = rule.check(space)
        if pairs is not None:
            return pairs
        space.extend(rule.width, rng)
