"""Commands that take fitted models: ``show``, ``merge``, ``transform``, ``inverse``, ``rotate``."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click

from princomp import core, diagnostics, errors, estimators, io, reports
from princomp.cli.hints import as_flags
from princomp.cli.inputs import check_plain, open_for_model
from princomp.cli.kinds_of_pca import NO_LOADINGS
from princomp.cli.options import (
    INPUT,
    OPTIONAL_PATH,
    OUTPUT_PATH,
    PATH,
    command,
    data_argument,
    files_argument,
    format_option,
    model_argument,
    notes_on_read_options,
    read_options,
    table_output_options,
    with_options,
)
from princomp.cli.output import (
    echo,
    one_line,
    print_document,
    print_files,
    print_loadings,
    print_notes,
    print_result,
    print_summary,
    require_stdout,
)
from princomp.cli.results import (
    DistantRows,
    IncompleteRows,
    Table,
    check_outputs,
    folder_notes,
    write_rows,
    write_scores,
    write_tables,
)

# Number of column names that are listed; --json lists all.
_MAX_COLUMNS_SHOWN = 20


@command
@model_argument
@click.option(
    "--verify",
    "rows",
    metavar="FILE",
    type=INPUT,
    help="Measure the residuals with the rows that the model was fitted to.",
)
@click.option(
    "--loadings", is_flag=True, help="Print the loadings (axes × √variance), by component."
)
@click.option(
    "--hide-below", type=click.FloatRange(min=0), help="Leave loadings blank that are smaller."
)
@read_options
def show(
    model: Path,
    rows: str | None,
    loadings: bool,
    hide_below: float | None,
    as_json: bool,
    **_: object,
) -> None:
    """Show the variances, plan and certificate of MODEL."""
    from princomp.rules import name_of

    require_stdout()
    notes = [] if rows else notes_on_read_options("--verify")
    pca: Any = estimators.load_model(model)
    fitted: Any = core.fitted_model(pca)
    loadings = loadings or hide_below is not None
    if loadings and reports.is_kernel_pca(pca):
        raise errors.NotAvailableError(f"{model}: {NO_LOADINGS}", place={"file": str(model)})
    # A robust fit has no certificate and no plan.
    certificate: Any = getattr(fitted.result, "certificate", None)
    if rows:
        check_plain(pca, model, "only the components of a PCA can be verified")
        source, notes = open_for_model([rows], pca, allow_unnamed=True)
        certificate = core.verify_table(fitted, source)
    if as_json:
        plain = isinstance(pca, core.PCAModel)
        parameters = pca.parameters._asdict() if plain else pca.get_params()
        parameters["n_components"] = name_of(parameters["n_components"])
        for name in ("scale", "landmarks"):  # may be arrays
            if not isinstance(parameters.get(name), str | None):
                parameters[name] = "given"
        contents = reports.model_contents(pca)
        if rows:
            contents["certificate"] = certificate.to_dict()
        if loadings:
            contents["loadings"] = fitted.result.loadings.tolist()
        parameters = dict(sorted(parameters.items()))
        print_document("show", parameters=parameters, **contents, notes=notes)
        return
    print_notes(notes)
    print_summary(pca)
    if loadings and fitted.k:
        print_loadings(pca, hide_below or 0.0)
    if (names := reports.column_names(pca)) is not None:
        shown, more = names[:_MAX_COLUMNS_SHOWN], len(names) - _MAX_COLUMNS_SHOWN
        echo(f"columns: {one_line(', '.join(shown))}{f', … {more:,} more' if more > 0 else ''}")
    if (id_column := fitted.schema.id_column) is not None:
        echo(f"id column: {one_line(str(id_column))}")
    if certificate is not None:
        certificate = core.shown_certificate(certificate, fitted.result.spectrum, fitted.k)
    for part in (getattr(fitted.result, "plan", None), certificate):
        if part is not None:
            echo(as_flags(str(part)))


def _load_mergeable(path: Path) -> Any:
    """Load a model that can be merged; refuse others."""
    model = estimators.load(path)
    if not reports.is_kernel_pca(model):
        check_plain(model, path, "only a PCA can be merged")
    elif model.approximation is None:
        raise errors.NotAvailableError(
            f"{path} is an exact kernel PCA, which keeps rows, not sums that can be merged",
            place={"file": str(path)},
            hint="fit both with --approximation features, and the same --gamma, --landmarks and "
            "--seed",
        )
    return model


@command
@click.argument("models", metavar="MODEL MODEL...", nargs=-1, required=True, type=PATH)
@click.option(
    "-m", "--model", "output", type=OUTPUT_PATH, required=True, help="Model file to write."
)
@click.option(
    "--force", is_flag=True, help="Replace an existing output, which may be one of MODELs."
)
def merge(models: tuple[Path, ...], output: Path, force: bool, as_json: bool) -> None:
    """Merge MODELs into one model of all their rows.

    The rows are not needed. The result has the parameters of the first model.
    """
    if len(models) < 2:
        raise click.UsageError("merging takes at least two models")
    resolved = [path.resolve() for path in models]
    for i, path in enumerate(models):
        if resolved[i] in resolved[:i]:
            raise errors.ParameterError(
                f"{path} is named twice, so its rows would count twice",
                place={"file": str(path)},
                hint="name each model once",
            )
    # With --force, the result may replace one of the models.
    hint = "give the output another name, or replace this model by the merged one (--force)"
    check_outputs([output], () if force else models, force=force, hint=hint)
    # If several processes add models to one file, none may read it before the other has written.
    with io.locked_for_update(output):
        merged, notes = _merged(models)
        merged.save(output, overwrite=force)
    if as_json:
        contents = reports.model_contents(merged)
        print_document("merge", **contents, files={"model": output}, notes=notes)
        return
    print_notes(notes)
    print_summary(merged)
    print_files({"model": output})


def _merged(models: Sequence[Path]) -> tuple[Any, list[str]]:
    """Merge model files; a note names those that may be fits to the same rows."""
    merged, notes = _load_mergeable(models[0]), []
    known = {_rows_key(merged): models[0], None: None}
    for path in models[1:]:
        other = _load_mergeable(path)
        if (same := known.setdefault(_rows_key(other), path)) not in (None, path):
            notes.append(
                f"{path} has the number of rows, means and variances of {same}: if both are of the "
                "same rows, these count twice"
            )
        try:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "both fits have the same")  # the note says it
                merged.merge(other)
        except (errors.DataError, errors.NotAvailableError, errors.ParameterError) as error:
            raise type(error)(
                f"{path} cannot be merged with {models[0]}: {error.message}",
                place={"file": str(path), **error.place},
                hint=error.hint,
            ) from None
    return merged, notes


def _rows_key(model: Any) -> object:
    """What models of the same rows have in common."""
    result: Any = core.fitted_model(model).result
    if reports.is_kernel_pca(model):
        result = core.fitted_model(result.images).result
    return core.rows_key(result.summary)


# ---- rows ---------------------------------------------------------------------------------


row_options = with_options(
    model_argument,
    files_argument,
    click.option(
        "-o", "--output", type=OPTIONAL_PATH, help="File to write; CSV on stdout by default."
    ),
    table_output_options,
    read_options,
)


@command
@row_options
def transform(model: Path, files: tuple[str, ...], **options: object) -> None:
    """Compute the scores of the rows of FILEs with MODEL.

    Columns are matched by name; the file extension sets the format of the output.
    """
    pca, fitted = _load(model, files, options)
    source, notes = open_for_model(files, pca)
    fitted.schema.check_width(source.p)
    columns = reports.component_names(fitted.k)
    scores = IncompleteRows(fitted.chunk_scores, fitted.missing)
    if isinstance(fitted.result, core.Fitted):
        whiten = fitted.parameters.whiten
        scores = DistantRows(fitted.chunk_scores, fitted.missing, fitted.result, whiten=whiten)
    write_rows("transform", source, scores, columns, notes, options)


@command
@row_options
def inverse(model: Path, files: tuple[str, ...], **options: object) -> None:
    """Turn scores back into rows in the units of the data.

    FILEs hold the scores, in columns PC1, PC2, …. For a kernel PCA the rows are pre-images,
    computed as --pre-image of its fit says.
    """
    pca, fitted = _load(model, files, options)
    source, notes = open_for_model(files, pca, scores=True, allow_unnamed=True)
    if source.p != fitted.k:
        raise errors.ShapeError(
            f"{source.file}: scores have {source.p} columns, and the model has {fitted.k} "
            "components",
            place={"file": source.file},
            hint="give the scores of all components of this model: princomp transform writes them",
        )
    is_kernel = reports.is_kernel_pca(pca)
    if is_kernel and pca.pre_image is None and not pca.fit_inverse_transform:
        raise errors.NotAvailableError(
            f"{model} cannot turn scores back into rows",
            place={"file": str(model)},
            hint="fit again with --pre-image ridge, fixed_point or distance (not every kernel "
            "supports each), and without --approximation features",
        )
    reconstruct = pca.inverse_transform if is_kernel else fitted.reconstruct
    columns = reports.column_labels(pca)
    write_rows("inverse", source, lambda rows, *_: reconstruct(rows), columns, notes, options)


def _load(model: Path, files: Sequence[str], options: dict[str, Any]) -> tuple[Any, Any]:
    """Load the model and its fit, refuse one without components, and check the output."""
    pca = estimators.load_model(model)
    fitted: Any = core.fitted_model(pca)
    if fitted.k == 0:
        raise errors.ShapeError(
            f"{model} keeps no component, so it has no scores",
            place={"file": str(model)},
            hint="fit with -k 1 or more",
        )
    check_row_output(model, files, options)
    return pca, fitted


def check_row_output(model: Path, files: Sequence[str], options: dict[str, Any]) -> None:
    """Check the output of a command with ``row_options``, before any work."""
    if options["output"] is not None:
        io.table_format(options["output"])  # refuses endings of other files
        check_outputs([options["output"]], [model, *files], force=options["force"])


# ---- rotated components -------------------------------------------------------------------


@command
@click.argument("method", type=click.Choice(["varimax", "promax"]))
@model_argument
@data_argument
@click.option(
    "--power",
    type=click.FloatRange(min=1, min_open=True),
    help="For promax: a larger power gives smaller loadings and larger correlations. 4 by default.",
)
@click.option("--no-kaiser", is_flag=True, help="Do not normalise the rows of the loadings.")
@click.option(
    "-o", "--output", type=OUTPUT_PATH, help="Folder for the results; NAME_varimax by default."
)
@format_option("the tables")
@table_output_options
@read_options
def rotate(
    method: str,
    model: Path,
    files: tuple[str, ...],
    power: float | None,
    no_kaiser: bool,
    output: Path | None,
    format: str,
    force: bool,
    as_json: bool,
    **_: object,
) -> None:
    """Rotate components so that loadings are large or near zero.

    Writes the rotated loadings, the variances of the rotated components, for promax their
    correlations, and with DATA the scores of its rows: RC1, RC2, …
    """
    import numpy as np

    pca: Any = estimators.load(model)
    check_plain(pca, model, "only a PCA can be rotated")
    folder = output or Path(f"{model.name.partition('.')[0]}_{method}")
    names = ["loadings", "variances", *(["correlations"] if method == "promax" else [])]
    names += ["scores"] if files else []
    outputs = {name: folder / f"{name}.{format}" for name in names}
    check_outputs(outputs.values(), [model, *files], force=force)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the notes repeat the warnings
        rotation = diagnostics.rotate(
            pca, method, kaiser=not no_kaiser, power=4.0 if power is None else power
        )
    components, notes = rotation.names, [] if files else notes_on_read_options("DATA")
    notes += folder_notes(output)
    if power is not None and method == "varimax":
        notes.append("--power has no effect on varimax")
    k = len(components)
    if k == pca.n_features_in_ > 1:
        notes.append(
            f"all {k} components are rotated, so each may stand for a single variable: keep fewer "
            "with -k in princomp fit, such as -k parallel"
        )
    if not rotation.converged:
        notes.append(f"varimax did not converge in {rotation.iterations:,} sweeps")
    if files:
        source, source_notes = open_for_model(files, pca)
        notes += source_notes
        fitted = core.fitted_model(pca)
        fitted.schema.check_width(source.p)
        scores = IncompleteRows(partial(diagnostics.rotated_scores, rotation), fitted.missing)
        file, n = outputs["scores"], pca.n_samples_
        write_scores(scores, source, file, components, force, as_json, n)
        notes += scores.notes()
    variances = np.column_stack([rotation.sums_of_squares, rotation.variances, rotation.rates])
    headings = ["sum_of_squares", "variance", "contribution_rate"]
    tables: dict[str, Table] = {
        "loadings": (components, rotation.loadings, reports.column_labels(pca), "variable"),
        "variances": (headings, variances, components, "component"),
        "correlations": (components, rotation.factor_correlations, components, "component"),
    }
    write_tables(outputs, tables, force)
    print_result("rotate", as_json, rotation, **rotation.to_dict(), notes=notes, files=outputs)
