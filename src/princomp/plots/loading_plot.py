"""Loadings of the variables, with how far resampling moves them."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from princomp.diagnostics.given import Picked, picked, state_of, variable_names
from princomp.errors import ParameterError
from princomp.fitted import Fitted
from princomp.plots.colours import GROUP_COLOURS, MARKERS, mixed
from princomp.plots.labels import plain
from princomp.plots.surface import (
    axes_on,
    axis_names,
    ink,
    legend_above,
    muted,
    note,
    whole_number,
)
from princomp.resampling import Bootstrap

__all__ = ["loadings"]

_SOME = 3  # components that are drawn unasked


def loadings(
    model: Any,
    components: Any = None,
    *,
    bootstrap: Bootstrap | None = None,
    top: int = 20,
    ax: Axes | None = None,
    dark: bool | None = None,
) -> Axes:
    """Loadings v√λ of the variables on some components.

    Parameters
    ----------
    model : PCA
        Fitted.
    components : int, str or sequence of them, optional
        Numbers from 1, or "PC1", …; at most 6. By default the first three.
    bootstrap : Bootstrap, optional
        What :func:`princomp.bootstrap` found for this model: its intervals are drawn as
        whiskers.
    top : int, default=20
        Variables that are shown at most: those of the largest sum of squared loadings.
    ax : matplotlib.axes.Axes, optional
        To draw on; by default one of its own.
    dark : bool, optional
        Of its own Axes: light ink on a dark ground, or the reverse; by default what matplotlib
        is set to.

    Returns
    -------
    matplotlib.axes.Axes
        In units of the analysed columns; under unit scale loadings are correlations.

    Raises
    ------
    ParameterError
        For components that are not there, and a bootstrap of another model.
    """
    fitted = state_of(model)
    if components is None:
        components = list(range(1, min(fitted.k, _SOME) + 1))
    chosen = picked(fitted, components)
    if len(chosen.at) > len(GROUP_COLOURS):
        raise ParameterError(
            f"{len(chosen.at)} components are more than {len(GROUP_COLOURS)} beside each other",
            place={"parameter": "components"},
            hint="name fewer, or see cos2()",
        )
    top = whole_number(top, "top")
    _check_same(bootstrap, fitted)
    values, names = fitted.loadings[:, chosen.at], variable_names(model)
    order = np.argsort(-(values**2).sum(axis=1), kind="stable")[:top]
    order = np.sort(order)  # as they stand in the table

    count = len(chosen.at)
    ax = axes_on(ax, dark, 6.4, 1.4 + len(order) * (0.2 + 0.1 * count))
    ax.axvline(0.0, color=muted(ax, 0.5), lw=0.7, zorder=0.3)
    _draw(ax, fitted, chosen, order, bootstrap)
    place = np.arange(len(order))
    ax.set_yticks(place, [plain(name) for name in names[order]])
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(len(order) - 0.45, -0.55)
    for y in place[:-1] + 0.5:
        ax.axhline(y, color=muted(ax, 0.85), lw=0.5, zorder=0.2)
    unit = isinstance(model.scale, str) and model.scale == "unit" and fitted.centred
    ax.set(xlabel="loading" + (" (correlation with the component)" if unit else " v√λ"))
    legend_above(ax)
    note(
        ax,
        ""
        if bootstrap is None
        else f"whiskers: {100 * bootstrap.level:.4g}% intervals of {bootstrap.n:,} resamples",
        f"the {len(order)} of {fitted.p:,} variables of the largest loadings"
        if len(order) < fitted.p
        else "",
    )
    return ax


def _draw(ax: Axes, fitted: Fitted, chosen: Picked, order: Any, bootstrap: Any) -> None:
    """A point for each variable and component, components beside each other."""
    labels, count = axis_names(fitted, chosen), len(chosen.at)
    shift = (np.arange(count) - (count - 1) / 2) * 0.7 / max(count, 1)
    for a, at in enumerate(chosen.at):
        values, colour = fitted.loadings[order, at], GROUP_COLOURS[a]
        y = np.arange(len(order)) + shift[a]
        if bootstrap is None:
            ax.hlines(y, 0.0, values, color=colour, lw=1.0, zorder=1.5)
        else:
            low, high = bootstrap.loading_interval[:, order, at]
            ax.hlines(y, low, high, color=colour, lw=1.3, zorder=1.5)
        ax.scatter(
            values,
            y,
            s=24,
            marker=MARKERS[a],
            facecolor=colour,
            edgecolor=mixed(colour, ink(ax), 0.45),
            linewidth=0.5,
            zorder=2,
            label=labels[a],
        )


def _check_same(bootstrap: Any, fitted: Fitted) -> None:
    """Refuse intervals that are no bootstrap's, or another model's."""
    if bootstrap is None:
        return
    if not isinstance(bootstrap, Bootstrap):
        raise ParameterError(
            f"bootstrap is {type(bootstrap).__name__}, no result of princomp.bootstrap",
            place={"parameter": "bootstrap"},
            hint="bootstrap=princomp.bootstrap(X, model)",
        )
    if bootstrap.loadings.shape != fitted.loadings.shape or not np.allclose(
        bootstrap.loadings, fitted.loadings, rtol=1e-6, atol=1e-9 * np.abs(fitted.loadings).max()
    ):
        raise ParameterError(
            "the bootstrap is of another model: its loadings are not this one's",
            place={"parameter": "bootstrap"},
            hint="bootstrap=princomp.bootstrap(X, model) with the model that is drawn",
        )
