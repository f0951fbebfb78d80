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
)
from princomp.errors import ParameterError
from princomp.estimators import PCA
from princomp.io import Source
from princomp.linalg import FloatArray
from princomp.plots import Groups, Ids, has_row_names, pandas_index, read_groups, rows_with_scores
from princomp.reports.documents import component_names

# Components with scores in the page.
_MAX_COMPONENTS = 8
# Rows are those of the fit if their sums agree to this share: float32 rows are less precise,
# and other rows differ by far more.
_MATCH_RTOL = 1e-4


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
    training_given : bool
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
    training_given: bool
    groups: Groups | None

    @property
    def exceeded(self) -> NDArray[np.object_]:
        """Limits that each row exceeds: "", "T²", "Q" or "T², Q"."""
        t2_limit, q_limit = self.limits.t2(self.training), self.limits.q
        t2_exceeded = self.t2 > (np.inf if t2_limit is None else t2_limit)
        q_exceeded = self.q > (np.inf if q_limit is None else q_limit)
        labels = np.array(["", "T²", "Q", "T², Q"], dtype=object)
        return labels[t2_exceeded + 2 * q_exceeded]

    @property
    def order(self) -> NDArray[np.intp]:
        """Order of the rows: the most extreme first, those without scores last."""
        ratio = np.zeros(len(self.t2))  # the larger one of T² and Q to its limit
        for values, limit in ((self.t2, self.limits.t2(self.training)), (self.q, self.limits.q)):
            if limit is not None and limit > 0:
                ratio = np.fmax(ratio, values / limit)
        ratio[np.isnan(self.t2)] = -1.0
        return np.argsort(-ratio, kind="stable")


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
    names = component_names(min(fitted.k, _MAX_COMPONENTS))
    count_known = fitted.n_samples is not None
    table = row_table(
        model, X, supplementary=not count_known, components=names, ids=ids, frame="listing"
    )

    def columns(measure: str) -> FloatArray:
        return np.stack([table[f"{measure}_{name}"] for name in names], axis=1)

    scores = columns("score")
    with_scores = rows_with_scores(scores)
    contribution = columns("contribution") if count_known else np.full(scores.shape, np.nan)
    training_given = training is not None
    if training is None:
        training = _match_fit(fitted, scores[with_scores], contribution[with_scores])
    if not training:
        contribution = np.full(scores.shape, np.nan)
    if metadata is not None:
        extra_columns(metadata, len(scores), pandas_index(X), what="metadata")
    row_distances = distances(model, X, ids=ids, frame="listing")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the page explains missing limits
        found_limits = limits(model, level)
    return ReportedRows(
        *(table["row"], has_row_names(table["row"]), scores, columns("cos2"), contribution),
        *(row_distances["t2"], row_distances["q"], found_limits, bool(training), training_given),
        read_groups(groups, X, np.ones(len(scores), dtype=bool)),
    )


def _match_fit(fitted: Fitted, scores: FloatArray, contribution: FloatArray) -> bool:
    """Whether rows have the same number, means and variances as those of the fit.

    For the rows of the fit, scores have mean zero and contributions sum to 100%.
    """
    resolved = fitted.variances[: scores.shape[1]] > fitted.spectrum.resolution
    if len(scores) != fitted.n_samples or len(scores) != fitted.summary.rows or not resolved.any():
        return False
    deviations = np.sqrt(fitted.variances[: scores.shape[1]][resolved])
    means = np.abs(scores.mean(axis=0)[resolved]) / deviations if fitted.centred else np.zeros(1)
    sums = contribution[:, resolved].sum(axis=0)
    return bool((means < _MATCH_RTOL).all() and (np.abs(sums - 100.0) < 100.0 * _MATCH_RTOL).all())
