"""Read record batches from Parquet and Arrow files, and from Arrow streams of a pipe."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from princomp.errors import MalformedFileError
from princomp.io.readers import columnar_stream
from princomp.io.readers.columnar import stored_categories
from princomp.io.readers.columnar_stream import Batches, ColumnarSource, from_row
from princomp.io.readers.columns import Selection
from princomp.io.readers.reader_errors import malformed, reading
from princomp.io.readers.source import TableSource

# End marker of an Arrow stream; only its absence shows that a stream was cut between batches.
END_OF_STREAM = b"\xff\xff\xff\xff\x00\x00\x00\x00"

# Bytes of the read-ahead buffers of a Parquet file, shared by its columns. Without such buffers,
# pyarrow would hold a row group, which may be the whole file.
_BUFFER_BYTES = 2**25


class ParquetSource(ColumnarSource):
    """Rows of a Parquet file, read some pages of a row group at a time.

    Memory holds one chunk and, for each column, a page and its read-ahead buffer.
    """

    def __init__(self, path: Path, selection: Selection, whole: bool = False) -> None:
        with _parquet_file(path, 1) as file, reading(path, "Parquet"):
            schema, metadata = file.schema_arrow, file.metadata
            self._categories = stored_categories(metadata.metadata)
            groups = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
        # Row numbers at which the row groups begin, and the number after the last.
        self._group_starts = [0, *itertools.accumulate(groups)]
        super().__init__(schema, selection, str(path), self._group_starts[-1], whole)
        # The size of the whole file: asking pyarrow for the sizes of columns crashes the process
        # if the metadata is damaged.
        self.nbytes = self.current_states()[0].size

    def _batches(self, names: list[str], start: int) -> Batches:
        # The row group of row ``start``; this also skips empty row groups.
        first = bisect.bisect_right(self._group_starts, start) - 1
        with _parquet_file(self._path, len(names)) as file:
            self._check_rows(file.metadata.num_rows)
            batches = file.iter_batches(
                batch_size=self._rows_at_once(names),
                row_groups=range(first, len(self._group_starts) - 1),
                columns=names,
                use_threads=True,
            )
            yield from from_row(start - self._group_starts[first], batches)

    def _rows_at_once(self, names: list[str]) -> int:
        rows = columnar_stream.NUMBERS_PER_DECODED_BATCH // len(names)
        if any(self._conversions[name] == "inspect" for name in names):
            # The length of texts is not known in advance.
            return max(1, min(rows, columnar_stream.INSPECTED_ROWS))
        # Each batch has a cost per column, so take more rows if there are many columns.
        return max(1, rows, min(2048, 2 * rows))


def _parquet_file(path: Path, columns: int) -> Any:
    from pyarrow import parquet  # missing from small builds of pyarrow, which read Arrow files

    with reading(path, "Parquet"):
        return parquet.ParquetFile(
            path,
            page_checksum_verification=True,
            pre_buffer=False,
            buffer_size=min(2**20, max(2**14, _BUFFER_BYTES // columns)),
        )


class ArrowSource(ColumnarSource):
    """Rows of an Arrow IPC file (also called Feather 2) or stream, batch by batch.

    Memory holds one chunk and the chosen columns of one record batch; if the file is a single
    batch, that is the whole file.
    """

    def __init__(self, path: Path, selection: Selection, whole: bool = False) -> None:
        with reading(path, "Arrow"), pa.OSFile(str(path)) as source:
            reader = _arrow_opener(path, source)(source)
            schema = reader.schema
            self._fields = {name: i for i, name in enumerate(schema.names)}
            # Streams do not store their number of rows, and older pyarrow cannot report it.
            rows = reader.count_rows() if hasattr(reader, "count_rows") else None
        super().__init__(schema, selection, str(path), rows, whole)
        self.nbytes = self.current_states()[0].size

    def _batches(self, names: list[str], start: int) -> Batches:
        def fields(names: list[str]) -> Any:
            return pa.ipc.IpcReadOptions(included_fields=[self._fields[name] for name in names])

        with pa.OSFile(str(self._path)) as source:
            opener = _arrow_opener(self._path, source)
            reader = opener(source, options=fields(names))
            if opener is pa.ipc.open_stream:
                yield from from_row(start, reader)
                if source.tell() < source.size():
                    raise _several_streams_error(self._path)
                # pyarrow does not notice if a stream was cut between two batches.
                _refuse_cut_stream(self._path, source)
                return
            one_column_reader = opener(source, options=fields(names[:1]))
            for i in range(reader.num_record_batches):
                # To skip a whole batch, read only one column for its number of rows.
                if start and (rows := one_column_reader.get_batch(i).num_rows) <= start:
                    start -= rows
                    continue
                yield from from_row(start, [reader.get_batch(i)])
                start = 0


def _arrow_opener(path: Path, source: pa.NativeFile) -> Callable[..., Any]:
    """The pyarrow function that opens ``source``: that for files or that for streams."""
    first = source.read(6)
    is_file = first == b"ARROW1"
    if first.startswith(b"FEA1"):
        problem = "is a Feather file of version 1, and version 2, which is Arrow, can be read"
        copy = f"feather.write_feather(feather.read_table({str(path)!r}), 'new.feather')"
        raise malformed(path, problem, f"Write it again with pyarrow: {copy}.")
    if not is_file:
        _refuse_cut_stream(path, source)
    source.seek(0)
    return pa.ipc.open_file if is_file else pa.ipc.open_stream


def _refuse_cut_stream(path: Path, source: pa.NativeFile) -> None:
    """Raise MalformedFileError unless an opened Arrow stream ends with its end marker."""
    source.seek(max(0, source.size() - len(END_OF_STREAM)))
    if source.read() != END_OF_STREAM:
        problem = "is not an Arrow file, nor an Arrow stream that ends properly"
        hint = "It may be cut short or still being written: create or download it again."
        raise malformed(path, problem, hint)


def _several_streams_error(path: Path) -> MalformedFileError:
    problem = "more follows after the end of the Arrow stream"
    hint = "Several streams cannot be joined as bytes: write all batches to one stream."
    return malformed(path, problem, hint)


def read_parquet(path: Path, selection: Selection) -> TableSource:
    """Read a whole Parquet file."""
    return ParquetSource(path, selection, whole=True).table()


def read_arrow(path: Path, selection: Selection) -> TableSource:
    """Read a whole Arrow IPC file or stream."""
    return ArrowSource(path, selection, whole=True).table()


# ---- streams, which are read only once ----------------------------------------------------


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
        The first rows decide whether a column holds text.
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
            # Peek at the first rows, and put them back.
            wanted = columnar_stream.NUMBERS_PER_CHUNK // max(1, len(self._types))
            wanted = max(1, min(columnar_stream.INSPECTED_ROWS, wanted))
            batches = []
            for batch in self._remaining:
                batches.append(batch)
                if (wanted := wanted - batch.num_rows) <= 0:
                    break
            self._remaining = itertools.chain(batches, self._remaining)
        yield from from_row(start, batches)


def open_arrow_stream(stream: BinaryIO, selection: Selection, path: Path) -> BatchSource:
    """Open an Arrow stream from a pipe that is called ``path`` in messages."""
    recorder = _TailRecorder(stream)
    with reading(path, "an Arrow stream"):
        batches = pa.ipc.open_stream(pa.PythonFile(recorder, "r"))

    def complete_batches() -> Iterator[pa.RecordBatch]:
        yield from batches
        # pyarrow also accepts a stream that is cut short, so check for the end marker.
        if recorder.tail != END_OF_STREAM:
            problem = "the Arrow stream does not end properly"
            hint = "It may be cut short: see whether the command before the pipe failed."
            raise malformed(path, problem, hint)
        if recorder.read(1):
            raise _several_streams_error(path)

    return BatchSource(batches.schema, complete_batches(), selection, str(path))


class _TailRecorder:
    """A stream that remembers the last bytes read from it."""

    closed = False

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self.tail = b""

    def read(self, size: int = -1) -> bytes:
        got = self._stream.read(size)
        self.tail = (self.tail + got[-len(END_OF_STREAM) :])[-len(END_OF_STREAM) :]
        return got
