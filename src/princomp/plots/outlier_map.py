"""Outlier map: distances of rows within and from the components, with limits."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from princomp.core import fitted_model
from princomp.diagnostics import Names, RowReader, distances, limits, shared_docs
from princomp.errors import ParameterError, counted
from princomp.estimators import PCA, RobustPCA
from princomp.io import RowArray
from princomp.linalg import FloatArray
from princomp.plots import style
from princomp.plots.drawn_model import accept_any_model
from princomp.plots.drawn_rows import DrawnRows, Ids, Labels, choose_labelled, rows_with_scores
from princomp.plots.labels import place_labels
from princomp.plots.marks import MAX_POINTS, draw_density, draw_points

_DEFAULT_LABELS, _DEFAULT_LEVEL = 10, 0.95

# The limits of the two axes of a figure, None if they cannot be computed, and their labels.
_Limits: TypeAlias = tuple[tuple[float | None, str], tuple[float | None, str]]


class _Distances(NamedTuple):
    """Distances (n,) of rows within the components and from them, with their limits and labels.

    ``kept`` (n,) marks the rows that can be drawn.
    """

    names: Names
    within: FloatArray
    outside: FloatArray
    kept: NDArray[np.bool_]
    components: int
    limits: _Limits
    labels: tuple[str, str]
    notes: tuple[str, ...] = ()


@accept_any_model
@shared_docs
def outliers(
    model: PCA | RobustPCA,
    X: object,
    level: float | None = None,
    *,
    training: bool = False,
    label: Labels = None,
    ids: Ids = None,
    ax: Axes | None = None,
    dark: bool | None = None,
) -> Axes:
    """Draw an outlier map: T² against Q of rows, with both limits.

    Parameters
    ----------
    model : PCA or RobustPCA
        Fitted. For a RobustPCA, score distances (√T²), orthogonal distances (√Q) and the
        cut-offs of the fit are drawn.
    %(X)s
    level : float, optional
        Level of the limits of a PCA, by default 0.95. The limits depend on the model only.
    training : bool, default=False
        Whether X are the rows of the fit, for which the limit of T² is lower.
    label : int or sequence of names, optional
        Rows with labels: an integer labels this many of the most distant rows; a sequence, the
        rows with these names. By default the 10 most distant rows beyond a limit.
    %(ids)s
    %(axes)s

    Returns
    -------
    matplotlib.axes.Axes
        With all components (k = p) there is no Q, and T² is drawn by row. A limit that cannot
        be computed is not drawn, and a note explains why.

    Raises
    ------
    ParameterError, ShapeError, ColumnError, NotFiniteError
    """
    distances_of = _robust_distances if isinstance(model, RobustPCA) else _control_distances
    found = distances_of(model, X, level, training, ids)
    kept, k = found.kept, found.components
    x, y, drawn_limits = found.within, found.outside, found.limits
    by_row = k == model.n_features_in_  # there are no distances from the components
    if by_row:
        x, y = np.arange(len(kept)), found.within
        drawn_limits = ((None, ""), found.limits[0])
    xy = np.column_stack([x, y])[kept]
    # Nothing is beyond a limit that is not known.
    cutoffs = np.array([np.inf if limit is None else limit for limit, _ in drawn_limits])
    ratio, count, any_limit = (xy / cutoffs).max(axis=1), len(xy), np.isfinite(cutoffs).any()
    beyond = ratio > 1.0

    ax = style.styled_axes(ax, dark)
    density_note = _draw_rows(ax, xy, beyond)
    _draw_limits(ax, drawn_limits)
    rows = DrawnRows(xy, found.names[kept], kept)
    n_beyond = int(beyond.sum())
    label = min(n_beyond, _DEFAULT_LABELS) if label is None else label
    labelled = choose_labelled(label, rows, ratio if any_limit else found.within[kept])
    every = "all " if by_row and k > 1 else ""
    within_label = f"{found.labels[0]} within {every}{counted(k, 'component')}"
    if by_row:
        n = len(kept)
        ax.set(xlim=(-0.02 * n - 0.5, 1.02 * n), xlabel="row", ylabel=within_label)
    else:
        ax.set(xlabel=within_label, ylabel=found.labels[1])
    if ax.get_legend_handles_labels()[0]:
        style.legend_above(ax, 2)
    if count > MAX_POINTS:
        draw_points(ax, xy[labelled], style.VERMILLION, "D", among=400)
    verb = "is" if n_beyond == 1 else "are"
    style.add_note(
        ax,
        f"{n_beyond:,} of {counted(count, 'row')} {verb} beyond a limit" if any_limit else "",
        density_note,
        *found.notes,
        rows.missing_note,
    )
    style.lay_out(ax)
    lines = _limit_lines(ax, drawn_limits)
    place_labels(ax, xy[labelled], rows.names[labelled], points=xy, lines=lines)
    return ax


def _control_distances(
    model: PCA, X: object, level: float | None, training: bool, ids: Ids
) -> _Distances:
    """Compute T² and Q of rows, and their limits."""
    control_limits = limits(model, _DEFAULT_LEVEL if level is None else level)
    table = distances(model, X, ids=ids, frame="listing")
    t2, q = table["t2"], table["q"]
    percent = f"{100 * control_limits.level:.10g}%"
    kind = "training" if training else "new"
    symbols = {"t2": "T²", "q": "Q"}
    return _Distances(
        table["row"],
        t2,
        q,
        rows_with_scores(np.column_stack([t2, q])),
        control_limits.components,
        (
            (control_limits.t2(training), f"T² {percent} of {kind} rows"),
            (control_limits.q, f"Q {percent}"),
        ),
        ("T²", "Q: squared distance from them"),
        tuple(
            f"no limit of {symbols[statistic]}: {reason}"
            for statistic, reason in control_limits.reasons.items()
        ),
    )


def _robust_distances(
    model: RobustPCA, X: object, level: float | None, training: bool, ids: Ids
) -> _Distances:
    """Compute score and orthogonal distances, with the cut-offs of a robust fit."""
    for name, given in (("level", level is not None), ("training", training)):
        if given:
            raise ParameterError(
                f"{name} does not apply to a RobustPCA, which has its own cut-offs",
                place={"parameter": name},
                hint=f"leave out {name}",
            )
    fitted = fitted_model(model)
    reader = RowReader.open(model, X, ids=ids)

    def distances_of(chunk: RowArray, start: int) -> tuple[FloatArray, FloatArray]:
        chunk_distances = fitted.chunk_outlier_map(chunk, reader.data, start)
        return chunk_distances.score_distances, chunk_distances.orthogonal_distances

    names, within, outside = reader.collect_chunks(distances_of)
    return _Distances(
        names,
        within,
        outside,
        np.ones(len(names), dtype=bool),
        model.n_components_,
        (
            (model.score_cutoff_, "cut-off of score distances, 97.5%"),
            (model.orthogonal_cutoff_, "cut-off of orthogonal distances, 97.5%"),
        ),
        ("score distance", "orthogonal distance from them"),
    )


def _draw_rows(ax: Axes, xy: FloatArray, beyond: NDArray[np.bool_]) -> str:
    """Draw rows as points, or many rows as a density; return a note about it."""
    if len(xy) <= MAX_POINTS:
        draw_points(ax, xy[~beyond], style.BLUE, among=len(xy), label="within the limits")
        if beyond.any():
            draw_points(
                ax, xy[beyond], style.VERMILLION, "D", among=len(xy), label="beyond a limit"
            )
        return ""
    draw_density(ax, xy, equal_scales=False)
    return "density of rows on a logarithmic scale"


def _draw_limits(ax: Axes, limits: _Limits) -> None:
    """Draw the limits, and let both axes start near zero and include them."""
    colour = style.readable_on_axes(ax, style.VERMILLION)
    dash_patterns = ((ax.axvline, (0, (5, 3))), (ax.axhline, (0, (1.5, 2))))
    for (value, label), (draw, dashes) in zip(limits, dash_patterns, strict=True):
        if value is not None:
            label = f"{label}: {value:.4g}"
            draw(value, color=colour, lw=1.0, ls=dashes, zorder=1.5, label=label)
    ax.margins(0.06)
    ax.autoscale_view()
    ends: Any = ((ax.get_xlim()[1], ax.set_xlim), (ax.get_ylim()[1], ax.set_ylim))
    for (value, _), (upper, set_limits) in zip(limits, ends, strict=True):
        top = max(upper, 1.15 * (value or 0.0))
        set_limits(-0.015 * top, top)


def _limit_lines(ax: Axes, limits: _Limits) -> list[FloatArray]:
    """Ends of the limit lines, which labels must not cross."""
    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    (x, _), (y, _) = limits
    lines = [] if x is None else [[[x, bottom], [x, top]]]
    lines += [] if y is None else [[[left, y], [right, y]]]
    return [np.array(line) for line in lines]
