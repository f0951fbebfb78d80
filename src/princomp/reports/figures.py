"""The figures of a report: with explanations, or the reason why one is missing."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes

from princomp import plots
from princomp.estimators import PCA
from princomp.reports.request import Request
from princomp.reports.svg import Styles, inline_figure
from princomp.summaries import SampleWeight

# Components with a figure of contributions, and components in the figure of pairs.
_MAX_CONTRIBUTION_FIGURES, _MAX_PAIRED = 3, 4
# Width and height in inches of the scree plot next to the biplot.
_SCREE_SIZE = (5.2, 3.9)


class FigurePart(NamedTuple):
    """Figures with a heading and an explanation, or the reason why they are missing."""

    key: str
    heading: str
    explanation: str
    figures: tuple[Markup, ...] = ()
    missing: str = ""


def _small_scree(model: PCA, *, dark: bool, **options: Any) -> Axes:
    return plots.scree(model, ax=plots.new_axes(*_SCREE_SIZE, dark=dark), **options)


def _metadata(
    model: PCA, X: object, *, metadata: object, row_weights: SampleWeight, **options: Any
) -> Axes:
    return plots.metadata(model, X, metadata, row_weights, **options)


# Figures whose layout was already computed, in order to place labels.
_LAID_OUT = ("scores", "biplot", "circle", "outliers")
# For each figure: the function that draws it; what it needs in addition to the model, "rows" or two
# components ("plane"); and the attributes of the request that are passed to it as options.
_FIGURES: dict[str, tuple[Any, tuple[str, ...], tuple[str, ...]]] = {
    "scree": (_small_scree, (), ("bootstrap",)),
    "scores": (plots.scores, ("rows", "plane"), ("groups", "ids", "bootstrap")),
    "biplot": (plots.biplot, ("rows", "plane"), ("groups", "ids", "bootstrap")),
    "pairs": (plots.pairs, ("rows",), ("groups", "bootstrap")),
    "circle": (plots.circle, ("plane",), ("bootstrap",)),
    "contributions": (plots.contributions, (), ("bootstrap",)),
    "cos2": (plots.cos2, (), ("bootstrap",)),
    "loadings": (plots.loadings, (), ("bootstrap",)),
    "outliers": (plots.outliers, ("rows",), ("level", "training", "ids")),
    "metadata": (_metadata, ("rows",), ("metadata", "row_weights", "bootstrap")),
}


def figure_parts(request: Request) -> tuple[dict[str, FigurePart], Markup]:
    """Draw all figures; return the parts by key, and the style sheet of the figures."""
    styles = Styles()
    with warnings.catch_warnings():
        # The fonts of readers differ from those of this machine.
        warnings.filterwarnings("ignore", r"Glyph .* missing from font")
        parts = {key: _figure_part(request, key, styles) for key in request.texts.figures}
    return parts, styles.css


def _figure_part(request: Request, key: str, styles: Styles) -> FigurePart:
    texts, fitted, rows = request.texts, request.fitted, request.rows
    heading, explanation = texts.figures[key]
    if reason := _reason_if_missing(request, key):
        return FigurePart(key, heading, explanation, missing=reason)
    if key == "loadings":
        explanation += f" {texts('whiskers', request.bootstrap.n if request.bootstrap else 0)}"
    by_row = rows is not None and rows.limits.components == fitted.p  # as the outlier map
    if key == "outliers" and rows is not None:
        explanation = texts("t2_by_row") if by_row else explanation
        lines = texts("limit_lines", f"{100 * request.level:.10g}%") if rows.cutoffs else ""
        explanation = f"{explanation} {lines}".strip()
    facts: dict[str, object] = {
        "plane": " and ".join(f"PC{i + 1} ({rate:.1%})" for i, rate in enumerate(fitted.rates[:2])),
        "rates": fitted.spectrum.rates[:8].tolist(),
        "k": min(fitted.k, _MAX_PAIRED) if key == "pairs" else fitted.k,
        "rows": 0 if rows is None else int(np.isfinite(rows.scores).all(axis=1).sum()),
        "groups": 0 if rows is None or rows.groups is None else len(rows.groups.labels),
        "by_row": by_row,
        "beyond": None,
    }
    if rows is not None and rows.tested.any():
        facts["beyond"] = int((rows.exceeded != "").sum())
    # There is a figure of contributions for each of the first components.
    n_figures = min(fitted.k, _MAX_CONTRIBUTION_FIGURES)
    components = range(1, n_figures + 1) if key == "contributions" else [0]
    figures = (_draw(request, key, {**facts, "component": f"PC{i}"}, i, styles) for i in components)
    return FigurePart(key, heading, explanation, tuple(figures))


def _reason_if_missing(request: Request, key: str) -> str:
    """Return the reason why a figure is missing."""
    scale, needs = request.model.scale, _FIGURES[key][1]
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


def _draw(
    request: Request, key: str, facts: dict[str, object], component: int, styles: Styles
) -> Markup:
    """Draw a figure; ``component`` is 0 where it is not about one component."""
    plot, needs, option_names = _FIGURES[key]
    args = [request.X] if "rows" in needs else []
    options = {name: getattr(request, name) for name in option_names}
    if component:
        options["component"] = component
    axes = plot(request.model, *args, dark=False, **options)
    figure: Any = (axes if isinstance(axes, Axes) else axes[0, 0]).figure
    return inline_figure(
        f"{key}-{component}" if component else key,
        request.texts("label", key, **facts).unescape(),
        figure,
        styles,
        laid_out=key in _LAID_OUT,
    )
