"""T² and Q of rows, the rows beyond their limits, and what the variables contribute to both."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from princomp.core import Fitted, fitted_model
from princomp.diagnostics.arguments import check_count, shared_docs
from princomp.diagnostics.control_limits import limits
from princomp.diagnostics.models import fitted_of, variable_names
from princomp.diagnostics.row_limits import Projector, RowLimits
from princomp.diagnostics.row_reader import Block, RowReader
from princomp.diagnostics.tables import Names, is_long_form, pair_columns
from princomp.errors import NotAvailableError, counted, warn
from princomp.estimators import PCA
from princomp.linalg import FloatArray

_SYMBOLS = {"t2": "T²", "q": "Q"}


@shared_docs
def distances(
    model: PCA,
    X: object,
    *,
    level: float | None = None,
    training: bool = False,
    ids: Iterable[object] | None = None,
    frame: str | None = None,
) -> Any:
    """Compute T² and Q of rows: distances within the components and from them.

    Parameters
    ----------
    %(model)s
    X : array, sparse array, frame, path or batches, of shape (n, p)
        Training rows or new rows, read block by block.
    level : float, optional
        Adds the limits of each row at this level.
    training : bool, default=False
        Whether X contains the rows of the fit, whose limits are lower.
    %(ids)s
    %(frame)s

    Returns
    -------
    frame
        ``row``; ``t2``: Σ t²/λ, without unit, over the components above the fit's
        resolution; ``q``: ‖x − x̂‖² in squared units of the analysed columns, with x̂ from
        the same components (zero if there are p of them). With a level, ``t2_limit`` and
        ``q_limit``; NaN, with a warning, if there is no limit. Rows without scores have
        NaN in ``t2`` and ``q``; a warning counts them. If the model has
        ``missing="em"`` or ``"nipals"``, ``filled``: the number of filled cells. Filled
        cells have almost no residuals, and scores from few cells are near zero ("em") or vary
        more ("nipals"): :func:`limits` does not hold for such rows, and a warning counts them
        if there is no level.

    Raises
    ------
    ParameterError, ShapeError, ColumnError, NotFiniteError, NotAvailableError

    Notes
    -----
    Hotelling (1931); Jackson & Mudholkar (1979). Limits: :func:`princomp.diagnostics.limits`. For
    rows with filled cells, they are computed from the covariances of scores and residuals given
    which cells are known. Then Q may have no limit: it is zero if as many components fit the cells
    exactly.

    Examples
    --------
    %(example_model)s
    >>> table = diagnostics.distances(model, X, frame="listing")
    >>> print(np.round(table["t2"], 2))
    [1.68 1.25 0.11 0.44 2.94 3.57]
    """
    fitted, row_limits = fitted_of(model), None
    projector = Projector.of(fitted)
    if level is None:
        fitted_model(model).warn_of_columns_left_out("values of T²", fitted.k)
    else:
        found = limits(model, level)
        row_limits = RowLimits(model, found, training=training)
        for statistic, reason in found.reasons.items():
            warn(f"{_SYMBOLS[statistic]} has no limit, so {statistic}_limit is NaN: {reason}")
    reader = RowReader.open(model, X, ids=ids, frame=frame)

    def measure(block: Block) -> tuple[NDArray[Any], ...]:
        limits_of_rows = () if row_limits is None else row_limits.of(block)
        return block.ids, *projector.t2_and_q(block.rows), *limits_of_rows, block.n_filled

    *columns, filled = reader.collect(measure)
    if row_limits is not None:
        row_limits.warn_of_rows_without_limits()
    elif n := int(np.count_nonzero(filled)):
        warn(
            f"cells of {counted(n, 'row')} of X were filled, and limits of complete rows do not "
            "hold for these rows: use outliers(), or distances() with level=, which have limits "
            "for each row"
        )
    _warn_of_incomplete_rows(int(np.isnan(columns[2]).sum()), reader, "without T² and Q (NaN)")
    names = ("row", "t2", "q", *(("t2_limit", "q_limit") if row_limits else ()))
    contents = dict(zip(names, columns, strict=True))
    return reader.table(contents | ({"filled": filled} if reader.fills else {}))


@shared_docs
def contributions(
    model: PCA,
    X: object,
    *,
    ids: Iterable[object] | None = None,
    form: str = "long",
    frame: str | None = None,
) -> Any:
    """Compute the contributions of variables to T² and Q of rows.

    The table is as large as X: select rows first, such as those of ``outliers``.

    Parameters
    ----------
    %(model)s
    X : array, sparse array, frame, path or batches, of shape (n, p)
    %(ids)s
    form : {"long", "wide"}
        A row for each row of X and variable, or a row for each row of X.
    %(frame)s

    Returns
    -------
    frame
        ``t2``: x Σ (t/λ) v for each variable. Those of a row sum to its T²; negative ones
        decrease it. ``q``: the squared residual with the residual's sign; their absolute
        values sum to Q. In wide tables they are called ``t2_NAME`` and ``q_NAME``.

    Raises
    ------
    ParameterError, ShapeError, ColumnError, NotFiniteError, NotAvailableError

    Notes
    -----
    Nomikos & MacGregor (1995) for T²; Wise et al. (1990) for Q.

    Examples
    --------
    %(example_model)s
    >>> table = diagnostics.contributions(model, X[:1], frame="listing")
    >>> print(table["variable"], np.round(table["q"], 3))
    ['x0' 'x1' 'x2'] [-0.019  0.04  -0.339]
    """
    fitted, long = fitted_of(model), is_long_form(form)
    projector = Projector.of(fitted)
    fitted_model(model).warn_of_columns_left_out("values of T²", fitted.k)
    reader = RowReader.open(model, X, ids=ids, frame=frame)
    row_ids, t2, q = reader.collect(lambda block: (block.ids, *projector.contributions(block.rows)))
    names = {"row": row_ids, "variable": variable_names(model)}
    return reader.table(pair_columns(names, {"t2": t2, "q": q}, long), by_row=not long)


# ---- rows beyond a limit --------------------------------------------------------------


@shared_docs
def outliers(
    model: PCA,
    X: object,
    level: float = 0.95,
    *,
    training: bool = False,
    top: int = 3,
    ids: Iterable[object] | None = None,
    frame: str | None = None,
) -> Any:
    """Find rows whose T² or Q is beyond its limit, the most extreme first.

    Parameters
    ----------
    %(model)s
    X : array, sparse array, frame, path or batches, of shape (n, p)
        Read once, block by block; only rows beyond a limit are kept.
    level : float, default=0.95
        Expected share of regular rows below each limit.
    training : bool, default=False
        Whether X contains the rows of the fit, whose limits are lower.
    top : int, default=3
        Number of variables to name for each statistic.
    %(ids)s
    %(frame)s

    Returns
    -------
    frame
        ``row``, its ``position`` in X from 0, ``t2``, ``t2_limit``, ``q``, ``q_limit``,
        ``beyond`` ("T2", "Q" or "T2, Q"), and ``t2_variables``, ``q_variables``: the names
        of the variables that contribute most to a statistic beyond its limit, the largest
        first. Sorted by the larger of the two ratios to the limit. A limit that cannot be
        computed is NaN, with a warning. Rows without scores are skipped; a warning
        counts them: with ``missing="drop"`` those with missing values, with ``"em"`` and
        ``"nipals"`` those without any known cell. With these two, rows with filled cells have
        limits of their own, and ``filled`` is the number of these cells; see :func:`distances`.

    Raises
    ------
    NotAvailableError
        When neither statistic has a limit.
    ParameterError, ShapeError, ColumnError, NotFiniteError

    Examples
    --------
    %(example_model)s
    >>> table = diagnostics.outliers(model, np.vstack([X, [[20, -20, 0]]]), frame="listing")
    >>> print(table["position"])
    [6]
    """
    control_limits = limits(model, level)
    top = check_count("top", top)
    _check_reasons(control_limits.reasons, fitted_of(model))
    reader = RowReader.open(model, X, ids=ids, frame=frame)
    cutoffs = RowLimits(model, control_limits, training=training)
    projector, names = Projector.of(fitted_of(model)), variable_names(model)
    n_incomplete = 0

    def measure(block: Block) -> tuple[NDArray[Any], ...]:
        nonlocal n_incomplete
        t2, q = projector.t2_and_q(block.rows)
        n_incomplete += int(np.isnan(q).sum())
        t2_cutoff, q_cutoff = cutoffs.of(block)
        rows = np.flatnonzero((t2 > t2_cutoff) | (q > q_cutoff))
        t2, q, t2_cutoff, q_cutoff = t2[rows], q[rows], t2_cutoff[rows], q_cutoff[rows]
        t2_parts, q_parts = projector.contributions(block.rows[rows])
        t2_names = _largest_variables(t2_parts, names, top, t2 > t2_cutoff)
        q_names = _largest_variables(np.abs(q_parts), names, top, q > q_cutoff)
        measured = (t2, t2_cutoff, q, q_cutoff, t2_names, q_names, block.n_filled[rows])
        return block.ids[rows], block.start + rows, *measured

    row, position, t2, t2_cutoff, q, q_cutoff, t2_names, q_names, filled = reader.collect(measure)
    cutoffs.warn_of_rows_without_limits()
    _warn_of_incomplete_rows(n_incomplete, reader, "skipped")
    order = np.argsort(-np.fmax(t2 / t2_cutoff, q / q_cutoff), kind="stable")
    one_limit = np.where(t2 > t2_cutoff, "T2", "Q")
    beyond = np.where((t2 > t2_cutoff) & (q > q_cutoff), "T2, Q", one_limit)
    contents = {
        "row": row,
        "position": position,
        "t2": t2,
        "t2_limit": t2_cutoff,
        "q": q,
        "q_limit": q_cutoff,
        "beyond": beyond.astype(object),
        "t2_variables": t2_names,
        "q_variables": q_names,
        **({"filled": filled} if reader.fills else {}),
    }
    if reader.index is not None:
        reader.index = reader.index[position[order]]
    return reader.table({name: column[order] for name, column in contents.items()})


def _warn_of_incomplete_rows(n: int, reader: RowReader, what: str) -> None:
    """Warn that n rows have no T² and Q; ``what`` says what they are."""
    if n:
        words = "no known cells" if reader.fills else "missing values"
        verbs = ("has", "is") if n == 1 else ("have", "are")
        warn(f"{counted(n, 'row')} of X {verbs[0]} {words} and {verbs[1]} {what}")


def _check_reasons(reasons: dict[str, str], fitted: Fitted) -> None:
    """Warn if one statistic has no limit, and refuse if neither has: ``reasons`` says why.

    Raises
    ------
    NotAvailableError
    """
    if len(reasons) == 2:
        hint = "keep fewer components (model.truncated(k)), or fit more rows"
        if not fitted.centred:
            hint = "fit with center=True"
        elif fitted.n_samples is None:
            hint = "give n_samples=, the number of rows, with the covariance"
        elif not fitted.n_resolved:
            hint = "fit rows that vary; without variance, no limit can be estimated"
        raise NotAvailableError(
            f"neither T² nor Q has a limit. T²: {reasons['t2']}. Q: {reasons['q']}",
            hint=hint,
        )
    for statistic, reason in reasons.items():
        warn(
            f"{_SYMBOLS[statistic]} has no limit, so rows are judged by the other statistic "
            f"alone: {reason}"
        )


def _largest_variables(
    values: FloatArray, names: Names, top: int, beyond: NDArray[np.bool_]
) -> Names:
    """Name the variables with the largest positive values (m, p) of each wanted row."""
    out = np.full(len(values), "", dtype=object)
    order = np.argsort(-values, axis=1, kind="stable")[:, :top]
    for rank, column in enumerate(order.T):
        # Variables with zero or negative contributions did not move the row beyond the limit.
        contributes = beyond & (np.take_along_axis(values, column[:, None], axis=1)[:, 0] > 0)
        out[contributes] += (", " if rank else "") + names[column[contributes]]
    return out
