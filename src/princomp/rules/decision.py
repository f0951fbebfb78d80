"""The input of a rule (``Known``) and its result (``Decision``)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from princomp.linalg import FloatArray, cached_property


@dataclass(frozen=True, eq=False)
class Known:
    """What is known about a table when the number of components is chosen.

    Attributes
    ----------
    variances : ndarray of shape (q,)
        Eigenvalues of the covariance of the analysed (centred, scaled) rows, descending, with
        divisor n − 1. All of them, or only the largest where ``complete`` is false.
    total : float
        Total variance, in the same squared units.
    columns : int
    rows : float or None
        Number of rows (sum of their weights); None if it is not known.
    column_variances : ndarray of shape (p,)
        Variances of the analysed columns.
    centred, standardised : bool
        Whether column means were subtracted, and columns divided by their deviation.
    resolution : float
        Variance below which a number is a rounding error.
    complete : bool
    table : callable, optional
        Returns the analysed rows as a new float64 array (n, p).
    no_table : str
        Why the rows are not available.
    seed : int
        Seed of rules that use random numbers.
    tell : callable
        ``tell(name, done, total)`` reports the progress of a rule.
    sampled : str
        Description of the sample if ``table`` does not return all rows.
    count : int, optional
        Number of rows without their weights; by default ``rows``.
    """

    variances: FloatArray
    total: float
    columns: int
    rows: float | None
    column_variances: FloatArray
    centred: bool = True
    standardised: bool = False
    resolution: float = 0.0
    complete: bool = True
    table: Callable[[], FloatArray] | None = None
    no_table: str = "the rows are not in memory"
    seed: int = 0
    tell: Callable[[str, int, int], object] = lambda name, done, total: None
    sampled: str = ""
    count: int | None = None

    @property
    def divisor(self) -> float:
        """Divisor of the sums of squares: n − 1."""
        assert self.rows is not None
        return self.rows - 1.0

    @property
    def freedom(self) -> float:
        """Degrees of freedom of the rows: n − 1, or n without centring."""
        assert self.rows is not None
        return self.rows - self.centred

    @property
    def most(self) -> int:
        """Number of variances that can be positive: min(p, n − 1); min(p, n) if not centred.

        n is the number of rows or the sum of their weights, whichever is larger: light rows, as
        those that a stream with ``decay`` has faded, vary in as many directions as others.
        """
        if self.rows is None:
            return self.columns
        by_count = 0 if self.count is None else self.count - self.centred
        return min(self.columns, max(self.whole_freedom, by_count))

    @property
    def whole_freedom(self) -> int:
        """The degrees of freedom of the rows, rounded down."""
        return int(self.freedom + 1e-9)

    @cached_property
    def possible(self) -> FloatArray:
        """The variances that can be positive (most,), or as many of them as are known."""
        values = self.variances[: self.most]
        if self.complete and len(values) < self.most:
            values = np.concatenate([values, np.zeros(self.most - len(values))])
        return values

    def generator(self) -> np.random.Generator:
        """Return a new generator from the seed: each call gives the same random numbers."""
        return np.random.default_rng(self.seed)


@dataclass(frozen=True)
class Decision:
    """The number of components that a rule chose, and why.

    Attributes
    ----------
    rule : str
        Name of the rule.
    k : int or None
        Components to keep; None if the rule does not apply.
    reason : str
        Explanation in words.
    measure : str
        Name of the statistic.
    statistic : tuple of float
        Values by number of components, from ``first`` on.
    threshold : float, tuple of float or None
        Threshold of the statistic; None if its largest or smallest value decides.
    first : int
        1, or 0 if the statistic includes zero components.
    details : dict
        Further numbers by name.

    Examples
    --------
    >>> import numpy as np
    >>> from princomp import PCA
    >>> X = np.array([[1.0, 2, 0], [2, 1, 1], [3, 4, 0], [4, 3, 1], [6, 5, 0]])
    >>> decision = PCA("kaiser").fit(X).decision_
    >>> decision.rule, decision.k
    ('kaiser', 1)
    """

    rule: str
    k: int | None
    reason: str
    measure: str = ""
    statistic: tuple[float, ...] = ()
    threshold: float | tuple[float, ...] | None = None
    first: int = 1
    details: dict[str, float] = field(default_factory=dict)

    @classmethod
    def none(cls, rule: str, reason: str) -> Decision:
        """Return the decision of a rule that does not apply."""
        return cls(rule, None, f"does not apply: {reason}")

    def at(self, k: int) -> float | None:
        """Return the statistic of ``k`` components, or of the k-th; None if there is none."""
        return _item_or_none(self.statistic, k - self.first)

    def threshold_at(self, k: int) -> float | None:
        """Return the threshold of that statistic."""
        if isinstance(self.threshold, tuple):
            return _item_or_none(self.threshold, k - self.first)
        return self.threshold

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; numbers that are not finite become None."""
        return {
            **vars(self),
            "statistic": [_finite_or_none(value) for value in self.statistic],
            "threshold": _finite_or_none(self.threshold),
            "details": {name: _finite_or_none(value) for name, value in self.details.items()},
        }

    @classmethod
    def of_dict(cls, plain: dict[str, Any]) -> Decision:
        """Restore a decision from the values of :meth:`to_dict`.

        Raises
        ------
        KeyError, TypeError, ValueError
            When the values are not those of a decision.
        """
        values = {field.name: plain[field.name] for field in fields(cls)}
        k, threshold = values["k"], values["threshold"]
        if not (k is None or (type(k) is int and k >= 0)) or type(values["first"]) is not int:
            raise ValueError("invalid number of components")
        if not all(isinstance(values[name], str) for name in ("rule", "reason", "measure")):
            raise ValueError("a text is missing")
        if isinstance(threshold, list):
            values["threshold"] = tuple(map(_float_or_nan, threshold))
        elif threshold is not None:
            values["threshold"] = float(threshold)
        values["statistic"] = tuple(map(_float_or_nan, values["statistic"]))
        values["details"] = {str(name): _float_or_nan(x) for name, x in values["details"].items()}
        return cls(**values)

    def __str__(self) -> str:
        return f"{self.rule}: {self.reason}"


def _item_or_none(values: tuple[float, ...], index: int) -> float | None:
    return values[index] if 0 <= index < len(values) else None


def _finite_or_none(value: float | tuple[float, ...] | None) -> Any:
    if isinstance(value, tuple):
        return [_finite_or_none(one) for one in value]
    return None if value is None or not np.isfinite(value) else float(value)


def _float_or_nan(value: float | None) -> float:
    return float("nan") if value is None else float(value)
