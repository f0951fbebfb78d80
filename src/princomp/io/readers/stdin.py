"""Rows from standard input, read once; the first bytes determine the format."""

from __future__ import annotations

import io
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Literal

from princomp.errors import NoRowsError, ParameterError
from princomp.io.readers.columns import Selection
from princomp.io.readers.numpy_file import NPY_MAGIC, open_piped_array
from princomp.io.readers.read_options import DETECT, ReadOptions
from princomp.io.readers.reader_errors import file_error, import_optional, reading
from princomp.io.readers.source import Chunk, Source

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer


_NAME = Path("standard input")

_COMPRESSIONS = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
_ARROW_STREAM = b"\xff\xff\xff\xff"
# Formats whose readers seek, which a pipe cannot.
_NEED_SEEKING = {
    b"PAR1": ("Parquet", "Give the name of the file instead."),
    b"ARROW1": ("an Arrow file", "Send an Arrow stream, or give the name of the file instead."),
    b"\x89HDF": ("HDF5", "Give the name of the file instead."),
    b"PK\x03\x04": ("a zip file or spreadsheet", "Give the name of an .npz file; or send CSV."),
}

# Number of bytes from which the format is detected.
_PEEK_BYTES = 1 << 16


def open_stdin(
    stream: BinaryIO,
    *,
    columns: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
    id_column: str | Literal[False] | None = None,
    options: ReadOptions = DETECT,
    of_model: bool = False,
    na: tuple[str, ...] = (),
) -> Source:
    """Open standard input: CSV, TSV, an Arrow stream or .npy, optionally with gzip or zstd.

    Parameters
    ----------
    stream : binary file
        Need not be seekable, and is never closed. Enough is read to detect the format, the
        columns and, in delimited text, which columns hold numbers.
    columns, exclude, id_column, options, of_model, na
        As for :func:`~princomp.io.readers.files.open_files`.

    Returns
    -------
    Source
        Not repeatable.

    Raises
    ------
    ColumnError, MalformedFileError, NotNumericError, ShapeError
        As for files; NoRowsError also if the input is empty.
    ParameterError
        The format cannot be read from a pipe, or ``options.untrusted`` is set.
    MissingLibraryError
        pyarrow is needed and not installed.
    """
    if options.untrusted:
        hint = "Save standard input to a file first, and give the name of the file."
        problem = "untrusted=True reads files only"
        raise file_error(ParameterError, _NAME, problem, hint, parameter="untrusted")
    find_ids = id_column is None
    given, options = options, options.with_default_na(na)
    na_of_model = options is not given
    selection = Selection(
        columns, exclude, id_column or None, find_ids, options, of_model, na_of_model
    )
    first, rest, compression = _decompressed(stream)
    if not first:
        hint = "Send a table, such as CSV; or the command before the pipe may have failed."
        raise file_error(NoRowsError, _NAME, "no rows, the input is empty", hint)
    for magic, (kind, hint) in _NEED_SEEKING.items():
        if first.startswith(magic):
            problem = f"{kind} cannot be read from a pipe"
            raise file_error(ParameterError, _NAME, problem, hint)
    if first.startswith(NPY_MAGIC):
        return _ReadOnce(open_piped_array(rest, selection, _NAME), first, selection)
    if first.startswith(_ARROW_STREAM):
        import_optional("pyarrow", _NAME)
        from princomp.io.readers.columnar_files import open_arrow_stream

        return _ReadOnce(open_arrow_stream(rest, selection, _NAME), first, selection)
    import_optional("pyarrow.csv", _NAME)
    from princomp.io.readers.delimited_detect import detect_dialect
    from princomp.io.readers.delimited_stream import DelimitedSource

    complete = len(first) < _PEEK_BYTES
    dialect = detect_dialect(first, _NAME, selection, compression=compression, complete=complete)
    source = DelimitedSource(dialect, dialect.cleaned(rest), selection, once=True)
    source.na = selection.options.na
    return _ReadOnce(source, first, selection)


def _decompressed(stream: BinaryIO) -> tuple[bytes, BinaryIO, str | None]:
    """The first bytes of a stream, all of it, and its compression, all after decompression."""
    first, rest = _peek(stream)
    compression = next(
        (name for magic, name in _COMPRESSIONS.items() if first.startswith(magic)), None
    )
    if compression is None:
        return first, rest, None
    pa = import_optional("pyarrow", _NAME)
    with reading(_NAME, "a compressed table"):
        rest = pa.CompressedInputStream(pa.PythonFile(rest, "r"), compression)
    return *_peek(rest), compression


class _ReadOnce(Source):
    """Rows of standard input, which can be read only once."""

    repeatable = False

    def __init__(self, source: Source, first: bytes, selection: Selection) -> None:
        super().__init__(**source.properties())
        self.selected = selection.describe()
        self._source: Source | None = source
        self._first = first

    def fingerprint(self) -> tuple[str, ...]:
        """Return a checksum of the first bytes; the others are not known before a pass."""
        return (f"first bytes with checksum {zlib.crc32(self._first):08x}", self.selected)

    def chunks(self, start: int = 0) -> Iterator[Chunk]:
        """Rows from number ``start`` on; a second time raises ParameterError."""
        source, self._source = self._source, None
        if source is None:
            problem = "can be read only once, and has been read"
            hint = "Save it to a file first, and give the name of the file."
            raise file_error(ParameterError, _NAME, problem, hint)
        return source.chunks(start)


class _LeftOpen(io.RawIOBase):
    """A reader that does not close the stream that it reads from."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        target = memoryview(buffer).cast("B")
        data = self._stream.read(len(target))
        target[: len(data)] = data
        return len(data)


def _peek(stream: BinaryIO) -> tuple[bytes, BinaryIO]:
    """The first bytes of a stream, and a new stream that starts with the same bytes."""
    # A pipe may give few bytes at a time, which the inner reader joins.
    joined = io.BufferedReader(_LeftOpen(stream), _PEEK_BYTES)
    rest = io.BufferedReader(joined, _PEEK_BYTES)
    with reading(_NAME, "a table"):
        return rest.peek(), rest
