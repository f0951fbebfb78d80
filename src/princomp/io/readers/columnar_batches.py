"""Rows of Arrow record batches that are read only once, such as those of a stream from a pipe."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import TYPE_CHECKING

from princomp.io.readers.columnar_stream import Batches, ColumnarSource, with_row_numbers
from princomp.io.readers.columns import Selection

if TYPE_CHECKING:
    import pyarrow as pa


class BatchSource(ColumnarSource):
    """Rows from Arrow record batches, which ``chunks`` reads to their end.

    Parameters
    ----------
    schema : pyarrow.Schema
        The schema of every batch.
    batches : iterable of pyarrow.RecordBatch
    selection : Selection
    file : str
        The name of the input in messages.

    Raises
    ------
    ColumnError, NotNumericError, ParameterError, ShapeError
        A requested column is missing or holds text, or there are no columns or no rows.
        The first batch that has rows decides whether a column holds text.
    MalformedFileError
        ``batches`` raises an error that is not an error of princomp.
    """

    repeatable = False

    def __init__(
        self, schema: pa.Schema, batches: Iterable[pa.RecordBatch], selection: Selection, file: str
    ) -> None:
        self._remaining = iter(batches)
        self._opened = False
        super().__init__(schema, selection, file, None, whole=False)
        self._opened = True

    def _batches(self, names: list[str], start: int) -> Batches:
        batches: Iterable[pa.RecordBatch] = self._remaining
        if not self._opened:
            # Peek at the first batch that has rows, and put it back.
            batches = list(itertools.islice(filter(len, self._remaining), 1))
            self._remaining = itertools.chain(batches, self._remaining)
        yield from with_row_numbers(batches)
