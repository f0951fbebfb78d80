"""Concatenate several sources into one table."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing
from itertools import accumulate
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from princomp.errors import ColumnError, ParameterError, ShapeError
from princomp.io.readers.columns import RowPlace, listed
from princomp.io.readers.left_out import IndexNote, LeftOut, NoNamesNote
from princomp.io.readers.reader_errors import file_error
from princomp.io.readers.source import Chunk, FileState, Source


class SourceChain(Source):
    """Several sources, concatenated, that were opened with the same selection of columns.

    They become float32 if all sources are, float64 otherwise. There are ids if the first source has
    some, random access if all sources have it, and the rows can be read again if those of all can.

    Parameters
    ----------
    sources : sequence of Source
        Columns are matched by name to those of the first source, in any order. If no source has
        names, all must have the same number of columns.

    Raises
    ------
    ColumnError, ShapeError
        The columns of a source differ from those of the first, or it lacks the id column.
    ParameterError
        Some sources are sparse and others dense.
    """

    def __init__(self, sources: Sequence[Source]) -> None:
        first = sources[0]
        self.sources = tuple(sources)
        self._orders = [_column_positions(source, i, first) for i, source in enumerate(sources)]
        _refuse_mixed(sources)
        _refuse_other_kinds(sources)
        super().__init__(
            rows=_sum_if_known(source.rows for source in sources),
            p=first.p,
            dtype=np.result_type(*(source.dtype for source in sources)),
            columns=first.columns,
            id_column=first.id_column,
            notes=_notes(sources),
            file=listed([_name(source, i) for i, source in enumerate(sources)], limit=2),
            unused=tuple(dict.fromkeys(name for source in sources for name in source.unused)),
            stored=_sum_if_known(source.stored for source in sources),
            nbytes=_sum_if_known(source.nbytes for source in sources),
        )
        self.repeatable = all(source.repeatable for source in sources)
        self.reader_bytes = max(source.reader_bytes for source in sources)
        # Number of rows of each source; unknown numbers are filled in during reading. An entry
        # changes only once, from None to its final value, so that another thread can read it at
        # any time to build an error message.
        self._counts = [source.rows for source in sources]
        self.random_access = self.rows is not None and all(
            source.random_access for source in sources
        )
        self._ends = [*accumulate(count or 0 for count in self._counts)]

    def chunks(self, start: int = 0) -> Iterator[Chunk]:
        """Rows from number ``start`` on; sources that end before it are not opened.

        Skipping a source requires its number of rows, given or counted in an earlier pass.
        """
        for i, source in enumerate(self.sources):
            count = self._counts[i]
            if count is not None and count <= start:
                start -= count
                continue
            # A source with an unknown number of rows is read from its first row, to count them.
            seen = 0 if count is None else start
            # Close the chunks together with this generator, so that no file stays open.
            with closing(_generator(source.chunks(seen))) as chunks:
                for chunk in chunks:
                    skipped = max(0, start - seen)
                    seen += chunk.data.shape[0]
                    if start < seen:
                        yield self._conform(i, chunk.part(skipped))
            if count is None:
                self._counts[i] = seen
            start = max(0, start - seen)

    def read(self, start: int, stop: int) -> Chunk:
        """Rows ``start`` to ``stop``, which may span several sources."""
        last = len(self._ends) - 1
        i = min(bisect_right(self._ends, start), last)
        parts = []
        for j in range(i, max(i, min(bisect_left(self._ends, stop), last)) + 1):
            first_row = self._ends[j - 1] if j else 0
            local_range = max(start, first_row) - first_row, min(stop, self._ends[j]) - first_row
            parts.append(self._conform(j, self.sources[j].read(*local_range)))
        return Chunk.joined(parts)

    def place_of(self, row: int) -> RowPlace:
        """File of row number ``row``, and its number within that file.

        The search stops at the first file whose number of rows is still unknown.
        """
        i = 0
        while i < len(self.sources) - 1 and (count := self._counts[i]) is not None and count <= row:
            row -= count
            i += 1
        return self.sources[i].place_of(row)

    def file_states(self) -> tuple[FileState, ...]:
        """The file states of all sources, in order."""
        return tuple(state for source in self.sources for state in source.file_states())

    def fingerprint(self) -> tuple[str, ...]:
        """The fingerprints of all sources, in order."""
        return tuple(text for source in self.sources for text in source.fingerprint())

    def _conform(self, i: int, chunk: Chunk) -> Chunk:
        """Give a chunk of source ``i`` the column order and dtype of the chain, and ids if any."""
        order = self._orders[i]
        data = chunk.data if order is None else reorder_columns(chunk.data, order)
        if data.dtype != self.dtype:
            data = data.astype(self.dtype)
        return Chunk(data, chunk.ids if self.id_column is not None else None)


def _name(source: Source, i: int) -> str:
    return source.file or f"table {i + 1}"


def _sum_if_known(counts: Iterable[int | None]) -> int | None:
    found = list(counts)
    known = [count for count in found if count is not None]
    return sum(known) if len(known) == len(found) else None


def _column_positions(source: Source, i: int, first: Source) -> NDArray[np.intp] | None:
    """Positions in ``source`` of the columns of ``first``; None if the order is the same."""
    name, known = _name(source, i), _name(first, 0)
    _refuse_unlike(source, first, name, known)
    if source.columns is None or first.columns is None:
        if source.p != first.p:
            problem = f"has {source.p} columns, while {known} has {first.p}"
            hint = "Files of one table have the same columns in the same order."
            raise file_error(ShapeError, name, problem, hint)
        return None
    notes = [
        f"{file}: {note}"
        for file, one, other in ((known, first, source), (name, source, first))
        for note in one.notes
        if isinstance(note, LeftOut | IndexNote) and note not in other.notes
    ]
    if "row" in {*first.columns} ^ {*source.columns}:
        notes.append("exclude=['row'] leaves out 'row', as a first column without a name is called")
    return column_order(source.columns, first.columns, name, known, {"file": name}, notes)


def _refuse_unlike(source: Source, first: Source, name: str, known: str) -> None:
    """Refuse a source that differs in units, or in whether rows or columns have names."""
    for column, unit in source.units.items():
        if unit != (usual := first.units.get(column, unit)):
            problem = f"its column {column!r} is in {unit or 'no unit'}, that of {known} in "
            problem += usual or "none"
            hint = source.row_origin.or_exclude(column, "Write the column in one unit")
            raise file_error(ColumnError, name, problem, hint, column=column)
    if first.id_column is not None and source.id_column is None:
        problem = f"has no id column, while {known} has {first.id_column!r}"
        hint = "Give every file an id column, or read them without one."
        raise file_error(ColumnError, name, problem, hint, column=first.id_column)
    if (source.columns is None) != (first.columns is None):
        with_names, without = (known, name) if source.columns is None else (name, known)
        problem = (
            f"the columns of {without} have no names, those of {with_names} have, "
            "so they cannot be bound to each other"
        )
        hint = "Keep all tables in files with column names, such as CSV or Parquet, or in none."
        raise file_error(ColumnError, name, problem, hint)
    if _has_no_names(source) != _has_no_names(first):
        unnamed, named = (name, known) if _has_no_names(source) else (known, name)
        problem = f"has no line of column names: its first line holds numbers; {named} has one"
        hint = f"Write the names as the first line of {unnamed}, or delete this line from all "
        hint += "files. If its first line names the columns, use header=True."
        raise file_error(ColumnError, unnamed, problem, hint)


def _has_no_names(source: Source) -> bool:
    return any(isinstance(note, NoNamesNote) for note in source.notes)


def column_order(
    columns: tuple[str, ...],
    reference: tuple[str, ...],
    name: str,
    reference_name: str,
    place: dict[str, Any],
    notes: Sequence[str] = (),
) -> NDArray[np.intp] | None:
    """Position in ``columns`` of each column of ``reference``; None if the order is the same.

    ``name`` and ``reference_name`` are the names of the two tables in a ColumnError, and
    ``notes`` say why columns may be in one of them only.
    """
    if columns == reference:
        return None
    position = {column: j for j, column in enumerate(columns)}
    reference_names = set(reference)
    missing = [column for column in reference if column not in position]
    new = [column for column in columns if column not in reference_names]
    if not missing and not new:
        return np.array([position[column] for column in reference])
    differences = [
        f"{what}: {listed(map(repr, names))}"
        for what, names in (("missing", missing), ("new", new))
        if names
    ]
    raise ColumnError(
        f"{name}: its columns are not those of {reference_name}; {'; '.join(differences)}",
        place={**place, "column": (missing or new)[0], "missing": missing, "new": new},
        hint=" ".join(
            ["Rename or exclude columns, or name those to use.", *(f"{note}." for note in notes)]
        ),
    )


def reorder_columns(data: Any, order: NDArray[np.intp]) -> Any:
    """Reorder columns; return a copy, dense in C order or CSR."""
    if not sp.issparse(data):
        # Six times faster than data[:, order], which also would not be in C order.
        return np.take(data, order, axis=1)
    new_positions = np.argsort(order).astype(data.indices.dtype)
    rows = sp.csr_array(
        (data.data.copy(), new_positions[data.indices], data.indptr), shape=data.shape
    )
    rows.sort_indices()
    return rows


def _refuse_mixed(sources: Sequence[Source]) -> None:
    parts = [(_name(source, i), source) for i, source in enumerate(sources)]
    sparse = [(name, source) for name, source in parts if source.stored is not None]
    dense = [(name, source) for name, source in parts if source.stored is None]
    if sparse and dense:
        both = {name for name, _ in sparse} & {name for name, _ in dense}  # two matrices of a file
        sparse_names, dense_names = (
            [_with_member(name, one) if name in both else name for name, one in some]
            for some in (sparse, dense)
        )
        raise ParameterError(
            f"sparse and dense tables cannot be joined: {listed(sparse_names, limit=3)} "
            f"{'is' if len(sparse) == 1 else 'are'} sparse, {listed(dense_names, limit=3)} "
            f"{'is' if len(dense) == 1 else 'are'} not",
            place={"file": sparse[0][0]},
            hint="Store all of them sparse, or all of them dense.",
        )


def _with_member(name: str, source: Source) -> str:
    """The name of a file, and of the matrix in it if it is known."""
    member = getattr(source, "member", None)
    return name if member is None else f"{name}::{member.name}"


def _refuse_other_kinds(sources: Sequence[Source]) -> None:
    """Refuse a column of numbers in one source and of true/false, read as 1 and 0, in another."""
    first: dict[str, tuple[str, str]] = {}
    for i, source in enumerate(sources):
        for column, kind in source.kinds.items():
            if column == source.id_column:
                continue
            known, usual = first.setdefault(column, (_name(source, i), kind))
            if kind != usual:
                problem = f"its column {column!r} holds {kind}, that of {known} {usual}"
                hint = "Write the column in one way"
                if not source.row_origin.of_model:
                    hint += f", or exclude {column!r} (or do not list it in columns=)"
                hint = f"{hint}."
                raise file_error(ColumnError, _name(source, i), problem, hint, column=column)


def _notes(sources: Sequence[Source]) -> tuple[str, ...]:
    """Notes without duplicates; a note that not all sources have names its files."""
    files_by_note: dict[str, list[str]] = {}
    for i, source in enumerate(sources):
        for note in dict.fromkeys(source.notes):
            files_by_note.setdefault(note, []).append(_name(source, i))
    return tuple(
        note if len(files) == len(sources) else type(note)(f"{listed(files, limit=3)}: {note}")
        for note, files in files_by_note.items()
    )


def _generator(chunks: Iterator[Chunk]) -> Generator[Chunk]:
    yield from chunks
