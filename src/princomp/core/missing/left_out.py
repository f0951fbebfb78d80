"""What a plan says of rows that a fit left out for missing cells."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from princomp.errors import warn
from princomp.io import RowData, Source
from princomp.summaries import Block, Names, Weights, column_name, is_sparse, stored_bytes

# The cells of larger tables are not read again to name a column.
_MAX_BYTES = 2**27


def note_on_left_out(
    data: RowData, weights: Weights, columns: Names, n: int, n_left_out: int
) -> str:
    """Return a note on incomplete rows of a table (n, p); warn if they are more than half.

    If most of them lack only one column, the note names it, unless the table is large or its rows
    come from a source. Rows of weight zero do not count.
    """
    only = ""
    if not isinstance(data, Source) and data.shape[1] > 1 and stored_bytes(data) <= _MAX_BYTES:
        alone = _rows_that_lack_only(data, weights)
        j = int(np.argmax(alone))
        if alone[j] > max(1, n_left_out / 2):
            only = f" ({alone[j]:,} of them lack only column {column_name(columns, j)!r})"
    if n_left_out > n / 2:
        warn(f"{n_left_out:,} of {n:,} rows have missing values and were left out{only}")
    return f"rows with missing values: {n_left_out:,}; they were left out of the fit{only}"


def _rows_that_lack_only(data: Block, weights: Weights) -> NDArray[np.intp]:
    """Count, for each column (p,), the rows that lack only this column."""
    if is_sparse(data):
        missing = sp.csr_array((np.isnan(data.data), data.indices, data.indptr), shape=data.shape)
        alone = missing.sum(axis=1) == 1
    else:
        missing = np.isnan(data)
        alone = np.einsum("ij->i", missing, dtype=np.int32) == 1  # faster than sum
    if weights is not None:
        alone &= weights > 0
    return missing[alone].sum(axis=0)
