"""The commands and their flags."""

from __future__ import annotations

import contextlib
import csv
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from princomp._version import __version__
from princomp.cli.calls import (
    bound,
    check_output,
    estimator,
    hand_over,
    read,
    refuse_inputs,
    results,
    write_results,
)
from princomp.cli.printed import print_json, print_summary, say

__all__ = ["cli"]

_SOLVERS = ("auto", "full", "covariance_eigh", "arpack", "lanczos", "randomized", "row_gram")


if TYPE_CHECKING:
    _ParamType = click.ParamType[int | float | str]
else:
    _ParamType = click.ParamType  # a generic only in newer releases of click


class _Components(_ParamType):
    """-k: a number, a fraction or the name of a rule."""

    name = "K"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> int | float | str:
        number: int | float = -1
        for kind in (float, int):
            with contextlib.suppress(ValueError):
                number = kind(value)
        if value != "mle" and not (isinstance(number, int) and number >= 0) and not 0 < number < 1:
            rule = f"{value!r} is neither a whole number, a fraction between 0 and 1, nor 'mle'"
            self.fail(rule, param, ctx)
        return "mle" if value == "mle" else number


def _names(_: Any, __: Any, value: str | None) -> list[str] | None:
    if value is None:
        return None
    # As in a CSV file, so that a name with a comma in it can be quoted.
    names = [name.strip() for name in next(csv.reader([value], skipinitialspace=True), [])]
    if not all(names) or not names:
        raise click.BadParameter(f"{value!r} holds an empty column name")
    return names


def _shared(command: Callable[..., Any]) -> Callable[..., Any]:
    """--json and --debug, which every command has."""
    command = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")(
        command
    )
    return click.option("--debug", is_flag=True, help="Show the traceback of an error.")(command)


