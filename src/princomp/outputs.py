"""Tables of results, written whole or block by block, to files or streams."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray

from princomp.atomic import PathLike, atomic_write
from princomp.errors import ColumnError, OutputError, ParameterError, ShapeError
from princomp.output_formats import ENCODERS, Encoder, Ids, Layout, Numbers, Sink, need_pyarrow

__all__ = ["FORMATS", "TableWriter", "open_table", "table_format", "write_table"]

FORMATS = tuple(ENCODERS)
_ENDINGS = {f".{name}": name for name in FORMATS} | {".feather": "arrow", ".ipc": "arrow"}


def write_table(
    target: PathLike | BinaryIO,
    *,
    columns: Sequence[str],
    data: NDArray[np.floating[Any]],
    ids: Sequence[Any] | NDArray[np.object_] | None = None,
    id_column: str | None = None,
    format: str | None = None,
    force: bool = False,
) -> None:
    """Write a table of numbers.

    CSV holds the shortest decimals that read back as the same bits; NaN is an
    empty cell, except in a table of one column, where it is written ``nan``
    because readers skip blank lines. In .npy the names and ids are lost.

    Parameters
    ----------
    target : path or binary stream
        A path is written as ``atomic_write`` does; a stream as it goes.
    columns : sequence of str of length p
        Names, each once.
    data : ndarray of shape (n, p)
        The numbers, float32 or float64.
    ids : sequence of length n, optional
        Names of the rows; they become the first column. None is a missing one.
    id_column : str, optional
        Name of that column; "id" if not given.
    format : str, optional
        One of ``FORMATS``; by the ending of the path if not given, and csv for
        a stream.
    force : bool
        An existing file may be replaced.

    Raises
    ------
    ParameterError
        The format is not known.
    ShapeError, ColumnError
        Names, ids and numbers do not fit together.
    OutputExistsError, OutputError
        As ``atomic_write``. A closed pipe stays a BrokenPipeError.
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
        format=format,
        force=force,
    ) as table:
        table.write(numbers, ids)


def open_table(
    target: PathLike | BinaryIO,
    *,
    columns: Sequence[str],
    id_column: str | None = None,
    with_ids: bool = False,
    dtype: DTypeLike = np.float64,
    rows: int | None = None,
    format: str | None = None,
    force: bool = False,
) -> TableWriter:
    """Write a table of numbers block by block.

    ::

        with open_table("scores.parquet", columns=["PC1", "PC2"]) as table:
            for block in blocks:
                table.write(block)

    Files are as ``write_table`` makes them, in row groups of about 2**20 numbers. A path
    has its file when the body ends, and nothing if it raises.

    In Parquet and Arrow files the ids of the first row group (and of the block that
    completes it) settle the kind of all: whole numbers, dates …, or text where they are of
    several kinds or all missing. Later ids become text where those were; an id that cannot
    be of the kind settled is refused with its row. In CSV all ids are text.

    Parameters
    ----------
    target : path or binary stream
        As for ``write_table``. A stream that cannot seek takes .npy only with ``rows``.
    columns : sequence of str of length p
        Names, each once.
    id_column : str, optional
        Name of the column of ids; "id" if not given.
    with_ids : bool
        Every block has ids.
    dtype : numpy dtype
        Of the numbers in the file. Blocks of less precision are widened.
    rows : int, optional
        How many there will be, where it is known.
    format, force
        As for ``write_table``.

    Returns
    -------
    TableWriter
        To use in a ``with`` statement.

    Raises
    ------
    ParameterError
        The format or the dtype is not one that can be written, or not to this target.
    ColumnError, ShapeError
        Two names are the same, or there is none.
    MissingLibraryError
        pyarrow is needed and not installed.
    """
    return TableWriter(
        target, _layout(columns, id_column, with_ids, np.dtype(dtype), rows), format, force
    )


