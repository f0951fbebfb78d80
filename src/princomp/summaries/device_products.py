"""Smaller summaries of rows on a device: extremes, sketches, columns, images of vectors.

They have at most p × m numbers, so they are copied to the host as ordinary summaries.
"""

from __future__ import annotations

import numpy as np

from princomp.linalg import FloatArray
from princomp.summaries.block_moments import products_unit
from princomp.summaries.blocks import in_range
from princomp.summaries.columns import Columns
from princomp.summaries.device_sums import (
    FLOAT32_TINY,
    add_product,
    counted_rows,
    first_fault,
    rows_at_a_time,
    sums_of,
)
from princomp.summaries.extremes import Extremes
from princomp.summaries.sketch import Sketch, SketchOf, directions
from princomp.summaries.space import DeviceArray, DeviceTable


def sketch_on(
    table: DeviceTable, kind: SketchOf, *, drop: bool, precise: bool
) -> tuple[Sketch, int]:
    """Sketch all rows: copy the directions to the device, and their products to the host."""
    omega = directions(table.p, kind.width, kind.seed)
    sums = sums_of(table, omega, drop=drop, precise=precise)
    if not sums.rows:
        return kind.empty(table.p), sums.dropped
    sketch = Sketch(
        **sums.fields,
        column_scatter=sums.squares,
        product=table.space.get(sums.product),
        seed=kind.seed,
        unit=products_unit(table.dtype, precise),
    )
    return sketch, sums.dropped


def columns_on(table: DeviceTable, *, drop: bool) -> tuple[Columns, int]:
    """Means and column scatters of all rows."""
    sums = sums_of(table, np.zeros((table.p, 0)), drop=drop, precise=True)
    if not sums.rows:
        return Columns.empty(table.p), sums.dropped
    return Columns(**sums.fields, column_scatter=sums.squares), sums.dropped


def extremes_on(table: DeviceTable, *, drop: bool, rows: float) -> Extremes:
    """Smallest and largest values of each column."""
    space, xp, p = table.space, table.space.xp, table.p
    work = space.dtype(table.dtype)
    low = xp.full((p,), np.inf, dtype=space.doubles, device=space.device)
    high = -low
    for block in table.blocks(rows_at_a_time(space, p)):
        if not block.rows.shape[0]:
            continue
        part = xp.astype(block.rows, work, copy=False)
        kept, _ = counted_rows(space, part, block.weights, drop)
        for_min = for_max = part
        if kept is not None:
            infinities = xp.full_like(part, np.inf)
            for_min = xp.where(kept[:, None], part, infinities)
            for_max = xp.where(kept[:, None], part, -infinities)
        low = xp.minimum(low, xp.astype(xp.min(for_min, axis=0), space.doubles))
        high = xp.maximum(high, xp.astype(xp.max(for_max, axis=0), space.doubles))
    return Extremes(rows, space.get(low), space.get(high))


def images_on(
    table: DeviceTable,
    vectors: FloatArray,
    columns: Columns,
    divisor: FloatArray | None,
    *,
    drop: bool,
    precise: bool = False,
) -> FloatArray:
    """Multiply the scatter of the centred (scaled, weighted) rows by vectors (p, m)."""
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
    device_vectors, work = space.put(vectors, precision), space.dtype(precision)
    total = space.zeros(*vectors.shape)
    for block in table.blocks(rows_at_a_time(space, table.p)):
        centred: DeviceArray = (
            xp.astype(block.rows, work, copy=False) - device_mean - device_remainder
        )
        kept, _ = counted_rows(space, centred, block.weights, drop)
        if device_divisor is not None:
            centred = centred / device_divisor
        if kept is not None:
            centred = xp.where(kept[:, None], centred, xp.zeros_like(centred))
        if block.weights is not None:
            centred = centred * xp.astype(xp.sqrt(block.weights), work)[:, None]
        add_product(space, centred, xp.matmul(centred, device_vectors), total)
    image = space.get(total)
    if not np.isfinite(image).all():
        if error := first_fault(table, drop):
            raise error
        if precision.itemsize == 4:  # roots of large weights overflow float32
            return images_on(table, vectors, columns, divisor, drop=drop, precise=True)
    return image
