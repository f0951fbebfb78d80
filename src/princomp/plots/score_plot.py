"""Rows on two components, alone or with the variables."""

from __future__ import annotations

from numbers import Real

import numpy as np
from matplotlib.axes import Axes

from princomp.core import is_number
from princomp.diagnostics import (
    Bootstrap,
    Names,
    check_count,
    fitted_of,
    shared_docs,
    variable_names,
)
from princomp.errors import invalid_value
from princomp.estimators import PCA
from princomp.kernel_pca import KernelPCA
from princomp.linalg import FloatArray
from princomp.plots.drawn_model import DrawnModel, accept_any_model, axis_names, select_plane
from princomp.plots.drawn_rows import (
    DrawnRows,
    Groups,
    Ids,
    Labels,
    choose_labelled,
    rows_and_groups,
)
from princomp.plots.labels import display_name, place_labels
from princomp.plots.marks import (
    MAX_POINTS,
    draw_arrows,
    draw_cloud,
    draw_groups,
    draw_points,
    group_style,
    spokes,
)
from princomp.plots.style import (
    VERMILLION,
    add_note,
    draw_legend,
    lay_out,
    muted_colour,
    readable_on_axes,
    styled_axes,
    text_colour,
)

# Length of the longest arrow relative to the scores.
_ARROW_LENGTH = 0.8
# A legend of more groups has two columns.
_LONG_LEGEND = 20


@accept_any_model
@shared_docs
def scores(
    model: PCA | KernelPCA,
    X: object,
    x: int | str = 1,
    y: int | str = 2,
    *,
    groups: object = None,
    ellipses: str = "rows",
    level: float = 0.95,
    label: Labels = None,
    ids: Ids = None,
    bootstrap: Bootstrap | None = None,
    ax: Axes | None = None,
    dark: bool | None = None,
) -> Axes:
    """Draw rows on two components, with equal scales.

    Parameters
    ----------
    model : PCA or KernelPCA
        Fitted.
    %(X)s
    %(plane)s
    groups : str, or array, series or frame of one column, of shape (n,), optional
        Categories, or the column of X that holds them; rows without one are grey.
    ellipses : {"rows", "mean", "none"}, default="rows"
        Ellipses around each group, for normally distributed rows: "rows" predicts where further
        rows lie, and "mean" is a confidence region of the mean. Groups of fewer than 4 rows, or
        on a line, have no ellipse, as the legend says.
    level : float, default=0.95
        Level of the ellipses.
    label : int or sequence of names, optional
        Rows with labels: an integer labels this many of the most distant rows; a sequence, the
        rows with these names. By default, rows that have names: all if there are at most 60 (30
        with groups), otherwise the 10 most distant ones.
    %(ids)s
    %(bootstrap)s
    %(axes)s

    Returns
    -------
    matplotlib.axes.Axes
        Scores are in units of the analysed columns and never whitened. More than 20,000 rows
        are drawn as a density or, with groups, as a sample; ellipses are computed from all rows.

    Raises
    ------
    ShapeError
        For a model of one component, groups of another length, or no row to draw.
    ParameterError, ColumnError, NotFiniteError
    """
    drawn = DrawnModel.of(model, bootstrap)
    selected = select_plane(drawn.k, drawn.p, x, y)
    rows, row_groups = rows_and_groups(model, X, selected, groups, ellipses, level, ids)
    names = axis_names(drawn.rates, selected, drawn.verdicts)
    return _draw(styled_axes(ax, dark), names, rows, row_groups, label)


