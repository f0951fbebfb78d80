"""Smaller summaries of rows on a device: extremes, sketches, columns, images of vectors.

They have at most p × m numbers, so they are copied to the host as ordinary summaries.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from princomp.linalg import FloatArray
from princomp.summaries.blocks import in_range
from princomp.summaries.columns import Columns
from princomp.summaries.device_faults import check_read_once, counted_rows, first_fault
from princomp.summaries.device_sums import FLOAT32_TINY, add_product, sums_of
from princomp.summaries.extremes import Extremes
from princomp.summaries.moments import products_unit
from princomp.summaries.sketch import Sketch, SketchOf, directions
from princomp.summaries.space import DeviceBlock, DeviceTable


def sketch_on(
    table: DeviceTable, kind: SketchOf, *, drop: bool, precise: bool
) -> tuple[Sketch, int]:
    """Sketch all rows: copy the directions to the device, and their products to the host."""
    omega = directions(table.p, kind.width, kind.seed)
    sums = sums_of(table, omega, drop=drop, precise=precise)
    sketch = Sketch(
        **sums.fields,
        **sums.errors(products_unit(table.dtype, precise)),
        column_scatter=sums.squares,
        product=table.space.get(sums.product),
        seed=kind.seed,
    )
    return sketch, sums.dropped


def columns_on(table: DeviceTable, *, drop: bool) -> tuple[Columns, int]:
    """Means and column scatters of all rows."""
    sums = sums_of(table, np.zeros((table.p, 0)), drop=drop, precise=True)
    return Columns(**sums.fields, column_scatter=sums.squares), sums.dropped


class WithExtremes:
    """A table that records the smallest and largest value of each column as its blocks are read.

    Parameters
    ----------
    table : DeviceTable
    drop : bool
        Leave out rows with NaN.
    """

    def __init__(self, table: DeviceTable, *, drop: bool) -> None:
        self.table, self.drop = table, drop
        self.space, self.p, self.dtype = table.space, table.p, table.dtype
        self.repeatable = table.repeatable
        self.low = self.space.zeros(self.p) + np.inf
        self.high = -self.low

    def blocks(self, step: int) -> Iterator[DeviceBlock]:
        """Yield the blocks of the table."""
        space, xp = self.space, self.space.xp
        for block in self.table.blocks(step):
            part = space.cast(block.rows, self.dtype)
            kept, _ = counted_rows(space, part, block.weights, self.drop)
            for_min = for_max = part
            if kept is not None:
                infinities = xp.full_like(part, np.inf)
                for_min = xp.where(kept[:, None], part, infinities)
                for_max = xp.where(kept[:, None], part, -infinities)
            self.low = xp.minimum(self.low, space.cast(xp.min(for_min, axis=0), np.float64))
            self.high = xp.maximum(self.high, space.cast(xp.max(for_max, axis=0), np.float64))
            yield block

    def extremes(self, rows: float) -> Extremes:
        """Extremes of all rows, whose weights add up to ``rows``."""
        return Extremes(rows, self.space.get(self.low), self.space.get(self.high))


def images_on(
    table: DeviceTable,
    vectors: FloatArray,
    columns: Columns,
    divisor: FloatArray | None,
    *,
    drop: bool,
    precise: bool,
) -> tuple[FloatArray, float]:
    """Multiply the scatter of the centred (scaled, weighted) rows by vectors (p, m).

    Also return the sum of their weights.
    """
    space, xp = table.space, table.space.xp
    # Means and products of such small rows would lose digits to underflow.
    tiny = columns.column_scatter.max(initial=0.0) < FLOAT32_TINY * columns.rows
    precise = precise or tiny or not in_range(divisor, table.dtype)
    precision = np.dtype(np.float64 if precise else table.dtype)
    rounded_mean = columns.mean.astype(precision)
    remainder = (columns.mean - rounded_mean) + columns.mean_low
    device_mean, device_remainder = (
        space.put(part, precision) for part in (rounded_mean, remainder)
    )
    device_divisor = None if divisor is None else space.put(divisor, precision)
    device_vectors = space.put(vectors, precision)
    total, rows = space.zeros(*vectors.shape), space.zeros()
    for block in table.blocks(space.rows_at_a_time(table.p)):
        centred = space.cast(block.rows, precision) - device_mean - device_remainder
        kept, _ = counted_rows(space, centred, block.weights, drop)
        if device_divisor is not None:
            centred = centred / device_divisor
        if kept is None:
            rows = rows + centred.shape[0]
        else:
            centred = xp.where(kept[:, None], centred, xp.zeros_like(centred))
            counts = xp.astype(kept, space.doubles)
            rows = rows + xp.sum(counts if block.weights is None else counts * block.weights)
        if block.weights is not None:
            centred = centred * space.cast(xp.sqrt(block.weights), precision)[:, None]
        add_product(space, centred, xp.matmul(centred, device_vectors), total)
        check_read_once(table, block, total, drop=drop)
    image = space.get(total)
    if not np.isfinite(image).all():
        if error := first_fault(table, drop):
            raise error
        if precision.itemsize == 4:  # roots of large weights overflow float32
            return images_on(table, vectors, columns, divisor, drop=drop, precise=True)
    return image, float(rows)
