"""Rows in chunks from Arrow record batches, which are joined or split to chunks of one size."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import narwhals as nw
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from princomp.errors import MalformedFileError
from princomp.io.readers.columnar import (
    arrow_kind_name,
    as_text,
    choose_fields,
    conversion_of,
    id_array,
    ids_of,
    index_columns_of,
    numbers_of,
    plain_array,
    plain_kind,
)
from princomp.io.readers.columns import Choice, Origin, Selection
from princomp.io.readers.frames import convert, notes_on_rows
from princomp.io.readers.left_out import (
    NUMBERS,
    ROW_NAMES,
    TRUE_FALSE,
    NamedNote,
    left_out_notes,
    no_numbers_error,
    text_notes,
    true_false_notes,
)
from princomp.io.readers.number_text import PLAIN
from princomp.io.readers.reader_errors import malformed, no_rows_error, reading
from princomp.io.readers.row_names import (
    counting_notes,
    find_id_column,
    has_identifier_name,
    id_candidates,
    identifier_notes,
    note_on_identifiers,
)
from princomp.io.readers.source import (
    Chunk,
    FileState,
    Source,
    TableSource,
    copy_columns,
    file_state,
)
from princomp.linalg import empty

# Numbers in a chunk: 8 MB of float64.
NUMBERS_PER_CHUNK = 2**20
# Numbers in a batch decoded from Parquet; its threads divide the columns of each batch.
NUMBERS_PER_DECODED_BATCH = 2**21
# Smaller batches are joined until they have this many numbers.
MIN_NUMBERS_PER_BATCH = 2**16
# Rows from which a column of text is judged to hold numbers or not.
INSPECTED_ROWS = 2**14
# The format in messages about damaged files.
KIND = "a table of Arrow or Parquet"

Batches: TypeAlias = Generator[pa.RecordBatch]


def _joined(batches: Batches, rows: int) -> Batches:
    """Join small batches to at least ``rows`` rows, because each batch has a cost per column."""
    pending: list[pa.RecordBatch] = []
    missing = rows
    for batch in batches:
        pending.append(batch)
        missing -= batch.num_rows
        if missing <= 0:
            yield from _combined(pending)
            pending, missing = [], rows
    yield from _combined(pending)


def _combined(batches: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
    if len(batches) < 2:
        return batches
    try:
        return list(pa.Table.from_batches(batches).combine_chunks().to_batches())
    except pa.ArrowException:
        # For example, the categories differ between batches.
        return batches


def _counting_notes(name: str, cells: pa.Array) -> tuple[str, ...]:
    """Notes on the numbers of a first column, as for frames."""
    is_integer = pa.types.is_integer(cells.type)
    if not is_integer and not pa.types.is_floating(cells.type):
        return ()
    return counting_notes(name, cells.to_numpy(zero_copy_only=False), may_count=is_integer)


def from_row(start: int, batches: Iterable[pa.RecordBatch]) -> Batches:
    """The rows of batches from number ``start`` on."""
    for batch in batches:
        if start < batch.num_rows:
            yield batch.slice(start) if start else batch
        start = max(0, start - batch.num_rows)


def _split(batches: Batches, start: int, step: int) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Batches from row ``start`` on, split after every ``step`` rows; with their first rows."""
    row = start
    for batch in batches:
        first = row
        while row < first + batch.num_rows:
            piece = batch.slice(row - first, step - (row - start) % step)
            yield row, piece
            row += piece.num_rows


