"""Which cells are missing, and whether enough are left."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from princomp.arrays import FloatArray
from princomp.errors import DataError, NotFiniteError, ShapeError

__all__ = ["missing_cells"]

# Numbers that are looked at at a time.
_PIECE = 2**20

Names = tuple[str, ...] | None


def missing_cells(rows: FloatArray, weights: FloatArray | None, names: Names) -> NDArray[np.bool_]:
    """Which cells (n, p) are NaN.

    Raises
    ------
    NotFiniteError
        For an infinite value, which is there and cannot be used.
    DataError
        For a row without any cell, and for a column with fewer than two; rows of weight zero
        are not looked at.
    ShapeError
        For weights that are not one a row.
    """
    if weights is not None and len(weights) != len(rows):
        raise ShapeError(
            f"sample_weight has {len(weights)} weights, and there are {len(rows)} rows",
            place={"parameter": "sample_weight"},
            hint="give one weight a row",
        )
    holes = np.isnan(rows)
    # Rows in pieces: of a large table no second mask is made.
    step = max(1, _PIECE // rows.shape[1])
    for start in range(0, len(rows), step):
        part = rows[start : start + step]
        endless = np.isinf(part)
        if weights is not None:
            endless[weights[start : start + step] == 0] = False
        if endless.any():
            row, column = (int(i) for i in np.argwhere(endless)[0])
            raise NotFiniteError(
                f"Input X contains infinity: {part[row, column]:g} at row {start + row}, "
                f"{_label(names, column)}, counted from 0",
                place={"column": _name(names, column)},
                hint="clip or remove the infinite values; only NaN says that a cell is missing",
            )
    used = slice(None) if weights is None else weights > 0
    _refuse_empty_rows(holes, weights)
    left = np.count_nonzero(~holes[used], axis=0)
    few = np.flatnonzero(left < 2)
    # A table of one row is refused by the fit, in its own words.
    if few.size and holes[used].any():
        column = int(few[0])
        raise DataError(
            f"{_label(names, column)} holds {left[column]} of {len(holes[used])} cells, too few to "
            "tell the others from",
            place={"column": _name(names, column)},
            hint="leave the column out; a column needs at least two cells",
        )
    return holes


def _refuse_empty_rows(holes: NDArray[np.bool_], weights: FloatArray | None) -> None:
    empty = holes.all(axis=1)
    if weights is not None:
        empty &= weights > 0
    if empty.any():
        row = int(empty.argmax())
        count = int(empty.sum())
        more = f", and {count - 1:,} more rows" if count > 1 else ""
        raise DataError(
            f"row {row}, counted from 0, holds no cell at all{more}: nothing tells what belongs "
            "there",
            place={"row": row},
            hint="leave such rows out, or give them weight 0",
        )


def _name(names: Names, column: int) -> str | int:
    return column if names is None else names[column]


def _label(names: Names, column: int) -> str:
    return f"column {_name(names, column)!r}"
