"""Scree plot: variances, their cumulative sum, and the chosen number of components."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from princomp.core import verdict_lines
from princomp.diagnostics import Bootstrap, check_count, shared_docs
from princomp.errors import ParameterError, ShapeError, invalid_value
from princomp.estimators import PCA
from princomp.kernel_pca import KernelPCA
from princomp.linalg import FloatArray, as_floats
from princomp.plots import style
from princomp.plots.drawn_model import DrawnModel, accept_any_model
from princomp.rules import Decision

# Largest number of bars with numbers, and with percent signs.
_MAX_NUMBERED_BARS, _MAX_PERCENT_SIGNS = 15, 9
# Largest number of components whose p-values begin with "p = ".
_MAX_TESTED_BARS = 6
# Height of a number as a share of an axis of default size.
_NUMBER_HEIGHT = 0.045
# Labels of the limits of some rules.
_LIMIT_LABELS = {
    "parallel": "quantile without structure (parallel)",
    "broken-stick": "pieces of a broken stick",
    "kaiser": "mean variance (kaiser)",
    "marchenko-pastur": "edge of noise (marchenko-pastur)",
    "gavish-donoho": "threshold (gavish-donoho)",
}
# Largest difference between the variances of a decision and of the model, as a share.
_RATE_TOLERANCE = 1e-3


@accept_any_model
@shared_docs
def scree(
    model: PCA | KernelPCA,
    *,
    null: ArrayLike | None = None,
    decision: Decision | None = None,
    most: int = 15,
    bootstrap: Bootstrap | None = None,
    ax: Axes | None = None,
    dark: bool | None = None,
) -> Axes:
    """Draw a scree plot: the contribution rate of each component, and their cumulative sum.

    Parameters
    ----------
    model : PCA or KernelPCA
        Fitted.
    null : array of shape (m,), optional
        Variances of data without structure (or a quantile of them) to compare with the first
        m, in squared units of the analysed columns.
    decision : Decision, optional
        Decision of a rule, such as ``choose(…)["parallel"]``; by default that of the rule that
        chose the model's components. Limits of variances, rates or singular values are drawn
        as a line or curve. The p-values of a test are written under the components.
    most : int, default=15
        Maximum number of components.
    %(bootstrap)s
    %(axes)s

    Returns
    -------
    matplotlib.axes.Axes
        Bars are in percent of the *total* variance. Those of components that the decision keeps
        (without a decision, the model) are dark. Components that should not be interpreted have
        a star, and the note says why.

    Raises
    ------
    ParameterError, ShapeError
        Also for a decision on another table or scale.
    """
    drawn = DrawnModel.of(model, bootstrap)
    most = check_count("most", most)
    rates = 100.0 * drawn.spectrum.rates
    shown = min(most, len(rates))
    if not shown or not drawn.spectrum.total > 0:
        problem = "there is no variance to show: the rows of the fit are all equal"
        raise ShapeError(problem, hint="fit rows that differ")
    if decision is not None:
        _check_decision(decision, drawn)
    elif drawn.fitted:
        decision = drawn.fitted.decision
    null_rates = _null_rates(null, drawn.spectrum.total)

    ax = style.styled_axes(ax, dark)
    accumulated = 100.0 * drawn.spectrum.accumulated[:shown]
    lines = _draw_lines(ax, accumulated, _comparison_lines(null_rates, decision, drawn))
    k = drawn.k if decision is None or decision.k is None else decision.k
    top = 1.14 * max(float(line.max()) for line in lines)
    _draw_bars(ax, rates[:shown], min(k, shown), lines, top)
    _mark_k(ax, drawn, decision, k, shown)
    ax.set(xlabel="component", ylabel="% of the total variance", ylim=(0, top))
    ax.set_yticks([tick for tick in ax.get_yticks() if tick <= 100.0])
    ax.set_xlim(0.4, shown + 0.6)
    doubtful = [verdict for verdict in drawn.verdicts[:shown] if not verdict.interpretable]
    test = decision if decision is not None and decision.measure == "p-value" else None
    _number_components(ax, shown, test, {verdict.component for verdict in doubtful})
    if test is not None and _MAX_TESTED_BARS < shown <= _MAX_NUMBERED_BARS:
        ax.set_xlabel("component and its p-value")
        ax.tick_params(axis="x", labelsize=style.SMALL - 1)
    style.legend_above(ax)
    rank = drawn.rank
    style.add_note(
        ax,
        f"the first {shown} of {rank:,} components" if rank and shown < rank else "",
        f"the model keeps {drawn.k}" if k != drawn.k else "",
        *(f"* {line}" for line in verdict_lines(doubtful)),
        below=36.0 if test is None else 48.0,
    )
    return ax


def _draw_lines(
    ax: Axes, accumulated: FloatArray, compared: Sequence[tuple[FloatArray, str, str]]
) -> list[FloatArray]:
    """Draw the cumulative sum, and lines to compare bars with; return the height at each bar."""
    shown = len(accumulated)
    numbers, ink = np.arange(1, shown + 1), style.text_colour(ax)
    colour = style.readable_on_axes(ax, style.VERMILLION)
    ax.plot(numbers, accumulated, color=colour, marker="o", ms=3.5, lw=1.1, label="accumulated")
    lines = [accumulated]
    for values, label, form in compared:
        line = values[:shown]
        if form == ":":  # one limit for all components
            line = np.full(shown, float(values[0]))
            ax.axhline(line[0], color=ink, ls=form, lw=1.0, label=label)
        else:
            ax.plot(numbers[: len(line)], line, form, color=ink, lw=1.0, ms=3, label=label)
        lines.append(line)
    return lines


def _draw_bars(
    ax: Axes, rates: FloatArray, kept: int, lines: Sequence[FloatArray], top: float
) -> None:
    """Draw bars and their numbers, which no line crosses, on an axis up to ``top``."""
    numbers = np.arange(1, len(rates) + 1)
    pale = style.mix_colours(style.BLUE, style.background_colour(ax), 0.55)
    edge_style: dict[str, Any] = {"edgecolor": style.BLUE, "linewidth": 0.7, "zorder": 1}
    if kept:
        ax.bar(numbers[:kept], rates[:kept], 0.72, color=style.BLUE, label="kept", **edge_style)
    if kept < len(rates):
        ax.bar(numbers[kept:], rates[kept:], 0.72, color=pale, label="left out", **edge_style)
    if len(rates) > _MAX_NUMBERED_BARS:
        return
    height = _NUMBER_HEIGHT * top * 4.8 / style.figure_size(ax)[1]
    for i, rate in enumerate(rates):
        crossing = [line[max(i - 1, 0) : i + 2] for line in lines if i < len(line)]
        bottom, inside = _free_position(float(rate), height, crossing)
        colour = style.black_or_white(style.BLUE) if inside and i < kept else style.text_colour(ax)
        ax.text(
            i + 1,
            bottom,
            f"{rate:.1f}%" if len(rates) <= _MAX_PERCENT_SIGNS else f"{rate:.1f}",
            ha="center",
            va="bottom",
            fontsize=style.SMALL,
            color=colour,
            zorder=4,
            in_layout=False,
        )


def _free_position(rate: float, height: float, lines: Sequence[FloatArray]) -> tuple[float, bool]:
    """Return the bottom of a number that no line crosses, and whether it is inside the bar.

    The number is ``height`` high. The parts of ``lines`` reach from the previous component to the
    next one.
    """
    candidates = [(0.15 * height, True)] if rate > 1.4 * height else []
    candidates += [(rate + 0.15 * height, False)]
    candidates += sorted((float(line.max()) + 0.15 * height, False) for line in lines)
    for bottom, inside in candidates:
        if not any(line.min() < bottom + height and line.max() > bottom for line in lines):
            return bottom, inside
    return candidates[0]


def _null_rates(null: ArrayLike | None, total: float) -> FloatArray | None:
    """Variances of data without structure as percentages of the total."""
    if null is None:
        return None
    values = as_floats(null, "null")
    if values.ndim != 1 or not values.size or not ((values >= 0) & (values < np.inf)).all():
        hint = "give quantiles of the variances of data without structure, largest first"
        raise invalid_value("null", null, "a sequence of finite variances, at least 0", hint)
    return 100.0 * values / total


def _comparison_lines(
    null_rates: FloatArray | None, decision: Decision | None, drawn: DrawnModel
) -> list[tuple[FloatArray, str, str]]:
    """Lines to compare the bars with: values in percent, label, style of ``Axes.plot``."""
    lines = [] if null_rates is None else [(null_rates, "without structure (null)", "--s")]
    if decision is None or decision.threshold is None:
        return lines
    rates = _as_rates(np.atleast_1d(decision.threshold), decision, drawn)
    if rates is not None:
        label = _LIMIT_LABELS.get(decision.rule, f"limit of {decision.rule}")
        lines.append((rates, label, ":" if rates.size == 1 else ":s"))
    return lines


def _as_rates(values: ArrayLike, decision: Decision, drawn: DrawnModel) -> FloatArray | None:
    """Convert a statistic to percentages of the total; None for other measures."""
    values = np.asarray(values, dtype=np.float64)
    if decision.measure == "contribution rate":
        return 100.0 * values
    if decision.measure == "singular value":
        assert drawn.fitted is not None
        values = values**2 / (drawn.fitted.summary.rows - 1.0)
    elif decision.measure != "variance":
        return None
    return 100.0 * values / drawn.spectrum.total


def _check_decision(decision: Decision, drawn: DrawnModel) -> None:
    """Raise for a decision on another table, whose limit does not apply, and for anything else.

    Raises
    ------
    ParameterError
    """
    if not isinstance(decision, Decision):
        raise invalid_value("decision", decision, "a Decision", "choose(model)['elbow'] is one")
    if drawn.fitted is None:
        raise ParameterError(
            "a decision applies to a PCA, not to the feature space of a kernel PCA",
            place={"parameter": "decision"},
            hint="leave out decision, or draw a princomp.PCA",
        )
    rates = _as_rates(decision.statistic, decision, drawn)
    if rates is None or decision.first != 1:
        return
    model_rates = 100.0 * drawn.spectrum.rates
    count = min(len(rates), len(model_rates))
    if np.abs(rates[:count] - model_rates[:count]).max(initial=0.0) > 100.0 * _RATE_TOLERANCE:
        raise ParameterError(
            f"the decision of {decision.rule} is about other variances than those of the model",
            place={"parameter": "decision"},
            hint="use choose(X, …, scale=model.scale) with the rows of the fit, or choose(model)",
        )


def _number_components(ax: Axes, shown: int, test: Decision | None, doubtful: set[str]) -> None:
    """Write the numbers of components, with stars for some, and the p-values of a test."""
    numbers = np.arange(1, shown + 1)
    if shown > 20:
        numbers = np.unique(np.linspace(1, shown, 11).astype(int))
    labels = []
    for k in numbers:
        label = f"{k}*" if f"PC{k}" in doubtful else f"{k}"
        p = None if test is None or shown > _MAX_NUMBERED_BARS else test.at(int(k))
        sign = "p = " if shown <= _MAX_TESTED_BARS else ""
        labels.append(label if p is None else f"{label}\n{sign}{p:.2g}")
    ax.set_xticks(numbers, labels)


def _mark_k(ax: Axes, drawn: DrawnModel, decision: Decision | None, k: int, shown: int) -> None:
    """Draw a line after the last kept component, with the rule that chose it."""
    rule = "" if decision is None else f" · {decision.rule}"
    if decision is not None and decision.k is None:
        rule += " does not apply"
    if decision is None and drawn.rank is not None and k >= drawn.rank:
        return  # all components are kept
    if k > shown:
        return
    ax.axvline(k + 0.5, color=style.muted_colour(ax), lw=0.8, ls=(0, (4, 3)), zorder=0.5)
    right = k + 0.5 > 0.6 * shown
    shift, side = (-4, "right") if right else (4, "left")
    style.write_at(ax, f"k = {k}{rule}", (k + 0.5, 1.0), (shift, -2), above=True, ha=side, va="top")
