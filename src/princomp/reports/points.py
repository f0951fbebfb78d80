"""Data of the interactive score plot, for the script of the page."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from princomp.core import Fitted
from princomp.linalg import FloatArray
from princomp.reports.rows import ReportedRows
from princomp.reports.text import shorten

# More would be slow to draw, and make the page several megabytes large.
MAX_POINTS = 3000
# This many of the points are the most extreme rows; the others are random.
_N_EXTREME = 500


def score_points(fitted: Fitted, rows: ReportedRows) -> dict[str, Any]:
    """Return plain values for the script: components, rows, groups and the number of rows.

    With more than :data:`MAX_POINTS` rows, the most extreme rows and a random sample of the others
    are used.
    """
    with_scores = np.flatnonzero(np.isfinite(rows.scores).all(axis=1))
    shown = _sample(rows, with_scores)
    groups, rates = rows.groups, fitted.rates[: rows.scores.shape[1]]
    return {
        "components": [f"PC{i + 1} ({rate:.1%})" for i, rate in enumerate(rates)],
        "names": [shorten(name) if rows.named else f"row {name}" for name in rows.names[shown]],
        "named": rows.named,
        "scores": [_rounded(line) for line in rows.scores[shown]],
        "cos2": [_rounded(line, 3) for line in rows.cos2[shown]],
        "t2": _rounded(rows.t2[shown]),
        "q": _rounded(rows.q[shown]),
        "beyond": rows.exceeded[shown].tolist(),
        "groups": None if groups is None else groups.codes[shown].tolist(),
        "labels": [] if groups is None else [shorten(label) for label in groups.labels],
        "title": "" if groups is None else shorten(groups.title),
        "rows": len(with_scores),
    }


def _sample(rows: ReportedRows, candidates: NDArray[np.intp]) -> NDArray[np.intp]:
    if len(candidates) <= MAX_POINTS:
        return candidates
    order = rows.order[: len(candidates)]
    others = np.random.default_rng(0).choice(
        order[_N_EXTREME:], MAX_POINTS - _N_EXTREME, replace=False
    )
    return np.sort(np.concatenate([order[:_N_EXTREME], others]))


def _rounded(values: FloatArray, digits: int = 5) -> list[float | None]:
    """Return rounded numbers; None for NaN."""
    return [
        float(f"{value:.{digits}g}") if np.isfinite(value) else None for value in values.tolist()
    ]
