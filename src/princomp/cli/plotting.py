"""``plot``: a figure of a model, as a file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from princomp.cli.beside import rows_beside
from princomp.cli.calls import refuse_inputs
from princomp.cli.model_or_rows import check_figure, check_plain
from princomp.cli.options import PATH, RULES, model_argument, shared
from princomp.cli.printed import print_json, say

__all__ = ["FIGURES", "plot"]

_PLANE = ("x", "y")
_GROUPED = ("groups", "ellipses", "level")
# What each figure takes, beside whether it is of rows (DATA), of none, or of either.
FIGURES: dict[str, tuple[str, tuple[str, ...]]] = {
    "scree": ("model", ("top", "rule")),
    "scores": ("rows", (*_PLANE, *_GROUPED, "label")),
    "biplot": ("rows", (*_PLANE, *_GROUPED, "label", "top", "factor")),
    "circle": ("model", (*_PLANE, "top")),
    "contributions": ("model", ("x", "top")),
    "cos2": ("model", ("components", "top")),
    "loadings": ("either", ("components", "top", "bootstrap")),
    "pairs": ("rows", ("components", *_GROUPED)),
    "outliers": ("rows", ("level", "label", "training")),
}
_ENDINGS = (".svg", ".png", ".pdf")


def _listed(_: Any, __: Any, value: str | None) -> list[str] | None:
    return None if value is None else [one.strip() for one in value.split(",")]


def _label(_: Any, __: Any, value: str | None) -> int | list[str] | None:
    if value is None or not value.isascii() or not value.isdigit():
        return _listed(_, __, value)
    return int(value)


def _ending(_: Any, __: Any, value: Path) -> Path:
    if value.suffix.lower() not in _ENDINGS:
        raise click.BadParameter(f"{value}: the name must end in {', '.join(_ENDINGS)}")
    return value


_COMPONENT = "Component: a number from 1, or PC1."


@click.command()
@click.argument("figure", type=click.Choice(list(FIGURES)))
@model_argument
@click.argument("files", metavar="[DATA]...", nargs=-1)
@click.option(
    "-o",
    "--output",
    type=PATH,
    callback=_ending,
    required=True,
    help="Picture to write; its ending (.svg, .png, .pdf) says which kind.",
)
@click.option("--x", metavar="PC", help=f"{_COMPONENT} Along the figure; 1 by default.")
@click.option("--y", metavar="PC", help=f"{_COMPONENT} Up the figure; 2 by default.")
@click.option("--components", callback=_listed, metavar="A,B", help="Which components.")
@click.option("--groups", metavar="COLUMN", help="Column of DATA whose values are categories.")
@click.option(
    "--ellipses",
    type=click.Choice(["rows", "mean", "none"]),
    help="Around each group: where a further row would lie, where its mean does, or none.",
)
@click.option(
    "--level", type=click.FloatRange(0, 1, True, True), help="Of limits and ellipses; 0.95."
)
@click.option(
    "--label", callback=_label, metavar="N|A,B", help="Name the N farthest rows, or these."
)
@click.option("--top", type=click.IntRange(min=1), help="How many variables (bars) at most.")
@click.option("--factor", type=float, help="What all arrows of a biplot are multiplied with.")
@click.option(
    "--bootstrap", type=click.IntRange(min=2), metavar="N", help="Whiskers from N resamples."
)
@click.option(
    "--rule",
    type=click.Choice(RULES),
    help="What this rule says of scree's components; DATA, the rows of the fit, where it draws.",
)
@click.option("--training", is_flag=True, help="DATA are the rows of the fit: their limit of T².")
@click.option("--dark", is_flag=True, help="Light ink on a dark ground.")
@click.option("--force", is_flag=True, help="Replace an existing output.")
@shared
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

    Figures of rows (scores, biplot, pairs, outliers) need DATA; loadings with --bootstrap
    need the rows of the fit, as scree does with a --rule that draws rows; the others are of
    the model alone.
    """
    from princomp.atomic import atomic_write, check_writable
    from princomp.documents import document, has_kernel
    from princomp.functions import load

    given = {name: value for name, value in options.items() if value not in (None, False)}
    _check_arguments(figure, files, given)
    pca = load(model)
    if has_kernel(pca):
        check_figure(figure, model, given)
    elif figure != "outliers":
        check_plain(pca, model, f"{figure} is a figure of a PCA; outliers is one of both")
    refuse_inputs([output], [model, *files])
    check_writable([output], force=force)
    from princomp import plots  # says which extra installs what is missing

    notes: list[str] = []
    arguments: list[Any] = [pca]
    if files:
        groups = given.pop("groups", None)
        rows, notes, beside = rows_beside(pca, files, [] if groups is None else [groups])
        if groups is not None:
            given["groups"] = beside
        arguments.append(rows)
    if "rule" in given:
        given["decision"] = _decision(given.pop("rule"), *arguments)
        notes = [*notes, str(given["decision"])]
        arguments = [pca]
    with _fixed_ids():
        drawn = _drawn(plots, figure, arguments, given, dark)
        with atomic_write(output, force=force) as file:
            kind = output.suffix[1:].lower()
            date = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
            drawn.savefig(file, format=kind, metadata=date)
    if as_json:
        print_json(document("plot", figure=figure, notes=notes, files={"picture": str(output)}))
    else:
        say(notes)


