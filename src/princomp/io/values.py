"""Which values the fields of a model file may hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeGuard

import numpy as np


class Values(NamedTuple):
    """The values a field may hold: a description and a test, which may raise on wrong types."""

    description: str
    allows: Callable[[Any], bool]


def _is_number(value: object) -> TypeGuard[float]:
    return type(value) in (int, float) and bool(np.isfinite(value))  # type: ignore[call-overload]


def at_least(least: float) -> Values:
    """Finite numbers of at least ``least``."""
    return Values(f"a number ≥ {least}", lambda value: _is_number(value) and value >= least)


def above(bound: float) -> Values:
    """Finite numbers greater than ``bound``."""
    return Values(f"a number > {bound}", lambda value: _is_number(value) and value > bound)


def integer(least: int) -> Values:
    """Integers of at least ``least``."""
    return Values(f"an integer ≥ {least}", lambda value: type(value) is int and value >= least)


def one_of(*values: str) -> Values:
    """One of the given strings."""
    return Values(
        f"one of {', '.join(values)}", lambda value: isinstance(value, str) and value in values
    )


def with_keys(*keys: str) -> Values:
    """A JSON object that has at least these keys."""
    return Values(
        f"an object with {', '.join(keys)}",
        lambda value: isinstance(value, dict) and set(keys) <= set(value),
    )


def optional(values: Values) -> Values:
    """The given values, or null."""
    return Values(
        f"{values.description} or null", lambda value: value is None or values.allows(value)
    )


FLAG = Values("true or false", lambda value: type(value) is bool)
TEXT = Values("text", lambda value: isinstance(value, str))
TEXTS = Values(
    "a list of texts",
    lambda value: isinstance(value, list) and all(isinstance(item, str) for item in value),
)
OBJECT = Values("an object", lambda value: isinstance(value, dict))
COUNT = integer(0)
NUMBER = Values("a number", _is_number)
PROBABILITY = Values("a number from 0 to 1", lambda value: _is_number(value) and 0 <= value <= 1)
COLUMN_NAMES = optional(TEXTS)
DTYPE = one_of("float32", "float64")
