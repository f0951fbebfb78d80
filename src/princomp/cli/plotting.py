"""``plot``: a figure of a model, as a file."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import click

from princomp.cli.actions import refuse_inputs
from princomp.cli.extra_columns import rows_and_extra
from princomp.cli.model_or_rows import check_figure, check_plain
from princomp.cli.options import (
    LEVEL,
    PATH,
    RULES,
    common_options,
    data_argument,
    force_option,
    model_argument,
)
from princomp.cli.printed import print_result
from princomp.cli.read_options import read_options

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from princomp.estimators import PCA
    from princomp.io import Source
    from princomp.rules import Decision

__all__ = ["FIGURES", "plot"]

_PLANE = ("x", "y")
_GROUPED = ("groups", "ellipses", "level")
# What each figure shows (the model, or rows of DATA), and its options.
FIGURES: dict[str, tuple[str, tuple[str, ...]]] = {
    "scree": ("model", ("top", "rule")),
    "scores": ("rows", (*_PLANE, *_GROUPED, "label")),
    "biplot": ("rows", (*_PLANE, *_GROUPED, "label", "top", "factor")),
    "circle": ("model", (*_PLANE, "top")),
    "contributions": ("model", ("x", "top")),
    "cos2": ("model", ("components", "top")),
    "loadings": ("model", ("components", "top", "bootstrap")),
    "pairs": ("rows", ("components", *_GROUPED)),
    "outliers": ("rows", ("level", "label", "training")),
}
_EXTENSIONS = (".svg", ".png", ".pdf")


def _list(_: click.Context, __: click.Parameter, value: str | None) -> list[str] | None:
    return None if value is None else [one.strip() for one in value.split(",")]


def _label(ctx: click.Context, param: click.Parameter, value: str | None) -> int | list[str] | None:
    if value is not None and value.isascii() and value.isdigit():
        return int(value)
    return _list(ctx, param, value)


def _picture(_: click.Context, __: click.Parameter, value: Path) -> Path:
    if value.suffix.lower() not in _EXTENSIONS:
        raise click.BadParameter(f"{value}: the name must end in {', '.join(_EXTENSIONS)}")
    return value


@click.command()
@click.argument("figure", type=click.Choice(list(FIGURES)))
@model_argument
@data_argument
@click.option(
    "-o",
    "--output",
    type=PATH,
    callback=_picture,
    required=True,
    help="Picture to write (.svg, .png, .pdf).",
)
@click.option("--x", metavar="PC", help="Component of the horizontal axis: 1 (default), or PC1.")
@click.option("--y", metavar="PC", help="Component of the vertical axis: 2 (default), or PC2.")
@click.option("--components", callback=_list, metavar="A,B", help="Components to draw.")
@click.option("--groups", metavar="COLUMN", help="Column of DATA with categories.")
@click.option(
    "--ellipses",
    type=click.Choice(["rows", "mean", "none"]),
    help="Ellipses of each group: for a new row, for its mean, or none.",
)
@click.option("--level", type=LEVEL, help="Level of limits and ellipses; 0.95.")
@click.option(
    "--label", callback=_label, metavar="N|A,B", help="Label the N farthest rows, or these rows."
)
@click.option("--top", type=click.IntRange(min=1), help="Maximum number of variables (bars).")
@click.option("--factor", type=float, help="Factor of the arrows of a biplot.")
@click.option(
    "--bootstrap", type=click.IntRange(min=2), metavar="N", help="Error bars from N resamples."
)
@click.option(
    "--rule",
    type=click.Choice(RULES),
    help="Add this rule to scree; some rules need DATA, the rows of the fit.",
)
@click.option("--training", is_flag=True, help="DATA are the rows of the fit (limit of T²).")
@click.option("--dark", is_flag=True, help="Draw on a dark background.")
@force_option
@read_options
@common_options
def plot(
    figure: str,
    model: Path,
    files: tuple[str, ...],
    output: Path,
    dark: bool,
    force: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Draw a FIGURE of MODEL, and of the rows of DATA.

    Figures of rows (scores, biplot, pairs, outliers) need DATA. So do loadings with --bootstrap
    and scree with some of the rules, where DATA are the rows of the fit. The other figures are
    drawn from the model alone.
    """
    from princomp.estimators import load
    from princomp.io import check_writable
    from princomp.reports import document, has_kernel

    given = {
        name: options[name]
        for name in dict.fromkeys(name for _, taken in FIGURES.values() for name in taken)
        if options[name] not in (None, False)
    }
    _check_arguments(figure, files, given)
    notes: list[str] = []
    if files and FIGURES[figure][0] != "rows" and not given.keys() & {"rule", "bootstrap"}:
        notes, files = [f"{figure} draws the model alone: DATA is ignored"], ()
    pca = load(model)
    if has_kernel(pca):
        check_figure(figure, model, given)
    elif figure != "outliers":
        check_plain(
            pca, model, f"the figure {figure} needs a PCA (a RobustPCA has the figure outliers)"
        )
    refuse_inputs([output], [model, *files])
    check_writable([output], force=force)
    from princomp import plots  # raises if a library is missing

    arguments: list[Any] = [pca]
    if files:
        groups = given.pop("groups", None)
        rows, notes, extra = rows_and_extra(pca, files, [] if groups is None else [groups])
        if groups is not None:
            given["groups"] = extra
        arguments.append(rows)
    if "rule" in given:
        given["decision"] = _decision(given.pop("rule"), *arguments)
        notes = [*notes, str(given["decision"])]
        arguments = [pca]
    _save(_draw(plots, figure, arguments, given, dark), output, force)
    contents = document("plot", figure=figure, notes=notes, files={"picture": str(output)})
    print_result(contents, as_json, list_files=False)


