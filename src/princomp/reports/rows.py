"""The rows of a report: scores, distances, limits and groups."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from princomp.core import Fitted
from princomp.diagnostics import (
    Limits,
    Names,
    distances,
    extra_columns,
    fitted_of,
    limits,
    rows as row_table,
    select_components,
)
from princomp.errors import ParameterError
from princomp.estimators import PCA
from princomp.io import Source
from princomp.linalg import FloatArray
from princomp.plots import Groups, Ids, have_names, index_of, read_groups, rows_with_scores

# Components with scores in the page.
_MOST_COMPONENTS = 8
# Rows are those of the fit if their sums agree to this share: float32 rows are less precise,
# and other rows differ by far more.
_ALIKE = 1e-4


@dataclass(frozen=True, eq=False)
class ReportedRows:
    """Rows (n,) on the first c components.

    Attributes
    ----------
    names : ndarray of shape (n,)
    named : bool
        Whether the names are more than numbers from 0.
    scores, cos2, contribution : ndarray of shape (n, c)
        Contributions are in percent; NaN for rows that did not take part in the fit.
    t2, q : ndarray of shape (n,)
    limits : Limits
    training : bool
        Whether these are the rows of the fit.
    stated : bool
        Whether the caller passed ``training``.
    groups : Groups, optional
    """

    names: Names
    named: bool
    scores: FloatArray
    cos2: FloatArray
    contribution: FloatArray
    t2: FloatArray
    q: FloatArray
    limits: Limits
    training: bool
    stated: bool
    groups: Groups | None

    @property
    def ratio(self) -> FloatArray:
        """Larger ratio (n,) of T² or Q to its limit."""
        found = np.zeros(len(self.t2))
        for values, limit in ((self.t2, self.limits.t2(self.training)), (self.q, self.limits.q)):
            if limit is not None and limit > 0:
                found = np.fmax(found, values / limit)
        return np.where(np.isnan(self.t2), np.nan, found)

    @property
    def beyond(self) -> NDArray[np.object_]:
        """Limits that each row exceeds: "", "T²", "Q" or "T², Q"."""
        t2, q = self.limits.t2(self.training), self.limits.q
        far = self.t2 > (np.inf if t2 is None else t2)
        off = self.q > (np.inf if q is None else q)
        labels = np.where(far & off, "T², Q", np.where(far, "T²", np.where(off, "Q", "")))
        return labels.astype(object)

    @property
    def order(self) -> NDArray[np.intp]:
        """Order of the rows: the most extreme first, those without scores last."""
        far = np.where(np.isnan(self.ratio), -1.0, self.ratio)
        found: NDArray[np.intp] = np.argsort(-far, kind="stable")
        return found


def check_repeatable(X: object) -> None:
    """Raise for rows that can be read only once: a report reads them several times.

    Raises
    ------
    ParameterError
    """
    if isinstance(X, Iterator) or (isinstance(X, Source) and not X.repeatable):
        raise ParameterError(
            "a report reads the rows several times, but these can be read only once",
            place={"parameter": "X"},
            hint="give an array, a frame, a file, or a function that returns a new iterator",
        )


def reported_rows(
    model: PCA,
    X: object,
    *,
    groups: object = None,
    metadata: object = None,
    ids: Ids = None,
    training: bool | None = None,
    level: float = 0.95,
) -> ReportedRows:
    """Read the rows, and check groups and metadata.

    Raises
    ------
    ShapeError
        Where no row has scores.
    ParameterError, ColumnError, NotFiniteError, NotNumericError, NotAvailableError
    """
    fitted = fitted_of(model)
    selected = select_components(fitted.k, None, _MOST_COMPONENTS)
    count_known = fitted.n_samples is not None
    table = row_table(
        model,
        X,
        supplementary=not count_known,
        components=selected.names,
        ids=ids,
        frame="listing",
    )

    def columns(measure: str) -> FloatArray:
        return np.stack([table[f"{measure}_{name}"] for name in selected.names], axis=1)

    scores = columns("score")
    kept = rows_with_scores(scores)
    contribution = columns("contribution") if count_known else np.full(scores.shape, np.nan)
    stated = training is not None
    if training is None:
        training = count_known and _are_of_fit(fitted, scores[kept], contribution[kept])
    if not training:
        contribution = np.full(scores.shape, np.nan)
    if metadata is not None:
        extra_columns(metadata, len(scores), index_of(X), what="metadata")
    far = distances(model, X, ids=ids, frame="listing")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the page explains missing limits
        found_limits = limits(model, level)
    return ReportedRows(
        *(table["row"], have_names(table["row"]), scores, columns("cos2"), contribution),
        *(far["t2"], far["q"], found_limits, bool(training), stated),
        read_groups(groups, X, np.ones(len(scores), dtype=bool)),
    )


def _are_of_fit(fitted: Fitted, t: FloatArray, contribution: FloatArray) -> bool:
    """Whether rows have the same number, means and variances as those of the fit.

    For the rows of the fit, scores have mean zero and contributions sum to 100%.
    """
    sound = fitted.variances[: t.shape[1]] > fitted.spectrum.resolution
    if len(t) != fitted.n_samples or len(t) != fitted.summary.rows or not sound.any():
        return False
    spread = np.sqrt(fitted.variances[: t.shape[1]][sound])
    means = np.abs(t.mean(axis=0)[sound]) / spread if fitted.centred else np.zeros(1)
    sums = contribution[:, sound].sum(axis=0)
    return bool((means < _ALIKE).all() and (np.abs(sums - 100.0) < 100.0 * _ALIKE).all())
