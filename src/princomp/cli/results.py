"""Files that commands write: names, checks, the results of a fit, and rows block by block."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from princomp import core, estimators, io, reports
from princomp.cli.output import print_result, progress_bar, require_stdout, stdout_failure
from princomp.errors import OutputError, OutputExistsError

# Names of the columns, numbers, ids of the rows if any, and the name of the column of ids.
Table: TypeAlias = tuple[list[str], Any, Any, str | None]
# Largest share of rows that exceed ten times their mean.
_MAX_DISTANT_SHARE = 0.1


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


def folder_notes(folder: Path | None) -> list[str]:
    """Note on a folder of results whose name ends like that of a table, such as out.xlsx."""
    ending = None if folder is None else io.ending_of(folder)
    if ending is None:
        return []
    what = f"{folder} will be a folder, not a {ending} file"
    return [f"{what}: --format chooses csv, parquet or npy for the files in it"]


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
    """Computes scores as ``compute`` does, and counts the rows with missing cells.

    ``missing`` says how the model treats such cells.
    """

    def __init__(self, compute: Callable[..., Any], missing: str) -> None:
        self.compute, self.fills = compute, missing in core.FILL_METHODS
        self.incomplete = self.without_values = 0

    def __call__(self, rows: io.RowArray, *place: object) -> Any:
        """Compute the scores of some rows."""
        scores = self.compute(rows, *place)
        self.count(rows)
        return scores

    def count(self, rows: io.RowArray) -> None:
        """Count some rows, whose cells are finite or missing."""
        import numpy as np

        from princomp.summaries import as_dense, rows_without_nan

        cells = as_dense(rows[~rows_without_nan(rows)])
        self.incomplete += len(cells)
        self.without_values += int(np.isnan(cells).all(axis=1).sum())

    def notes(self) -> list[str]:
        """Notes on the rows so far whose cells were filled, or that have no scores."""
        empty, what = self.incomplete, "with missing values"
        notes = []
        if self.fills:
            empty, what = self.without_values, "without values"
            if filled := self.incomplete - empty:
                notes.append(f"rows with filled cells: {filled:,}")
        return [*notes, f"rows {what}: {empty:,}; their scores are empty"] if empty else notes


class DistantRows(IncompleteRows):
    """Also counts the rows that are far from those of the fit.

    T², the sum of t²/λ of a row, has the mean k (n² − 1) / (n (n − k − 2)) for other rows of a
    normal distribution. If rows have this mean, at most a tenth of them exceed ten times the mean,
    by Markov's inequality. If more do, a note asks whether the units differ.
    """

    def __init__(
        self, compute: Callable[..., Any], missing: str, fitted: core.Fitted, *, whiten: bool
    ) -> None:
        super().__init__(compute, missing)
        n, k = float(fitted.summary.rows), fitted.n_resolved
        self.k, self.deviations = k, 1.0 if whiten else fitted.variances[:k] ** 0.5
        has_mean = fitted.n_samples is not None and fitted.centred and 0 < k < n - 2
        # Factors near 1 first, because the square of a sum of weights may overflow.
        mean = k * ((n - 1) / n * ((n + 1) / (n - k - 2))) if has_mean else float("inf")
        self.limit, self.rows, self.distant = 10 * mean, 0, 0

    def __call__(self, rows: io.RowArray, *place: object) -> Any:
        """Compute the scores of some rows."""
        import numpy as np

        scores = super().__call__(rows, *place)
        with np.errstate(over="ignore"):
            t2 = ((scores[:, : self.k] / self.deviations) ** 2).sum(axis=1)
        self.rows += len(t2)
        self.distant += int((t2 > self.limit).sum())  # not if a score is missing
        return scores

    def notes(self) -> list[str]:
        """Notes on the rows so far."""
        notes, share = super().notes(), _MAX_DISTANT_SHARE
        deviation = (share * (1 - share) * self.rows) ** 0.5  # of a binomial count
        if self.distant > share * self.rows + 3 * deviation:
            notes.append(
                f"{self.distant:,} of {self.rows:,} rows are far from those of the fit (T² above "
                f"{self.limit:.3g}, ten times its mean): do the columns have the units of the fit? "
                "princomp report MODEL DATA shows these rows"
            )
        return notes


def notes_on_rows(fitted: core.FittedModel[Any], source: io.Source) -> list[str]:
    """Notes on the rows of a source that have missing cells, if it can be read again."""
    if fitted.missing == "error" or not source.repeatable:
        return []
    counted = IncompleteRows(fitted.chunk_scores, fitted.missing)
    for chunk in source.checked_chunks():
        counted.count(chunk.data)
    return counted.notes()


def notes_on_ids(source: io.Source) -> list[str]:
    """Note on names of rows that repeat, if the names are in memory."""
    ids = getattr(source, "ids", None)
    if ids is None or (different := len(set(map(str, ids)))) == len(ids):
        return []
    repeat = f"{different:,} different names for {len(ids):,} rows"
    return [f"row names in {source.id_column!r} repeat: {repeat}"]


def write_rows(
    command: str,
    source: io.Source,
    compute: Callable[..., Any],
    columns: list[str],
    notes: list[str],
    options: dict[str, Any],
) -> None:
    """Write rows that ``compute`` returns for those of a source to a file, stdout or the document.

    ``compute`` is called as in :func:`write_scores`; if it counts rows, its notes say how many
    are incomplete or far from those of the fit.
    """
    output, as_json = options["output"], options["as_json"]
    if output is None or as_json:
        require_stdout()
    if output is None and as_json:
        n, contents = _plain_rows(source, compute)
    else:
        target, force = sys.stdout.buffer if output is None else output, options["force"]
        numbered = command != "inverse"
        try:
            n = _write_blocks(target, source, compute, columns, force, numbered=numbered)
        except OutputError as error:
            if output is None and isinstance(error.__cause__, OSError):
                raise stdout_failure(error.__cause__) from error
            raise
        contents = {"files": {"data": output}}
    if isinstance(compute, IncompleteRows):
        notes += compute.notes()
    notes += notes_on_ids(source)
    contents = {"rows": n, "columns": columns, "notes": notes, **contents}
    print_result(command, as_json, list_files=False, **contents)


def _plain_rows(source: io.Source, compute: Callable[..., Any]) -> tuple[int, dict[str, Any]]:
    """Return the number of computed rows, and the rows and their ids as plain values for JSON.

    Numbers that are not finite become None, and ids that are not numbers or text become text.
    """
    import numpy as np

    blocks = list(_blocks(source, compute))
    data, ids = np.concatenate([data for data, _ in blocks]), None
    rows = data.astype(object)
    rows[~np.isfinite(data)] = None  # JSON has no NaN
    if source.id_column is not None:
        cells = np.concatenate([ids for _, ids in blocks])
        texts = io.text_of(cells)
        ids = [
            cell if isinstance(cell, str | int | None) else text
            for cell, text in zip(cells, texts, strict=True)
        ]
    return len(data), {"data": rows.tolist(), "ids": ids}


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