def _check_arguments(figure: str, files: tuple[str, ...], given: dict[str, Any]) -> None:
    """Refuse what the figure would ignore, and miss what it needs."""
    of, taken = FIGURES[figure]
    for name in given:
        if name not in taken:
            flags = ", ".join(f"--{one}" for one in taken)
            raise click.UsageError(f"--{name} says nothing to {figure}, which takes {flags}")
    if of == "rows" and not files:
        raise click.UsageError(f"{figure} is a figure of rows: give DATA after MODEL")
    if of == "model" and files and "rule" not in given:
        raise click.UsageError(f"{figure} is a figure of the model alone: leave DATA out")
    if of == "either" and bool(files) != ("bootstrap" in given):
        raise click.UsageError(f"{figure} takes DATA for --bootstrap N, and both or none of them")
    if "groups" not in given:
        for name in ("ellipses", "level"):
            if name in given and figure != "outliers":
                raise click.UsageError(f"--{name} is of groups: name a column with --groups")


def _drawn(plots: Any, figure: str, arguments: list[Any], given: dict[str, Any], dark: bool) -> Any:
    """The figure, drawn with the options under the names that the functions give them."""
    if figure == "scree" and "top" in given:
        given["most"] = given.pop("top")
    if figure == "contributions" and "x" in given:
        given["component"] = given.pop("x")
    if "bootstrap" in given:
        from princomp.resampling import bootstrap

        model, rows = arguments
        given["bootstrap"] = bootstrap(rows, model, n=given["bootstrap"])
        arguments = [model]
    axes = getattr(plots, figure)(*arguments, dark=dark, **given)
    return (axes[0, 0] if figure == "pairs" else axes).figure


def _decision(name: str, model: Any, rows: Any = None) -> Any:
    """What a rule says of the rows of a fit, or of what the model kept of them."""
    from princomp.choosing import rule_of
    from princomp.side_by_side import choose

    if rows is None:
        if rule_of(name).needs == "rows":
            raise click.UsageError(
                f"{name} draws rows: give DATA, the rows of the fit, after MODEL"
            )
        return choose(model, [name])[name]
    scale = model.scale if isinstance(model.scale, str) else model.scale_
    return choose(rows, [name], scale=scale, center=model.center, missing=model.missing)[name]


@contextmanager
def _fixed_ids() -> Iterator[None]:
    """The same picture has the same bytes: names inside an SVG are drawn at random else."""
    import matplotlib as mpl

    with mpl.rc_context({"svg.hashsalt": "princomp"}):
        yield
