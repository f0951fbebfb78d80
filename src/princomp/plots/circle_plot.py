"""Variables by their correlations with two components, in the unit circle."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Circle

from princomp.diagnostics.given import state_of, variable_names
from princomp.diagnostics.variable_table import variables
from princomp.errors import ParameterError
from princomp.plots.arrows import arrows, spokes
from princomp.plots.colours import BLUE
from princomp.plots.labels import put_labels
from princomp.plots.surface import (
    axes_on,
    axis_names,
    inked,
    muted,
    no_room,
    note,
    plane_of,
    whole_number,
)

__all__ = ["circle"]


def circle(
    model: Any,
    x: Any = 1,
    y: Any = 2,
    *,
    top: int = 30,
    ax: Axes | None = None,
    dark: bool | None = None,
) -> Axes:
    """Correlation circle: each variable's correlations with two components.

    An arrow's squared length is the share of the variable's variance that the plane shows.

    Parameters
    ----------
    model : PCA
        Fitted with ``scale="unit"`` and centred.
    x, y : int or str
        Components: numbers from 1, or "PC1", ….
    top : int, default=30
        Variables that are drawn: those that the plane shows best.
    ax : matplotlib.axes.Axes, optional
        To draw on; by default one of its own.
    dark : bool, optional
        Of its own Axes: light ink on a dark ground, or the reverse; by default what matplotlib
        is set to.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ParameterError
        Under another scale, where loadings are no correlations and leave the circle.
    ShapeError
        For a model of one component.
    """
    fitted = state_of(model)
    if not (isinstance(model.scale, str) and model.scale == "unit" and fitted.centred):
        scale = model.scale if model.scale is None or isinstance(model.scale, str) else "given"
        raise ParameterError(
            "a correlation circle is of a centred PCA of unit scale, and this one has "
            f"scale={scale!r}" + ("" if fitted.centred else ", center=False"),
            place={"parameter": "model"},
            hint="model.rescaled('unit') where the fit kept its scatter, or PCA(scale='unit'); "
            "loadings() and biplot() draw any scale",
        )
    chosen = plane_of(fitted, x, y)
    top = whole_number(top, "top")
    table = variables(model, components=chosen.names, form="wide", frame="listing")
    r = np.stack([table[f"correlation_{name}"] for name in chosen.names], axis=1)
    names = variable_names(model)
    lost = np.isnan(r).any(axis=1)
    order = np.argsort(-np.where(lost, -1.0, (r**2).sum(axis=1)), kind="stable")
    order = order[: min(top, int((~lost).sum()))]

    ax = axes_on(ax, dark, 5.4, 5.4)
    faint = muted(ax, 0.75)
    ax.axhline(0.0, color=faint, linewidth=0.6, zorder=0.3)
    ax.axvline(0.0, color=faint, linewidth=0.6, zorder=0.3)
    ax.add_patch(Circle((0, 0), 1.0, fill=False, color=muted(ax), linewidth=0.8, zorder=0.4))
    labels = axis_names(fitted, chosen)
    ax.set(xlabel=labels[0], ylabel=labels[1], xlim=(-1.15, 1.15), ylim=(-1.15, 1.15))
    ax.set(aspect="equal", xticks=(-1, -0.5, 0, 0.5, 1), yticks=(-1, -0.5, 0, 0.5, 1))
    arrows(ax, r[order], BLUE)
    shown = int((~lost).sum()) > len(order)
    note(
        ax,
        f"the {len(order)} of {len(names):,} variables that the plane shows best" if shown else "",
        f"no correlation: {_listed(names[lost])}" if lost.any() else "",
    )
    left = put_labels(
        ax,
        r[order],
        list(names[order]),
        lines=spokes(r[order]),
        colours=[inked(ax, BLUE)] * len(order),
    )
    note(ax, no_room(left))
    return ax


def _listed(names: Any) -> str:
    text = ", ".join(map(str, names[:3]))
    return text + (f" and {len(names) - 3} more" if len(names) > 3 else "")
