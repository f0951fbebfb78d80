"""What the commands do: read a table, bind its columns, write results."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from princomp import errors
from princomp.cli.printed import print_json, say

if TYPE_CHECKING:
    from princomp.estimator import PCA
    from princomp.sources.source import Source

__all__ = [
    "bound",
    "check_output",
    "estimator",
    "hand_over",
    "read",
    "refuse_inputs",
    "refuse_no_components",
    "result_files",
    "stem_of",
    "write_results",
    "write_scores",
]


# Standard input up to so many bytes is kept in memory.
_KEPT = 2**26
_TABLES = ("scores", "loadings", "eigenvalues")


def estimator(options: dict[str, Any]) -> PCA:
    """The estimator that the flags describe."""
    from princomp.estimator import PCA

    refuse_no_components(options)
    return PCA(
        options["k"],
        svd_solver=options["solver"],
        scale=None if options["scale"] == "none" else options["scale"],
        center=not options["no_center"],
        missing=options["missing"],
        memory_limit=options["memory"],
    )


def refuse_no_components(options: dict[str, Any]) -> None:
    """Refuse a fit whose results would be empty.

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
    """The rows of files or of standard input, as the flags of a fit ask for them."""
    return _opened(
        files, options["columns"], options["exclude"] or (), options["id_column"], again=True
    )


def _opened(
    files: Sequence[str],
    columns: list[str] | None,
    exclude: Sequence[str] = (),
    id_column: str | None = None,
    *,
    again: bool = False,
) -> Source:
    if "-" not in files:
        from princomp.sources.files import open_files

        return open_files(files, columns=columns, exclude=exclude, id_column=id_column)
    if len(files) > 1:
        raise errors.ParameterError(
            "standard input (-) cannot be put together with files",
            place={"parameter": "FILE"},
            hint="give files only, or all rows through standard input",
        )
    from princomp.sources.holding import gathered
    from princomp.sources.stdin import open_stdin

    source = open_stdin(_standard_input(), columns, exclude, id_column)
    # A table that is small is kept, so that its rows can be read again for their scores.
    return gathered(source, _KEPT) if again else source


def _standard_input() -> BinaryIO:
    if sys.stdin is None:  # closed by whoever started the process
        raise errors.InputNotFoundError(
            "standard input: it is closed, so there is nothing to read",
            place={"file": "standard input"},
            hint="send a table through a pipe, or give the name of a file",
        )
    return sys.stdin.buffer


def bound(
    files: Sequence[str], names: list[str] | None, model: PCA, *, numbered: bool = False
) -> tuple[Source, list[str]]:
    """The columns of files that a model wants, by name; an extra one is noted.

    With ``numbered``, columns that have no names are taken as they stand.
    """
    if names is None:
        return _opened(files, None), []
    if "-" in files and _brings_an_array():
        return _nameless(_opened(files, None), numbered), []
    source, notes = _bound(files, names, model.__dict__.get("id_column_"), numbered)
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
            raise  # it cannot be opened again
        if no_ids:
            source, notes = _bound(files, names, None, numbered)
            if source.columns is not None:
                notes.append(f"{file} has no id column {id_column!r}; the rows go without")
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
    """Rows whose columns have no names, where they may be taken as they stand."""
    if not numbered:
        raise errors.ColumnError(
            f"{source.file}: its columns have no names, and those of the model have",
            place={"file": source.file},
            hint="give a table whose columns are named as in the model (princomp show lists them)",
        )
    return source


def _unbound(
    error: errors.PrincompError, file: str, names: list[str], id_column: str | None
) -> errors.ColumnError:
    """Say which columns of the model are missing in a file, and which are new."""
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
    """What the results of these files are called by default."""
    if "-" in files:
        return "stdin"
    name = files[0].partition("::")[0]
    if any(mark in name for mark in "*?["):
        name = name.translate(str.maketrans("", "", "*?[]"))
    return Path(name).name.partition(".")[0].strip("-_ ") or "table"


def result_files(stem: str, options: dict[str, Any]) -> dict[str, Path]:
    """Where the results of a fit go."""
    folder = options["output"] or Path(f"{stem}_pca")
    tables = ["loadings", "eigenvalues"] if options["no_scores"] else list(_TABLES)
    if options.get("kernel"):
        tables.remove("loadings")
    if options.get("robust") and not options["no_scores"]:
        tables.append("outliers")
    files = {name: folder / f"{name}.{options['kind']}" for name in tables}
    return {**files, "model": options["model"] or folder / "model.pca"}


