"""Rows from an iterator of batches, which are arrays, sparse matrices or frames."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import PurePath
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from princomp.errors import NotNumericError, ParameterError, PrincompError, ShapeError, warn
from princomp.io.readers.frames import as_frame, eager_frame, from_frame, index_label, is_frame
from princomp.io.readers.memory import from_sparse, in_memory
from princomp.io.readers.not_tables import refuse_containers
from princomp.io.readers.reader_errors import fewer_rows_error
from princomp.io.readers.row_names import row_numbers_note
from princomp.io.readers.source import Chunk, Source, checksum, stored_arrays
from princomp.io.readers.source_chain import column_order, reorder_columns

_NumberedBatches: TypeAlias = Generator[tuple[int, object]]
_BatchInput: TypeAlias = Iterable[object] | Callable[[], Iterable[object]]
# Rows of a batch, its column names, and its unused columns.
_BatchRows: TypeAlias = tuple[Any, tuple[str, ...] | None, tuple[str, ...]]

# Larger batches are split into chunks of about this many numbers (8 MB).
NUMBERS_PER_CHUNK = 2**20
_BATCH_HINT = "A batch is an array (m, p), a sparse matrix or a frame, without weights."


class BatchedRows(Source):
    """Rows from an iterator of batches.

    The first batch with rows is read immediately. It sets the columns, the dtype (float32 or
    float64), and whether the rows are sparse. Later batches are converted to match. Batches without
    names of columns are taken by position, those with names in the order of the first of them; a
    warning says so if there are both. ``rows`` is None, and ``stored`` counts only the first batch.
    Errors that the iterator raises pass through unchanged.

    Parameters
    ----------
    rows : iterator, or callable without arguments
        Yields or returns batches (m, p): arrays, SciPy sparse matrices, frames of pandas,
        polars or pyarrow, record batches. An iterator can be read only once. A callable, or an
        iterable that is not an iterator, is iterated from the start for each pass. Batches
        without rows are skipped. Each batch is copied, so its memory may be reused for the
        next one.
    columns : sequence of str, optional
        For frames, the columns to use, in this order, by default all but a first column of integers
        that numbers the rows; for arrays, the names of all columns.

    Raises
    ------
    ShapeError
        There are no rows, or a batch is not two-dimensional or has another number of columns.
        ``chunks`` raises this error and the others too, with the number of the batch, from 1.
    ColumnError
        A frame lacks a column of the first batch, or has a new column.
    NotNumericError
        A batch has text, complex numbers or integers beyond 2**53.
    ParameterError
        ``rows`` does not give batches (it is a path or a frame, for example), or a batch is
        float64 and the first is float32.
    """

    def __init__(self, rows: _BatchInput, *, columns: Sequence[str] | None = None) -> None:
        self._rows, self._requested = rows, None if columns is None else tuple(columns)
        self.repeatable = not isinstance(rows, Iterator)
        batches = self._numbered_batches()
        first = next(batches, None)
        if first is None:
            raise ShapeError(
                "there is no batch with rows",
                hint="Give at least one batch with a row of numbers; an iterator that has been "
                "read before has none left.",
            )
        # Decided by the first batch, for all of them.
        with _naming_batch(*first):
            frame = as_frame(first[1], self._requested or ())
            self._index = index_label(frame) if columns is None and is_frame(frame) else None
        data, names, unused = self._read(*first)
        super().__init__(
            rows=None,
            p=data.shape[1],
            dtype=data.dtype,
            columns=names,
            notes=() if self._index is None else (row_numbers_note(self._index),),
            unused=unused,
            stored=data.nnz if sp.issparse(data) else None,
        )
        # The first batch and the open iterator, with which the first call of chunks() continues.
        self._unread: tuple[list[tuple[int, Any]], _NumberedBatches] | None = ([first], batches)
        self._rows_last_pass: int | None = None
        # The first batch with names, for messages, and its names.
        self._named = None if names is None else ("the first batch", names)
        self._warned = False

    def chunks(self, start: int = 0) -> Iterator[Chunk]:
        """Rows from number ``start`` on; earlier rows are read and dropped."""
        unread, self._unread = self._unread, None
        if unread is None and not self.repeatable:
            problem = "an iterator can be read only once, and this one has been read"
            hint = "Give a function that makes a new one: PCA().fit(lambda: batches())."
            raise ParameterError(problem, hint=hint)
        first, others = unread or ([], self._numbered_batches())
        row = 0
        with closing(others):
            for number, batch in itertools.chain(first, others):
                for piece in self._pieces(number, batch):
                    skipped = max(0, start - row)
                    row += piece.shape[0]
                    if start < row:
                        yield Chunk(piece[skipped:] if skipped else piece)
        if row < start:
            raise fewer_rows_error(start - row)
        if self._rows_last_pass is not None and row != self._rows_last_pass:
            raise ShapeError(
                f"the batches held {row:,} rows this time, "
                f"{self._rows_last_pass:,} the time before",
                hint="A function must make a new iterator over the same rows at each call.",
            )
        self._rows_last_pass = row

    def fingerprint(self) -> tuple[str, ...]:
        """Return a checksum of the first batch; the others are not known before a pass."""
        first = None
        if self._unread is not None:
            first = self._unread[0][0]
        elif self.repeatable:
            first = next(self._numbered_batches(), None)
        if first is None:
            return ()  # reading it again raises an error
        data = self._read(*first)[0]
        return (f"first batch with checksum {checksum(stored_arrays(data))}",)

    def _numbered_batches(self) -> _NumberedBatches:
        """Batches that have rows, each with its number, counted from 1."""
        batches = iter(_iterable(self._rows))
        try:
            for number, batch in enumerate(batches, 1):
                if not _is_empty(batch):
                    yield number, batch
        finally:
            # Close an iterator that the function made; the user may continue with their own.
            if self.repeatable and hasattr(batches, "close"):
                batches.close()

    def _pieces(self, number: int, batch: object) -> Iterator[Any]:
        """Split a batch into chunks of moderate size, in the format of the first batch."""
        data, names, _ = self._read(number, batch)
        place = {"batch": number}
        order = self._column_order(number, names)
        if data.shape[1] != self.p:
            problem = f"batch {number} has {data.shape[1]} columns, the first has {self.p}"
            raise ShapeError(problem, place=place, hint="Give every batch the same columns.")
        if data.dtype.itemsize > self.dtype.itemsize:
            problem = f"batch {number} needs float64, the first is float32: digits would be lost"
            hint = "Give all batches one precision, such as batch.astype(np.float64)."
            raise ParameterError(problem, place=place, hint=hint)
        m = data.shape[0]
        # Rows that stay sparse take memory only for stored numbers, others for all cells.
        stays_sparse = sp.issparse(data) and self.stored is not None
        step = max(1, m * NUMBERS_PER_CHUNK // (max(m, data.nnz) if stays_sparse else m * self.p))
        for start in range(0, m, step):
            piece = data[start : start + step]
            yield self._copied(piece if order is None else reorder_columns(piece, order))

    def _column_order(self, number: int, names: tuple[str, ...] | None) -> NDArray[np.intp] | None:
        """Where the columns of a batch are, by their names; None if they are in order.

        Warn once if some batches have names and others have none.
        """
        name = f"batch {number}"
        if (names is None) != (self.columns is None) and not self._warned:
            self._warned = True
            named, unnamed = name, "the first batch"
            if names is None:
                named, unnamed = unnamed, named
            warn(
                f"{named} has column names, {unnamed} has none: its columns are matched by position"
            )
        if names is None:
            return None
        if self._named is None:  # the batches before have no names
            self._named = name, names
        return column_order(names, self._named[1], name, self._named[0], {"batch": number})

    def _read(self, number: int, batch: object) -> _BatchRows:
        with _naming_batch(number, batch):
            return _read_batch(as_frame(batch, self._requested or ()), self._requested, self._index)

    def _copied(self, piece: Any) -> Any:
        """Copy a piece to C order, or to CSR if the first batch was sparse."""
        if self.stored is not None:
            # A slice of a CSR array is a copy already.
            return from_sparse(sp.csr_array(piece)).astype(self.dtype, copy=False)
        dense = piece.toarray() if sp.issparse(piece) else piece
        # Always copy: a generator that reuses one array would otherwise change rows that wait to
        # be summarized. Copying 8 MB takes 0.25 ms, and summarizing them 9 ms.
        return np.array(dense, dtype=self.dtype, order="C")


def _iterable(rows: _BatchInput) -> Iterable[Any]:
    """Return the iterable of batches, which a function is called to make."""
    batches = rows() if callable(rows) and not isinstance(rows, Iterator) else rows
    is_single = isinstance(batches, str | bytes | PurePath | np.ndarray) or sp.issparse(batches)
    if is_single or is_frame(batches) or not isinstance(batches, Iterable):
        problem = f"expected an iterator of batches, got {type(batches).__name__}"
        hint = "Give a list of one batch for a single one, and files by their names."
        raise ParameterError(problem, hint=hint)
    return batches


def _is_empty(batch: object) -> bool:
    shape = getattr(batch, "shape", None)
    if isinstance(shape, tuple):
        return shape[:1] == (0,)
    return isinstance(batch, list) and not batch


@contextmanager
def _naming_batch(number: int, batch: object) -> Iterator[None]:
    """Add the number of the batch to errors."""
    try:
        yield
    except PrincompError as error:
        hint = error.hint
        if isinstance(error, NotNumericError) and is_frame(as_frame(batch)):
            hint = f"{hint} Without it, give batch[names], or batch.select(names) of pyarrow."
        raise type(error)(
            f"batch {number}: {error.message}", place={"batch": number, **error.place}, hint=hint
        ) from None
    except (ValueError, TypeError) as error:
        reason = next(iter(str(error).splitlines()), "")
        problem = f"batch {number}: a {type(batch).__name__} cannot be converted to rows: {reason}"
        raise ParameterError(problem, place={"batch": number}, hint=_BATCH_HINT) from error


def _read_batch(batch: Any, requested: tuple[str, ...] | None, index: str | None) -> _BatchRows:
    """Convert a batch to rows, without the column ``index``."""
    if is_frame(batch):
        exclude = [] if index is None or index not in eager_frame(batch).columns else [index]
        table = from_frame(batch, columns=requested, exclude=exclude)
        return in_memory(table)[0], table.columns, table.unused
    if isinstance(batch, PurePath):
        problem = f"a batch must be rows of numbers, got the path {str(batch)!r}"
        raise ParameterError(
            problem, hint="Give files as a list: fit(sorted(folder.glob('*.csv')))."
        )
    if isinstance(batch, str | bytes):
        problem = f"a batch must be rows of numbers, got the text {str(batch)!r}"
        hint = "Files are given by name, not opened, and several as a list: fit(['rows.csv'])."
        raise ParameterError(problem, hint=hint)
    refuse_containers(batch)
    np.shape(batch)  # raises an error for rows and weights
    data = in_memory(batch)[0]
    if requested is not None and data.shape[1] != len(requested):
        problem = f"{len(requested)} column names do not fit {data.shape[1]} columns"
        raise ShapeError(problem, hint="Give one name for each column.")
    return data, requested, ()
