"""Which way to pre-images there is for which kernel."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

from princomp.arrays import FloatArray
from princomp.errors import ParameterError
from princomp.feature_space import Expansion
from princomp.kernel_functions import KernelFunction, divided
from princomp.pre_images.distances import Distances
from princomp.pre_images.fixed_point import FixedPoint
from princomp.pre_images.given import dense_points
from princomp.pre_images.ridge import Linear, learned

__all__ = ["METHODS", "PreImages", "check_method", "pre_images"]

METHODS = ("ridge", "fixed_point", "distance")
_POLYNOMIALS = ("poly", "polynomial")
_WORKS = {
    "ridge": "every kernel of rows",
    "fixed_point": "'linear', 'rbf' and 'poly'",
    "distance": "'linear', 'rbf' and 'poly' with an odd degree, their gamma above zero",
}


class PreImages(Protocol):
    """Rows (n, p) of scores (n, k)."""

    def rows(self, scores: FloatArray) -> FloatArray:
        """In the precision of the scores."""


def check_method(method: str, function: KernelFunction) -> None:
    """Refuse a way that this kernel does not allow.

    Raises
    ------
    ParameterError
        With the kernels that it works for, and the ways that work for this one.
    """
    if method not in METHODS:
        raise ParameterError(
            f"pre_image={method!r} is not known",
            place={"parameter": "pre_image"},
            hint=f"one of {', '.join(map(repr, METHODS))}",
        )
    if _works(method, function):
        return
    about = f" with degree {function.degree:g}" if function.name in _POLYNOMIALS else ""
    others = [repr(other) for other in METHODS if _works(other, function)]
    raise ParameterError(
        f"pre_image={method!r} does not work for kernel {function.name!r}{about}: it works for "
        f"{_WORKS[method]}",
        place={"parameter": "pre_image"},
        hint=f"use pre_image={' or '.join(others)}" if others else "leave pre_image out",
    )


def _works(method: str, function: KernelFunction) -> bool:
    name = function.name
    if name == "precomputed":
        return False
    if method == "ridge" or name == "linear":
        return True
    if method == "fixed_point":
        return name in ("rbf", *_POLYNOMIALS)
    odd = name == "rbf" or (name in _POLYNOMIALS and function.degree % 2 == 1)
    return odd and function.gamma is not None and function.gamma > 0


def pre_images(
    method: str,
    expansion: Expansion,
    *,
    scores: FloatArray | None = None,
    rows: Any = None,
    squares: FloatArray | None = None,
    alpha: float = 1.0,
    n_neighbors: int = 10,
    memory: int,
) -> PreImages:
    """What makes rows of scores.

    Parameters
    ----------
    method : {"ridge", "fixed_point", "distance"}
        Of the linear kernel all are the same.
    expansion : Expansion
    scores, rows : ndarray of shape (n, k), (n, p), optional
        What "ridge" learns from; the points of the expansion by default.
    squares : ndarray of shape (m,), optional
        With ``scores`` of the points, squared lengths of their centred images: the other ways
        need not compute them again.
    alpha : float
        Of "ridge".
    n_neighbors : int
        Of the others.
    memory : int
        Bytes that "ridge" may take.

    Raises
    ------
    ParameterError, DataError, MemoryLimitError
    """
    function = expansion.function
    check_method(method, function)
    if method == "ridge" and function.name != "linear":
        rows = expansion.points if rows is None else rows
        scores = expansion.scores(rows) if scores is None else scores
        return learned(function, scores, rows, alpha, memory=memory)
    if function.divisors is not None:
        way = pre_images(
            method,
            _scaled(expansion, function.divisors),
            scores=scores,
            squares=squares,
            n_neighbors=n_neighbors,
            memory=memory,
        )
        return _Multiplied(way, function.divisors)
    if function.name == "linear":
        return Linear.of(expansion)
    dense_points(expansion.points)
    known = None if scores is None or squares is None else (scores, squares)
    made = FixedPoint if method == "fixed_point" else Distances
    return made(expansion, n_neighbors, known=known)


@dataclass(frozen=True, eq=False)
class _Multiplied:
    """Pre-images of scaled rows, in the units of the data."""

    way: PreImages
    divisors: FloatArray

    def rows(self, scores: FloatArray) -> FloatArray:
        """Rows (n, p) of scores (n, k), in their precision."""
        found = self.way.rows(scores)
        return (found * self.divisors).astype(found.dtype, copy=False)


def _scaled(expansion: Expansion, divisors: FloatArray) -> Expansion:
    """These axes, for points that are already scaled."""
    shift = expansion.function.shift
    function = replace(
        expansion.function, shift=None if shift is None else shift / divisors, divisors=None
    )
    return replace(expansion, function=function, points=divided(expansion.points, divisors))
