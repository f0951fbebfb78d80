"""``rotate``: rotated loadings of a model, and their scores."""

from __future__ import annotations

import warnings
from functools import partial
from pathlib import Path
from typing import Any

import click

from princomp.cli.actions import check_outputs, open_for_model
from princomp.cli.model_or_rows import load_plain_model
from princomp.cli.options import (
    PATH,
    command,
    data_argument,
    force_option,
    format_option,
    formulas_option,
    model_argument,
)
from princomp.cli.output import print_result
from princomp.cli.read_options import read_options
from princomp.cli.results import Table, write_scores, write_tables


@command
@click.argument("method", type=click.Choice(["varimax", "promax"]))
@model_argument
@data_argument
@click.option(
    "--power",
    type=click.FloatRange(min=1, min_open=True),
    help="For promax: a larger power gives smaller loadings and larger correlations; 4.",
)
@click.option("--no-kaiser", is_flag=True, help="Do not normalise the rows of the loadings.")
@click.option("-o", "--output", type=PATH, help="Folder for the results; NAME_varimax by default.")
@format_option("the tables")
@force_option
@formulas_option
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
    **_: Any,
) -> None:
    """Rotate the components of MODEL so that loadings are large or near zero.

    Writes the rotated loadings, the variances of the rotated components, for promax their
    correlations, and with DATA the scores of its rows: RC1, RC2, …
    """
    import numpy as np

    from princomp.core import fitted_model
    from princomp.reports import column_labels, document

    if power is not None and method == "varimax":
        raise click.UsageError("--power is an option of promax: leave it out, or choose promax")
    pca = load_plain_model(model, "only a PCA can be rotated")
    folder = output or Path(f"{model.name.partition('.')[0]}_{method}")
    names = ["loadings", "variances", *(["correlations"] if method == "promax" else [])]
    names += ["scores"] if files else []
    outputs = {name: folder / f"{name}.{format}" for name in names}
    check_outputs(outputs.values(), [model, *files], force=force)
    from princomp.diagnostics import rotate as compute_rotation, rotated_scores

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the notes repeat the warnings
        rotation = compute_rotation(
            pca, method, kaiser=not no_kaiser, power=4.0 if power is None else power
        )
    components, notes = rotation.names, []
    if not rotation.converged:
        notes.append(f"varimax did not converge in {rotation.iterations:,} sweeps")
    if files:
        source, source_notes = open_for_model(files, pca)
        notes += source_notes
        fitted_model(pca).schema.check_width(source.p)
        scores, file = partial(rotated_scores, rotation), outputs["scores"]
        write_scores(scores, source, file, components, force, as_json, pca.n_samples_)
    variances = np.column_stack([rotation.sums_of_squares, rotation.variances, rotation.rates])
    headings = ["sum_of_squares", "variance", "contribution_rate"]
    tables: dict[str, Table] = {
        "loadings": (components, rotation.loadings, list(map(str, column_labels(pca))), "variable"),
        "variances": (headings, variances, components, "component"),
        "correlations": (components, rotation.factor_correlations, components, "component"),
    }
    write_tables(outputs, tables, force)
    paths = {name: str(path) for name, path in outputs.items()}
    contents = document("rotate", **rotation.to_dict(), notes=notes, files=paths)
    print_result(contents, as_json, rotation)
