"""``plot``: a figure of a model, as a file."""

from __future__ import annotations

import csv
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from princomp import core, diagnostics, estimators, io, reports
from princomp.cli.inputs import check_plain, rows_and_extra
from princomp.cli.options import (
    LEVEL,
    OUTPUT_PATH,
    RULES,
    command,
    data_argument,
    force_option,
    given_parameters,
    model_argument,
    name_option,
    notes_on_read_options,
    read_options,
)
from princomp.cli.output import print_result
from princomp.cli.results import check_outputs, notes_on_rows
from princomp.errors import NotAvailableError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from princomp.rules import Decision

_PLANE_OPTIONS = ("x", "y")
_GROUP_OPTIONS = ("groups", "ellipses", "level")
# What each figure shows (the model, or rows of DATA), and its options.
FIGURES: dict[str, tuple[str, tuple[str, ...]]] = {
    "scree": ("model", ("top", "rule")),
    "scores": ("rows", (*_PLANE_OPTIONS, *_GROUP_OPTIONS, "label")),
    "biplot": ("rows", (*_PLANE_OPTIONS, *_GROUP_OPTIONS, "label", "top", "factor", "arrows")),
    "circle": ("model", (*_PLANE_OPTIONS, "top")),
    "contributions": ("model", ("x", "top")),
    "cos2": ("model", ("components", "top")),
    "loadings": ("model", ("components", "top", "bootstrap")),
    "pairs": ("rows", ("components", *_GROUP_OPTIONS)),
    "outliers": ("rows", ("level", "label", "training")),
}
# Figures that can show a kernel PCA; a robust PCA only has the figure outliers.
_KERNEL_FIGURES = ("scree", "scores", "pairs")
_MISSING_GLYPH = re.compile(r"Glyph (\d+) .* missing from font")
_EXTENSIONS = (".svg", ".png", ".pdf")


def _parse_list(value: str) -> list[str]:
    try:  # a name with a comma in it can be quoted, as in CSV
        items = next(csv.reader([value], skipinitialspace=True, strict=True)) or [value]
    except csv.Error:
        items = value.split(",")
    return [item.strip() for item in items]


def _parse_label(value: str) -> int | list[str]:
    return int(value) if value.isascii() and value.isdigit() else _parse_list(value)


def _check_extension(_: click.Context, __: click.Parameter, value: Path) -> Path:
    if value.suffix.lower() not in _EXTENSIONS:
        raise click.BadParameter(f"{value}: the name must end in {', '.join(_EXTENSIONS)}")
    return value


@command
@click.argument("figure", type=click.Choice(list(FIGURES)))
@model_argument
@data_argument
@click.option(
    "-o",
    "--output",
    type=OUTPUT_PATH,
    callback=_check_extension,
    required=True,
    help="Picture to write (.svg, .png, .pdf).",
)
@click.option("--x", metavar="PC", help="Component of the horizontal axis: 1 (default), or PC1.")
@click.option("--y", metavar="PC", help="Component of the vertical axis: 2 (default), or PC2.")
@click.option("--components", type=_parse_list, metavar="A,B", help="Components to draw.")
@name_option("--groups", text="Column of DATA with categories.")
@click.option(
    "--ellipses",
    type=click.Choice(["rows", "mean", "none"]),
    help="Ellipses of each group: for a new row, for its mean, or none.",
)
@click.option("--level", type=LEVEL, help="Level of limits and ellipses, 0.95 by default.")
@click.option(
    "--label",
    type=_parse_label,
    metavar="N|A,B",
    help="Label the N farthest rows, or these rows.",
)
@click.option("--top", type=click.IntRange(min=1), help="Maximum number of variables (bars).")
@click.option(
    "--factor",
    type=click.FloatRange(0, min_open=True),
    help="Factor of the arrows of a biplot; a suitable one by default.",
)
@click.option(
    "--arrows",
    type=click.Choice(["loadings", "axes"]),
    help="Arrows of a biplot: loadings, or axes, which show the values of the rows.",
)
@click.option(
    "--bootstrap", type=click.IntRange(min=2), metavar="N", help="Error bars from N resamples."
)
@click.option(
    "--rule",
    type=click.Choice(RULES),
    help="Add this rule to scree; some rules need DATA, the rows of the fit.",
)
@click.option(
    "--training", is_flag=True, help="DATA are the rows of the fit, whose limits are lower."
)
@click.option("--dark", is_flag=True, help="Draw on a dark background.")
@force_option
@read_options
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
    figure_options, notes = _used_options(figure, options)
    _check_arguments(figure, files, figure_options)
    if not files:
        notes += notes_on_read_options("DATA")
    elif FIGURES[figure][0] != "rows" and not figure_options.keys() & {"rule", "bootstrap"}:
        notes, files = [*notes, f"{figure} draws the model alone: DATA is ignored"], ()
    pca = estimators.load(model)
    others = _KERNEL_FIGURES if reports.is_kernel_pca(pca) else ("outliers",)
    if figure not in others or "rule" in figure_options:
        what = "--rule" if figure in others else f"the figure {figure}"
        check_plain(pca, model, f"{what} needs a PCA; figures of this model: {', '.join(others)}")
    check_outputs([output], [model, *files], force=force)
    from princomp import plots

    draw = getattr(plots, figure)  # raises if a library is missing
    rows = None
    if files:
        groups = figure_options.pop("groups", None)
        rows, row_notes, extra = rows_and_extra(pca, files, [] if groups is None else [groups])
        notes += row_notes
        if groups is not None:
            figure_options["groups"] = {groups: io.as_texts(extra[groups])}
    if "rule" in figure_options:
        figure_options["decision"] = _apply_rule(figure_options.pop("rule"), pca, rows)
        notes = [*notes, str(figure_options["decision"])]
    if "bootstrap" in figure_options:
        n = figure_options["bootstrap"]
        figure_options["bootstrap"] = diagnostics.bootstrap(pca, rows, n=n)
    arguments = [pca, rows] if FIGURES[figure][0] == "rows" else [pca]
    with _missing_characters() as missing:
        drawn = _draw(draw, figure, arguments, figure_options, dark)
        _save(drawn, output, force, missing)
    if rows is not None:
        notes = [*notes, *notes_on_rows(core.fitted_model(pca), rows)]
    notes = [*notes, *_notes_on_font(missing, output)]
    outputs = {"picture": output}
    print_result("plot", as_json, list_files=False, figure=figure, notes=notes, files=outputs)


