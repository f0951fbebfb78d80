"""The pre-image methods by name, and the choice for a kernel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from princomp.errors import ParameterError
from princomp.kernel_pca.feature_space.expansion import Expansion
from princomp.kernel_pca.functions import POLYNOMIALS, KernelFunction, divide_columns
from princomp.kernel_pca.pre_images.distances import Distances
from princomp.kernel_pca.pre_images.fixed_point import FixedPoint
from princomp.kernel_pca.pre_images.linear import Linear
from princomp.kernel_pca.pre_images.pre_image import PreImages, dense_points
from princomp.kernel_pca.pre_images.ridge import Ridge
from princomp.linalg import FloatArray, Weights

if TYPE_CHECKING:
    from princomp.kernel_pca.parameters import KernelParameters


def _determines_distances(function: KernelFunction) -> bool:
    """Whether kernel values determine distances between rows."""
    odd = function.name in POLYNOMIALS and function.degree % 2 == 1
    return (function.name == "rbf" or odd) and (function.gamma or 0.0) > 0


# For each method, the kernels that it supports: in words, and as a condition on the kernel and its
# parameters.
METHODS: dict[str, tuple[str, Callable[[KernelFunction], bool]]] = {
    # The learned map evaluates the kernel between scores, and some scores are always negative,
    # because their mean is zero.
    "ridge": (
        "every kernel of rows except 'chi2' and 'additive_chi2', which take no negative scores",
        lambda function: function.name not in ("precomputed", "chi2", "additive_chi2"),
    ),
    "fixed_point": (
        "'linear', 'rbf' and 'poly'",
        lambda function: function.name in ("rbf", *POLYNOMIALS),
    ),
    "distance": (
        "'linear', 'rbf' and 'poly' with an odd degree, with gamma above zero",
        _determines_distances,
    ),
}


def check_method(method: str, function: KernelFunction, parameter: str = "pre_image") -> None:
    """Refuse a method that does not support this kernel; ``parameter`` has chosen it.

    Raises
    ------
    ParameterError
        With the kernels that the method supports, and the methods for this kernel.
    """
    if _supports(method, function):
        return
    degree = f" with degree {function.degree:g}" if function.name in POLYNOMIALS else ""
    hint = f"leave {parameter} out (in tune, use by='reconstruction'), or use another kernel"
    if others := methods_for(function):
        hint = f"use pre_image={' or '.join(map(repr, others))}"
    raise ParameterError(
        f"pre_image={method!r} does not work for kernel {function.name!r}{degree}: it works for "
        f"{METHODS[method][0]}",
        place={"parameter": parameter},
        hint=hint,
    )


def methods_for(function: KernelFunction) -> list[str]:
    """List the methods that support this kernel, "precomputed" included."""
    return [method for method in METHODS if _supports(method, function)]


def _supports(method: str, function: KernelFunction) -> bool:
    # All methods are the exact inverse for the linear kernel.
    return function.name == "linear" or METHODS[method][1](function)


def pre_images(
    expansion: Expansion,
    parameters: KernelParameters,
    *,
    scores: FloatArray | None = None,
    squared_norms: FloatArray | None = None,
    weights: Weights = None,
) -> PreImages:
    """Create the map from scores to rows for the axes of a fit.

    Parameters
    ----------
    expansion : Expansion
    parameters : KernelParameters
        With a method as ``pre_image``. For the linear kernel all methods are the same.
    scores : ndarray of shape (n, k), optional
        Scores of the points of the expansion, from which "ridge" learns.
    squared_norms : ndarray of shape (m,), optional
        Squared lengths of the centred images of the points. Given together with their
        ``scores``, "fixed_point" and "distance" do not compute them again.
    weights : ndarray of shape (m,), optional
        Frequencies of the points, for "ridge".

    Raises
    ------
    ParameterError, DataError, MemoryLimitError
    """
    function, method = expansion.function, parameters.pre_image
    assert method is not None
    check_method(method, function)
    if method == "ridge" and function.name != "linear":
        scores = expansion.scores(expansion.points) if scores is None else scores
        points, alpha, memory = expansion.points, parameters.alpha, parameters.limit
        return Ridge.learn(function, scores, points, alpha, memory=memory, weights=weights)
    found: PreImages
    divisors = function.divisors
    if divisors is not None:
        expansion = _scaled(expansion, divisors)
    if function.name == "linear":
        found = Linear.of(expansion)
    else:
        dense_points(expansion.points)
        known = None if scores is None or squared_norms is None else (scores, squared_norms)
        kind = FixedPoint if method == "fixed_point" else Distances
        found = kind(expansion, parameters.n_neighbors, known=known)
    return found if divisors is None else _Rescaled(found, divisors)


@dataclass(frozen=True, eq=False)
class _Rescaled:
    """Pre-images of scaled rows, multiplied by the divisors of the columns."""

    inner: PreImages
    divisors: FloatArray

    def rows(self, scores: FloatArray) -> FloatArray:
        found = self.inner.rows(scores)
        return (found * self.divisors).astype(found.dtype, copy=False)


def _scaled(expansion: Expansion, divisors: FloatArray) -> Expansion:
    """Return an expansion of points that are already divided, with a kernel without divisors."""
    function, points = expansion.function, divide_columns(expansion.points, divisors)
    shift = None if function.shift is None else function.shift / divisors
    function = replace(function, shift=shift, divisors=None)
    return replace(expansion, function=function, points=points)
