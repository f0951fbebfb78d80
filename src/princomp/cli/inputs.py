"""Tables and models that commands read: rows to fit, rows for a model, and other columns."""

from __future__ import annotations

import contextlib
import os
import sys
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from princomp import core, errors, estimators, io, reports
from princomp.cli.kinds_of_pca import pca_parameters
from princomp.cli.options import given_options, given_read_options, plain_fit_options
from princomp.cli.output import progress_bar

if TYPE_CHECKING:
    from numpy.typing import NDArray


# Standard input of up to this many bytes is kept in memory.
MAX_STDIN_BYTES_IN_MEMORY = 2**26


def open_for_fit(files: Sequence[str], options: dict[str, Any]) -> io.Source:
    """Open files or standard input, with the flags of a fit."""
    id_column = options["id_column"]
    if id_column is not None and options.get("no_id"):
        raise click.UsageError("--id names the rows and --no-id does not: leave one of them out")
    source = _open_files(files, options["columns"], options["exclude"] or (), id_column)
    # A small table is kept in memory, so that its rows can be read again for their scores.
    if "-" in files:
        source = io.read_if_small(source, MAX_STDIN_BYTES_IN_MEMORY)
    if options["constant"] == "zero" and options["scale"] is None:
        source.notes = (*source.notes, "--constant zero has no effect without --scale")
    return source


def _open_files(
    files: Sequence[str],
    columns: list[str] | None,
    exclude: Sequence[str] = (),
    id_column: str | None = None,
    of_model: bool = False,
    na: tuple[str, ...] = (),
) -> io.Source:
    flags = click.get_current_context().params
    arguments: Any = {
        "columns": columns,
        "exclude": exclude,
        "id_column": False if flags.get("no_id") else id_column,
        "options": given_read_options(),
        "of_model": of_model,
        "na": na,
    }
    if "-" not in files:
        return io.open_files(files, **arguments)
    if len(files) > 1:
        raise errors.ParameterError(
            "standard input (-) cannot be put together with files",
            place={"parameter": "FILE"},
            hint="give files only, or all rows through standard input",
        )

    return io.open_stdin(sys.stdin.buffer, **arguments)


def open_for_model(
    files: Sequence[str],
    model: core.HasModel[core.FittedModel[Any]],
    *,
    scores: bool = False,
    allow_unnamed: bool = False,
    extra: Sequence[str] = (),
) -> tuple[io.Source, list[str]]:
    """Open files with the columns of a model, or with scores, matched by name; also return notes.

    With ``allow_unnamed``, columns without names are accepted and matched by position; a note says
    so of columns with names, if those of the model have none. No note says that the columns
    ``extra`` are ignored: the caller reads them.
    """
    fitted: Any = core.fitted_model(model)
    na = () if scores else fitted.schema.na
    names = reports.component_names(fitted.k) if scores else reports.column_names(model)
    notes: list[str] = []
    if names is None:
        source = _open_files(files, None, na=na)
        if fitted.schema.ignores_names(source.columns):
            order = io.listed(source.columns or ())
            notes.append(
                f"{source.file} names its columns, but the model was fitted without names, so they "
                f"are taken in their order: {order}. Fit a table with names to match columns by "
                "name"
            )
    elif "-" in files and _stdin_is_npy():
        source = _accept_unnamed(_open_files(files, None), allow_unnamed)
    else:
        hint = "rename the columns to those of the model (princomp show lists them), or fit a "
        hint += "model to the columns that both tables have (princomp fit --columns)"
        if scores:
            hint = "give scores of this model, as princomp transform writes them"
        id_column = fitted.schema.id_column
        source, notes = _open_columns(files, names, id_column, allow_unnamed, hint, na)
    if na and not given_read_options().na:
        words = io.listed(map(repr, na))
        notes.append(
            f"cells with {words} count as missing, as in the fit (--na sets other words)"
            if source.na
            else f"words of the fit for missing cells ({words}) apply to text and workbooks only"
        )
    notes.extend(source.notes)
    known = {source.id_column, fitted.schema.id_column, *extra}
    unused = [name for name in source.unused if name not in known]
    if unused:
        notes.append(f"ignored columns that the model does not use: {io.listed(unused)}")
    return source, notes