def _used_options(figure: str, options: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return the given options that the figure uses, and notes on those that it ignores."""
    given, used, notes = given_parameters(), {}, []
    for name in dict.fromkeys(name for _, names in FIGURES.values() for name in names):
        if name not in given:
            continue
        if name not in FIGURES[figure][1]:
            notes.append(f"--{name} has no effect on {figure}")
        elif name in ("ellipses", "level") and figure != "outliers" and "groups" not in given:
            notes.append(f"--{name} has no effect without --groups")
        else:
            used[name] = options[name]
    return used, notes


def _check_arguments(figure: str, files: tuple[str, ...], figure_options: dict[str, Any]) -> None:
    """Refuse to draw rows, or to resample them, without DATA."""
    if not files and FIGURES[figure][0] == "rows":
        raise click.UsageError(f"{figure} draws rows: give DATA after MODEL")
    if not files and "bootstrap" in figure_options:
        raise click.UsageError("--bootstrap resamples rows: give DATA, the rows of the fit")


def _draw(
    draw: Callable[..., Any],
    figure: str,
    arguments: list[Any],
    figure_options: dict[str, Any],
    dark: bool,
) -> Figure:
    """Draw the figure, with the options as parameters of its function."""
    if figure == "scree" and "top" in figure_options:
        figure_options["most"] = figure_options.pop("top")
    if figure == "contributions" and "x" in figure_options:
        figure_options["component"] = figure_options.pop("x")
    axes = draw(*arguments, dark=dark, **figure_options)
    return (axes[0, 0] if figure == "pairs" else axes).figure


@contextmanager
def _missing_characters() -> Iterator[list[str]]:
    """Collect the characters that the font does not have, of which matplotlib warns one by one."""
    missing: list[str] = []
    show = warnings.showwarning

    def collect(message: Warning | str, *place: Any, **more: Any) -> None:
        if found := _MISSING_GLYPH.match(str(message)):
            missing.append(chr(int(found[1])))
        else:
            show(message, *place, **more)

    with warnings.catch_warnings():
        warnings.filterwarnings("always", _MISSING_GLYPH.pattern)
        warnings.showwarning = collect
        yield missing


def _notes_on_font(missing: list[str], output: Path) -> list[str]:
    if not missing:
        return []
    characters = io.listed(dict.fromkeys(missing))
    if output.suffix.lower() == ".svg":
        return [
            f"the font has no characters for {characters}: {output} holds texts, not shapes, and "
            "the program that shows it chooses a font"
        ]
    return [
        f"the font has no characters for {characters}, so they are drawn as boxes: write .svg, or "
        "set font.family in a matplotlibrc to a font that has them"
    ]


def _save(figure: Figure, output: Path, force: bool, missing: list[str]) -> None:
    """Save a figure reproducibly: equal figures give equal bytes.

    Texts in an SVG are drawn as shapes, unless the font lacks characters of them.
    """
    import matplotlib as mpl

    kind = output.suffix[1:].lower()
    no_date = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
    # Without a salt, ids inside an SVG are random.
    with mpl.rc_context({"svg.hashsalt": "princomp"}), io.atomic_write(output, force=force) as file:
        figure.savefig(file, format=kind, metadata=no_date)
        if missing and kind == "svg":
            file.seek(0)
            file.truncate()
            mpl.rcParams["svg.fonttype"] = "none"
            figure.savefig(file, format=kind, metadata=no_date)


def _apply_rule(name: str, model: estimators.PCA, rows: io.Source | None) -> Decision:
    """Apply a rule to the rows of a fit or, without rows, to the model."""
    from princomp.rules import rule_of

    if model.imputed_ is not None and model.imputed_.cells:
        raise NotAvailableError(
            f"--rule {name} needs complete rows, and the fit of this model filled missing cells",
            place={"parameter": "rule"},
            hint="leave --rule out, or fit with --missing drop",
        )
    if rows is None:
        if rule_of(name).needs == "rows":
            raise click.UsageError(
                f"{name} needs the rows: give DATA, the rows of the fit, after MODEL"
            )
        return estimators.choose(model, [name])[name]
    scale = model.scale if isinstance(model.scale, str) else model.scale_
    missing = "error" if model.missing in core.FILL_METHODS else model.missing
    return estimators.choose(
        rows, [name], scale=scale, center=model.center, constant=model.constant, missing=missing
    )[name]
