"""Parallel analysis: variances against those of data without structure (Horn 1965)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from princomp.arrays import FloatArray
from princomp.choosing.decision import Decision, Known
from princomp.choosing.rule import in_words, leading_run, plain
from princomp.errors import ParameterError

__all__ = ["Parallel", "check_draws"]

_NULLS = ("normal", "permuted")


@dataclass(frozen=True)
class Parallel:
    """The leading variances above a quantile of the same ones without structure.

    Quantile instead of mean: Glorfeld (1995).

    Parameters
    ----------
    draws : int, default=100
        Tables without structure.
    quantile : float, default=0.95
    null : {"normal", "permuted"}, default="normal"
        Independent normal columns with the variances of the table's, for which no row is
        needed; or the table with each column permuted, which keeps the shape of its values.
    """

    draws: int = 100
    quantile: float = 0.95
    null: str = "normal"
    name: ClassVar[str] = "parallel"

    def __post_init__(self) -> None:
        check_draws(self.draws)
        if not 0 < self.quantile < 1:
            raise ParameterError(
                f"quantile={self.quantile!r} is not lawful",
                place={"parameter": "quantile"},
                hint="give a number in (0, 1), such as 0.95",
            )
        if self.null not in _NULLS:
            raise ParameterError(
                f"null={self.null!r} is not known",
                place={"parameter": "null"},
                hint=f"choose one of {', '.join(_NULLS)}",
            )

    @property
    def needs(self) -> str:
        """Rows only where they are permuted."""
        return "rows" if self.null == "permuted" else "leading"

    def decide(self, known: Known) -> Decision | None:
        """Draw, and count the leading ones above the quantile."""
        if known.most < 1:
            return Decision.none(self.name, "there are too few rows")
        values = known.possible
        # The same numbers at each call: a solver that grows asks again.
        drawn = self._drawn(known)
        limits = np.quantile(drawn, self.quantile, axis=0)
        k = leading_run(values[: len(limits)], limits, known)
        if k is None:
            return None
        reason = (
            f"{in_words(k, 'leading variance', 'exceed')} the {self.quantile:.0%} quantile of "
            f"{self.draws} {self.null} tables of the same shape"
        )
        return Decision(self.name, k, reason, "variance", plain(values), plain(limits))

    def _drawn(self, known: Known) -> FloatArray:
        """Variances (draws, most) of tables without structure."""
        rng = known.generator()
        rows = None
        if self.null == "permuted":
            assert known.table is not None
            rows = known.table()
        out = []
        for draw in range(self.draws):
            if rows is not None:
                values = squares_of(rng.permuted(rows, axis=0)) / (len(rows) - 1.0)
            else:
                values = _normal(known, rng)
            out.append(values[: known.most])
            known.tell(self.name, draw + 1, self.draws)
        return np.array(out)


def squares_of(rows: FloatArray) -> FloatArray:
    """Squared singular values, descending, by products of the shorter side."""
    n, p = rows.shape
    values: FloatArray = np.linalg.eigvalsh(rows.T @ rows if p <= n else rows @ rows.T)[::-1]
    return np.maximum(values, 0.0)


def _normal(known: Known, rng: np.random.Generator) -> FloatArray:
    """Variances of independent normal columns.

    The scatter of N ≥ p rows is drawn through its triangular factor (Bartlett 1933), at a cost
    that does not depend on N.
    """
    free, p = int(known.freedom + 1e-9), known.columns
    deviations = np.sqrt(known.column_variances)
    if free < p:
        rows = rng.standard_normal((free, p))
        if known.standardised:
            rows *= np.sqrt(known.divisor) / np.linalg.norm(rows, axis=0)
            rows *= known.column_variances > 0
        else:
            rows *= deviations
        return squares_of(rows) / known.divisor
    factor = np.tril(rng.standard_normal((p, p)), -1)
    factor.flat[:: p + 1] = np.sqrt(rng.chisquare(free - np.arange(p)))
    if known.standardised:
        factor *= (np.sqrt(known.divisor) / np.linalg.norm(factor, axis=1))[:, None]
        factor *= (known.column_variances > 0)[:, None]
    else:
        factor *= deviations[:, None]
    return squares_of(factor) / known.divisor


def check_draws(draws: int, least: int = 1) -> None:
    """Refuse what is no number of draws.

    Raises
    ------
    ParameterError
    """
    if isinstance(draws, bool) or not isinstance(draws, int | np.integer) or draws < least:
        raise ParameterError(
            f"draws={draws!r} is not lawful",
            place={"parameter": "draws"},
            hint=f"give a whole number of at least {least}",
        )
