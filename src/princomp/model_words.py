"""The words of a model file: what each may be, and parameters as plain values.

Models of every kind are checked with these: nothing that a file says is used before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from princomp.errors import ModelFileError, ParameterError

__all__ = [
    "chance",
    "check_arrays",
    "check_words",
    "flag",
    "plain",
    "real",
    "text",
    "texts",
    "whole",
]


def whole(value: Any) -> bool:
    """A whole number of at least 0."""
    return type(value) is int and value >= 0


def real(value: Any) -> bool:
    """A finite number of at least 0."""
    return type(value) in (int, float) and 0 <= value < np.inf


def chance(value: Any) -> bool:
    """A probability, or nothing."""
    return value is None or (real(value) and value <= 1)


def text(value: Any) -> bool:
    """Text, or nothing."""
    return value is None or isinstance(value, str)


def texts(value: Any) -> bool:
    """A list of text."""
    return type(value) is list and all(isinstance(word, str) for word in value)


def flag(value: Any) -> bool:
    """True or false."""
    return type(value) is bool


def check_words(document: Mapping[str, Any], lawful: Mapping[str, Callable[[Any], bool]]) -> None:
    """Hold each word against what it may be; words that nobody asks for are ignored.

    Raises
    ------
    ModelFileError
    KeyError
        For a word that is not there.
    """
    for word, may_be in lawful.items():
        if not may_be(document[word]):
            raise ModelFileError(f"its {word!r} is {document[word]!r}")


def check_arrays(tensors: Mapping[str, Any], shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Hold the arrays against the names and shapes that they must have, no more and no less.

    Raises
    ------
    ModelFileError
    """
    if set(tensors) != set(shapes):
        raise ModelFileError(f"it holds arrays {sorted(tensors)}, not {sorted(shapes)}")
    for name, shape in shapes.items():
        if tensors[name].shape != shape:
            raise ModelFileError(f"array {name!r} has shape {tensors[name].shape}, not {shape}")


def plain(name: str, value: Any) -> Any:
    """A parameter as JSON can hold it.

    Raises
    ------
    ParameterError
    """
    if isinstance(value, np.generic):
        value = value.item()
    if not isinstance(value, str | int | float | dict | None) or value in (np.inf, -np.inf):
        raise ParameterError(
            f"{name}={value!r} cannot be saved",
            place={"parameter": name},
            hint=f"set_params({name}=…) to a number or a word first",
        )
    return value
