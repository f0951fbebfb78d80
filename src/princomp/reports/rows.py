"""The rows that a report shows: scores and what is said of them, read once."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from princomp.arrays import FloatArray
from princomp.diagnostics import Limits, distances, limits
from princomp.diagnostics import rows as row_table
from princomp.diagnostics.beside import columns_beside
from princomp.diagnostics.given import Names, picked
from princomp.errors import ParameterError, ShapeError
from princomp.fitted import Fitted
from princomp.plots.drawn_rows import DrawnRows, Groups, grouped_by
from princomp.sources.source import Source

__all__ = ["ReportedRows", "check_again", "reported_rows"]

# Components whose scores a page holds.
_MOST_COMPONENTS = 8
# Rows are those of the fit where their sums are the fit's to this share: float32 rows have
# fewer digits, and rows that differ anywhere differ by far more.
_ALIKE = 1e-4


@dataclass(frozen=True, eq=False)
class ReportedRows:
    """Rows (n,) on the first c components.

    Attributes
    ----------
    names : ndarray of shape (n,)
    named : bool
        Whether the names are more than numbers from 0.
    t, cos2, contribution : ndarray of shape (n, c)
        The last in percent; NaN for rows that took no part in the fit.
    t2, q : ndarray of shape (n,)
    limits : Limits
    training : bool
        Whether they are the rows of the fit.
    told : bool
        Whether somebody said so.
    groups : Groups, optional
    """

    names: Names
    named: bool
    t: FloatArray
    cos2: FloatArray
    contribution: FloatArray
    t2: FloatArray
    q: FloatArray
    limits: Limits
    training: bool
    told: bool
    groups: Groups | None

    @property
    def ratio(self) -> FloatArray:
        """How far out each row is (n,): the larger of T² and Q over their limits."""
        found = np.zeros(len(self.t2))
        for values, limit in ((self.t2, self.limits.t2(self.training)), (self.q, self.limits.q)):
            if limit is not None and limit > 0:
                found = np.fmax(found, values / limit)
        return np.where(np.isnan(self.t2), np.nan, found)

    @property
    def beyond(self) -> NDArray[np.object_]:
        """Which limits each row exceeds: "", "T²", "Q" or "T², Q"."""
        t2, q = self.limits.t2(self.training), self.limits.q
        far = self.t2 > (np.inf if t2 is None else t2)
        off = self.q > (np.inf if q is None else q)
        words = np.where(far & off, "T², Q", np.where(far, "T²", np.where(off, "Q", "")))
        return words.astype(object)

    @property
    def order(self) -> NDArray[np.intp]:
        """The rows, the farthest out first; those without scores last."""
        far = np.where(np.isnan(self.ratio), -1.0, self.ratio)
        found: NDArray[np.intp] = np.argsort(-far, kind="stable")
        return found


def check_again(X: Any) -> None:
    """Refuse rows that can be read once only: a report reads them several times.

    Raises
    ------
    ParameterError
    """
    if isinstance(X, Iterator) or (isinstance(X, Source) and not X.repeatable):
        raise ParameterError(
            "a report reads the rows several times, and these come once",
            place={"parameter": "X"},
            hint="give an array, a frame, a file, or a function that makes a new iterator",
        )


def reported_rows(
    model: Any,
    X: Any,
    *,
    groups: Any = None,
    metadata: Any = None,
    ids: Any = None,
    training: bool | None = None,
    level: float = 0.95,
) -> ReportedRows:
    """Read the rows, and see that what stands beside them is of as many.

    Raises
    ------
    ShapeError
        Where no row has scores.
    ParameterError, ColumnError, NotFiniteError, NotNumericError, NotAvailableError
    """
    fitted: Fitted = model._state
    chosen = picked(fitted, list(range(1, min(fitted.k, _MOST_COMPONENTS) + 1)))
    count_known = fitted.n_samples is not None
    found = row_table(
        model,
        X,
        supplementary=not count_known,
        components=chosen.names,
        ids=ids,
        frame="listing",
    )

    def columns(measure: str) -> FloatArray:
        return np.stack([found[f"{measure}_{name}"] for name in chosen.names], axis=1)

    t = columns("score")
    kept = np.isfinite(t).all(axis=1)
    if not kept.any():
        raise ShapeError(
            f"none of the {len(t):,} rows has scores: there is nothing to show",
            place={"parameter": "X"},
            hint="give rows without missing values, or fit with missing='em'",
        )
    contribution = columns("contribution") if count_known else np.full(t.shape, np.nan)
    told = training is not None
    if training is None:
        training = count_known and _of_the_fit(fitted, t[kept], contribution[kept])
    if not training:
        contribution = np.full(t.shape, np.nan)
    names = np.asarray(found["row"])
    named = names.dtype.kind not in "iu" or not np.array_equal(names, np.arange(len(names)))
    index = getattr(X, "index", None) if hasattr(X, "columns") else None
    all_rows = DrawnRows(t, names, named, 0, np.ones(len(t), dtype=bool), index)
    if metadata is not None:
        columns_beside(metadata, len(t), index, what="metadata")
    far = distances(model, X, ids=ids, frame="listing")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # limits that cannot be had are told in words
        found_limits = limits(model, level)
    return ReportedRows(
        *(names, named, t, columns("cos2"), contribution, far["t2"], far["q"]),
        *(found_limits, bool(training), told, grouped_by(groups, all_rows)),
    )


def _of_the_fit(fitted: Fitted, t: FloatArray, contribution: FloatArray) -> bool:
    """Whether rows are as many as those of the fit, with their means and variances.

    Scores of the fit's rows are zero in the mean, and their contributions sum to 100%.
    """
    sound = fitted.variances[: t.shape[1]] > fitted.spectrum.resolution
    if len(t) != fitted.n_samples or len(t) != fitted.summary.rows or not sound.any():
        return False
    spread = np.sqrt(fitted.variances[: t.shape[1]][sound])
    means = np.abs(t.mean(axis=0)[sound]) / spread if fitted.centred else np.zeros(1)
    sums = contribution[:, sound].sum(axis=0)
    return bool((means < _ALIKE).all() and (np.abs(sums - 100.0) < 100.0 * _ALIKE).all())
