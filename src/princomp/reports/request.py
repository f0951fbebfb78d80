"""What a report is about: the model, the rows with their distances and limits, and the options."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from princomp import core, diagnostics, plots
from princomp.estimators import PCA
from princomp.linalg import FloatArray, cached_property
from princomp.reports.documents import component_names
from princomp.reports.text import Texts
from princomp.summaries import Block, SampleWeight, as_dense

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
    t2_limit, q_limit : ndarray of shape (n,)
        Limits of each row; NaN if there is none.
    filled : ndarray of shape (n,)
        Number of filled cells of each row.
    limits : Limits
        Those of complete rows.
    training : bool
        Whether these are the rows of the fit.
    training_given : bool
        Whether the caller passed ``training``.
    weights_missing : bool
        Whether the fit used weights and the rows have none, so that they cannot be compared.
    groups : Groups, optional
    """

    names: diagnostics.Names
    named: bool
    scores: FloatArray
    cos2: FloatArray
    contribution: FloatArray
    t2: FloatArray
    q: FloatArray
    t2_limit: FloatArray
    q_limit: FloatArray
    filled: NDArray[np.intp]
    limits: diagnostics.Limits
    training: bool
    training_given: bool
    weights_missing: bool
    groups: plots.Groups | None

    @property
    def labels(self) -> list[str]:
        """Names of the rows in sentences; numbers follow the word "row"."""
        return [str(name) if self.named else f"row {name}" for name in self.names]

    @property
    def exceeded(self) -> NDArray[np.object_]:
        """Limits that each row exceeds: "", "T²", "Q" or "T², Q"."""
        labels = np.array(["", "T²", "Q", "T², Q"], dtype=object)
        return labels[(self.t2 > self.t2_limit) + 2 * (self.q > self.q_limit)]

    @property
    def tested(self) -> NDArray[np.bool_]:
        """Mark the rows (n,) with scores and at least one limit."""
        without_limit = np.isnan(self.t2_limit) & np.isnan(self.q_limit)
        return ~np.isnan(self.t2) & ~without_limit

    @property
    def cutoffs(self) -> dict[str, float]:
        """The limits of complete rows for the statistics that have one: "T²", "Q"."""
        limits = zip(("T²", "Q"), self.limits.of(training=self.training), strict=True)
        return {name: limit for name, limit in limits if limit is not None}

    @property
    def order(self) -> NDArray[np.intp]:
        """Order of the rows: the most extreme first, those without scores last."""
        # The larger one of T² and Q to its limit; T² itself if no row has one.
        ratio = np.zeros(len(self.t2)) if self.tested.any() else self.t2.copy()
        for values, limit in ((self.t2, self.t2_limit), (self.q, self.q_limit)):
            ratio = np.fmax(ratio, np.divide(values, limit, out=ratio.copy(), where=limit > 0))
        ratio[np.isnan(self.t2)] = -1.0
        return np.argsort(-ratio, kind="stable")


@dataclass(frozen=True, eq=False)
class Request:
    """Model, rows and options of a report.

    ``why_no_bootstrap`` is the reason if there is none, and ``steps`` are the classes of the steps
    of a pipeline before the model.
    """

    model: PCA
    X: object = None
    rows: ReportedRows | None = None
    title: str | None = None
    data: str | None = None
    groups: object = None
    metadata: object = None
    ids: plots.Ids = None
    sample_weight: SampleWeight = None
    bootstrap: diagnostics.Bootstrap | None = None
    why_no_bootstrap: str = "no rows"
    level: float = 0.95
    steps: tuple[str, ...] = ()
    texts: Texts = field(default_factory=Texts)

    @property
    def fitted(self) -> core.Fitted:
        """The record of the fit."""
        return diagnostics.fitted_of(self.model)

    @property
    def row_total(self) -> str:
        """The number that the rows of the fit count as, by their weights; "" if it is n."""
        return core.row_total(float(self.fitted.summary.rows), self.fitted.n_samples)

    @cached_property
    def has_frequencies(self) -> bool:
        """Whether the weights given, if any, count rows: see `are_frequencies`."""
        n = None if self.rows is None else len(self.rows.scores)
        return core.are_frequencies(core.checked_weights(self.sample_weight, n))

    @property
    def training(self) -> bool:
        """Whether the rows are those of the fit."""
        return self.rows is not None and self.rows.training

    @property
    def row_weights(self) -> SampleWeight:
        """The weights given; 1 for each row where the caller says that the rows are not fitted."""
        rows = self.rows
        if self.sample_weight is None and rows is not None and rows.training_given:
            return None if rows.training else np.ones(len(rows.scores))
        return self.sample_weight

    @property
    def max_components(self) -> int:
        """The number of components that can have variance, or of those kept if it is larger."""
        fitted = self.fitted
        return int(max(min(fitted.counted, fitted.analysed.rank_limit), fitted.k))

    @cached_property
    def verdicts(self) -> tuple[core.Verdict, ...]:
        """Verdicts of the components: by the bootstrap if there is one."""
        angles = None if self.bootstrap is None else self.bootstrap.angle_quantiles((0.95,))[0]
        return core.verdicts(self.fitted, angles)


