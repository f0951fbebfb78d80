"""Write tables of results, whole or block by block, to files or streams."""

from __future__ import annotations

import csv
import importlib
import io
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, Protocol, TypeAlias, cast

import numpy as np
from numpy.typing import DTypeLike, NDArray

from princomp.errors import (
    ColumnError,
    MissingLibraryError,
    OutputError,
    ParameterError,
    ShapeError,
    writing_to_stream,
)
from princomp.io.atomic import PathLike, atomic_write, write_error
from princomp.io.readers.reader_errors import file_error

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

Ids: TypeAlias = Sequence[object] | NDArray[Any] | None
Numbers: TypeAlias = NDArray[Any]

FORMATS = ("csv", "csv.gz", "csv.zst", "tsv", "tsv.gz", "tsv.zst", "parquet", "arrow", "npy")
_ENDINGS = {f".{name}": name for name in FORMATS} | {".feather": "arrow", ".ipc": "arrow"}

# Patterns of cells that a spreadsheet may take for a formula, and of numbers among them.
FORMULA, _NUMBER = r"^[=+\-@\t\r]", r"[+-]?[0-9.]+([eE][+-]?[0-9]+)?"
escaping: ContextVar[bool] = ContextVar("escaping", default=False)

# Numbers in a piece of CSV, a row group or a record batch: 8 MB of float64.
GROUP_NUMBERS = 2**20


def write_table(
    target: PathLike | BinaryIO,
    *,
    columns: Sequence[str],
    data: NDArray[np.floating[Any]],
    ids: Ids = None,
    id_column: str | None = None,
    force: bool = False,
) -> None:
    """Write a table of numbers.

    CSV holds the shortest decimals that read back as the same bits. NaN is an
    empty cell, except in a table of one column, where it is written as ``nan``
    because readers skip blank lines. A .npy file holds no names and no ids.

    Parameters
    ----------
    target : path or binary stream
        A file is written atomically, by ``atomic_write``, in the format of its ending; a stream
        gets CSV directly.
    columns : sequence of str of length p
        Names of the columns, all different.
    data : ndarray of shape (n, p)
        The numbers, float32 or float64.
    ids : sequence of length n, optional
        Names of the rows, which become the first column. None stands for a missing name.
    id_column : str, optional
        Name of that column; "id" if not given.
    force : bool
        An existing file may be replaced.

    Raises
    ------
    ParameterError
        The ending of the file is not known.
    ShapeError, ColumnError
        Names, ids and numbers do not fit together.
    OutputExistsError, OutputError
        As for ``atomic_write``. A closed pipe raises BrokenPipeError instead.
    MissingLibraryError
        pyarrow is needed and not installed.
    """
    numbers = np.asarray(data)
    with open_table(
        target,
        columns=columns,
        id_column=id_column,
        with_ids=ids is not None,
        dtype=numbers.dtype,
        rows=numbers.shape[0] if numbers.ndim else None,
        force=force,
    ) as table:
        table.write(numbers, ids)


@contextmanager
def open_table(
    target: PathLike | BinaryIO,
    *,
    columns: Sequence[str],
    id_column: str | None = None,
    with_ids: bool = False,
    dtype: DTypeLike = np.float64,
    rows: int | None = None,
    force: bool = False,
) -> Iterator[TableWriter]:
    """Write a table of numbers block by block.

    ::

        with open_table("scores.parquet", columns=["PC1", "PC2"]) as table:
            for block in blocks:
                table.write(block)

    Files are as ``write_table`` makes them, in row groups of about 2**20 numbers. A file
    appears when the body ends; if the body raises, no file is written.

    In Parquet and Arrow files, the ids of the first row group (and of the block that
    completes it) set the type of all ids: integers, dates …, or text where they are of
    several types, all missing, or times that Arrow's type would cut. If the type is text, later
    ids are converted to text; otherwise an id that does not fit the type raises an error that
    names its row. In CSV, all ids are text: bytes
    are UTF-8, or hex digits if some of the first block are not UTF-8.

    Parameters
    ----------
    target : path or binary stream
        As for ``write_table``.
    columns : sequence of str of length p
        Names of the columns, all different.
    id_column : str, optional
        Name of the id column; "id" if not given.
    with_ids : bool
        Every block has ids.
    dtype : numpy dtype
        The dtype of the numbers in the file. Blocks of lower precision are converted.
    rows : int, optional
        The total number of rows, if known.
    force : bool
        An existing file may be replaced.

    Yields
    ------
    TableWriter

    Raises
    ------
    ParameterError
        The ending of the file is not known.
    ColumnError, ShapeError
        Two names are the same, or there are no names.
    MissingLibraryError
        pyarrow is needed and not installed.
    """
    if not len(columns):
        raise ShapeError("a table needs a column of numbers", hint="name at least one")
    names = [id_column or "id", *columns] if with_ids else [*columns]
    repeated = [name for name, times in Counter(names).items() if times > 1]
    if repeated:
        raise ColumnError(
            f"two columns of the output would have the name {repeated[0]!r}",
            place={"column": repeated[0]},
            hint="give the columns different names",
        )
    output = Path(target) if isinstance(target, str | os.PathLike) else target
    format = table_format(output) if isinstance(output, Path) else "csv"
    if format != "npy":
        need_pyarrow("pyarrow")
    layout = Layout(names, with_ids, np.dtype(dtype).newbyteorder("="), rows)
    opened = atomic_write(output, force=force) if isinstance(output, Path) else nullcontext(output)
    failure: BaseException | None = None
    try:
        with opened as file:
            sink = Sink(file)
            try:
                table = TableWriter(output, sink, layout, format)
                yield table
                table.close()
            except BaseException as error:
                failure = error
                sink.discard()
                raise
    except BaseException:
        # An error of the body goes first: atomic_write reports an OSError as one of this file.
        if failure is None:
            raise
    if failure is not None:
        raise failure


