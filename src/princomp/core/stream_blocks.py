"""Blocks of rows of a stream: checked before they are kept, then added to a summary."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from princomp.core.stream_kind import main_summary
from princomp.engines import drop_incomplete, fold
from princomp.errors import NotFiniteError
from princomp.linalg import one_blas_thread
from princomp.summaries import Weights, first_not_finite, is_sparse

# A block is shifted before its mean is known, so its sums may be 2**20 times its scatter.
_MAX_SCATTER = float(np.finfo(np.float64).max) / 2**20
# The squares of any number of values below this size can be summed in float64.
_SAFE_VALUE = 1e140


def check_squares(
    rows: Any, weights: Weights, kind: Any, drop: bool, current_summary: Callable[[], Any]
) -> None:
    """Refuse rows that are not finite, or whose squares would overflow in the summary.

    Parameters
    ----------
    rows : ndarray or CSR array of shape (n, p)
    weights : ndarray of shape (n,), optional
    kind : kind of summary
    drop : bool
        Whether rows with missing values are dropped.
    current_summary : callable
        The summary of the rows so far.

    Raises
    ------
    NotFiniteError
    """
    if _squares_fit(rows):
        return
    # As in a fit, rows of weight zero and rows that are dropped may have any values.
    if weights is not None:
        rows, weights = rows[weights > 0], weights[weights > 0]
    if drop:
        rows, weights, _ = drop_incomplete(rows, weights)
    if not np.isfinite(rows.data if is_sparse(rows) else rows).all():
        raise first_not_finite(rows)
    if _squares_fit(rows):
        return
    with np.errstate(all="ignore"):
        part = kind.of(rows, weights, precise=True)
        scatter = main_summary(current_summary().merge(part)).column_scatter
    if not (scatter < _MAX_SCATTER).all():
        column = int(np.argmin(scatter < _MAX_SCATTER))
        raise NotFiniteError(
            f"the squares of column {column} overflow float64",
            place={"column": column},
            hint="divide the column by a power of ten",
        )


def _squares_fit(rows: Any) -> bool:
    """Whether the rows are finite and small enough to be squared, found in one pass."""
    values = rows.data if is_sparse(rows) else rows
    if not values.size:
        return True
    # NaN passes through both and fails the comparison.
    return bool(float(max(values.max(), -values.min())) < _SAFE_VALUE)


def add_blocks(
    kind: Any, summary: Any, rows: Any, weights: Weights, *, decay: float, drop: bool
) -> tuple[Any, int]:
    """Add rows to a summary block by block; return it and how many rows were left out."""
    if not rows.shape[0]:
        return summary, 0
    if decay == 1.0:
        folded = fold(kind, rows, weights, drop=drop, precise=True, initial=summary)
        return folded.summary, folded.dropped
    p = main_summary(summary).p
    dropped, step = 0, int(kind.block_rows(p))
    for start in range(0, rows.shape[0], step):
        block = rows[start : start + step]
        ages = np.arange(block.shape[0] - 1, -1, -1, dtype=np.float64)
        block_weights = decay**ages
        if weights is not None:
            block_weights *= weights[start : start + step]
        if drop:
            block, kept, n_missing = drop_incomplete(block, block_weights)
            block_weights = block_weights if kept is None else kept
            dropped += n_missing
        with one_blas_thread():
            part = kind.of(block, block_weights, precise=True)
        summary = summary.faded(decay ** len(ages)).merge(part)
    return summary, dropped
