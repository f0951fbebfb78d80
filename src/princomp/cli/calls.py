"""What the commands do: read a table, bind its columns, write results."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from princomp import errors
from princomp.cli.printed import print_json, say

if TYPE_CHECKING:
    from princomp.estimator import PCA
    from princomp.sources.table import Table

__all__ = [
    "bound",
    "check_output",
    "estimator",
    "hand_over",
    "read",
    "refuse_inputs",
    "results",
    "write_results",
]


def estimator(options: dict[str, Any]) -> PCA:
    """The estimator that the flags describe."""
    from princomp.estimator import PCA

    if options["k"] == 0:
        raise errors.ShapeError(
            "-k 0 leaves no scores to write",
            place={"parameter": "k"},
            hint="ask for at least 1 component",
        )
    return PCA(
        options["k"],
        svd_solver=options["solver"],
        scale=None if options["scale"] == "none" else options["scale"],
        center=not options["no_center"],
        missing=options["missing"],
    )


def read(file: Path, options: dict[str, Any]) -> Table:
    """The table of a file, as the flags of a fit ask for it."""
    from princomp.sources.files import read_table

    return read_table(
        file,
        columns=options["columns"],
        exclude=options["exclude"] or (),
        id_column=options["id_column"],
    )


def bound(file: Path, names: list[str] | None, model: PCA) -> tuple[Table, list[str]]:
    """The columns of a file that a model wants, by name; an extra one is noted."""
    from princomp.sources.files import read_table

    id_column = model.__dict__.get("id_column_")
    notes: list[str] = []
    if names is None:
        return read_table(file), notes
    try:
        table = read_table(file, columns=names, id_column=id_column)
    except errors.ColumnError as error:
        missing = error.place.get("missing")
        if missing is None:
            raise
        if missing != [id_column]:
            raise _unbound(error, file, names, id_column) from None
        notes.append(f"{file} has no id column {id_column!r}; the rows go without")
        table = read_table(file, columns=names)
    if table.unused:
        notes.append(f"ignored columns that the model does not use: {', '.join(table.unused)}")
    return table, notes


def _unbound(
    error: errors.ColumnError, file: Path, names: list[str], id_column: str | None
) -> errors.ColumnError:
    """Say which columns of the model are missing in a file, and which are new."""
    available = error.place["available"]
    missing = [name for name in names if name not in available]
    new = [name for name in available if name not in names and name != id_column]
    return errors.ColumnError(
        f"{file} lacks columns of the model: {', '.join(missing)}"
        + (f"; new in it: {', '.join(new)}" if new else ""),
        place={"file": str(file), "missing": missing, "new": new},
        hint="rename the columns to those of the model (princomp show lists them)",
    )


def results(file: Path, options: dict[str, Any]) -> dict[str, Path]:
    """Where the results of a fit go."""
    stem = file.name.partition(".")[0] or "table"
    folder = options["output"] or Path(f"{stem}_pca")
    files = {
        name: folder / f"{name}.{options['kind']}" for name in ("scores", "loadings", "eigenvalues")
    }
    return {**files, "model": options["model"] or folder / "model.pca"}


def write_results(model: PCA, table: Table, files: dict[str, Path], force: bool) -> None:
    """Scores, loadings, eigenvalues and the model, each whole or not at all."""
    from princomp.documents import component_names, rates_table
    from princomp.outputs import write_table

    components = component_names(model.n_components_)
    columns = getattr(model, "feature_names_in_", range(model.n_features_in_))
    all_components, rates = rates_table(model)
    scores = model.transform(table)
    id_column = model.__dict__.get("id_column_")
    write_table(
        files["scores"],
        columns=components,
        data=scores,
        ids=table.ids,
        id_column=id_column,
        force=force,
    )
    write_table(
        files["loadings"],
        columns=components,
        data=model.loadings_,
        ids=[str(c) for c in columns],
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


def refuse_inputs(outputs: Iterable[Path], *inputs: Path) -> None:
    """Refuse to write over what is read, whatever was forced."""
    read = {path.resolve() for path in inputs}
    for output in outputs:
        if output.resolve() in read:
            raise errors.OutputExistsError(
                f"{output} is an input of this run and would be lost",
                place={"file": str(output)},
                hint="give the output another name",
            )


def check_output(output: Path | None, force: bool, *inputs: Path) -> None:
    """Refuse an output that cannot be written, or is an input, before any work."""
    from princomp.atomic import check_writable
    from princomp.outputs import table_format

    if output is not None:
        refuse_inputs([output], *inputs)
        table_format(output)
        check_writable([output], force=force)


def hand_over(
    command: str,
    table: Table,
    columns: list[str],
    data: Any,
    output: Path | None,
    force: bool,
    as_json: bool,
    notes: list[str],
) -> None:
    """Write a table to a file or stdout, or put it into the document."""
    from princomp.documents import document, of_rows
    from princomp.outputs import write_table

    if as_json and output is None:
        print_json(of_rows(command, columns, data, table.ids, notes))
        return
    write_table(
        sys.stdout.buffer if output is None else output,
        columns=columns,
        data=data,
        ids=table.ids,
        id_column=table.id_column,
        force=force,
    )
    if as_json:
        files = {"data": str(output)}
        print_json(document(command, rows=len(data), columns=columns, notes=notes, files=files))
    else:
        say(notes)
