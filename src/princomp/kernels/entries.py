"""The parts of a CSR matrix, looked at before compiled code follows them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from princomp.arrays import FloatArray
from princomp.errors import DataError

__all__ = ["Entries", "entries_of"]


class Entries(NamedTuple):
    """The parts of a CSR matrix (n, p), looked at: made by :func:`entries_of`.

    Parameters
    ----------
    values : ndarray of shape (stored,)
        float32 or float64.
    columns, ends : ndarray of shape (stored,) and (n + 1,)
        Of one kind of integer, 4 or 8 bytes.
    shape : tuple of int
    """

    values: FloatArray
    columns: NDArray[Any]
    ends: NDArray[Any]
    shape: tuple[int, int]

    def rows(self, part: slice) -> Entries:
        """Some of the rows, one after the other; ``ends`` then need not begin at zero."""
        start, stop, _ = part.indices(self.shape[0])
        return self._replace(ends=self.ends[start : stop + 1], shape=(stop - start, self.shape[1]))


def entries_of(matrix: Any) -> Entries:
    """Parts of a CSR array that a compiled kernel may follow without looking.

    Parameters
    ----------
    matrix : CSR array of shape (n, p)
        Of float32 or float64; indices in any order, also twice in a row.

    Raises
    ------
    DataError
        An index that is no column, or rows that do not follow one another.
    """
    n, p = (int(length) for length in matrix.shape)
    values = np.ascontiguousarray(matrix.data)
    if values.dtype.char not in "fd" or not values.dtype.isnative:
        values = values.astype(np.float32 if values.dtype.itemsize == 4 else np.float64)
    kinds = {matrix.indices.dtype, matrix.indptr.dtype}
    kind = np.int32 if kinds == {np.dtype(np.int32)} else np.int64
    columns: NDArray[Any] = np.ascontiguousarray(matrix.indices, dtype=kind)
    ends: NDArray[Any] = np.ascontiguousarray(matrix.indptr, dtype=kind)
    stored = min(len(values), len(columns))
    lawful = len(ends) == n + 1 and int(ends[0]) == 0 and int(ends[-1]) <= stored
    if not (lawful and (ends[1:] >= ends[:-1]).all()):
        raise _damaged("its rows do not end one after the other")
    columns = columns[: ends[-1]]
    if len(columns) and not 0 <= int(columns.min()) <= int(columns.max()) < p:
        wrong = int(np.argmax((columns < 0) | (columns >= p)))
        raise _damaged(f"index {columns[wrong]} is not in 0 to {p - 1}", entry=wrong)
    return Entries(values[: ends[-1]], columns, ends, (n, p))


def _damaged(why: str, **place: int) -> DataError:
    return DataError(
        f"the sparse matrix is damaged: {why}",
        place=place,
        hint="look how its indptr and indices were made",
    )
