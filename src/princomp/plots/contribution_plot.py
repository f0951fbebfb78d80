"""Contributions of variables to a component."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from princomp.diagnostics import Bootstrap, check_count, fitted_of, variables
from princomp.estimators import PCA
from princomp.plots.colours import BLUE, mixed
from princomp.plots.drawn_model import of_any_model, verdicts_of
from princomp.plots.labels import plain
from princomp.plots.surface import SMALL, axes_on, axis_names, background, ink, note, one_component

# Width of a number and its margin, as a share of the axis.
_NUMBER = 0.09


@of_any_model
def contributions(
    model: PCA,
    component: int | str = 1,
    *,
    top: int = 20,
    bootstrap: Bootstrap | None = None,
    ax: Axes | None = None,
    dark: bool | None = None,
) -> Axes:
    """Draw contributions of the variables to a component in percent, the largest first.

    Parameters
    ----------
    model : PCA
        Fitted.
    component : int or str, default=1
        A number from 1, or "PC1", ….
    top : int, default=20
        Maximum number of variables.
    bootstrap : Bootstrap, optional
        Decides whether the component is marked as unstable. Without it, an approximation is used.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on; by default a new one.
    dark : bool, optional
        Colours of a new Axes: light on dark if true, dark on light if false. By default those of
        matplotlib's settings.

    Returns
    -------
    matplotlib.axes.Axes
        All contributions to a component sum to 100%. The line at 100/p marks equal
        contributions.

    Raises
    ------
    ParameterError
    """
    fitted = fitted_of(model)
    selected = one_component(fitted.k, component)
    top = check_count("top", top)
    table = variables(model, components=selected.names, form="long", frame="listing")
    shares, names = table["contribution"], table["variable"]
    order = np.argsort(-shares, kind="stable")[:top]
    shares, even = shares[order], 100.0 / fitted.p

    ax = axes_on(ax, dark, 6.4, 1.3 + 0.26 * len(order))
    place = np.arange(len(order))
    pale = mixed(BLUE, background(ax), 0.55)
    fills = [BLUE if share > even else pale for share in shares]
    ax.barh(place, shares, 0.7, color=fills, edgecolor=BLUE, linewidth=0.7)
    right = 1.1 * max(float(shares.max()), even)
    for y, share in zip(place, shares, strict=True):
        # A number that the line would cross is written to the right of the line.
        crossed = share <= even < share + _NUMBER * right
        ax.annotate(
            f"{share:.1f}",
            (even if crossed else share, y),
            (3, 0),
            textcoords="offset points",
            va="center",
            fontsize=SMALL,
            color=ink(ax),
        ).set_in_layout(False)  # numbers lie inside the Axes
    ax.axvline(even, color=ink(ax), lw=1.0, ls=(0, (4, 3)))
    ax.annotate(
        f"100/p = {even:.3g}%",
        (even, 1.0),
        (0, 2),
        xycoords=("data", "axes fraction"),
        textcoords="offset points",
        ha="center",
        va="bottom",
        fontsize=SMALL,
        color=ink(ax),
    )
    ax.set_yticks(place, [plain(name) for name in names[order]])
    ax.tick_params(axis="y", length=0)
    name = axis_names(fitted.rates, selected, verdicts_of(fitted, bootstrap))[0]
    ax.set(xlabel=f"contribution to {name}, %")
    ax.set_ylim(len(order) - 0.4, -0.6)
    ax.set_xlim(0, right)
    if len(order) < fitted.p:
        note(ax, f"{len(order)} of {fitted.p:,} variables, {shares.sum():.1f}% together")
    return ax
