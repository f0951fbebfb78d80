"""Moments: number of rows, mean and scatter (Chan, Golub & LeVeque 1983)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from princomp.kernels import (
    CHUNK_ROWS,
    LONG_CHUNK_COLUMNS,
    LONG_CHUNK_ROWS,
    csr,
    entries_of,
    gram,
    is_shift_far,
    native,
    products,
    shift_of,
    wide,
)
from princomp.linalg import (
    EPS,
    FloatArray,
    add_outer,
    added_with_outer,
    column_sums,
    restore_underflowed,
    two_sum,
)
from princomp.summaries import blocks
from princomp.summaries.blocks import CSR, Block, Weights, is_sparse
from princomp.summaries.centred import Centred, Joined, OnDevice, as_kind
from princomp.summaries.columns import Columns

# Sparse blocks with at least this density are converted to dense ones. At a density of 0.2, blocks
# of 300, 1,000 and 2,000 float64 columns take 6, 30 and 119 ms as sparse and 8, 53 and 179 ms as
# dense; in float32 both take equally long.
_DENSE_FROM = 0.2
# If the rows that store a value in a column have more than this share of the weight, the mean may
# be so large that the spread is lost to cancellation: the column is shifted like a dense one. Below
# this share, the mean contributes at most half of the raw sum of squares.
_FULL_COLUMN = 0.5


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

    scatter: FloatArray
    unit: float = EPS
    centred: bool = True
    lost: FloatArray | None = None

    detail = 2

    # Rows on the host give a summary on the host, also in subclasses for devices.
    @staticmethod
    def empty(p: int) -> Moments:
        """Moments of no rows of ``p`` columns."""
        zero = np.zeros(p)
        return Moments(0.0, 0, zero, zero, np.zeros((p, p)))

    @staticmethod
    def of(block: Block, weights: Weights = None, *, precise: bool = False) -> Moments:
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
        block, weights = blocks.checked_block(block, weights)
        m, p = block.shape
        if not m:
            return Moments.empty(p)
        if is_sparse(block) and block.nnz < _DENSE_FROM * m * p:
            return _of_sparse(block, weights)
        dense = blocks.as_dense(block)
        if p >= wide.MIN_COLUMNS:
            return _add_block(Moments.empty(p), dense, weights, precise, threads=1).to_host()
        return _of_dense(dense, weights, precise)

    @staticmethod
    def adds_in_place(p: int, *, sparse: bool) -> bool:
        """Whether blocks of ``p`` columns are added in place with :meth:`add`, one by one."""
        return p >= wide.MIN_COLUMNS and not sparse

    @staticmethod
    def add(
        moments: Moments, block: Block, weights: Weights = None, *, precise: bool = False
    ) -> Moments:
        """Add the rows of a block to ``moments``, which is overwritten.

        Until ``to_host()``, only the diagonal and upper triangle of the scatter are valid.
        """
        block, weights = blocks.checked_block(block, weights)
        m, _ = block.shape
        if not m:
            return moments
        return _add_block(moments, blocks.as_dense(block), weights, precise)

    @classmethod
    def of_covariance(cls, covariance: FloatArray, mean: FloatArray, rows: float) -> Moments:
        """Moments that have this covariance (p, p), mean (p,) and number of rows."""
        with np.errstate(over="ignore"):  # a fit refuses numbers that are not finite
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
            return self._merged_as_kind(other)
        if isinstance(other, OnDevice) and not isinstance(self, OnDevice):
            return other.on_same_device(self).merge(other)
        joined = self._joined(other)
        if joined is None:
            return self if self.rows else other
        fields, delta, delta_weight = joined
        added = self.on_same_device(other).scatter
        scatter = self._joint_scatter(added, delta_weight, delta, overwrite)
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
        slack = self._slack_of_remaining(other, squares)
        lost = self._lost_by_removing(other, squares, delta, delta_weight)
        candidates = np.flatnonzero(squares <= slack)
        if candidates.size:
            products = self._rows_of(scatter, candidates)
            constant = _constant_columns(candidates, products, slack)
            _lost_by_zeroing(lost, constant, products[np.isin(candidates, constant)])
            for j in candidates.tolist():  # no variance may be negative
                scatter[j, j] = float(max(squares[j], slack[j] / self._sum_units))
            for j in constant.tolist():
                scatter[j, :] = 0.0
                scatter[:, j] = 0.0
        return self._with(scatter, **fields, unit=max(self.unit, other.unit), lost=lost)

    def faded(self, factor: float) -> Moments:
        """Moments of the same rows with their weights multiplied by ``factor``."""
        return self._with(self.scatter * factor, **self._faded_fields(factor))

    def scaled(self, divisor: FloatArray) -> Moments:
        """Moments of the rows divided by ``divisor`` (p,), column by column."""
        divisors = self._put(divisor)
        # Two divisions: the product of two divisors could overflow or underflow.
        scatter = self.scatter / divisors[:, None] / divisors
        return self._with(scatter, **self._scaled_fields(divisor))

    def about_origin(self) -> Moments:
        """Take the scatter about zero instead of the mean."""
        scatter = self.scatter * 1.0  # a copy, on any device
        self._add_outer(scatter, self.rows, self.mean)
        return self._with(scatter, **self._fields_about_origin())

    @property
    def _chunk_rows(self) -> int:
        # Chunks of many columns are longer.
        return LONG_CHUNK_ROWS if self.p >= LONG_CHUNK_COLUMNS else CHUNK_ROWS

    # ---- arithmetic on the scatter, which may be on a device -----------------------------

    def _with(self, scatter: FloatArray, **changes: Any) -> Moments:
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

    def _joint_scatter(self, added: Any, factor: float, vector: FloatArray, overwrite: bool) -> Any:
        """Return the sum of two scatters and ``factor · vector vectorᵀ``."""
        return added_with_outer(self.scatter, added, factor, vector, overwrite=overwrite)


# ---- columns that become constant when rows are removed ----------------------------------


def _constant_columns(
    candidates: NDArray[np.intp], products: FloatArray, slack: FloatArray
) -> NDArray[np.intp]:
    """The columns among ``candidates`` that are constant: all their products are rounding errors.

    Parameters
    ----------
    candidates : ndarray of shape (m,)
        Columns whose scatter may be a rounding error.
    products : ndarray of shape (m, p)
        Rows of the scatter for these columns.
    slack : ndarray of shape (p,)
        See :meth:`Centred._slack_of_remaining`.
    """
    # A scatter that underflowed is no evidence that a column is constant; such columns are refused
    # when solving.
    deviations = np.sqrt(np.where(slack >= np.finfo(np.float64).tiny, slack, 0.0))
    noise = np.abs(products) <= deviations[candidates, None] * deviations
    return candidates[noise.all(axis=1)]


def _lost_by_zeroing(lost: FloatArray, columns: NDArray[np.intp], products: FloatArray) -> None:
    """Add to ``lost`` the error made by setting the products of m constant columns to zero.

    ``products`` has the shape (m, p). ``lost`` (p,) is changed in place; its sum bounds the norm of
    the error. The products count twice: they are rows and columns of the scatter.
    """
    if columns.size:
        lost[columns] += 2.0 * np.sqrt(np.einsum("ij,ij->", products, products)) / columns.size


# ---- one block of rows -------------------------------------------------------------------


def _of_dense(block: FloatArray, weights: Weights, precise: bool) -> Moments:
    """Multiply shifted rows in their own precision, and sum the products in float64."""
    status, mean, low, scatter = gram.moments(block, weights, precise=precise)
    if status != native.DONE:
        _check_range(block, precise, mean, scatter.diagonal())
        return _of_dense(block, weights, True)
    rows = float(block.shape[0]) if weights is None else float(weights.sum())
    unit = products_unit(block.dtype, precise)
    return Moments(rows, block.shape[0], mean, low, scatter, unit)


@np.errstate(over="ignore", invalid="ignore")
def _of_sparse(block: CSR, weights: Weights) -> Moments:
    """Sum about a shift first, then move to the mean."""
    rows, shift, sums, scatter = sparse_sums(block, weights)
    np.fill_diagonal(scatter, restore_underflowed(scatter.diagonal(), sums))
    offset = sums / rows
    add_outer(scatter, -rows, offset)
    mean, low = two_sum(shift, offset)
    # Any NaN or infinity in the block makes the diagonal not finite.
    if not math.isfinite(np.add.reduce(scatter.diagonal())):
        blocks.check_finite(sums, block)
        raise blocks.squares_overflow(sums, scatter.diagonal())
    return Moments(rows, block.shape[0], mean, low, scatter)


def products_unit(dtype: np.dtype[Any], precise: bool) -> float:
    """Unit roundoff of the products of values of this dtype, in float64 if ``precise``."""
    return EPS if precise or dtype.itemsize == 8 else float(np.finfo(np.float32).eps)


def _check_range(block: FloatArray, precise: bool, sums: FloatArray, squares: FloatArray) -> None:
    """Check that a block whose products left their range can be multiplied in float64 instead.

    Raises
    ------
    NotFiniteError
        If it cannot: a value is not finite, or the products were in float64 already.
    """
    if not np.isfinite(block).all():
        raise blocks.first_not_finite(block)
    if precise or block.dtype.char == "d":
        raise blocks.squares_overflow(sums, squares)


@np.errstate(over="ignore", invalid="ignore")  # the sums show overflow and NaN
def sparse_sums(block: CSR, weights: Weights) -> tuple[float, FloatArray, FloatArray, FloatArray]:
    """Compute sums and sums of products of rows about a shift.

    Parameters
    ----------
    block : CSR array of shape (m, p)
        float32 or float64.
    weights : ndarray of shape (m,), optional
        Positive weights.

    Returns
    -------
    rows : float
        Sum of the weights.
    shift : ndarray of shape (p,)
        Near the mean in full columns, which store a value for most of the weight; zero in others.
    sums : ndarray of shape (p,)
        Σ w (x − shift); not finite where a value is not finite.
    scatter : ndarray of shape (p, p)
        Σ w (x − shift)(x − shift)ᵀ.

    Raises
    ------
    DataError
        If an index is not a valid column, or the row ends (``indptr``) do not ascend.
    """
    if not block.has_canonical_format:
        block = block.copy()  # do not change the user's array
        block.sum_duplicates()
    entries = entries_of(block)
    m, p = entries.shape
    rows = float(m) if weights is None else float(weights.sum())
    scatter, sums = csr.scatter(entries, weights)
    shift = np.zeros(p)
    entry_weights = None if weights is None else np.repeat(weights, np.diff(entries.ends))
    stored = np.bincount(entries.columns, weights=entry_weights, minlength=p)
    full = np.flatnonzero(stored > _FULL_COLUMN * rows)
    if full.size:
        dense = np.asarray(block[:, full].toarray(), dtype=np.float64)
        near = shift_of(dense, weights)
        shifted, sums[full], squares = _sums_about(near, dense, weights)
        if is_shift_far(sums[full], squares.diagonal(), rows):
            near = near + sums[full] / rows
            shifted, sums[full], squares = _sums_about(near, dense, weights)
        shift[full] = near
        # In products with full columns, the other columns are not shifted: their shift is zero.
        cross, _ = csr.backward(entries, shifted, factor=weights)
        scatter[:, full] = cross
        scatter[full, :] = cross.T
        scatter[np.ix_(full, full)] = squares
    return rows, shift, sums, scatter


def _sums_about(
    shift: FloatArray, rows: FloatArray, weights: Weights
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Rows minus a shift (m, p), their column sums (p,) and sums of products (p, p)."""
    shifted = rows - shift
    rooted = shifted if weights is None else shifted * np.sqrt(weights)[:, None]
    return shifted, column_sums(shifted, weights), products(rooted)


# ---- blocks of wide rows, added in place -------------------------------------------------


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
        _check_range(block, precise, packed.sums, packed.squares)
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