def reported_rows(
    model: PCA,
    X: object,
    groups: object = None,
    metadata: object = None,
    ids: plots.Ids = None,
    training: bool | None = None,
    level: float = 0.95,
    sample_weight: SampleWeight = None,
) -> ReportedRows:
    """Read the rows, and check groups and metadata.

    Raises
    ------
    ShapeError
        Where no row has scores.
    ParameterError, ColumnError, NotFiniteError, NotNumericError, NotAvailableError
    """
    fitted = diagnostics.fitted_of(model)
    names = component_names(min(fitted.k, _MAX_COMPONENTS))
    count_known = fitted.n_samples is not None
    without_weights = fitted.has_weights and sample_weight is None
    table = diagnostics.rows(
        model,
        X,
        sample_weight,
        supplementary=not count_known or without_weights,  # no contributions
        components=names,
        ids=ids,
        frame="listing",
    )

    def columns(measure: str) -> FloatArray:
        return np.stack([table[f"{measure}_{name}"] for name in names], axis=1)

    scores = columns("score")
    with_scores = plots.rows_with_scores(scores)
    with warnings_were_given():
        missing = _differently_filled(model, X, len(scores))
    training_given = training is not None
    weights_missing = without_weights and (training is None or bool(training))
    if training is None and not weights_missing:
        weights = core.checked_weights(sample_weight, len(scores))
        weights = np.ones(len(scores)) if weights is None else weights
        compared = (scores[with_scores], weights[with_scores], missing[with_scores])
        training = _match_fit(fitted, *compared)
    with_contributions = count_known and training and not weights_missing
    contribution = columns("contribution") if with_contributions else np.full(scores.shape, np.nan)
    if metadata is not None:
        diagnostics.extra_columns(metadata, len(scores), plots.pandas_index(X), what="metadata")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the page explains missing limits
        found_limits = diagnostics.limits(model, level)
    with warnings_were_given():
        found = diagnostics.distances(
            model, X, level=level, training=bool(training), ids=ids, frame="listing"
        )
    return ReportedRows(
        names=table["row"],
        named=plots.has_row_names(table["row"]),
        scores=scores,
        cos2=columns("cos2"),
        contribution=contribution,
        **{name: found[name] for name in ("t2", "q", "t2_limit", "q_limit")},
        filled=found.to_dict().get("filled", np.zeros(len(scores), dtype=np.intp)),
        limits=found_limits,
        training=bool(training),
        training_given=training_given,
        weights_missing=weights_missing,
        groups=plots.read_groups(groups, X, np.ones(len(scores), dtype=bool)),
    )


@contextmanager
def warnings_were_given() -> Iterator[None]:
    """Read the rows again without warnings that were given, or that the page states itself."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "(T²|Q) has no limit")
        warnings.filterwarnings("ignore", ".* of X ha(s|ve) .* without T² and Q")
        warnings.filterwarnings("ignore", "X (has|does not have valid) feature names")
        warnings.filterwarnings("ignore", "the weights are not all whole numbers")
        yield


def _differently_filled(model: PCA, X: object, n: int) -> NDArray[np.intp]:
    """Count the missing cells of each row (n,) that the fit filled in another way: by NIPALS."""
    filled = diagnostics.fitted_of(model).filled
    if filled is None or not filled.cells or filled.method != "nipals":
        return np.zeros(n, dtype=np.intp)

    def count(chunk: Block, _: int) -> tuple[NDArray[np.intp]]:
        return (np.isnan(as_dense(chunk)).sum(axis=1),)

    return diagnostics.RowReader.open(model, X, frame="listing").collect_chunks(count)[1]


def _match_fit(
    fitted: core.Fitted, scores: FloatArray, weights: FloatArray, missing: NDArray[np.intp]
) -> bool:
    """Whether rows have the same number, means and variances as those of the fit.

    ``missing`` (n,) counts the cells of each row that are not filled as in the fit. Only rows
    without such cells are compared; their sums may lack what the other rows can have contributed.
    """
    rows, variances = fitted.summary.rows, fitted.variances[: scores.shape[1]]
    resolved = variances > fitted.spectrum.resolution
    if len(scores) != fitted.n_samples or not resolved.any():
        return False
    incomplete = (missing > 0) & (weights > 0)
    # None is missing if X was filled before, or if its cells are filled as in the fit.
    same_cells = fitted.filled is None or missing[incomplete].sum() in (0, fitted.filled.cells)
    if abs(weights.sum() - rows) > 1e-6 * rows or not same_cells:
        return False
    # Over all rows of the fit, z has mean 0 and its squares sum to n − 1. By the Cauchy-Schwarz
    # inequality, what is missing of that sum bounds what the other rows add to the mean.
    z = scores[:, resolved] / np.sqrt(variances[resolved])
    compared = np.where(incomplete, 0.0, weights)
    lack = 1.0 - compared @ z**2 / (rows - 1.0)
    slack = weights[incomplete].sum() * np.maximum(lack, 0.0) * (rows - 1.0)
    means = np.abs(compared @ z) / rows - np.sqrt(slack) / rows if fitted.centred else np.zeros(1)
    # With incomplete rows, only a sum that is too large is a difference.
    lack = np.minimum(lack, 0.0) if incomplete.any() else lack
    return bool((means < _MATCH_RTOL).all() and (np.abs(lack) < _MATCH_RTOL).all())
