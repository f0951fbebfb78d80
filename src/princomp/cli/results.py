"""Write results of commands: the files of a fit, and rows block by block."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from princomp.cli.output import print_json, print_notes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from princomp.cli.actions import Model
    from princomp.io import Source
    from princomp.linalg import FloatArray

_FIT_TABLES = ("scores", "loadings", "eigenvalues")


def result_files(stem: str, options: dict[str, Any]) -> dict[str, Path]:
    """Paths of the results of a fit."""
    folder = options["output"] or Path(f"{stem}_pca")
    tables = ["loadings", "eigenvalues"] if options["no_scores"] else list(_FIT_TABLES)
    if options.get("kernel"):
        tables.remove("loadings")
    if options.get("robust") and not options["no_scores"]:
        tables.append("outliers")
    files = {name: folder / f"{name}.{options['kind']}" for name in tables}
    return {**files, "model": options["model"] or folder / "model.pca"}


def write_results(
    model: Model, source: Source, files: dict[str, Path], force: bool, quiet: bool
) -> None:
    """Write the model, eigenvalues, and scores and loadings if requested."""
    from princomp.core import FittedModel, PCAModel, fitted_model, save_model
    from princomp.io import write_table
    from princomp.reports import column_labels, component_names, rates_table

    fitted: FittedModel[Any] = fitted_model(model)
    components = component_names(fitted.k)
    all_components, rates = rates_table(model)
    if "scores" in files:
        file, n = files["scores"], fitted.n_samples
        write_scores(fitted.chunk_scores, source, file, components, force, quiet, n)
    if "loadings" in files:
        write_table(
            files["loadings"],
            columns=components,
            data=fitted.result.loadings if isinstance(model, PCAModel) else model.loadings_,
            ids=list(map(str, column_labels(model))),
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
    if isinstance(model, PCAModel):
        save_model(files["model"], model, overwrite=force)
    else:
        model.save(files["model"], overwrite=force)


def write_scores(
    scores: Callable[[Any, Source, int], FloatArray],
    source: Source,
    file: Path,
    components: list[str],
    force: bool,
    quiet: bool,
    n: int | None = None,
) -> None:
    """Write scores block by block; ``n`` rows are expected if the source does not know its rows."""
    from princomp.cli.progress import progress_bar
    from princomp.engines import ProgressReporter
    from princomp.io import open_table

    with (
        progress_bar(quiet) as progress,
        open_table(
            file,
            columns=components,
            id_column=source.id_column or "row",
            with_ids=True,
            dtype=source.dtype,
            rows=source.rows,
            force=force,
        ) as table,
    ):
        reporter, start = ProgressReporter(progress), 0
        reporter.begin("scores", source.rows or n, source.p * source.dtype.itemsize)
        for chunk in source.checked_chunks():
            count = chunk.data.shape[0]
            ids = _row_numbers(start, count) if chunk.ids is None else chunk.ids
            table.write(scores(chunk.data, source, start), ids)
            start += count
            reporter.advance(start)


def _row_numbers(first: int, count: int) -> NDArray[Any]:
    """Row numbers, counted from 0, as ids of rows without names."""
    import numpy as np

    return np.arange(first, first + count).astype(object)


def write_rows(
    command: str,
    source: Source,
    compute_blocks: Callable[[Source], Iterator[tuple[Any, Any]]],
    columns: list[str],
    output: Path | None,
    force: bool,
    as_json: bool,
    notes: list[str],
) -> None:
    """Write rows computed from a source by ``compute_blocks`` to a file, stdout or the document."""
    from princomp.io import open_table
    from princomp.reports import document, rows_document

    if as_json and output is None:
        import numpy as np

        blocks = list(compute_blocks(source))
        ids = None if source.id_column is None else np.concatenate([ids for _, ids in blocks])
        data = np.concatenate([data for data, _ in blocks])
        print_json(rows_document(command, columns, data, ids, notes))
        return
    n_rows, with_row_numbers = 0, command == "transform"
    with open_table(
        sys.stdout.buffer if output is None else output,
        columns=columns,
        id_column=source.id_column or ("row" if with_row_numbers else None),
        with_ids=with_row_numbers or source.id_column is not None,
        dtype=source.dtype,
        rows=source.rows,
        force=force,
    ) as table:
        for data, ids in compute_blocks(source):
            if with_row_numbers and ids is None:
                ids = _row_numbers(n_rows, len(data))
            table.write(data, ids)
            n_rows += len(data)
    if as_json:
        files = {"data": str(output)}
        print_json(document(command, rows=n_rows, columns=columns, notes=notes, files=files))
    else:
        print_notes(notes)