class TableWriter:
    """A table that is being written; ``open_table`` creates it.

    Attributes
    ----------
    rows : int
        Rows written so far.
    """

    def __init__(self, target: Path | BinaryIO, sink: Sink, layout: Layout, format: str) -> None:
        self.rows = 0
        self._target, self._sink, self._layout = target, sink, layout
        with _output_errors(target):
            self._encoder = _make_encoder(sink, layout, format)

    def write(self, data: Numbers, ids: Ids = None) -> None:
        """Add rows.

        Parameters
        ----------
        data : ndarray of shape (m, p)
            The numbers; m may be 0. No reference to ``data`` or ``ids`` is kept.
        ids : sequence of length m
            Names of the rows; required if the table has ids, not allowed otherwise.

        Raises
        ------
        ShapeError, TypeError
            The rows do not fit the table.
        NotNumericError
            An id is not of the same type as those before it.
        OutputError
            The table could not be written, and no part of it will remain.
        """
        block = np.asarray(data)
        if block.ndim != 2 or block.shape[1] != self._layout.p:
            raise ShapeError(
                f"{self._layout.p} column names do not fit numbers of shape {block.shape}",
                hint="give a matrix, and one name for each of its columns",
            )
        block = block.astype(self._layout.dtype, casting="safe", copy=False)
        with _output_errors(self._target):
            self._encoder.write(block, ids)
        self.rows += len(block)

    def close(self) -> None:
        """Write the end of the table."""
        expected = self._layout.rows
        if expected is not None and expected != self.rows:
            raise ShapeError(
                f"{self.rows:,} rows were written, but rows={expected:,} was given",
                place={"parameter": "rows"},
                hint="leave rows out if the number is not known in advance",
            )
        with _output_errors(self._target):
            self._encoder.close()
            self._sink.file.flush()


@contextmanager
def _output_errors(target: Path | BinaryIO) -> Iterator[None]:
    """Raise errors of the file system as OutputError, except for a closed pipe."""
    try:
        with nullcontext() if isinstance(target, Path) else writing_to_stream():
            yield
    except BrokenPipeError:
        raise
    except OSError as error:
        if isinstance(target, Path):
            raise write_error(Path(os.path.realpath(target)), error) from error
        raise OutputError(f"the output could not be written: {error.strerror or error}") from error


def _make_encoder(sink: Sink, layout: Layout, format: str) -> Encoder:
    if format == "npy":
        return NpyEncoder(sink, layout)
    # pyarrow is optional and slow to load.
    from princomp.io.table_encoders import ColumnarEncoder, DelimitedEncoder

    if format in ("parquet", "arrow"):
        return ColumnarEncoder(sink, layout, format)
    return DelimitedEncoder(sink, layout, format)


def table_format(path: PathLike) -> str:
    """Return the format that a path's ending stands for.

    Raises
    ------
    ParameterError
        The ending is not known.
    """
    name = Path(path).name.lower()
    for ending, format in _ENDINGS.items():
        if name.endswith(ending):
            return format
    problem = "its name does not say in which format to write the table"
    hint = f"Known endings are {', '.join(_ENDINGS)}."
    raise file_error(ParameterError, path, problem, hint)


