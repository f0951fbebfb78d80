"""Which variables make a component."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from princomp.diagnostics.given import state_of
from princomp.diagnostics.variable_table import variables
from princomp.plots.colours import BLUE, mixed
from princomp.plots.labels import plain
from princomp.plots.surface import (
    SMALL,
    axes_on,
    axis_names,
    background,
    ink,
    note,
    one_component,
    whole_number,
)

__all__ = ["contributions"]


def contributions(
    model: Any,
    component: Any = 1,
    *,
    top: int = 20,
    ax: Axes | None = None,
    dark: bool | None = None,
) -> Axes:
    """Contributions of the variables to a component in percent, the largest first.

    Parameters
    ----------
    model : PCA
        Fitted.
    component : int or str, default=1
        A number from 1, or "PC1", ….
    top : int, default=20
        Variables that are shown at most.
    ax : matplotlib.axes.Axes, optional
        To draw on; by default one of its own.
    dark : bool, optional
        Of its own Axes: light ink on a dark ground, or the reverse; by default what matplotlib
        is set to.

    Returns
    -------
    matplotlib.axes.Axes
        All contributions to a component sum to 100%. The line at 100/p is what each would
        contribute if all did alike.

    Raises
    ------
    ParameterError
    """
    fitted = state_of(model)
    chosen = one_component(fitted, component)
    top = whole_number(top, "top")
    table = variables(model, components=chosen.names, form="long", frame="listing")
    shares, names = table["contribution"], table["variable"]
    order = np.argsort(-shares, kind="stable")[:top]
    shares, even = shares[order], 100.0 / fitted.p

    ax = axes_on(ax, dark, 6.4, 1.3 + 0.26 * len(order))
    place = np.arange(len(order))
    pale = mixed(BLUE, background(ax), 0.55)
    fills = [BLUE if share > even else pale for share in shares]
    ax.barh(place, shares, 0.7, color=fills, edgecolor=BLUE, linewidth=0.7)
    for y, share in zip(place, shares, strict=True):
        ax.annotate(
            f"{share:.1f}",
            (share, y),
            (3, 0),
            textcoords="offset points",
            va="center",
            fontsize=SMALL,
            color=ink(ax),
        )
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
    ax.set(xlabel=f"contribution to {axis_names(fitted, chosen)[0]}, %")
    ax.set_ylim(len(order) - 0.4, -0.6)
    ax.set_xlim(0, 1.1 * max(float(shares.max()), even))
    if len(order) < fitted.p:
        note(ax, f"{len(order)} of {fitted.p:,} variables, {shares.sum():.1f}% together")
    return ax
