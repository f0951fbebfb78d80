"""``fit``, ``resume`` and ``plan``."""

from __future__ import annotations

import os
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import click

from princomp.cli.by_kernel import (
    NO_LOADINGS,
    check_kernel,
    cost_notes,
    kernel_estimator,
    kernel_options,
)
from princomp.cli.calls import (
    estimator,
    read,
    refuse_inputs,
    result_files,
    stem_of,
    write_results,
)
from princomp.cli.options import PATH, files_argument, fit_options, robust_options, shared
from princomp.cli.printed import print_json, print_summary, say
from princomp.cli.robustly import check_robust, robust_estimator, robust_hint, write_outliers
from princomp.cli.watching import bar, resumable

__all__ = ["fit", "plan", "resume"]


@click.command()
@files_argument
@robust_options
@kernel_options
@click.option("-m", "--model", type=PATH, help="Model file to write.")
@click.option(
    "-o",
    "--output",
    type=PATH,
    help="Folder for the results; NAME_pca for NAME.csv by default.",
)
@click.option(
    "--format",
    "kind",
    type=click.Choice(["csv", "parquet", "npy"]),
    default="csv",
    show_default=True,
    help="Of scores, loadings and eigenvalues.",
)
@click.option("--no-scores", is_flag=True, help="Do not write a row for each row of the input.")
@click.option(
    "--checkpoint",
    type=PATH,
    help="File that keeps the work so far; 'princomp resume PATH' goes on from it.",
)
@click.option("--force", is_flag=True, help="Replace existing outputs.")
@shared
def fit(files: tuple[str, ...], as_json: bool, **options: Any) -> None:
    """Fit a PCA to the numeric columns of FILEs, as one table.

    Writes scores (a row for each row of the input), loadings (axes times the root of their
    variance), eigenvalues and the model; with --robust also which rows are outliers, and with
    --kernel no loadings. A FILE is .csv, .tsv (also .gz, .zst), .parquet, .arrow, .npy, .npz,
    .mtx, .h5, .h5ad or .zarr; a wildcard in quotes, such as 'part-*.parquet'; or - for standard
    input (CSV, TSV, an Arrow stream or npy).
    """
    from princomp.atomic import check_writable
    from princomp.checkpoint import Checkpoint
    from princomp.documents import of_fit

    check_kernel(options)
    check_robust(options)
    outputs = result_files(stem_of(files), options)
    refuse_inputs(outputs.values(), files)
    check_writable(outputs.values(), force=options["force"])
    checkpoint = options["checkpoint"]
    if checkpoint is not None:
        beside = Checkpoint.files(checkpoint)
        refuse_inputs(beside, files)
        check_writable([*outputs.values(), *beside], force=True)
    model = _estimator(options)
    source = read(files, options)
    command = {"arguments": list(_words()), "folder": os.getcwd()}
    if checkpoint is not None and checkpoint.exists() and not as_json:
        say([f"going on from {checkpoint}"])
    if not as_json:
        say(cost_notes(options, source.rows))
    with resumable(checkpoint):
        with bar(as_json) as tell:
            if options["robust"]:
                model.fit(source)
            elif options["kernel"]:
                model.fit(source, progress=tell)
            else:
                model._fit(source, None, tell, checkpoint, command)
        with nullcontext() if checkpoint is None else Checkpoint.held(checkpoint):
            notes = _written(model, source, outputs, options, as_json)
            if checkpoint is not None:
                Checkpoint.remove(checkpoint)
    if as_json:
        print_json(of_fit(model, outputs, notes))
        return
    say(notes)
    print_summary(model)
    for name, path in outputs.items():
        click.echo(f"{name:12} {path}")


def _estimator(options: dict[str, Any]) -> Any:
    if options["kernel"]:
        return kernel_estimator(options)
    return robust_estimator(options) if options["robust"] else estimator(options)


def _words() -> list[str]:
    """What was typed after the name of the program; see ``run``."""
    words = click.get_current_context().find_root().obj
    return words if isinstance(words, list) else []


def _written(
    model: Any, source: Any, outputs: dict[str, Path], options: dict[str, Any], as_json: bool
) -> list[str]:
    """Write what is asked for, as far as it can be, and say what a person should know."""
    from princomp.documents import scale_hint

    model.id_column_ = options["id_column"]
    notes = list(source.notes)
    if not options["robust"]:
        notes += _fit_notes(model, options)
    if options["kernel"]:
        notes.append(NO_LOADINGS)
    elif hint := robust_hint(model, source) if options["robust"] else scale_hint(model):
        notes.append(hint)
    if "scores" in outputs and not source.repeatable:
        del outputs["scores"]
        outputs.pop("outliers", None)
        notes.append("standard input is gone after the fit: no scores were written")
    if "scores" in outputs and source.id_column is not None and options["kind"] == "npy":
        notes.append("npy files hold numbers only: the ids are not in scores.npy")
    if "outliers" in outputs:
        write_outliers(model, source, outputs["outliers"], options["force"])
    write_results(model, source, outputs, options["force"], as_json)
    return notes


def _fit_notes(model: Any, options: dict[str, Any]) -> list[str]:
    filled = getattr(model.__dict__.get("_filler", model), "imputed_", None)
    if filled is not None and filled.cells:
        return [str(filled)]
    if not model.n_dropped_:
        return []
    told = f"rows with missing values: {model.n_dropped_:,}; they took no part in the fit"
    return [told if options["no_scores"] else f"{told}, and their scores are empty"]


@click.command()
@click.argument("checkpoint", type=PATH)
@click.option("--force", is_flag=True, help="Replace outputs that were written already.")
@shared
@click.pass_context
def resume(ctx: click.Context, checkpoint: Path, force: bool, as_json: bool) -> None:
    """Go on with the fit that wrote CHECKPOINT, as it was typed, in the folder it was typed in.

    The result has the bits of a run that was not interrupted. An input that has changed
    since is refused.
    """
    from princomp.checkpoint import Checkpoint
    from princomp.errors import InputNotFoundError

    command = Checkpoint.command_in(checkpoint)
    path = checkpoint.resolve()
    arguments = [str(word) for word in command["arguments"]]
    try:
        os.chdir(command["folder"])
    except OSError as error:
        raise InputNotFoundError(
            f"{checkpoint}: was written in the folder {command['folder']}, which is not to be had: "
            f"{error.strerror}",
            place={"file": str(command["folder"])},
            hint="put the folder with the input back where it was",
        ) from None
    # From here on it is the fit: errors are told as it was asked for then, or now.
    _words()[:] = arguments
    parsed = fit.make_context("fit", arguments[1:], parent=ctx.parent)
    # The file may have been moved since.
    parsed.params["checkpoint"] = path
    for name, value in (("force", force), ("as_json", as_json)):
        parsed.params[name] |= value
    with parsed:
        fit.invoke(parsed)


@click.command()
@files_argument
@fit_options
@shared
def plan(files: tuple[str, ...], as_json: bool, **options: Any) -> None:
    """What a fit of FILEs would do and cost, without doing it."""
    from princomp.documents import document
    from princomp.functions import plan as plan_of

    source = read(files, options)
    found = plan_of(source, **estimator(options).get_params(deep=False))
    if as_json:
        print_json(document("plan", plan=found.to_dict(), notes=list(source.notes)))
        return
    say(source.notes)
    click.echo(found)
