"""Encoders of CSV, TSV, Parquet and Arrow files; they need pyarrow."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from princomp.errors import NotNumericError, row_words
from princomp.io.readers.columns import is_not_utf8, text_of
from princomp.io.table_writer import (
    FORMULA,
    GROUP_NUMBERS,
    Ids,
    Layout,
    Numbers,
    Sink,
    csv_lines,
    csv_text,
    escaping,
)
from princomp.linalg import empty, slices

# Row groups of wide tables have at least MIN_GROUP_ROWS rows, up to _MAX_GROUP_NUMBERS numbers:
# with 2,000 columns, groups of 500 rows take twice as long to write and seven times as long to
# read as groups of 2,000 rows.
MIN_GROUP_ROWS, _MAX_GROUP_NUMBERS = 2**11, 2**23


# Errors for cells that do not fit a type of Arrow.
_MISFITS = (pa.ArrowException, OverflowError, ValueError)


class DelimitedEncoder:
    """Encoder of CSV and TSV; it decides for each piece whether the ids need quotes."""

    def __init__(self, sink: Sink, layout: Layout, format: str) -> None:
        kind, _, compression = format.partition(".")
        self._layout = layout
        self._delimiter = {"csv": ",", "tsv": "\t"}[kind]
        self._sink, self._out = sink, cast(Any, sink)
        if compression == "gz":
            # Without a name and a time in the header, equal tables give equal bytes. Level 1
            # compresses random digits to 50% in 1.3 s, level 6 to 47% in 7.3 s.
            sink.compressor = gzip.GzipFile("", "wb", compresslevel=1, fileobj=self._out, mtime=0)
            self._out = sink.compressor
        elif compression == "zst":
            self._out = pa.CompressedOutputStream(pa.PythonFile(sink, "w"), "zstd")
        self._rows = 0  # written so far
        self._in_hex: bool | None = None  # whether ids of bytes are written in hex digits
        self._out.write(csv_lines([layout.names], self._delimiter))

    def write(self, data: Numbers, ids: Ids) -> None:
        """Add an (m, p) block."""
        for part in slices(len(data), max(1, GROUP_NUMBERS // self._layout.p)):
            self._write_piece(data[part], None if ids is None else ids[part])

    def _write_piece(self, data: Numbers, ids: Ids) -> None:
        # Like repr, pyarrow writes the shortest decimals that round-trip. Writing 1,000,000 × 5
        # numbers on two cores took pyarrow 0.6 to 0.9 s and the csv module 4.4 s.
        from pyarrow import compute, csv as pa_csv

        # Readers skip blank lines, so a table of one column cannot have empty cells.
        nan_as_null = len(self._layout.names) > 1
        columns = [pa.array(np.ascontiguousarray(x), from_pandas=nan_as_null) for x in data.T]
        quoted = False
        if ids is not None:
            columns.insert(0, _as_csv_text(self._checked_ids(ids)))
            special = rf'["\r\n{self._delimiter}]'
            quoted = compute.any(compute.match_substring_regex(columns[0], special)).as_py()
        options = pa_csv.WriteOptions(
            include_header=False,
            delimiter=self._delimiter,
            # pyarrow's "needed" quotes every text, so it is used only where some id needs quotes.
            quoting_style="needed" if quoted else "none",
            batch_size=max(1, min(2**13, 2**18 // len(columns))),
        )
        piece = pa.RecordBatch.from_arrays(columns, names=self._layout.names)
        pa_csv.write_csv(piece, self._out, write_options=options)
        self._rows += len(data)

    def _checked_ids(self, ids: Sequence[object] | NDArray[Any]) -> Any:
        """Convert bytes to text: to hex digits if some of the first ids are not UTF-8."""
        if not isinstance(next((cell for cell in ids if cell is not None), None), bytes):
            return ids
        bad = next((i for i, cell in enumerate(ids) if is_not_utf8(cell)), None)
        if self._in_hex is None:
            self._in_hex = bad is not None
        if self._in_hex:
            return [cell.hex() if isinstance(cell, bytes) else None for cell in ids]
        if bad is not None:
            raise NotNumericError(
                f"{row_words(self._rows + bad)} of the output: the id {ids[bad]!r} is not text in "
                "UTF-8, as those before it",
                place={"row": self._rows + bad, "column": self._layout.names[0]},
                hint="write the table as Parquet, which keeps bytes",
            )
        return text_of(ids)

    def close(self) -> None:
        """Write what is still missing of the file."""
        if self._out is not self._sink:
            self._out.close()


class ColumnarEncoder:
    """Encoder of Parquet and Arrow files; it gathers small blocks into moderate row groups."""

    def __init__(self, sink: Sink, layout: Layout, format: str) -> None:
        self._sink, self._layout, self._format = sink, layout, format
        size = max(
            1, GROUP_NUMBERS // layout.p, min(MIN_GROUP_ROWS, _MAX_GROUP_NUMBERS // layout.p)
        )
        # Each row of the buffer is a column of the table, because Arrow stores columns.
        self._buffer = empty((layout.p, size), layout.dtype)
        self._ids: list[Any] = []
        self._buffered_rows = 0
        self._written_rows = 0
        self._writer: Any = None
        self._id_type: Any = None

    def write(self, data: Numbers, ids: Ids) -> None:
        """Add an (m, p) block."""
        start, capacity = 0, self._buffer.shape[1]
        while start < len(data):
            stop = min(len(data), start + capacity - self._buffered_rows)
            end = self._buffered_rows + stop - start
            self._buffer[:, self._buffered_rows : end] = data[start:stop].T
            self._buffered_rows = end
            if ids is not None:
                self._ids.extend(ids[start:stop])
            start = stop
            if self._buffered_rows == capacity:
                self._flush(() if ids is None else ids[start:])

    def _flush(self, upcoming: Sequence[object] | NDArray[Any] = ()) -> None:
        """Write the buffered rows; the type of the ids also considers ``upcoming`` ids."""
        columns = [pa.array(x) for x in self._buffer[:, : self._buffered_rows]]
        if self._layout.with_ids:
            if self._id_type is None:
                self._id_type = _id_type_of([*self._ids, *upcoming])
            columns.insert(0, self._id_array())
        batch = pa.RecordBatch.from_arrays(columns, names=self._layout.names)
        if self._writer is None:
            self._writer = self._open(batch.schema)
        self._writer.write_batch(batch)
        self._written_rows += self._buffered_rows
        self._buffered_rows = 0
        self._ids = []

    def _open(self, schema: pa.Schema) -> Any:
        if self._format == "arrow":
            return pa.ipc.new_file(self._sink, schema)
        from pyarrow.parquet import ParquetWriter

        # Numbers hardly repeat, so dictionary encoding helps only the ids.
        dictionary: Any = self._layout.names[:1] if self._layout.with_ids else False
        return ParquetWriter(self._sink, schema, use_dictionary=dictionary)

    def _id_array(self) -> Any:
        if pa.types.is_string(self._id_type):
            return _as_text(self._ids)
        try:
            return _exact_array(self._ids, self._id_type)
        except _MISFITS as error:
            bad = (i for i, cell in enumerate(self._ids) if not _fits_type(cell, self._id_type))
            i = next(bad, 0)
            row = self._written_rows + i
            raise NotNumericError(
                f"{row_words(row)} of the output: the id {self._ids[i]!r} is not of the kind of "
                f"those before it ({self._id_type})",
                place={"row": row, "column": self._layout.names[0]},
                hint="make all ids text, or write the table as CSV",
            ) from error

    def close(self) -> None:
        """Write what is still missing of the file."""
        if self._buffered_rows or self._writer is None:
            self._flush()
        self._writer.close()


def _as_text(ids: Sequence[object] | NDArray[Any]) -> Any:
    try:
        # Twenty times faster than the fallback, but works only if all ids are text already.
        return pa.array(ids, pa.string(), from_pandas=False)
    except pa.ArrowException:
        return pa.array(text_of(ids), pa.string())


def _as_csv_text(ids: Sequence[object] | NDArray[Any]) -> Any:
    from pyarrow import compute

    found = _as_text(ids)
    if escaping.get() and compute.any(compute.match_substring_regex(found, FORMULA)).as_py():
        return pa.array([cell and csv_text(cell) for cell in found.to_pylist()], pa.string())
    return found


def _exact_array(cells: list[Any], type_: pa.DataType | None = None) -> Any:
    """Make an Arrow array; refuse times that it would cut, such as nanoseconds of pandas.

    Raises
    ------
    ArrowException, OverflowError, ValueError
        The cells do not fit the type, or, by default, one type.
    """
    array = pa.array(cells, type_)
    if pa.types.is_temporal(array.type):
        kept = zip(array.to_pylist(), cells, strict=True)
        if any(found is not None and found != cell for found, cell in kept):
            raise pa.ArrowInvalid(f"{array.type} would cut times")
    return array


def _id_type_of(cells: list[object]) -> Any:
    """Arrow's type for ids; text if they are of several types or all missing."""
    try:
        found = _exact_array(cells).type
    except _MISFITS:
        return pa.string()
    return pa.string() if pa.types.is_null(found) else found


def _fits_type(cell: object, type_: pa.DataType) -> bool:
    try:
        _exact_array([cell], type_)
    except _MISFITS:
        return False
    return True
