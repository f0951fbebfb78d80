"""``rotate``: the loadings of a model turned, and the scores that go with them."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from princomp.cli.calls import bound, refuse_inputs, write_scores
from princomp.cli.model_or_rows import plain_model
from princomp.cli.options import PATH, model_argument, shared
from princomp.cli.printed import print_json, say

if TYPE_CHECKING:
    from princomp.rotation import Rotation

__all__ = ["rotate"]


@click.command()
@click.argument("method", type=click.Choice(["varimax", "promax"]))
@model_argument
@click.argument("files", metavar="[DATA]...", nargs=-1)
@click.option(
    "--power",
    type=click.FloatRange(min=1, min_open=True),
    help="Of promax: larger ones give smaller loadings and larger correlations; 4.",
)
@click.option("--no-kaiser", is_flag=True, help="Do not divide loadings by their length meanwhile.")
@click.option("-o", "--output", type=PATH, help="Folder for the results; NAME_varimax by default.")
@click.option(
    "--format",
    "kind",
    type=click.Choice(["csv", "parquet", "npy"]),
    default="csv",
    show_default=True,
    help="Of the tables.",
)
@click.option("--force", is_flag=True, help="Replace existing outputs.")
@shared
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
) -> None:
    """Turn the components of MODEL so that loadings are large or near zero.

    Writes the rotated loadings, what each component carries (sums of squares, variances,
    rates), for promax the correlations of the components, and with DATA the scores of its
    rows: RC1, RC2, …
    """
    from princomp.atomic import check_writable
    from princomp.documents import document

    if power is not None and method == "varimax":
        raise click.UsageError("--power is of promax: leave it out, or choose promax")
    pca = plain_model(model, "what is rotated is a PCA")
    folder = output or Path(f"{model.name.partition('.')[0]}_{method}")
    tables = ["loadings", "variances", *(["correlations"] if method == "promax" else [])]
    tables += ["scores"] if files else []
    outputs = {name: folder / f"{name}.{kind}" for name in tables}
    refuse_inputs(outputs.values(), [model, *files])
    check_writable(outputs.values(), force=force)
    from princomp.rotation import rotate as rotate_of

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what it would say is in the notes
        found = rotate_of(pca, method, kaiser=not no_kaiser, power=4.0 if power is None else power)
    notes = _written(found, pca, files, outputs, force, as_json)
    if as_json:
        paths = {name: str(path) for name, path in outputs.items()}
        print_json(document("rotate", **found.to_dict(), notes=notes, files=paths))
        return
    say(notes)
    click.echo(found)
    for name, path in outputs.items():
        click.echo(f"{name:12} {path}")


def _written(
    found: Rotation,
    model: Any,
    files: tuple[str, ...],
    outputs: dict[str, Path],
    force: bool,
    quiet: bool,
) -> list[str]:
    """Write the tables, and say what a person should know."""
    import numpy as np

    from princomp.documents import column_names, columns_of
    from princomp.outputs import write_table

    turned = found.names
    notes = []
    if not found.converged:
        notes.append(f"varimax still moves after {found.iterations:,} sweeps")
    if "scores" in outputs:
        source, told = bound(files, column_names(model), model)
        notes += told
        model._check_columns(source.p, False)
        write_scores(found, source, outputs["scores"], turned, force, quiet)
    carried = [found.sums_of_squares, found.variances, found.rates]
    for name, columns, data, ids, id_column in (
        ("loadings", turned, found.loadings, list(map(str, columns_of(model))), "variable"),
        (
            *("variances", ["sum_of_squares", "variance", "contribution_rate"]),
            *(np.column_stack(carried), turned, "component"),
        ),
        ("correlations", turned, found.factor_correlations, turned, "component"),
    ):
        if name in outputs:
            write_table(
                outputs[name],
                columns=columns,
                data=data,
                ids=ids,
                id_column=id_column,
                force=force,
            )
    return notes