def _open_columns(
    files: Sequence[str],
    names: list[str],
    id_column: str | None,
    allow_unnamed: bool,
    hint: str,
    na: tuple[str, ...],
) -> tuple[io.Source, list[str]]:
    try:
        return _open_files(files, names, id_column=id_column, of_model=True, na=na), []
    except (errors.ColumnError, errors.ParameterError) as error:
        place = error.place
        file, missing = place.get("file"), place.get("missing")
        no_id_column = id_column is not None and (
            (missing or [place.get("column")]) == [id_column]
            or place.get("parameter") == "id_column"
        )
        if "-" in files and (no_id_column or missing is None):
            if no_id_column:
                error.hint = f"Give --no-id to read rows without names. {error.hint or ''}".strip()
            raise  # standard input cannot be opened again
        if no_id_column:
            source, notes = _open_columns(files, names, None, allow_unnamed, hint, na)
            _refuse_some_without_ids(source, str(id_column))
            if source.columns is not None:
                no_names = "; its rows have no names" if source.id_column is None else ""
                notes.append(f"{file} has no id column {id_column!r}{no_names}")
            return source, notes
        if "available" in place:
            available, known = set(place["available"]), {*names, id_column}
            missing = [name for name in names if name not in available]
            new = [name for name in place["available"] if name not in known]
            raise errors.ColumnError(
                f"{file} lacks columns of the model: {io.listed(missing)}"
                + (f"; new in it: {io.listed(new)}" if new else ""),
                place={"file": str(file), "missing": missing, "new": new},
                hint=hint,
            ) from None
        source = _open_files(files, None, na=na)
        if source.columns is not None:
            raise
        return _accept_unnamed(source, allow_unnamed), []


def _refuse_some_without_ids(source: io.Source, id_column: str) -> None:
    """Refuse files some of which have the id column of the model and others not."""
    parts: Sequence[io.Source] = getattr(source, "sources", [source])
    without = [str(part.file) for part in parts if id_column not in (*part.unused, part.id_column)]
    if 0 < len(without) < len(parts):
        has = "has" if len(without) == 1 else "have"
        raise errors.ColumnError(
            f"{io.listed(without)} {has} no id column {id_column!r}, but the other files have it",
            place={"file": without[0], "column": id_column},
            hint="add the column, or give --no-id, which numbers the rows of all files",
        )


def _stdin_is_npy() -> bool:
    """Whether standard input is an .npy file, perhaps with gzip."""
    peek = getattr(sys.stdin.buffer, "peek", None)
    start = b"" if peek is None else peek(1)
    if start.startswith(b"\x1f\x8b"):
        with contextlib.suppress(zlib.error):  # reported when the table is read
            start = zlib.decompressobj(wbits=31).decompress(start, 6)  # with a gzip header
    return start.startswith(b"\x93NUMPY")


def _accept_unnamed(source: io.Source, allow_unnamed: bool) -> io.Source:
    """Return a source without column names if ``allow_unnamed``; otherwise refuse it."""
    if not allow_unnamed:
        raise errors.ColumnError(
            f"{source.file}: its columns have no names, but those of the model do",
            place={"file": source.file},
            hint="give a table whose columns are named as in the model (princomp show lists them)",
        )
    return source


# ---- a model, and rows or a table that is fitted first --------------------------------


def is_table(name: str) -> bool:
    """Whether a name refers to a table, or to a folder of tables, instead of a model."""
    path = io.split_inside(name)[0]
    if name == "-" or io.ending_of(path) is not None:
        return True
    # A folder of results holds a model.
    return os.path.isdir(path) and not os.path.exists(path / "model.pca")


def _is_model(name: str) -> bool:
    """Whether a name refers to a file that begins like a model file."""
    path = Path(name)
    if is_table(name) or not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(9)[8:] == b"{"


def check_plain(model: core.HasModel[core.FittedModel[Any]], path: Path, requirement: str) -> None:
    """Refuse a model that is not a plain PCA; ``requirement`` says why it must be one.

    Raises
    ------
    NotAvailableError
    """
    if not isinstance(core.fitted_model(model), core.PCAModel):
        flag = "--kernel" if reports.is_kernel_pca(model) else "--robust"
        raise errors.NotAvailableError(
            f"{path} is a {type(model).__name__}, and {requirement}",
            place={"file": str(path)},
            hint=f"fit a plain PCA to the same rows: princomp fit without {flag}",
        )


