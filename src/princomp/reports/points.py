"""Data of the interactive score plot, for the script of the page."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from princomp.core import Fitted
from princomp.linalg import FloatArray
from princomp.reports.rows import ReportedRows
from princomp.reports.text import cut

# More would be slow to draw, and make the page several megabytes large.
MOST_POINTS = 3000
# This many of the points are the most extreme rows; the others are random.
_MOST_EXTREME = 500


def score_points(fitted: Fitted, rows: ReportedRows) -> dict[str, Any]:
    """Return plain values for the script: components, rows, groups and the number of rows.

    With more than :data:`MOST_POINTS` rows, the most extreme rows and a random sample of the others
    are used.
    """
    with_scores = np.flatnonzero(np.isfinite(rows.scores).all(axis=1))
    at = _sample(rows, with_scores)
    groups = rows.groups
    return {
        "components": [f"PC{i + 1} ({rate:.1%})" for i, rate in enumerate(fitted.rates)][
            : rows.scores.shape[1]
        ],
        "names": [cut(name) if rows.named else f"row {name}" for name in rows.names[at]],
        "named": rows.named,
        "scores": [_short(line) for line in rows.scores[at]],
        "cos2": [_short(line, 3) for line in rows.cos2[at]],
        "t2": _short(rows.t2[at]),
        "q": _short(rows.q[at]),
        "beyond": rows.beyond[at].tolist(),
        "groups": None if groups is None else groups.codes[at].tolist(),
        "labels": [] if groups is None else [cut(label) for label in groups.labels],
        "title": "" if groups is None else cut(groups.title),
        "rows": len(with_scores),
    }


def _sample(rows: ReportedRows, at: NDArray[np.intp]) -> NDArray[np.intp]:
    if len(at) <= MOST_POINTS:
        return at
    order = rows.order[: len(at)]
    rest = np.random.default_rng(0).choice(
        order[_MOST_EXTREME:], MOST_POINTS - _MOST_EXTREME, replace=False
    )
    return np.sort(np.concatenate([order[:_MOST_EXTREME], rest]))


def _short(values: FloatArray, digits: int = 5) -> list[float | None]:
    """Return rounded numbers; None for NaN."""
    return [
        float(f"{value:.{digits}g}") if np.isfinite(value) else None for value in values.tolist()
    ]
