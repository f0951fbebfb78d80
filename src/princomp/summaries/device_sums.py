"""Sums and products of rows on a device, computed block by block.

Products of a few rows are summed in the precision of the data, as in the compiled kernels; these
sums are added up in float64. Nothing is copied to the host before all rows are added, except to
check rows that cannot be read twice.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from princomp.kernels import sampled_rows
from princomp.linalg import FloatArray, restore_underflowed, slices
from princomp.summaries.blocks import merged_mean, squares_overflow
from princomp.summaries.centred_rows import safe_exponent
from princomp.summaries.device_faults import check_read_once, counted_rows, first_fault
from princomp.summaries.space import DeviceArray, DeviceBlock, DeviceTable, Space

# The first shift is the mean of _SAMPLE rows. If the squared distance between shift and mean,
# summed over the rows, exceeds _CANCELLED times the scatter, rows are summed again about the mean:
# at most _PASSES times, because a shift that is very far makes the mean inexact, too.
_SAMPLE, _CANCELLED, _PASSES = 256, 4.0, 4
# Float32 products may have lost digits to underflow if the sum of squares per row is below this.
FLOAT32_TINY = 1e-30
# Rows whose products are summed in one call. Sums of equal rows all round in one direction, so the
# error grows with the number of rows: few rows are summed if there are few columns. Otherwise there
# are four times as many rows as columns, so that adding up the products stays a small part of the
# work; the allowed error grows at the same rate.
_FEW_ROWS, _ROWS = 512, 4096
# Columns of a panel of the scatter. For wide rows, only panels of the upper triangle are computed.
PANEL_COLUMNS = 1024


@dataclass(frozen=True, eq=False)
class Sums:
    """Sums of rows about a shift.

    Parameters
    ----------
    rows, count, dropped
        Sum of the weights; rows added; rows left out for missing values.
    shift, offset, squares : ndarray of shape (p,)
        What was subtracted from the rows, the mean of the shifted rows (shift + offset is the
        mean), and the diagonal of the scatter; on the host.
    product : array of shape (p, p) or (p, m), on the device, in float64
        The scatter, or the scatter times vectors.
    cancelled : ndarray of shape (p,), optional
        What was subtracted from each square, where digits were lost and the rows could not be
        summed again; zero for other columns.
    """

    rows: float
    count: int
    dropped: int
    shift: FloatArray
    offset: FloatArray
    squares: FloatArray
    product: DeviceArray
    cancelled: FloatArray | None = None

    @property
    def fields(self) -> dict[str, Any]:
        """The fields ``rows``, ``count``, ``mean`` and ``mean_low`` of a summary."""
        mean, low = merged_mean(self.shift, np.zeros_like(self.shift), self.offset, 1.0)
        return {"rows": self.rows, "count": self.count, "mean": mean, "mean_low": low}

    def errors(self, unit: float) -> dict[str, Any]:
        """The fields ``unit`` and ``lost`` of a summary."""
        return {"unit": unit, "lost": None if self.cancelled is None else unit * self.cancelled}


def sums_of(
    table: DeviceTable, right: FloatArray | None = None, *, drop: bool, precise: bool
) -> Sums:
    """Compute sums and products of all rows about their mean.

    Parameters
    ----------
    table : DeviceTable
    right : ndarray of shape (p, m), optional
        Vectors to multiply the scatter by; if None, the scatter itself is computed.
    drop : bool
        Leave out rows with NaN instead of raising.
    precise : bool
        Multiply in float64.

    Raises
    ------
    NotFiniteError
        For NaN or infinity, with its row in the table, or if sums or squares overflow.
    """
    precise = precise or table.dtype.itemsize == 8
    # At first the mean of a sample is subtracted, then that of the pass before.
    shift, passes_left = None, _PASSES
    while True:
        total = _RunningSums(table, right, drop, np.float64 if precise else np.float32, shift)
        for block in table.blocks(table.space.rows_at_a_time(table.p)):
            total.add(block)
        sums, squares = total.host_sums()
        finite = bool(np.isfinite(sums).all() and np.isfinite(squares).all())
        if table.repeatable and total.rows:
            if not finite and (error := first_fault(table, drop)):
                raise error
            if not precise and (not finite or total.left_range(sums, squares)):
                precise = True
                continue
        if not finite:
            raise squares_overflow(sums, squares)
        result = total.result()
        subtracted = result.rows * result.offset**2
        cancelled = subtracted > _CANCELLED * result.squares
        if not cancelled.any():
            return result
        passes_left -= 1
        if not (table.repeatable and passes_left):
            return replace(result, cancelled=np.where(cancelled, subtracted, 0.0))
        shift = result.shift + result.offset


class _RunningSums:
    """Sums of the rows added so far, on the device."""

    def __init__(
        self,
        table: DeviceTable,
        right: DeviceArray,
        drop: bool,
        dtype: DTypeLike,
        shift: FloatArray | None,
    ) -> None:
        self.table, self.space, self.drop = table, table.space, drop
        self.precision = np.dtype(dtype)
        self.right = None if right is None else self.space.put(right, dtype)
        p = table.p
        self.product = self.space.zeros(p, p if right is None else right.shape[1])
        self.sums, self.squares = self.space.zeros(p), self.space.zeros(p)
        self.shift = None if shift is None else self.space.put(shift, dtype)
        self.shift_is_zero = False
        # Numbers of rows and sum of the weights, if there are any; on the device.
        self.count: Any = 0
        self.dropped: Any = 0
        self.weight: Any = None

    def add(self, block: DeviceBlock) -> None:
        xp, space = self.space.xp, self.space
        rows = space.cast(block.rows, self.precision)
        kept, dropped = counted_rows(space, rows, block.weights, self.drop)
        if self.shift is None and kept is not None and not bool(xp.any(kept)):
            # No row of this block counts, so the shift is chosen from a later block.
            self.dropped = xp.count_nonzero(dropped) + self.dropped
            return
        if self.shift is None:
            self.shift, self.shift_is_zero = _first_shift(space, rows, kept)
        shifted = rows if self.shift_is_zero else rows - self.shift
        if kept is None:
            self.count += rows.shape[0]
        else:
            shifted = xp.where(kept[:, None], shifted, xp.zeros_like(shifted))
            self.count = xp.count_nonzero(kept) + self.count
            self.dropped = xp.count_nonzero(dropped) + self.dropped
        if block.weights is None:
            self.sums += xp.sum(shifted, axis=0, dtype=space.doubles)
        else:
            weights = space.cast(block.weights, np.float64)
            weights = xp.where(kept, weights, xp.zeros_like(weights))
            self.weight = xp.sum(weights) + (0.0 if self.weight is None else self.weight)
            rooted = space.cast(xp.sqrt(weights), self.precision)[:, None]
            # Both factors of a product are multiplied by the root, so the product is symmetric.
            self.sums += xp.sum(space.cast(shifted, np.float64) * weights[:, None], axis=0)
            shifted = shifted * rooted
        if self.right is None:
            _add_gram(space, shifted, self.product)
        else:
            add_product(space, shifted, xp.matmul(shifted, self.right), self.product)
            doubles = space.cast(shifted, np.float64)
            self.squares += xp.sum(doubles * doubles, axis=0)
        check_read_once(self.table, block, self.sums, drop=self.drop)

    def host_sums(self) -> tuple[FloatArray, FloatArray]:
        """Return sums and squares (p,) after the last block, and copy the counts to the host."""
        space = self.space
        if self.right is None:
            _mirror(self.product, self.table.p)
            self.squares = space.diagonal(self.product)
        self.count, self.dropped = int(self.count), int(self.dropped)
        self.rows = float(self.count if self.weight is None else self.weight)
        sums, squares = space.get(space.xp.stack([self.sums, self.squares]))
        return sums, squares

    def left_range(self, sums: FloatArray, squares: FloatArray) -> bool:
        """Whether float32 squares may have underflowed, other than those of constant columns."""
        if self.right is not None:
            return bool(safe_exponent(squares, self.precision))
        limit = FLOAT32_TINY * self.count
        tiny = squares < limit
        zero = (sums == 0) & (squares == 0)
        return bool((tiny & ~zero).any()) or (bool(zero.any()) and self._varies(zero))

    def _varies(self, columns: NDArray[np.bool_]) -> bool:
        """Whether any of these columns differs from the shift, in another pass.

        Deviations whose squares underflow may sum to zero, as in a constant column.
        """
        space, xp = self.space, self.space.xp
        chosen = space.put(columns.astype(np.float64)) > 0
        for block in self.table.blocks(space.rows_at_a_time(self.table.p)):
            rows = space.cast(block.rows, self.precision)
            if bool(xp.any((rows != self.shift) & chosen)):
                return True
        return False

    def result(self) -> Sums:
        space = self.space
        if not self.rows:
            zero = np.zeros(self.table.p)
            return Sums(self.rows, self.count, self.dropped, zero, zero, zero, self.product)
        offset = self.sums / self.rows
        if self.right is None:
            space.add_outer(self.product, -self.rows, offset)
            squares = space.diagonal(self.product)
        else:
            image = space.xp.matmul(offset[None, :], space.cast(self.right, np.float64))
            self.product += (-self.rows * offset)[:, None] * image
            squares = self.squares - self.rows * offset * offset
        on_device = [space.cast(self.shift, np.float64), offset, squares]
        shift, offset, squares = space.get(space.xp.stack(on_device))
        restored = restore_underflowed(np.maximum(squares, 0.0), offset)
        if self.right is None:
            for column in np.flatnonzero(restored != squares):
                self.product[int(column), int(column)] = float(restored[column])
        return Sums(self.rows, self.count, self.dropped, shift, offset, restored, self.product)


def _first_shift(space: Space, rows: DeviceArray, kept: DeviceArray) -> tuple[Any, bool]:
    """Return what to subtract from rows (p,), and whether it is zero.

    It is near the mean of the rows that count, and exact for constant columns. If rows spread
    around zero, subtracting the mean from the sums instead loses at most one bit, and saves a copy
    of all rows.
    """
    xp = space.xp
    indices = space.put(sampled_rows(rows.shape[0], _SAMPLE), np.int64)
    sample = xp.take(rows, indices, axis=0)
    if kept is None:
        first = sample[0, :]
        near = first + xp.mean(sample - first, axis=0)
        spread = sample - near
        if bool(xp.all(near * near <= xp.mean(spread * spread, axis=0))):
            return xp.zeros_like(near), True
        return near, False
    # Take the first row that counts without copying its index to the host.
    at = xp.argmax(xp.astype(kept, xp.int8))
    first = xp.reshape(xp.take(rows, xp.reshape(at, (1,)), axis=0), (rows.shape[1],))
    counted = xp.take(kept, indices)[:, None]
    shifted = xp.where(counted, sample - first, xp.zeros_like(sample))
    return first + xp.mean(shifted, axis=0), False


# ---- products of a few rows, added up in float64 -----------------------------------------


def _add_gram(space: Space, shifted: DeviceArray, total: DeviceArray) -> None:
    """Add ``shiftedᵀ shifted`` to the upper panels of ``total`` (p, p)."""
    for panel in _panels(shifted.shape[1]):
        start = panel.start
        add_product(space, shifted[:, panel], shifted[:, start:], total[panel, start:])


def _panels(p: int) -> list[slice]:
    """Panels of the columns of a scatter: one of all columns, unless there are many."""
    return slices(p, PANEL_COLUMNS if p >= 2 * PANEL_COLUMNS else p)


def add_product(space: Space, left: DeviceArray, right: DeviceArray, total: DeviceArray) -> None:
    """Add ``leftᵀ right`` to ``total``, a few rows at a time."""
    xp, m = space.xp, left.shape[0]
    p, q = left.shape[1], right.shape[1]
    few = min(max(4 * p, _FEW_ROWS), _ROWS)
    parts = m // few
    if parts > 1 and parts * p * q <= space.block_size:
        # For narrow rows, one call computes many products.
        whole = parts * few
        lefts = xp.reshape(left[:whole, :], (parts, few, p))
        rights = xp.reshape(right[:whole, :], (parts, few, q))
        stack = xp.matmul(xp.matrix_transpose(lefts), rights)
        total += xp.sum(stack, axis=0, dtype=space.doubles)
        left, right = left[whole:, :], right[whole:, :]
    for some in slices(left.shape[0], few):
        part = xp.matmul(left[some, :].T, right[some, :])
        total += space.cast(part, np.float64)


def _mirror(total: DeviceArray, p: int) -> None:
    """Fill the lower half of a symmetric matrix (p, p) from its upper panels."""
    for panel in _panels(p):
        corner, stop = total[panel, panel], panel.stop
        total[panel, panel] = (corner + corner.T) / 2.0
        total[stop:, panel] = total[panel, stop:].T
