"""Arrays of a model file: their dtype and memory layout, name prefixes, and sparse rows.

A file holds float64 arrays in C order. Matrix products of the same numbers in another dtype or
memory order differ in their last bits, so loading a model restores both.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from princomp.errors import ModelFileError
from princomp.io.model_schema import Arrays
from princomp.io.values import Values
from princomp.summaries import is_sparse

# dtype and memory order of each array, by its name.
Layouts: TypeAlias = dict[str, list[str]]

_DEFAULT_LAYOUT = ["float64", "C"]
_LAYOUTS = [[dtype, order] for dtype in ("float32", "float64", "int32", "int64") for order in "CF"]
_CSR_PARTS = ("data", "indices", "indptr")

LAYOUTS = Values(
    "dtype and order by array",
    lambda value: isinstance(value, dict) and all(one in _LAYOUTS for one in value.values()),
)


def layouts_of(arrays: Arrays) -> Layouts:
    """The dtype and memory order of each array that is not float64 in C order."""
    found = {
        name: [array.dtype.name, "F" if array.flags.fnc else "C"] for name, array in arrays.items()
    }
    return {name: layout for name, layout in found.items() if layout != _DEFAULT_LAYOUT}


def restore_layouts(tensors: Arrays, layouts: Layouts) -> Arrays:
    """Convert the arrays of a file to the dtype and memory order that they had when saved.

    Raises
    ------
    ModelFileError
        A dtype cannot hold the numbers, a number is not finite, or the array of a layout is
        missing.
    """
    if not set(layouts) <= set(tensors):
        raise ModelFileError(f"it has layouts of arrays {sorted(layouts)}, not {sorted(tensors)}")
    found = {}
    for name, array in tensors.items():
        dtype, order = layouts.get(name, _DEFAULT_LAYOUT)
        if not np.isfinite(array).all():
            raise ModelFileError(f"array {name!r} holds values that are not finite")
        with np.errstate(all="ignore"):
            found[name] = array.astype(dtype, order="F" if order == "F" else "C")
        if not np.array_equal(found[name], array):
            raise ModelFileError(f"array {name!r} holds numbers that {dtype} cannot hold")
    return found


def prefixed(name: str, arrays: Mapping[str, NDArray[np.generic]]) -> Arrays:
    """Add the prefix ``name.`` to the names of arrays."""
    return {f"{name}.{key}": array for key, array in arrays.items()}


def pop_prefixed(arrays: Arrays, name: str) -> Arrays:
    """Remove the arrays with the prefix ``name.``, and return them without the prefix."""
    found = [key for key in arrays if key.startswith(f"{name}.")]
    return {key.removeprefix(f"{name}."): arrays.pop(key) for key in found}


def pack_rows(name: str, rows: NDArray[np.generic] | sp.csr_array | None) -> Arrays:
    """Store rows as arrays: one for dense rows, the three parts of a CSR array for sparse rows."""
    if rows is None:
        return {}
    if is_sparse(rows):
        return prefixed(name, {part: getattr(rows, part) for part in _CSR_PARTS})
    return {name: np.asarray(rows)}


def unpack_rows(
    arrays: Arrays, name: str, n: int | None, p: int
) -> NDArray[np.floating] | sp.csr_array:
    """Remove the arrays that :func:`pack_rows` made, and return the (n, p) rows they hold.

    Any number of rows is allowed where n is None.

    Raises
    ------
    ModelFileError
        The arrays are missing, or are not n rows of p finite numbers.
    """
    names = {key for key in arrays if key.partition(".")[0] == name}
    rows: NDArray[np.floating] | sp.csr_array
    try:
        if names == {name}:
            rows = arrays.pop(name)
        else:
            data, indices, indptr = (arrays.pop(f"{name}.{part}") for part in _CSR_PARTS)
            size = len(indptr) - 1
            if names != {f"{name}.{part}" for part in _CSR_PARTS} or not (
                indices.dtype.kind == indptr.dtype.kind == "i" and indptr[-1] == len(data)
            ):
                raise ValueError("not the parts of a CSR array")
            rows = sp.csr_array((data, indices, indptr), shape=(size, p))
            rows.check_format(full_check=True)
    except (KeyError, ValueError, TypeError, IndexError) as error:
        raise ModelFileError(f"its arrays {sorted(names)} hold no {name!r}: {error}") from None
    values = rows.data if is_sparse(rows) else rows
    if rows.ndim != 2 or rows.shape != (rows.shape[0] if n is None else n, p):
        expected = f"({'any' if n is None else n}, {p})"
        raise ModelFileError(f"its {name!r} have shape {rows.shape}, not {expected}")
    if rows.dtype.kind != "f" or not np.isfinite(values).all():
        raise ModelFileError(f"its {name!r} hold values that are not finite numbers")
    return rows
