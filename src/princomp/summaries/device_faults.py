"""Rows on a device that do not count, and values that are not finite."""

from __future__ import annotations

from princomp.errors import NotFiniteError
from princomp.summaries.blocks import sum_overflow
from princomp.summaries.space import DeviceArray, DeviceBlock, DeviceTable, Space


def counted_rows(
    space: Space, rows: DeviceArray, weights: DeviceArray, drop: bool
) -> tuple[DeviceArray, DeviceArray]:
    """Return which rows of a block count and which are left out for NaN; None if all count.

    Rows of weight zero are neither.
    """
    xp = space.xp
    if weights is None and not drop:
        return None, None
    kept = xp.ones((rows.shape[0],), dtype=xp.bool, device=space.device)
    if weights is not None:
        kept = weights > 0
    if not drop:
        return kept, xp.zeros_like(kept)
    missing = xp.any(xp.isnan(rows), axis=1)
    return kept & ~missing, kept & missing


def first_fault(table: DeviceTable, drop: bool) -> NotFiniteError | None:
    """Search for the first invalid value in another pass; return an error for it, or None."""
    for block in table.blocks(table.space.rows_at_a_time(table.p)):
        if error := fault_in(table.space, block, drop):
            return error
    return None


def fault_in(space: Space, block: DeviceBlock, drop: bool) -> NotFiniteError | None:
    """Return an error for the first invalid value of a block, or None."""
    xp, rows = space.xp, block.rows
    bad = ~xp.isfinite(rows)
    if drop:
        # Rows with NaN are dropped, so their other values may be infinite.
        bad = bad & ~xp.any(xp.isnan(rows), axis=1)[:, None]
    if block.weights is not None:
        bad = bad & (block.weights > 0)[:, None]
    if (cell := space.first_true(bad)) is None:
        return None
    row, column = cell
    place = {"row": block.start + row, "column": column}
    error = NotFiniteError("a value is not finite", place=place)
    error.value = float(rows[row, column])
    return error


def check_read_once(
    table: DeviceTable, block: DeviceBlock, sums: DeviceArray, *, drop: bool
) -> None:
    """Refuse sums that are not finite now, if the rows cannot be read again to say where."""
    if not table.repeatable and not table.space.all_finite(sums):
        raise fault_in(table.space, block, drop) or sum_overflow()
