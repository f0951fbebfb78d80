"""Correlation circle: correlations of variables with two components."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Circle

from princomp.diagnostics import (
    Bootstrap,
    check_count,
    fitted_of,
    variable_measures,
    variable_names,
)
from princomp.errors import ParameterError
from princomp.estimators import PCA
from princomp.plots.arrows import draw_arrows, spokes
from princomp.plots.axes_style import (
    add_note,
    axis_names,
    join_names,
    lay_out,
    muted_colour,
    readable_on_axes,
    select_plane,
    styled_axes,
)
from princomp.plots.colours import BLUE
from princomp.plots.drawn_model import accept_any_model, verdicts_of
from princomp.plots.labels import place_labels
from princomp.plots.shared_docs import shared_docs


@accept_any_model
@shared_docs
def circle(
    model: PCA,
    x: int | str = 1,
    y: int | str = 2,
    *,
    top: int = 30,
    bootstrap: Bootstrap | None = None,
    ax: Axes | None = None,
    dark: bool | None = None,
) -> Axes:
    """Draw a correlation circle: correlations of variables with two components.

    The squared length of an arrow is the share of the variable's variance in the plane.

    Parameters
    ----------
    model : PCA
        Fitted with ``scale="unit"`` and centred.
    %(plane)s
    top : int, default=30
        Number of variables to draw: those best represented in the plane.
    %(bootstrap)s
    %(axes)s

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ParameterError
        For another scale, where loadings are not correlations.
    ShapeError
        For a model of one component.
    """
    fitted = fitted_of(model)
    if not (isinstance(model.scale, str) and model.scale == "unit" and fitted.centred):
        scale = model.scale if model.scale is None or isinstance(model.scale, str) else "given"
        raise ParameterError(
            "a correlation circle needs a centred PCA with unit scale, but this one has "
            f"scale={scale!r}" + ("" if fitted.centred else ", center=False"),
            place={"parameter": "model"},
            hint="fit with scale='unit' (or model.rescaled('unit')); the figures loadings and "
            "biplot draw any scale",
        )
    selected = select_plane(fitted.k, fitted.p, x, y)
    top = check_count("top", top)
    r, names = variable_measures(fitted, selected)["correlation"], variable_names(model)
    undefined = np.isnan(r).any(axis=1)
    order = np.argsort(-np.where(undefined, -1.0, (r**2).sum(axis=1)), kind="stable")
    order = order[: min(top, int((~undefined).sum()))]

    ax = styled_axes(ax, dark, 6.8, 5.4)
    faint_colour = muted_colour(ax, 0.75)
    ax.axhline(0.0, color=faint_colour, linewidth=0.6, zorder=0.3)
    ax.axvline(0.0, color=faint_colour, linewidth=0.6, zorder=0.3)
    ax.add_patch(Circle((0, 0), 1.0, fill=False, color=muted_colour(ax), linewidth=0.8, zorder=0.4))
    labels = axis_names(fitted.rates, selected, verdicts_of(fitted, bootstrap))
    ax.set(xlabel=labels[0], ylabel=labels[1], xlim=(-1.5, 1.5), ylim=(-1.15, 1.15))
    ax.set(aspect="equal", xticks=(-1, -0.5, 0, 0.5, 1), yticks=(-1, -0.5, 0, 0.5, 1))
    draw_arrows(ax, r[order], BLUE)
    truncated = int((~undefined).sum()) > len(order)
    add_note(
        ax,
        f"the {len(order)} of {len(names):,} variables best represented in the plane"
        if truncated
        else "",
        f"no correlation: {join_names(names[undefined].tolist(), 3)}" if undefined.any() else "",
    )
    lay_out(ax)
    place_labels(
        ax,
        r[order],
        names[order],
        lines=spokes(r[order]),
        colours=[readable_on_axes(ax, BLUE)] * len(order),
        arrow_count=len(order),
    )
    return ax
