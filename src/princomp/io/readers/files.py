"""Open files by their names: wildcards, parts inside files, and formats by the ending.

Small files are read whole, others chunk by chunk.
"""

from __future__ import annotations

import errno
import glob
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Literal, NamedTuple

from princomp.errors import (
    ColumnError,
    InputNotFoundError,
    MalformedFileError,
    NoRowsError,
    ParameterError,
    PrincompError,
    counted,
)
from princomp.io.readers.columns import ALL_COLUMNS, Selection, listed
from princomp.io.readers.left_out import NUMBERS, ROW_NAMES, has_index_name
from princomp.io.readers.read_options import DETECT, ReadOptions
from princomp.io.readers.reader_errors import file_error, folder_hint, import_optional, reading
from princomp.io.readers.source import FileState, Source, TableSource, file_state, refuse_changed


class Format(NamedTuple):
    """How files of one format are read.

    Parameters
    ----------
    opener : str
        Module of this package and its function that makes a Source:
        ``opener(path, selection, **options)``. The options include ``inside`` if files of the
        format have parts.
    libraries : tuple of str
        Optional libraries that this module imports at its top. They are imported before it, so
        that an error says how to install a missing one.
    options : mapping
    table_reader : str, optional
        Module and function that reads a small file into memory. Given for formats in which
        text decides whether a column holds numbers, so that the decision considers all cells,
        not only the first ones.
    has_parts : bool
        A file may hold several arrays; the name of one follows "::".
    """

    opener: str
    libraries: tuple[str, ...] = ()
    options: Mapping[str, str | None] = MappingProxyType({})
    table_reader: str | None = None
    has_parts: bool = False

    def open(self, path: Path, selection: Selection, inside: str | None, small: bool) -> Source:
        """Open a file for reading in chunks, or read it whole if it is small and may be."""
        options = {**self.options, "inside": inside} if self.has_parts else self.options
        for library in self.libraries:
            import_optional(library, path)
        name = (small and self.table_reader) or self.opener
        module, function = name.split(".")
        opener = getattr(import_module(f"princomp.io.readers.{module}"), function)
        source: Source = opener(path, selection, **options)
        return source


# To add a format, write its reader as a module of this package and add an entry here.
_ARROW = Format(
    "columnar_files.ArrowSource", ("pyarrow",), table_reader="columnar_files.read_arrow"
)
_PARQUET = Format(
    "columnar_files.ParquetSource",
    ("pyarrow.parquet",),
    table_reader="columnar_files.read_parquet",
)
_FORMATS = {
    **{
        f".{name}{packed}": Format(
            "delimited_stream.open_delimited",
            ("pyarrow.csv",),
            {"delimiter": delimiter, "compression": compression},
            table_reader="delimited.read_delimited",
        )
        for name, delimiter in (("csv", ","), ("tsv", "\t"), ("txt", None))
        for packed, compression in (("", None), (".gz", "gzip"), (".zst", "zstd"))
    },
    ".xlsx": Format("workbook.open_workbook", ("openpyxl", "pyarrow.csv")),
    ".parquet": _PARQUET,
    ".pq": _PARQUET,
    ".arrow": _ARROW,
    ".arrows": _ARROW,
    ".feather": _ARROW,
    ".ipc": _ARROW,
    ".npy": Format("numpy_file.open_npy"),
    ".npz": Format("sparse_files.open_npz", has_parts=True),
    ".mtx": Format("sparse_files.open_matrix_market", ("pyarrow.csv",)),
    ".mtx.gz": Format("sparse_files.open_matrix_market", ("pyarrow.csv",)),
    ".h5ad": Format("h5ad.open_h5ad", ("h5py",), has_parts=True),
    ".h5": Format("hdf5.open_hdf5", ("h5py",), has_parts=True),
    ".hdf5": Format("hdf5.open_hdf5", ("h5py",), has_parts=True),
    ".nc": Format("hdf5.open_hdf5", ("h5py",), has_parts=True),
    ".nc4": Format("hdf5.open_hdf5", ("h5py",), has_parts=True),
    ".zarr": Format("zarr_store.open_zarr", ("zarr",), has_parts=True),
    ".zarr.zip": Format("zarr_store.open_zarr", ("zarr",), has_parts=True),
}

ENDINGS = tuple(_FORMATS)

# Endings of tables that other programs read, for hints.
_R_ENDINGS = (".rds", ".rdata", ".rda")
_PANDAS_READERS = {
    **dict.fromkeys((".sav", ".zsav"), "read_spss"),
    **dict.fromkeys((".sas7bdat", ".xpt"), "read_sas"),
    **dict.fromkeys((".xls", ".xlsb"), "read_excel"),
    ".dta": "read_stata",
}

