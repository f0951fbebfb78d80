"""Rows beyond a limit, and the variables that bring them there."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from princomp.arrays import FloatArray
from princomp.diagnostics.control_limits import Limits, limits, need_a_limit
from princomp.diagnostics.given import Names, state_of, variable_names
from princomp.diagnostics.row_blocks import Given
from princomp.diagnostics.t2_and_q import Projector
from princomp.diagnostics.tables import checked_frame, table
from princomp.errors import ParameterError

__all__ = ["outliers"]


def outliers(
    model: Any,
    X: Any,
    level: float = 0.95,
    *,
    training: bool = False,
    top: int = 3,
    ids: Any = None,
    frame: str | None = None,
) -> Any:
    """Rows whose T² or Q is beyond its limit, the furthest first.

    Parameters
    ----------
    model : PCA
        Fitted.
    X : array, sparse array, frame, path or batches, of shape (n, p)
        Read once, block by block; only rows beyond a limit are kept.
    level : float, default=0.95
        Of the limits: so large a share of lawful rows is expected below each.
    training : bool, default=False
        Whether the rows are those of the fit, whose limit of T² is lower.
    top : int, default=3
        How many variables to name for each statistic.
    ids : str or sequence of length n, optional
        Names of the rows; see :func:`princomp.diagnostics.rows`.
    frame : {"pandas", "polars", "pyarrow", "listing"}, optional
        Kind of the table; by default that of X.

    Returns
    -------
    frame
        ``row``, its ``position`` in X from 0, ``t2``, ``t2_limit``, ``q``, ``q_limit``,
        ``beyond`` ("T2", "Q" or "T2, Q"), and ``t2_variables``, ``q_variables``: the names
        of the variables that add most to a statistic that is beyond its limit, the largest
        first. Sorted by the larger of the two ratios to the limit. A limit that cannot be
        had is NaN, and a warning says why; another counts the rows with missing values,
        which a model with ``missing="drop"`` lets pass and which are not judged.

    Raises
    ------
    NotAvailableError
        When neither statistic has a limit.
    ParameterError, ShapeError, ColumnError, NotFiniteError
    """
    fitted = state_of(model)
    found = limits(model, level)
    if isinstance(top, bool) or not isinstance(top, int | np.integer) or top < 1:
        raise ParameterError(
            f"top={top!r} is no number of variables",
            place={"parameter": "top"},
            hint="1 or more",
        )
    need_a_limit(found, training)
    _say_what_is_missing(found)
    given = Given.of(model, X, ids=ids)
    kind = checked_frame(frame, model, given.kind)
    t2_limit, q_limit = (np.nan if one is None else one for one in (found.t2(training), found.q))
    onto, names = Projector.of(fitted), variable_names(model)
    kept: list[tuple[Any, ...]] = []
    missing = 0
    for block in given.blocks():
        t2, q = onto.both(block.rows)
        missing += int(np.isnan(q).sum())
        at = np.flatnonzero((t2 > t2_limit) | (q > q_limit))
        if at.size or not kept:
            t2_parts, q_parts = onto.parts(block.rows[at])
            far, off = t2[at] > t2_limit, q[at] > q_limit
            named = _named(t2_parts, names, top, far), _named(np.abs(q_parts), names, top, off)
            kept.append((block.ids[at], block.start + at, t2[at], q[at], far, off, *named))
    if missing:
        warnings.warn(
            f"{missing:,} rows of X have missing values and are not judged",
            UserWarning,
            stacklevel=2,
        )
    rows, position, t2, q, far, off, by_t2, by_q = (
        np.concatenate(parts) for parts in zip(*kept, strict=True)
    )
    order = np.argsort(-np.fmax(t2 / t2_limit, q / q_limit), kind="stable")
    beyond = np.where(far & off, "T2, Q", np.where(far, "T2", "Q")).astype(object)
    contents = {
        "row": rows[order],
        "position": position[order],
        "t2": t2[order],
        "t2_limit": np.full(len(order), t2_limit),
        "q": q[order],
        "q_limit": np.full(len(order), q_limit),
        "beyond": beyond[order],
        "t2_variables": by_t2[order],
        "q_variables": by_q[order],
    }
    index = None if given.index is None else given.index[position[order]]
    return table(contents, kind, index)


def _say_what_is_missing(found: Limits) -> None:
    for statistic, name in (("t2", "T²"), ("q", "Q")):
        if statistic in found.reasons:
            warnings.warn(
                f"{name} has no limit here, rows are judged by the other statistic alone: "
                f"{found.reasons[statistic]}",
                UserWarning,
                stacklevel=3,
            )


def _named(sizes: FloatArray, names: Names, top: int, wanted: Any) -> Names:
    """The largest variables of each row (m, p) as text; empty where not wanted."""
    out = np.full(len(sizes), "", dtype=object)
    order = np.argsort(-sizes, axis=1, kind="stable")[:, :top]
    for place, column in enumerate(order.T):
        # What adds nothing, or makes the statistic smaller, did not bring the row there.
        adds = wanted & (np.take_along_axis(sizes, column[:, None], axis=1)[:, 0] > 0)
        out[adds] += (", " if place else "") + names[column[adds]]
    return out
