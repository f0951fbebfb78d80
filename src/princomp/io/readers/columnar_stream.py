"""Rows in chunks from Arrow record batches, which are joined or split to chunks of one size."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from princomp.errors import MalformedFileError, ShapeError
from princomp.io.readers.columnar import (
    Conversion,
    arrow_kind_name,
    as_text,
    choose_fields,
    conversion_of,
    ids_of,
    numbers_of,
    plain_array,
    plain_kind,
)
from princomp.io.readers.columns import Choice, Origin, Selection, listed
from princomp.io.readers.frames import convert
from princomp.io.readers.left_out import left_out_notes
from princomp.io.readers.number_text import PLAIN
from princomp.io.readers.reader_errors import malformed, no_rows_error, reading
from princomp.io.readers.row_names import find_id_column
from princomp.io.readers.source import Chunk, Source
from princomp.io.readers.table import Table
from princomp.linalg import empty

if TYPE_CHECKING:
    import pyarrow as pa


# Numbers in a chunk: 8 MB of float64.
_NUMBERS = 2**20
# Numbers in a batch decoded from Parquet; its threads divide the columns of each batch.
_DECODED_NUMBERS = 2**21
# Smaller batches are joined until they have this many numbers.
_JOINED_NUMBERS = 2**16
# Rows that are copied from columns to C order at once, so that they stay in the CPU cache.
_COPIED_ROWS = 4096
# Rows from which a column of text is judged to hold numbers or not.
_INSPECTED_ROWS = 2**14
# The format in messages about damaged files.
KIND = "a table of Arrow or Parquet"

# Record batches, each with the number of its first row.
Batches: TypeAlias = "Generator[tuple[int, pa.RecordBatch]]"


@dataclass(frozen=True, slots=True)
class _OffsetOrigin(Origin):
    """An origin whose rows are counted from row ``offset`` of the source."""

    offset: int = 0

    def describe_cell(self, column: str, row: int) -> tuple[str, dict[str, Any]]:
        return Origin.describe_cell(self, column, row + self.offset)


def _conversions(kinds: dict[str, Any]) -> dict[str, Conversion]:
    return {name: conversion_of(kind) for name, kind in kinds.items()}


def _joined(batches: Batches, rows: int) -> Batches:
    """Join small batches to at least ``rows`` rows, because each batch has a cost per column."""
    pending: list[pa.RecordBatch] = []
    first, count = 0, 0
    for row, batch in batches:
        if not pending:
            first, count = row, 0
        pending.append(batch)
        count += batch.num_rows
        if count >= rows:
            yield from with_row_numbers(_combined(pending), first)
            pending = []
    yield from with_row_numbers(_combined(pending), first)


def _combined(batches: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
    import pyarrow as pa

    if len(batches) < 2:
        return batches
    try:
        found: list[pa.RecordBatch] = pa.Table.from_batches(batches).combine_chunks().to_batches()
    except pa.ArrowException:
        # For example, the categories differ between batches.
        return batches
    return found


def with_row_numbers(batches: Iterable[pa.RecordBatch], row: int = 0) -> Batches:
    """Each batch with the number of its first row."""
    for batch in batches:
        yield row, batch
        row += batch.num_rows


def _split(batches: Iterable[tuple[int, pa.RecordBatch]], start: int, step: int) -> Batches:
    """The batches from row ``start`` on, split after every ``step`` rows."""
    for row, batch in batches:
        position = max(0, start - row)
        while position < batch.num_rows:
            piece = batch.slice(position, step - (row + position - start) % step)
            yield row + position, piece
            position += piece.num_rows


class ColumnarSource(Source):
    """Rows from record batches, which a subclass provides.

    Columns are chosen from the schema. Whether a column of text is left out is decided from
    the first rows or, if the table is read ``whole``, from all rows.
    """

    file: str

    def __init__(
        self, schema: pa.Schema, selection: Selection, file: str, rows: int | None, whole: bool
    ) -> None:
        choice, notes = choose_fields(schema, selection, Origin(file))
        self._path = Path(file)
        if selection.find_ids and choice.id_column is None:
            self.file, self.rows = file, rows
            choice, more_notes = self._find_ids(schema, selection, choice)
            notes = (*notes, *more_notes)
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
        self._ids = () if choice.id_column is None else (choice.id_column,)
        with reading(self._path, KIND):
            self._kinds = {name: schema.field(name).type for name in (*choice.names, *self._ids)}
            self._conversions = _conversions(self._kinds)
        self._choice, self._requested = choice, choice.requested
        if not whole:
            self._resolve_columns(choice.names)

    def _batches(self, names: list[str], start: int) -> Batches:
        """Batches that hold the columns ``names``, each with the number of its first row.

        They include all rows from row ``start`` on, and may include earlier rows.
        """
        raise NotImplementedError

    def _find_ids(
        self, schema: pa.Schema, selection: Selection, choice: Choice
    ) -> tuple[Choice, list[str]]:
        """Find the column that names the rows among the first column and the text columns."""
        import pyarrow as pa

        with reading(self._path, KIND):
            kinds = {name: schema.field(name).type for name in schema.names}
        text = (pa.string(), pa.large_string(), pa.string_view())
        labels = [schema.names[0], *(name for name in choice.names if kinds[name] in text)]
        labels = [
            name
            for name in dict.fromkeys(labels)
            if name not in selection.exclude
            and not (choice.requested and name in choice.names)
            and conversion_of(kinds[name]) in ("check", "as is", "inspect")
        ]
        if not labels:
            return choice, []
        self._kinds = {name: kinds[name] for name in labels}
        self._conversions = _conversions(self._kinds)
        with closing(self._checked_batches(labels, 0)) as batches:
            first = next((batch.slice(0, _INSPECTED_ROWS) for _, batch in batches), None)
        if first is None:
            return choice, []
        with reading(self._path, KIND):
            columns = [plain_array(column) for column in first.columns]
            table = pa.table([as_text(column) for column in columns], names=labels)
        whole = self.rows == len(table)
        return find_id_column(table, schema.names[0], labels, choice, PLAIN, complete=whole)

    def _resolve_columns(self, names: tuple[str, ...]) -> None:
        """Leave out columns of text, and decide on float32 or float64."""
        unclear = [name for name in names if self._conversions[name] == "inspect"]
        left_out = [] if self._requested else self._never_numbers(names)
        names = tuple(name for name in names if name not in left_out)
        if self.rows == 0:
            raise no_rows_error(self.file)
        if unclear or self.rows is None:
            left_out += self._without_numbers(unclear, names or self._choice.names)
        self.columns = tuple(name for name in names if name not in left_out)
        self.p = len(self.columns)
        if left_out:
            if not self.columns:
                raise ShapeError(
                    f"{self.file}: no numeric column; without numbers: {listed(left_out)}",
                    place={"file": self.file},
                    hint="Principal components need columns of numbers.",
                )
            order = [name for name in self._choice.names if name in left_out]
            found = {name: arrow_kind_name(self._kinds[name]) for name in order}
            self.notes = (*self.notes, *left_out_notes(found))
        kinds = {
            str(plain_kind(self._kinds[name]))
            for name in self.columns
            # Text columns that were not requested are kept only if empty, so they do not count.
            if self._requested or self._conversions[name] != "inspect"
        }
        self.dtype = np.dtype(np.float32 if kinds == {"float"} else np.float64)

    def _never_numbers(self, names: tuple[str, ...]) -> list[str]:
        """Columns of booleans or categories."""
        kinds = {name: str(plain_kind(self._kinds[name])) for name in names}
        return [name for name in names if kinds[name].startswith(("bool", "dictionary"))]

    def _without_numbers(self, unclear: list[str], names: tuple[str, ...]) -> list[str]:
        """Columns among ``unclear`` that hold text; an error if they were requested."""
        undecided = list(unclear)
        left_out: set[str] = set()
        empty = True
        with closing(self._checked_batches(unclear or [names[0]], 0)) as batches:
            for row, batch in _split(batches, 0, _INSPECTED_ROWS):
                empty = False
                origin = _OffsetOrigin(self.file, offset=row)
                for name in tuple(undecided):
                    array = batch.column(name)
                    with reading(self._path, KIND):
                        values = numbers_of(array, "inspect", name, self._requested, origin)
                    if values is None:
                        left_out.add(name)
                    # A column that is empty so far may still turn out to be text or numbers.
                    if values is None or self._requested:
                        undecided.remove(name)
                if not undecided:
                    break
        if empty:
            raise no_rows_error(self.file)
        return [name for name in unclear if name in left_out]

    def _check_rows(self, rows: int) -> None:
        if self.rows is not None and rows != self.rows:
            raise self._changed_error(f"it had {self.rows} rows")

    def _changed_error(self, what: str) -> MalformedFileError:
        hint = "Wait until it is complete, then read it again."
        return malformed(self.file, f"changed while it was read: {what}", hint)

    def _checked_batches(self, names: list[str], start: int) -> Batches:
        """Batches of exactly these columns, validated and not empty."""
        kinds = [self._kinds[name] for name in names]
        # Text, lists and run-end encodings hold offsets into other buffers. Damaged offsets
        # could point outside these buffers, so all offsets are checked. For columns of fixed
        # width it is enough to check the lengths of the buffers, without reading the rows.
        full = any(self._conversions[name] in ("inspect", "unwrap") for name in names)
        schema = None
        with closing(self._batches(names, start)) as batches:
            while True:
                with reading(self._path, KIND):
                    found = next(batches, None)
                    if found is None:
                        return
                    row, batch = found[0], found[1].select(names)
                    batch.validate(full=full)
                    if schema is None or not batch.schema.equals(schema):
                        schema = batch.schema
                        if schema.types != kinds:
                            raise self._changed_error("its columns are of other kinds now")
                if batch.num_rows:
                    yield row, batch

    def table(self) -> Table:
        """Read all rows of a source opened ``whole``; all cells decide what a column holds."""
        import pyarrow as pa

        names = [*self._choice.names, *self._ids]
        with closing(self._checked_batches(names, 0)) as batches:
            found = [batch for _, batch in batches]
        self._check_rows(sum(batch.num_rows for batch in found))
        if not found:
            raise no_rows_error(self.file)
        with reading(self._path, KIND):
            table = pa.Table.from_batches(found)
            del found
            for i, field in enumerate(table.schema):
                kind = plain_kind(field.type)
                if kind != field.type:
                    chunks = [plain_array(chunk) for chunk in table.column(i).chunks]
                    table = table.set_column(i, field.name, pa.chunked_array(chunks, kind))
        frame = nw.from_native(table, eager_only=True)
        converted = convert(frame, self._choice, "leave out", Origin(self.file))
        return replace(converted, notes=(*self.notes, *converted.notes))

    def chunks(self, start: int = 0) -> Iterator[Chunk]:
        """Rows from number ``start`` on."""
        step = max(1, _NUMBERS // self.p)
        names = [*(self.columns or ()), *self._ids]
        ids: list[NDArray[np.object_]] = []
        filled, end = 0, 0
        with closing(self._checked_batches(names, start)) as batches:
            joined = _joined(batches, max(1, _JOINED_NUMBERS // self.p))
            for row, piece in _split(joined, start, step):
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
        if self.rows is not None and self.rows > start:
            self._check_rows(end)
        if filled:
            yield Chunk(block[:filled], np.concatenate(ids) if ids else None)

    def _write(self, batch: pa.RecordBatch, row: int, block: NDArray[Any]) -> None:
        """Write the numbers of a batch, whose first row has number ``row``, to ``block``."""
        origin = _OffsetOrigin(self.file, offset=row)
        names = self.columns or ()
        conversions = [self._conversions[name] for name in names]
        columns = []
        with reading(self._path, KIND):
            for name, conversion, array in zip(names, conversions, batch.columns, strict=False):
                numbers = numbers_of(array, conversion, name, self._requested, origin)
                if numbers is None:
                    # The column was kept because it was empty so far; raise the error for text.
                    numbers = numbers_of(array, conversion, name, True, origin)
                assert numbers is not None
                columns.append(numbers)
        with np.errstate(invalid="ignore"):  # a NaN of any bit pattern stays NaN
            for first in range(0, len(block), _COPIED_ROWS):
                rows = slice(first, first + _COPIED_ROWS)
                for j, numbers in enumerate(columns):
                    block[rows, j] = numbers[rows]
