"""``rotate``: rotated loadings of a model, and their scores."""

from __future__ import annotations

import warnings
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from princomp.cli.actions import check_outputs, open_for_model
from princomp.cli.model_or_rows import load_plain_model
from princomp.cli.options import (
    PATH,
    common_options,
    data_argument,
    force_option,
    format_option,
    formulas_option,
    model_argument,
)
from princomp.cli.output import print_result
from princomp.cli.read_options import read_options
from princomp.cli.results import write_scores

if TYPE_CHECKING:
    from princomp.diagnostics import Rotation
    from princomp.estimators import PCA


@click.command()
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
@common_options
def rotate(
    method: str,
    model: Path,
    files: tuple[str, ...],
    power: float | None,
    no_kaiser: bool,
    output: Path | None,
    kind: str,
    force: bool,
    as_json: bool,
    **_: Any,
) -> None:
    """Rotate the components of MODEL so that loadings are large or near zero.

    Writes the rotated loadings, the variances of the rotated components, for promax their
    correlations, and with DATA the scores of its rows: RC1, RC2, …
    """
    from princomp.reports import document

    if power is not None and method == "varimax":
        raise click.UsageError("--power is an option of promax: leave it out, or choose promax")
    pca = load_plain_model(model, "only a PCA can be rotated")
    folder = output or Path(f"{model.name.partition('.')[0]}_{method}")
    tables = ["loadings", "variances", *(["correlations"] if method == "promax" else [])]
    tables += ["scores"] if files else []
    outputs = {name: folder / f"{name}.{kind}" for name in tables}
    check_outputs(outputs.values(), [model, *files], force=force)
    from princomp.diagnostics import rotate as compute_rotation

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the notes repeat the warnings
        rotation = compute_rotation(
            pca, method, kaiser=not no_kaiser, power=4.0 if power is None else power
        )
    notes = _write_tables(rotation, pca, files, outputs, force, as_json)
    paths = {name: str(path) for name, path in outputs.items()}
    contents = document("rotate", **rotation.to_dict(), notes=notes, files=paths)
    print_result(contents, as_json, rotation)


def _write_tables(
    rotation: Rotation,
    model: PCA,
    files: tuple[str, ...],
    outputs: dict[str, Path],
    force: bool,
    quiet: bool,
) -> list[str]:
    """Write the tables, and return notes."""
    import numpy as np

    from princomp.core import fitted_model
    from princomp.diagnostics import rotated_scores
    from princomp.io import write_table
    from princomp.reports import column_labels

    names, notes = rotation.names, []
    if not rotation.converged:
        notes.append(f"varimax did not converge in {rotation.iterations:,} sweeps")
    if "scores" in outputs:
        source, source_notes = open_for_model(files, model)
        notes += source_notes
        fitted_model(model).schema.check_width(source.p)
        scores = partial(rotated_scores, rotation)
        write_scores(scores, source, outputs["scores"], names, force, quiet, model.n_samples_)
    variances = np.column_stack([rotation.sums_of_squares, rotation.variances, rotation.rates])
    headings = ["sum_of_squares", "variance", "contribution_rate"]
    for table, columns, data, ids, id_column in (
        ("loadings", names, rotation.loadings, list(map(str, column_labels(model))), "variable"),
        ("variances", headings, variances, names, "component"),
        ("correlations", names, rotation.factor_correlations, names, "component"),
    ):
        if table in outputs:
            write_table(
                outputs[table],
                columns=columns,
                data=data,
                ids=ids,
                id_column=id_column,
                force=force,
            )
    return notes
