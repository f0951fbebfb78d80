"""Loadings of the variables, with bootstrap intervals."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from princomp.core import Fitted
from princomp.diagnostics import (
    Bootstrap,
    Components,
    Selection,
    check_count,
    fitted_of,
    variable_names,
)
from princomp.estimators import PCA
from princomp.plots.axes_style import (
    add_note,
    axis_names,
    legend_above,
    muted_colour,
    select_few,
    styled_axes,
    text_colour,
)
from princomp.plots.colours import GROUP_COLOURS, MARKERS, mix_colours
from princomp.plots.drawn_model import accept_any_model, verdicts_of
from princomp.plots.labels import display_name
from princomp.plots.shared_docs import shared_docs

_DEFAULT_COMPONENTS, _MAX_COMPONENTS = 3, 6  # components by default, and at most


@accept_any_model
@shared_docs
def loadings(
    model: PCA,
    components: Components = None,
    *,
    bootstrap: Bootstrap | None = None,
    top: int = 20,
    ax: Axes | None = None,
    dark: bool | None = None,
) -> Axes:
    """Draw loadings v√λ of the variables on some components.

    Parameters
    ----------
    %(model)s
    components : int, str or sequence of them, optional
        Numbers from 1, or "PC1", …; at most 6. By default the first three.
    bootstrap : Bootstrap, optional
        Result of :func:`princomp.bootstrap` for this model; its intervals are drawn as
        whiskers, and its angles decide which components are marked as unstable.
    top : int, default=20
        Maximum number of variables: those with the largest sums of squared loadings.
    %(axes)s

    Returns
    -------
    matplotlib.axes.Axes
        The variables, in the order of their loadings on the first of the components. Loadings
        are in units of the analysed columns; with unit scale they are correlations.

    Raises
    ------
    ParameterError
        For unknown components, or a bootstrap of another model.
    """
    fitted = fitted_of(model)
    advice = "select fewer, or use cos2()"
    selected = select_few(fitted.k, components, _DEFAULT_COMPONENTS, _MAX_COMPONENTS, advice)
    count = len(selected.indices)
    top = check_count("top", top)
    values, names = fitted.loadings[:, selected.indices], variable_names(model)
    order = np.argsort(-(values**2).sum(axis=1), kind="stable")[:top]
    order = order[np.argsort(-values[order, 0], kind="stable")]

    ax = styled_axes(ax, dark, 6.4, 1.4 + len(order) * (0.2 + 0.1 * count))
    ax.axvline(0.0, color=muted_colour(ax, 0.5), lw=0.7, zorder=0.3)
    _draw_loadings(ax, fitted, selected, order, bootstrap)
    positions = np.arange(len(order))
    ax.set_yticks(positions, [display_name(name) for name in names[order]])
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(len(order) - 0.45, -0.55)
    for y in positions[:-1] + 0.5:
        ax.axhline(y, color=muted_colour(ax, 0.85), lw=0.5, zorder=0.2)
    unit = isinstance(model.scale, str) and model.scale == "unit" and fitted.centred
    if unit:
        ax.set_xlim(-1.05, 1.05)
    ax.set(xlabel="loading" + (" (correlation with the component)" if unit else " v√λ"))
    legend_above(ax)
    add_note(
        ax,
        ""
        if bootstrap is None
        else f"whiskers: {100 * bootstrap.level:.4g}% intervals of {bootstrap.n:,} resamples",
        f"the {len(order)} of {fitted.p:,} variables with the largest loadings"
        if len(order) < fitted.p
        else "",
    )
    return ax


def _draw_loadings(
    ax: Axes,
    fitted: Fitted,
    selected: Selection,
    order: NDArray[np.intp],
    bootstrap: Bootstrap | None,
) -> None:
    """Draw a point for each variable and component, with components next to each other."""
    labels = axis_names(fitted.rates, selected, verdicts_of(fitted, bootstrap))
    count = len(selected.indices)
    offsets = (np.arange(count) - (count - 1) / 2) * 0.7 / count
    for a, component in enumerate(selected.indices):
        values, colour = fitted.loadings[order, component], GROUP_COLOURS[a]
        y = np.arange(len(order)) + offsets[a]
        if bootstrap is None:
            ax.hlines(y, 0.0, values, color=colour, lw=1.0, zorder=1.5)
        else:
            low, high = bootstrap.loading_interval[:, order, component]
            ax.hlines(y, low, high, color=colour, lw=1.3, zorder=1.5)
        ax.scatter(
            values,
            y,
            s=24,
            marker=MARKERS[a],
            facecolor=colour,
            edgecolor=mix_colours(colour, text_colour(ax), 0.45),
            linewidth=0.5,
            zorder=2,
            label=labels[a],
        )