# Largest file sizes in bytes, uncompressed and compressed, for which ``Format.table_reader`` is
# used.
SMALL_FILE_BYTES, SMALL_COMPRESSED_FILE_BYTES = 2**25, 2**23
# Number of files in a folder in which a table is sought, for a hint.
_MAX_NAMES_TRIED = 1_000


def ending_of(path: str | os.PathLike[str]) -> str | None:
    """Return the known ending of a file's name, in lower case; None if it has none."""
    name = Path(path).name.lower()
    return next((ending for ending in ENDINGS if name.endswith(ending)), None)


def split_inside(name: str | os.PathLike[str]) -> tuple[Path, str | None]:
    """Split a name such as "store.h5::/group/x" into the file and the part inside it."""
    text = os.fspath(name)
    file, separator, inside = text.partition("::")
    ending = ending_of(file)
    if separator and ending is not None and _FORMATS[ending].has_parts:
        return Path(file), inside
    return Path(text), None


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
    ending, format = _format_of(path)
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
) -> Source:
    """Open one or more files or wildcards, and concatenate them into one table.

    Parameters
    ----------
    names : sequence of paths
        Files without rows are left out, with a note, if others have rows.
    columns, exclude, options, of_model
        As in :class:`Selection`.
    id_column : str or False, optional
        The column that names the rows. None detects one, such as the index that pandas writes;
        False uses none.
    """
    from princomp.io.readers.source_chain import SourceChain

    paths = expand_patterns(names)
    _refuse_ineffective(options, paths)
    without_ids = Selection(columns, exclude, options=options, of_model=of_model)
    with_ids = without_ids._replace(id_column=id_column or None, find_ids=id_column is None)
    empty: dict[Path, NoRowsError] = {}
    # Each of several files may lack columns that are excluded: the excluded names lacking in each.
    excluded = {*map(str, exclude)} if len(paths) > 1 and not isinstance(exclude, str) else set()
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
    if columns is None and id_column is None:
        _refuse_measured_ids(first, [source for _, source in others])
    if unknown := set.intersection(*lacking):  # in no file
        open_source(paths[0], without_ids._replace(exclude=sorted(unknown)))  # raises the error
    table = SourceChain.of([first, *(source for _, source in others)])
    if empty:
        left_out = listed([str(path) for path in empty])
        note = f"left out {counted(len(empty), 'file')} without rows: {left_out}"
        table.notes = (*table.notes, note)
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
    endings = {ending_of(split_inside(path)[0]) for path in paths} - {None}
    is_book = ".xlsx" in endings
    is_table = is_book or any(
        str(ending).startswith((".csv", ".tsv", ".txt")) for ending in endings
    )
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


def _lacks_id_column(error: PrincompError, id_column: str | None) -> bool:
    """Whether an error says that there is no such id column."""
    place = error.place
    missing = place.get("missing") or [place.get("column")]
    return id_column is not None and (
        missing == [id_column] or place.get("parameter") == "id_column"
    )


def _format_of(path: Path) -> tuple[str, Format]:
    """The ending of an existing file, and its format."""
    ending = ending_of(path)
    may_be_folder = ending is not None and ending.startswith(".zarr")
    if not (may_be_folder and os.path.isdir(path)):
        _refuse_absent(path)
    if path.suffix == ".pca":
        hint = "Give the file of the rows; princomp.load(path) opens models in Python."
        raise file_error(ParameterError, path, "it is a model, and a table is needed", hint)
    if ending is None:
        problem = "its name does not say what kind of table it is"
        hint = f"Known endings are {', '.join(ENDINGS)}."
        suffix = path.suffix.lower()
        if suffix in _R_ENDINGS:
            hint = "In R, write.csv(x, 'x.csv') saves the table x as CSV, which can be read."
        elif suffix in _PANDAS_READERS:
            hint = "Save the table as CSV or Parquet; or read it with "
            hint += f"pandas.{_PANDAS_READERS[suffix]} in Python, and give the frame."
        raise file_error(ParameterError, path, problem, hint)
    return ending, _FORMATS[ending]


def _states_of(path: Path) -> tuple[FileState, ...]:
    """Current state of a file; empty for a folder, whose reader tracks the files in it."""
    return () if path.is_dir() else file_state(path, "a table")


def _refuse_absent(path: Path) -> None:
    with reading(path, "a table"):  # the folder may not be readable
        if path.is_file():
            return
        if path.is_dir():
            why = "is a folder, not a file"
            hint = _hint_on_tables_in(path)
        elif path.exists():
            why = "is not a regular file"
            hint = "Give a pipe as standard input (-), or save the table first."
        else:
            why, hint = "no such file", folder_hint()
        raise file_error(InputNotFoundError, path, why, hint)


