"""What a rule may look at, and what it answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from princomp.arrays import FloatArray

__all__ = ["Decision", "Known"]


@dataclass(frozen=True, eq=False)
class Known:
    """What is known of a table when its components are counted.

    Attributes
    ----------
    variances : ndarray of shape (q,)
        Eigenvalues of the covariance of the analysed (centred, scaled) rows, descending, with
        divisor n − 1. All there are, or the first where ``complete`` is false.
    total : float
        Total variance, in the same squared units.
    columns : int
    rows : float or None
        Number of rows (sum of their weights); None where nobody knows.
    column_variances : ndarray of shape (p,)
        Of the analysed columns.
    centred, standardised : bool
        Whether column means were subtracted, and columns divided by their deviation.
    resolution : float
        Variance under which a number is rounding.
    complete : bool
    table : callable, optional
        Gives the analysed rows, a new float64 array (n, p).
    no_table : str
        Why there is none.
    seed : int
        Of rules that draw at random.
    tell : callable
        ``tell(name, done, total)`` says how far a rule of this name is.
    sampled : str
        Which of the rows ``table`` gives, where not all.
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

    @property
    def divisor(self) -> float:
        """What sums of squares were divided by: n − 1."""
        assert self.rows is not None
        return self.rows - 1.0

    @property
    def freedom(self) -> float:
        """Rows that are free to differ: n − 1, and n without centring."""
        assert self.rows is not None
        return self.rows - self.centred

    @property
    def most(self) -> int:
        """Variances that can be above zero: min(p, n − 1), and min(p, n) without centring."""
        return self.columns if self.rows is None else min(self.columns, int(self.freedom + 1e-9))

    @cached_property
    def possible(self) -> FloatArray:
        """The variances that can be above zero (most,), or as many as are known."""
        values = self.variances[: self.most]
        if self.complete and len(values) < self.most:
            values = np.concatenate([values, np.zeros(self.most - len(values))])
        return values

    def generator(self) -> np.random.Generator:
        """Random numbers of the seed, the same ones at each call."""
        return np.random.default_rng(self.seed)


@dataclass(frozen=True)
class Decision:
    """What a rule says of the number of components.

    Attributes
    ----------
    rule : str
        Its name.
    k : int or None
        Components to keep; None where the rule does not apply.
    reason : str
        Why, as a sentence.
    measure : str
        What ``statistic`` is.
    statistic : tuple of float
        By number of components, from ``first`` on.
    threshold : float, tuple of float or None
        What the statistic is held against; None where its largest or smallest value decides.
    first : int
        1, or 0 where no component at all has a statistic, too.
    details : dict
        Further numbers by name.
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
        """The rule does not apply."""
        return cls(rule, None, f"does not apply: {reason}")

    def at(self, k: int) -> float | None:
        """The statistic of ``k`` components, or of the k-th; None where there is none."""
        return _item(self.statistic, k - self.first)

    def threshold_at(self, k: int) -> float | None:
        """What it is held against."""
        if isinstance(self.threshold, tuple):
            return _item(self.threshold, k - self.first)
        return self.threshold

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON: numbers that are not finite become None."""
        threshold: Any = self.threshold
        return {
            "rule": self.rule,
            "k": self.k,
            "reason": self.reason,
            "measure": self.measure,
            "statistic": [_finite(value) for value in self.statistic],
            "threshold": [_finite(value) for value in threshold]
            if isinstance(threshold, tuple)
            else _finite(threshold),
            "first": self.first,
            "details": {name: _finite(value) for name, value in self.details.items()},
        }

    @classmethod
    def of_dict(cls, plain: dict[str, Any]) -> Decision:
        """The decision that :meth:`to_dict` made plain.

        Raises
        ------
        KeyError, TypeError, ValueError
            When it is none.
        """
        threshold = plain["threshold"]
        k = plain["k"]
        if not (k is None or (type(k) is int and k >= 0)) or type(plain["first"]) is not int:
            raise ValueError("a number of components that is none")
        words = [plain[name] for name in ("rule", "reason", "measure")]
        if not all(isinstance(word, str) for word in words):
            raise ValueError("words that are none")
        return cls(
            words[0],
            k,
            words[1],
            words[2],
            _numbers(plain["statistic"]),
            _numbers(threshold)
            if isinstance(threshold, list)
            else None
            if threshold is None
            else float(threshold),
            plain["first"],
            {str(name): _number(value) for name, value in plain["details"].items()},
        )

    def __str__(self) -> str:
        return f"{self.rule}: {self.reason}"


def _item(values: tuple[float, ...], index: int) -> float | None:
    return values[index] if 0 <= index < len(values) else None


def _finite(value: float | None) -> float | None:
    return None if value is None or not np.isfinite(value) else float(value)


def _number(value: Any) -> float:
    return float("nan") if value is None else float(value)


def _numbers(values: Any) -> tuple[float, ...]:
    return tuple(map(_number, values))
