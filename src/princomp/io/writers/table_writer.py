"""Write a table block by block, in a format given by name or by the file's ending."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import BinaryIO

import numpy as np

from princomp.errors import OutputError, ParameterError, ShapeError
from princomp.io.atomic import PathLike, atomic_write, write_error
from princomp.io.writers.encoder import Encoder, Ids, Layout, Numbers, Sink
from princomp.io.writers.npy import NpyEncoder

FORMATS = ("csv", "csv.gz", "csv.zst", "tsv", "tsv.gz", "tsv.zst", "parquet", "arrow", "npy")
_ENDINGS = {f".{name}": name for name in FORMATS} | {".feather": "arrow", ".ipc": "arrow"}


class TableWriter:
    """A table that is being written; ``open_table`` creates it.

    Attributes
    ----------
    rows : int
        Rows written so far.
    """

    def __init__(self, target: Path | BinaryIO, layout: Layout, encoder: Encoder) -> None:
        self.rows = 0
        self._target, self._layout = target, layout
        self._encoder: Encoder | None = encoder

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
            The table could not be written, and no part of it will remain.
        """
        block = np.asarray(data)
        self._check(block, ids)
        with self._encoding() as encoder:
            encoder.write(block.astype(self._layout.dtype, copy=False), ids)
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

    def close(self) -> None:
        """Write the end of the table."""
        expected = self._layout.rows
        if expected is not None and expected != self.rows:
            raise ShapeError(
                f"{self.rows:,} rows were written, but rows={expected:,} was given",
                place={"parameter": "rows"},
                hint="leave rows out if the number is not known in advance",
            )
        with self._encoding() as encoder:
            encoder.close()
        self._encoder = None

    @contextmanager
    def _encoding(self) -> Iterator[Encoder]:
        """Use the encoder; after an error, the table accepts no more rows."""
        encoder, self._encoder = self._encoder, None
        if encoder is None:
            raise ParameterError(
                "the table is not open for writing", hint="write within its with statement"
            )
        with _output_errors(self._target):
            yield encoder
        self._encoder = encoder


@contextmanager
def table_writer(
    target: Path | BinaryIO, layout: Layout, format: str, force: bool
) -> Iterator[TableWriter]:
    """Open a table; it is complete when the body ends, and abandoned if the body raises."""
    output = atomic_write(target, force=force) if isinstance(target, Path) else nullcontext(target)
    failure: BaseException | None = None
    try:
        with output as file:
            sink, encoder = Sink(file), None
            try:
                with _output_errors(target):
                    encoder = _make_encoder(sink, layout, format)
                table = TableWriter(target, layout, encoder)
                yield table
                table.close()
                with _output_errors(target):
                    file.flush()
            except BaseException as error:
                failure = error
                sink.discards = True
                if encoder is not None:
                    with suppress(Exception):
                        encoder.close()
                # An OSError of the body may not concern this file: atomic_write gets another error.
                raise _Abandoned from None
    except (_Abandoned, OutputError):
        if failure is None:
            raise
    if failure is not None:
        raise failure


class _Abandoned(Exception):  # noqa: N818 - never seen by anyone
    """Tells ``atomic_write`` to clean up."""


@contextmanager
def _output_errors(target: Path | BinaryIO) -> Iterator[None]:
    """Raise errors of the file system as OutputError, except for a closed pipe."""
    try:
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
    from princomp.io.writers.formats import ColumnarEncoder, DelimitedEncoder

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
    raise ParameterError(
        f"{path}: its name does not say in which format to write the table",
        place={"file": str(path)},
        hint=f"Known endings are {', '.join(_ENDINGS)}.",
    )
