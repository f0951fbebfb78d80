"""Code that commands share: parameters from flags, tables, and the columns that a model needs."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias

import click

from princomp import errors
from princomp.cli.read_options import reading_of

if TYPE_CHECKING:
    from princomp.core import PCAModel, PCAParameters
    from princomp.estimators import PCA, RobustPCA
    from princomp.io import Source
    from princomp.kernel_pca import KernelPCA

__all__ = [
    "Model",
    "bound",
    "check_output",
    "estimator",
    "parameters_of",
    "read",
    "refuse_inputs",
    "refuse_no_components",
    "stem_of",
]


# A plain PCA may be a PCAModel, because its estimator would import scikit-learn.
Model: TypeAlias = "PCAModel | PCA | RobustPCA | KernelPCA"

# Standard input of up to this many bytes is kept in memory.
_KEPT = 2**26


def estimator(options: dict[str, Any]) -> PCA:
    """Make the estimator that the flags describe."""
    from princomp.estimators import PCA

    return PCA(**parameters_of(options)._asdict())


def parameters_of(options: dict[str, Any]) -> PCAParameters:
    """The parameters of a PCA that the flags describe."""
    from princomp.core import PCAParameters

    refuse_no_components(options)
    return PCAParameters(
        n_components=options["k"],
        svd_solver=options["solver"],
        scale=None if options["scale"] == "none" else options["scale"],
        center=not options["no_center"],
        missing=options["missing"],
        memory_limit=options["memory"],
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
            hint="ask for at least 1 component",
        )


def read(files: Sequence[str], options: dict[str, Any]) -> Source:
    """Open files or standard input, with the flags of a fit."""
    id_column = options["id_column"]
    if id_column is not None and options.get("no_id"):
        raise click.UsageError("--id names the rows and --no-id does not: leave one of them out")
    return _opened(files, options["columns"], options["exclude"] or (), id_column, again=True)


def _opened(
    files: Sequence[str],
    columns: list[str] | None,
    exclude: Sequence[str] = (),
    id_column: str | None = None,
    *,
    again: bool = False,
) -> Source:
    given = click.get_current_context().params
    how: Any = {
        "columns": columns,
        "exclude": exclude,
        "id_column": False if id_column is None and given.get("no_id") else id_column,
        "options": reading_of(given),
    }
    if "-" not in files:
        from princomp.io import open_files

        return open_files(files, **how)
    if len(files) > 1:
        raise errors.ParameterError(
            "standard input (-) cannot be put together with files",
            place={"parameter": "FILE"},
            hint="give files only, or all rows through standard input",
        )
    from princomp.io import open_stdin, read_if_small

    source = open_stdin(_standard_input(), **how)
    # A small table is kept in memory, so that its rows can be read again for their scores.
    return read_if_small(source, _KEPT) if again else source


def _standard_input() -> BinaryIO:
    if sys.stdin is None:  # the parent process closed it
        raise errors.InputNotFoundError(
            "standard input: it is closed, so there is nothing to read",
            place={"file": "standard input"},
            hint="send a table through a pipe, or give the name of a file",
        )
    return sys.stdin.buffer


def bound(
    files: Sequence[str], names: list[str] | None, model: Model, *, numbered: bool = False
) -> tuple[Source, list[str]]:
    """Open files with the columns of a model, matched by name; also return notes.

    With ``numbered``, columns without names are accepted and matched by position.
    """
    if names is None:
        return _opened(files, None), []
    if "-" in files and _brings_an_array():
        return _nameless(_opened(files, None), numbered), []
    from princomp.core import FittedModel, fitted_model

    fitted: FittedModel[Any] = fitted_model(model)
    source, notes = _bound(files, names, fitted.schema.id_column, numbered)
    notes.extend(source.notes)
    if source.unused:
        notes.append(f"ignored columns that the model does not use: {', '.join(source.unused)}")
    return source, notes


def _bound(
    files: Sequence[str], names: list[str], id_column: str | None, numbered: bool
) -> tuple[Source, list[str]]:
    try:
        return _opened(files, names, id_column=id_column), []
    except (errors.ColumnError, errors.ParameterError) as error:
        place = error.place
        file, missing = place.get("file"), place.get("missing")
        no_ids = id_column is not None and (
            (missing or [place.get("column")]) == [id_column]
            or place.get("parameter") == "id_column"
        )
        if "-" in files and (no_ids or missing is None):
            raise  # standard input cannot be opened again
        if no_ids:
            source, notes = _bound(files, names, None, numbered)
            if source.columns is not None:
                notes.append(f"{file} has no id column {id_column!r}; its rows have no names")
            return source, notes
        if "available" in error.place:
            raise _unbound(error, str(file), names, id_column) from None
        source = _opened(files, None)
        if source.columns is not None:
            raise
        return _nameless(source, numbered), []


def _brings_an_array() -> bool:
    """Whether standard input is an .npy file; no text begins with this byte."""
    look = getattr(_standard_input(), "peek", None)
    return look is not None and look(1)[:1] == b"\x93"


def _nameless(source: Source, numbered: bool) -> Source:
    """Return a source without column names if ``numbered`` allows it; otherwise refuse it."""
    if not numbered:
        raise errors.ColumnError(
            f"{source.file}: its columns have no names, but those of the model do",
            place={"file": source.file},
            hint="give a table whose columns are named as in the model (princomp show lists them)",
        )
    return source


def _unbound(
    error: errors.PrincompError, file: str, names: list[str], id_column: str | None
) -> errors.ColumnError:
    """Make the error that says which columns of the model a file lacks, and which are new."""
    available = error.place["available"]
    missing = [name for name in names if name not in available]
    new = [name for name in available if name not in names and name != id_column]
    return errors.ColumnError(
        f"{file} lacks columns of the model: {', '.join(missing)}"
        + (f"; new in it: {', '.join(new)}" if new else ""),
        place={"file": file, "missing": missing, "new": new},
        hint="rename the columns to those of the model (princomp show lists them)",
    )


def stem_of(files: Sequence[str]) -> str:
    """Default name for the results of files."""
    if "-" in files:
        return "stdin"
    name = files[0].partition("::")[0]
    if any(mark in name for mark in "*?["):
        name = name.translate(str.maketrans("", "", "*?[]"))
    return Path(name).name.partition(".")[0].strip("-_ ") or "table"


def refuse_inputs(outputs: Iterable[Path], inputs: Iterable[str | Path]) -> None:
    """Refuse to overwrite an input, even with --force."""
    read = {path.resolve() for name in inputs for path in _files_of(str(name))}
    for output in outputs:
        if output.resolve() in read:
            raise errors.OutputExistsError(
                f"{output} is an input of this run and would be lost",
                place={"file": str(output)},
                hint="give the output another name",
            )


def _files_of(name: str) -> list[Path]:
    """The files that a name or pattern stands for; missing files are reported when opened."""
    from princomp.io import expanded, parts_of

    if name == "-":
        return []
    try:
        return [parts_of(path)[0] for path in expanded([name])]
    except errors.PrincompError:
        return []


def check_output(output: Path | None, force: bool, *inputs: str | Path) -> None:
    """Refuse an output that cannot be written, or is an input, before any work."""
    from princomp.io import check_writable, table_format

    if output is not None:
        refuse_inputs([output], inputs)
        table_format(output)
        check_writable([output], force=force)
