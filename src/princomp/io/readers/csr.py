"""Assemble sparse matrices from the arrays of a file, and convert them to CSR with floats."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from princomp.io.readers.cells import refuse_long_integers
from princomp.io.readers.columns import Origin
from princomp.io.readers.stored_array import column_namer, float_dtype


def to_scipy_dtype(values: NDArray[Any]) -> NDArray[Any]:
    """Convert values to a dtype that SciPy computes with: floats, or integers of 8 bytes.

    Integers of 8 bytes are kept, so that an error can name the first one beyond 2**53.
    """
    wide = values.dtype.kind in "iu" and values.dtype.itemsize == 8
    dtype = values.dtype.newbyteorder("=") if wide else float_dtype(values.dtype)
    return values.astype(dtype, copy=False)


def compressed_matrix(
    layout: str,
    values: NDArray[Any],
    indices: NDArray[Any],
    ends: NDArray[Any],
    shape: tuple[int, int],
) -> Any:
    """Assemble a matrix in CSR or CSC format.

    Raises
    ------
    ValueError
        The parts do not fit together. SciPy itself would not refuse indices outside the
        matrix. Call this function inside ``reading``, which converts the error.
    """
    # Use indices of 4 bytes wherever they suffice: half the memory, and faster.
    dtype = np.int32 if max(*shape, len(values)) < 2**31 else np.int64
    length = shape[1] if layout == "csr" else shape[0]
    # Check before the conversion, which could turn an index out of range into a valid one.
    for array, bound in ((indices, length), (ends, len(values) + 1)):
        if array.size and not 0 <= int(array.min()) <= int(array.max()) < bound:
            raise ValueError(f"the sparse matrix is damaged: an index is not in 0 to {bound - 1}")
    matrix_class = sp.csr_array if layout == "csr" else sp.csc_array
    indices, ends = (array.astype(dtype, copy=False) for array in (indices, ends))
    matrix = matrix_class((to_scipy_dtype(values), indices, ends), shape=shape)
    if (np.diff(matrix.indptr) < 0).any() or matrix.indptr[-1] != len(values):
        raise ValueError("the sparse matrix is damaged: its rows do not end one after the other")
    return matrix


def as_csr(
    matrix: Any,
    column_indices: NDArray[np.intp] | None,
    origin: Origin,
    label: Callable[[int], str] | None = None,
) -> Any:
    """Columns of a CSR or CSC matrix as CSR with floats, sorted, duplicates summed.

    ``label`` names the chosen columns in messages; by default, they are called by their numbers.

    Raises
    ------
    NotNumericError
        An integer is beyond 2**53.
    """
    chosen = matrix if column_indices is None else matrix[:, column_indices]

    name = label or column_namer(None, column_indices)

    def cell(index: tuple[int, ...]) -> tuple[str, int]:
        entries = chosen.tocoo()
        # tocoo keeps the order of the values.
        return name(int(entries.col[index[0]])), int(entries.row[index[0]])

    refuse_long_integers(chosen.data, cell, origin)
    rows = sp.csr_array(chosen.astype(float_dtype(chosen.dtype), copy=False))
    if not rows.has_canonical_format:
        rows.sum_duplicates()
    return rows
