"""Arrays of a model file in the precision and the order that they had before.

A file holds float64 in C order. Products of the same numbers in another precision or order have
other bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from princomp.errors import ModelFileError

__all__ = ["as_they_were", "is_layout", "layout_of", "taken", "under"]

_DTYPES = ("float32", "float64", "int32", "int64")
_USUAL = ["float64", "C"]


def layout_of(arrays: dict[str, Any]) -> dict[str, list[str]]:
    """Precision and order of those that are not as a file holds them."""
    found = {name: [array.dtype.name, _order(array)] for name, array in arrays.items()}
    return {name: layout for name, layout in found.items() if layout != _USUAL}


def is_layout(value: Any) -> bool:
    """Whether a word of a document can be one."""
    return type(value) is dict and all(
        type(one) is list and len(one) == 2 and one[0] in _DTYPES and one[1] in ("C", "F")
        for one in value.values()
    )


def as_they_were(tensors: dict[str, Any], layout: dict[str, list[str]]) -> dict[str, Any]:
    """Arrays as they were, all of them finite.

    Raises
    ------
    ModelFileError
        For numbers that this precision does not have, or a layout of arrays that are not there.
    """
    if not set(layout) <= set(tensors):
        raise ModelFileError(f"it says how arrays {sorted(layout)} lie, and has {sorted(tensors)}")
    found = {}
    for name, array in tensors.items():
        dtype, order = layout.get(name, _USUAL)
        if not np.isfinite(array).all():
            raise ModelFileError(f"array {name!r} holds values that are not finite")
        with np.errstate(all="ignore"):
            found[name] = array.astype(dtype, order=order)
        if not np.array_equal(found[name], array):
            raise ModelFileError(f"array {name!r} does not hold numbers of {dtype}")
    return found


def under(name: str, arrays: dict[str, Any]) -> dict[str, Any]:
    """Arrays under a common name."""
    return {f"{name}.{key}": array for key, array in arrays.items()}


def taken(arrays: dict[str, Any], name: str) -> dict[str, Any]:
    """Arrays that were put under a name, which leave the others."""
    found = [key for key in arrays if key.startswith(f"{name}.")]
    return {key.removeprefix(f"{name}."): arrays.pop(key) for key in found}


def _order(array: Any) -> str:
    return "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"
