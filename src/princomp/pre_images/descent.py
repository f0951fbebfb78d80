"""The distance of an image from a projection, and the way to go from there.

With P = Σ γᵢ φ(xᵢ), ‖φ(z) − P‖² is k(z, z) − 2 Σ γᵢ k(z, xᵢ) and a number that z does not change.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TypeAlias

import numpy as np

from princomp.arrays import FloatArray
from princomp.kernel_functions import KernelFunction
from princomp.kernel_functions.function import Sides

__all__ = ["Slope", "slope_of"]

# Of shares (b, m) and rows (b, p): the objective (b,), the way to the next mean (b, p), and the
# size of the objective's terms (b,).
Slope: TypeAlias = Callable[[FloatArray, FloatArray], tuple[FloatArray, FloatArray, FloatArray]]

# A mean whose weights nearly add up to nothing is far away, and beyond that anywhere: the
# divisor is no less than this share of what their sizes add up to. The way stays downhill.
_LEAST = 0.05


def slope_of(function: KernelFunction, points: FloatArray) -> Slope:
    """The objective and the way of a kernel and points (m, p), these about its shift."""
    function = replace(function, shift=None)
    if function.name == "rbf":
        return partial(_gaussian, function, points, function.sides(points))
    return partial(_of_products, function, points)


def _gaussian(
    function: KernelFunction,
    points: FloatArray,
    sides: Sides,
    shares: FloatArray,
    rows: FloatArray,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The next mean is Σ γᵢ k(z, xᵢ) xᵢ / Σ γᵢ k(z, xᵢ)."""
    parts = function.tile(function.sides(rows), sides)
    parts *= shares
    total, size = parts.sum(axis=1), np.abs(parts).sum(axis=1)
    way = parts @ points - total[:, None] * rows
    return 1.0 - 2 * total, _divided(way, total, size), 1.0 + 2 * size


def _of_products(
    function: KernelFunction, points: FloatArray, shares: FloatArray, rows: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Of a kernel κ(xᵀy) the next mean is Σ γᵢ κ'(xᵢᵀz) xᵢ / κ'(zᵀz)."""
    with np.errstate(all="ignore"):  # what overflows is not better, and not gone to
        values, slopes = _kernel_and_slope(function, rows @ points.T)
        own, own_slope = _kernel_and_slope(function, np.einsum("ij,ij->i", rows, rows))
        values *= shares
        slopes *= shares
        way = slopes @ points - own_slope[:, None] * rows
        size = np.abs(own) + 2 * np.abs(values).sum(axis=1)
        divided = _divided(way, own_slope, np.abs(slopes).sum(axis=1))
        return own - 2 * values.sum(axis=1), divided, size


def _divided(way: FloatArray, total: FloatArray, size: FloatArray) -> FloatArray:
    """The way, divided by what weights add up to, or by a share of their sizes."""
    divisor = np.maximum(total, _LEAST * size)
    nothing = ~(divisor > 0)
    return np.where(nothing[:, None], 0.0, way / np.where(nothing, 1.0, divisor)[:, None])


def _kernel_and_slope(
    function: KernelFunction, products: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """κ and κ' / γ of inner products."""
    assert function.gamma is not None
    inner = function.gamma * products + function.coef0
    return inner**function.degree, function.degree * inner ** (function.degree - 1)
