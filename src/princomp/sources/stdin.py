"""Rows from standard input, seen once; what kind of table it is, its first bytes tell."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np

from princomp.arrays import empty
from princomp.errors import MalformedFileError, ParameterError, ShapeError
from princomp.sources.columns import Origin
from princomp.sources.delimited_pieces import Dialect
from princomp.sources.delimited_stream import DelimitedSource
from princomp.sources.faults import need_pyarrow, reading
from princomp.sources.source import Chunk, Source
from princomp.sources.stored_array import (
    Member,
    float_kind,
    floats,
    labels,
    numbered,
    refuse_ids,
    refuse_kind,
    rounding,
)

__all__ = ["open_stdin"]

_NAME = Path("standard input")
_PLACE = {"file": str(_NAME)}

_COMPRESSIONS = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
_ARROW_STREAM = b"\xff\xff\xff\xff"
_ARROW_END = b"\xff\xff\xff\xff\x00\x00\x00\x00"
_NPY = b"\x93NUMPY"
# Kinds whose readers jump to and fro, as a pipe cannot.
_NOT_FROM_A_PIPE = {
    b"PAR1": ("Parquet", "Give the name of the file instead."),
    b"ARROW1": ("an Arrow file", "Send an Arrow stream, or give the name of the file instead."),
    b"\x89HDF": ("HDF5", "Give the name of the file instead."),
    b"PK\x03\x04": ("a zip file or spreadsheet", "Give the name of an .npz file; or send CSV."),
}

# What is looked at to tell the kind.
_FIRST = 1 << 16
# Numbers in a chunk of an array.
_NUMBERS = 1 << 18


def open_stdin(
    stream: BinaryIO,
    columns: Sequence[str] | None,
    exclude: Sequence[str],
    id_column: str | None,
) -> Source:
    """Open standard input: CSV, TSV, an Arrow stream or .npy, each also by gzip or zstd.

    Parameters
    ----------
    stream : binary file
        Need not seek. It is read as far as the kind, the columns and, in delimited text,
        the numbers of the first few megabytes are to be told, and never closed.
    columns, exclude, id_column
        As for ``files.read_table``.

    Returns
    -------
    Source
        Not repeatable.

    Raises
    ------
    ColumnError, MalformedFileError, NotNumericError, ShapeError
        As for files; nothing may have come at all.
    ParameterError
        It is of a kind that cannot be read from a pipe.
    MissingLibraryError
        pyarrow is needed and not installed.
    """
    first, rest = _looked_at(stream)
    compression = next((how for mark, how in _COMPRESSIONS.items() if first.startswith(mark)), None)
    if compression is not None:
        pa = need_pyarrow("pyarrow", _NAME)
        with reading(_NAME, "a compressed table"):
            rest = pa.CompressedInputStream(pa.PythonFile(rest, "r"), compression)
        first, rest = _looked_at(rest)
    if not first:
        raise ShapeError(
            f"{_NAME}: no rows, nothing came",
            place=dict(_PLACE),
            hint="Send a table, such as CSV whose first line names the columns; "
            "or the command before the pipe may have failed.",
        )
    for mark, (kind, hint) in _NOT_FROM_A_PIPE.items():
        if first.startswith(mark):
            raise ParameterError(
                f"{_NAME}: {kind} cannot be read from a pipe", place=dict(_PLACE), hint=hint
            )
    asked = (columns, exclude, id_column)
    if first.startswith(_NPY):
        return _Once(_PipedArray(rest, *asked))
    if first.startswith(_ARROW_STREAM):
        return _Once(_arrow(rest, *asked))
    need_pyarrow("pyarrow.csv", _NAME)
    names = next(iter(first.lstrip(b"\xef\xbb\xbf\r\n").splitlines()), b"")
    delimiter = "\t" if b"\t" in names and b"," not in names else ","
    dialect = Dialect(_NAME, delimiter, compression)
    return _Once(DelimitedSource(dialect, rest, *asked, once=True))


class _Once(Source):
    """Rows that go by once."""

    repeatable = False

    def __init__(self, rows: Source) -> None:
        super().__init__(
            rows=rows.rows,
            p=rows.p,
            dtype=rows.dtype,
            columns=rows.columns,
            id_column=rows.id_column,
            notes=rows.notes,
            file=str(_NAME),
            unused=rows.unused,
        )
        self._source: Source | None = rows

    def chunks(self, start: int = 0) -> Iterator[Chunk]:
        """Rows from number ``start`` on; a second time raises ParameterError."""
        source, self._source = self._source, None
        if source is None:
            raise ParameterError(
                f"{_NAME}: can be read once, and was",
                place=dict(_PLACE),
                hint="Save it to a file first, and give the name of the file.",
            )
        return source.chunks(start)


class _Rejoined(io.RawIOBase):
    """Bytes that were looked at, and those behind them."""

    def __init__(self, first: bytes, rest: BinaryIO) -> None:
        self._first = first
        self._rest = rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        given = self._first or self._rest.read(len(buffer))
        given, self._first = given[: len(buffer)], given[len(buffer) :]
        buffer[: len(given)] = given
        return len(given)


def _looked_at(stream: BinaryIO) -> tuple[bytes, BinaryIO]:
    """The first bytes of a stream, and a stream that gives them again."""
    first = b""
    with reading(_NAME, "a table"):
        # A pipe may give few bytes at a time.
        while len(first) < _FIRST and (more := stream.read(_FIRST - len(first))):
            first += more
    return first, io.BufferedReader(_Rejoined(first, stream), _FIRST)


def _arrow(
    stream: BinaryIO,
    columns: Sequence[str] | None,
    exclude: Sequence[str],
    id_column: str | None,
) -> Source:
    from princomp.sources.columnar_stream import BatchSource

    pa = need_pyarrow("pyarrow", _NAME)
    watched = _Watched(stream)
    with reading(_NAME, "an Arrow stream"):
        batches = pa.ipc.open_stream(pa.PythonFile(watched, "r"))

    def until_the_end() -> Iterator[Any]:
        yield from batches
        # pyarrow takes the end of the bytes for that of the stream, too.
        if watched.last != _ARROW_END:
            raise MalformedFileError(
                f"{_NAME}: the Arrow stream does not end properly",
                place=dict(_PLACE),
                hint="It may be cut short: see whether the command before the pipe failed.",
            )

    return BatchSource(
        batches.schema, until_the_end(), columns, exclude, id_column, file=str(_NAME)
    )


class _Watched:
    """Reads on, and keeps the last bytes read."""

    closed = False

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self.last = b""

    def read(self, size: int = -1) -> bytes:
        got = self._stream.read(size)
        self.last = (self.last + got[-len(_ARROW_END) :])[-len(_ARROW_END) :]
        return got


class _PipedArray(Source):
    """Rows of an array as numpy.save writes it, in C order."""

    def __init__(
        self,
        stream: BinaryIO,
        columns: Sequence[str] | None,
        exclude: Sequence[str],
        id_column: str | None,
    ) -> None:
        origin = Origin(str(_NAME))
        refuse_ids(id_column, "an .npy file", origin)
        with reading(_NAME, "a NumPy array"):
            # Version 3 differs from 2 only in names of record fields.
            first = np.lib.format.read_magic(stream) == (1, 0)
            read = (
                np.lib.format.read_array_header_1_0
                if first
                else np.lib.format.read_array_header_2_0
            )
            shape, by_columns, kind = read(stream)
        refuse_kind(Member("the array", shape, kind), origin)
        if by_columns and min(shape) > 1:
            raise ParameterError(
                f"{_NAME}: the array is in Fortran order, its rows come last",
                place=dict(_PLACE),
                hint="Save numpy.ascontiguousarray(x), or give the name of the file instead.",
            )
        self._stream = stream
        self._shape, self._kind = shape, kind
        self._taken = numbered(shape[1], columns, exclude, origin)
        super().__init__(
            rows=shape[0],
            p=shape[1] if self._taken is None else len(self._taken),
            dtype=float_kind(kind),
            notes=rounding(kind),
            file=str(_NAME),
        )

    def chunks(self, start: int = 0) -> Iterator[Chunk]:
        """Rows from number ``start`` on."""
        origin, label = Origin(self.file), labels(None, self._taken)
        n, p = self._shape
        step = max(1, _NUMBERS // p)
        for first in range(0, n, step):
            with reading(_NAME, "a NumPy array"):
                block = empty((min(step, n - first), p), self._kind)
                got = cast(io.BufferedReader, self._stream).readinto(block.view(np.uint8).data)
            if got < block.nbytes:
                raise MalformedFileError(
                    f"{_NAME}: ends after row {first + got * len(block) // block.nbytes} of {n}",
                    place={**_PLACE, "row": first + got * len(block) // block.nbytes},
                    hint="It may be cut short: see whether the command before the pipe failed.",
                )
            before = max(0, start - first)
            if before < len(block):
                yield Chunk(floats(block[before:], self._taken, first + before, label, origin))
