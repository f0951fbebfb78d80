"""Rows of Arrow record batches, such as those of a stream from a pipe."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from princomp.errors import ParameterError
from princomp.io.readers.columnar_stream import Batches, ColumnarSource, with_row_numbers
from princomp.io.readers.columns import ALL_COLUMNS, Selection
from princomp.io.readers.source import Chunk

if TYPE_CHECKING:
    import pyarrow as pa


class BatchSource(ColumnarSource):
    """Rows from Arrow record batches, such as those of a stream from a pipe.

    Parameters
    ----------
    schema : pyarrow.Schema
        The schema of every batch.
    batches : iterable of pyarrow.RecordBatch, or function that returns one
        An iterable is read only once, and the source is not ``repeatable``; a function
        is called again for each pass over the rows.
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

    def __init__(
        self,
        schema: pa.Schema,
        batches: Iterable[pa.RecordBatch] | Callable[[], Iterable[pa.RecordBatch]],
        selection: Selection = ALL_COLUMNS,
        *,
        file: str = "Arrow batches",
    ) -> None:
        self.repeatable = callable(batches)
        self._make_batches = batches if callable(batches) else None
        self._remaining = iter(()) if callable(batches) else iter(batches)
        self._started = False
        super().__init__(schema, selection, file, None, whole=False)

    def _batches(self, names: list[str], start: int) -> Batches:
        batches: Iterable[pa.RecordBatch] = (
            self._remaining if self._make_batches is None else self._make_batches()
        )
        if not (self.repeatable or self._started):
            # Peek at the first batch that has rows, and put it back.
            batches = list(itertools.islice(filter(len, self._remaining), 1))
            self._remaining = itertools.chain(batches, self._remaining)
        yield from with_row_numbers(batches)

    def chunks(self, start: int = 0) -> Iterator[Chunk]:
        """Rows from number ``start`` on.

        Raises
        ------
        ParameterError
            It is the second call, and rows can be read only once.
        """
        if self._started:
            raise ParameterError(
                f"{self.file}: its rows can be read only once, and have been read",
                place={"file": self.file},
                hint="Save them to a file first.",
            )
        self._started = not self.repeatable
        return super().chunks(start)
