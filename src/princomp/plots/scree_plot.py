"""Variances in order, their running sum, and the number of components that was chosen."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patheffects import withStroke

from princomp.arrays import FloatArray
from princomp.choosing import Decision
from princomp.errors import ParameterError, ShapeError
from princomp.fitted import Fitted
from princomp.kernel_pca import KernelPCA
from princomp.plots.colours import BLUE, VERMILLION, mixed, readable_on
from princomp.plots.drawn_model import drawn_state, most_components
from princomp.plots.surface import (
    SMALL,
    axes_on,
    background,
    ink,
    inked,
    legend_above,
    muted,
    note,
    whole_number,
)

__all__ = ["scree"]

# So many bars have room for their numbers, and so many for a percent sign, too.
_LABELLED, _WIDE = 15, 9
# What the limit of a rule is; others are called after their rule.
_LIMITS = {
    "parallel": "quantile without structure (parallel)",
    "broken-stick": "pieces of a broken stick",
    "kaiser": "mean variance (kaiser)",
    "marchenko-pastur": "edge of noise (marchenko-pastur)",
    "gavish-donoho": "threshold (gavish-donoho)",
}
# A decision is of this model where its variances are these, to this share of the total.
_SAME = 1e-3


def scree(
    model: Any,
    *,
    null: Any = None,
    decision: Decision | None = None,
    most: int = 15,
    ax: Axes | None = None,
    dark: bool | None = None,
) -> Axes:
    """Scree plot: the contribution rate of each component, and their running sum.

    Parameters
    ----------
    model : PCA or KernelPCA
        Fitted.
    null : array of shape (m,), optional
        Variances that data without structure would have (a quantile of them), to compare with
        the first m; in squared units of the analysed columns.
    decision : Decision, optional
        What a rule said, as ``choose(…)["parallel"]``; by default that of the rule that chose
        the model's components, where one did. Its limit is drawn where it is one of
        variances, rates or singular values: a quantile by component as a curve, one number
        as a line. The p-values of a test stand under the components.
    most : int, default=15
        Components that are shown at most.
    ax : matplotlib.axes.Axes, optional
        To draw on; by default one of its own.
    dark : bool, optional
        Of its own Axes: light ink on a dark ground, or the reverse; by default what matplotlib
        is set to.

    Returns
    -------
    matplotlib.axes.Axes
        In percent of the *total* variance. Bars of components that the model keeps are full.

    Raises
    ------
    ParameterError, ShapeError
        Also for a decision on another table, or under another scale.
    """
    fitted = drawn_state(model)
    most = whole_number(most, "most")
    if decision is not None and not isinstance(decision, Decision):
        raise ParameterError(
            f"decision is {type(decision).__name__}, no Decision",
            place={"parameter": "decision"},
            hint="choose(model)['parallel'] is one",
        )
    if decision is not None and isinstance(model, KernelPCA):
        raise ParameterError(
            "rules look at variances of columns, and these are of a feature space",
            place={"parameter": "decision"},
            hint="leave decision out, or draw a princomp.PCA",
        )
    if decision is None:
        decision = fitted.decision
    else:
        _check_decision(decision, fitted)
    curve = _null_rates(null, fitted)
    rates = 100.0 * fitted.spectrum.rates
    shown = min(most, len(rates))
    if not shown or not fitted.spectrum.total > 0:
        raise ShapeError("there is no variance to show", hint="the rows of the fit are all alike")
    number = np.arange(1, shown + 1)

    ax = axes_on(ax, dark)
    accumulated = 100.0 * fitted.spectrum.accumulated[:shown]
    _bars(ax, number, rates[:shown], min(fitted.k, shown), float(accumulated[-1]))
    colour = inked(ax, VERMILLION)
    ax.plot(number, accumulated, color=colour, marker="o", ms=3.5, lw=1.1, label="accumulated")
    top = float(accumulated[-1])
    for limit, label, style in _limits(curve, decision, fitted):
        line = limit[:shown]
        if limit.size == 1 and not style.endswith("s"):
            ax.axhline(float(limit[0]), color=ink(ax), ls=style, lw=1.0, label=label)
        else:
            ax.plot(number[: len(line)], line, style, color=ink(ax), lw=1.0, ms=3, label=label)
        top = max(top, float(line.max()))
    _chosen(ax, fitted, decision, shown)
    ax.set(xlabel="component", ylabel="% of the total variance", ylim=(0, 1.14 * top))
    ax.set_xlim(0.4, shown + 0.6)
    ax.set_xticks(number if shown <= 20 else np.unique(np.linspace(1, shown, 11).astype(int)))
    _p_values(ax, decision, number)
    legend_above(ax)
    known = most_components(fitted)
    note(ax, f"the first {shown} of {known:,} components" if known and shown < known else "")
    return ax


def _bars(ax: Axes, number: Any, rates: FloatArray, kept: int, top: float) -> None:
    """Bars, the line along them, and their numbers up to ``top`` of the axis."""
    pale = mixed(BLUE, background(ax), 0.55)
    edge: dict[str, Any] = {"edgecolor": BLUE, "linewidth": 0.7}
    if kept:
        ax.bar(number[:kept], rates[:kept], 0.72, color=BLUE, label="kept", **edge)
    if kept < len(rates):
        ax.bar(number[kept:], rates[kept:], 0.72, color=pale, label="left out", **edge)
    ax.plot(number, rates, color=ink(ax), lw=0.7, marker=".", ms=3.5)
    if len(rates) > _LABELLED:
        return
    halo = withStroke(linewidth=2.5, foreground=background(ax))
    for x, rate in zip(number, rates, strict=True):
        # At the foot of a bar where it is high enough: no line comes there.
        inside = rate > 0.08 * top
        fill = BLUE if x <= kept else pale
        ax.annotate(
            f"{rate:.1f}%" if len(rates) <= _WIDE else f"{rate:.1f}",
            (x, 0.0 if inside else rate),
            (0, 4),
            textcoords="offset points",
            ha="center",
            va="bottom",
            fontsize=SMALL,
            color=readable_on(fill) if inside else ink(ax),
            path_effects=None if inside else [halo],
            zorder=4,
        )


def _null_rates(null: Any, fitted: Fitted) -> FloatArray | None:
    """Variances without structure as percentages of the total."""
    if null is None:
        return None
    try:
        values = np.asarray(null, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.array(np.nan)
    if values.ndim != 1 or not values.size or not (values >= 0).all():
        raise ParameterError(
            "null is no list of variances",
            place={"parameter": "null"},
            hint="give a quantile of each variance of data without structure, the first first",
        )
    return 100.0 * values / fitted.spectrum.total


def _limits(
    curve: FloatArray | None, decision: Decision | None, fitted: Fitted
) -> list[tuple[FloatArray, str, str]]:
    """Lines to hold the bars against: values in percent, label, style."""
    found = [] if curve is None else [(curve, "without structure (null)", "--s")]
    if decision is None or decision.threshold is None:
        return found
    limit = np.atleast_1d(np.asarray(decision.threshold, dtype=np.float64))
    rates = _as_rates(limit, decision, fitted)
    if rates is not None:
        label = _LIMITS.get(decision.rule, f"limit of {decision.rule}")
        found.append((rates, label, ":" if limit.size == 1 else ":s"))
    return found


def _as_rates(values: Any, decision: Decision, fitted: Fitted) -> FloatArray | None:
    """What a rule looks at as percentages of the total, where it is a size of components."""
    values = np.asarray(values, dtype=np.float64)
    if decision.measure == "contribution rate":
        return 100.0 * values
    if decision.measure == "singular value":
        values = values**2 / (fitted.summary.rows - 1.0)
    elif decision.measure != "variance":
        return None
    return 100.0 * values / fitted.spectrum.total


def _check_decision(decision: Decision, fitted: Fitted) -> None:
    """Refuse what a rule said of another table: its limit would mean nothing here.

    Raises
    ------
    ParameterError
    """
    if not fitted.spectrum.total > 0:
        return
    rates = _as_rates(decision.statistic, decision, fitted)
    if rates is None or decision.first != 1:
        return
    known = 100.0 * fitted.spectrum.rates
    both = min(len(rates), len(known))
    if np.abs(rates[:both] - known[:both]).max(initial=0.0) > 100.0 * _SAME:
        raise ParameterError(
            f"the decision of {decision.rule} is on other variances than the model's: of another "
            "table, or of another scale",
            place={"parameter": "decision"},
            hint="choose(X, …, scale=model.scale) of the rows of the fit, or choose(model)",
        )


def _p_values(ax: Axes, decision: Decision | None, number: Any) -> None:
    """Under each component that was tested its p-value."""
    if decision is None or decision.measure != "p-value" or len(number) > _LABELLED:
        return
    tested = [decision.at(int(k)) for k in number]
    words = [
        f"{k}" if value is None else f"{k}\np = {value:.2g}"
        for k, value in zip(number, tested, strict=True)
    ]
    ax.set_xticklabels(words)


def _chosen(ax: Axes, fitted: Fitted, decision: Decision | None, shown: int) -> None:
    """A line after the last component, and whose choice that is."""
    k = fitted.k if decision is None or decision.k is None else decision.k
    rule = "" if decision is None else f" · {decision.rule}"
    if decision is not None and decision.k is None:
        rule += " does not apply"
    known = most_components(fitted)
    if decision is None and known is not None and k >= known:
        return  # nothing was left out, so nothing was chosen
    if k > shown:
        return
    ax.axvline(k + 0.5, color=muted(ax), lw=0.8, ls=(0, (4, 3)), zorder=0.5)
    right = k + 0.5 > 0.6 * shown
    ax.annotate(
        f"k = {k}{rule}",
        (k + 0.5, 1.0),
        (-4 if right else 4, -2),
        xycoords=("data", "axes fraction"),
        textcoords="offset points",
        ha="right" if right else "left",
        va="top",
        fontsize=SMALL,
        color=ink(ax),
    )
