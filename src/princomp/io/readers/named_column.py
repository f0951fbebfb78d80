"""Read one column of a table by its name, such as the groups in a plot."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from princomp.errors import ColumnError, NotAvailableError, ParameterError, did_you_mean
from princomp.io.readers.files import expand_patterns
from princomp.io.readers.frames import is_frame
from princomp.io.readers.read_options import DETECT, ReadOptions
from princomp.io.readers.reader_errors import file_error, import_optional
from princomp.io.readers.table_input import TableInput, is_file


def named_column(X: Any, name: str, parameter: str = "groups") -> Any:
    """Cells (n,) of a column of a frame or of files, as numbers if all cells are numbers.

    Raises
    ------
    ColumnError
        There is no such column.
    ParameterError
        X has no named columns.
    """
    read = X if isinstance(X, TableInput) else TableInput(X)
    table = read.table
    if is_frame(table):
        frame = nw.from_native(table, eager_only=True)
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
    from princomp.io.readers.files import open_files, split_inside

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
    return np.concatenate(
        [np.asarray(chunk.ids, dtype=object) for chunk in source.checked_chunks()]
    )


def are_anndata_files(paths: Sequence[str | os.PathLike[str]]) -> bool:
    """Whether all files are AnnData files, whose named columns are outside the matrix."""
    from princomp.io.readers.files import ending_of, split_inside

    return all(ending_of(split_inside(path)[0]) == ".h5ad" for path in paths)


def has_named_columns(X: Any) -> bool:
    """Whether X is a frame or a file, so that its columns can have names."""
    return is_frame(X) or is_file(X)


def without_column(X: Any, name: str) -> Any:
    """Return a frame without a column; return other inputs unchanged."""
    if isinstance(X, TableInput) or not is_frame(X):
        return X
    frame = nw.from_native(X, eager_only=True)
    return frame.drop(name).to_native() if name in frame.columns else X


def as_numbers(cells: NDArray[Any]) -> NDArray[Any]:
    """Convert cells to numbers, with NaN if missing; if one is text, to text, with None."""
    try:
        return np.array([np.nan if cell is None else float(cell) for cell in cells])
    except (TypeError, ValueError):
        return as_texts(cells)


def as_texts(cells: Iterable[Any]) -> NDArray[np.object_]:
    """Convert cells to text, with None if missing."""
    return np.array(
        [None if cell is None or cell != cell or cell == "" else str(cell) for cell in cells],
        dtype=object,
    )
