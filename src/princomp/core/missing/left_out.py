"""What a plan says of rows that a fit left out for missing cells."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from princomp.errors import warn
from princomp.io import RowData, Source
from princomp.summaries import Block, Names, block_rows, column_name, is_sparse


def note_on_left_out(data: RowData, columns: Names, n: int, n_left_out: int) -> str:
    """Return a note on incomplete rows of a table (n, p); warn if they are more than half.

    If most of them lack only one column, the note names it, unless the rows come from a source.
    """
    only = ""
    if not isinstance(data, Source) and data.shape[1] > 1:
        alone = _rows_that_lack_only(data)
        j = int(np.argmax(alone))
        if alone[j] > max(1, n_left_out / 2):
            only = f" ({alone[j]:,} of them lack only column {column_name(columns, j)!r})"
    if n_left_out > n / 2:
        warn(f"{n_left_out:,} of {n:,} rows have missing values and were left out{only}")
    return f"rows with missing values: {n_left_out:,}; they were left out of the fit{only}"


def _rows_that_lack_only(data: Block) -> NDArray[np.intp]:
    """Count, for each column (p,), the rows that lack only this column."""
    n, p = data.shape
    counts = np.zeros(p, np.intp)
    step = block_rows(p, sparse=is_sparse(data))
    for start in range(0, n, step):
        block = data[start : start + step]
        if is_sparse(block):
            missing = np.isnan(block.data)
            rows = np.repeat(np.arange(block.shape[0]), np.diff(block.indptr))[missing]
            cells = block.indices[missing]
        else:
            rows, cells = np.nonzero(np.isnan(block))
        counts += np.bincount(cells[np.bincount(rows)[rows] == 1], minlength=p)
    return counts
