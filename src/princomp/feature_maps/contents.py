"""What a model file holds of a map, and back, every word checked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from princomp.errors import ModelFileError
from princomp.feature_maps.feature_map import FeatureMap
from princomp.feature_maps.fourier import Fourier
from princomp.feature_maps.nystrom import Nystrom
from princomp.feature_maps.polynomial import TensorSketch
from princomp.kernel_functions import KERNELS, KernelFunction

__all__ = ["restored", "valid_divisors"]

_KINDS: dict[str, Any] = {kind.kind: kind for kind in (Nystrom, Fourier, TensorSketch)}


def _whole(value: Any) -> bool:
    return type(value) is int and value > 0


def _real(value: Any) -> bool:
    return type(value) in (int, float) and bool(np.isfinite(value))


_LAWFUL: dict[str, Callable[[Any], bool]] = {
    "p": _whole,
    "dtype": lambda value: value in ("float32", "float64"),
    "kernel": lambda value: value in KERNELS,
    "gamma": lambda value: value is None or _real(value),
    "degree": _real,
    "coef0": _real,
}
_MORE: dict[str, dict[str, Callable[[Any], bool]]] = {
    "nystrom": {},
    "fourier": {"count": _whole, "seed": lambda value: type(value) is int and value >= 0},
    "tensor sketch": {"size": _whole, "seed": lambda value: type(value) is int and value >= 0},
}


def restored(words: dict[str, Any], arrays: dict[str, Any]) -> FeatureMap:
    """The map whose ``words()`` and ``arrays()`` these are.

    Raises
    ------
    ModelFileError
        Where they are of no map.
    """
    if type(words) is not dict or words.get("kind") not in tuple(_KINDS):
        raise ModelFileError("it holds a feature map of a kind that is not known")
    kind = words["kind"]
    for name, lawful in (_LAWFUL | _MORE[kind]).items():
        if name not in words or not lawful(words[name]):
            raise ModelFileError(f"{name}={words.get(name)!r} is no word of a feature map")
    p, shift = words["p"], arrays.get("shift")
    if shift is not None and (shift.shape != (p,) or not np.isfinite(shift).all()):
        raise ModelFileError("array 'shift' of a feature map is not one number a column")
    divisors = arrays.get("divisors")
    if divisors is not None and not valid_divisors(divisors, p):
        raise ModelFileError("array 'divisors' of a feature map is not one divisor a column")
    if kind == "nystrom":
        _check_landmarks(p, arrays)
    elif set(arrays) - {"shift", "divisors"}:
        raise ModelFileError(f"a {kind} map holds arrays {sorted(arrays)}")
    kernel = KernelFunction(
        words["kernel"],
        words["gamma"],
        words["degree"],
        words["coef0"],
        shift=shift,
        divisors=divisors,
    )
    try:
        made: FeatureMap = _KINDS[kind].from_contents(kernel, words, arrays)
    except (ValueError, TypeError) as error:
        raise ModelFileError(f"its feature map does not go together: {error}") from None
    return made


def valid_divisors(divisors: Any, p: int) -> bool:
    """Whether an array holds what the columns may be divided by."""
    lawful = divisors.shape == (p,) and divisors.dtype == np.float64
    return bool(lawful and np.isfinite(divisors).all() and (divisors > 0).all())


def _check_landmarks(p: int, arrays: dict[str, Any]) -> None:
    names = set(arrays) - {"shift", "divisors"}
    parts = {f"points.{name}" for name in ("data", "indices", "indptr")}
    if names not in ({"weights", "points"}, {"weights"} | parts):
        raise ModelFileError(f"a map by landmarks holds arrays {sorted(arrays)}")
    weights = arrays["weights"]
    if "points" in names:
        points, shape = arrays["points"], arrays["points"].shape
        lawful = len(shape) == 2 and shape[1] == p and points.dtype.kind == "f"
        m, values = (shape[0] if lawful else -1), points
    else:
        values, at, starts = (arrays[f"points.{name}"] for name in ("data", "indices", "indptr"))
        m = len(starts) - 1
        lawful = at.dtype.kind in "iu" and starts.dtype.kind in "iu" and values.shape == at.shape
        lawful = lawful and m > 0 and starts[0] == 0 and starts[-1] == len(at)
        lawful = lawful and bool((np.diff(starts) >= 0).all())
        lawful = lawful and (not len(at) or (at.min() >= 0 and at.max() < p))
    lawful = lawful and weights.ndim == 2 and weights.shape[0] == m and weights.dtype == np.float64
    if not lawful or not (np.isfinite(values).all() and np.isfinite(weights).all()):
        raise ModelFileError("landmarks and weights of its feature map do not go together")
