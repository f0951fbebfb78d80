"""What the encoders of all table formats share, and the encoder that needs no other library."""

from __future__ import annotations

import csv
import importlib
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, Protocol, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from princomp.errors import MissingLibraryError

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

Ids: TypeAlias = Sequence[object] | NDArray[Any] | None
Numbers: TypeAlias = NDArray[Any]


# Patterns of cells that a spreadsheet may take for a formula, and of numbers among them.
FORMULA, NUMBER = r"^[=+\-@\t\r]", r"^[+-]?[0-9.]+([eE][+-]?[0-9]+)?$"
escaping: ContextVar[bool] = ContextVar("escaping", default=False)

# Numbers in a piece of CSV, a row group or a record batch: 8 MB of float64.
GROUP_NUMBERS = 2**20


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
    risky = re.match(FORMULA, text) and not re.match(NUMBER, text)
    return f"'{text}" if risky and escaping.get() else text


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

    When ``discards`` is set, written bytes are dropped: pyarrow and gzip write the end of a file
    when an encoder that was not closed is deleted.
    """

    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        self.discards = False

    def writable(self) -> bool:
        """Return True."""
        return True

    def write(self, data: ReadableBuffer) -> int:
        """Write all of ``data``, in several calls where a raw pipe accepts only a part."""
        remaining = memoryview(data).cast("B")
        size = len(remaining)
        while len(remaining) and not self.discards:
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
