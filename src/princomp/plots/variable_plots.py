"""Figures of variables: correlation circle, contributions to a component, loadings."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Circle
from numpy.typing import NDArray

from princomp.diagnostics import (
    Bootstrap,
    Components,
    Selection,
    check_count,
    fitted_of,
    select_components,
    shared_docs,
    variable_measures,
    variable_names,
)
from princomp.errors import ParameterError
from princomp.estimators import PCA
from princomp.io import listed
from princomp.linalg import FloatArray
from princomp.plots import style
from princomp.plots.drawn_model import DrawnModel, accept_any_model, select_few, select_plane
from princomp.plots.labels import display_name, place_labels
from princomp.plots.marks import draw_arrows

# Width of a number and its margin, as a share of the axis.
_NUMBER_WIDTH = 0.09
_DEFAULT_COMPONENTS, _MAX_COMPONENTS = 3, 6  # components by default, and at most


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
    selected = select_plane(fitted.k, x, y)
    top = check_count("top", top)
    r, names = variable_measures(fitted, selected)["correlation"], variable_names(model)
    undefined = np.isnan(r).any(axis=1)
    order = np.argsort(-np.where(undefined, -1.0, (r**2).sum(axis=1)), kind="stable")
    n_defined = int((~undefined).sum())
    order = order[: min(top, n_defined)]

    ax = style.styled_axes(ax, dark, 6.8, 5.4)
    style.draw_zero_lines(ax)
    colour = style.muted_colour(ax)
    ax.add_patch(Circle((0, 0), 1.0, fill=False, color=colour, linewidth=0.8, zorder=0.4))
    labels = DrawnModel.of(model, bootstrap).axis_names(selected)
    ax.set(xlabel=labels[0], ylabel=labels[1], xlim=(-1.5, 1.5), ylim=(-1.15, 1.15))
    ax.set(aspect="equal", xticks=(-1, -0.5, 0, 0.5, 1), yticks=(-1, -0.5, 0, 0.5, 1))
    draw_arrows(ax, r[order], style.BLUE)
    notes = []
    if len(order) < n_defined:
        notes.append(f"the {len(order)} of {len(names):,} variables best represented in the plane")
    if undefined.any():
        notes.append(f"no correlation: {listed(names[undefined], 3)}")
    style.add_note(ax, *notes)
    style.lay_out(ax)
    place_labels(
        ax,
        r[order],
        names[order],
        colours=[style.readable_on_axes(ax, style.BLUE)] * len(order),
        arrow_count=len(order),
    )
    return ax


@accept_any_model
@shared_docs
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
    %(model)s
    component : int or str, default=1
        A number from 1, or "PC1", ….
    top : int, default=20
        Maximum number of variables.
    bootstrap : Bootstrap, optional
        Decides whether the component is marked as unstable. Without it, an approximation is used.
    %(axes)s

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
    selected = select_components(fitted.k, component)
    if len(selected.indices) != 1:
        raise ParameterError(
            f"component={component!r} is not one component",
            place={"parameter": "component"},
            hint="draw each on its own Axes",
        )
    top = check_count("top", top)
    shares, names = variable_measures(fitted, selected)["contribution"][:, 0], variable_names(model)
    order = np.argsort(-shares, kind="stable")[:top]
    shares, equal_share = shares[order], 100.0 / fitted.p

    ax = style.styled_axes(ax, dark, 6.4, 1.3 + 0.26 * len(order))
    positions = np.arange(len(order))
    pale = style.mix_colours(style.BLUE, style.background_colour(ax), 0.55)
    colours = [style.BLUE if share > equal_share else pale for share in shares]
    ax.barh(positions, shares, 0.7, color=colours, edgecolor=style.BLUE, linewidth=0.7)
    right = 1.1 * max(float(shares.max()), equal_share)
    _write_numbers(ax, shares, equal_share, right)
    ax.axvline(equal_share, color=style.text_colour(ax), lw=1.0, ls=(0, (4, 3)))
    label = f"100/p = {equal_share:.3g}%"
    style.write_at(ax, label, (equal_share, 1.0), (0, 2), above=True, ha="center", va="bottom")
    ax.set_yticks(positions, [display_name(name) for name in names[order]])
    ax.tick_params(axis="y", length=0)
    name = DrawnModel.of(model, bootstrap).axis_names(selected)[0]
    ax.set(xlabel=f"contribution to {name}, %")
    ax.set_ylim(len(order) - 0.4, -0.6)
    ax.set_xlim(0, right)
    if len(order) < fitted.p:
        style.add_note(ax, f"{len(order)} of {fitted.p:,} variables, {shares.sum():.1f}% together")
    return ax


def _write_numbers(ax: Axes, shares: FloatArray, line: float, right: float) -> None:
    """Write the length of each bar next to its end; there is a line at ``line``."""
    for y, share in enumerate(shares):
        # A number that the line would cross is written to the right of the line.
        crossed = share <= line < share + _NUMBER_WIDTH * right
        end = line if crossed else share
        # Numbers lie inside the Axes, so they do not change the layout.
        style.write_at(ax, f"{share:.1f}", (end, y), (3, 0), va="center", in_layout=False)


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
    selected = select_few(fitted.k, components, _DEFAULT_COMPONENTS, _MAX_COMPONENTS)
    count = len(selected.indices)
    top = check_count("top", top)
    values, names = fitted.loadings[:, selected.indices], variable_names(model)
    order = np.argsort(-(values**2).sum(axis=1), kind="stable")[:top]
    order = order[np.argsort(-values[order, 0], kind="stable")]

    ax = style.styled_axes(ax, dark, 6.4, 1.4 + len(order) * (0.2 + 0.1 * count))
    ax.axvline(0.0, color=style.muted_colour(ax, 0.5), lw=0.7, zorder=0.3)
    _draw_loadings(ax, model, selected, order, bootstrap)
    positions = np.arange(len(order))
    ax.set_yticks(positions, [display_name(name) for name in names[order]])
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(len(order) - 0.45, -0.55)
    for y in positions[:-1] + 0.5:
        ax.axhline(y, color=style.muted_colour(ax, 0.85), lw=0.5, zorder=0.2)
    unit = isinstance(model.scale, str) and model.scale == "unit" and fitted.centred
    if unit:
        ax.set_xlim(-1.05, 1.05)
    ax.set(xlabel="loading" + (" (correlation with the component)" if unit else " v√λ"))
    style.legend_above(ax)
    notes = []
    if bootstrap is not None:
        level = f"{100 * bootstrap.level:.10g}%"
        notes.append(f"whiskers: {level} intervals of {bootstrap.n:,} resamples")
    if len(order) < fitted.p:
        notes.append(f"the {len(order)} of {fitted.p:,} variables with the largest loadings")
    style.add_note(ax, *notes)
    return ax


def _draw_loadings(
    ax: Axes, model: PCA, selected: Selection, order: NDArray[np.intp], bootstrap: Bootstrap | None
) -> None:
    """Draw a point for each variable and component, with components next to each other."""
    loadings, labels = model.loadings_, DrawnModel.of(model, bootstrap).axis_names(selected)
    count = len(selected.indices)
    offsets = (np.arange(count) - (count - 1) / 2) * 0.7 / count
    for a, component in enumerate(selected.indices):
        values, colour = loadings[order, component], style.GROUP_COLOURS[a]
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
            marker=style.MARKERS[a],
            facecolor=colour,
            edgecolor=style.mix_colours(colour, style.text_colour(ax), 0.45),
            linewidth=0.5,
            zorder=2,
            label=labels[a],
        )
