"""Top k of rows that are read block by block in several passes; no p × p matrix is formed.

C. Musco and C. Musco, "Randomized block Krylov methods for stronger and faster approximate
singular value decomposition" (NIPS 2015), with the search of :mod:`~princomp.solvers.lanczos`.
An iteration is one pass over the rows, which adds Bᵀ(BQ) for each block of rows B. All earlier
blocks of vectors stay in the search space until it is full. Reading rows is expensive, so blocks
of vectors are wide.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from princomp.errors import InputChangedError
from princomp.kernels import native
from princomp.linalg import FloatArray, Operator, search_rng
from princomp.solvers.dense import roundoff_of_images
from princomp.solvers.lanczos import lanczos_without_constants
from princomp.solvers.ritz import FEWEST_UNITS, relative_residuals, spectrum_of, without_variance
from princomp.solvers.spectrum import Spectrum
from princomp.summaries import (
    Block,
    Columns,
    Weights,
    centre_rows,
    checked_block,
    is_sparse,
    wide_block_rows,
)

# Number of vectors in a block, in addition to the k wanted.
_OVERSAMPLES = 8
# Blocks that the search space holds before it restarts. Restarts cost passes: for k = 20 of
# 2,000 columns, 8, 5 and 3 blocks take 7, 7 and 7 passes with variances i⁻², 10, 11 and 12 with
# i⁻¹, and 47, 55 and 82 with a flat spectrum.
_BLOCKS, _FEWEST_BLOCKS = 8, 3
# Default largest residual, relative to the first variance. The error of a variance is about the
# squared residual over the gap; another digit costs a pass or two.
_RESIDUAL = 1e-9
# Largest difference between vᵀSw and wᵀSv that counts as rounding, in units of roundoff times the
# first variance: 24 tables of up to 10⁶ numbers needed 3 units. Noise in the products also shows
# in the residuals, so _COVERED times the largest residual is allowed in addition.
_ROUNDING_UNITS, _COVERED = 2000.0, 10.0
# From this difference on, rows are refused at once because they changed between passes. Other rows
# from the same distribution differ by about 1/√n.
_CHANGED = 1e-3


def block_width(k: int, p: int) -> int:
    """Number of vectors that are multiplied in one pass."""
    return min(p, k + _OVERSAMPLES)


def max_krylov_vectors(k: int, p: int, limit: int | None = None) -> int:
    """Number of vectors in the search space; fewer if only ``limit`` fit in memory."""
    width = block_width(k, p)
    vectors = min(p, _BLOCKS * width)
    return vectors if limit is None else max(min(vectors, limit), min(p, _FEWEST_BLOCKS * width))


@dataclass(frozen=True, slots=True, eq=False)
class Images:
    """Product Aᵀ(AQ) (p, m) of vectors Q with the scatter of the rows seen."""

    rows: float
    image: FloatArray

    def to_host(self) -> Images:
        """Return the images themselves: they are on the host."""
        return self

    def merge(self, other: Images) -> Images:
        """Add the images of other rows."""
        if not (self.rows and other.rows):
            return self if self.rows else other
        return Images(self.rows + other.rows, self.image + other.image)


class ImagesOf:
    """A kind of summary: :class:`Images` of vectors under centred (scaled, weighted) blocks."""

    complete_only = True
    block_rows = staticmethod(wide_block_rows)

    def __init__(self, vectors: FloatArray, columns: Columns, divisor: FloatArray | None) -> None:
        self.vectors, self.columns, self.divisor = vectors, columns, divisor

    def empty(self, p: int) -> Images:
        """Images of no rows."""
        return Images(0.0, np.zeros((p, self.vectors.shape[1])))

    def of(self, block: Block, weights: Weights = None, *, precise: bool = False) -> Images:
        """Images of a block (m, p), dense or CSR."""
        return self.add(self.empty(block.shape[1]), block, weights, precise=precise)

    def add(
        self, images: Images, block: Block, weights: Weights = None, *, precise: bool = False
    ) -> Images:
        """Add the rows of a block to ``images``, which is overwritten.

        With ``precise``, float32 rows are multiplied in float64.
        """
        block, weights = checked_block(block, weights)
        if precise:
            block = block.astype(np.float64, copy=False)
        # In C order for the compiled kernel, which takes half as long as BLAS.
        block = block if is_sparse(block) else native.as_kernel_rows(block)
        columns = self.columns
        spread = columns.column_scatter / max(columns.rows - 1.0, 1.0)
        mean, low = columns.mean, columns.mean_low
        rows = centre_rows(block, mean, low, spread, self.divisor, weights)
        rows.add_images(self.vectors, images.image)
        count = float(block.shape[0] if weights is None else weights.sum())
        return Images(images.rows + count, images.image)


@dataclass
class SteadyRows:
    """Products S @ vectors, one pass each, compared with those of the pass before.

    S is symmetric, so vᵀSw from one pass equals wᵀSv from the next, unless the rows changed.

    Parameters
    ----------
    apply : callable
        One pass over the rows.
    known : tuple of ndarray, optional
        Vectors and their product from the pass before.

    Attributes
    ----------
    difference : float
        Largest difference so far, relative to the first eigenvalue and the lengths of the vectors.
    """

    apply: Operator
    known: tuple[FloatArray, FloatArray] | None = None
    difference: float = 0.0
    _largest: float = 0.0

    def __call__(self, vectors: FloatArray) -> FloatArray:
        """Multiply vectors (p, m) by S.

        Raises
        ------
        InputChangedError
            If the difference shows that the rows changed.
        """
        image, previous = self.apply(vectors), self.known
        self.known = vectors, image
        lengths = np.linalg.norm(vectors, axis=0)
        self._largest = max(self._largest, float((np.linalg.norm(image, axis=0) / lengths).max()))
        if previous is not None and self._largest > 0.0:
            differences = np.abs(vectors.T @ previous[1] - image.T @ previous[0])
            differences /= self._largest * np.outer(lengths, np.linalg.norm(previous[0], axis=0))
            self.difference = max(self.difference, float(differences.max()))
            self.check(_CHANGED)
        return image

    def check(self, max_difference: float) -> None:
        """Check that the largest difference so far is at most ``max_difference``.

        Raises
        ------
        InputChangedError
            If it is not.
        """
        if self.difference > max_difference:
            raise InputChangedError(
                "the rows were not the same in every pass: products of two passes contradict each "
                f"other by {self.difference:.1e} of the first variance",
                hint="give rows that do not change: set the seed of random rows, or store the rows "
                "first (persist() on Dask and Spark)",
            )


def solve_blocks(
    apply: Operator,
    columns: Columns,
    k: int,
    start: FloatArray,
    *,
    tol: float,
    unit: float,
    max_vectors: int | None = None,
    known: tuple[FloatArray, FloatArray] | None = None,
) -> Spectrum:
    """Compute the top ``k`` of the scatter that ``apply`` multiplies by, to a residual each.

    Parameters
    ----------
    apply : callable
        One pass over the rows: maps vectors (p, m) to scatter times vectors.
    columns : Columns
        Columns of the same (scaled) rows.
    k : int
    start : ndarray of shape (p, block_width)
        The scatter times random directions.
    tol : float
        Largest residual relative to the first eigenvalue; 0 means 1e-9, or more if the
        precision of the data requires it, or less if the last eigenvalues wanted are smaller.
    unit : float
        Unit roundoff of the products.
    max_vectors : int, optional
        Number of vectors in the search space.
    known : tuple of ndarray, optional
        Vectors and their product from an earlier pass, to compare with; see :class:`SteadyRows`.

    Raises
    ------
    DataError, InputChangedError
        If the residual stays too large, or the rows changed between passes.
    """
    p, divisor = columns.p, columns.rows - 1.0
    total = float(columns.column_scatter.sum()) / divisor
    if total == 0.0:
        return without_variance(k, p, unit)
    steady, error = SteadyRows(apply, known), roundoff_of_images(p, unit, columns.count)
    largest_residual = max(tol or _RESIDUAL, FEWEST_UNITS * unit)
    pairs = lanczos_without_constants(
        steady,
        columns.column_scatter,
        k,
        tol=largest_residual,
        least_tol=None if tol else min(largest_residual, error),
        rng=search_rng(),
        start=start,
        max_vectors=max_vectors,
        trace=total * divisor,
    )
    axes, residuals = np.ascontiguousarray(pairs.vectors.T), relative_residuals(pairs, unit)
    steady.check(_ROUNDING_UNITS * unit + error + _COVERED * float(residuals.max()))
    return spectrum_of(pairs, columns, total, error, axes=axes, residuals=residuals)
