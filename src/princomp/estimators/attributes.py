"""Fitted attributes: read-only views of the result of a fit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any, Generic, NoReturn, Self, TypeVar, overload

import numpy as np

from princomp.core import Fitted
from princomp.linalg import FloatArray, frozen
from princomp.summaries import Columns, Moments, Sketch, Triangle

R = TypeVar("R")
T = TypeVar("T")


class ResultAttribute(Generic[R, T]):
    """A read-only attribute that is computed from the result of a fit.

    Parameters
    ----------
    compute : callable
        Computes the value from the result.
    doc : str
    """

    def __init__(self, compute: Callable[[R], T], doc: str) -> None:
        self._compute, self.__doc__ = compute, doc

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, model: None, owner: type) -> Self: ...
    @overload
    def __get__(self, model: object, owner: type) -> T: ...
    def __get__(self, model: Any, owner: type) -> Self | T:
        return self if model is None else self._compute(model._result)

    def __set__(self, model: object, value: object) -> NoReturn:
        raise AttributeError(f"{self._name} is read-only")


class FittedAttribute(ResultAttribute[Fitted, T]):
    """An attribute of PCA."""


def mean_of(fitted: Fitted) -> FloatArray:
    """Column means (p,); an error if they are not known."""
    fitted.require_mean()
    return fitted.mean


def scale_of(fitted: Fitted) -> FloatArray | None:
    """Divisors of the columns (p,), or None."""
    return None if fitted.scale is None else frozen(fitted.scale)


def summary_of(fitted: Fitted) -> Moments | Triangle | Columns | Sketch:
    """The summary of the rows, read-only and in memory."""
    summary: Moments | Triangle | Columns | Sketch = fitted.summary.to_host()
    for field in fields(summary):
        if isinstance(value := getattr(summary, field.name), np.ndarray):
            frozen(value)
    return summary
