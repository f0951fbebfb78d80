"""Schemas of model files: which fields and arrays a model has, and what each may hold.

A schema turns a model into a document of plain values and a dict of arrays. It also checks the
document and the arrays of a file before they are used.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from princomp.errors import ModelFileError, ParameterError
from princomp.io.values import Values

# A parsed JSON document, and arrays by name.
Document: TypeAlias = dict[str, Any]
Arrays: TypeAlias = dict[str, NDArray[Any]]


_REQUIRED = object()


class Field(NamedTuple):
    """A field of a document.

    Parameters
    ----------
    values : Values
        The values it may hold.
    source : str, optional
        Attribute path of the value in the object that is written; the field's name by default.
    default : object, optional
        The value for files of older versions, which lack the field.
    """

    values: Values
    source: str = ""
    default: object = _REQUIRED


# ---- arrays ----------------------------------------------------------------------------


class Array(NamedTuple):
    """An array of a model.

    Parameters
    ----------
    shape : str
        Names of its dimensions, separated by spaces, such as "n k". Dimensions of the same name
        have the same size in all arrays.
    source : str, optional
        Attribute path of the array in the object that is written; its name by default.
    optional : bool
        Whether the array may be None; it is then left out of the file.
    sign : {"any", "not negative", "positive"}
    infinite : bool
        Whether it may hold infinite values; it never holds NaN.
    dtype : numpy dtype, optional
        Required dtype; by default any floating-point dtype.
    """

    shape: str
    source: str = ""
    optional: bool = False
    sign: Literal["any", "not negative", "positive"] = "any"
    infinite: bool = False
    dtype: str | None = None

    def check(self, name: str, array: NDArray[Any]) -> None:
        """Raise ModelFileError for values that the array may not hold."""
        if array.dtype.kind != "f" or (self.dtype is not None and array.dtype != self.dtype):
            raise ModelFileError(
                f"array {name!r} holds {array.dtype}, not {self.dtype or 'floats'}"
            )
        if not (~np.isnan(array) if self.infinite else np.isfinite(array)).all():
            raise ModelFileError(f"array {name!r} holds values that are not finite")
        if self.sign != "any" and (array < 0).any():
            raise ModelFileError(f"array {name!r} holds negative values")
        if self.sign == "positive" and not array.all():
            raise ModelFileError(f"array {name!r} holds a zero")


def sizes_from(size: int) -> range:
    """All sizes of at least ``size``."""
    return range(size, sys.maxsize)


# ---- models ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Schema:
    """The fields and arrays of a model, or of a part of one."""

    fields: Mapping[str, Field]
    arrays: Mapping[str, Array]

    def document(self, source: object, **values: object) -> Document:
        """Collect the fields of an object; ``values`` gives those that are not its attributes."""
        found = {}
        for name, field in self.fields.items():
            value = values[name] if name in values else attrgetter(field.source or name)(source)
            found[name] = value.item() if isinstance(value, np.generic) else value
        return found

    def arrays_of(self, source: object) -> Arrays:
        """Collect the arrays of an object, without optional ones that are None."""
        found = {}
        for name, array in self.arrays.items():
            value = attrgetter(array.source or name)(source)
            if value is not None or not array.optional:
                found[name] = value
        return found

    def checked(self, document: object) -> Document:
        """Check a document; return its fields with defaults, without those not in the schema.

        Raises
        ------
        ModelFileError
            A field is missing, or its value is not allowed.
        """
        if not isinstance(document, dict):
            raise ModelFileError(f"it must have an object with fields, got {document!r}")
        found = {}
        for name, field in self.fields.items():
            value = document.get(name, field.default)
            if value is _REQUIRED:
                raise ModelFileError(f"its field {name!r} is missing")
            if not _allowed(field.values, value):
                raise ModelFileError(
                    f"its {name!r} must be {field.values.description}, got {value!r}"
                )
            found[name] = value
        return found

    def check_arrays(self, arrays: Arrays, sizes: Mapping[str, int | range]) -> None:
        """Check the names, shapes and values of arrays against the schema.

        Parameters
        ----------
        arrays : dict of str to array
        sizes : mapping of str to int or range
            Known size or allowed range of each dimension. The first array with a dimension
            fixes its size for the other arrays.

        Raises
        ------
        ModelFileError
        """
        required = {name for name, array in self.arrays.items() if not array.optional}
        if not required <= set(arrays) <= set(self.arrays):
            raise ModelFileError(f"it holds arrays {sorted(arrays)}, not {sorted(required)}")
        known = dict(sizes)
        for name, schema in self.arrays.items():
            if name in arrays:
                _check_shape(name, arrays[name].shape, schema.shape.split(), known)
                schema.check(name, arrays[name])

    def part(self, name: str, contents: Mapping[str, Any]) -> dict[str, Any]:
        """Collect the contents of one part of a model ("spectrum", …), by its attributes.

        Parameters
        ----------
        name : str
            The first word of the sources of its fields and arrays.
        contents : mapping of str to value
            Fields and arrays of a file, checked.
        """
        entries: dict[str, Field | Array] = {**self.fields, **self.arrays}
        return {
            entry.source.split(".")[1]: contents[key]
            for key, entry in entries.items()
            if entry.source.startswith(f"{name}.") and key in contents
        }


def _allowed(values: Values, value: object) -> bool:
    try:
        return values.allows(value)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError):
        return False


def _check_shape(
    name: str, shape: tuple[int, ...], names: list[str], known: dict[str, int | range]
) -> None:
    """Check a shape against its schema, and add the sizes that it fixes to ``known``."""
    fits = len(shape) == len(names)
    for size, length in zip(names, shape, strict=False):
        allowed = known.setdefault(size, length)
        fits = fits and (length in allowed if isinstance(allowed, range) else length == allowed)
        if isinstance(allowed, range):
            known[size] = length
    if not fits:
        expected = ", ".join(map(str, (known.get(size, size) for size in names)))
        raise ModelFileError(f"array {name!r} has shape {shape}, not ({expected})")


def json_value(name: str, value: object) -> object:
    """Return a parameter as a value that JSON can hold.

    Raises
    ------
    ParameterError
    """
    if isinstance(value, np.generic):
        value = value.item()
    allowed = isinstance(value, str | int | float | dict | None)
    if not allowed or (isinstance(value, float) and not np.isfinite(value)):
        raise ParameterError(
            f"{name}={value!r} cannot be saved",
            place={"parameter": name},
            hint=f"set_params({name}=…) to a number or a word first",
        )
    return value
