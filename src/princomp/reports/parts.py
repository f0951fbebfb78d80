"""The figures of a report: what each shows, how it is read, and why one is left out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from markupsafe import Markup

from princomp import plots
from princomp.fitted import Fitted
from princomp.reports.rows import ReportedRows
from princomp.reports.svg import drawn_twice
from princomp.reports.words import counted
from princomp.resampling import Bootstrap

__all__ = ["Asked", "Part", "parts_of"]

# Components with a figure of their contributions, and pairs of components that are drawn.
_CONTRIBUTIONS, _PAIRS = 3, 4


@dataclass(frozen=True, eq=False)
class Asked:
    """What a report is of."""

    model: Any
    X: Any
    rows: ReportedRows | None
    groups: Any
    metadata: Any
    ids: Any
    bootstrap: Bootstrap | None
    level: float

    @property
    def fitted(self) -> Fitted:
        """The record of the fit."""
        fitted: Fitted = self.model._state
        return fitted


class Part(NamedTuple):
    """A figure or some of a kind, with a heading and words; or why there is none."""

    key: str
    heading: str
    words: str
    figures: tuple[Markup, ...] = ()
    missing: str = ""


def parts_of(asked: Asked) -> dict[str, Part]:
    """All of them by key, drawn."""
    made = (_scree, _scores, _biplot, _pairs, _circle, _contributions, _cos2, _loadings)
    return {part.key: part for part in (make(asked) for make in (*made, _outliers, _metadata))}


def _drawn(key: str, label: str, plot: Callable[..., Any], *given: Any, **options: Any) -> Markup:
    def draw(dark: bool) -> Any:
        made = plot(*given, dark=dark, **options)
        return (made[0, 0] if plot is plots.pairs else made).figure

    return drawn_twice(key, label, draw)


def _no_rows(asked: Asked, what: str) -> str:
    return f"{what} is of rows, and none were given to this report." if asked.rows is None else ""


def _one(asked: Asked, what: str) -> str:
    return f"{what} takes two components, and this model keeps one." if asked.fitted.k < 2 else ""


def _rates(fitted: Fitted, count: int = 2) -> str:
    return " and ".join(f"PC{i + 1} ({fitted.rates[i]:.1%})" for i in range(min(count, fitted.k)))


def _scree(asked: Asked) -> Part:
    fitted = asked.fitted
    rates = ", ".join(f"{rate:.1%}" for rate in fitted.spectrum.rates[:8])
    label = (
        f"Scree plot. Bars: share of the total variance by component: {rates}. "
        f"{counted(fitted.k, 'component')} kept."
    )
    words = (
        "Each bar is the share of the total variance that a component holds; the line adds them "
        "up. Where bars level off, components begin to describe noise."
    )
    return Part("scree", "Scree plot", words, (_drawn("scree", label, plots.scree, asked.model),))


def _scores(asked: Asked) -> Part:
    part = partial(Part, "scores", "Rows on the components")
    words = (
        "Each point is a row. Rows that lie together are alike in the variables that make the "
        "components; both axes have the same scale, so distances can be compared."
    )
    if why := _no_rows(asked, "A score plot") or _one(asked, "A score plot"):
        return part(words, missing=why)
    assert asked.rows is not None
    n = counted(len(asked.rows.t), "row")
    label = f"Score plot of {n} on {_rates(asked.fitted)}."
    if asked.rows.groups is not None:
        label += f" Colours and shapes tell {len(asked.rows.groups.labels)} groups apart."
    given = {"groups": asked.groups, "ids": asked.ids}
    return part(words, (_drawn("scores", label, plots.scores, asked.model, asked.X, **given),))


def _biplot(asked: Asked) -> Part:
    part = partial(Part, "biplot", "Biplot: rows and variables together")
    words = (
        "Points are rows as above; arrows are the loadings of the variables. Rows in the direction "
        "of an arrow have high values of that variable. All arrows are stretched by one factor, "
        "which the figure names."
    )
    if why := _no_rows(asked, "A biplot") or _one(asked, "A biplot"):
        return part(words, missing=why)
    label = f"Biplot on {_rates(asked.fitted)}: rows as points, loadings of variables as arrows."
    given = {"groups": asked.groups, "ids": asked.ids}
    return part(words, (_drawn("biplot", label, plots.biplot, asked.model, asked.X, **given),))


def _pairs(asked: Asked) -> Part:
    part = partial(Part, "pairs", "All pairs of the first components")
    words = "Each panel is a plane of two components; on the diagonal is how each is distributed."
    if why := _no_rows(asked, "This figure"):
        return part(words, missing=why)
    count = min(asked.fitted.k, _PAIRS)
    label = f"Rows on each pair of the first {counted(count, 'component')}."
    return part(
        words, (_drawn("pairs", label, plots.pairs, asked.model, asked.X, groups=asked.groups),)
    )


def _circle(asked: Asked) -> Part:
    part = partial(Part, "circle", "Correlation circle")
    words = (
        "An arrow ends at the variable’s correlations with the two components. One that reaches "
        "the circle is shown whole by this plane; a short one is not, and should not be read here. "
        "Arrows in one direction belong to variables that go together, opposite ones to variables "
        "that go against each other."
    )
    unit = isinstance(asked.model.scale, str) and asked.model.scale == "unit"
    if not (unit and asked.fitted.centred):
        why = "Left out: loadings are correlations only in a centred PCA of unit scale."
        return part(words, missing=why)
    if why := _one(asked, "A circle"):
        return part(words, missing=why)
    label = f"Arrows in a unit circle: correlations of the variables with {_rates(asked.fitted)}."
    return part(words, (_drawn("circle", label, plots.circle, asked.model),))


def _contributions(asked: Asked) -> Part:
    words = (
        "Which variables make a component, in percent; all together are 100%. The line is what "
        "each would contribute if all did alike."
    )
    figures = tuple(
        _drawn(
            f"contributions-{i + 1}",
            f"Contributions of the variables to PC{i + 1}, the largest first.",
            *(plots.contributions, asked.model, i + 1),
        )
        for i in range(min(asked.fitted.k, _CONTRIBUTIONS))
    )
    return Part("contributions", "Contributions of the variables", words, figures)


def _cos2(asked: Asked) -> Part:
    words = (
        "What share of each variable’s variance a component shows. A variable whose sum is low is "
        "hardly in this analysis, whatever its arrow looks like."
    )
    label = "Grid of squared cosines: the share of each variable's variance that components show."
    figure = _drawn("cos2", label, plots.cos2, asked.model)
    return Part("cos2", "How well variables are shown", words, (figure,))


def _loadings(asked: Asked) -> Part:
    words = "How much a variable changes with a component, in units of the analysed columns."
    label = "Loadings of the variables on the first components."
    if asked.bootstrap is not None:
        words += (
            f" Whiskers are intervals of {asked.bootstrap.n:,} bootstrap resamples: where one "
            "crosses zero, not even the sign of the loading is certain."
        )
        label += " Whiskers show bootstrap intervals."
    else:
        words += " Without a bootstrap of the rows of the fit there are no whiskers."
    figure = _drawn("loadings", label, plots.loadings, asked.model, bootstrap=asked.bootstrap)
    return Part("loadings", "Loadings", words, (figure,))


def _outliers(asked: Asked) -> Part:
    part = partial(Part, "outliers", "Outlier map")
    words = (
        "Far to the right (T²): extreme, but in the way the components describe. Far up (Q): "
        "off the components, so that the model does not describe the row. Lines are the limits "
        f"that {100 * asked.level:.4g}% of normal rows stay below."
    )
    if why := _no_rows(asked, "An outlier map"):
        return part(words, missing=why)
    assert asked.rows is not None
    beyond = int((asked.rows.beyond != "").sum())
    label = f"T squared of rows against their Q; {counted(beyond, 'row')} beyond a limit."
    options = {"training": asked.rows.training, "ids": asked.ids}
    figure = _drawn("outliers", label, plots.outliers, asked.model, asked.X, asked.level, **options)
    return part(words, (figure,))


def _metadata(asked: Asked) -> Part:
    part = partial(Part, "metadata", "Components against other columns")
    words = (
        "Columns that took no part in the fit: r is their correlation with a component, η² the "
        "share of its variance that lies between categories."
    )
    if asked.metadata is None:
        why = "No other columns were named (metadata=…, --metadata A,B)."
        return part(words, missing=why)
    if why := _no_rows(asked, "This figure"):
        return part(words, missing=why)
    label = "Grid of correlations (or eta squared) of components with columns of metadata."
    figure = _drawn("metadata", label, plots.metadata, asked.model, asked.X, asked.metadata)
    return part(words, (figure,))
