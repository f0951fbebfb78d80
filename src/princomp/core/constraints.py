"""Constraints on the parameters of estimators: sets of valid values, and their errors."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np

from princomp.errors import ParameterError, did_you_mean, value_words


@dataclass(frozen=True)
class Constraint:
    """A set of valid values; ``a | b`` accepts what either accepts.

    Parameters
    ----------
    accepts : callable
        Whether a value is valid.
    alternatives : tuple of str
        Phrases that complete the sentence "the parameter must be …".
    advice : str
        What else to do, at the end of that sentence.
    """

    accepts: Callable[[Any], bool]
    alternatives: tuple[str, ...]
    advice: str = ""

    def __or__(self, other: Constraint) -> Constraint:
        return Constraint(
            lambda value: self.accepts(value) or other.accepts(value),
            self.alternatives + other.alternatives,
            self.advice + other.advice,
        )

    def __str__(self) -> str:
        *first, last = self.alternatives
        return (f"{', '.join(first)} or {last}" if first else last) + self.advice


def one_of(*values: str | None) -> Constraint:
    """Accept some strings, or None if it is one of the values."""
    return Constraint(
        lambda value: (value is None or isinstance(value, str)) and value in values,
        tuple(map(repr, values)),
    )


def number(
    minimum: float = -np.inf, maximum: float = np.inf, *, exclusive: bool = False
) -> Constraint:
    """Accept finite numbers from ``minimum`` to ``maximum``; ``exclusive`` excludes these two."""

    def accepts(value: Any) -> bool:
        try:
            if not (is_number(value, Real) and math.isfinite(value)):
                return False
        except OverflowError:  # an integer beyond the range of float
            return False
        return bool(minimum < value < maximum if exclusive else minimum <= value <= maximum)

    return Constraint(accepts, (_describe_range("number", minimum, maximum, exclusive),))


def whole_number(minimum: float = -np.inf) -> Constraint:
    """Accept integers of at least ``minimum``."""
    return Constraint(
        lambda value: is_number(value, Integral) and bool(value >= minimum),
        (_describe_range("whole number", minimum, np.inf, False),),
    )


def fraction() -> Constraint:
    """Accept numbers between 0 and 1 that are not of an integer type."""
    return Constraint(
        lambda value: is_number(value, Real) and not is_number(value, Integral) and 0 < value < 1,
        ("a fraction in (0, 1) (0.8 is 80%)",),
    )


def array_like(expected: str) -> Constraint:
    """Accept anything but texts, truth values and None; arrays are checked where they are used."""
    return Constraint(
        lambda value: value is not None and not isinstance(value, str | bool | np.bool_),
        (expected,),
    )


FLAG = Constraint(lambda value: isinstance(value, bool | np.bool_), ("True", "False"))


def check_parameter(name: str, value: object, constraint: Constraint) -> None:
    """Refuse an invalid value.

    Raises
    ------
    ParameterError
    """
    if not constraint.accepts(value):
        words = [one.strip("'") for one in constraint.alternatives if one.startswith("'")]
        raise ParameterError(
            f"{name}={value_words(value)} is not valid",
            place={"parameter": name},
            hint=did_you_mean(value, words) + f"{name} must be {constraint}",
        )


def check_parameters(parameters: object, constraints: Mapping[str, Constraint]) -> None:
    """Refuse an object whose attributes do not meet their constraints.

    Raises
    ------
    ParameterError
        For the first attribute that does not.
    """
    for name, constraint in constraints.items():
        check_parameter(name, getattr(parameters, name), constraint)


def _describe_range(kind: str, minimum: float, maximum: float, exclusive: bool) -> str:
    """Name a kind of numbers with its limits."""
    if minimum == -np.inf:
        return f"a {kind}"
    if maximum == np.inf:
        return f"a {kind} {'greater than' if exclusive else 'of at least'} {minimum:g}"
    return f"a {kind} between {minimum:g} and {maximum:g}{' (exclusive)' * exclusive}"


def is_number(value: object, kind: type) -> bool:
    """Whether a value is an ``Integral`` or ``Real`` number; True and False are not."""
    return isinstance(value, kind) and not isinstance(value, bool)
