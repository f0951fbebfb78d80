"""Write results of commands: the files of a fit, and rows block by block."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from princomp.cli.output import print_json, print_result
from princomp.cli.progress import progress_bar

if TYPE_CHECKING:
    from princomp.io import Source

# Names of the columns, numbers, ids of the rows, and the name of the column of ids.
Table: TypeAlias = tuple[list[str], Any, list[str], str]


def result_files(stem: str, options: dict[str, Any]) -> dict[str, Path]:
    """Paths of the results of a fit."""
    folder = options["output"] or Path(f"{stem}_pca")
    tables = {
        "scores": not options["no_scores"],
        "loadings": not options["kernel"],
        "eigenvalues": True,
        "outliers": options["robust"] and not options["no_scores"],
    }
    files = {name: folder / f"{name}.{options['format']}" for name in tables if tables[name]}
    return {**files, "model": options["model"] or folder / "model.pca"}


def write_results(
    model: Any, source: Source, files: dict[str, Path], force: bool, quiet: bool
) -> None:
    """Write the model, eigenvalues, and scores and loadings if requested."""
    from princomp.core import PCAModel, fitted_model, save_model
    from princomp.reports import column_labels, component_names, rates_table

    fitted: Any = fitted_model(model)
    components = component_names(fitted.k)
    if "scores" in files:
        n = fitted.n_samples
        write_scores(fitted.chunk_scores, source, files["scores"], components, force, quiet, n)
    tables: dict[str, Table] = {}
    if "loadings" in files:
        labels = list(map(str, column_labels(model)))
        tables["loadings"] = components, fitted.result.loadings, labels, "variable"
    rate_names = ["eigenvalue", "contribution_rate", "accumulated_rate"]
    all_components, rates = rates_table(model)
    tables["eigenvalues"] = rate_names, rates, all_components, "component"
    write_tables(files, tables, force)
    if isinstance(model, PCAModel):
        save_model(files["model"], model, overwrite=force)
    else:
        model.save(files["model"], overwrite=force)


def write_tables(files: dict[str, Path], tables: dict[str, Table], force: bool) -> None:
    """Write those tables that have a file."""
    from princomp.io import write_table

    for name, (columns, data, ids, id_column) in tables.items():
        if name in files:
            write_table(
                files[name], columns=columns, data=data, ids=ids, id_column=id_column, force=force
            )


def write_scores(
    compute: Callable[..., Any],
    source: Source,
    file: Path,
    components: list[str],
    force: bool,
    quiet: bool,
    n: int | None = None,
) -> None:
    """Write scores block by block; ``n`` rows are expected if the source has no row count.

    ``compute`` is called with some rows, the source, and the number of the first of these rows.
    """
    from princomp.engines import ProgressReporter

    with progress_bar(quiet) as progress:
        reporter = ProgressReporter(progress)
        reporter.begin("scores", source.rows or n, source.p * source.dtype.itemsize)
        _write_blocks(file, source, compute, components, force, advance=reporter.advance)


def write_rows(
    command: str,
    source: Source,
    compute: Callable[..., Any],
    columns: list[str],
    notes: list[str],
    options: dict[str, Any],
) -> None:
    """Write rows that ``compute`` returns for those of a source to a file, stdout or the document.

    ``compute`` is called as in :func:`write_scores`.
    """
    import numpy as np

    from princomp.reports import document, rows_document

    output, as_json = options["output"], options["as_json"]
    if as_json and output is None:
        blocks = list(_blocks(source, compute))
        ids = None if source.id_column is None else np.concatenate([ids for _, ids in blocks])
        data = np.concatenate([data for data, _ in blocks])
        print_json(rows_document(command, columns, data, ids, notes))
        return
    target, numbered = sys.stdout.buffer if output is None else output, command == "transform"
    n = _write_blocks(target, source, compute, columns, options["force"], numbered=numbered)
    files = {"data": str(output)}
    contents = document(command, rows=n, columns=columns, notes=notes, files=files)
    print_result(contents, as_json, list_files=False)


def _write_blocks(
    target: Any,
    source: Source,
    compute: Callable[..., Any],
    columns: list[str],
    force: bool,
    *,
    numbered: bool = True,
    advance: Callable[[int], object] = lambda rows: None,
) -> int:
    """Write computed rows to a file or stream; return their number.

    With ``numbered``, rows without names get their numbers, counted from 0, as ids.
    """
    import numpy as np

    from princomp.io import open_table

    start = 0
    with open_table(
        target,
        columns=columns,
        id_column=source.id_column or ("row" if numbered else None),
        with_ids=numbered or source.id_column is not None,
        dtype=source.dtype,
        rows=source.rows,
        force=force,
    ) as table:
        for data, ids in _blocks(source, compute):
            stop = start + len(data)
            if numbered and ids is None:
                ids = np.arange(start, stop).astype(object)
            table.write(data, ids)
            start = stop
            advance(stop)
    return start


def _blocks(source: Source, compute: Callable[..., Any]) -> Iterator[tuple[Any, Any]]:
    """Yield computed rows and their ids for each chunk of a source."""
    start = 0
    for chunk in source.checked_chunks():
        yield compute(chunk.data, source, start), chunk.ids
        start += chunk.data.shape[0]
