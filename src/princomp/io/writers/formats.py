"""Encoders of the table formats, one for each family."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from princomp.errors import NotNumericError, row_words
from princomp.io.writers.encoder import (
    FORMULA,
    NUMBER,
    Encoder,
    Ids,
    Layout,
    Numbers,
    Sink,
    csv_text,
    escapes_formulas,
    need_pyarrow,
)
from princomp.linalg import empty

if TYPE_CHECKING:
    import pyarrow as pa

# Numbers in a piece of CSV, a row group or a record batch: 8 MB of float64 …
_GROUP_NUMBERS = 2**20
# … but row groups of wide tables have at least _MIN_GROUP_ROWS rows, up to _MAX_GROUP_NUMBERS
# numbers: with 2,000 columns, groups of 500 rows take twice as long to write and seven times as
# long to read as groups of 2,000 rows.
_MIN_GROUP_ROWS, _MAX_GROUP_NUMBERS = 2**11, 2**23


class _Delimited:
    """Encoder of CSV and TSV; it decides for each piece whether the ids need quotes."""

    def __init__(
        self, sink: Sink, layout: Layout, *, delimiter: str, compression: str | None = None
    ) -> None:
        pa = need_pyarrow("pyarrow")
        self._layout = layout
        self._delimiter = delimiter
        self._compressor: Any = None
        if compression == "gzip":
            # Without a name and a time in the header, equal tables give equal bytes. Level 1
            # compresses random digits to 50% in 1.3 s, level 6 to 47% in 7.3 s.
            self._compressor = gzip.GzipFile(
                "", "wb", compresslevel=1, fileobj=cast(BinaryIO, sink), mtime=0
            )
        elif compression is not None:
            self._compressor = pa.CompressedOutputStream(pa.PythonFile(sink, "w"), compression)
        self._out = self._compressor or sink
        header = io.StringIO()
        csv.writer(header, delimiter=delimiter, lineterminator="\n").writerow(
            map(csv_text, layout.names)
        )
        self._out.write(header.getvalue().encode())

    def write(self, data: Numbers, ids: Ids) -> None:
        step = max(1, _GROUP_NUMBERS // self._layout.p)
        for start in range(0, len(data), step):
            stop = start + step
            self._write_piece(data[start:stop], None if ids is None else ids[start:stop])

    def _write_piece(self, data: Numbers, ids: Ids) -> None:
        # Like repr, pyarrow writes the shortest decimals that round-trip. Writing 1,000,000 × 5
        # numbers on two cores took pyarrow 0.6 to 0.9 s and the csv module 4.4 s.
        pa = need_pyarrow("pyarrow")
        pa_csv = need_pyarrow("pyarrow.csv")
        # Readers skip blank lines, so a table of one column cannot have empty cells.
        nan_as_null = len(self._layout.names) > 1
        columns = [pa.array(np.ascontiguousarray(x), from_pandas=nan_as_null) for x in data.T]
        quoted = False
        if ids is not None:
            columns.insert(0, _as_csv_text(ids))
            quoted = self._needs_quotes(columns[0])
        options = pa_csv.WriteOptions(
            include_header=False,
            delimiter=self._delimiter,
            # pyarrow's "needed" quotes every text, so it is used only where some id needs quotes.
            quoting_style="needed" if quoted else "none",
            batch_size=max(1, min(2**13, 2**18 // len(columns))),
        )
        piece = pa.RecordBatch.from_arrays(columns, names=self._layout.names)
        pa_csv.write_csv(piece, self._out, write_options=options)

    def _needs_quotes(self, ids: pa.Array) -> bool:
        compute = need_pyarrow("pyarrow.compute")
        special = rf'["\r\n{self._delimiter}]'
        return bool(compute.any(compute.match_substring_regex(ids, special)).as_py())

    def close(self) -> None:
        if self._compressor is not None:
            self._compressor.close()


class _Columnar:
    """Encoder of Parquet and Arrow files; it gathers small blocks into moderate row groups."""

    def __init__(self, sink: Sink, layout: Layout, *, kind: str) -> None:
        self._sink, self._layout, self._kind = sink, layout, kind
        size = max(
            1, _GROUP_NUMBERS // layout.p, min(_MIN_GROUP_ROWS, _MAX_GROUP_NUMBERS // layout.p)
        )
        if layout.rows is not None:
            size = max(1, min(size, layout.rows))
        # Each row of the buffer is a column of the table, because Arrow stores columns.
        self._buffer = empty((layout.p, size), layout.dtype)
        self._ids: list[Any] = []
        self._buffered_rows = 0
        self._written_rows = 0
        self._writer: Any = None
        self._id_type: Any = None

    def write(self, data: Numbers, ids: Ids) -> None:
        start, capacity = 0, self._buffer.shape[1]
        while start < len(data):
            stop = min(len(data), start + capacity - self._buffered_rows)
            end = self._buffered_rows + stop - start
            self._buffer[:, self._buffered_rows : end] = data[start:stop].T
            self._buffered_rows = end
            if ids is not None:
                self._ids += list(ids[start:stop])
            start = stop
            if self._buffered_rows == capacity:
                self._flush(() if ids is None else ids[start:])

    def _flush(self, upcoming: Sequence[object] | NDArray[Any] = ()) -> None:
        """Write the buffered rows; the type of the ids also considers ``upcoming`` ids."""
        pa = need_pyarrow("pyarrow")
        if self._writer is None:
            self._open(upcoming)
        columns = [pa.array(x) for x in self._buffer[:, : self._buffered_rows]]
        if self._layout.with_ids:
            columns.insert(0, self._id_array())
        self._writer.write_batch(pa.RecordBatch.from_arrays(columns, names=self._layout.names))
        self._written_rows += self._buffered_rows
        self._buffered_rows = 0
        self._ids = []

    def _open(self, upcoming: Sequence[object] | NDArray[Any]) -> None:
        pa = need_pyarrow("pyarrow")
        names = self._layout.names
        types = [pa.from_numpy_dtype(self._layout.dtype)] * self._layout.p
        if self._layout.with_ids:
            self._id_type = _id_type_of([*self._ids, *upcoming])
            types = [self._id_type, *types]
        schema = pa.schema(list(zip(names, types, strict=True)))
        if self._kind == "arrow":
            self._writer = pa.ipc.new_file(self._sink, schema)
            return
        # Numbers hardly repeat, so dictionary encoding helps only the ids.
        dictionary: Any = names[:1] if self._layout.with_ids else False
        parquet = need_pyarrow("pyarrow.parquet")
        self._writer = parquet.ParquetWriter(self._sink, schema, use_dictionary=dictionary)

    def _id_array(self) -> Any:
        pa = need_pyarrow("pyarrow")
        if pa.types.is_string(self._id_type):
            return _as_text(self._ids)
        try:
            return pa.array(self._ids, self._id_type)
        except (pa.ArrowException, OverflowError) as error:
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
        if self._buffered_rows or self._writer is None:
            self._flush()
        self._writer.close()


class _Npy:
    """Encoder of .npy files, which hold neither names nor ids."""

    def __init__(self, sink: Sink, layout: Layout) -> None:
        self._sink, self._layout = sink, layout
        self._written_rows = 0
        self._start = 0 if layout.rows is not None else sink.file.tell()
        sink.write(self._header(layout.rows or 0))

    def _header(self, rows: int) -> bytes:
        # NumPy pads the header with room for more digits of the number of rows, so it can be
        # overwritten in place.
        buffer = io.BytesIO()
        header = {
            "descr": np.lib.format.dtype_to_descr(self._layout.dtype),
            "fortran_order": False,
            "shape": (rows, self._layout.p),
        }
        np.lib.format.write_array_header_1_0(buffer, header)
        return buffer.getvalue()

    def write(self, data: Numbers, ids: Ids) -> None:
        step = max(1, _GROUP_NUMBERS // self._layout.p)
        for start in range(0, len(data), step):
            self._sink.write(np.ascontiguousarray(data[start : start + step]).data)
        self._written_rows += len(data)

    def close(self) -> None:
        if self._layout.rows is None and not self._sink.discards:
            file = self._sink.file
            end = file.tell()
            file.seek(self._start)
            self._sink.write(self._header(self._written_rows))
            file.seek(end)


def _as_text(ids: Sequence[object] | NDArray[Any]) -> Any:
    pa = need_pyarrow("pyarrow")
    try:
        # Twenty times faster than the fallback, but works only if all ids are text already.
        return pa.array(ids, pa.string(), from_pandas=False)
    except pa.ArrowException:
        return pa.array([None if cell is None else str(cell) for cell in ids], pa.string())


def _as_csv_text(ids: Sequence[object] | NDArray[Any]) -> Any:
    found = _as_text(ids)
    if not escapes_formulas():
        return found
    compute = need_pyarrow("pyarrow.compute")
    risky = compute.and_not(
        compute.match_substring_regex(found, FORMULA), compute.match_substring_regex(found, NUMBER)
    )
    marked = compute.binary_join_element_wise("'", found, "")
    return compute.if_else(compute.fill_null(risky, False), marked, found)


def _id_type_of(cells: list[object]) -> Any:
    """Arrow's type for ids; text if they are of several types or all missing."""
    pa = need_pyarrow("pyarrow")
    try:
        found = pa.array(cells).type
    except (pa.ArrowException, OverflowError):
        return pa.string()
    return pa.string() if pa.types.is_null(found) else found


def _fits_type(cell: object, type_: pa.DataType) -> bool:
    pa = need_pyarrow("pyarrow")
    try:
        pa.array([cell], type_)
    except (pa.ArrowException, OverflowError):
        return False
    return True


ENCODERS: dict[str, Callable[[Sink, Layout], Encoder]] = {
    "csv": partial(_Delimited, delimiter=","),
    "csv.gz": partial(_Delimited, delimiter=",", compression="gzip"),
    "csv.zst": partial(_Delimited, delimiter=",", compression="zstd"),
    "tsv": partial(_Delimited, delimiter="\t"),
    "tsv.gz": partial(_Delimited, delimiter="\t", compression="gzip"),
    "tsv.zst": partial(_Delimited, delimiter="\t", compression="zstd"),
    "parquet": partial(_Columnar, kind="parquet"),
    "arrow": partial(_Columnar, kind="arrow"),
    "npy": _Npy,
}
