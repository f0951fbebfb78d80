"""Moments: number of rows, mean and scatter (Chan, Golub & LeVeque 1983)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from princomp.kernels import native, wide
from princomp.linalg import (
    EPS,
    FloatArray,
    add_outer,
    added_with_outer,
    divided,
    restore_underflowed,
    two_sum,
)
from princomp.summaries.block_moments import (
    check_in_range,
    is_very_sparse,
    moments_of_dense,
    moments_of_sparse,
    products_unit,
)
from princomp.summaries.blocks import Block, Weights, checked_block, is_sparse
from princomp.summaries.centred import Centred, Joined, OnDevice, as_kind, merged_kinds
from princomp.summaries.columns import Columns
from princomp.summaries.removal import (
    ROUNDING,
    check_remaining_scatter,
    constant_columns,
    lost_by_removing,
    lost_by_zeroing,
)


@dataclass(frozen=True, slots=True, eq=False)
class Moments(Centred):
    """Number, mean and scatter of the rows seen: the covariance route.

    Parameters
    ----------
    rows : float
        Sum of the weights, or the number of rows if there are no weights.
    count : int
        Number of rows that were added; a row of any weight above 0 counts once. The rank of the
        scatter is at most ``count − 1``.
    mean, mean_low : ndarray of shape (p,)
        Column means in the units of the data, as an unevaluated sum of two doubles.
    scatter : ndarray of shape (p, p)
        Σ w (x − mean)(x − mean)ᵀ, not divided by the number of rows.
    unit : float
        Unit roundoff of the least precise product in the scatter.
    centred : bool
        False after :meth:`about_origin`.
    lost : ndarray of shape (p,), optional
        Errors of the column scatters from removed rows, in addition to ``unit`` times the scatter.

    Notes
    -----
    Moments form a group: ``a.merge(b).remove(b)`` equals ``a`` up to rounding.

    Examples
    --------
    >>> import numpy as np
    >>> from princomp import PCA, Moments
    >>> X = np.arange(12.0).reshape(4, 3) ** 2
    >>> joined = Moments.of(X[:2]).merge(Moments.of(X[2:]))
    >>> np.allclose(joined.mean, X.mean(axis=0))
    True
    >>> PCA.from_summary(joined).n_components_
    3
    """

    rows: float
    count: int
    mean: FloatArray
    mean_low: FloatArray
    scatter: FloatArray
    unit: float = EPS
    centred: bool = True
    lost: FloatArray | None = None

    detail = 2

    @classmethod
    def empty(cls, p: int) -> Moments:
        """Moments of no rows of ``p`` columns."""
        zero = np.zeros(p)
        return cls(0.0, 0, zero, zero, np.zeros((p, p)))

    @classmethod
    def of(cls, block: Block, weights: Weights = None, *, precise: bool = False) -> Moments:
        """Moments of a block.

        Parameters
        ----------
        block : ndarray or CSR array of shape (m, p)
            float32 or float64; it is not changed.
        weights : ndarray of shape (m,), optional
            Frequencies: a row of weight 2 counts as two rows.
        precise : bool
            Multiply float32 rows in float64.

        Raises
        ------
        NotFiniteError
            With the position of the value in the block.
        """
        block, weights = checked_block(block, weights)
        m, p = block.shape
        if m == 0:
            return cls.empty(p)
        if is_sparse(block) and is_very_sparse(block):
            return cls(*moments_of_sparse(block, weights))
        dense = block.toarray() if is_sparse(block) else block
        if p >= wide.MIN_COLUMNS:
            return _add_block(cls.empty(p), dense, weights, precise, threads=1).to_host()
        return cls(*moments_of_dense(dense, weights, precise))

    @staticmethod
    def adds_in_place(p: int, *, sparse: bool = False) -> bool:
        """Whether blocks of ``p`` columns are added in place with :meth:`add`, one by one."""
        return p >= wide.MIN_COLUMNS and not sparse

    @staticmethod
    def add(
        moments: Moments, block: Block, weights: Weights = None, *, precise: bool = False
    ) -> Moments:
        """Add the rows of a block to ``moments``, which is overwritten.

        Until ``to_host()``, only the diagonal and upper triangle of the scatter are valid.
        """
        block, weights = checked_block(block, weights)
        if block.shape[0] == 0:
            return moments
        return _add_block(moments, block.toarray() if is_sparse(block) else block, weights, precise)

    @classmethod
    def of_covariance(cls, covariance: FloatArray, mean: FloatArray, rows: float) -> Moments:
        """Moments that have this covariance (p, p), mean (p,) and number of rows."""
        scatter = covariance * (rows - 1.0)
        return cls(rows, len(mean) + 1, mean.copy(), np.zeros_like(mean), scatter)

    def on_same_device(self, other: Moments) -> Moments:
        """Copy another summary to the device of this one, here to the host."""
        return other.to_host()

    def converted(self, other: Centred) -> Moments:
        """Convert a summary with more detail to Moments."""
        return as_kind(Moments, other)

    @property
    def column_scatter(self) -> FloatArray:
        """Diagonal of the scatter (p,)."""
        return self.scatter.diagonal()

    def times(self, vectors: FloatArray) -> FloatArray:
        """Scatter @ vectors (p, m)."""
        return self.scatter @ vectors

    def merge(self, other: Centred, *, overwrite: bool = False) -> Any:
        """Moments of the rows of both; if ``other`` has less detail, a summary of its kind.

        Parameters
        ----------
        other : Moments, Triangle or Sketch
        overwrite : bool
            Write the result into the memory of ``other``.
        """
        if not isinstance(other, Moments):
            return merged_kinds(self, other)
        if isinstance(other, OnDevice) and not isinstance(self, OnDevice):
            return other.on_same_device(self).merge(other)
        joined = self._joined(other)
        if joined is None:
            return self if self.rows else other
        fields, delta, delta_weight = joined
        added = self.on_same_device(other).scatter
        scatter = self._sum_with_outer(added, delta_weight, delta, overwrite=overwrite)
        return self._with(scatter, **fields, **self._merged_errors(other))

    def remove(self, other: Moments) -> Moments:
        """Moments of the rows of this one without those of ``other``.

        Raises
        ------
        ShapeError
            If ``other`` has more rows than this summary, or rows that were never added.
        ParameterError
            If ``other`` is of another kind.
        """
        if isinstance(other, OnDevice) and not isinstance(self, OnDevice):
            return other.on_same_device(self).remove(other)
        remaining = self._without(other)
        if remaining is None:
            return Moments.empty(self.p) if other.rows else self
        fields, delta, delta_weight = remaining
        scatter = self.scatter - self.on_same_device(other).scatter
        self._add_outer(scatter, delta_weight, delta)
        # The rounding errors of the outer product are not symmetric, and may be large here.
        scatter = (scatter + scatter.T) * 0.5
        squares = self._diagonal(scatter)
        slack = check_remaining_scatter(self, other, squares)
        lost = lost_by_removing(self, other, squares)
        candidates = np.flatnonzero(squares <= slack)
        if candidates.size:
            products = self._rows_of(scatter, candidates)
            constant = constant_columns(candidates, products, slack)
            lost_by_zeroing(lost, constant, products[np.isin(candidates, constant)])
            for j in candidates.tolist():  # no variance may be negative
                scatter[j, j] = float(max(squares[j], slack[j] / ROUNDING))
            for j in constant.tolist():
                scatter[j, :] = 0.0
                scatter[:, j] = 0.0
        return self._with(scatter, **fields, unit=max(self.unit, other.unit), lost=lost)

    def faded(self, factor: float) -> Moments:
        """Moments of the same rows with their weights multiplied by ``factor``."""
        return self._with(self.scatter * factor, **self._faded_fields(factor))

    def scaled(self, divisor: FloatArray) -> Moments:
        """Moments of the rows divided by ``divisor`` (p,), column by column."""
        scatter = divided(self.scatter, self._put(divisor))
        return self._with(scatter, **self._scaled_fields(divisor))

    def about_origin(self) -> Moments:
        """Take the scatter about zero instead of the mean."""
        scatter = self.scatter * 1.0  # a copy, on any device
        self._add_outer(scatter, self.rows, self.mean)
        return self._with(scatter, **self._fields_about_origin())

    # ---- arithmetic on the scatter, which may be on a device -----------------------------

    def _with(self, scatter: Any, **changes: Any) -> Moments:
        """Return moments of this kind with another scatter and other fields."""
        return replace(self, scatter=scatter, **changes)

    def _diagonal(self, scatter: Any) -> FloatArray:
        """Return the diagonal of a scatter (p,), on the host."""
        return scatter.diagonal()

    def _rows_of(self, scatter: Any, indices: NDArray[np.intp]) -> FloatArray:
        """Return a copy of some rows of a scatter (m, p), on the host."""
        return scatter[indices]

    def _add_outer(self, scatter: Any, factor: float, vector: FloatArray) -> None:
        """Add ``factor · vector vectorᵀ`` to a scatter in place."""
        add_outer(scatter, factor, vector)

    def _sum_with_outer(
        self, added: Any, factor: float, vector: FloatArray, *, overwrite: bool
    ) -> Any:
        """Return the sum of two scatters and ``factor · vector vectorᵀ``."""
        return added_with_outer(self.scatter, added, factor, vector, overwrite=overwrite)


@dataclass(frozen=True, slots=True, eq=False)
class _Upper(Moments):
    """Moments to which blocks are added: upper triangle of the scatter, and memory for a block."""

    memory: FloatArray | None = None

    def to_host(self) -> Moments:
        """Return Moments with a symmetric scatter, in the same memory."""
        wide.mirror(self.scatter)
        return as_kind(Moments, self)


def _add_block(
    moments: Moments, block: FloatArray, weights: Weights, precise: bool, threads: int | None = None
) -> _Upper:
    """Add a block in place, after checking that all of it is in range."""
    memory = moments.memory if isinstance(moments, _Upper) else None
    packed = wide.packed(block, weights, precise=precise, memory=memory, threads=threads)
    if packed.status != native.DONE:
        check_in_range(block, precise, packed.sums, packed.squares)
        return _add_block(moments, block, weights, True, threads)
    mean, low = two_sum(packed.shift.astype(np.float64), packed.sums / packed.rows)
    part = Columns(packed.rows, block.shape[0], mean, low, packed.squares, moments.centred)
    joined = moments._joined(part)
    unit = products_unit(block.dtype, precise)
    if joined is None:
        fields = {"rows": part.rows, "count": part.count, "mean": mean, "mean_low": low}
        joined = Joined(fields, np.zeros(part.p), 0.0)
    else:
        unit = max(unit, moments.unit)
    fields, delta, delta_weight = joined
    wide.add(packed, moments.scatter, delta_weight, delta, threads=threads)
    diagonal = moments.scatter.diagonal()
    np.fill_diagonal(moments.scatter, restore_underflowed(diagonal, packed.sums))
    return as_kind(_Upper, moments, **fields, unit=unit, memory=packed.memory)
