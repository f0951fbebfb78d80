"""Rows beyond a control limit, and the variables that contribute most."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from princomp.diagnostics.arguments import Names, check_count, fitted_of, variable_names
from princomp.diagnostics.control_limits import limits
from princomp.diagnostics.row_reader import Block, RowReader
from princomp.diagnostics.shared_docs import shared_docs
from princomp.diagnostics.t2_and_q import Projector
from princomp.errors import NotAvailableError
from princomp.estimators import PCA
from princomp.linalg import FloatArray


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
        Level of the limits: the share of regular rows expected below each.
    training : bool, default=False
        Whether X has the rows of the fit, for which the limit of T² is lower.
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
        computed is NaN, with a warning. Rows with missing values, which a model with
        ``missing="drop"`` accepts, are not judged; a warning counts them.

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
    fitted = fitted_of(model)
    control_limits = limits(model, level)
    top = check_count("top", top)
    _check_reasons(control_limits.reasons)
    reader = RowReader.open(model, X, ids=ids, frame=frame)
    # A limit that is None becomes NaN.
    t2_limit, q_limit = np.array([control_limits.t2(training), control_limits.q], np.float64)
    projector, names = Projector.of(fitted), variable_names(model)
    missing = 0

    def measure(block: Block) -> tuple[NDArray[Any], ...]:
        nonlocal missing
        t2, q = projector.t2_and_q(block.rows)
        missing += int(np.isnan(q).sum())
        beyond = np.flatnonzero((t2 > t2_limit) | (q > q_limit))
        t2, q = t2[beyond], q[beyond]
        by_t2, by_q = projector.contributions(block.rows[beyond])
        by_t2 = _largest_variables(by_t2, names, top, t2 > t2_limit)
        by_q = _largest_variables(np.abs(by_q), names, top, q > q_limit)
        return block.ids[beyond], block.start + beyond, t2, q, by_t2, by_q

    row, position, t2, q, by_t2, by_q = reader.collect(measure)
    if missing:
        message = f"{missing:,} rows of X have missing values and are not judged"
        warnings.warn(message, UserWarning, stacklevel=2)
    order = np.argsort(-np.fmax(t2 / t2_limit, q / q_limit), kind="stable")
    one_limit = np.where(t2 > t2_limit, "T2", "Q")
    beyond = np.where((t2 > t2_limit) & (q > q_limit), "T2, Q", one_limit)
    contents = {
        "row": row,
        "position": position,
        "t2": t2,
        "t2_limit": np.full(len(order), t2_limit),
        "q": q,
        "q_limit": np.full(len(order), q_limit),
        "beyond": beyond.astype(object),
        "t2_variables": by_t2,
        "q_variables": by_q,
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
        warnings.warn(
            f"{'T²' if statistic == 't2' else 'Q'} has no limit, so rows are judged by the other "
            f"statistic alone: {reason}",
            UserWarning,
            stacklevel=3,
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
