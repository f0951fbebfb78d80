"""``fit`` and ``resume``; ``plan`` and ``choose``, which help to decide before a fit."""

from __future__ import annotations

import os
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from princomp import core, diagnostics, estimators, io, reports
from princomp.cli.hints import as_flags
from princomp.cli.inputs import notes_on_cells, open_for_fit
from princomp.cli.kinds_of_pca import (
    NO_LOADINGS,
    check_kind,
    cost_notes,
    drop_ineffective,
    kernel_estimator,
    kind_options,
    pca_parameters,
    robust_estimator,
)
from princomp.cli.options import (
    OUTPUT_PATH,
    PATH,
    RULES,
    SEED,
    choose_options,
    command,
    files_argument,
    fit_options,
    format_option,
    names_option,
    table_output_options,
)
from princomp.cli.output import (
    hint_to_resume,
    print_document,
    print_files,
    print_notes,
    print_result,
    print_summary,
    progress_bar,
)
from princomp.cli.results import (
    check_outputs,
    folder_notes,
    notes_on_ids,
    result_files,
    write_results,
)
from princomp.errors import InputNotFoundError

if TYPE_CHECKING:
    from princomp.linalg import FloatArray


@command
@files_argument
@kind_options
@click.option("-m", "--model", type=OUTPUT_PATH, help="Model file to write.")
@click.option(
    "-o",
    "--output",
    type=OUTPUT_PATH,
    help="Folder for the results; NAME_pca for NAME.csv by default.",
)
@format_option("scores, loadings and eigenvalues")
@click.option("--no-scores", is_flag=True, help="Do not write the scores.")
@click.option(
    "--checkpoint",
    type=PATH,
    help="File that saves the work so far; 'princomp resume PATH' continues from it.",
)
@table_output_options
def fit(files: tuple[str, ...], as_json: bool, **options: Any) -> None:
    """Fit a PCA to the numeric columns of FILEs, as one table.

    Writes scores (a row for each row of the input), loadings (axes times the root of their
    variance), eigenvalues and the model; with --robust also the outliers, and with --kernel no
    loadings. A FILE is .csv, .tsv, .txt (also .gz, .zst), .xlsx, .parquet, .arrow,
    .npy, .npz, .mtx, .h5, .nc, .h5ad or .zarr; a wildcard in quotes, such as 'part-*.parquet';
    a folder; or - for standard input (CSV, TSV, an Arrow stream or npy).
    """
    check_kind(options)
    notes_on_options = [*drop_ineffective(options), *folder_notes(options["output"])]
    outputs = result_files(files, options)
    check_outputs(outputs.values(), files, force=options["force"])
    checkpoint, call = options["checkpoint"], None
    if checkpoint is not None:
        check_outputs([*outputs.values(), *io.Checkpoint.files(checkpoint)], files, force=True)
        call = {"arguments": list(click.get_current_context().obj), "folder": os.getcwd()}
    # This checks the flags before anything is read.
    if options["kernel"]:
        model: Any = kernel_estimator(options)
    elif options["robust"]:
        model = robust_estimator(options)
    else:
        model = pca_parameters(options)
    source = open_for_fit(files, options)
    source.notes = (*source.notes, *notes_on_options)
    if not as_json:
        if checkpoint is not None and checkpoint.exists():
            print_notes([f"continuing from {checkpoint}"])
        print_notes(cost_notes(options, source.rows))
    with hint_to_resume(checkpoint):
        with progress_bar(as_json) as progress:
            if options["kernel"]:
                model.fit(source, progress=progress)
            elif options["robust"]:
                model.fit(source)
            else:  # without its estimator, which would import scikit-learn
                fitted, schema, _ = core.fit_table(
                    source, model, progress=progress, checkpoint=checkpoint, command=call
                )
                model = core.PCAModel(fitted, replace(schema, id_column=source.id_column), model)
        with nullcontext() if checkpoint is None else io.Checkpoint.locked(checkpoint):
            notes = _write_outputs(model, source, outputs, options, as_json)
            if checkpoint is not None:
                io.Checkpoint.remove(checkpoint)
    if as_json:
        print_document("fit", **reports.model_contents(model), files=outputs, notes=notes)
        return
    print_notes(notes)
    print_summary(model, _axis_angles(model, source) if isinstance(model, core.PCAModel) else None)
    print_files(outputs)


def _axis_angles(model: core.PCAModel, source: io.Source) -> FloatArray | None:
    """Angles (k,) that axes exceed in 5% of bootstrap resamples, as in a report, for the verdicts.

    None if the rows are sparse or cannot be read again, or if there is no quick bootstrap.
    """
    from princomp.engines import drop_incomplete

    def compute(n: int) -> diagnostics.Bootstrap:
        rows, _, _ = drop_incomplete(io.read_whole(source), None)
        return diagnostics.bootstrap_rows(model, rows.astype("float64"), n=n)

    if not source.repeatable or source.stored is not None:
        return None
    assert model.n_samples is not None
    # The fit is done, so a file that changed since or a constant resample must not be an error.
    bootstrap, _ = diagnostics.quick_bootstrap(model, model.n_samples, compute)
    return None if bootstrap is None else bootstrap.angle_quantiles((0.95,))[0]


