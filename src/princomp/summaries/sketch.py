"""Sketch: number of rows, mean, column scatter and the scatter times a random matrix.

J. A. Tropp, A. Yurtsever, M. Udell, V. Cevher, "Fixed-rank approximation of a positive-
semidefinite matrix from streaming data" (NIPS 2017). The product Y = SΩ is linear in the
scatter S, so sketches can be merged like scatters, with p·l numbers instead of p².
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from princomp.errors import ShapeError
from princomp.kernels import native
from princomp.linalg import EPS, FloatArray, frozen, slices
from princomp.summaries.blocks import (
    Block,
    Weights,
    checked_block,
    is_sparse,
    power_of_two,
)
from princomp.summaries.centred import Centred, Joined, as_kind
from princomp.summaries.centred_rows import centre_rows, safe_exponent
from princomp.summaries.columns import Columns

# Numbers in a block of wide rows: enough rows to justify reading and writing the p × l product once
# per block, few enough that a block takes only tens of megabytes. Sparse rows are short, so a block
# has at least MIN_ROWS_PER_SPARSE_BLOCK rows, and one row per _COLUMNS_PER_ROW columns up to
# _MOST_ROWS: with 1,000,000 columns and 100 stored values per row, 40,960 rows take 3.8 s of a pass
# in blocks of 4,096 rows, and 0.6 s as one block.
NUMBERS_PER_WIDE_BLOCK, _FEWEST_ROWS = 2**22, 32
MIN_ROWS_PER_SPARSE_BLOCK, _MOST_ROWS, _COLUMNS_PER_ROW = 4096, 65_536, 16
# Rows of a p × l array that are processed at a time.
_PANEL = 2**14


def wide_block_rows(columns: int, *, sparse: bool = False) -> int:
    """Number of rows in a block of wide rows, for summaries that add p × l numbers per block."""
    min_rows = _FEWEST_ROWS
    if sparse:
        min_rows = max(MIN_ROWS_PER_SPARSE_BLOCK, min(columns // _COLUMNS_PER_ROW, _MOST_ROWS))
    return power_of_two(max(NUMBERS_PER_WIDE_BLOCK // max(columns, 1), min_rows))


@lru_cache(maxsize=2)
def directions(p: int, width: int, seed: int) -> FloatArray:
    """Draw Ω: Gaussian directions (p, width), the same on any machine for the same seed.

    They are float32, because their precision does not matter as long as every block is multiplied
    by the same numbers.
    """
    return frozen(np.random.default_rng(seed).standard_normal((p, width), dtype=np.float32))


@dataclass(frozen=True, slots=True, eq=False)
class Sketch(Centred):
    """Number, mean, column scatter and SΩ of the rows seen, for p too large for a p × p scatter.

    Parameters
    ----------
    rows, count, mean, mean_low, centred
        As in :class:`~princomp.summaries.Moments`.
    column_scatter : ndarray of shape (p,)
        Diagonal of the scatter. It is exact, not sketched, so the total variance is known.
    product : ndarray of shape (p, l)
        Scatter times the directions.
    seed : int
        Seed of the directions. Sketches with different seeds cannot be merged.
    unit : float
        Unit roundoff of the least precise product in the sketch.
    divisor : ndarray of shape (p,), optional
        Diagonal of D after :meth:`scaled`: this is then a sketch of D⁻¹SD⁻¹ in the directions DΩ.
    lost : ndarray of shape (p,), optional
        As in :class:`~princomp.summaries.Moments`.

    Notes
    -----
    Like Moments, sketches form a group: ``a.merge(b).remove(b)`` equals ``a`` up to rounding.

    Examples
    --------
    >>> import numpy as np
    >>> from princomp import PCA
    >>> X = np.random.default_rng(0).standard_normal((50, 8))
    >>> model = PCA(2, svd_solver="sketch").fit(X)
    >>> type(model.summary_).__name__
    'Sketch'
    """

    column_scatter: FloatArray
    product: FloatArray
    seed: int
    unit: float = EPS
    divisor: FloatArray | None = None
    centred: bool = True
    lost: FloatArray | None = None

    detail = 1

    @property
    def width(self) -> int:
        """Number of directions, l."""
        return self.product.shape[1]

    @property
    def directions(self) -> FloatArray:
        """Ω (p, l), the directions by which the scatter is multiplied."""
        return self.directions_of(slice(None))

    def directions_of(self, part: slice) -> FloatArray:
        """Some rows of :attr:`directions`."""
        omega = directions(self.p, self.width, self.seed)[part].astype(np.float64)
        return omega if self.divisor is None else omega * self.divisor[part, None]

    @property
    def columns(self) -> Columns:
        """Mean and scatter of each column, without the product."""
        return as_kind(Columns, self)

    def converted(self, other: Any) -> Sketch:
        """Convert a summary with more detail to a sketch in the same directions."""
        product, squares = other.times(self.directions), np.array(other.column_scatter)
        own = {"seed": self.seed, "divisor": self.divisor}
        return as_kind(Sketch, other, column_scatter=squares, product=product, **own)

    def merge(self, other: Centred) -> Sketch:
        """Sketch of the rows of both; ``other`` may be of any kind."""
        if not isinstance(other, Sketch):
            return self._merged_as_kind(other)
        joined = self._joined(other)
        self._check_same_directions(other)
        if joined is None:
            return self if self.rows else other
        return self._merged(joined, other, self.product + other.product)

    def _merged(self, joined: Joined, other: Sketch | Columns, product: FloatArray) -> Sketch:
        """Complete a merge, where ``product``, which is changed, is the sum of both products."""
        fields, delta, delta_weight = joined
        self._add_outer(delta_weight, delta, product)
        scatter = self.column_scatter + other.column_scatter + delta_weight * delta * delta
        return replace(
            self, column_scatter=scatter, product=product, **fields, **self._merged_errors(other)
        )

    def _add_outer(self, factor: float, vector: FloatArray, into: FloatArray) -> None:
        """Add ``factor · v vᵀΩ`` in place, without a temporary array of the size of Ω."""
        omega, divisor = directions(self.p, self.width, self.seed), self.divisor
        weighted = vector if divisor is None else vector * divisor
        panels = slices(self.p, _PANEL)
        right = np.zeros(self.width)
        for panel in panels:
            right += weighted[panel] @ omega[panel]
        right *= factor
        for panel in panels:
            into[panel] += vector[panel, None] * right

    def remove(self, other: Sketch) -> Sketch:
        """Sketch of the rows of this one without those of ``other``.

        Raises
        ------
        ShapeError
            If ``other`` has more rows than this summary, or rows that were never added.
        ParameterError
            If ``other`` is of another kind.
        """
        remaining = self._without(other)
        self._check_same_directions(other)
        if remaining is None:
            return SketchOf(self.width, self.seed).empty(self.p) if other.rows else self
        fields, delta, delta_weight = remaining
        product = self.product - other.product
        self._add_outer(delta_weight, delta, product)
        scatter = self.column_scatter - other.column_scatter + delta_weight * delta**2
        scatter[scatter <= self._slack_of_remaining(other, scatter)] = 0.0
        fields["unit"] = max(self.unit, other.unit)
        fields["lost"] = self._lost_by_removing(other, scatter, delta, delta_weight)
        return replace(self, column_scatter=scatter, product=product, **fields)

    def faded(self, factor: float) -> Sketch:
        """Sketch of the same rows with their weights multiplied by ``factor``."""
        scatter, product = self.column_scatter * factor, self.product * factor
        return replace(self, column_scatter=scatter, product=product, **self._faded_fields(factor))

    def scaled(self, divisor: FloatArray) -> Sketch:
        """Sketch of the rows divided by ``divisor`` (p,)."""
        return replace(
            self,
            column_scatter=self.column_scatter / divisor / divisor,
            product=self.product / divisor[:, None],
            divisor=divisor if self.divisor is None else self.divisor * divisor,
            **self._scaled_fields(divisor),
        )

    def about_origin(self) -> Sketch:
        """Take the scatter about zero instead of the mean."""
        product = self.product.copy()
        self._add_outer(self.rows, self.mean, product)
        scatter, fields = self.columns.about_origin().column_scatter, self._fields_about_origin()
        return replace(self, column_scatter=scatter, product=product, **fields)

    def _check_same_directions(self, other: Sketch) -> None:
        if self.seed != other.seed or self.width != other.width:
            raise ShapeError(
                f"sketches in {self.width} directions of seed {self.seed} and in {other.width} of "
                f"seed {other.seed} cannot be merged",
                hint="sketch with the same seed and the same number of components",
            )
        mine, theirs = (np.ones(1) if s.divisor is None else s.divisor for s in (self, other))
        if (mine != theirs).any() and self.rows and other.rows:
            raise ShapeError(
                "sketches whose columns were divided by different numbers cannot be merged",
                hint="merge first, then scale",
            )


class SketchOf:
    """A kind of summary that computes sketches in ``width`` directions drawn with ``seed``."""

    complete_only = True
    block_rows = staticmethod(wide_block_rows)

    def __init__(self, width: int, seed: int = 0) -> None:
        self.width, self.seed = width, seed

    def empty(self, p: int) -> Sketch:
        """Sketch of no rows of ``p`` columns."""
        zero = np.zeros(p)
        return Sketch(0.0, 0, zero, zero, zero, np.zeros((p, self.width)), self.seed)

    def of(self, block: Block, weights: Weights = None, *, precise: bool = False) -> Sketch:
        """Sketch of a block (m, p), dense or CSR.

        Raises
        ------
        NotFiniteError
            With the position of the value in the block.
        """
        return self.add(self.empty(block.shape[1]), block, weights, precise=precise)

    def add(
        self, sketch: Sketch, block: Block, weights: Weights = None, *, precise: bool = False
    ) -> Sketch:
        """Add the rows of a block to ``sketch``, whose product is overwritten."""
        block, weights = checked_block(block, weights)
        m, p = block.shape
        if not m:
            return sketch
        # In C order for the compiled kernels, so results do not depend on the memory layout.
        block = block if is_sparse(block) else native.as_kernel_rows(block)
        if precise and block.dtype != np.float64:
            block = block.astype(np.float64)
        columns = Columns.of(block, weights)
        if block.dtype != np.float64 and safe_exponent(columns.column_scatter, block.dtype):
            block = block.astype(np.float64)  # its products would leave the range of float32
        spread = columns.column_scatter / columns.rows
        centred = centre_rows(block, columns.mean, columns.mean_low, spread, None, weights)
        images = centred.matmul(directions(p, self.width, self.seed))
        unit = EPS if is_sparse(block) else float(np.finfo(centred.dtype).eps)
        centred.add_rmatmul(images, sketch.product)
        joined = sketch.columns._joined(columns)
        if joined is None:
            return as_kind(
                Sketch, columns, product=sketch.product, seed=self.seed, unit=unit, divisor=None
            )
        return replace(sketch._merged(joined, columns, sketch.product), unit=max(sketch.unit, unit))