class TableWriter:
    """A table that is being written; made by ``open_table``.

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
                hint=f"Known formats are {', '.join(FORMATS)}.",
            )
        if format != "npy":
            need_pyarrow("pyarrow")
        elif layout.rows is None and not is_path and not _seekable(target):
            raise ParameterError(
                "the length of an .npy file stands at its start, and this stream cannot go back",
                place={"parameter": "target"},
                hint="Write to a file, say how many rows there will be, or choose another format.",
            )
        self.rows = 0
        self._layout, self._target = layout, target
        self._make = ENCODERS[format]
        self._force = force
        self._atomic: AbstractContextManager[BinaryIO] | None = None
        self._encoder: Encoder | None = None

    def __enter__(self) -> Self:
        if isinstance(self._target, str | os.PathLike):
            self._atomic = atomic_write(self._target, force=self._force)
            self._sink = Sink(self._atomic.__enter__())
        else:
            self._sink = Sink(self._target)
        with self._guarded():
            self._encoder = self._make(self._sink, self._layout)
        return self

    def write(self, data: Numbers, ids: Ids = None) -> None:
        """Add rows.

        Parameters
        ----------
        data : ndarray of shape (m, p)
            m may be 0. Neither it nor ``ids`` is kept.
        ids : sequence of length m
            Where the table has ids, and only there.

        Raises
        ------
        ShapeError, ParameterError
            They do not fit the table; it can be written on.
        NotNumericError
            An id is not of the kind of those before it.
        OutputError
            It could not be written; nothing is left of the file.
        """
        block = np.asarray(data)
        self._check(block, ids)
        if self._encoder is None:
            raise ParameterError(
                "the table is not open for writing", hint="Write in its with statement."
            )
        with self._guarded():
            self._encoder.write(block.astype(self._layout.dtype, copy=False), ids)
        self.rows += len(block)

    def _check(self, data: Numbers, ids: Ids) -> None:
        """Refuse rows that do not fit the table."""
        if data.ndim != 2 or data.shape[1] != self._layout.p:
            raise ShapeError(
                f"{self._layout.p} column names do not fit numbers of shape {data.shape}",
                hint="Give a matrix, and one name for each of its columns.",
            )
        if (ids is not None) != self._layout.with_ids:
            raise ParameterError(
                "the table has ids, these rows have none"
                if ids is None
                else "these rows have ids, the table was opened without",
                place={"parameter": "ids"},
                hint="Give ids with every block and open the table with_ids=True, or neither.",
            )
        if ids is not None and len(ids) != len(data):
            raise ShapeError(
                f"{len(ids)} ids do not fit {len(data)} rows", hint="Give one id a row."
            )
        if not np.can_cast(data.dtype, self._layout.dtype):
            raise ParameterError(
                f"{data.dtype} rows do not fit into a table of {self._layout.dtype}: "
                "digits would be lost",
                place={"parameter": "dtype"},
                hint=f"Open the table with dtype={data.dtype}, or cast the rows.",
            )

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._encoder is None:
            return  # given up already, when something could not be written
        if error is not None:
            self._give_up()
            return
        with self._guarded():
            expected = self._layout.rows
            if expected is not None and expected != self.rows:
                raise ShapeError(
                    f"{self.rows:,} rows were written, {expected:,} were announced",
                    place={"parameter": "rows"},
                    hint="Leave rows out where they are not known before.",
                )
            self._encoder.close()
            if self._atomic is None:
                self._sink.file.flush()
        self._encoder = None
        if self._atomic is not None:
            self._atomic.__exit__(None, None, None)

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        """Give the table up if it cannot be written."""
        try:
            yield
        except BrokenPipeError:
            self._give_up()
            raise
        except OSError as error:
            self._give_up(error)
            raise OutputError(
                f"the output could not be written: {error.strerror or error}"
            ) from error
        except BaseException:
            self._give_up()
            raise

    def _give_up(self, error: OSError | None = None) -> None:
        """Close all that is open and leave no file; ``error`` is what the file system said."""
        self._sink.deaf = True
        encoder, self._encoder = self._encoder, None
        if encoder is not None:
            with suppress(Exception):
                encoder.close()
        atomic, self._atomic = self._atomic, None
        if atomic is not None and error is not None:
            atomic.__exit__(type(error), error, error.__traceback__)
        elif atomic is not None:
            # Not what was raised in the body: an OSError there is not one of this file.
            stop = _GivenUp()
            with suppress(OutputError):
                atomic.__exit__(_GivenUp, stop, None)


class _GivenUp(Exception):  # noqa: N818 - never seen by anyone
    """Tells ``atomic_write`` to clean up."""


def table_format(path: PathLike) -> str:
    """Give the format that a path's ending stands for.

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


def _layout(
    columns: Sequence[str],
    id_column: str | None,
    with_ids: bool,
    dtype: np.dtype[Any],
    rows: int | None,
) -> Layout:
    """What all blocks share, if the names are lawful; that of the id column comes first."""
    if not len(columns):
        raise ShapeError("a table needs a column of numbers", hint="Name at least one.")
    if dtype.kind not in "biuf" or dtype.itemsize > 8:
        raise ParameterError(
            f"a table of {dtype} cannot be written",
            place={"parameter": "dtype"},
            hint="Give real numbers.",
        )
    names = [id_column or "id", *columns] if with_ids else [*columns]
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise ColumnError(
            f"two columns of the output would have the name {twice[0]!r}",
            place={"column": twice[0]},
            hint="Rename the id column.",
        )
    return Layout(names, with_ids, dtype.newbyteorder("="), rows)


def _seekable(stream: Any) -> bool:
    return hasattr(stream, "seekable") and bool(stream.seekable())
