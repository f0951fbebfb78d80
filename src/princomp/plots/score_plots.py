"""Figures of rows: on two components, alone or with the variables, and on all pairs of them."""

from __future__ import annotations

from itertools import combinations_with_replacement
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from princomp import diagnostics
from princomp.core import check_parameter, number, one_of
from princomp.estimators import PCA
from princomp.kernel_pca import KernelPCA
from princomp.linalg import FloatArray
from princomp.plots import drawn_rows, marks, style
from princomp.plots.drawn_model import DrawnModel, accept_any_model, select_few, select_plane
from princomp.plots.labels import display_name, place_labels

# Length of the longest arrow relative to the scores.
_ARROW_LENGTH = 0.8
# A legend of more groups has two columns.
_LONG_LEGEND = 20
# Components in pairs, by default and at most.
_DEFAULT_COMPONENTS, _MAX_COMPONENTS = 4, 8


@accept_any_model
@diagnostics.shared_docs
def scores(
    model: PCA | KernelPCA,
    X: object,
    x: int | str = 1,
    y: int | str = 2,
    *,
    groups: object = None,
    ellipses: str = "rows",
    level: float = 0.95,
    label: drawn_rows.Labels = None,
    ids: drawn_rows.Ids = None,
    bootstrap: diagnostics.Bootstrap | None = None,
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
    selected = select_plane(drawn.k, x, y)
    rows, row_groups = drawn_rows.rows_and_groups(model, X, selected, groups, ellipses, level, ids)
    names = drawn.axis_names(selected)
    return _draw(style.styled_axes(ax, dark), names, rows, row_groups, label)


@accept_any_model
def biplot(
    model: PCA,
    X: object,
    x: int | str = 1,
    y: int | str = 2,
    *,
    top: int = 10,
    factor: float | None = None,
    arrows: str = "loadings",
    groups: object = None,
    ellipses: str = "rows",
    level: float = 0.95,
    label: drawn_rows.Labels = None,
    ids: drawn_rows.Ids = None,
    bootstrap: diagnostics.Bootstrap | None = None,
    ax: Axes | None = None,
    dark: bool | None = None,
) -> Axes:
    """Draw rows and variables on two components: scores as points, variables as arrows.

    Parameters
    ----------
    model, X, x, y, groups, ellipses, level, label, ids, bootstrap, ax, dark
        As for :func:`scores`.
    top : int, default=10
        Number of variables with an arrow: those that contribute most to the two components.
    factor : float, optional
        Factor of all arrows, the same for both axes, so that angles and ratios of arrows are
        right. By default the longest arrow has 80% of the length of the scores. The factor is
        written under the figure.
    arrows : {"loadings", "axes"}, default="loadings"
        Loadings v√λ show how variables vary together: their products approximate covariances.
        Axes v show the values of rows: the projection of a point on an arrow is proportional to
        the value of that variable, as far as the two components represent it.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ShapeError, ParameterError, ColumnError, NotFiniteError
        As :func:`scores`; also for a ``factor`` or ``top`` that is not positive.

    Notes
    -----
    Gabriel (1971). With ``arrows="axes"``, the products of points and arrows approximate the data.
    Loadings are longer along the component with the larger variance. If the variances differ much,
    rows in the direction of an arrow may have low values of its variable.
    """
    drawn = DrawnModel.of(model, bootstrap)
    fitted = diagnostics.fitted_of(model)
    selected = select_plane(fitted.k, x, y)
    top = diagnostics.check_count("top", top)
    check_parameter("factor", factor, one_of(None) | number(0, exclusive=True))
    check_parameter("arrows", arrows, one_of("loadings", "axes"))
    rows, row_groups = drawn_rows.rows_and_groups(model, X, selected, groups, ellipses, level, ids)
    # Contributions to the plane are proportional to squared lengths of loadings.
    loadings = fitted.loadings[:, selected.indices]
    order = np.argsort(-(loadings**2).sum(axis=1), kind="stable")[:top]
    vectors = loadings if arrows == "loadings" else fitted.components[selected.indices].T
    factor = _default_factor(rows.scores, vectors) if factor is None else float(factor)
    note = f"arrows: {arrows} × {factor:.3g}"
    if len(order) < fitted.p:
        note += f", the {len(order)} of {fitted.p:,} variables that contribute most"
    drawn_arrows = (diagnostics.variable_names(model)[order], factor * vectors[order], note)
    names = drawn.axis_names(selected)
    return _draw(style.styled_axes(ax, dark), names, rows, row_groups, label, drawn_arrows)


def _draw(
    ax: Axes,
    axis_labels: list[str],
    rows: drawn_rows.DrawnRows,
    groups: drawn_rows.Groups | None,
    label: drawn_rows.Labels,
    arrows: tuple[diagnostics.Names, FloatArray, str] | None = None,
) -> Axes:
    """Draw rows, groups and arrows, and then labels: of arrows, of groups, of rows."""
    style.draw_zero_lines(ax)
    names, ends, arrow_note = arrows or ((), np.empty((0, 2)), "")
    scores, outlines = rows.scores, dict[int, FloatArray]()
    if groups is None:
        notes = [marks.draw_cloud(ax, scores)]
    else:
        notes, outlines = marks.draw_groups(ax, scores, groups)
        # To the right of the Axes.
        place = {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0), "borderaxespad": 0.0}
        ncols = 1 + (len(ax.get_legend_handles_labels()[0]) > _LONG_LEGEND)
        title = display_name(groups.title) or None
        style.draw_legend(ax, ax, title=title, ncols=ncols, alignment="left", **place)
    ax.update_datalim(ends)
    ax.set(xlabel=axis_labels[0], ylabel=axis_labels[1])
    ax.margins(0.07)
    ax.autoscale_view()
    ax.set_aspect("equal", adjustable="datalim")
    marks.draw_arrows(ax, ends, style.VERMILLION)
    labelled = drawn_rows.choose_labelled(
        label, rows, np.hypot(*scores.T), crowded=groups is not None
    )
    if len(labelled) and len(scores) > marks.MAX_POINTS:
        if groups is None:
            marks.draw_points(ax, scores[labelled], style.VERMILLION, among=400)
        else:  # a sample may leave them out
            for i in labelled:
                colour, marker = marks.row_style(ax, int(groups.codes[i]))
                marks.draw_points(ax, scores[[i]], colour, marker, among=400)
    style.add_note(ax, arrow_note, *notes, rows.missing_note)
    # The limits that result from equal scales are fixed before labels are placed.
    style.lay_out(ax)
    ax.set(xlim=ax.get_xlim(), ylim=ax.get_ylim())
    ax.set_aspect("equal", adjustable="box")
    tops = [line[np.argmax(line[:, 1])] for line in outlines.values()]
    place_labels(
        ax,
        np.concatenate([ends, np.reshape(tops, (-1, 2)), scores[labelled]]),
        [*names, *(groups.labels[code] for code in outlines if groups), *rows.names[labelled]],
        points=scores,
        lines=list(outlines.values()),
        colours=[
            *([style.readable_on_axes(ax, style.VERMILLION)] * len(ends)),
            *(style.readable_on_axes(ax, marks.group_style(code)[0]) for code in outlines),
            *([style.text_colour(ax)] * len(labelled)),
        ],
        arrow_count=len(ends),
    )
    return ax