class ColumnarSource(Source):
    """Rows from record batches, which a subclass provides.

    Columns are chosen from the schema. Whether a column of text is left out is decided from
    the first rows or, if the table is read ``whole``, from all rows.
    """

    file: str
    # Columns that hold categories, although their type does not say so.
    _categories: frozenset[str] = frozenset()

    def __init__(
        self, schema: pa.Schema, selection: Selection, file: str, rows: int | None, whole: bool
    ) -> None:
        choice, notes = choose_fields(schema, selection, Origin(file))
        super().__init__(
            rows=rows,
            p=len(choice.names),
            dtype=np.dtype(np.float64),
            notes=notes,
            file=file,
            unused=choice.unused,
        )
        self._path, self._of_model = Path(file), selection.of_model
        with reading(self._path, KIND):
            self._types = {field.name: field.type for field in schema}
            self._conversions = {name: conversion_of(kind) for name, kind in self._types.items()}
            self._index_columns = index_columns_of(schema)
        # The first column, which is checked for row numbers, or is data as the user says.
        self._checked = next(iter(self._types)) if selection.id_column is None else None
        choice = self._find_ids(selection, choice)
        self._choice, self.id_column, self.unused = choice, choice.id_column, choice.unused
        if not whole:
            self._resolve_columns()

    @property
    def row_origin(self) -> Origin:
        """The file."""
        return Origin(self.file, of_model=self._of_model)

    def _batches(self, names: list[str], start: int) -> Batches:
        """Batches of the rows from number ``start`` on that hold the columns ``names``."""
        raise NotImplementedError

    def _find_ids(self, selection: Selection, choice: Choice) -> Choice:
        """Find the column that names the rows among the first column and the text columns."""
        first_name = next(iter(self._types))
        text = (pa.string(), pa.large_string(), pa.string_view())
        texts = (name for name in choice.names if self._types[name] in text)
        labels = [
            name
            for name in id_candidates([first_name, *texts], selection, choice)
            if self._conversions[name] in ("check", "as is", "inspect")
            and not pa.types.is_nested(plain_kind(self._types[name]))
        ]
        if not labels:
            return choice
        with closing(self._checked_batches(labels, 0)) as batches:
            joined = _joined(batches, INSPECTED_ROWS)  # a batch may have only a few rows
            first = next((batch.slice(0, INSPECTED_ROWS) for batch in joined), None)
        if first is None:
            return choice
        with reading(self._path, KIND):
            columns = [as_text(plain_array(column)) for column in first.columns]
            table = pa.table(columns, names=labels)
        whole = self.rows == len(table)
        choice, notes = find_id_column(table, first_name, choice, PLAIN, complete=whole)
        if first_name in choice.names and len(choice.names) > 1 and not choice.requested:
            notes += _counting_notes(first_name, plain_array(first.column(first_name)))
        self.notes = (*self.notes, *notes)
        return choice

    def _resolve_columns(self) -> None:
        """Leave out columns of text, and decide on float32 or float64."""
        if self.rows == 0:
            raise no_rows_error(self.file)
        names, requested = self._choice.names, self._choice.requested
        kinds = {name: str(plain_kind(self._types[name])) for name in names}
        left_out: set[str] = set()
        if not requested:
            # Booleans and categories are never numbers.
            never = {name for name in names if kinds[name].startswith(("bool", "dictionary"))}
            left_out = never | self._categories.intersection(names)
        unclear = [name for name in names if self._conversions[name] == "inspect"]
        undecided = [name for name in unclear if name not in left_out]
        if undecided or self.rows is None:
            left_out |= self._without_numbers(undecided or [names[0]])
        self.columns = tuple(name for name in names if name not in left_out)
        self.p = len(self.columns)
        found = {
            name: "categorical" if name in self._categories else arrow_kind_name(self._types[name])
            for name in names
            if name in left_out
        }
        if not self.columns:
            raise no_numbers_error(found, self.row_origin)
        self._set_kinds()
        self.notes = (*self.notes, *left_out_notes(found), *self._notes_on_named())
        if not requested and not self._of_model:
            others = (name for name in self.columns if name != self._checked)
            named = [name for name in others if has_identifier_name(name)]
            integers = [n for n in named if pa.types.is_integer(plain_kind(self._types[n]))]
            self.notes += note_on_identifiers(integers)
        # Text columns that were not requested are kept only if empty, so they do not count.
        used = {kinds[name] for name in self.columns if requested or name not in unclear}
        self.dtype = np.dtype(np.float32 if used == {"float"} else np.float64)

    def _set_kinds(self) -> None:
        """Say what each of the columns and the id column hold, by their types."""
        kinds = {name: str(plain_kind(self._types[name])) for name in self.columns or ()}
        found = {
            name: TRUE_FALSE if kind == "bool" else NUMBERS
            for name, kind in kinds.items()
            if kind != "null"
        }
        for name in self._choice.ids:
            is_text = name in self._index_columns or self._conversions[name] == "inspect"
            found[name] = ROW_NAMES if is_text else NUMBERS
        self.kinds = found

    def _notes_on_named(self) -> tuple[NamedNote, ...]:
        """Notes on columns that were named, and whose cells are not of a type of numbers."""
        names = self.columns if self._choice.requested else ()
        texts = (pa.string(), pa.large_string())
        texts_named = [name for name in names or () if plain_kind(self._types[name]) in texts]
        return true_false_notes(self.kinds) + text_notes(texts_named)

    def _without_numbers(self, names: list[str]) -> set[str]:
        """Columns among ``names`` that hold text; an error if they were requested."""
        undecided = [name for name in names if self._conversions[name] == "inspect"]
        left_out: set[str] = set()
        empty = True
        with closing(self._checked_batches(names, 0)) as batches:
            for row, batch in _split(batches, 0, INSPECTED_ROWS):
                empty = False
                origin = replace(self.row_origin, offset=row)
                for name in tuple(undecided):
                    with reading(self._path, KIND):
                        values = self._numbers(batch.column(name), name, origin)
                    if values is None:
                        left_out.add(name)
                    # A column that is empty so far may still turn out to be text or numbers.
                    if values is None or self._choice.requested:
                        undecided.remove(name)
                if not undecided:
                    break
        if empty:
            raise no_rows_error(self.file)
        return left_out

    def _numbers(
        self, array: pa.Array, name: str, origin: Origin, required: bool = False
    ) -> NDArray[Any] | None:
        """Convert cells; text in a requested or ``required`` column is an error, else None."""
        refuses_text = required or self._choice.requested
        return numbers_of(array, self._conversions[name], name, refuses_text, origin)

    def _check_rows(self, rows: int) -> None:
        if self.rows is not None and rows != self.rows:
            raise self._changed_error(f"it had {self.rows} rows")

    def _changed_error(self, what: str) -> MalformedFileError:
        hint = "Wait until it is complete, then read it again."
        return malformed(self.file, f"changed while it was read: {what}", hint)

    def _checked_batches(self, names: list[str], start: int) -> Batches:
        """Batches of exactly these columns, validated and not empty."""
        kinds = [self._types[name] for name in names]
        # Text, lists and run-end encodings hold offsets into other buffers. Damaged offsets
        # could point outside these buffers, so all offsets are checked. For columns of fixed
        # width it is enough to check the lengths of the buffers, without reading the rows.
        full = any(self._conversions[name] in ("inspect", "unwrap") for name in names)
        schema = None
        with closing(self._batches(names, start)) as batches:
            while True:
                with reading(self._path, KIND):
                    batch = next(batches, None)
                    if batch is None:
                        return
                    batch = batch.select(names)
                    batch.validate(full=full)
                    if schema is None or not batch.schema.equals(schema):
                        schema = batch.schema
                        if schema.types != kinds:
                            raise self._changed_error("its columns are of other kinds now")
                if batch.num_rows:
                    yield batch

    def current_states(self) -> tuple[FileState, ...]:
        """Current state of the file; empty if rows can be read only once."""
        return file_state(self._path, KIND) if self.repeatable else ()

    def table(self) -> TableSource:
        """Read all rows of a source opened ``whole``; all cells decide what a column holds."""
        names = [*self._choice.names, *self._choice.ids]
        with closing(self._checked_batches(names, 0)) as batches:
            found = list(batches)
        self._check_rows(sum(batch.num_rows for batch in found))
        if not found:
            raise no_rows_error(self.file)
        with reading(self._path, KIND):
            table = pa.Table.from_batches(found)
            del found
            columns = {
                name: pa.chunked_array([*map(id_array, column.chunks)])
                if name == self.id_column
                else pa.chunked_array(map(plain_array, column.chunks), plain_kind(column.type))
                for name, column in zip(names, table.columns, strict=True)
            }
            if not self._choice.requested:
                for name in self._categories.intersection(self._choice.names):
                    columns[name] = columns[name].dictionary_encode()
            table = pa.table(columns)
        frame = nw.from_native(table, eager_only=True)
        converted = convert(frame, self._choice, "leave out", self.row_origin)
        self.columns = converted.columns
        self._set_kinds()
        converted.kinds = self.kinds
        of_rows: tuple[str, ...] = ()
        if not self._of_model:
            of_rows = notes_on_rows(converted, frame)
            if not self._choice.requested:
                of_rows += identifier_notes(converted, self._checked)
        notes = (*self.notes, *converted.notes, *of_rows)
        converted.notes = (*notes, *self._notes_on_named())
        return converted

    def chunks(self, start: int = 0) -> Iterator[Chunk]:
        """Rows from number ``start`` on."""
        step = max(1, NUMBERS_PER_CHUNK // self.p)
        names = [*(self.columns or ()), *self._choice.ids]
        ids: list[NDArray[np.object_]] = []
        filled, end = 0, 0
        with closing(self._checked_batches(names, start)) as batches:
            joined = _joined(batches, max(1, MIN_NUMBERS_PER_BATCH // self.p))
            for row, piece in _split(joined, start, step):
                if filled == 0:
                    block = empty((step, self.p), self.dtype)
                end = row + piece.num_rows
                if self.rows is not None and end > self.rows:
                    break
                self._write(piece, row, block[filled : filled + piece.num_rows])
                filled += piece.num_rows
                if self._choice.ids:
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
        origin = replace(self.row_origin, offset=row)
        columns: list[NDArray[Any]] = []
        with reading(self._path, KIND):
            for name, array in zip(self.columns or (), batch.columns, strict=False):
                numbers = self._numbers(array, name, origin)
                if numbers is None:
                    # The column was kept because it was empty so far; raise the error for text.
                    numbers = self._numbers(array, name, origin, required=True)
                assert numbers is not None
                columns.append(numbers)
        copy_columns(columns, block)
