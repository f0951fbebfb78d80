"""T² and Q of rows, their control limits, and the rows and variables beyond the limits."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from scipy import special

from princomp.core import Fitted, fitted_model
from princomp.diagnostics.arguments import (
    Names,
    check_count,
    checked_level,
    fitted_of,
    ignoring_rows,
    shared_docs,
    variable_names,
)
from princomp.diagnostics.row_limits import Projector, RowLimits, q_limit
from princomp.diagnostics.row_reader import Block, RowReader
from princomp.diagnostics.tables import is_long_form, pair_columns
from princomp.errors import NotAvailableError, counted, warn
from princomp.estimators import PCA
from princomp.linalg import FloatArray
from princomp.summaries import Moments, Triangle

# ---- limits ---------------------------------------------------------------------------


@dataclass(frozen=True)
@shared_docs
class Limits:
    """Control limits of T² and Q.

    Parameters
    ----------
    level : float
        Expected share of regular rows below each limit.
    components : int
        Components in T²: those whose variance is above the fit's resolution. All other
        directions belong to Q.
    t2_new, t2_training : float or None
        Limit of T² for rows that were not in the fit, and for those that were.
    q : float or None
        Limit of Q, in squared units of the analysed columns.
    q_method : {"jackson-mudholkar", "pearson"} or None
        How the limit of Q was computed; see :func:`limits`.
    reasons : dict of str to str
        Why a limit is None, under "t2" and "q".

    Examples
    --------
    %(example_model)s
    >>> diagnostics.limits(model, level=0.99).level
    0.99
    """

    level: float
    components: int
    t2_new: float | None
    t2_training: float | None
    q: float | None
    q_method: str | None
    reasons: dict[str, str]

    def t2(self, training: bool) -> float | None:
        """Return the limit of T² for training or for new rows."""
        return self.t2_training if training else self.t2_new


@ignoring_rows
def limits(model: PCA, level: float = 0.95) -> Limits:
    """Compute the control limits of T² and Q at a level.

    T² of new rows: k(n² − 1)/(n(n − k)) F(k, n − k); of training rows:
    (n − 1)²/n Beta(k/2, (n − k − 1)/2). Q: from the variances of the other directions, by
    Jackson and Mudholkar's power transformation if its power is positive, and otherwise by
    Pearson's χ² with the same three moments, which stays accurate if one direction dominates.

    Parameters
    ----------
    model : PCA
        Fitted.
    level : float, default=0.95

    Returns
    -------
    Limits
        A limit that cannot be computed is None, with the reason in ``reasons``. T²: too few
        rows (n ≤ k + 1), an unknown number of rows, or no centring. Q: no other directions, or
        a fit that stores only some variances and no covariance.

    Raises
    ------
    ParameterError
        For a level outside (0, 1).

    Notes
    -----
    Tracy, Young & Mason (1992) for T²; Jackson & Mudholkar (1979) and Pearson (1959) for Q. They
    assume multivariate normal rows, all of whose cells are known: :func:`outliers`, and
    :func:`distances` with a level, have limits for rows with filled cells. If rows have weights, n
    is their sum. The variances of Q are those of the rows of the fit: as the components follow
    these rows, fewer of them are beyond the limit of Q than the level says, and more new rows.
    The mean Q of new rows is about ((n − 1)/(n − 1 − k))² (1 + 1/n) times that of the variances.

    Examples
    --------
    >>> from princomp import PCA
    >>> from princomp.diagnostics import limits
    >>> model = PCA(1).fit([[1.0, 2.0], [2.0, 1.0], [3.0, 4.0], [4.0, 3.0], [6.0, 5.0]])
    >>> print(f"{limits(model).t2_new:.3f}", f"{limits(model).t2_training:.3f}")
    9.250 2.469
    """
    fitted = fitted_of(model)
    _warn_of_columns_left_out(model)
    level = checked_level(level)
    k = fitted.n_resolved
    reasons: dict[str, str] = {}
    t2_new = t2_training = None
    if reason := _why_no_t2_limit(fitted, k):
        reasons["t2"] = reason
    else:
        n = float(fitted.summary.rows)
        # Factors near 1 first, because the square of a sum of weights may overflow.
        t2_new = (n + 1) / n * ((n - 1) / (n - k)) * k * float(special.fdtri(k, n - k, level))
        beta = float(special.betaincinv(k / 2, (n - k - 1) / 2, level))
        t2_training = (n - 1) / n * ((n - 1) * beta)
    residual = residual_variances(fitted, k)
    q = q_method = None
    if residual is None:
        reasons["q"] = (
            "the model stores only some variances and no covariance; fit with "
            "svd_solver='covariance_eigh' or 'full'"
        )
    elif not residual.size:
        reasons["q"] = (
            f"the components span all directions (k = p = {k})"
            if k == fitted.p
            else "the rows of the fit do not vary outside the components, up to its resolution"
        )
    else:
        q, q_method = q_limit(residual, level)
    return Limits(level, k, t2_new, t2_training, q, q_method, reasons)


def _warn_of_columns_left_out(model: PCA) -> None:
    """Warn if T² leaves out columns because components are below the resolution."""
    fitted_model(model).warn_of_columns_left_out("values of T²", fitted_of(model).k)


def _why_no_t2_limit(fitted: Fitted, k: int) -> str | None:
    """Return why T² has no limit, or None if it has one."""
    if fitted.n_samples is None:
        return "the number of rows behind the covariance is not known (n_samples=…)"
    if not fitted.centred:
        return "the limits assume an estimated mean, and the model has center=False"
    if not k:
        return "all components have zero variance" if fitted.k else "the model has no components"
    n = float(fitted.summary.rows)
    if n <= k + 1:
        return f"{n:g} rows are too few for {counted(k, 'component')}: more than k + 1 are needed"
    return None


def residual_variances(fitted: Fitted, k: int) -> FloatArray | None:
    """Return variances above the resolution after the first k; None if not all are known."""
    rank = fitted.analysed.rank_limit
    known = fitted.spectrum.variances
    if len(known) < min(rank, fitted.p):
        summary = fitted.analysed.to_host()
        if len(known) == rank - 1:  # the last one follows from the total
            known = np.append(known, fitted.spectrum.left_out(len(known), rank))
        elif isinstance(summary, Moments):
            known = scipy.linalg.eigvalsh(summary.scatter)[::-1] / (summary.rows - 1.0)
        elif isinstance(summary, Triangle):
            known = scipy.linalg.svdvals(summary.factor) ** 2 / (summary.rows - 1.0)
        else:
            return None
    residual = known[k:rank]
    return residual[residual > fitted.spectrum.resolution]


# ---- distances and contributions ------------------------------------------------------


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
        Whether X are the rows of the fit, whose limit of T² is lower.
    %(ids)s
    %(frame)s

    Returns
    -------
    frame
        ``row``; ``t2``: Σ t²/λ, without unit, over the components above the fit's
        resolution; ``q``: ‖x − x̂‖² in squared units of the analysed columns, with x̂ from
        the same components (zero if there are p of them). With a level, ``t2_limit`` and
        ``q_limit``; NaN if there is no limit. If the model has ``missing="em"`` or ``"nipals"``,
        ``filled``: the number of filled cells. Filled cells have almost no residuals, and scores
        from few cells are near zero ("em") or vary more ("nipals"): :func:`limits` does not hold
        for such rows, and a warning counts them if there is no level.

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
    projector = Projector.of(fitted_of(model))
    if level is None:
        _warn_of_columns_left_out(model)
        row_limits = None
    else:
        found = limits(model, level)
        row_limits = RowLimits(model, found.level, found.t2(training), found.q)
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
    projector, long = Projector.of(fitted_of(model)), is_long_form(form)
    _warn_of_columns_left_out(model)
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
        Whether X contains the rows of the fit, whose limit of T² is lower.
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
    _check_reasons(control_limits.reasons)
    reader = RowReader.open(model, X, ids=ids, frame=frame)
    cutoffs = RowLimits(model, control_limits.level, control_limits.t2(training), control_limits.q)
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
    if n_incomplete:
        words = "no known cells" if reader.fills else "missing values"
        verbs = ("has", "is") if n_incomplete == 1 else ("have", "are")
        warn(f"{counted(n_incomplete, 'row')} of X {verbs[0]} {words} and {verbs[1]} skipped")
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


def _check_reasons(reasons: dict[str, str]) -> None:
    """Warn if one statistic has no limit, and refuse if neither has: ``reasons`` says why.

    Raises
    ------
    NotAvailableError
    """
    if len(reasons) == 2:
        raise NotAvailableError(
            f"neither T² nor Q has a limit. T²: {reasons['t2']}. Q: {reasons['q']}",
            hint="keep fewer components, or fit more rows",
        )
    for statistic, reason in reasons.items():
        warn(
            f"{'T²' if statistic == 't2' else 'Q'} has no limit, so rows are judged by the other "
            f"statistic alone: {reason}",
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
