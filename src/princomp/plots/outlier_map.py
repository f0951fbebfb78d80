"""Outlier map: distances of rows within and from the components, with limits."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

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


class _Measure(NamedTuple):
    """One axis of the map: values of the rows (n,), and their limit, None if it is not known.

    ``compared`` (n,) marks the rows for which the limit holds; by default it holds for all.
    """

    label: str
    values: NDArray[Any]
    limit: float | None = None
    limit_label: str = ""
    compared: NDArray[np.bool_] | bool = True

    @property
    def ratio(self) -> FloatArray:
        """Ratio of the values to the limit (n,); NaN where there is none."""
        limit = np.nan if self.limit is None else self.limit
        return np.where(self.compared, self.values / limit, np.nan)


class _Distances(NamedTuple):
    """Distances of rows within the components and from them."""

    names: Names
    within: _Measure
    outside: _Measure
    components: int
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
        Whether X contains the rows of the fit, whose limits are lower.
    label : int or sequence of names, optional
        Rows with labels: an integer labels this many of the most distant rows; a sequence, the
        rows with these names. By default the 10 most distant rows beyond a limit.
    %(ids)s
    %(axes)s

    Returns
    -------
    matplotlib.axes.Axes
        With all components (k = p) there is no Q, and T² is drawn by row. A limit that cannot
        be computed is not drawn, and a note explains why. T² and Q of rows with filled cells are
        divided by the ratio of their limits, which depend on the known cells, to those of
        complete rows; see :func:`princomp.diagnostics.distances`. Rows without limits are not
        compared.

    Raises
    ------
    ParameterError, ShapeError, ColumnError, NotFiniteError
    """
    distances_of = _robust_distances if isinstance(model, RobustPCA) else _control_distances
    found = distances_of(model, X, level, training, ids)
    k, y = found.components, found.outside
    by_row = k == model.n_features_in_  # there are no distances from the components
    every = "all " if by_row and k > 1 else ""
    x = found.within._replace(label=f"{found.within.label} within {every}{counted(k, 'component')}")
    kept = rows_with_scores(np.column_stack([x.values, y.values]))
    if by_row:
        x, y = _Measure("row", np.arange(len(kept))), x
    xy = np.column_stack([x.values, y.values])[kept]
    ratio = np.fmax(x.ratio, y.ratio)[kept]
    beyond, compared = ratio > 1.0, ~np.isnan(ratio)
    count = int(compared.sum())

    ax = style.styled_axes(ax, dark)
    density_note = _draw_rows(ax, xy, beyond, "within the limits" if compared.all() else "others")
    _draw_limits(ax, x, y)
    rows = DrawnRows(xy, found.names[kept], kept)
    n_beyond = int(beyond.sum())
    label = min(n_beyond, _DEFAULT_LABELS) if label is None else label
    distances_within = found.within.values[kept]
    labelled = choose_labelled(label, rows, np.nan_to_num(ratio) if count else distances_within)
    ax.set(xlabel=x.label, ylabel=y.label)
    if by_row:
        ax.set_xlim(-0.02 * len(kept) - 0.5, 1.02 * len(kept))
    if ax.get_legend_handles_labels()[0]:
        style.legend_above(ax, 2)
    if len(xy) > MAX_POINTS:
        draw_points(ax, xy[labelled], style.VERMILLION, "D", among=400)
    verb = "is" if n_beyond == 1 else "are"
    style.add_note(
        ax,
        f"{n_beyond:,} of {counted(count, 'row')} {verb} beyond a limit" if count else "",
        density_note,
        *found.notes,
        rows.missing_note,
    )
    style.lay_out(ax)
    lines = _limit_lines(ax, x, y)
    place_labels(ax, xy[labelled], rows.names[labelled], points=xy, lines=lines)
    return ax