def _hint_on_tables_in(folder: Path) -> str:
    """Suggest a wildcard for the tables in a folder or, if it has none, below it."""
    for wildcard in ("*", "**/*"):
        names = glob.iglob(f"{glob.escape(str(folder))}/{wildcard}", recursive=True)
        for name in islice(names, _MAX_NAMES_TRIED):
            ending = ending_of(name)
            if ending and (os.path.isfile(name) or ending == ".zarr"):
                spelled = name[-len(ending) :]
                pattern = f"{glob.escape(str(folder))}/{wildcard}{spelled}"
                return f"Name the files in it, such as '{pattern}'."
    return f"Name a file. Known endings are {', '.join(ENDINGS)}."


# ---- wildcards ----------------------------------------------------------------------------


def expand_patterns(names: Sequence[str | os.PathLike[str]]) -> list[Path]:
    """Expand wildcard patterns to files.

    Parameters
    ----------
    names : sequence of path
        Each is "path" or "path::inside". A path with ``*``, ``?`` or ``[`` is a pattern unless
        a file of exactly that name exists (``**`` matches folders of any depth). The part
        "inside" applies to each matching file. Matches are in natural order: part2 before
        part10.

    Returns
    -------
    list of Path
        Each with the part "::inside", if it was given.

    Raises
    ------
    InputNotFoundError
        A pattern matches nothing.
    ParameterError
        A file is named twice, so its rows would count twice.
    """
    if isinstance(names, str | os.PathLike):
        problem = f"expected a list of names, got the one name {os.fspath(names)!r}"
        raise ParameterError(problem, hint=f"Write [{os.fspath(names)!r}].")
    found = [path for name in names for path in _matches(os.path.expanduser(name))]
    seen: dict[tuple[object, str], Path] = {}
    for path in found:
        outside, _, inside = _split(str(path))
        with reading(path, "a table"):  # the current folder may have been deleted
            file = (_identity(Path(outside).resolve()), inside.strip("/"))
        if file in seen:
            alias_note = "" if seen[file] == path else f" (also as {seen[file]})"
            problem = f"is named twice{alias_note}, so its rows would count twice"
            hint = "Name each file once; patterns may overlap."
            raise file_error(ParameterError, path, problem, hint)
        seen[file] = path
    return found


def _identity(path: Path) -> object:
    """What all hard links to a file have in common; the path itself if there is no such file."""
    try:
        status = path.stat()
    except OSError:
        return path
    # Some network drives number files ambiguously, or not at all.
    return status.st_dev, status.st_ino or path, status.st_size, status.st_mtime_ns


def _split(name: str) -> tuple[str, str, str]:
    return (name, "", "") if os.path.exists(name) else name.partition("::")


def _refuse_impossible(name: str) -> None:
    """Raise InputNotFoundError for a text that no file can have as its name, and for a URL."""
    if (url := re.match("([A-Za-z][A-Za-z0-9+.-]+):/", name)) and not glob.glob(name):
        problem = "is a URL, and files are read from paths"
        hint = "Download it first; or read it with another library, and give batches of rows."
        if url[1] == "file":
            hint = "Give the path alone."
        raise file_error(InputNotFoundError, name, problem, hint)
    try:
        os.stat(name)
    except (OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno != errno.ENAMETOOLONG:
            return
        short = name if len(name) <= 60 else f"{name[:60]}…"
        problem = f"no file can have this name ({getattr(error, 'strerror', error)})"
        hint = "Give the name of a file, not its contents."
        raise file_error(InputNotFoundError, repr(short), problem, hint) from None


def _matches(name: str) -> list[Path]:
    _refuse_impossible(name)
    path, colons, inside = _split(name)
    if not any(character in path for character in "*?[") or os.path.exists(path):
        return [Path(name)]
    matches = glob.glob(path, recursive=True)
    # A folder is a table only if it is a Zarr store.
    found = [
        Path(match)
        for match in matches
        if not os.path.isdir(match)
        or match.rstrip(os.sep).endswith(".zarr")
        or _is_unread_table(match, matches)
    ]
    if not found:
        problem = "no file has a name like this"
        raise file_error(InputNotFoundError, name, problem, folder_hint())
    return [Path(f"{match}{colons}{inside}") for match in sorted(found, key=_natural)]


def _is_unread_table(folder: str, matches: list[str]) -> bool:
    """Whether a folder holds parts of a table, as Spark writes it, that no match names.

    Such a folder is kept for an error about it.
    """
    ending = ending_of(folder)
    parts = glob.glob(f"{glob.escape(folder)}/*{ending}") if ending else []
    return bool(parts) and not any(Path(folder) in Path(other).parents for other in matches)


def _natural(path: Path) -> tuple[list[list[str | int]], str]:
    """A sort key that compares runs of digits as numbers."""
    # Splitting puts text at even and digits at odd positions, so numbers never meet text.
    pieces = [re.split("([0-9]+)", part) for part in path.parts]
    key = [[int(s) if j % 2 else s for j, s in enumerate(piece)] for piece in pieces]
    return key, str(path)
