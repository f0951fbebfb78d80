"""Products of tall blocks on a device: of a few rows at a time, added up in float64."""

from __future__ import annotations

from princomp.linalg import slices
from princomp.summaries.space import DeviceArray, Space

# Rows whose products are summed in one call. Sums of equal rows all round in one direction, so the
# error grows with the number of rows: few rows are summed if there are few columns. Otherwise there
# are four times as many rows as columns, so that adding up the products stays a small part of the
# work; the allowed error grows at the same rate.
_FEW_ROWS, _ROWS = 512, 4096
# Columns of a panel of the scatter. For wide rows, only panels of the upper triangle are computed.
_PANEL = 1024


def rows_at_a_time(space: Space, p: int) -> int:
    """Rows of a block: enough to make the work per block on p × p numbers small."""
    return max(space.block_size // max(p, 1), min(p, _ROWS), 256)


def add_gram(space: Space, shifted: DeviceArray, total: DeviceArray) -> None:
    """Add ``shiftedᵀ shifted`` to the upper panels of ``total`` (p, p)."""
    p = shifted.shape[1]
    if p < 2 * _PANEL:
        add_product(space, shifted, shifted, total)
        return
    for panel in slices(p, _PANEL):
        start = panel.start
        add_product(space, shifted[:, panel], shifted[:, start:], total[panel, start:])


def add_product(space: Space, left: DeviceArray, right: DeviceArray, total: DeviceArray) -> None:
    """Add ``leftᵀ right`` to ``total``, a few rows at a time."""
    xp, m = space.xp, left.shape[0]
    p, q = left.shape[1], right.shape[1]
    few = min(max(4 * p, _FEW_ROWS), _ROWS)
    whole = m // few * few
    if whole > few and (whole // few) * p * q <= space.block_size:
        # For narrow rows, one call computes many products.
        lefts = xp.reshape(left[:whole, :], (-1, few, p))
        rights = xp.reshape(right[:whole, :], (-1, few, q))
        stack = xp.matmul(xp.matrix_transpose(lefts), rights)
        total += xp.sum(stack, axis=0, dtype=space.doubles)
        left, right = left[whole:, :], right[whole:, :]
    for some in slices(left.shape[0], few):
        part = xp.matmul(left[some, :].T, right[some, :])
        total += xp.astype(part, space.doubles, copy=False)


def mirror(space: Space, total: DeviceArray) -> None:
    """Fill the lower half of a symmetric matrix from its upper panels."""
    p = total.shape[0]
    for some in slices(p, _PANEL if p >= 2 * _PANEL else p):
        corner, stop = total[some, some], some.stop
        total[some, some] = (corner + corner.T) / 2.0
        if stop < p:
            total[stop:, some] = total[some, stop:].T