# ---- encoders -----------------------------------------------------------------------------


class Layout(NamedTuple):
    """The columns of a table that is written.

    Parameters
    ----------
    names : list of str
        Names of all columns, including the id column, which comes first.
    with_ids : bool
        Whether there is an id column.
    dtype : numpy dtype
        The dtype of the numbers.
    rows : int, optional
        Number of rows, if known in advance.
    """

    names: list[str]
    with_ids: bool
    dtype: np.dtype[Any]
    rows: int | None

    @property
    def p(self) -> int:
        """Number of columns of numbers, without the id column."""
        return len(self.names) - self.with_ids


class Encoder(Protocol):
    """Encodes blocks of rows in one format and writes the bytes to a sink."""

    def write(self, data: Numbers, ids: Ids) -> None:
        """Add an (m, p) block of the layout's dtype; the caller may reuse the memory of both."""

    def close(self) -> None:
        """Write the rows still buffered and the end of the file."""


class Sink(io.RawIOBase):
    """The file that an encoder writes to; it stays open when the encoder closes its sink.

    Attributes
    ----------
    compressor : file, optional
        The gzip file that writes to this one.
    """

    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        self.compressor: io.BufferedIOBase | None = None
        self._discards = False

    def discard(self) -> None:
        """Drop everything that is written from now on.

        An encoder that was not closed writes the end of its file when it is deleted. Since Python
        3.14, a gzip file that is deleted also warns, so it is closed here.
        """
        self._discards = True
        if self.compressor is not None:
            self.compressor.close()

    def writable(self) -> bool:
        """Return True."""
        return True

    def write(self, data: ReadableBuffer) -> int:
        """Write all of ``data``, in several calls where a raw pipe accepts only a part."""
        remaining = memoryview(data).cast("B")
        size = len(remaining)
        while len(remaining) and not self._discards:
            written = self.file.write(remaining)
            remaining = remaining[len(remaining) if written is None else written :]
        return size


class NpyEncoder:
    """Encoder of .npy files, which hold neither names nor ids."""

    def __init__(self, sink: Sink, layout: Layout) -> None:
        self._sink, self._layout = sink, layout
        self._written_rows = 0
        self._write_header(layout.rows or 0)

    def _write_header(self, rows: int) -> None:
        # NumPy pads the header with room for more digits of the number of rows, so it can be
        # overwritten in place.
        header = {
            "descr": np.lib.format.dtype_to_descr(self._layout.dtype),
            "fortran_order": False,
            "shape": (rows, self._layout.p),
        }
        np.lib.format.write_array_header_1_0(self._sink, header)

    def write(self, data: Numbers, ids: Ids) -> None:
        """Add an (m, p) block."""
        step = max(1, GROUP_NUMBERS // self._layout.p)
        for start in range(0, len(data), step):
            self._sink.write(np.ascontiguousarray(data[start : start + step]).data)
        self._written_rows += len(data)

    def close(self) -> None:
        """Write what is still missing of the file."""
        if self._layout.rows is None:
            self._sink.file.seek(0)
            self._write_header(self._written_rows)


def need_pyarrow(module: str) -> Any:
    """Import a module of pyarrow on demand, because pyarrow is optional and slow to load."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingLibraryError(
            "writing this kind of table needs pyarrow, which is not installed",
            hint="pip install 'princomp[cli]'",
        ) from error


# ---- CSV ----------------------------------------------------------------------------------


@contextmanager
def escaped_formulas() -> Iterator[None]:
    """Within this context, prefix CSV texts that look like formulas with an apostrophe."""
    before = escaping.set(True)
    try:
        yield
    finally:
        escaping.reset(before)


def csv_text(text: str) -> str:
    """Return a text as a CSV cell, escaped within ``escaped_formulas`` if it looks risky."""
    risky = escaping.get() and re.match(FORMULA, text) and not re.fullmatch(_NUMBER, text)
    return f"'{text}" if risky else text


def csv_lines(rows: Iterable[Sequence[object]], delimiter: str) -> bytes:
    r"""Return rows as CSV whose lines end in "\n".

    Cells with "\r" are quoted, which the csv module does only where lines end in "\r\n".
    """
    lines: list[str] = []
    file = SimpleNamespace(write=lambda line: lines.append(line.removesuffix("\r\n") + "\n"))
    csv.writer(cast(Any, file), delimiter=delimiter).writerows(
        [csv_text(cell) if isinstance(cell, str) else cell for cell in row] for row in rows
    )
    return "".join(lines).encode()