def _default_factor(scores: FloatArray, arrows: FloatArray) -> float:
    """Factor by which the longest arrow has 80% of the length of scores, with two digits."""
    longest_score, longest_arrow = (float(np.hypot(*ends.T).max()) for ends in (scores, arrows))
    if not longest_score > 0 or not longest_arrow > 0:
        return 1.0
    return float(f"{_ARROW_LENGTH * longest_score / longest_arrow:.2g}")


# ---- pairs ----------------------------------------------------------------------------


@accept_any_model
def pairs(
    model: PCA | KernelPCA,
    X: object,
    components: diagnostics.Components = None,
    *,
    groups: object = None,
    ellipses: str = "none",
    level: float = 0.95,
    bootstrap: diagnostics.Bootstrap | None = None,
    figure: Figure | None = None,
    dark: bool | None = None,
) -> NDArray[Any]:
    """Draw rows on each pair of components, with histograms on the diagonal.

    Parameters
    ----------
    model, X, groups, ellipses, level, bootstrap
        As for :func:`scores`.
    components : int, str or sequence of them, optional
        Numbers from 1, or "PC1", …; at most 8, by default the first four.
    figure : matplotlib.figure.Figure, optional
        Empty figure to draw on; by default a new one.
    dark : bool, optional
        Colours: light on dark if true, dark on light if false. By default those of matplotlib's
        settings.

    Returns
    -------
    ndarray of Axes, shape (c, c)
        Axes above the diagonal are invisible. One component gives a single histogram.

    Raises
    ------
    ShapeError, ParameterError, NotFiniteError
    """
    drawn = DrawnModel.of(model, bootstrap)
    selected = select_few(drawn.k, components, _DEFAULT_COMPONENTS, _MAX_COMPONENTS)
    count = len(selected.indices)
    rows, row_groups = drawn_rows.rows_and_groups(model, X, selected, groups, ellipses, level)
    axes = _empty_axes(figure, count, dark)
    names, note = drawn.axis_names(selected), ""
    for ax in axes[np.triu_indices(count, k=1)]:
        ax.set_visible(False)
    for j, i in combinations_with_replacement(range(count), 2):
        ax, xy = axes[i, j], rows.scores[:, [j, i]]
        style.apply_style(ax)
        ax.tick_params(labelsize=style.SMALL - 1)
        if i == j:
            _histogram(ax, rows.scores[:, i], row_groups)
            ax.set_title(names[i], fontsize=style.SMALL + 1, color=style.text_colour(ax))
        elif row_groups is None:
            note = marks.draw_cloud(ax, xy, colour_bar=False)
        else:
            notes, _ = marks.draw_groups(ax, xy, row_groups, legend=(i, j) == (1, 0))
            note = "\n".join(notes)
        _label_axes(ax, i, j, count, selected.names)
    for i in range(1, count):  # planes of a row share the axis labels at the left
        limits = np.array([axes[i, j].get_ylim() for j in range(i)])
        for j in range(i):
            axes[i, j].set_ylim(limits[:, 0].min(), limits[:, 1].max())
    note = "\n".join(filter(None, [note, rows.missing_note]))
    if note:
        colour = style.muted_colour(axes[0, 0], 0.3)
        axes[0, 0].figure.supxlabel(
            note, x=0.01, ha="left", fontsize=style.SMALL - 0.5, color=colour
        )
    if row_groups is not None and count > 1:
        handles, labels = axes[1, 0].get_legend_handles_labels()
        title = display_name(row_groups.title) or None
        options = {"handles": handles, "labels": labels, "title": title, "loc": "upper right"}
        style.draw_legend(axes[0, 0].figure, axes[0, 0], **options)
    return axes