def _check_arguments(figure: str, files: tuple[str, ...], given: dict[str, Any]) -> None:
    """Refuse options that the figure would ignore, and missing arguments."""
    of, taken = FIGURES[figure]
    for name in given:
        if name not in taken:
            flags = ", ".join(f"--{one}" for one in taken)
            raise click.UsageError(f"--{name} has no effect on {figure}, which takes {flags}")
    if of == "rows" and not files:
        raise click.UsageError(f"{figure} draws rows: give DATA after MODEL")
    if not files and "bootstrap" in given:
        raise click.UsageError("--bootstrap resamples rows: give DATA, the rows of the fit")
    if "groups" not in given:
        for name in ("ellipses", "level"):
            if name in given and figure != "outliers":
                raise click.UsageError(f"--{name} needs groups: name a column with --groups")


def _draw(
    plots: ModuleType, figure: str, arguments: list[Any], given: dict[str, Any], dark: bool
) -> Figure:
    """Draw the figure, with the options as parameters of its function."""
    if figure == "scree" and "top" in given:
        given["most"] = given.pop("top")
    if figure == "contributions" and "x" in given:
        given["component"] = given.pop("x")
    if "bootstrap" in given:
        from princomp.diagnostics import bootstrap

        model, rows = arguments
        given["bootstrap"] = bootstrap(model, rows, n=given["bootstrap"])
        arguments = [model]
    axes = getattr(plots, figure)(*arguments, dark=dark, **given)
    return (axes[0, 0] if figure == "pairs" else axes).figure


def _save(figure: Figure, output: Path, force: bool) -> None:
    """Save a figure reproducibly: equal figures give equal bytes."""
    import matplotlib as mpl

    from princomp.io import atomic_write

    kind = output.suffix[1:].lower()
    no_date = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
    # Without a salt, ids inside an SVG are random.
    with mpl.rc_context({"svg.hashsalt": "princomp"}), atomic_write(output, force=force) as file:
        figure.savefig(file, format=kind, metadata=no_date)


def _decision(name: str, model: PCA, rows: Source | None = None) -> Decision:
    """Apply a rule to the rows of a fit or, without rows, to the model."""
    from princomp.estimators import choose
    from princomp.rules import rule_of

    if rows is None:
        if rule_of(name).needs == "rows":
            raise click.UsageError(
                f"{name} needs the rows: give DATA, the rows of the fit, after MODEL"
            )
        return choose(model, [name])[name]
    scale = model.scale if isinstance(model.scale, str) else model.scale_
    return choose(rows, [name], scale=scale, center=model.center, missing=model.missing)[name]