def _refuse_fit_flags(model: str) -> None:
    """Refuse flags of a fit, which a model that is already fitted would ignore."""
    if given := given_options(plain_fit_options):
        raise click.UsageError(
            f"{given[-1].opts[0]} is an option of a fit, but {model} is a model: give the table "
            "instead"
        )


def model_and_rows(
    files: Sequence[str],
    options: dict[str, Any],
    quiet: bool,
    requirement: str,
    extra: Sequence[str] = (),
) -> tuple[estimators.PCA, io.Source | None, list[str], dict[str, NDArray[Any]]]:
    """Load MODEL and open DATA…, if any, or fit FILE…; ``extra`` columns are not analysed.

    Return the model, the rows, notes on them, and the extra columns by name. ``requirement`` says
    in a message why the model must be a PCA.

    Raises
    ------
    click.UsageError
        One of the files to fit is a model, or options of a fit are given with a model.
    """
    if not is_table(files[0]):
        _refuse_fit_flags(files[0])
        model = estimators.load(Path(files[0]))
        check_plain(model, Path(files[0]), requirement)
        if len(files) == 1:
            return model, None, [], {}
        return model, *rows_and_extra(model, files[1:], extra)
    for name in files:
        if _is_model(name):
            raise click.UsageError(f"{name} is a model: MODEL comes first, then DATA")
    if not io.are_anndata_files(files):
        options = {**options, "exclude": [*(options["exclude"] or ()), *extra]}
    source = open_for_fit(files, options)
    values = _extra_values(files, source.columns, extra)
    model = estimators.PCA(**pca_parameters(options)._asdict())
    with progress_bar(quiet) as progress:
        model.fit(source, progress=progress)
    model.id_column_ = source.id_column
    return model, source, [*source.notes, *notes_on_cells(core.fitted_model(model))], values


def notes_on_cells(fitted: Any, *, scores: bool = False) -> list[str]:
    """Notes of a fit on missing cells and constant columns; ``scores`` are written."""
    result, imputer = fitted.result, getattr(fitted, "imputer", None)
    phrases = ("constant column", "rows without any cell", "row without any cell")
    kept_notes = [
        note for note in getattr(result, "notes", ()) if any(phrase in note for phrase in phrases)
    ]
    filled = getattr(result, "filled", None) if imputer is None else imputer.imputed_
    if filled is not None and filled.cells:
        return [str(filled), *kept_notes]
    if not result.dropped:
        return kept_notes
    start = f"rows with missing values: {result.dropped:,}; they were left out of the fit"
    notes = (note for note in getattr(result, "notes", ()) if note.startswith(start))
    note = next(notes, start)  # a fit of rows in memory may name a column
    return [f"{note}, and their scores are empty" if scores else note, *kept_notes]


def rows_and_extra(
    pca: estimators.PCA, files: Sequence[str], extra: Sequence[str]
) -> tuple[io.Source, list[str], dict[str, NDArray[Any]]]:
    """Return rows with the columns of a model, notes on them, and other columns by name."""
    values = _extra_values(files, reports.column_names(pca), extra)
    return *open_for_model(files, pca, extra=extra), values


def _extra_values(
    files: Sequence[str], columns: Sequence[str] | None, extra: Sequence[str]
) -> dict[str, NDArray[Any]]:
    """Return columns that the model does not analyse; for .h5ad files, those of ``obs``.

    Raises
    ------
    click.UsageError
        The files include standard input, which cannot be read again.
    ColumnError
        A column does not exist, or the model analyses it.
    """
    if extra and "-" in files:
        raise click.UsageError(
            "--groups and --metadata read DATA a second time, so DATA cannot be standard input"
        )
    values = {}
    for name in extra:
        if columns is not None and name in columns and not io.are_anndata_files(files):
            raise errors.ColumnError(
                f"the model analyses the column {name!r}",
                place={"column": name},
                hint="name a column that was left out of the fit",
            )
        values[name] = io.file_column(files, name, given_read_options(), columns)
    return values
