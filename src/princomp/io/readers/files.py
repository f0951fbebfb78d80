"""Open one or more files as a table. Small files are read whole, others chunk by chunk."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from princomp.errors import (
    ColumnError,
    MalformedFileError,
    NoRowsError,
    ParameterError,
    PrincompError,
    counted,
)
from princomp.io.readers.columns import ALL_COLUMNS, Selection, listed
from princomp.io.readers.formats import ending_of, format_of, split_inside
from princomp.io.readers.left_out import NUMBERS, ROW_NAMES
from princomp.io.readers.read_options import DETECT, ReadOptions
from princomp.io.readers.reader_errors import file_error
from princomp.io.readers.row_names import has_index_name
from princomp.io.readers.source import FileState, Source, TableSource, file_state, refuse_changed
from princomp.io.readers.wildcards import expand_patterns

# Largest file sizes in bytes, uncompressed and compressed, for which ``Format.table_reader`` is
# used.
SMALL_FILE_BYTES, SMALL_COMPRESSED_FILE_BYTES = 2**25, 2**23


def open_source(name: str | os.PathLike[str], selection: Selection = ALL_COLUMNS) -> Source:
    """Open a file; small tables are read at once.

    Parameters
    ----------
    name : path
        Its ending, one of ``ENDINGS``, sets the format. In a file that holds several
        arrays, "::" and the name of one may follow.
    selection : Selection

    Raises
    ------
    InputNotFoundError
        The file does not exist or cannot be read.
    ParameterError
        The ending is not known.
    MalformedFileError
        The file is cut short, damaged, ragged, or not of the format its ending implies.
    ColumnError, NotNumericError, ShapeError
        A requested column is missing or holds text, or there are no columns or no rows.
    MissingLibraryError
        pyarrow is needed and not installed.
    """
    path, inside = split_inside(name)
    ending, format = format_of(path)
    if selection.options.untrusted:
        from princomp.io.readers.isolated import IsolatedSource

        isolated = IsolatedSource(name, selection)
        isolated.selected = selection.describe(inside)
        return isolated
    max_bytes = (
        SMALL_COMPRESSED_FILE_BYTES if ending.endswith((".gz", ".zst")) else SMALL_FILE_BYTES
    )
    before = _states_of(path)
    small = bool(before) and before[0].size <= max_bytes
    source = format.open(path, selection, inside, small)
    source.selected = selection.describe(inside)
    if isinstance(source, TableSource):
        refuse_changed(before, _states_of(path))
    else:
        # file_states() compares the state before with the state now. Its result replaces the
        # state before, because a reader of several files lists all of them.
        source.states_at_open = before
        source.states_at_open = source.file_states()
    return source


def open_files(
    names: Sequence[str | os.PathLike[str]],
    *,
    columns: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
    id_column: str | Literal[False] | None = None,
    options: ReadOptions = DETECT,
    of_model: bool = False,
    na: tuple[str, ...] = (),
) -> Source:
    """Open files, wildcards and folders, and concatenate them into one table.

    Parameters
    ----------
    names : sequence of paths
        Files without rows are left out, with a note, if others have rows.
    columns, exclude, options, of_model
        As in :class:`Selection`.
    id_column : str or False, optional
        The column that names the rows. None detects one, such as the index that pandas writes;
        False uses none.
    na : tuple of str
        Words for missing cells of the rows of a model. They apply to text and workbooks, if
        ``options`` has no words.
    """
    from princomp.io.readers.source_chain import SourceChain

    paths = expand_patterns(names)
    _refuse_ineffective(options, paths)
    given = options
    if any(_kinds_of(paths)):
        options = given.with_default_na(na)
    without_ids = Selection(
        columns, exclude, options=options, of_model=of_model, na_of_model=options is not given
    )
    with_ids = without_ids._replace(id_column=id_column or None, find_ids=id_column is None)
    empty: dict[Path, NoRowsError] = {}
    # Each of several files may lack columns that are excluded: the excluded names lacking in each.
    excluded = {*map(str, exclude)} if len(paths) > 1 else set()
    lacking: list[set[str]] = []

    def opened(some: Sequence[Path], selection: Selection) -> Iterator[tuple[Path, Source]]:
        """Open the files that have rows. Spark writes some without, for example."""
        for path in some:
            try:
                source, absent = _open_one(path, selection, excluded)
                lacking.append(absent)
                yield path, source
            except NoRowsError as error:
                empty[path] = error
            except MalformedFileError as error:
                if len(paths) > 1 and "skip_end=" in (error.hint or ""):
                    error.hint = f"{error.hint} It applies to every file: if others have no such "
                    error.hint += f"rows, delete them from {path} instead."
                raise

    _, first = next(opened(paths, with_ids), (None, None))
    if first is None:
        raise empty[paths[0]]
    paths = [path for path in paths if path not in empty]
    try:
        # All files use the id column of the first file, and leave out its column of row numbers.
        with_ids = without_ids._replace(id_column=first.id_column)
        others = list(opened(paths[1:], with_ids))
        for i, (path, source) in enumerate(others):
            if counting := [name for name in first.unused if name in (source.columns or ())]:
                selection = with_ids._replace(exclude=[*exclude, *counting])
                others[i] = path, _open_one(path, selection, excluded)[0]
    except (ColumnError, ParameterError) as error:
        if id_column is not None or not _lacks_id_column(error, first.id_column):
            raise
        (_, first), *others = opened(paths, without_ids)
    sources = [source for _, source in others]
    if columns is None and id_column is None:
        _refuse_measured_ids(first, sources)
    if unknown := set.intersection(*lacking):  # in no file
        open_source(paths[0], without_ids._replace(exclude=sorted(unknown)))  # raises the error
    table = SourceChain([first, *sources]) if sources else first
    if empty:
        left_out = listed([str(path) for path in empty])
        note = f"left out {counted(len(empty), 'file')} without rows: {left_out}"
        table.notes = (*table.notes, note)
    table.na = options.na
    return table


def _open_one(path: Path, selection: Selection, excluded: set[str]) -> tuple[Source, set[str]]:
    """Open a file that may lack columns among ``excluded``; also return those that it lacks."""
    try:
        return open_source(path, selection), set()
    except ColumnError as error:
        absent = excluded.intersection(error.place.get("missing", ()))
        if not absent or "available" not in error.place:
            raise
    kept = [name for name in selection.exclude if str(name) not in absent]
    return open_source(path, selection._replace(exclude=kept)), absent


def _refuse_measured_ids(first: Source, others: Sequence[Source]) -> None:
    """Refuse numbers in a column that was found to name the rows of the first file.

    Alone or as the first file, such a file has a variable there. A name such as "id" says in all
    files what the column holds.
    """
    name = first.id_column
    if name is None or has_index_name(name) or first.kinds.get(name) != ROW_NAMES:
        return
    for source in others:
        if source.id_column == name and source.kinds.get(name) == NUMBERS:
            problem = f"its column {name!r} holds numbers, that of {first.file} names the rows"
            rename = f"Rename it in one of them, give id_column={name!r} if it names all rows"
            hint = source.row_origin.or_exclude(name, rename)
            raise file_error(ColumnError, source.file or "", problem, hint, column=name)


def _refuse_ineffective(options: ReadOptions, paths: Sequence[Path]) -> None:
    """Refuse options that leave out rows or cells, or choose a sheet, if no file uses them."""
    endings = _endings(paths)
    is_text, is_book = _kinds_of(paths)
    is_table = is_text or is_book
    uses = {"na": is_table, "skip": is_table, "skip_end": is_table, "sheet": is_book}
    for name, used in uses.items():
        if (value := getattr(options, name)) and endings and not used:
            given = list(value) if name == "na" else value
            kinds = " and ".join(sorted(map(str, endings)))
            problem = f"{name}={given!r} has no effect on {kinds} files"
            hint = "Leave it out."
            if name == "na":
                hint += " If such cells are missing, set them to NaN in Python and pass the array."
            raise file_error(ParameterError, paths[0], problem, hint, parameter=name)


def _endings(paths: Sequence[Path]) -> set[str]:
    return {ending for path in paths if (ending := ending_of(split_inside(path)[0])) is not None}


def _kinds_of(paths: Sequence[Path]) -> tuple[bool, bool]:
    """Whether some of the files are text, and whether some are workbooks."""
    endings = _endings(paths)
    is_text = any(ending.startswith((".csv", ".tsv", ".txt")) for ending in endings)
    return is_text, ".xlsx" in endings


def _lacks_id_column(error: PrincompError, id_column: str | None) -> bool:
    """Whether an error says that there is no such id column."""
    place = error.place
    missing = place.get("missing") or [place.get("column")]
    return id_column is not None and (
        missing == [id_column] or place.get("parameter") == "id_column"
    )


def _states_of(path: Path) -> tuple[FileState, ...]:
    """Current state of a file; empty for a folder, whose reader tracks the files in it."""
    return () if path.is_dir() else file_state(path, "a table")
