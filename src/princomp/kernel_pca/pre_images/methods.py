"""The pre-image methods by name, and the choice for a kernel."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from princomp.errors import ParameterError
from princomp.kernel_pca.feature_space import Expansion
from princomp.kernel_pca.functions import POLYNOMIALS, KernelFunction, divide_columns
from princomp.kernel_pca.pre_images.distances import Distances
from princomp.kernel_pca.pre_images.fixed_point import FixedPoint
from princomp.kernel_pca.pre_images.linear import Linear
from princomp.kernel_pca.pre_images.pre_image import PreImages, dense_points
from princomp.kernel_pca.pre_images.ridge import Ridge
from princomp.linalg import FloatArray

METHODS: dict[str, type[Ridge] | type[FixedPoint] | type[Distances]] = {
    "ridge": Ridge,
    "fixed_point": FixedPoint,
    "distance": Distances,
}


def check_method(method: str, function: KernelFunction) -> None:
    """Refuse a method that does not support this kernel.

    Raises
    ------
    ParameterError
        With the kernels that the method supports, and the methods for this kernel.
    """
    if method not in METHODS:
        raise ParameterError(
            f"pre_image={method!r} is not known",
            place={"parameter": "pre_image"},
            hint=f"one of {', '.join(map(repr, METHODS))}",
        )
    if _supports(method, function):
        return
    degree = f" with degree {function.degree:g}" if function.name in POLYNOMIALS else ""
    others = [repr(other) for other in METHODS if _supports(other, function)]
    raise ParameterError(
        f"pre_image={method!r} does not work for kernel {function.name!r}{degree}: it works for "
        f"{METHODS[method].supported}",
        place={"parameter": "pre_image"},
        hint=f"use pre_image={' or '.join(others)}" if others else "leave pre_image out",
    )


def _supports(method: str, function: KernelFunction) -> bool:
    # All methods are the exact inverse for the linear kernel.
    return Linear.supports(function) or METHODS[method].supports(function)


def pre_images(
    method: str,
    expansion: Expansion,
    *,
    scores: FloatArray | None = None,
    squared_norms: FloatArray | None = None,
    alpha: float = 1.0,
    n_neighbors: int = 10,
    memory: int,
) -> PreImages:
    """Create the map from scores to rows for the axes of a fit.

    Parameters
    ----------
    method : {"ridge", "fixed_point", "distance"}
        For the linear kernel all are the same.
    expansion : Expansion
    scores : ndarray of shape (n, k), optional
        Scores of the points of the expansion, from which "ridge" learns.
    squared_norms : ndarray of shape (m,), optional
        Squared lengths of the centred images of the points. Given together with their
        ``scores``, "fixed_point" and "distance" do not compute them again.
    alpha : float
        For "ridge".
    n_neighbors : int
        For "fixed_point" and "distance".
    memory : int
        Bytes that "ridge" may use.

    Raises
    ------
    ParameterError, DataError, MemoryLimitError
    """
    function = expansion.function
    check_method(method, function)
    if method == "ridge" and function.name != "linear":
        scores = expansion.scores(expansion.points) if scores is None else scores
        return Ridge.learn(function, scores, expansion.points, alpha, memory=memory)
    if function.divisors is not None:
        scaled = _scaled(expansion, function.divisors)
        inner = pre_images(
            method,
            scaled,
            scores=scores,
            squared_norms=squared_norms,
            n_neighbors=n_neighbors,
            memory=memory,
        )
        return _Rescaled(inner, function.divisors)
    if function.name == "linear":
        return Linear.of(expansion)
    dense_points(expansion.points)
    known = None if scores is None or squared_norms is None else (scores, squared_norms)
    kind = FixedPoint if method == "fixed_point" else Distances
    return kind(expansion, n_neighbors, known=known)


@dataclass(frozen=True, eq=False)
class _Rescaled:
    """Pre-images of scaled rows, multiplied by the divisors of the columns."""

    inner: PreImages
    divisors: FloatArray

    supported: ClassVar[str] = "every kernel of rows"

    @staticmethod
    def supports(function: KernelFunction) -> bool:
        return True

    def rows(self, scores: FloatArray) -> FloatArray:
        found = self.inner.rows(scores)
        return (found * self.divisors).astype(found.dtype, copy=False)


def _scaled(expansion: Expansion, divisors: FloatArray) -> Expansion:
    """Return an expansion of points that are already divided, with a kernel without divisors."""
    shift = expansion.function.shift
    function = replace(
        expansion.function, shift=None if shift is None else shift / divisors, divisors=None
    )
    return replace(expansion, function=function, points=divide_columns(expansion.points, divisors))
