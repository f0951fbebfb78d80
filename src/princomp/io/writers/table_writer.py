"""Write a table block by block, in a format given by name or by the file's ending."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

import numpy as np

from princomp.errors import OutputError, ParameterError, ShapeError
from princomp.io.atomic import PathLike, atomic_write
from princomp.io.writers.encoder import Encoder, Ids, Layout, Numbers, Sink, need_pyarrow
from princomp.io.writers.formats import ENCODERS

FORMATS = tuple(ENCODERS)
_ENDINGS = {f".{name}": name for name in FORMATS} | {".feather": "arrow", ".ipc": "arrow"}


class TableWriter:
    """A table that is being written; ``open_table`` creates it.

    Attributes
    ----------
    rows : int
        Rows written so far.
    """

    def __init__(
        self, target: PathLike | BinaryIO, layout: Layout, format: str | None, force: bool
    ) -> None:
        is_path = isinstance(target, str | os.PathLike)
        if format is None:
            format = table_format(target) if isinstance(target, str | os.PathLike) else "csv"
        if format not in ENCODERS:
            raise ParameterError(
                f"format {format!r} is not known",
                place={"parameter": "format"},
                hint=f"known formats are {', '.join(FORMATS)}",
            )
        if format != "npy":
            need_pyarrow("pyarrow")
        elif layout.rows is None and not is_path and not _seekable(target):
            raise ParameterError(
                "an .npy file begins with its number of rows, and this stream cannot seek",
                place={"parameter": "target"},
                hint="write to a file, give the number of rows, or choose another format",
            )
        self.rows = 0
        self._layout, self._target = layout, target
        self._make_encoder = ENCODERS[format]
        self._force = force
        self._atomic: AbstractContextManager[BinaryIO] | None = None
        self._encoder: Encoder | None = None

    def __enter__(self) -> Self:
        if isinstance(self._target, str | os.PathLike):
            self._atomic = atomic_write(self._target, force=self._force)
            self._sink = Sink(self._atomic.__enter__())
        else:
            self._sink = Sink(self._target)
        with self._abandon_on_error():
            self._encoder = self._make_encoder(self._sink, self._layout)
        return self

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
        ShapeError, ParameterError
            The rows do not fit the table, which still accepts other rows.
        NotNumericError
            An id is not of the same type as those before it.
        OutputError
            The table could not be written; no part of it remains.
        """
        block = np.asarray(data)
        self._check(block, ids)
        if self._encoder is None:
            raise ParameterError(
                "the table is not open for writing", hint="write within its with statement"
            )
        with self._abandon_on_error():
            self._encoder.write(block.astype(self._layout.dtype, copy=False), ids)
        self.rows += len(block)

    def _check(self, data: Numbers, ids: Ids) -> None:
        """Refuse rows that do not fit the table."""
        if data.ndim != 2 or data.shape[1] != self._layout.p:
            raise ShapeError(
                f"{self._layout.p} column names do not fit numbers of shape {data.shape}",
                hint="give a matrix, and one name for each of its columns",
            )
        if (ids is not None) != self._layout.with_ids:
            raise ParameterError(
                "the table has ids, these rows have none"
                if ids is None
                else "these rows have ids, the table was opened without",
                place={"parameter": "ids"},
                hint="give ids with every block and set with_ids=True, or do neither",
            )
        if ids is not None and len(ids) != len(data):
            raise ShapeError(
                f"{len(ids)} ids do not fit {len(data)} rows", hint="give one id for each row"
            )
        if not np.can_cast(data.dtype, self._layout.dtype):
            raise ParameterError(
                f"{data.dtype} rows do not fit into a table of {self._layout.dtype}: "
                "digits would be lost",
                place={"parameter": "dtype"},
                hint=f"open the table with dtype={data.dtype}, or cast the rows",
            )

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._encoder is None:
            return  # a failed write has abandoned the table already
        if error is not None:
            self._abandon()
            return
        with self._abandon_on_error():
            expected = self._layout.rows
            if expected is not None and expected != self.rows:
                raise ShapeError(
                    f"{self.rows:,} rows were written, but rows={expected:,} was given",
                    place={"parameter": "rows"},
                    hint="leave rows out if the number is not known in advance",
                )
            self._encoder.close()
            if self._atomic is None:
                self._sink.file.flush()
        self._encoder = None
        if self._atomic is not None:
            self._atomic.__exit__(None, None, None)

    @contextmanager
    def _abandon_on_error(self) -> Iterator[None]:
        """Abandon the table if the body raises an error."""
        try:
            yield
        except BrokenPipeError:
            self._abandon()
            raise
        except OSError as error:
            self._abandon(error)
            raise OutputError(
                f"the output could not be written: {error.strerror or error}"
            ) from error
        except BaseException:
            self._abandon()
            raise

    def _abandon(self, error: OSError | None = None) -> None:
        """Close everything and leave no file; ``error`` is the error of the file system, if any."""
        self._sink.discards = True
        encoder, self._encoder = self._encoder, None
        if encoder is not None:
            with suppress(Exception):
                encoder.close()
        atomic, self._atomic = self._atomic, None
        if atomic is not None and error is not None:
            atomic.__exit__(type(error), error, error.__traceback__)
        elif atomic is not None:
            # Do not pass on the error of the body: its OSError may not concern this file.
            stop = _Abandoned()
            with suppress(OutputError):
                atomic.__exit__(_Abandoned, stop, None)


class _Abandoned(Exception):  # noqa: N818 - never seen by anyone
    """Tells ``atomic_write`` to clean up."""


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
    raise ParameterError(
        f"{path}: its name does not say in which format to write the table",
        place={"file": str(path)},
        hint=f"Known endings are {', '.join(_ENDINGS)}.",
    )


def _seekable(stream: object) -> bool:
    return hasattr(stream, "seekable") and bool(stream.seekable())