def _write_outputs(
    model: Any, source: io.Source, outputs: dict[str, Path], options: dict[str, Any], as_json: bool
) -> list[str]:
    """Write those requested outputs that can be written; return notes for the user."""
    notes = list(source.notes)
    fitted: Any = core.fitted_model(model)
    if fitted.k == 0:
        for name in ("scores", "loadings"):
            outputs.pop(name, None)
        rule = "the fit" if options["k"] is None else f"-k {options['k']}"
        notes.append(
            f"{rule} keeps no component, so no scores and no loadings are written; -k 1 keeps one"
        )
    if options["robust"] or options["kernel"]:
        model.id_column_ = source.id_column
    if not options["robust"]:
        notes += notes_on_cells(fitted, scores=not options["no_scores"])
    if options["kernel"]:
        notes.append(NO_LOADINGS)
    elif hint := reports.scale_hint(model, source):
        notes.append(hint)
    if "scores" in outputs and not source.repeatable:
        del outputs["scores"]
        left_out = "no scores" if outputs.pop("outliers", None) is None else "no scores or outliers"
        notes.append(f"standard input can be read only once: {left_out} were written")
    if "scores" in outputs:
        notes += notes_on_ids(source)
    if "scores" in outputs and source.id_column is not None and options["format"] == "npy":
        notes.append("npy files hold numbers only: the ids are not in scores.npy")
    with io.all_or_none():
        write_results(model, source, outputs, options["force"], as_json)
    return notes


@command
@click.argument("checkpoint", type=PATH)
@click.option("--force", is_flag=True, help="Replace outputs that were written already.")
@click.pass_context
def resume(ctx: click.Context, checkpoint: Path, force: bool, as_json: bool) -> None:
    """Continue the interrupted fit that wrote CHECKPOINT.

    The fit runs with the same options and in the same folder as before. The result is identical,
    bit for bit, to that of an uninterrupted run. An input that has changed since is refused.
    """
    call = io.Checkpoint.command_in(checkpoint)
    path = checkpoint.resolve()
    arguments = [str(argument) for argument in call["arguments"]]
    try:
        os.chdir(call["folder"])
    except OSError as error:
        raise InputNotFoundError(
            f"{checkpoint}: its folder {call['folder']} cannot be entered: {error.strerror}",
            place={"file": str(call["folder"])},
            hint="move the folder with the input back",
        ) from None
    # Errors are reported in the format that the first command or this one asked for.
    ctx.obj[:] = arguments
    fit_context = fit.make_context("fit", arguments[1:], parent=ctx.parent)
    # The checkpoint may have been moved since.
    fit_context.params["checkpoint"] = path
    for name, value in (("force", force), ("as_json", as_json)):
        fit_context.params[name] |= value
    with fit_context:
        fit.invoke(fit_context)


@command
@files_argument
@fit_options
def plan(files: tuple[str, ...], as_json: bool, **options: object) -> None:
    """Show what a fit of FILEs would do and need, without running it."""
    source = open_for_fit(files, options)
    fit_plan = core.plan_table(source, pca_parameters(options))
    text = as_flags(str(fit_plan))
    print_result("plan", as_json, text, plan=fit_plan.to_dict(), notes=list(source.notes))


@command
@files_argument
@choose_options
@names_option("--rules", f"Rules to apply: {', '.join(RULES)}. All by default.", "rule")
@click.option(
    "--seed", type=SEED, default=0, show_default=True, help="Random seed for rules that need one."
)
def choose(
    files: tuple[str, ...],
    rules: list[str] | None,
    seed: int,
    as_json: bool,
    **options: Any,
) -> None:
    """Show how many components each rule would keep, and why.

    Some rules need all rows at once, so they work only for tables that fit in memory; the others
    work for tables of any size.
    """
    source = open_for_fit(files, options)
    parameters = pca_parameters({"k": None, "solver": "auto", **options})._asdict()
    del parameters["n_components"], parameters["random_state"]
    with progress_bar(as_json) as progress:
        choices, model = estimators.choices_and_model(
            source, rules, seed, progress, None, parameters
        )
    hint = reports.scale_hint(model)
    notes = [*source.notes, *notes_on_cells(core.fitted_model(model))]
    notes += [] if hint is None else [hint]
    if options["no_center"]:
        notes.append(
            "without centring, the first component often points towards the column means, and some "
            "rules keep only that one"
        )
    print_result("choose", as_json, choices, seed=seed, **choices.to_dict(), notes=notes)
