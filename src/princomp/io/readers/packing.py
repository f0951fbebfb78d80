"""Packed numbers: attributes of netCDF and xarray for missing, scaled and shifted values."""

from __future__ import annotations

import base64
import struct
from collections.abc import Mapping
from typing import Any, NamedTuple, Self

import numpy as np

from princomp.linalg import FloatArray

_MISSING = ("_FillValue", "missing_value")


class Packing(NamedTuple):
    """How stored numbers become values, by the CF conventions (sections 2.5.1 and 8.1).

    Limits of valid values (``valid_range``) are ignored.

    Parameters
    ----------
    missing : tuple of float
        Stored numbers that mark missing cells.
    factor, offset : float
        A value is its stored number times ``factor``, plus ``offset``.
    wrap : float
        Added to negative stored numbers first: 2**16 for unsigned integers of 16 bits that are
        stored as signed ones (``_Unsigned``).
    """

    missing: tuple[float, ...] = ()
    factor: float = 1.0
    offset: float = 0.0
    wrap: float = 0.0

    @classmethod
    def of(
        cls, attributes: Mapping[str, Any], dtype: np.dtype[Any], fill_value: object = None
    ) -> Self:
        """Read the attributes of an array of a dtype.

        ``fill_value`` is the array's own, in Zarr version 2. There xarray keeps its
        ``_FillValue``; in arrays of other programs it does not mark missing cells.

        Raises
        ------
        ValueError
            If an attribute is not a number, or a factor or an offset not one finite number.
        """
        found = {name: attributes[name] for name in _MISSING if name in attributes}
        if "_ARRAY_DIMENSIONS" in attributes and fill_value is not None:
            found["fill_value"] = fill_value
        missing = [number for name in found for number in _numbers(name, found[name])]
        factor = _one_number("scale_factor", attributes.get("scale_factor", 1.0))
        offset = _one_number("add_offset", attributes.get("add_offset", 0.0))
        # NaN is missing in any case.
        kept = tuple(dict.fromkeys(number for number in missing if not np.isnan(number)))
        unsigned = dtype.kind == "i" and "true" in str(attributes.get("_Unsigned")).lower()
        return cls(kept, factor, offset, 2.0 ** (8 * dtype.itemsize) if unsigned else 0.0)

    @property
    def notes(self) -> tuple[str, ...]:
        """What the attributes change, for the user."""
        notes = []
        if self.missing:
            notes.append(f"missing cells are stored as {', '.join(map(_in_words, self.missing))}")
        if self.wrap:
            notes.append("negative stored numbers were read as unsigned integers (_Unsigned)")
        if self.factor != 1.0:
            notes.append(
                f"stored numbers were multiplied by {_in_words(self.factor)} (scale_factor)"
            )
        if self.offset != 0.0:
            notes.append(f"{_in_words(self.offset)} was added to stored numbers (add_offset)")
        return tuple(notes)

    def unpack(self, stored: FloatArray) -> FloatArray:
        """Compute the values (m, p) of stored numbers: the same array if nothing is packed."""
        if self == Packing():
            return stored
        values = stored + self.wrap * (stored < 0) if self.wrap else stored
        values = values * self.factor + self.offset
        if self.missing:
            values[np.isin(stored, np.array(self.missing, stored.dtype))] = np.nan
        return values


def unpacked(X: Any) -> Any:
    """Return the values of an open HDF5 dataset or Zarr array whose numbers are packed.

    Other arrays are returned as they are.
    """
    attributes, dtype = getattr(X, "attrs", None), getattr(X, "dtype", None)
    if not isinstance(attributes, Mapping) or not isinstance(dtype, np.dtype):
        return X
    old = getattr(getattr(X, "metadata", None), "zarr_format", None) == 2
    packing = Packing.of(attributes, dtype, X.fill_value if old else None)
    return X if packing == Packing() else packing.unpack(np.asarray(X))


def _numbers(name: str, attribute: Any) -> tuple[float, ...]:
    """The numbers of an attribute, or a ValueError."""
    try:
        if isinstance(attribute, str) and attribute.endswith("=") and name in _MISSING:
            # For Zarr version 3, xarray writes the eight bytes of a number in base64.
            return struct.unpack("<d", base64.standard_b64decode(attribute))
        return tuple(np.asarray(attribute, np.float64).ravel().tolist())
    except (TypeError, ValueError, struct.error):
        problem = f"the attribute {name!r} is {attribute!r}, which is not a number"
        raise ValueError(problem) from None


def _one_number(name: str, attribute: Any) -> float:
    """The one finite number of an attribute, or a ValueError."""
    numbers = _numbers(name, attribute)
    if len(numbers) != 1 or not np.isfinite(numbers[0]):
        raise ValueError(f"the attribute {name!r} is {attribute!r}, which is not one finite number")
    return numbers[0]


def _in_words(number: float) -> str:
    return repr(number).removesuffix(".0")
