"""Code that commands share: parameters from flags, tables, and the columns that a model needs."""

from __future__ import annotations

import contextlib
import os
import sys
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from princomp import errors
from princomp.cli.read_options import given_read_options

if TYPE_CHECKING:
    from princomp.core import PCAParameters
    from princomp.io import Source

# Standard input of up to this many bytes is kept in memory.
MAX_STDIN_BYTES_IN_MEMORY = 2**26


def pca_parameters(options: dict[str, Any]) -> PCAParameters:
    """The parameters of a PCA that the flags describe."""
    from princomp.core import PCAParameters

    refuse_no_components(options)
    seed = options.get("seed")
    if seed is None and options["solver"] == "randomized":
        seed = 0  # the same result in each run
    return PCAParameters(
        n_components=options["k"],
        svd_solver=options["solver"],
        scale=options["scale"],
        center=not options["no_center"],
        missing=options["missing"],
        memory_limit=options["memory"],
        random_state=seed,
        constant=options["constant"],
    )


def refuse_no_components(options: dict[str, Any]) -> None:
    """Refuse a fit with 0 components, whose results would be empty.

    Raises
    ------
    ShapeError
    """
    if options["k"] == 0:
        raise errors.ShapeError(
            "-k 0 leaves no scores to write",
            place={"parameter": "k"},
            hint="use -k 1 or more",
        )


def open_for_fit(files: Sequence[str], options: dict[str, Any]) -> Source:
    """Open files or standard input, with the flags of a fit."""
    id_column = options["id_column"]
    if id_column is not None and options.get("no_id"):
        raise click.UsageError("--id names the rows and --no-id does not: leave one of them out")
    return _open_files(
        files, options["columns"], options["exclude"] or (), id_column, rereadable=True
    )


def _open_files(
    files: Sequence[str],
    columns: list[str] | None,
    exclude: Sequence[str] = (),
    id_column: str | None = None,
    *,
    rereadable: bool = False,
) -> Source:
    flags = click.get_current_context().params
    arguments: Any = {
        "columns": columns,
        "exclude": exclude,
        "id_column": False if flags.get("no_id") else id_column,
        "options": given_read_options(),
    }
    if "-" not in files:
        from princomp.io import open_files

        return open_files(files, **arguments)
    if len(files) > 1:
        raise errors.ParameterError(
            "standard input (-) cannot be put together with files",
            place={"parameter": "FILE"},
            hint="give files only, or all rows through standard input",
        )
    from princomp.io import open_stdin, read_if_small

    source = open_stdin(_standard_input(), **arguments)
    # A small table is kept in memory, so that its rows can be read again for their scores.
    return read_if_small(source, MAX_STDIN_BYTES_IN_MEMORY) if rereadable else source


def _standard_input() -> BinaryIO:
    if sys.stdin is None:  # the parent process closed it
        raise errors.InputNotFoundError(
            "standard input: it is closed, so there is nothing to read",
            place={"file": "standard input"},
            hint="send a table through a pipe, or give the name of a file",
        )
    return sys.stdin.buffer


def open_for_model(
    files: Sequence[str],
    model: Any,
    *,
    scores: bool = False,
    allow_unnamed: bool = False,
    extra: Sequence[str] = (),
) -> tuple[Source, list[str]]:
    """Open files with the columns of a model, or with scores, matched by name; also return notes.

    With ``allow_unnamed``, columns without names are accepted and matched by position. No note
    says that the columns ``extra`` are ignored: the caller reads them.
    """
    from princomp.core import fitted_model
    from princomp.reports import column_names, component_names

    fitted: Any = fitted_model(model)
    names = component_names(fitted.k) if scores else column_names(model)
    if names is None:
        return _open_files(files, None), []
    if "-" in files and _stdin_is_npy():
        return _accept_unnamed(_open_files(files, None), allow_unnamed), []
    source, notes = _open_columns(files, names, fitted.schema.id_column, allow_unnamed)
    notes.extend(source.notes)
    unused = [name for name in source.unused if name not in (source.id_column, *extra)]
    if unused:
        notes.append(f"ignored columns that the model does not use: {', '.join(unused)}")
    return source, notes


def _open_columns(
    files: Sequence[str], names: list[str], id_column: str | None, allow_unnamed: bool
) -> tuple[Source, list[str]]:
    try:
        return _open_files(files, names, id_column=id_column), []
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
            source, notes = _open_columns(files, names, None, allow_unnamed)
            if source.columns is not None:
                notes.append(f"{file} has no id column {id_column!r}; its rows have no names")
            return source, notes
        if "available" in place:
            missing = [name for name in names if name not in place["available"]]
            new = [name for name in place["available"] if name not in [*names, id_column]]
            raise errors.ColumnError(
                f"{file} lacks columns of the model: {', '.join(missing)}"
                + (f"; new in it: {', '.join(new)}" if new else ""),
                place={"file": str(file), "missing": missing, "new": new},
                hint="rename the columns to those of the model (princomp show lists them)",
            ) from None
        source = _open_files(files, None)
        if source.columns is not None:
            raise
        return _accept_unnamed(source, allow_unnamed), []


def _stdin_is_npy() -> bool:
    """Whether standard input is an .npy file, perhaps with gzip; no text begins with byte 0x93."""
    peek = getattr(_standard_input(), "peek", None)
    start = b"" if peek is None else peek(1)
    if start.startswith(b"\x1f\x8b"):
        with contextlib.suppress(zlib.error):  # reported when the table is read
            start = zlib.decompressobj(wbits=31).decompress(start, 1)  # with a gzip header
    return start[:1] == b"\x93"


def _accept_unnamed(source: Source, allow_unnamed: bool) -> Source:
    """Return a source without column names if ``allow_unnamed``; otherwise refuse it."""
    if not allow_unnamed:
        raise errors.ColumnError(
            f"{source.file}: its columns have no names, but those of the model do",
            place={"file": source.file},
            hint="give a table whose columns are named as in the model (princomp show lists them)",
        )
    return source


def output_stem(files: Sequence[str]) -> str:
    """Default name for the results of files."""
    if "-" in files:
        return "stdin"
    name = files[0].partition("::")[0]
    if any(wildcard in name for wildcard in "*?["):
        name = name.translate(str.maketrans("", "", "*?[]"))
    return Path(name).name.partition(".")[0].strip("-_ ") or "table"


def check_outputs(
    outputs: Iterable[Path], inputs: Iterable[str | Path], *, force: bool, tables: bool = False
) -> None:
    """Refuse outputs that are an input, even with --force, or cannot be written, before any work.

    With ``tables``, also refuse those whose extension is not that of a table.
    """
    from princomp.io import check_writable, table_format

    outputs = list(outputs)
    input_paths = {path.resolve() for name in inputs for path in _expand(str(name))}
    for output in outputs:
        if os.path.exists(output) and output.resolve() in input_paths:
            raise errors.OutputExistsError(
                f"{output} is an input of this run and would be lost",
                place={"file": str(output)},
                hint="give the output another name",
            )
        if tables:
            table_format(output)
    check_writable(outputs, force=force)


def _expand(name: str) -> list[Path]:
    """The files that a name or pattern stands for."""
    from princomp.io import expand_patterns, split_inside

    if name == "-":
        return []
    return [split_inside(path)[0] for path in expand_patterns([name])]
