"""Rows from any object a user passes, one column by its name, and ``read_table`` with options."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from princomp.errors import (
    ColumnError,
    DataError,
    NotAvailableError,
    NotNumericError,
    ParameterError,
    counted,
    did_you_mean,
    invalid_value,
    printable,
    warn,
)
from princomp.io.readers.cells import read_number
from princomp.io.readers.columns import listed
from princomp.io.readers.files import open_files
from princomp.io.readers.formats import ending_of, split_inside
from princomp.io.readers.frames import eager_frame, from_frame, is_frame
from princomp.io.readers.left_out import LeftOut, NamedNote
from princomp.io.readers.memory import Rows, in_memory
from princomp.io.readers.number_text import MISSING, is_true_or_false
from princomp.io.readers.read_options import DETECT, ReadOptions
from princomp.io.readers.reader_errors import file_error, import_optional
from princomp.io.readers.source import FileState, Source, TableSource
from princomp.io.readers.wildcards import expand_patterns


@dataclass(frozen=True)
class TableInput:
    """A file or frame with read options; every function that takes rows accepts it.

    Parameters
    ----------
    table : path, list of paths or frame
    columns : list of str, "numeric" or "all"
    exclude : list of str
    id_column : str or False, optional
    options : ReadOptions
    """

    table: Any
    columns: tuple[str, ...] | str = "numeric"
    exclude: tuple[str, ...] = ()
    id_column: str | Literal[False] | None = None
    options: ReadOptions = DETECT

    @property
    def notes(self) -> tuple[str, ...]:
        """Messages on what was detected and which columns are left out."""
        return self.open().notes

    def with_id_column(self, column: str | None) -> TableInput:
        """Return this table with another column naming the rows."""
        return replace(self, id_column=column)

    def open(self, columns: Sequence[str] | None = None, na: tuple[str, ...] = ()) -> Source:
        """Open the table; ``columns``, such as those of a fitted model, override its own.

        ``na`` has the model's words for missing cells, in case that the options have none.

        Raises
        ------
        NotNumericError
            With ``columns="all"``, for a column without numbers.
        """
        requested = columns or (None if isinstance(self.columns, str) else list(self.columns))
        if is_frame(self.table):
            source: Source = from_frame(
                self.table,
                columns=requested,
                exclude=self.exclude,
                id_column=self.id_column or None,
                find_ids=self.id_column is None,
                text="leave out",
                of_model=columns is not None,
            )
        else:
            try:
                source = open_files(
                    self.table if isinstance(self.table, list | tuple) else [self.table],
                    columns=requested,
                    exclude=self.exclude,
                    id_column=self.id_column,
                    options=self.options,
                    of_model=columns is not None,
                    na=na,
                )
            except DataError as error:
                names = "|".join(field.name for field in fields(ReadOptions))
                if self.options == DETECT and re.search(rf"\b({names})=", error.hint or ""):
                    error.hint = f"{error.hint} Set options with read_table(path, …)."
                raise
        left_out = [note for note in source.notes if isinstance(note, LeftOut)]
        if self.columns == "all" and left_out and columns is None:
            problem = f"not all columns hold numbers: {'; '.join(left_out)}"
            hint = "columns='numeric' leaves them out with a note."
            raise NotNumericError(problem, place={"parameter": "columns"}, hint=hint)
        return source


def read_table(
    table: object,
    *,
    columns: Sequence[str] | str = "numeric",
    exclude: Sequence[str] | str = (),
    id_column: str | Literal[False] | None = None,
    **options: Any,
) -> TableInput:
    """Set options for reading a table, where automatic detection is not what you want.

    Parameters
    ----------
    table : path, list of paths or frame
        A CSV, TSV, text or Excel file, a Parquet or Arrow file, or a frame of pandas, polars or
        pyarrow.
    columns : str, list of str, "numeric" or "all"
        The columns to analyse. "numeric" leaves out text, dates and booleans with a note; "all"
        raises an error if there are any.
    exclude : str or list of str
        Columns to leave out.
    id_column : str or False, optional
        The column that names the rows. None detects one: the index that pandas or R wrote, row
        numbers, or the only text column without repeated values. False uses none.
    **options
        For text files: ``sep``, ``decimal``, ``thousands``, ``encoding``, ``na`` (words for
        missing cells), ``skip`` (lines at the top), ``skip_end`` (lines at the end, such as
        totals and blank lines), ``header`` (True, False, or 2 for two lines of names) and
        ``comment``; for workbooks: ``sheet``. Options that are not given are detected from the
        file if it is unambiguous. ``untrusted=True`` reads files in a separate process with
        limited memory and time: a malicious file can then crash the library that reads it, but
        not your program.

    Returns
    -------
    TableInput
        Pass it to ``fit``, ``transform``, ``report`` and all other functions in place of
        the rows. Its ``notes`` say what was detected. The file is read only when it is used.

    Raises
    ------
    ParameterError
        For an unknown option or an invalid value.

    Examples
    --------
    >>> from princomp import PCA, read_table
    >>> rows = read_table("examples/usarrests.csv", exclude=["UrbanPop"])
    >>> rows.notes[0][:38]
    "the rows are named by column 'State', "
    >>> PCA(2, scale="unit").fit(rows).n_features_in_
    3
    """
    read_options = ReadOptions.of(options)
    if is_frame(table) and options:
        problem = f"{next(iter(options))} is an option of files, and this is a frame"
        hint = "Of a frame, give columns, exclude and id_column only."
        raise ParameterError(problem, place={"parameter": next(iter(options))}, hint=hint)
    if not is_frame(table) and (isinstance(table, TableInput) or not is_file(table)):
        problem = f"expected a path or a frame, got {type(table).__name__}"
        hint = "Arrays need no options: give them to fit as they are."
        if isinstance(table, Iterator) or callable(table):
            hint = "Select the columns of each batch: fit(batch[names] for batch in batches), or "
            hint += "batch.select(names) for batches of pyarrow."
        raise ParameterError(problem, place={"parameter": "table"}, hint=hint)
    names: tuple[str, ...] | str
    if isinstance(columns, str) and columns in ("numeric", "all"):
        names = columns
    else:
        names = _names("columns", columns)
    return TableInput(table, names, _names("exclude", exclude), id_column, read_options)


def _names(parameter: str, names: object) -> tuple[str, ...]:
    """Return names of columns, or one name, as a tuple."""
    if not isinstance(names, Iterable):
        raise invalid_value(parameter, names, "a list of column names", "Such as ['height'].")
    return (names,) if isinstance(names, str) else tuple(names)


def is_file(X: object) -> bool:
    """Whether X is a path, a list of paths or a :class:`TableInput`."""
    paths = X if isinstance(X, list | tuple) else [X]
    return isinstance(X, TableInput) or (
        bool(paths) and all(isinstance(path, str | os.PathLike) for path in paths)
    )


def files_of(X: object) -> tuple[tuple[FileState, str], ...]:
    """The files that a table is read from, each with the name of the part in it, if any."""
    if not is_file(X) or is_frame(X := getattr(X, "table", X)):
        return ()
    paths: Any = X if isinstance(X, list | tuple) else [X]
    parts = (split_inside(path) for path in expand_patterns(paths))
    return tuple((FileState.of(os.path.realpath(file)), inside or "") for file, inside in parts)


def rows_of(X: object, *, columns: list[str] | None = None, na: tuple[str, ...] = ()) -> Rows:
    """Rows (n, p), column names and origin of an input.

    Rows that are not in memory are returned as a :class:`~princomp.io.readers.source.Source`.

    Parameters
    ----------
    X : array-like, sparse matrix, frame, path, list of paths, iterator, callable or Source
    columns : list of str, optional
        Columns to read from a file, in this order; all numeric ones by default.
    na : tuple of str
        A model's words for missing cells, for files without such options.
    """
    if is_file(X):
        X = file_rows(X, columns=columns, na=na)
    elif isinstance(X, Iterator) or (callable(X) and not isinstance(X, Source)):
        from princomp.io.readers.batches import BatchedRows

        X = BatchedRows(X, columns=columns)
    if isinstance(X, Source) and not isinstance(X, TableSource):
        return X, X.columns, X.row_origin
    return in_memory(X)


def file_rows(X: object, *, columns: list[str] | None = None, na: tuple[str, ...] = ()) -> Source:
    """Open an input for which ``is_file`` is true."""
    source = (X if isinstance(X, TableInput) else TableInput(X)).open(columns, na)
    if columns:  # those of a model, which is fitted to numbers
        warn_of_named(source)
    return source


def warn_of_named(source: Source) -> None:
    """Warn of columns of a model that are true and false, or text."""
    for note in source.notes:
        if isinstance(note, NamedNote):
            warn(printable(note))


# ---- one column, such as the groups in a plot ----------------------------------------


def named_column(X: object, name: str, parameter: str = "groups") -> Any:
    """Cells (n,) of a column of a frame or of files, as numbers if all cells are numbers.

    Raises
    ------
    ColumnError
        There is no such column, or names of columns are repeated.
    ParameterError
        X has no named columns.
    """
    read = X if isinstance(X, TableInput) else TableInput(X)
    table = read.table
    if is_frame(table):
        frame = eager_frame(table)
        if name not in frame.columns:
            known = [str(label) for label in frame.columns]
            problem = f"{parameter}={name!r} is not a column of the frame"
            hint = f"{did_you_mean(name, known)}Its columns are {', '.join(known)}."
            raise ColumnError(problem, place={"parameter": parameter, "column": name}, hint=hint)
        return frame.get_column(name).to_native()
    if not is_file(table):
        problem = f"{parameter}={name!r} is a name, and the rows have no named columns"
        hint = "Give rows in a frame or file, or one value for each row."
        raise ParameterError(problem, place={"parameter": parameter}, hint=hint)
    paths = table if isinstance(table, list | tuple) else [table]
    columns, exclude = (
        () if isinstance(names, str) else [other for other in names if other != name]
        for names in (read.columns, read.exclude)
    )
    cells = file_column(paths, name, read.options, columns or None, exclude)
    return cells if are_anndata_files(paths) else as_numbers(cells)


def file_column(
    paths: Sequence[str | os.PathLike[str]],
    name: str,
    options: ReadOptions = DETECT,
    columns: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
) -> NDArray[Any]:
    """Cells (n,) of a column of files; in .h5ad files, of a column of ``obs``.

    Besides this column, only ``columns`` are read, and not those in ``exclude``.

    Raises
    ------
    ColumnError
        There is no such column.
    NotAvailableError
        The column is one of ``obs``, and ``untrusted=True``.
    """
    if are_anndata_files(paths):
        if options.untrusted:
            problem = f"the column {name!r} of obs cannot be read with untrusted=True"
            hint = "Leave out untrusted=True if you trust the file."
            raise NotAvailableError(problem, place={"column": name}, hint=hint)
        files = [split_inside(path)[0] for path in expand_patterns(paths)]
        import_optional("h5py", files[0])
        from princomp.io.readers.h5ad import obs_column

        return np.concatenate([obs_column(file, name) for file in files])
    try:
        source = open_files(
            paths, columns=columns, exclude=exclude, id_column=name, options=options
        )
    except ParameterError as error:
        if error.place.get("parameter") != "id_column":
            raise
        file = error.place.get("file", paths[0])
        problem = f"no column {name!r}: it holds numbers only"
        hint = "Keep the table, with this column, as CSV or Parquet."
        raise file_error(ColumnError, file, problem, hint, column=name) from None
    cells: list[Any] = []
    words, unasked = Counter[str](), MISSING.difference(options.na, [""])
    parts: Sequence[Any] = getattr(source, "sources", (source,))
    for part in parts:
        found = [cell for chunk in part.checked_chunks() for cell in chunk.ids]
        if part.number_format is not None:
            words.update(text for cell in found if (text := (cell or "").strip()) in unasked)
            found = part.number_format.plain_column(found)
        cells += found
    # Among numbers, true and false, such a word cannot be a category.
    texts = (str(cell) for cell in cells if read_number(cell) is None)
    if words and not all(map(is_true_or_false, texts)):
        problem = f"column {name!r}: {counted(words.total(), 'cell')} with {listed(words)} "
        problem += f"count{'s' * (words.total() == 1)} as missing"
        warn(printable(f"{problem}; if this is a category, call it otherwise in the file"))
    return np.fromiter(cells, object, len(cells))


def are_anndata_files(paths: Sequence[str | os.PathLike[str]]) -> bool:
    """Whether all files are AnnData files, whose named columns are outside the matrix."""
    return all(ending_of(split_inside(path)[0]) == ".h5ad" for path in paths)


def has_named_columns(X: object) -> bool:
    """Whether X is a frame or a file, so that its columns can have names."""
    return is_frame(X) or is_file(X)


def without_column(X: object, name: str) -> Any:
    """Return a frame without a column; return other inputs unchanged."""
    if not is_frame(X):
        return X
    frame = eager_frame(X)
    return frame.drop(name).to_native() if name in frame.columns else X


def as_numbers(cells: NDArray[Any]) -> NDArray[Any]:
    """Convert cells to numbers, with NaN if missing; if one is text, to text, with None."""
    numbers = [read_number(cell) for cell in cells]
    return as_texts(cells) if None in numbers else np.array(numbers, dtype=np.float64)


def as_texts(cells: Iterable[Any]) -> NDArray[np.object_]:
    """Convert cells to text, with None if missing."""
    return np.array(
        [None if cell is None or cell != cell or cell == "" else str(cell) for cell in cells],
        dtype=object,
    )
