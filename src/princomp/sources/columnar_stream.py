"""Parquet and Arrow as rows in chunks: record batches, gathered or cut to one size."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from princomp.arrays import empty
from princomp.errors import MalformedFileError, ParameterError, ShapeError
from princomp.sources.columnar import (
    arrow_opener,
    choose_fields,
    ids_of,
    numbers_of,
    plain_kind,
    refuse_cut_stream,
    way_of,
)
from princomp.sources.columns import Origin, listed
from princomp.sources.faults import need_pyarrow, reading
from princomp.sources.source import Chunk, Identity, Source

__all__ = ["BatchSource", "open_arrow", "open_parquet"]

# Numbers in a chunk: 8 MB of float64.
_NUMBERS = 2**20
# Numbers decoded from Parquet at a time: its threads share columns out batch by batch.
_DECODED = 2**21
# Numbers to which smaller batches are joined.
_JOINED = 2**16
# Rows written at once: columns become rows here, and the lines of so many stay in cache.
_PIECE = 4096
# Rows by which it is told whether a column of text holds numbers.
_LOOK = 2**14
# Bytes read ahead in a Parquet file, shared by its columns: without them pyarrow would
# hold a row group, which may be the file.
_AHEAD = 2**25
# What damaged files are said not to be.
_KIND = "a table of Arrow or Parquet"

_Asked: TypeAlias = tuple[Sequence[str] | None, Sequence[str], str | None]
_Batches: TypeAlias = Generator[tuple[int, Any]]


@dataclass(frozen=True, slots=True)
class _Later(Origin):
    """An origin for messages about cells of rows that come after ``before`` others."""

    before: int = 0

    def cell(self, column: str, row: int) -> tuple[str, dict[str, Any]]:
        return Origin.cell(self, column, row + self.before)


def _joined(batches: _Batches, rows: int) -> _Batches:
    """The batches, small ones joined to ``rows`` or more: each costs time by the column."""
    waiting: list[Any] = []
    first, count = 0, 0
    for row, batch in batches:
        if not waiting:
            first, count = row, 0
        waiting.append(batch)
        count += batch.num_rows
        if count >= rows:
            yield from _numbered(_as_few(waiting), first)
            waiting = []
    yield from _numbered(_as_few(waiting), first)


def _as_few(batches: list[Any]) -> list[Any]:
    import pyarrow as pa

    if len(batches) < 2:
        return batches
    try:
        found: list[Any] = pa.Table.from_batches(batches).combine_chunks().to_batches()
    except pa.ArrowException:
        # Such as categories that differ from batch to batch.
        return batches
    return found


def _numbered(batches: Iterable[Any], row: int = 0) -> _Batches:
    """Each batch with the number of its first row."""
    for batch in batches:
        yield row, batch
        row += batch.num_rows


def _cut(batches: Iterable[tuple[int, Any]], start: int, step: int) -> _Batches:
    """The batches from row ``start`` on, cut wherever ``step`` rows more are complete."""
    for row, batch in batches:
        at = max(0, start - row)
        while at < batch.num_rows:
            piece = batch.slice(at, step - (row + at - start) % step)
            yield row + at, piece
            at += piece.num_rows


class _Columnar(Source):
    """Rows from record batches, wherever a subclass has them from.

    Columns are chosen from the schema. What it cannot tell, whether a column of text is
    to be left out, is decided from the first rows.
    """

    file: str

    def __init__(
        self,
        schema: Any,
        asked: _Asked,
        file: str,
        rows: int | None,
    ) -> None:
        choice, notes = choose_fields(schema, *asked, Origin(file))
        super().__init__(
            rows=rows,
            p=len(choice.names),
            dtype=np.dtype(np.float64),
            columns=choice.names,
            id_column=choice.id_column,
            notes=notes,
            file=file,
            unused=choice.unused,
        )
        self._where = Path(file)
        self._ids = () if choice.id_column is None else (choice.id_column,)
        with reading(self._where, _KIND):
            self._kinds = {name: schema.field(name).type for name in (*choice.names, *self._ids)}
            self._ways = {name: way_of(kind) for name, kind in self._kinds.items()}
        self._requested = choice.requested
        self._settle(choice.names)

    def _batches(self, names: list[str], start: int) -> _Batches:
        """Batches that hold the columns ``names``, each with the number of its first row.

        All from row ``start`` on, perhaps also earlier ones.
        """
        raise NotImplementedError

    def _settle(self, names: tuple[str, ...]) -> None:
        """Leave out columns of text, and decide on float32 or float64."""
        unclear = [name for name in names if self._ways[name] == "judge"]
        left_out: list[str] = []
        if self.rows == 0:
            raise self._no_rows()
        if unclear or self.rows is None:
            left_out = self._without_numbers(unclear, names)
        self.columns = tuple(name for name in names if name not in left_out)
        self.p = len(self.columns)
        if left_out:
            if not self.columns:
                raise ShapeError(
                    f"{self.file}: no numeric column; without numbers: {listed(left_out)}",
                    place={"file": self.file},
                    hint="Principal components need columns of numbers.",
                )
            many = "column" if len(left_out) == 1 else "columns"
            note = f"left out {len(left_out)} text {many}: {listed(left_out)}"
            self.notes = (*self.notes, note)
        kinds = {
            str(plain_kind(self._kinds[name]))
            for name in self.columns
            # Unasked, text is kept only where it has no cell: it gives no number.
            if self._requested or self._ways[name] != "judge"
        }
        self.dtype = np.dtype(np.float32 if kinds == {"float"} else np.float64)

    def _without_numbers(self, unclear: list[str], names: tuple[str, ...]) -> list[str]:
        """Those of the ``unclear`` columns that hold text; where asked for, an error."""
        waiting = list(unclear)
        left_out: set[str] = set()
        empty = True
        with closing(self._checked(unclear or [names[0]], 0)) as batches:
            for row, batch in _cut(batches, 0, _LOOK):
                empty = False
                origin = _Later(self.file, before=row)
                for name in tuple(waiting):
                    array = batch.column(name)
                    with reading(self._where, _KIND):
                        values = numbers_of(array, "judge", name, self._requested, origin)
                    if values is None:
                        left_out.add(name)
                    # Without a cell so far, it may become either.
                    if values is None or self._requested:
                        waiting.remove(name)
                if not waiting:
                    break
        if empty:
            raise self._no_rows()
        return [name for name in unclear if name in left_out]

    def _no_rows(self) -> ShapeError:
        return ShapeError(
            f"{self.file}: no rows",
            place={"file": self.file},
            hint="Principal components need at least two rows of numbers.",
        )

    def _changed(self, how: str) -> MalformedFileError:
        return MalformedFileError(
            f"{self.file}: changed while it was read: {how}",
            place={"file": self.file},
            hint="Wait until it is complete, then read it again.",
        )

    def _checked(self, names: list[str], start: int) -> _Batches:
        """Batches of exactly these columns, safe to compute with and not empty."""
        kinds = [self._kinds[name] for name in names]
        # Text, lists and runs lead by numbers into other buffers: damaged ones would lead
        # outside of them, so each is looked at. Columns of fixed width are safe once their
        # buffers are found as long as their rows ask for, which takes no look at the rows.
        full = any(self._ways[name] in ("judge", "unwrap") for name in names)
        schema = None
        with closing(self._batches(names, start)) as batches:
            while True:
                with reading(self._where, _KIND):
                    found = next(batches, None)
                    if found is None:
                        return
                    row, batch = found[0], found[1].select(names)
                    batch.validate(full=full)
                    if schema is None or not batch.schema.equals(schema):
                        schema = batch.schema
                        if schema.types != kinds:
                            raise self._changed("its columns are of other kinds now")
                if batch.num_rows:
                    yield row, batch

    def chunks(self, start: int = 0) -> Iterator[Chunk]:
        """Rows from number ``start`` on."""
        step = max(1, _NUMBERS // self.p)
        names = [*(self.columns or ()), *self._ids]
        ids: list[NDArray[np.object_]] = []
        filled, end = 0, 0
        with closing(self._checked(names, start)) as batches:
            joined = _joined(batches, max(1, _JOINED // self.p))
            for row, piece in _cut(joined, start, step):
                if filled == 0:
                    block = empty((step, self.p), self.dtype)
                end = row + piece.num_rows
                if self.rows is not None and end > self.rows:
                    break
                self._write(piece, row, block[filled : filled + piece.num_rows])
                filled += piece.num_rows
                if self._ids:
                    ids.append(ids_of(piece.column(self.p)))
                if filled == step:
                    yield Chunk(block, np.concatenate(ids) if ids else None)
                    filled, ids = 0, []
        if self.rows is not None and end != self.rows > start:
            raise self._changed(f"it had {self.rows} rows")
        if filled:
            yield Chunk(block[:filled], np.concatenate(ids) if ids else None)

    def _write(self, batch: Any, row: int, block: NDArray[Any]) -> None:
        """Write the numbers of a batch that begins with row number ``row``."""
        origin = _Later(self.file, before=row)
        names = self.columns or ()
        ways = [self._ways[name] for name in names]
        columns = []
        with reading(self._where, _KIND):
            for name, way, array in zip(names, ways, batch.columns, strict=False):
                numbers = numbers_of(array, way, name, self._requested, origin)
                if numbers is None:
                    # Text after rows without a cell, for which the column was kept.
                    numbers = numbers_of(array, way, name, True, origin)
                assert numbers is not None
                columns.append(numbers)
        with np.errstate(invalid="ignore"):  # a NaN of any bits is NaN
            for first in range(0, len(block), _PIECE):
                rows = slice(first, first + _PIECE)
                for j, numbers in enumerate(columns):
                    block[rows, j] = numbers[rows]


class BatchSource(_Columnar):
    """Rows from Arrow record batches, such as those of a stream that comes through a pipe.

    Parameters
    ----------
    schema : pyarrow.Schema
        Of every batch.
    batches : iterable of pyarrow.RecordBatch, or function that gives one
        An iterable is gone through once, and the source is not ``repeatable``; a
        function is called anew for each look at the rows.
    columns, exclude, id_column
        As for ``files.read_table``.
    file : str
        What messages call the input.

    Raises
    ------
    ColumnError, NotNumericError, ParameterError, ShapeError
        Its columns are not as asked, hold text, or there are none, or no rows. A column
        of text is judged by the first batch that has rows.
    MalformedFileError
        For whatever ``batches`` raises that is no error of princomp.
    """

    def __init__(
        self,
        schema: Any,
        batches: Iterable[Any] | Callable[[], Iterable[Any]],
        columns: Sequence[str] | None = None,
        exclude: Sequence[str] = (),
        id_column: str | None = None,
        *,
        file: str = "Arrow batches",
    ) -> None:
        self.repeatable = callable(batches)
        self._open = batches if callable(batches) else None
        self._once = iter(()) if callable(batches) else iter(batches)
        self._begun = False
        super().__init__(schema, (columns, exclude, id_column), file, None)

    def _batches(self, names: list[str], start: int) -> _Batches:
        given: Iterable[Any] = self._once if self._open is None else self._open()
        if not (self.repeatable or self._begun):
            # Only a look: the batch looked at is put back.
            given = list(itertools.islice(filter(len, self._once), 1))
            self._once = itertools.chain(given, self._once)
        yield from _numbered(given)

    def chunks(self, start: int = 0) -> Iterator[Chunk]:
        """Rows from number ``start`` on.

        Raises
        ------
        ParameterError
            The second time, where rows are seen once.
        """
        if self._begun:
            raise ParameterError(
                f"{self.file}: its rows can be read once, and were",
                place={"file": self.file},
                hint="Save them to a file first.",
            )
        self._begun = not self.repeatable
        return super().chunks(start)


class _InFile(_Columnar):
    def identities(self) -> tuple[Identity, ...]:
        """The file as it is now."""
        with reading(self._where, _KIND):
            return (Identity.of(self.file),)


class _ParquetSource(_InFile):
    def __init__(self, path: Path, asked: _Asked) -> None:
        with _parquet_file(path, 1) as file, reading(path, "Parquet"):
            schema, metadata = file.schema_arrow, file.metadata
            groups = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
        # Row numbers at which the row groups begin, and the number after the last.
        self._begins = [0, *itertools.accumulate(groups)]
        super().__init__(schema, asked, str(path), self._begins[-1])
        # Of the file, as the sizes of its columns cannot be asked for: of damaged metadata,
        # pyarrow ends the process there.
        self.nbytes = self.identities()[0].size

    def _batches(self, names: list[str], start: int) -> _Batches:
        # The group of row ``start``; those without rows are passed over by the way.
        first = bisect.bisect_right(self._begins, start) - 1
        with _parquet_file(self._where, len(names)) as file:
            if file.metadata.num_rows != self._begins[-1]:
                raise self._changed(f"it had {self._begins[-1]} rows")
            batches = file.iter_batches(
                batch_size=self._rows_at_once(names),
                row_groups=range(first, len(self._begins) - 1),
                columns=names,
                use_threads=True,
            )
            yield from _numbered(batches, self._begins[first])

    def _rows_at_once(self, names: list[str]) -> int:
        most = _DECODED // len(names)
        if any(self._ways[name] == "judge" for name in names):
            # How long texts are is not known before.
            return max(1, min(most, _LOOK))
        # Each batch costs time by the column, so of many columns some more are taken.
        return max(1, most, min(2048, 2 * most))


def _parquet_file(path: Path, columns: int) -> Any:
    parquet = need_pyarrow("pyarrow.parquet", path)
    with reading(path, "Parquet"):
        return parquet.ParquetFile(
            path,
            page_checksum_verification=True,
            pre_buffer=False,
            buffer_size=min(2**20, max(2**14, _AHEAD // columns)),
        )


class _ArrowSource(_InFile):
    def __init__(self, path: Path, asked: _Asked) -> None:
        pa = need_pyarrow("pyarrow", path)
        with reading(path, "Arrow"), pa.OSFile(str(path)) as source:
            reader = arrow_opener(path, source)(source)
            schema = reader.schema
            self._fields = {name: i for i, name in enumerate(schema.names)}
            # Streams do not know their rows, and older versions of pyarrow do not say them.
            rows = reader.count_rows() if hasattr(reader, "count_rows") else None
        super().__init__(schema, asked, str(path), rows)
        self.nbytes = self.identities()[0].size

    def _batches(self, names: list[str], start: int) -> _Batches:
        import pyarrow as pa

        def fields(names: list[str]) -> Any:
            return pa.ipc.IpcReadOptions(included_fields=[self._fields[name] for name in names])

        row = 0
        with pa.OSFile(str(self._where)) as source:
            opener = arrow_opener(self._where, source)
            reader = opener(source, options=fields(names))
            if opener is pa.ipc.open_stream:
                yield from _numbered(reader)
                # To pyarrow, a stream cut between two batches ends there.
                refuse_cut_stream(self._where, source)
                return
            narrow = opener(source, options=fields(names[:1]))
            for i in range(reader.num_record_batches):
                # Where all of a batch is passed over, one column tells how many rows.
                if row < start and row + (rows := narrow.get_batch(i).num_rows) <= start:
                    row += rows
                    continue
                batch = reader.get_batch(i)
                yield row, batch
                row += batch.num_rows


def open_parquet(
    path: Path, columns: Sequence[str] | None, exclude: Sequence[str], id_column: str | None
) -> Source:
    """Rows of the chosen columns of a Parquet file, some row groups' pages at a time.

    As ``columnar.read_parquet``, except that a column of text is judged from its first
    cells. What is held is a chunk and, of each column, a page and what is read ahead.
    """
    return _ParquetSource(path, (columns, exclude, id_column))


def open_arrow(
    path: Path, columns: Sequence[str] | None, exclude: Sequence[str], id_column: str | None
) -> Source:
    """Rows of the chosen columns of an Arrow IPC file (also called Feather 2) or stream.

    As ``columnar.read_arrow``, except that a column of text is judged from its first
    cells. What is held is a chunk and the chosen columns of a record batch: a file
    written as one batch is held as a whole.
    """
    return _ArrowSource(path, (columns, exclude, id_column))