def _control_distances(
    model: PCA, X: object, level: float | None, training: bool, ids: Ids
) -> _Distances:
    """Compute T² and Q of rows, and their limits."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # distances() warns, too
        control_limits = limits(model, _DEFAULT_LEVEL if level is None else level)
    level, (t2_limit, q_limit) = control_limits.level, control_limits.of(training=training)
    with warnings.catch_warnings():
        # Notes say so.
        warnings.filterwarnings("ignore", "(T²|Q) has no limit")
        warnings.filterwarnings("ignore", ".* of X ha(s|ve) .* without T² and Q")
        table = distances(model, X, level=level, training=training, ids=ids, frame="listing")
    notes = [
        f"no limit of {'T²' if statistic == 't2' else 'Q'}: {reason}"
        for statistic, reason in control_limits.reasons.items()
    ]
    if "filled" in table.columns:
        has_limit = ~(np.isnan(table["t2_limit"]) & np.isnan(table["q_limit"]))
        if scaled := int(np.count_nonzero(has_limit & (table["filled"] > 0))):
            notes.append(f"{counted(scaled, 'row')} with filled cells: scaled to these limits")
        if without := int(np.count_nonzero(~has_limit & (table["filled"] > 0))):
            notes.append(f"{counted(without, 'row')} with filled cells: no limits")
    percent = f"{100 * level:.10g}%"
    which = f"{percent} of {'training' if training else 'new'} rows"
    t2 = _scaled_to(t2_limit, table["t2"], table["t2_limit"])
    q = _scaled_to(q_limit, table["q"], table["q_limit"])
    return _Distances(
        table["row"],
        _Measure("T²", t2, t2_limit, f"T² {which}", ~np.isnan(table["t2_limit"])),
        _Measure(
            "Q: squared distance from them", q, q_limit, f"Q {which}", ~np.isnan(table["q_limit"])
        ),
        control_limits.components,
        tuple(notes),
    )


def _scaled_to(limit: float | None, values: FloatArray, limits_of_rows: FloatArray) -> FloatArray:
    """Scale values, so that those beyond the limits of their rows are beyond ``limit``."""
    if limit is None:
        return values
    return np.where(np.isnan(limits_of_rows), values, values * (limit / limits_of_rows))


def _robust_distances(
    model: RobustPCA, X: object, level: float | None, training: bool, ids: Ids
) -> _Distances:
    """Compute score and orthogonal distances, with the cut-offs of a robust fit."""
    for name, given in (("level", level is not None), ("training", training)):
        if given:
            raise ParameterError(
                f"{name}= does not apply to a RobustPCA, which has its own cut-offs",
                place={"parameter": name},
                hint=f"leave out {name}=",
            )
    fitted = fitted_model(model)
    reader = RowReader.open(model, X, ids=ids, frame="listing")

    def measure(chunk: RowArray, start: int) -> tuple[FloatArray, FloatArray]:
        chunk_distances = fitted.chunk_outlier_map(chunk, reader.data, start)
        return chunk_distances.score_distances, chunk_distances.orthogonal_distances

    names, within, outside = reader.collect_chunks(measure)
    labels = "cut-off of score distances, 97.5%", "cut-off of orthogonal distances, 97.5%"
    return _Distances(
        names,
        _Measure("score distance", within, model.score_cutoff_, labels[0]),
        _Measure("orthogonal distance from them", outside, model.orthogonal_cutoff_, labels[1]),
        model.n_components_,
    )


def _draw_rows(ax: Axes, xy: FloatArray, beyond: NDArray[np.bool_], others: str) -> str:
    """Draw rows as points, or many rows as a density; return a note about it.

    ``others`` is the name of the rows that are not beyond a limit.
    """
    n = len(xy)
    if n <= MAX_POINTS:
        draw_points(ax, xy[~beyond], style.BLUE, among=n, label=others)
        if beyond.any():
            draw_points(ax, xy[beyond], style.VERMILLION, "D", among=n, label="beyond a limit")
        return ""
    draw_density(ax, xy, equal_scales=False)
    return "density of rows on a logarithmic scale"


def _draw_limits(ax: Axes, x: _Measure, y: _Measure) -> None:
    """Draw the limits, and let both axes start near zero and include them."""
    colour = style.readable_on_axes(ax, style.VERMILLION)
    for axis, draw, dashes in ((x, ax.axvline, (0, (5, 3))), (y, ax.axhline, (0, (1.5, 2)))):
        if axis.limit is not None:
            label = f"{axis.limit_label}: {axis.limit:.4g}"
            draw(axis.limit, color=colour, lw=1.0, ls=dashes, zorder=1.5, label=label)
    ax.margins(0.06)
    ax.autoscale_view()
    ends: Any = ((x, ax.get_xlim()[1], ax.set_xlim), (y, ax.get_ylim()[1], ax.set_ylim))
    for axis, upper, set_limits in ends:
        top = max(upper, 1.15 * (axis.limit or 0.0))
        set_limits(-0.015 * top, top)


def _limit_lines(ax: Axes, x: _Measure, y: _Measure) -> list[FloatArray]:
    """Ends of the limit lines, which labels must not cross."""
    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    lines = []
    if x.limit is not None:
        lines.append(np.array([[x.limit, bottom], [x.limit, top]]))
    if y.limit is not None:
        lines.append(np.array([[left, y.limit], [right, y.limit]]))
    return lines
