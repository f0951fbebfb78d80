"""How a rule decides: its interface, its input (``Known``), its result (``Decision``).

A rule is a small object with a ``name``, a ``needs`` and a method ``decide``. ``needs`` is

- ``"leading"``: the largest variances, in descending order; ``decide`` returns None to ask for
  more of them;
- ``"all"``: all variances. Like ``"leading"``, this works on any summary, also that of a stream;
- ``"rows"``: the rows themselves, in memory.

The functions at the end make decisions from a threshold or a minimum, and check options.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from numbers import Real
from typing import Any, Protocol, TypeGuard, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from princomp.errors import ParameterError, invalid_value
from princomp.linalg import FloatArray, cached_property, one_blas_thread

_NEEDS = ("leading", "all", "rows")
# Prediction errors that differ by less than this share of the variance are equal up to rounding.
_TIE = 1e-13


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

    @property
    def dimensions(self) -> int:
        """Number of dimensions in which the rows can have noise, at most min(p, n − 1).

        Exact dependencies, such as columns that sum to a constant or monthly anomalies, leave
        fewer: as many as there are variances above the resolution. If these are fewer than half,
        the table is taken for one without noise, and all dimensions count.
        """
        most = min(self.columns, self.whole_freedom)
        rank = int(np.count_nonzero(self.variances[:most] > self.resolution))
        return rank if 2 * rank >= most else most

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


@runtime_checkable
class Rule(Protocol):
    """A rule for the number of components, to be passed as ``n_components``.

    A rule that does not use the number of rows sets ``counts_rows = False``; only such rules
    are applied if that number is unknown.
    """

    @property
    def name(self) -> str:
        """Name in plans, tables and model files."""

    @property
    def needs(self) -> str:
        """``"leading"``, ``"all"`` or ``"rows"``."""

    def decide(self, known: Known) -> Decision | None:
        """Return the number of components, or None to ask for more variances."""


def is_rule(value: object) -> TypeGuard[Rule]:
    """Whether an object (not a class) has the interface of a rule."""
    return (
        not isinstance(value, type)
        and isinstance(getattr(value, "name", None), str)
        and getattr(value, "needs", None) in _NEEDS
        and callable(getattr(value, "decide", None))
    )


def apply_rule(rule: Rule, known: Known) -> Decision | None:
    """Apply a rule if what it needs is available.

    Raises
    ------
    ParameterError
        When a user-defined rule returns anything but a valid decision.
    """
    if known.total <= 0 and not hasattr(rule, "rules"):  # Several applies each rule itself
        return Decision.none(rule.name, "every column is constant")
    if rule.needs == "rows" and known.table is None:
        return Decision.none(rule.name, known.no_table)
    if rule.needs == "all" and not known.complete:
        return None
    if known.rows is None and getattr(rule, "counts_rows", True):
        return Decision.none(rule.name, "the number of rows is not known: give n_samples")
    # Errors near the largest float overflow; `minimum_decision` says so.
    with one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):
        decision = rule.decide(known)
    if decision is None and not known.complete:
        return None
    if not isinstance(decision, Decision) or not (
        decision.k is None or (_is_whole(decision.k) and 0 <= decision.k <= known.columns)
    ):
        raise ParameterError(
            f"the rule {rule.name!r} returned {decision!r}",
            place={"parameter": "n_components"},
            hint=f"decide() must return a Decision with k from 0 to {known.columns}, or k=None",
        )
    if decision.k is not None:
        decision = replace(decision, k=int(decision.k))  # NumPy's integers are not JSON
    if rule.needs == "rows" and known.sampled:
        decision = replace(decision, reason=f"{decision.reason}, {known.sampled}")
    return decision


def threshold_decision(
    name: str,
    known: Known,
    values: FloatArray,
    threshold: float | FloatArray,
    description: str,
    *,
    measure: str = "variance",
    noun: str = "",
    slack: float = 1.0,
    details: dict[str, float] | None = None,
) -> Decision | None:
    """Decision of a rule that keeps the leading values above a threshold.

    It is None if all known values are above, and more may follow. A value below the resolution is
    not above any threshold.

    Parameters
    ----------
    name : str
        Name of the rule.
    values : ndarray
        The ``measure`` of each component.
    threshold : float or ndarray
        One for all components, or one for each.
    description : str
        Description of the threshold for the reason: "2 variances exceed" ``description``.
    noun : str, optional
        Name of a value in the reason; by default the measure.
    slack : float
        Factor on the threshold that allows for rounding.
    """
    compared, limits = values, threshold * slack
    if isinstance(limits, np.ndarray):
        compared = values[: len(limits)]
        limits = limits[: len(compared)]
    resolved = known.possible[: len(compared)] > known.resolution
    below = np.flatnonzero(~((compared > limits) & resolved))
    if not below.size and not known.complete:
        return None
    k = int(below[0]) if below.size else len(compared)
    name_of_value = noun or measure
    plural, verb = ("", "exceeds") if k == 1 else ("s", "exceed")
    # Later values may exceed their own thresholds.
    leading = "leading " if isinstance(threshold, np.ndarray) else ""
    reason = f"{k} {leading}{name_of_value}{plural} {verb} {description}"
    if not k:
        reason = f"the first {name_of_value} does not exceed {description}"
    plain_threshold = floats(threshold) if isinstance(threshold, np.ndarray) else threshold
    return Decision(name, k, reason, measure, floats(values), plain_threshold, 1, details or {})


def minimum_decision(errors: FloatArray, name: str, measure: str, description: str) -> Decision:
    """Decision of a rule that minimises the errors (m,) of 0, 1, … components.

    If several errors differ only by rounding, the first of them is taken.
    """
    if not np.isfinite(errors).all():
        return Decision.none(name, f"{description} overflows: divide the columns by a power of ten")
    k = int(np.flatnonzero(errors <= errors.min() + _TIE * float(errors[0]))[0])
    at_end = k == len(errors) - 1 and k > 0
    remark = f"; at most {k} were considered, more may be better" if at_end else ""
    reason = f"{description} is smallest with {component_count(k)}: {errors[k]:.4g}{remark}"
    return Decision(name, k, reason, measure, floats(errors), None, 0)


def component_count(k: int) -> str:
    """``no component``, ``1 component``, ``2 components``."""
    return f"{k or 'no'} component{'s' * (k > 1)}"


def floats(values: ArrayLike) -> tuple[float, ...]:
    """Values of an array as Python floats."""
    return tuple(np.asarray(values, dtype=np.float64).tolist())


def _is_whole(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def check_whole(name: str, value: int, minimum: int) -> None:
    """Raise unless a parameter is a whole number of at least ``minimum``."""
    if not _is_whole(value) or value < minimum:
        expected = f"a whole number of at least {minimum}"
        raise invalid_value(name, value, expected, f"choose a whole number from {minimum} on")


def is_real(value: object) -> TypeGuard[float]:
    """Whether a value is a real number; True and False are not."""
    return isinstance(value, Real) and not isinstance(value, bool)


def check_share(name: str, value: float, usual: float) -> None:
    """Raise unless a parameter is a number between 0 and 1."""
    if not is_real(value) or not 0 < value < 1:
        raise invalid_value(name, value, "a number between 0 and 1", f"{usual:g} is usual")
