"""Files that commands write: names, checks, the results of a fit, and rows block by block."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from princomp import core, estimators, io, reports
from princomp.cli.output import (
    print_document,
    print_result,
    progress_bar,
    require_stdout,
    stdout_failure,
)
from princomp.errors import OutputError, OutputExistsError

# Names of the columns, numbers, ids of the rows if any, and the name of the column of ids.
Table: TypeAlias = tuple[list[str], Any, Any, str | None]


def output_stem(files: Sequence[str]) -> str:
    """Default name for the results of files."""
    if "-" in files:
        return "stdin"
    name = files[0].partition("::")[0]
    if any(wildcard in name for wildcard in "*?["):
        name = name.translate(str.maketrans("", "", "*?[]"))
    return Path(name).name.partition(".")[0].strip("-_ ") or "table"


def check_outputs(
    outputs: Iterable[Path],
    inputs: Iterable[str | Path],
    *,
    force: bool,
    hint: str = "give the output another name",
) -> None:
    """Refuse outputs that are an input (even with --force) or cannot be written, before work.

    ``merge --force`` may replace its inputs, so it gives none here. ``hint`` says what to do about
    an output that is an input.
    """
    outputs = [Path(os.path.expanduser(output)) for output in outputs]
    input_paths = [
        io.split_inside(path)[0]
        for name in inputs
        if name != "-"
        for path in io.expand_patterns([name])
    ]
    existing_inputs = [path for path in input_paths if os.path.exists(path)]
    for output in outputs:
        # Compare files, not names: on some disks, upper and lower case are the same.
        if os.path.exists(output) and any(map(output.samefile, existing_inputs)):
            raise OutputExistsError(
                f"{output} is an input of this run and would be lost",
                place={"file": str(output)},
                hint=hint,
            )
    io.check_writable(outputs, force=force)


def result_files(files: Sequence[str], options: dict[str, Any]) -> dict[str, Path]:
    """Paths of the results of a fit of some files."""
    folder = options["output"] or Path(f"{output_stem(files)}_pca")
    tables = {
        "scores": not options["no_scores"],
        "loadings": not options["kernel"],
        "eigenvalues": True,
        "outliers": options["robust"] and not options["no_scores"],
    }
    outputs = {name: folder / f"{name}.{options['format']}" for name in tables if tables[name]}
    return {**outputs, "model": options["model"] or folder / "model.pca"}


def write_results(
    model: Any, source: io.Source, files: dict[str, Path], force: bool, quiet: bool
) -> None:
    """Write the model, eigenvalues, and those of scores, loadings and outliers with a file."""
    fitted: Any = core.fitted_model(model)
    components = reports.component_names(fitted.k)
    if "scores" in files:
        n = fitted.n_samples
        write_scores(fitted.chunk_scores, source, files["scores"], components, force, quiet, n)
    tables: dict[str, Table] = {}
    if "outliers" in files:
        tables["outliers"] = _outlier_table(model, source)
    if "loadings" in files:
        labels = reports.column_labels(model)
        tables["loadings"] = components, fitted.result.loadings, labels, "variable"
    rate_names = ["eigenvalue", "contribution_rate", "accumulated_rate"]
    all_components, rates = reports.rates_table(model)
    tables["eigenvalues"] = rate_names, rates, all_components, "component"
    write_tables(files, tables, force)
    if isinstance(model, core.PCAModel):
        core.save_model(files["model"], model, overwrite=force)
    else:
        model.save(files["model"], overwrite=force)


def _outlier_table(model: estimators.RobustPCA, source: io.Source) -> Table:
    """Score and orthogonal distance of each row, and whether one exceeds its cut-off."""
    import numpy as np

    ids = None
    if source.id_column is not None:
        cells: Any = [chunk.ids for chunk in source.checked_chunks()]
        ids = np.concatenate(cells)
    columns = (model.score_distances_, model.orthogonal_distances_, model.outliers_)
    data = np.column_stack(columns).astype(np.float64)
    return ["score_distance", "orthogonal_distance", "outlier"], data, ids, source.id_column


def write_tables(files: dict[str, Path], tables: dict[str, Table], force: bool) -> None:
    """Write those tables that have a file."""
    for name, (columns, data, ids, id_column) in tables.items():
        if name in files:
            io.write_table(
                files[name], columns=columns, data=data, ids=ids, id_column=id_column, force=force
            )


def write_scores(
    compute: Callable[..., Any],
    source: io.Source,
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
        rows = _write_blocks(file, source, compute, components, force, advance=reporter.advance)
        reporter.advance(rows, done=True)


class IncompleteRows:
    """Computes scores as ``compute`` does, and counts the rows whose scores are empty."""

    def __init__(self, compute: Callable[..., Any]) -> None:
        self.compute, self.count = compute, 0

    def __call__(self, *rows_and_place: Any) -> Any:
        """Compute the scores of some rows."""
        import numpy as np

        scores = self.compute(*rows_and_place)
        self.count += int(np.isnan(scores[:, :1]).sum())
        return scores

    def notes(self) -> list[str]:
        """A note on the rows without scores so far."""
        if not self.count:
            return []
        return [f"rows with missing values: {self.count:,}; their scores are empty"]


def write_rows(
    command: str,
    source: io.Source,
    compute: Callable[..., Any],
    columns: list[str],
    notes: list[str],
    options: dict[str, Any],
) -> None:
    """Write rows that ``compute`` returns for those of a source to a file, stdout or the document.

    ``compute`` is called as in :func:`write_scores`. In the document, numbers that are not finite
    become null, and ids that are not numbers or text become text.
    """
    import numpy as np

    output, as_json = options["output"], options["as_json"]
    if output is None or as_json:
        require_stdout()
    is_transform, counted = command == "transform", IncompleteRows(compute)
    contents: dict[str, Any] = {"columns": columns, "notes": notes}
    if as_json and output is None:
        blocks = list(_blocks(source, counted))
        notes += counted.notes() if is_transform else []
        data, ids = np.concatenate([data for data, _ in blocks]), None
        rows = data.astype(object)
        rows[~np.isfinite(data)] = None  # JSON has no NaN
        if source.id_column is not None:
            cells = np.concatenate([ids for _, ids in blocks])
            ids = [cell if isinstance(cell, str | int | None) else str(cell) for cell in cells]
        print_document(command, rows=len(data), **contents, data=rows.tolist(), ids=ids)
        return
    target, force = sys.stdout.buffer if output is None else output, options["force"]
    try:
        n = _write_blocks(target, source, counted, columns, force, numbered=is_transform)
    except OutputError as error:
        if output is None and isinstance(error.__cause__, OSError):
            raise stdout_failure(error.__cause__) from error
        raise
    notes += counted.notes() if is_transform else []
    contents["files"] = {"data": output}
    print_result(command, as_json, list_files=False, rows=n, **contents)


def _write_blocks(
    target: Any,
    source: io.Source,
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

    with io.open_table(
        target,
        columns=columns,
        id_column=source.id_column or ("row" if numbered else None),
        with_ids=numbered or source.id_column is not None,
        dtype=source.dtype,
        rows=source.rows,
        force=force,
    ) as table:
        for data, ids in _blocks(source, compute):
            if numbered and ids is None:
                ids = np.arange(table.rows, table.rows + len(data)).astype(object)
            table.write(data, ids)
            advance(table.rows)
    return table.rows


def _blocks(source: io.Source, compute: Callable[..., Any]) -> Iterator[tuple[Any, Any]]:
    """Yield computed rows and their ids for each chunk of a source."""
    start = 0
    for chunk in source.checked_chunks():
        yield compute(chunk.data, source, start), chunk.ids
        start += chunk.data.shape[0]
