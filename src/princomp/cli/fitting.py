"""``fit``, ``resume`` and ``plan``."""

from __future__ import annotations

import os
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from princomp.cli.actions import parameters_of, read, refuse_inputs, stem_of
from princomp.cli.kernel_options import (
    NO_LOADINGS,
    check_kernel,
    cost_notes,
    kernel_estimator,
    kernel_options,
)
from princomp.cli.options import (
    PATH,
    common_options,
    files_argument,
    fit_options,
    format_option,
    formulas_option,
    robust_options,
)
from princomp.cli.printed import print_json, print_notes, print_summary, say
from princomp.cli.read_options import read_options
from princomp.cli.results import result_files, write_results
from princomp.cli.robust_options import check_robust, robust_estimator, robust_hint, write_outliers
from princomp.cli.watching import progress_bar, resumable

if TYPE_CHECKING:
    from princomp.core import PCAModel, PCAParameters
    from princomp.diagnostics import Bootstrap
    from princomp.engines import ProgressCallback
    from princomp.estimators import RobustPCA
    from princomp.io import Source
    from princomp.kernel_pca import KernelPCA
    from princomp.linalg import FloatArray

__all__ = ["fit", "plan", "resume"]


@click.command()
@files_argument
@robust_options
@kernel_options
@read_options
@click.option("-m", "--model", type=PATH, help="Model file to write.")
@click.option(
    "-o",
    "--output",
    type=PATH,
    help="Folder for the results; NAME_pca for NAME.csv by default.",
)
@format_option("scores, loadings and eigenvalues")
@click.option("--no-scores", is_flag=True, help="Do not write the scores.")
@click.option(
    "--checkpoint",
    type=PATH,
    help="File that saves the work so far; 'princomp resume PATH' continues from it.",
)
@click.option("--force", is_flag=True, help="Replace existing outputs.")
@formulas_option
@common_options
def fit(files: tuple[str, ...], as_json: bool, **options: Any) -> None:
    """Fit a PCA to the numeric columns of FILEs, as one table.

    Writes scores (a row for each row of the input), loadings (axes times the root of their
    variance), eigenvalues and the model; with --robust also the outliers, and with --kernel no
    loadings. A FILE is .csv, .tsv, .txt (also .gz, .zst), .xlsx, .parquet, .arrow,
    .npy, .npz, .mtx, .h5, .h5ad or .zarr; a wildcard in quotes, such as 'part-*.parquet'; or - for
    standard input (CSV, TSV, an Arrow stream or npy).
    """
    from princomp.io import Checkpoint, check_writable
    from princomp.reports import of_fit

    plain = not options["kernel"] and not options["robust"]

    check_kernel(options)
    check_robust(options)
    outputs = result_files(stem_of(files), options)
    refuse_inputs(outputs.values(), files)
    check_writable(outputs.values(), force=options["force"])
    checkpoint = options["checkpoint"]
    if checkpoint is not None:
        checkpoint_files = Checkpoint.files(checkpoint)
        refuse_inputs(checkpoint_files, files)
        check_writable([*outputs.values(), *checkpoint_files], force=True)
    # Both functions check the flags before anything is read.
    model: Any = parameters_of(options) if plain else _estimator(options)
    source = read(files, options)
    command = {"arguments": list(_words()), "folder": os.getcwd()}
    if checkpoint is not None and checkpoint.exists() and not as_json:
        print_notes([f"continuing from {checkpoint}"])
    if not as_json:
        print_notes(cost_notes(options, source.rows))
    with resumable(checkpoint):
        with progress_bar(as_json) as tell:
            if plain:
                model = _fitted(source, model, options, tell, command)
            elif options["kernel"]:
                model.fit(source, progress=tell)
            else:
                model.fit(source)
        with nullcontext() if checkpoint is None else Checkpoint.held(checkpoint):
            notes = _written(model, source, outputs, options, as_json)
            if checkpoint is not None:
                Checkpoint.remove(checkpoint)
    if as_json:
        print_json(of_fit(model, outputs, notes))
        return
    print_notes(notes)
    print_summary(model, _axis_angles(model, source) if plain else None)
    for name, path in outputs.items():
        say(f"{name:12} {path}")


def _fitted(
    source: Source,
    parameters: PCAParameters,
    options: dict[str, Any],
    tell: ProgressCallback | None,
    command: dict[str, Any],
) -> PCAModel:
    """Fit a plain PCA without its estimator, which would import scikit-learn."""
    from princomp.core import PCAModel, fit_table

    checkpoint = options["checkpoint"]
    found = fit_table(source, parameters, progress=tell, checkpoint=checkpoint, command=command)
    schema = replace(found.schema, id_column=source.id_column)
    return PCAModel(found.result, schema, parameters)


