"""Batches that Spark hands to a Python worker, as rows: the part that runs on executors.

All kinds of tables come as one Arrow column: an array a row. Spark packs numeric columns
into it, since an array of the row's numbers is already what the sums want: from Parquet,
500,000 × 50 and 50,000 × 1,000 take 0.87 and 3.4 s so, and 1.25 and 4.9 column by column.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from princomp.errors import NotNumericError, ParameterError, ShapeError
from princomp.sources.cells import LARGEST_INTEGER
from princomp.sources.source import Chunk, Source

__all__ = ["Batches", "Form", "numbers_of"]


class Form(NamedTuple):
    """How rows lie in the column that Spark hands over.

    Parameters
    ----------
    p : int
    dtype : str
        float32 or float64.
    vectors : bool
        Vectors of Spark's MLlib; else arrays.
    sparse : bool
        Make CSR rows of them.
    whole : tuple of int
        Columns that were 64-bit integers.
    weighted : bool
        A second column has frequencies.
    """

    p: int
    dtype: str = "float64"
    vectors: bool = False
    sparse: bool = False
    whole: tuple[int, ...] = ()
    weighted: bool = False


class Batches(Source):
    """Rows of one partition, batch by batch as they come; they come once."""

    repeatable = False
    reader = 0

    def __init__(self, form: Form, batches: Iterable[Any]) -> None:
        stored = 0 if form.sparse else None
        super().__init__(rows=None, p=form.p, dtype=np.dtype(form.dtype), stored=stored)
        self.form = form
        self.weights = _Weights() if form.weighted else None
        self._batches = iter(batches)

    def chunks(self, start: int = 0) -> Iterator[Chunk]:
        """Rows of the batches, with their weights put aside."""
        row = 0
        for batch in self._batches:
            if not batch.num_rows:
                continue
            rows = numbers_of(batch.column(0), self.form, row)
            if self.weights is not None:
                self.weights.add(batch.column(1), row)
            yield Chunk(rows)
            row += batch.num_rows

    def drain(self) -> None:
        """Take what is left: a worker that leaves rows unread is not used again."""
        for _ in self._batches:
            pass


class _Weights:
    """Frequencies of the rows read so far; a fold asks for those of its blocks, in order.

    One thread may add while another asks: blocks are summed while the next rows are read.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._parts: list[NDArray[np.float64]] = []
        self._start = self._stop = 0

    def __len__(self) -> int:
        return self._stop

    def __getitem__(self, rows: slice) -> NDArray[np.float64]:
        with self._lock:
            if len(self._parts) > 1:
                self._parts = [np.concatenate(self._parts)]
            first = rows.start - self._start
            wanted = self._parts[0][first : rows.stop - self._start]
            # Earlier weights were asked for already and are not needed again.
            self._parts[0], self._start = self._parts[0][first:], rows.start
        return wanted

    def add(self, column: Any, row: int) -> None:
        """Weights of the next rows, the first of which has number ``row``."""
        weights = _plain(column, np.dtype(np.float64))
        wrong = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
        if wrong.size:
            raise ParameterError(
                f"a weight is {weights[wrong[0]]:g}",
                place={"parameter": "sample_weight", "row": row + int(wrong[0])},
                hint="weights are frequencies: finite and not below 0",
            )
        with self._lock:
            self._parts.append(weights)
            self._stop += len(weights)


def numbers_of(column: Any, form: Form, row: int = 0) -> Any:
    """Rows (m, p), dense or CSR; a missing number is NaN, a missing row a row of them.

    Parameters
    ----------
    column : Arrow array of shape (m,)
        Of lists, or of MLlib's vectors as the structs that they are.
    form : Form
    row : int
        Number of the first, for messages.

    Raises
    ------
    ShapeError
        For a row of another length than p.
    NotNumericError
        For an integer that is too large to be exact.
    """
    dtype = np.dtype(form.dtype)
    if form.vectors:
        return _vectors(column, form, dtype, row)
    lengths = _lengths(column)
    rows = _rows(column, lengths, form.p, dtype, row)
    for at in form.whole:
        beyond = np.flatnonzero(np.abs(rows[:, at]) >= LARGEST_INTEGER)
        if beyond.size:
            raise NotNumericError(
                f"the integer {rows[beyond[0], at]:.0f} is not below 2⁵³, and float64 may not "
                "hold it exactly",
                place={"row": row + int(beyond[0]), "column": at},
                hint="cast the column to double if its last digits do not matter",
            )
    return rows


def _rows(lists: Any, lengths: NDArray[Any], p: int, dtype: np.dtype[Any], row: int) -> Any:
    """Lists of p numbers as an array (m, p), without a copy where none is missing."""
    missing = lengths < 0
    _check(lengths, missing | (lengths == p), p, row)
    values = _plain(lists.flatten(), dtype)
    if not missing.any():
        return values.reshape(len(lengths), p)
    rows = np.full((len(lengths), p), np.nan, dtype)
    rows[~missing] = values.reshape(-1, p)
    return rows


def _vectors(column: Any, form: Form, dtype: np.dtype[Any], row: int) -> Any:
    """Vectors as rows: all dense ones as they lie, all others through CSR."""
    p, m = form.p, len(column)
    kinds, sizes, indices, values = column.flatten()  # with the nulls of the struct
    missing = ~_filled(kinds)
    dense = ~missing & (_plain(kinds, np.dtype(np.float64)) == 1)
    counts = _lengths(values)
    if dense.all():
        return _rows(values, counts, p, dtype, row)
    told = np.where(dense, counts, _plain(sizes, np.dtype(np.float64)))
    _check(told, missing | (told == p), p, row)
    counts = np.where(missing, p, counts)
    starts = np.zeros(m + 1, dtype=np.int64)
    np.cumsum(counts, out=starts[1:])
    numbers = np.full(starts[-1], np.nan, dtype)
    at = np.empty(starts[-1], dtype=np.int32)
    whole = np.repeat(dense | missing, counts)
    numbers[~np.repeat(missing, counts)] = _plain(values.flatten(), dtype)
    at[~whole] = indices.flatten().to_numpy(zero_copy_only=False)
    at[whole] = np.tile(np.arange(p, dtype=np.int32), int((dense | missing).sum()))
    rows = sp.csr_array((numbers, at, starts), shape=(m, p))
    return rows if form.sparse else rows.toarray()


def _plain(array: Any, dtype: np.dtype[Any]) -> NDArray[Any]:
    """An Arrow array of numbers; where there is none, NaN."""
    numbers: NDArray[Any] = array.to_numpy(zero_copy_only=False)
    return numbers.astype(dtype, copy=False)


def _filled(array: Any) -> NDArray[np.bool_]:
    filled: NDArray[np.bool_] = array.is_valid().to_numpy(zero_copy_only=False)
    return filled


def _lengths(lists: Any) -> NDArray[np.int64]:
    """How long each list is; −1 for one that is missing."""
    lengths: NDArray[np.int64] = np.diff(lists.offsets.to_numpy()).astype(np.int64)
    if lists.null_count:
        lengths[~_filled(lists)] = -1
    return lengths


def _check(lengths: NDArray[Any], lawful: NDArray[np.bool_], p: int, row: int) -> None:
    if lawful.all():
        return
    first = int(np.flatnonzero(~lawful)[0])
    raise ShapeError(
        f"a row has {lengths[first]:.0f} numbers, and those before it have {p}",
        place={"row": row + first, "length": int(lengths[first])},
        hint="give every row as many numbers",
    )
