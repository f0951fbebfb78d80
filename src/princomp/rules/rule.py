"""The interface of a rule, and what the rules share.

A rule is a small object with a ``name``, a ``needs`` and a method ``decide``. ``needs`` is

- ``"leading"``: the largest variances, in descending order; ``decide`` returns None to ask for
  more of them;
- ``"all"``: all variances. Like ``"leading"``, this works on any summary, also that of a stream;
- ``"rows"``: the rows themselves, in memory.
"""

from __future__ import annotations

from dataclasses import replace
from numbers import Real
from typing import Protocol, TypeGuard, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from princomp.errors import ParameterError, invalid_value
from princomp.linalg import FloatArray, one_blas_thread
from princomp.rules.decision import Decision, Known

_NEEDS = ("leading", "all", "rows")
# Prediction errors that differ by less than this share of the variance are equal up to rounding.
_TIE = 1e-13


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
        return Decision.none(rule.name, "the number of rows is not known")
    with one_blas_thread():
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
    plural, verb = ("", "exceeds") if k < 2 else ("s", "exceed")
    reason = f"{k or 'no'} {noun or measure}{plural} {verb} {description}"
    plain_threshold = floats(threshold) if isinstance(threshold, np.ndarray) else threshold
    return Decision(name, k, reason, measure, floats(values), plain_threshold, 1, details or {})


def minimum_decision(errors: FloatArray, name: str, measure: str, description: str) -> Decision:
    """Decision of a rule that minimises the errors (m,) of 0, 1, … components.

    If several errors differ only by rounding, the first of them is taken.
    """
    k = int(np.flatnonzero(errors <= np.nanmin(errors) + _TIE * float(errors[0]))[0])
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
