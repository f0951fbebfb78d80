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
    """How stored numbers become values, by the CF conventions (section 8.1).

    Parameters
    ----------
    missing : tuple of float
        Stored numbers that mark missing cells.
    factor, offset : float
        A value is its stored number times ``factor``, plus ``offset``.
    """

    missing: tuple[float, ...] = ()
    factor: float = 1.0
    offset: float = 0.0

    @classmethod
    def of(cls, attributes: Mapping[str, Any], fill_value: object = None) -> Self:
        """Read the attributes of an array.

        ``fill_value`` is that of an array in Zarr version 2, where xarray has it in place of the
        attribute ``_FillValue``.

        Raises
        ------
        ValueError
            If an attribute is not a number.
        """
        found = {name: attributes[name] for name in _MISSING if name in attributes}
        if "_ARRAY_DIMENSIONS" in attributes and fill_value is not None:
            found["fill_value"] = fill_value
        missing = [number for item in found.items() for number in _numbers(*item)]
        (factor,) = _numbers("scale_factor", attributes.get("scale_factor", 1.0))
        (offset,) = _numbers("add_offset", attributes.get("add_offset", 0.0))
        # NaN is missing in any case.
        kept = tuple(dict.fromkeys(number for number in missing if not np.isnan(number)))
        return cls(kept, factor, offset)

    @property
    def notes(self) -> tuple[str, ...]:
        """What the attributes change, for the user."""
        listed = " or ".join(f"{number:g}" for number in self.missing)
        missing = (f"{listed} marks missing cells",) if listed else ()
        is_scaled = (self.factor, self.offset) != (1.0, 0.0)
        scaled = f"values are the stored numbers × {self.factor:g} + {self.offset:g}"
        return (*missing, scaled) if is_scaled else missing

    def unpack(self, stored: FloatArray) -> FloatArray:
        """Compute the values (m, p) of stored numbers, in a new array if any differ."""
        if self == Packing():
            return stored
        values = stored * self.factor + self.offset
        if self.missing:
            values[np.isin(stored, np.array(self.missing, stored.dtype))] = np.nan
        return values


def _numbers(name: str, attribute: Any) -> tuple[float, ...]:
    """The numbers of an attribute."""
    try:
        if isinstance(attribute, str):  # by xarray in Zarr version 3
            return struct.unpack("<d", base64.standard_b64decode(attribute))
        return tuple(np.asarray(attribute, np.float64).ravel().tolist())
    except (TypeError, ValueError, struct.error):
        raise ValueError(
            f"the attribute {name!r} is {attribute!r}, which is not a number"
        ) from None
