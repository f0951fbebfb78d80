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
from princomp.reports.trust import judge

# Components with a figure of contributions, and components in the figure of pairs.
_CONTRIBUTIONS, _PAIRS = 3, 4
# Width and height in inches of the scree plot next to the biplot.
_SCREE = (5.2, 3.9)


@dataclass(frozen=True, eq=False)
class Request:
    """Model, rows and options of a report; ``why`` is the reason if there is no bootstrap."""

    model: PCA
    X: object
    rows: ReportedRows | None
    groups: object
    metadata: object
    ids: plots.Ids
    bootstrap: Bootstrap | None
    why: str
    level: float
    say: Texts
    styles: Styles = field(default_factory=Styles)

    @property
    def fitted(self) -> Fitted:
        """The record of the fit."""
        return fitted_of(self.model)

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """Verdicts of the components."""
        return judge(self.model, self.bootstrap)


class Part(NamedTuple):
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


def parts_of(request: Request) -> dict[str, Part]:
    """Draw all figures; return the parts by key."""
    return {key: _part(request, key) for key in request.say.figures}


def _part(request: Request, key: str) -> Part:
    say, fitted, rows = request.say, request.fitted, request.rows
    heading, explanation = say.figures[key]
    if missing := _missing(request, key):
        return Part(key, heading, explanation, missing=missing)
    if key == "loadings":
        explanation += f" {say('whiskers', request.bootstrap.n if request.bootstrap else 0)}"
    if key == "outliers":
        explanation += f" {say('limit_lines', f'{100 * request.level:.4g}%')}"
    facts: dict[str, object] = {
        "plane": " and ".join(f"PC{i + 1} ({rate:.1%})" for i, rate in enumerate(fitted.rates[:2])),
        "rates": fitted.spectrum.rates[:8].tolist(),
        "k": min(fitted.k, _PAIRS) if key == "pairs" else fitted.k,
        "rows": 0 if rows is None else len(rows.scores),
        "groups": 0 if rows is None or rows.groups is None else len(rows.groups.labels),
        "beyond": 0 if rows is None else int((rows.beyond != "").sum()),
    }
    if key != "contributions":
        figure = _drawn(*_calls(request)[key])
        return Part(key, heading, explanation, (_inline(request, key, figure, facts),))
    figures = []
    for i in range(1, min(fitted.k, _CONTRIBUTIONS) + 1):
        figure = _drawn(plots.contributions, (request.model, i), {"bootstrap": request.bootstrap})
        named = {**facts, "component": f"PC{i}"}
        figures.append(_inline(request, key, figure, named, f"{key}-{i}"))
    return Part(key, heading, explanation, tuple(figures))


def _missing(request: Request, key: str) -> str:
    """Return the reason why a figure is missing."""
    scale, needs = request.model.scale, _NEEDS.get(key, ())
    unit = isinstance(scale, str) and scale == "unit" and request.fitted.centred
    if key == "circle" and not unit:
        return request.say("no_circle")
    if key == "metadata" and request.metadata is None:
        return request.say("no_metadata")
    if "rows" in needs and request.rows is None:
        return request.say("missing", key, "rows")
    if "plane" in needs and request.fitted.k < 2:
        return request.say("missing", key, "plane")
    return ""


Call = tuple[Callable[..., Any], tuple[object, ...], dict[str, object]]


def _calls(request: Request) -> dict[str, Call]:
    """Functions of figures with their arguments."""
    model, X = request.model, request.X
    judged: dict[str, object] = {"bootstrap": request.bootstrap}
    rows = {"groups": request.groups, "ids": request.ids, **judged}
    training = request.rows is not None and request.rows.training
    return {
        "scree": (_small_scree, (model,), judged),
        "scores": (plots.scores, (model, X), rows),
        "biplot": (plots.biplot, (model, X), rows),
        "pairs": (plots.pairs, (model, X), {"groups": request.groups, **judged}),
        "circle": (plots.circle, (model,), judged),
        "cos2": (plots.cos2, (model,), judged),
        "loadings": (plots.loadings, (model,), judged),
        "outliers": (
            plots.outliers,
            (model, X, request.level),
            {"training": training, "ids": request.ids},
        ),
        "metadata": (plots.metadata, (model, X, request.metadata), judged),
    }


def _small_scree(model: PCA, *, dark: bool, **options: Any) -> Axes:
    return plots.scree(model, ax=plots.new_axes(*_SCREE, dark=dark), **options)


def _drawn(
    plot: Callable[..., Axes | NDArray[Any]], args: tuple[object, ...], options: dict[str, object]
) -> Figure:
    with warnings.catch_warnings():
        # The fonts of readers differ from those of this machine.
        warnings.filterwarnings("ignore", r"Glyph .* missing from font")
        made = plot(*args, dark=False, **options)
    figure = (made if isinstance(made, Axes) else made[0, 0]).figure
    assert isinstance(figure, Figure)
    return figure


def _inline(
    request: Request, key: str, figure: Figure, facts: dict[str, object], name: str = ""
) -> Markup:
    label = str(request.say("label", key, **facts))
    text = Markup(label).unescape()
    laid_out = key in _LAID_OUT
    return inline_figure(name or key, text, figure, request.styles, laid_out=laid_out)
