"""Packed numbers: attributes of netCDF and xarray for missing, scaled and shifted values."""

from __future__ import annotations

import base64
import struct
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from princomp.linalg import FloatArray

if TYPE_CHECKING:
    import h5py
    import zarr

_MISSING = ("_FillValue", "missing_value")
_LIMITS = ("valid_min", "valid_max", "valid_range")


class Packing(NamedTuple):
    """How stored numbers become values, by the CF conventions (sections 2.5.1 and 8.1).

    Parameters
    ----------
    missing : tuple of float
        Stored numbers that mark missing cells.
    factor, offset : float
        A value is its stored number times ``factor``, plus ``offset``.
    wrap : float
        Added to negative stored numbers first: 2**16 for unsigned integers of 16 bits that are
        stored as signed ones (``_Unsigned``).
    limits : tuple of str
        Attributes with limits of valid values, which are not applied.
    """

    missing: tuple[float, ...] = ()
    factor: float = 1.0
    offset: float = 0.0
    wrap: float = 0.0
    limits: tuple[str, ...] = ()

    @classmethod
    def of(
        cls, attributes: Mapping[str, Any], dtype: np.dtype[Any], fill_value: object = None
    ) -> Self:
        """Read the attributes of an array with this dtype.

        ``fill_value`` is that of a Zarr array of version 2. It marks missing cells only if xarray
        wrote the array, which ``_ARRAY_DIMENSIONS`` shows.

        Raises
        ------
        ValueError
            If an attribute is not a number, or the factor or offset is not a single finite number.
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
        wrap = 2.0 ** (8 * dtype.itemsize) if unsigned else 0.0
        limits = tuple(name for name in _LIMITS if name in attributes)
        return cls(kept, factor, offset, wrap, limits)

    @classmethod
    def of_dataset(cls, dataset: h5py.Dataset) -> Self:
        """Read the attributes of a dataset of an open HDF5 file.

        In netCDF files, the fill value of the HDF5 dataset marks missing cells of numbers of more
        than one byte, also without an attribute. By default, it is 9.97e36 for floats.
        """
        from h5py.h5d import FILL_VALUE_USER_DEFINED

        packing = cls.of(dataset.attrs, dataset.dtype)
        file = dataset.file
        is_netcdf = "_NCProperties" in file.attrs or file.filename.lower().endswith((".nc", ".nc4"))
        defined = dataset.id.get_create_plist().fill_value_defined()
        is_number = dataset.dtype.kind in "iuf" and dataset.dtype.itemsize > 1
        if is_netcdf and is_number and defined == FILL_VALUE_USER_DEFINED:
            fill = float(dataset.fillvalue)
            if not np.isnan(fill) and fill not in packing.missing:
                return packing._replace(missing=(*packing.missing, fill))
        return packing

    @classmethod
    def of_zarr(cls, array: zarr.Array[Any]) -> Self:
        """Read the attributes of an array of an open Zarr store."""
        old = getattr(getattr(array, "metadata", None), "zarr_format", None) == 2
        return cls.of(array.attrs, array.dtype, array.fill_value if old else None)

    @property
    def changes_numbers(self) -> bool:
        """Whether values may differ from the stored numbers."""
        return self._replace(limits=()) != Packing()

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
        if self.limits:
            limits = " and ".join(self.limits)
            notes.append(f"{limits}: not applied, values outside are read as they are")
        return tuple(notes)

    def unpack(self, stored: FloatArray) -> FloatArray:
        """Compute the values (m, p) of stored numbers: the same array if nothing is packed."""
        if not self.changes_numbers:
            return stored
        unsigned = stored + self.wrap * (stored < 0) if self.wrap else stored
        values = unsigned * self.factor + self.offset
        if self.missing:
            markers = np.array(self.missing, stored.dtype)
            values[np.isin(stored, markers) | np.isin(unsigned, markers)] = np.nan
        return values


def packing_of(X: object) -> Packing:
    """How the numbers of an open HDF5 dataset or Zarr array are packed.

    Other arrays hold values: those of xarray may keep the attributes of numbers that it has
    unpacked.
    """
    readers: dict[str, Callable[[Any], Packing]] = {
        "h5py.Dataset": Packing.of_dataset,
        "h5netcdf.Variable": lambda variable: Packing.of(variable.attrs, variable.dtype),
        "zarr.Array": Packing.of_zarr,
    }
    for name, read in readers.items():
        library, kind = name.split(".")
        if library in sys.modules and isinstance(X, getattr(sys.modules[library], kind)):
            return read(X)
    return Packing()


def _numbers(name: str, attribute: object) -> tuple[float, ...]:
    """The numbers of an attribute, or a ValueError."""
    try:
        if isinstance(attribute, str) and attribute.endswith("=") and name in _MISSING:
            # For Zarr version 3, xarray writes the eight bytes of a number in base64.
            return struct.unpack("<d", base64.standard_b64decode(attribute))
        return tuple(np.asarray(attribute, np.float64).ravel().tolist())
    except (TypeError, ValueError, struct.error):
        problem = f"the attribute {name!r} is {attribute!r}, which is not a number"
        raise ValueError(problem) from None


def _one_number(name: str, attribute: object) -> float:
    """The one finite number of an attribute, or a ValueError."""
    numbers = _numbers(name, attribute)
    if len(numbers) != 1 or not np.isfinite(numbers[0]):
        raise ValueError(f"the attribute {name!r} is {attribute!r}, which is not one finite number")
    return numbers[0]


def _in_words(number: float) -> str:
    return repr(number).removesuffix(".0")
