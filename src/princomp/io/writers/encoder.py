"""What every format of a table that is written has in common."""

from __future__ import annotations

import importlib
import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from princomp.errors import MissingLibraryError

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

Ids: TypeAlias = Sequence[object] | NDArray[Any] | None
Numbers: TypeAlias = NDArray[Any]


# A cell that a spreadsheet may take for a formula, and the numbers among them.
FORMULA, NUMBER = r"^[=+\-@\t\r]", r"^[+-]?[0-9.]+([eE][+-]?[0-9]+)?$"
_escaping: ContextVar[bool] = ContextVar("escaping", default=False)


@contextmanager
def escaped_formulas() -> Iterator[None]:
    """Put an apostrophe before texts in CSV files that a spreadsheet may take for formulas."""
    before = _escaping.set(True)
    try:
        yield
    finally:
        _escaping.reset(before)


def escapes_formulas() -> bool:
    """Whether the code runs within ``escaped_formulas``."""
    return _escaping.get()


def csv_text(text: str) -> str:
    """Return a text as a cell of a CSV file."""
    risky = re.match(FORMULA, text) and not re.match(NUMBER, text)
    return f"'{text}" if risky and _escaping.get() else text


class Layout(NamedTuple):
    """The columns of a table that is written.

    Parameters
    ----------
    names : list of str
        Of all columns, that of the ids first where there are any.
    with_ids : bool
    dtype : numpy dtype
        Of the numbers.
    rows : int, optional
        Where it is known before.
    """

    names: list[str]
    with_ids: bool
    dtype: np.dtype[Any]
    rows: int | None

    @property
    def p(self) -> int:
        """Columns of numbers."""
        return len(self.names) - self.with_ids


class Encoder(Protocol):
    """A format: turns blocks of rows into bytes of a sink."""

    def write(self, data: Numbers, ids: Ids) -> None:
        """Add rows (m, p) of the layout's dtype; the memory of both is free afterwards."""

    def close(self) -> None:
        """Write what is held back, and the end of the file."""


class Sink(io.RawIOBase):
    """The file below an encoder: it stays open when the encoder closes it.

    When ``discards`` is set, what is written is dropped, so that an encoder can be closed after
    a failure without completing a file that was cut short.
    """

    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        self.discards = False

    def writable(self) -> bool:
        """Say that it can be written to."""
        return True

    def write(self, data: ReadableBuffer) -> int:
        """Write all of ``data``, in several goes where a raw pipe takes only a part."""
        rest = memoryview(data).cast("B")
        size = len(rest)
        while len(rest) and not self.discards:
            taken = self.file.write(rest)
            rest = rest[len(rest) if taken is None else taken :]
        return size


def need_pyarrow(module: str) -> Any:
    """Import a module of pyarrow, here because it is optional and slow to load."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingLibraryError(
            "writing this kind of table needs pyarrow, which is not installed",
            hint="pip install 'princomp[cli]'",
        ) from error
