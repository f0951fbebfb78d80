"""Rows on two components, alone or with the variables."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from princomp.arrays import FloatArray
from princomp.diagnostics.control_limits import checked_level
from princomp.diagnostics.given import Picked, state_of, variable_names
from princomp.diagnostics.variable_table import variables
from princomp.errors import ParameterError
from princomp.fitted import Fitted
from princomp.parameters import is_a
from princomp.plots.arrows import arrows, spokes
from princomp.plots.colours import VERMILLION
from princomp.plots.drawn_model import drawn_state
from princomp.plots.drawn_rows import DrawnRows, Groups, drawn_rows, grouped_by, labelled
from princomp.plots.ellipses import checked_kind, ellipse_words
from princomp.plots.labels import plain, put_labels
from princomp.plots.points import MOST_POINTS, cloud, group_points, points
from princomp.plots.surface import (
    axes_on,
    axis_names,
    ink,
    inked,
    legend_beside,
    muted,
    no_room,
    note,
    plane_of,
    whole_number,
)

__all__ = ["biplot", "scores"]

# How far arrows reach, of how far the rows do.
_REACH = 0.8


def scores(
    model: Any,
    X: Any,
    x: Any = 1,
    y: Any = 2,
    *,
    groups: Any = None,
    ellipses: str = "rows",
    level: float = 0.95,
    label: Any = None,
    ids: Any = None,
    ax: Axes | None = None,
    dark: bool | None = None,
) -> Axes:
    """Rows on two components, on equal scales.

    Parameters
    ----------
    model : PCA or KernelPCA
        Fitted.
    X : array, sparse array, frame, path or batches, of shape (n, p)
        Training rows or others.
    x, y : int or str
        Components: numbers from 1, or "PC1", ….
    groups : array, series or frame of one column, of shape (n,), optional
        Categories; missing ones are drawn without colour.
    ellipses : {"rows", "mean", "none"}, default="rows"
        Around each group: where a further row of it would lie, or where its mean does, were
        the rows normal. Groups of fewer than 4 rows, or on a line, get none; the legend says
        so.
    level : float, default=0.95
        Of the ellipses.
    label : int or sequence of names, optional
        Which rows get their names: so many of the farthest, or these. By default all of up to
        30 that have names, and the 10 farthest of more.
    ids : str or sequence of length n, optional
        Names of the rows; see :func:`princomp.diagnostics.rows`.
    ax : matplotlib.axes.Axes, optional
        To draw on; by default one of its own.
    dark : bool, optional
        Of its own Axes: light ink on a dark ground, or the reverse; by default what matplotlib
        is set to.

    Returns
    -------
    matplotlib.axes.Axes
        Scores are in units of the analysed columns and never whitened. More than 20,000 rows
        are drawn as a density, or, where they have groups, thinned; ellipses are of all rows.

    Raises
    ------
    ShapeError
        For a model of one component, groups of another length, or no row to draw.
    ParameterError, ColumnError, NotFiniteError
    """
    fitted = drawn_state(model)
    chosen = plane_of(fitted, x, y)
    checked_kind(ellipses), checked_level(level)
    rows = drawn_rows(model, X, chosen, ids)
    found = grouped_by(groups, rows)
    ax = axes_on(ax, dark)
    told = _rows_on(ax, rows, found, ellipses, level)
    _plane(ax, fitted, chosen)
    at = labelled(label, rows, _how_far(rows.t))
    if len(at) and len(rows.t) > MOST_POINTS and found is None:
        points(ax, rows.t[at], VERMILLION, among=400)
    note(ax, *told, _missing(rows))
    _settle(ax)
    note(ax, no_room(put_labels(ax, rows.t[at], list(rows.names[at]), points=rows.t)))
    return ax


def biplot(
    model: Any,
    X: Any,
    x: Any = 1,
    y: Any = 2,
    *,
    top: int = 10,
    factor: float | None = None,
    groups: Any = None,
    ellipses: str = "rows",
    level: float = 0.95,
    label: Any = None,
    ids: Any = None,
    ax: Axes | None = None,
    dark: bool | None = None,
) -> Axes:
    """Rows and variables on two components: points, and loadings as arrows.

    Parameters
    ----------
    model, X, x, y, groups, ellipses, level, label, ids, ax, dark
        As for :func:`scores`.
    top : int, default=10
        Variables with an arrow: those that contribute most to the two components.
    factor : float, optional
        What all loadings are multiplied with, on both axes alike, so that angles and ratios
        of arrows are right; by default one that makes the longest reach 80% as far as the
        rows. The figure says which.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ShapeError, ParameterError, ColumnError, NotFiniteError
        As :func:`scores`; a factor or ``top`` that is not above zero.

    Notes
    -----
    Gabriel (1971). Arrows are loadings v√λ: rows are at their scores, so products of the two
    do not give the data back.
    """
    fitted = state_of(model)
    chosen = plane_of(fitted, x, y)
    checked_kind(ellipses), checked_level(level)
    top = whole_number(top, "top")
    if factor is not None and not (is_a(factor, float | int) and 0 < factor < np.inf):
        raise ParameterError(
            f"factor={factor!r} is not lawful",
            place={"parameter": "factor"},
            hint="give a number above zero, or leave it out",
        )
    rows = drawn_rows(model, X, chosen, ids)
    found = grouped_by(groups, rows)
    table = variables(model, components=chosen.names, form="wide", frame="listing")
    loadings = np.stack([table[f"loading_{name}"] for name in chosen.names], axis=1)
    # λ-weighted contributions to the plane go as squared lengths of loadings.
    order = np.argsort(-(loadings**2).sum(axis=1), kind="stable")[:top]
    factor = _factor(rows.t, loadings) if factor is None else float(factor)
    ends = factor * loadings[order]

    ax = axes_on(ax, dark)
    told = _rows_on(ax, rows, found, ellipses, level)
    ax.update_datalim(ends)
    _plane(ax, fitted, chosen)
    arrows(ax, ends, VERMILLION)
    at = labelled(label, rows, _how_far(rows.t))
    told_arrows = f"arrows: loadings × {factor:.3g}"
    if len(order) < fitted.p:
        told_arrows += f", the {len(order)} of {fitted.p:,} variables that contribute most"
    note(ax, told_arrows, *told, _missing(rows))
    _settle(ax)
    left = put_labels(
        ax,
        np.concatenate([ends, rows.t[at]]),
        [*variable_names(model)[order], *rows.names[at]],
        points=rows.t,
        lines=spokes(ends),
        colours=[inked(ax, VERMILLION)] * len(order) + [ink(ax)] * len(at),
    )
    note(ax, no_room(left))
    return ax


def _how_far(t: FloatArray) -> FloatArray:
    far: FloatArray = np.hypot(t[:, 0], t[:, 1])
    return far


def _factor(t: FloatArray, loadings: FloatArray) -> float:
    """What brings the longest arrow to 80% of the reach of the rows, in two digits."""
    rows, arrows = float(_how_far(t).max()), float(_how_far(loadings).max())
    if not rows > 0 or not arrows > 0:
        return 1.0
    return float(f"{_REACH * rows / arrows:.2g}")


def _rows_on(
    ax: Axes, rows: DrawnRows, groups: Groups | None, ellipses: str, level: float
) -> list[str]:
    """The rows as points; what a note should say of them."""
    ax.axhline(0.0, color=muted(ax, 0.75), linewidth=0.6, zorder=0.3)
    ax.axvline(0.0, color=muted(ax, 0.75), linewidth=0.6, zorder=0.3)
    if groups is None:
        return [cloud(ax, rows.t)]
    told = group_points(ax, rows.t, groups, ellipses, level)
    title = [plain(groups.title)] if groups.title else []
    if ellipses != "none":
        title.append(ellipse_words(ellipses, level))
    legend_beside(ax, title="\n".join(title) or None)
    return told


def _plane(ax: Axes, fitted: Fitted, chosen: Picked) -> None:
    """Equal scales, names with rates, limits that stay."""
    names = axis_names(fitted, chosen)
    ax.set(xlabel=names[0], ylabel=names[1])
    ax.margins(0.07)
    ax.autoscale_view()
    ax.set_aspect("equal", adjustable="datalim")


def _settle(ax: Axes) -> None:
    """Fix the limits that equal scales have given: labels belong to them."""
    figure: Any = ax.get_figure(root=True)
    figure.draw_without_rendering()
    ax.set(xlim=ax.get_xlim(), ylim=ax.get_ylim())
    ax.set_aspect("equal", adjustable="box")


def _missing(rows: DrawnRows) -> str:
    return f"{rows.missing:,} rows with missing values are not drawn" if rows.missing else ""
