"""The rows of the score plot that can be touched: what the page's script is given."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from princomp.arrays import FloatArray
from princomp.fitted import Fitted
from princomp.reports.rows import ReportedRows
from princomp.reports.words import cut

__all__ = ["MOST_POINTS", "score_points"]

# More would be slow to draw, and the page some megabytes.
MOST_POINTS = 3000
# Of these so many are the farthest out, the rest drawn at random.
_FARTHEST = 500


def score_points(fitted: Fitted, rows: ReportedRows) -> dict[str, Any]:
    """Plain values for the script: components, rows, groups, and how many rows there are.

    Of more than :data:`MOST_POINTS` rows the farthest out are taken, and some at random.
    """
    with_scores = np.flatnonzero(np.isfinite(rows.t).all(axis=1))
    at = _thinned(rows, with_scores)
    groups = rows.groups
    return {
        "components": [f"PC{i + 1} ({rate:.1%})" for i, rate in enumerate(fitted.rates)][
            : rows.t.shape[1]
        ],
        "names": [cut(name) if rows.named else f"row {name}" for name in rows.names[at]],
        "named": rows.named,
        "scores": [_short(line) for line in rows.t[at]],
        "cos2": [_short(line, 3) for line in rows.cos2[at]],
        "t2": _short(rows.t2[at]),
        "q": _short(rows.q[at]),
        "beyond": rows.beyond[at].tolist(),
        "groups": None if groups is None else groups.codes[at].tolist(),
        "labels": [] if groups is None else [cut(label) for label in groups.labels],
        "title": "" if groups is None else cut(groups.title),
        "rows": len(with_scores),
    }


def _thinned(rows: ReportedRows, at: NDArray[np.intp]) -> NDArray[np.intp]:
    if len(at) <= MOST_POINTS:
        return at
    order = rows.order[: len(at)]
    rest = np.random.default_rng(0).choice(
        order[_FARTHEST:], MOST_POINTS - _FARTHEST, replace=False
    )
    return np.sort(np.concatenate([order[:_FARTHEST], rest]))


def _short(values: FloatArray, digits: int = 5) -> list[float | None]:
    """Numbers of few digits; None where there is none."""
    return [
        float(f"{value:.{digits}g}") if np.isfinite(value) else None for value in values.tolist()
    ]
