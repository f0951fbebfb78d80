"""The figures of a report, with explanations, or the reason why one is missing."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from princomp import plots
from princomp.core import Fitted, Verdict
from princomp.diagnostics import Bootstrap, fitted_of
from princomp.estimators import PCA
from princomp.reports.rows import ReportedRows
from princomp.reports.svg import Styles, inline_figure
from princomp.reports.text import Texts
from princomp.reports.trust import report_verdicts

# Components with a figure of contributions, and components in the figure of pairs.
_MAX_CONTRIBUTION_FIGURES, _MAX_PAIRED = 3, 4
# Width and height in inches of the scree plot next to the biplot.
_SCREE_SIZE = (5.2, 3.9)


@dataclass(frozen=True, eq=False)
class Request:
    """Model, rows and options of a report; ``why_no_bootstrap`` is the reason if there is none."""

    model: PCA
    X: object
    rows: ReportedRows | None
    groups: object
    metadata: object
    ids: plots.Ids
    bootstrap: Bootstrap | None
    why_no_bootstrap: str
    level: float
    texts: Texts
    styles: Styles = field(default_factory=Styles)

    @property
    def fitted(self) -> Fitted:
        """The record of the fit."""
        return fitted_of(self.model)

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """Verdicts of the components."""
        return report_verdicts(self.model, self.bootstrap)


class FigurePart(NamedTuple):
    """Figures with a heading and an explanation, or the reason why they are missing."""

    key: str
    heading: str
    explanation: str
    figures: tuple[Markup, ...] = ()
    missing: str = ""


# Figures whose layout was already computed, in order to place labels.
_LAID_OUT = ("scores", "biplot", "circle", "outliers")
# What each figure needs in addition to the model: rows, or two components ("plane").
_NEEDS = {
    "scores": ("rows", "plane"),
    "biplot": ("rows", "plane"),
    "pairs": ("rows",),
    "circle": ("plane",),
    "outliers": ("rows",),
    "metadata": ("rows",),
}


def figure_parts(request: Request) -> dict[str, FigurePart]:
    """Draw all figures; return the parts by key."""
    return {key: _figure_part(request, key) for key in request.texts.figures}


def _figure_part(request: Request, key: str) -> FigurePart:
    texts, fitted, rows = request.texts, request.fitted, request.rows
    heading, explanation = texts.figures[key]
    if reason := _reason_if_missing(request, key):
        return FigurePart(key, heading, explanation, missing=reason)
    if key == "loadings":
        explanation += f" {texts('whiskers', request.bootstrap.n if request.bootstrap else 0)}"
    if key == "outliers":
        explanation += f" {texts('limit_lines', f'{100 * request.level:.4g}%')}"
    facts: dict[str, object] = {
        "plane": " and ".join(f"PC{i + 1} ({rate:.1%})" for i, rate in enumerate(fitted.rates[:2])),
        "rates": fitted.spectrum.rates[:8].tolist(),
        "k": min(fitted.k, _MAX_PAIRED) if key == "pairs" else fitted.k,
        "rows": 0 if rows is None else len(rows.scores),
        "groups": 0 if rows is None or rows.groups is None else len(rows.groups.labels),
        "beyond": 0 if rows is None else int((rows.exceeded != "").sum()),
    }
    if key != "contributions":
        figure = _draw(*_plot_calls(request)[key])
        return FigurePart(key, heading, explanation, (_inline_svg(request, key, figure, facts),))
    figures = []
    for i in range(1, min(fitted.k, _MAX_CONTRIBUTION_FIGURES) + 1):
        figure = _draw(plots.contributions, (request.model, i), {"bootstrap": request.bootstrap})
        component_facts = {**facts, "component": f"PC{i}"}
        figures.append(_inline_svg(request, key, figure, component_facts, f"{key}-{i}"))
    return FigurePart(key, heading, explanation, tuple(figures))


def _reason_if_missing(request: Request, key: str) -> str:
    """Return the reason why a figure is missing."""
    scale, needs = request.model.scale, _NEEDS.get(key, ())
    unit = isinstance(scale, str) and scale == "unit" and request.fitted.centred
    if key == "circle" and not unit:
        return request.texts("no_circle")
    if key == "metadata" and request.metadata is None:
        return request.texts("no_metadata")
    if "rows" in needs and request.rows is None:
        return request.texts("missing", key, "rows")
    if "plane" in needs and request.fitted.k < 2:
        return request.texts("missing", key, "plane")
    return ""


PlotCall = tuple[Callable[..., Any], tuple[object, ...], dict[str, object]]


def _plot_calls(request: Request) -> dict[str, PlotCall]:
    """Functions of figures with their arguments."""
    model, X = request.model, request.X
    bootstrap_option: dict[str, object] = {"bootstrap": request.bootstrap}
    rows = {"groups": request.groups, "ids": request.ids, **bootstrap_option}
    training = request.rows is not None and request.rows.training
    return {
        "scree": (_small_scree, (model,), bootstrap_option),
        "scores": (plots.scores, (model, X), rows),
        "biplot": (plots.biplot, (model, X), rows),
        "pairs": (plots.pairs, (model, X), {"groups": request.groups, **bootstrap_option}),
        "circle": (plots.circle, (model,), bootstrap_option),
        "cos2": (plots.cos2, (model,), bootstrap_option),
        "loadings": (plots.loadings, (model,), bootstrap_option),
        "outliers": (
            plots.outliers,
            (model, X, request.level),
            {"training": training, "ids": request.ids},
        ),
        "metadata": (plots.metadata, (model, X, request.metadata), bootstrap_option),
    }


def _small_scree(model: PCA, *, dark: bool, **options: Any) -> Axes:
    return plots.scree(model, ax=plots.new_axes(*_SCREE_SIZE, dark=dark), **options)


def _draw(
    plot: Callable[..., Axes | NDArray[Any]], args: tuple[object, ...], options: dict[str, object]
) -> Figure:
    with warnings.catch_warnings():
        # The fonts of readers differ from those of this machine.
        warnings.filterwarnings("ignore", r"Glyph .* missing from font")
        axes = plot(*args, dark=False, **options)
    figure = (axes if isinstance(axes, Axes) else axes[0, 0]).figure
    assert isinstance(figure, Figure)
    return figure


def _inline_svg(
    request: Request, key: str, figure: Figure, facts: dict[str, object], name: str = ""
) -> Markup:
    label = str(request.texts("label", key, **facts))
    text = Markup(label).unescape()
    laid_out = key in _LAID_OUT
    return inline_figure(name or key, text, figure, request.styles, laid_out=laid_out)