def write_results(
    model: PCA, source: Source, files: dict[str, Path], force: bool, quiet: bool
) -> None:
    """Scores, eigenvalues, the model and loadings where there are any; each whole or not at all."""
    from princomp.documents import columns_of, component_names, rates_table
    from princomp.outputs import write_table

    components = component_names(model.n_components_)
    all_components, rates = rates_table(model)
    if "scores" in files:
        write_scores(model, source, files["scores"], components, force, quiet)
    if "loadings" in files:
        write_table(
            files["loadings"],
            columns=components,
            data=model.loadings_,
            ids=list(map(str, columns_of(model))),
            id_column="variable",
            force=force,
        )
    write_table(
        files["eigenvalues"],
        columns=["eigenvalue", "contribution_rate", "accumulated_rate"],
        data=rates,
        ids=all_components,
        id_column="component",
        force=force,
    )
    model.save(files["model"], overwrite=force)


def write_scores(
    model: Any, source: Source, file: Path, components: list[str], force: bool, quiet: bool
) -> None:
    """Scores of the rows of a source, block by block, under a model or a rotation of one."""
    from princomp.cli.watching import bar
    from princomp.outputs import open_table
    from princomp.progress import Teller

    with (
        bar(quiet) as tell,
        open_table(
            file,
            columns=components,
            id_column=source.id_column,
            with_ids=source.id_column is not None,
            dtype=source.dtype,
            rows=source.rows,
            force=force,
        ) as table,
    ):
        teller, at = Teller(tell), 0
        teller.begin("scores", source.rows or model.n_samples_, source.p * source.dtype.itemsize)
        for chunk in source.chunks():
            table.write(model._chunk_scores(chunk.data, source, at), chunk.ids)
            at += chunk.data.shape[0]
            teller.advance(at)


def refuse_inputs(outputs: Iterable[Path], inputs: Iterable[str | Path]) -> None:
    """Refuse to write over what is read, whatever was forced."""
    read = {path.resolve() for name in inputs for path in _files_of(str(name))}
    for output in outputs:
        if output.resolve() in read:
            raise errors.OutputExistsError(
                f"{output} is an input of this run and would be lost",
                place={"file": str(output)},
                hint="give the output another name",
            )


def _files_of(name: str) -> list[Path]:
    """The files that a name stands for; one that is not there is told of elsewhere."""
    from princomp.sources.files import parts_of
    from princomp.sources.several import expanded

    if name == "-":
        return []
    try:
        return [parts_of(path)[0] for path in expanded([name])]
    except errors.PrincompError:
        return []


def check_output(output: Path | None, force: bool, *inputs: str | Path) -> None:
    """Refuse an output that cannot be written, or is an input, before any work."""
    from princomp.atomic import check_writable
    from princomp.outputs import table_format

    if output is not None:
        refuse_inputs([output], inputs)
        table_format(output)
        check_writable([output], force=force)


def hand_over(
    command: str,
    source: Source,
    made: Callable[[Source], Iterator[tuple[Any, Any]]],
    columns: list[str],
    output: Path | None,
    force: bool,
    as_json: bool,
    notes: list[str],
) -> None:
    """Write what is made of a source to a file or stdout, or put it into the document."""
    from princomp.documents import document, of_rows
    from princomp.outputs import open_table

    if as_json and output is None:
        import numpy as np

        blocks = list(made(source))
        ids = None if source.id_column is None else np.concatenate([ids for _, ids in blocks])
        data = np.concatenate([data for data, _ in blocks])
        print_json(of_rows(command, columns, data, ids, notes))
        return
    rows = 0
    with open_table(
        sys.stdout.buffer if output is None else output,
        columns=columns,
        id_column=source.id_column,
        with_ids=source.id_column is not None,
        dtype=source.dtype,
        rows=source.rows,
        force=force,
    ) as table:
        for data, ids in made(source):
            table.write(data, ids)
            rows += len(data)
    if as_json:
        files = {"data": str(output)}
        print_json(document(command, rows=rows, columns=columns, notes=notes, files=files))
    else:
        say(notes)