def _fit_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """What ``fit`` and ``plan`` both take."""
    options = (
        click.option(
            "-k",
            "--components",
            "k",
            type=_Components(),
            help="How many: 3, a fraction of the variance (0.9), or mle. All by default.",
        ),
        click.option(
            "--scale",
            type=click.Choice(["none", "unit", "pareto", "range"]),
            default="none",
            show_default=True,
            help="Divide columns by their standard deviation, its root, or their range.",
        ),
        click.option("--columns", callback=_names, metavar="A,B", help="Use only these columns."),
        click.option("--exclude", callback=_names, metavar="A,B", help="Leave these columns out."),
        click.option("--id", "id_column", metavar="COLUMN", help="Column that names the rows."),
        click.option("--no-center", is_flag=True, help="Do not subtract the column means."),
        click.option(
            "--missing",
            type=click.Choice(["error", "drop"]),
            default="error",
            show_default=True,
            help="Refuse missing values, or leave such rows out of the fit.",
        ),
        click.option(
            "--solver",
            type=click.Choice(_SOLVERS),
            default="auto",
            show_default=True,
            help="Which route; auto decides by shape and says why.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="princomp", message="%(prog)s %(version)s")
def cli() -> None:
    """Principal component analysis of tables: a file in, an inspectable answer out."""


@cli.command()
@click.argument("file", type=click.Path(path_type=Path))
@_fit_options
@click.option("-m", "--model", type=click.Path(path_type=Path), help="Model file to write.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
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
@click.option("--force", is_flag=True, help="Replace existing outputs.")
@_shared
def fit(file: Path, as_json: bool, debug: bool, **options: Any) -> None:
    """Fit a PCA to the numeric columns of FILE.

    Writes scores (a row for each row of FILE), loadings (axes times the root of their
    variance), eigenvalues and the model. FILE is .csv, .tsv (also .gz), .parquet,
    .arrow or .npy.
    """
    from princomp.atomic import check_writable
    from princomp.documents import of_fit, scale_hint

    files = results(file, options)
    refuse_inputs(files.values(), file)
    check_writable(files.values(), force=options["force"])
    table = read(file, options)
    model = estimator(options).fit(table)
    model.id_column_ = options["id_column"]
    notes = list(table.notes)
    if model.n_dropped_:
        notes.append(
            f"rows with missing values: {model.n_dropped_:,}; they took no part in the fit, "
            "and their scores are empty"
        )
    if hint := scale_hint(model):
        notes.append(hint)
    if table.ids is not None and options["kind"] == "npy":
        notes.append("npy files hold numbers only: the ids are not in scores.npy")
    write_results(model, table, files, options["force"])
    if as_json:
        print_json(of_fit(model, files, notes))
        return
    say(notes)
    print_summary(model)
    for name, path in files.items():
        click.echo(f"{name:12} {path}")


@cli.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("file", type=click.Path(path_type=Path))
@click.option("-o", "--output", type=click.Path(path_type=Path), help="CSV on stdout by default.")
@click.option("--force", is_flag=True, help="Replace an existing output.")
@_shared
def transform(
    model: Path, file: Path, output: Path | None, force: bool, as_json: bool, debug: bool
) -> None:
    """Scores of the rows of FILE under MODEL.

    Columns are bound by name; the format of the output goes by its ending.
    """
    from princomp.documents import component_names
    from princomp.functions import load

    pca = load(model)
    check_output(output, force, model, file)
    names = getattr(pca, "feature_names_in_", None)
    table, notes = bound(file, None if names is None else [str(n) for n in names], pca)
    scores = pca.transform(table)
    hand_over(
        "transform",
        table,
        component_names(pca.n_components_),
        scores,
        output,
        force,
        as_json,
        notes,
    )


@cli.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("file", type=click.Path(path_type=Path))
@click.option("-o", "--output", type=click.Path(path_type=Path), help="CSV on stdout by default.")
@click.option("--force", is_flag=True, help="Replace an existing output.")
@_shared
def inverse(
    model: Path, file: Path, output: Path | None, force: bool, as_json: bool, debug: bool
) -> None:
    """Rows in the units of the data from the scores in FILE (columns PC1, PC2, …)."""
    from princomp.documents import component_names
    from princomp.functions import load

    pca = load(model)
    check_output(output, force, model, file)
    names = None if file.name.lower().endswith(".npy") else component_names(pca.n_components_)
    table, notes = bound(file, names, pca)
    rows = pca.inverse_transform(table.data)
    columns = getattr(pca, "feature_names_in_", range(pca.n_features_in_))
    hand_over("inverse", table, [str(c) for c in columns], rows, output, force, as_json, notes)


@cli.command()
@click.argument("model", type=click.Path(path_type=Path))
@_shared
def show(model: Path, as_json: bool, debug: bool) -> None:
    """What MODEL holds: variances, plan and certificate."""
    from princomp.documents import document, of_model
    from princomp.functions import load

    pca = load(model)
    if as_json:
        parameters = {k: v for k, v in pca.get_params().items() if k != "scale"}
        scale = pca.scale if isinstance(pca.scale, str | None) else "given"
        print_json(document("show", parameters={**parameters, "scale": scale}, **of_model(pca)))
        return
    print_summary(pca)
    if (names := getattr(pca, "feature_names_in_", None)) is not None:
        click.echo(f"columns: {', '.join(map(str, names))}")
    if pca.id_column_ is not None:
        click.echo(f"id column: {pca.id_column_}")
    click.echo(pca.plan_)
    click.echo(pca.certificate_)


@cli.command()
@click.argument("file", type=click.Path(path_type=Path))
@_fit_options
@_shared
def plan(file: Path, as_json: bool, debug: bool, **options: Any) -> None:
    """What a fit of FILE would do and cost, without doing it."""
    from princomp.documents import document
    from princomp.functions import plan as plan_of

    table = read(file, options)
    found = plan_of(table, **estimator(options).get_params(deep=False))
    if as_json:
        print_json(document("plan", plan=found.to_dict(), notes=list(table.notes)))
        return
    say(table.notes)
    click.echo(found)