@accept_any_model
def biplot(
    model: PCA,
    X: object,
    x: int | str = 1,
    y: int | str = 2,
    *,
    top: int = 10,
    factor: float | None = None,
    groups: object = None,
    ellipses: str = "rows",
    level: float = 0.95,
    label: Labels = None,
    ids: Ids = None,
    bootstrap: Bootstrap | None = None,
    ax: Axes | None = None,
    dark: bool | None = None,
) -> Axes:
    """Draw rows and variables on two components: scores as points, loadings as arrows.

    Parameters
    ----------
    model, X, x, y, groups, ellipses, level, label, ids, bootstrap, ax, dark
        As for :func:`scores`.
    top : int, default=10
        Number of variables with an arrow: those that contribute most to the two components.
    factor : float, optional
        Factor of all loadings, the same for both axes, so that angles and ratios of arrows are
        right. By default the longest arrow has 80% of the length of the scores. The factor is
        written under the figure.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ShapeError, ParameterError, ColumnError, NotFiniteError
        As :func:`scores`; also for a ``factor`` or ``top`` that is not positive.

    Notes
    -----
    Gabriel (1971). Points are scores and arrows are loadings v√λ, so their products do not
    approximate the data.
    """
    drawn = DrawnModel.of(model, bootstrap)
    fitted = fitted_of(model)
    selected = select_plane(fitted.k, fitted.p, x, y)
    top = check_count("top", top)
    if factor is not None and not (is_number(factor, Real) and 0 < factor < np.inf):
        raise invalid_value("factor", factor, "a positive number", "None chooses a factor")
    rows, row_groups = rows_and_groups(model, X, selected, groups, ellipses, level, ids)
    # Contributions to the plane are proportional to squared lengths of loadings.
    loadings = fitted.loadings[:, selected.indices]
    order = np.argsort(-(loadings**2).sum(axis=1), kind="stable")[:top]
    factor = _default_factor(rows.scores, loadings) if factor is None else float(factor)
    note = f"arrows: loadings × {factor:.3g}"
    if len(order) < fitted.p:
        note += f", the {len(order)} of {fitted.p:,} variables that contribute most"
    arrows = (variable_names(model)[order], factor * loadings[order], note)
    names = axis_names(drawn.rates, selected, drawn.verdicts)
    return _draw(styled_axes(ax, dark), names, rows, row_groups, label, arrows)


def _draw(
    ax: Axes,
    axis_labels: list[str],
    rows: DrawnRows,
    groups: Groups | None,
    label: Labels,
    arrows: tuple[Names, FloatArray, str] | None = None,
) -> Axes:
    """Draw rows, groups and arrows, and then labels: of arrows, of groups, of rows."""
    ax.axhline(0.0, color=muted_colour(ax, 0.75), linewidth=0.6, zorder=0.3)
    ax.axvline(0.0, color=muted_colour(ax, 0.75), linewidth=0.6, zorder=0.3)
    names, ends, arrow_note = arrows or ((), np.empty((0, 2)), "")
    scores, outlines = rows.scores, dict[int, FloatArray]()
    if groups is None:
        notes = [draw_cloud(ax, scores)]
    else:
        notes, outlines = draw_groups(ax, scores, groups)
        _draw_group_legend(ax, display_name(groups.title))
    ax.update_datalim(ends)
    ax.set(xlabel=axis_labels[0], ylabel=axis_labels[1])
    ax.margins(0.07)
    ax.autoscale_view()
    ax.set_aspect("equal", adjustable="datalim")
    draw_arrows(ax, ends, VERMILLION)
    labelled = choose_labelled(label, rows, _lengths(scores), crowded=groups is not None)
    if len(labelled) and len(scores) > MAX_POINTS and groups is None:
        draw_points(ax, scores[labelled], VERMILLION, among=400)
    add_note(ax, arrow_note, *notes, rows.missing_note)
    # The limits that result from equal scales are fixed before labels are placed.
    lay_out(ax)
    ax.set(xlim=ax.get_xlim(), ylim=ax.get_ylim())
    ax.set_aspect("equal", adjustable="box")
    tops = [line[np.argmax(line[:, 1])] for line in outlines.values()]
    place_labels(
        ax,
        np.concatenate([ends, np.reshape(tops, (-1, 2)), scores[labelled]]),
        [
            *names,
            *(groups.labels[code] for code in outlines if groups),
            *rows.names[labelled],
        ],
        points=scores,
        lines=[*spokes(ends), *outlines.values()],
        colours=[
            *([readable_on_axes(ax, VERMILLION)] * len(ends)),
            *(readable_on_axes(ax, group_style(code)[0]) for code in outlines),
            *([text_colour(ax)] * len(labelled)),
        ],
        arrow_count=len(ends),
    )
    return ax


def _draw_group_legend(ax: Axes, title: str) -> None:
    """Draw the legend of groups to the right of the Axes."""
    draw_legend(
        ax,
        ax,
        title=title or None,
        loc="upper left",
        bbox_to_anchor=(1.01, 1.0),
        borderaxespad=0.0,
        ncols=1 + (len(ax.get_legend_handles_labels()[0]) > _LONG_LEGEND),
        alignment="left",
    )


def _lengths(vectors: FloatArray) -> FloatArray:
    return np.hypot(vectors[:, 0], vectors[:, 1])


def _default_factor(scores: FloatArray, loadings: FloatArray) -> float:
    """Factor by which the longest arrow has 80% of the length of scores, with two digits."""
    longest_score, longest_arrow = float(_lengths(scores).max()), float(_lengths(loadings).max())
    if not longest_score > 0 or not longest_arrow > 0:
        return 1.0
    return float(f"{_ARROW_LENGTH * longest_score / longest_arrow:.2g}")