def _axis_angles(model: PCAModel, source: Source) -> FloatArray | None:
    """Angles (k,) that axes exceed in 5% of bootstrap resamples, as in a report, for the verdicts.

    None if the rows are sparse or cannot be read again, or if there is no quick bootstrap.
    """
    from princomp.diagnostics import bootstrap_of, quick_bootstrap
    from princomp.engines import drop_incomplete
    from princomp.io import read_whole

    def compute(n: int) -> Bootstrap:
        rows, _, _ = drop_incomplete(read_whole(source), None)
        return bootstrap_of(model, rows.astype("float64"), n=n)

    if not source.repeatable or source.stored is not None:
        return None
    assert model.n_samples is not None
    # The fit is done, so a file that changed since or a constant resample must not be an error.
    found, _ = quick_bootstrap(model, model.n_samples, compute)
    return None if found is None else found.angle_quantiles((0.95,))[0]


def _estimator(options: dict[str, Any]) -> KernelPCA | RobustPCA:
    return kernel_estimator(options) if options["kernel"] else robust_estimator(options)


def _words() -> list[str]:
    """The arguments of the command line, without the name of the program; see ``run``."""
    words = click.get_current_context().find_root().obj
    return words if isinstance(words, list) else []


def _written(
    model: Any, source: Any, outputs: dict[str, Path], options: dict[str, Any], as_json: bool
) -> list[str]:
    """Write those requested outputs that can be written; return notes for the user."""
    from princomp.io import all_or_none
    from princomp.reports import scale_hint

    notes = list(source.notes)
    if options["robust"] or options["kernel"]:
        model.id_column_ = source.id_column
    if not options["robust"]:
        notes += _fit_notes(model, options)
    if options["kernel"]:
        notes.append(NO_LOADINGS)
    elif hint := robust_hint(model, source) if options["robust"] else scale_hint(model):
        notes.append(hint)
    if "scores" in outputs and not source.repeatable:
        del outputs["scores"]
        outputs.pop("outliers", None)
        notes.append("standard input can be read only once: no scores were written")
    if "scores" in outputs and source.id_column is not None and options["kind"] == "npy":
        notes.append("npy files hold numbers only: the ids are not in scores.npy")
    with all_or_none():
        if "outliers" in outputs:
            write_outliers(model, source, outputs["outliers"], options["force"])
        write_results(model, source, outputs, options["force"], as_json)
    return notes


def _fit_notes(model: Any, options: dict[str, Any]) -> list[str]:
    from princomp.core import fitted_model

    fitted: Any = fitted_model(model)
    result, imputer = fitted.result, getattr(fitted, "imputer", None)
    said = ("constant column", "rows without any cell", "row without any cell")
    constant = [n for n in getattr(result, "notes", ()) if any(word in n for word in said)]
    filled = getattr(result, "filled", None) if imputer is None else imputer.imputed_
    if filled is not None and filled.cells:
        return [str(filled), *constant]
    if not result.dropped:
        return constant
    note = f"rows with missing values: {result.dropped:,}; they were left out of the fit"
    return [note if options["no_scores"] else f"{note}, and their scores are empty", *constant]


@click.command()
@click.argument("checkpoint", type=PATH)
@click.option("--force", is_flag=True, help="Replace outputs that were written already.")
@common_options
@click.pass_context
def resume(ctx: click.Context, checkpoint: Path, force: bool, as_json: bool) -> None:
    """Continue the interrupted fit that wrote CHECKPOINT.

    The fit runs with the same options and in the same folder as before. The result is identical,
    bit for bit, to that of an uninterrupted run. An input that has changed since is refused.
    """
    from princomp.errors import InputNotFoundError
    from princomp.io import Checkpoint

    command = Checkpoint.command_in(checkpoint)
    path = checkpoint.resolve()
    arguments = [str(word) for word in command["arguments"]]
    try:
        os.chdir(command["folder"])
    except OSError as error:
        raise InputNotFoundError(
            f"{checkpoint}: its folder {command['folder']} cannot be entered: {error.strerror}",
            place={"file": str(command["folder"])},
            hint="move the folder with the input back",
        ) from None
    # Errors are reported in the format that the first command or this one asked for.
    _words()[:] = arguments
    parsed = fit.make_context("fit", arguments[1:], parent=ctx.parent)
    # The checkpoint may have been moved since.
    parsed.params["checkpoint"] = path
    for name, value in (("force", force), ("as_json", as_json)):
        parsed.params[name] |= value
    with parsed:
        fit.invoke(parsed)


@click.command()
@files_argument
@fit_options
@read_options
@common_options
def plan(files: tuple[str, ...], as_json: bool, **options: Any) -> None:
    """Show what a fit of FILEs would do and need, without running it."""
    from princomp.core import plan_table
    from princomp.reports import document

    source = read(files, options)
    found = plan_table(source, parameters_of(options))
    if as_json:
        print_json(document("plan", plan=found.to_dict(), notes=list(source.notes)))
        return
    print_notes(source.notes)
    say(found)
