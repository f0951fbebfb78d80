"""Which cells are missing, and whether enough are known."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from princomp.errors import DataError, NotFiniteError, row_words
from princomp.linalg import FloatArray
from princomp.summaries import Names, check_weights, column_name

# Numbers that are checked together.
_CHUNK_SIZE = 2**20


def missing_cells(rows: FloatArray, weights: FloatArray | None, names: Names) -> NDArray[np.bool_]:
    """Find the cells (n, p) that are NaN.

    Raises
    ------
    NotFiniteError
        For an infinite value.
    DataError
        For a column with fewer than two known cells; rows of weight zero are not checked.
    ShapeError
        If there is not one weight for each row.
    """
    check_weights(weights, len(rows))
    missing = np.isnan(rows)
    # In pieces, so that no second mask of a large table is made.
    step = max(1, _CHUNK_SIZE // rows.shape[1])
    for start in range(0, len(rows), step):
        part = rows[start : start + step]
        infinite = np.isinf(part)
        if weights is not None:
            infinite[weights[start : start + step] == 0] = False
        if infinite.any():
            row, column = (int(i) for i in np.argwhere(infinite)[0])
            name = column_name(names, column)
            raise NotFiniteError(
                f"Input X contains infinity: {part[row, column]:g} at "
                f"{row_words(start + row)}, column {name!r}",
                place={"row": start + row, "column": name},
                hint="clip or remove the infinite values; only NaN marks a missing cell",
            )
    used = slice(None) if weights is None else weights > 0
    n_known = np.count_nonzero(~missing[used], axis=0)
    too_few = np.flatnonzero(n_known < 2)
    # The fit refuses a table of one row.
    if too_few.size and missing[used].any():
        name = column_name(names, too_few[0])
        raise DataError(
            f"column {name!r} holds {n_known[too_few[0]]} of {len(missing[used])} cells, too few "
            "to estimate the others",
            place={"column": name},
            hint="leave the column out; a column needs at least two known cells",
        )
    return missing


def empty_rows(missing: NDArray[np.bool_], weights: FloatArray | None) -> NDArray[np.bool_]:
    """Mark the rows (n,) without any known cell, from which nothing can be estimated."""
    empty = np.asarray(missing.all(axis=1))
    if weights is not None:
        empty &= weights > 0
    return empty
