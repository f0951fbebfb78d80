"""Parallel analysis: compare variances with those of data without structure (Horn 1965)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from princomp.errors import invalid_value
from princomp.linalg import FloatArray
from princomp.rules.decision import Decision, Known, check_share, check_whole, threshold_decision

_NULLS = ("normal", "permuted")


@dataclass(frozen=True)
class Parallel:
    """Keep leading variances above a quantile of the variances of tables without structure.

    The quantile instead of the mean is from Glorfeld (1995).

    Parameters
    ----------
    draws : int, default=100
        Number of tables without structure.
    quantile : float, default=0.95
    null : {"normal", "permuted"}, default="normal"
        Independent normal columns with the variances of the table, which needs no rows; or the
        table with each column permuted, which keeps the distribution of each column.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from princomp import PCA, rules
    >>> print(PCA(rules.Parallel(draws=50), scale="unit").fit(load_wine().data).decision_)
    parallel: 3 leading variances exceed the 95% quantile of 50 normal tables of the same shape
    """

    draws: int = 100
    quantile: float = 0.95
    null: str = "normal"
    name = "parallel"

    def __post_init__(self) -> None:
        check_whole("draws", self.draws, 1)
        check_share("quantile", self.quantile, 0.95)
        if self.null not in _NULLS:
            hint = "'permuted' keeps the distribution of each column"
            raise invalid_value("null", self.null, " or ".join(map(repr, _NULLS)), hint)

    @property
    def needs(self) -> str:
        """``"rows"`` if columns are permuted, else ``"leading"``."""
        return "rows" if self.null == "permuted" else "leading"

    def decide(self, known: Known) -> Decision | None:
        """Count the leading variances above the quantiles."""
        if known.whole_freedom < 1:
            return Decision.none(self.name, "there are too few rows")
        rows = known.table() if self.null == "permuted" and known.table else None
        # Each call draws the same numbers, since solvers call this again with more variances.
        quantiles = np.quantile(self._null_variances(known, rows), self.quantile, axis=0)
        same = known.rows is None or known.count in (None, known.rows)
        size = "the same shape" if same else f"{known.rows:,.0f} rows"  # the sum of weights
        description = (
            f"the {100 * self.quantile:.4g}% quantile of {self.draws} {self.null} tables of {size}"
        )
        values = known.possible
        if rows is not None and known.sampled:  # variances of few rows are spread more widely
            values = (squared_singular_values(rows) / (len(rows) - 1.0))[: len(values)]
        return threshold_decision(self.name, known, values, quantiles, description)

    def _null_variances(self, known: Known, rows: FloatArray | None = None) -> FloatArray:
        """Variances (draws, most) of tables without structure: ``rows`` permuted, if given."""
        rng = known.generator()
        all_variances = []
        for draw in range(self.draws):
            if rows is not None:
                variances = squared_singular_values(rng.permuted(rows, axis=0)) / (len(rows) - 1.0)
            else:
                variances = _normal_variances(known, rng)
            all_variances.append(variances[: known.most])
            known.tell(self.name, draw + 1, self.draws)
        return np.array(all_variances)


def squared_singular_values(rows: FloatArray) -> FloatArray:
    """Squared singular values, descending, from the Gram matrix of the shorter side."""
    n, p = rows.shape
    values: FloatArray = np.linalg.eigvalsh(rows.T @ rows if p <= n else rows @ rows.T)[::-1]
    return np.maximum(values, 0.0)


def _normal_variances(known: Known, rng: np.random.Generator) -> FloatArray:
    """Variances of independent normal columns.

    For N ≥ p rows the triangular factor of the scatter is drawn (Bartlett 1933), at a cost that
    does not depend on N.
    """
    degrees_of_freedom, p = known.whole_freedom, known.columns
    # The divisor of variances differs from the degrees of freedom without centring, and where
    # weights sum to a fraction.
    deviations = np.sqrt(known.column_variances) * np.sqrt(known.divisor / degrees_of_freedom)
    if degrees_of_freedom < p:
        drawn = columns = rng.standard_normal((degrees_of_freedom, p))
    else:
        drawn = np.tril(rng.standard_normal((p, p)), -1)
        drawn.flat[:: p + 1] = np.sqrt(rng.chisquare(float(degrees_of_freedom) - np.arange(p)))
        columns = drawn.T  # a view, with a column for each column of the table
    if known.standardised:
        columns *= np.sqrt(known.divisor) / np.linalg.norm(columns, axis=0)
        columns *= np.sqrt(known.column_variances)
    else:
        columns *= deviations
    return squared_singular_values(drawn) / known.divisor
