"""The arrays of a CSR matrix, validated before compiled code uses its indices."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from princomp.errors import DataError
from princomp.linalg import FloatArray


class Entries(NamedTuple):
    """The arrays of a CSR matrix (n, p), validated by :func:`entries_of`.

    Parameters
    ----------
    values : ndarray of shape (stored,)
        float32 or float64.
    columns, ends : ndarray of shape (stored,) and (n + 1,)
        SciPy's ``indices`` and ``indptr``, both int32 or both int64.
    shape : tuple of int
    """

    values: FloatArray
    columns: NDArray[Any]
    ends: NDArray[Any]
    shape: tuple[int, int]

    @property
    def kind(self) -> str:
        """Types of the values and the indices, as in the names of kernels: ``f32_i64``."""
        value = "f32" if self.values.dtype == np.float32 else "f64"
        return f"{value}_{'i32' if self.columns.dtype == np.int32 else 'i64'}"

    def rows(self, part: slice) -> Entries:
        """Return consecutive rows; their ``ends`` may not begin at zero."""
        start, stop, _ = part.indices(self.shape[0])
        return self._replace(ends=self.ends[start : stop + 1], shape=(stop - start, self.shape[1]))

    def matrix(self) -> sp.csr_array:
        """Return the rows as a SciPy array, without copying the values."""
        first, last = self.ends[0], self.ends[-1]
        ends = self.ends - first if first else self.ends
        parts = (self.values[first:last], self.columns[first:last], ends)
        return sp.csr_array(parts, shape=self.shape)


def entries_of(matrix: sp.csr_array) -> Entries:
    """Validate a CSR array, and return its arrays for compiled kernels.

    Parameters
    ----------
    matrix : CSR array of shape (n, p)
        float32 or float64; the indices of a row may be in any order and repeated.

    Raises
    ------
    DataError
        If an index is not a valid column, or the row ends (``indptr``) do not ascend from 0 to at
        most the number of values.
    """
    n, p = (int(length) for length in matrix.shape)
    values = np.ascontiguousarray(matrix.data)
    if values.dtype.char not in "fd" or not values.dtype.isnative:
        values = values.astype(np.float32 if values.dtype.itemsize == 4 else np.float64)
    dtypes = {matrix.indices.dtype, matrix.indptr.dtype}
    dtype = np.int32 if dtypes == {np.dtype(np.int32)} else np.int64
    columns: NDArray[Any] = np.ascontiguousarray(matrix.indices, dtype=dtype)
    ends: NDArray[Any] = np.ascontiguousarray(matrix.indptr, dtype=dtype)
    stored = min(len(values), len(columns))
    in_bounds = len(ends) == n + 1 and int(ends[0]) == 0 and int(ends[-1]) <= stored
    if not (in_bounds and (ends[1:] >= ends[:-1]).all()):
        raise _damaged(f"its row ends are not in ascending order from 0 to at most {stored}")
    columns = columns[: ends[-1]]
    if len(columns) and not 0 <= int(columns.min()) <= int(columns.max()) < p:
        position = int(np.argmax((columns < 0) | (columns >= p)))
        raise _damaged(f"index {columns[position]} is not in 0 to {p - 1}", entry=position)
    return Entries(values[: ends[-1]], columns, ends, (n, p))


def _damaged(why: str, **place: int) -> DataError:
    return DataError(
        f"the sparse matrix is damaged: {why}",
        place=place,
        hint="check how its indptr and indices were made",
    )