def _empty_axes(figure: Figure | None, count: int, dark: bool | None) -> NDArray[Any]:
    size = max(1.75 * count, 3.2)
    if figure is None:
        figure = style.new_figure(size, size, dark)
    else:
        style.check_given("figure", figure, Figure, dark)
    axes: NDArray[Any] = figure.subplots(count, count, squeeze=False, sharex="col")
    if dark is not None:
        for ax in axes.flat:
            style.set_colours(ax, dark)
    return axes


def _label_axes(ax: Axes, i: int, j: int, count: int, names: diagnostics.Names) -> None:
    """Set axis labels at the outer sides only."""
    ax.margins(0.07)
    ax.tick_params(labelbottom=i == count - 1, labelleft=j == 0 and i > 0)
    if i == count - 1:
        ax.set_xlabel(names[j], fontsize=style.SMALL + 1)
    if j == 0 and i > 0:
        ax.set_ylabel(names[i], fontsize=style.SMALL + 1)


def _histogram(ax: Axes, t: FloatArray, groups: drawn_rows.Groups | None) -> None:
    """Draw the distribution of the scores of a component, by group."""
    count = min(40, max(8, round(2 * len(t) ** (1 / 3))))
    try:
        bins = np.histogram_bin_edges(t, bins=count).tolist()
    except ValueError:  # scores are equal up to rounding
        bins = [float(t.min()), float(np.nextafter(t.max(), np.inf))]
    if groups is None:
        ax.hist(t, bins, color=style.BLUE, alpha=0.85)
    else:
        for code in np.unique(groups.codes).tolist():
            colour, _ = marks.row_style(ax, code)
            group_scores = t[groups.codes == code]
            ax.hist(group_scores, bins, color=colour, histtype="stepfilled", alpha=0.25)
            ax.hist(group_scores, bins, color=colour, histtype="step", lw=1.0)
    ax.spines["left"].set_visible(False)
    ax.tick_params(left=False, labelleft=False)
