"""Choose one array of a file that holds several, and columns of that array."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from princomp.errors import ColumnError, NotNumericError, ParameterError, ShapeError, did_you_mean
from princomp.io.readers.columns import Origin, Selection, choose_columns, listed
from princomp.io.readers.reader_errors import no_rows_error

_NOT_NUMBERS = {
    "V": "records of named fields",
    "c": "complex numbers",
    "O": "Python objects, text or lists",
}
_RESHAPE_HINT = (
    "Read it into a NumPy array x (netCDF: by xarray, which unpacks it, and .values), and give "
    "{rows}; or save these by numpy.save, and give the .npy file."
)
_FLATTEN_HINT = _RESHAPE_HINT.format(
    rows="x.reshape(len(x), -1), with a row for each x[i], or x.reshape(-1, x.shape[-1]), with the "
    "last axis as columns"
)


class Member(NamedTuple):
    """An array in a store, and notes for the user on it.

    If it is ``transposed``, the store holds an array of shape (p, n), and ``shape`` is (n, p).
    """

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    notes: tuple[str, ...] = ()
    transposed: bool = False

    def __str__(self) -> str:
        size = " × ".join(f"{length:,}" for length in self.shape) or "a single value"
        kinds = {"V": "records", "O": "text or lists", "S": "text", "U": "text", "T": "text"}
        return f"{self.name} ({size}, {kinds.get(self.dtype.kind, self.dtype)})"

    @property
    def is_table(self) -> bool:
        """Whether it is a two-dimensional array of real numbers."""
        return len(self.shape) == 2 and self.dtype.kind in "biuf"

    @property
    def size(self) -> int:
        """How many numbers it holds."""
        return math.prod(self.shape)


def pick_array(members: Sequence[Member], inside: str | None, origin: Origin) -> Member:
    """Choose the array named ``inside``, or the only two-dimensional array of numbers.

    If ``inside`` is a group, the only such array in that group is chosen. A note names the chosen
    array if there are other arrays of numbers that have rows, but are not tables.

    Raises
    ------
    ParameterError
        No array has the name; there are several candidates, and the message lists all of them; or
        there is a larger array that is not a table, such as one of three dimensions.
    NotNumericError, ShapeError
        The named array is not a table of real numbers, or there is no such array.
    """
    candidates = members
    if inside is not None:
        for member in members:
            if member.name == inside:
                refuse_not_table(member, origin)
                return member
        candidates = [member for member in members if member.name.startswith(f"{inside}/")]
        if not candidates:
            raise _no_such_name_error(members, inside, origin)
    arrays = [m for m in candidates if m.dtype.kind in "biufc" and len(m.shape) > 1]
    arrays.sort(key=lambda member: (-member.size, member.name))
    tables = [member for member in arrays if member.is_table]
    others = [member for member in arrays if not member.is_table]
    if not tables:
        raise _no_table_error(candidates, origin)
    if others and others[0].size > tables[0].size:
        raise _larger_array_error(others[0], tables, origin)
    if len(tables) > 1:
        problem = f"holds {len(tables)} arrays of two dimensions: {listed(map(str, tables))}"
        hint = f"Say which is meant, as in {origin.file}::{tables[0].name}"
        raise origin.error(ParameterError, problem, hint, parameter="inside")
    refuse_not_table(tables[0], origin)
    if not others:
        return tables[0]
    note = f"{tables[0]} was read, the only table in it; there are also {listed(map(str, others))}"
    return tables[0]._replace(notes=(*tables[0].notes, note))


def _no_such_name_error(members: Sequence[Member], inside: str, origin: Origin) -> ParameterError:
    guess = did_you_mean(inside, [member.name for member in members])
    problem = f"nothing in it is named {inside!r}"
    hint = f"{guess}There are: {listed(map(str, members))}. Choose one as in FILE::NAME."
    return origin.error(ParameterError, problem, hint, parameter="inside")


def _no_table_error(members: Sequence[Member], origin: Origin) -> ShapeError:
    contents = f"there are: {listed(map(str, members))}" if members else "it is empty"
    problem = f"holds no array of numbers in two dimensions; {contents}"
    hint = "Store a matrix whose rows are the observations."
    if any(member.name.endswith("indptr") for member in members):  # Zarr, 10x Genomics
        hint = "Sparse matrices are read from .h5ad, .npz and .mtx: write one of these."
    elif any(len(member.shape) > 2 for member in members):
        hint = _FLATTEN_HINT
    return origin.error(ShapeError, problem, hint)


def _larger_array_error(
    largest: Member, tables: Sequence[Member], origin: Origin
) -> ParameterError:
    dimensions = len(largest.shape)
    what = "holds complex numbers" if largest.dtype.kind == "c" else f"has {dimensions} dimensions"
    problem = f"its largest array, {largest}, {what}"
    problem += f"; the tables in it are smaller: {listed(map(str, tables))}"
    hint = f"To analyse a table, name it, as in {origin.file}::{tables[0].name}"
    if dimensions > 2:
        hint = f"{_FLATTEN_HINT} {hint}"
    return origin.error(ParameterError, problem, hint, parameter="inside")


def refuse_not_table(member: Member, origin: Origin) -> None:
    """Raise NotNumericError or ShapeError unless the array is a nonempty table of numbers."""
    shape, dtype = member.shape, member.dtype
    if dtype.kind not in "biuf":
        found = _NOT_NUMBERS.get(dtype.kind, "no numbers")
        problem = f"{member.name} holds {found} ({dtype}), not real numbers"
        hint = "Save a matrix of floats, or a table as Parquet."
        raise origin.error(NotNumericError, problem, hint)
    size = " × ".join(map(str, shape)) or "a single value"
    if len(shape) != 2:
        problem = f"has {len(shape)} dimensions ({size}); a table has rows and columns"
        hint = _RESHAPE_HINT.format(rows="x.reshape(-1, 1), one column")
        group, _, name = member.name.rpartition("/")
        if group and name in ("data", "indices", "indptr"):
            hint = f"If {group} is a sparse matrix, only all of it can be read, "
            hint += "from .h5ad, .npz or .mtx: write one of these."
        elif len(shape) > 2:
            hint = _FLATTEN_HINT
        raise origin.error(ShapeError, problem, hint)
    if not shape[0]:
        raise no_rows_error(origin.file, f" ({size})")
    if not shape[1]:
        problem = f"no columns ({size})"
        raise origin.error(ShapeError, problem, "Principal components need columns of numbers.")


def refuse_id_column(selection: Selection, what: str, origin: Origin) -> None:
    """Raise ParameterError if an id column is requested from a file that holds only numbers."""
    if selection.id_column is not None:
        problem = f"id column {selection.id_column!r}: {what} holds numbers only"
        hint = "Leave the id column out, or keep the table as CSV or Parquet."
        raise origin.error(ParameterError, problem, hint, parameter="id_column")


def numbered_columns(p: int, selection: Selection, origin: Origin) -> NDArray[np.intp] | None:
    """Positions of columns that are requested by number, from 0; None means all columns."""
    if selection.columns is None and not selection.exclude:
        return None
    names = [str(j) for j in range(p)]
    if selection.of_model and not set(names).issuperset(selection.columns or ()):
        problem = "its columns have no names, and those of the model have"
        hint = f"Give a table with the columns {listed(list(selection.columns or ()))}."
        raise origin.error(ColumnError, problem, hint)
    choice = choose_columns(names, selection._replace(id_column=None), origin)
    return np.array([int(name) for name in choice.names])


def name_list(attribute: object, p: int) -> tuple[str, ...] | None:
    """Names of p columns from an attribute; None if it is not a list of p different texts."""
    if attribute is None or isinstance(attribute, str | bytes):
        return None
    try:
        names = [x.decode() if isinstance(x, bytes) else x for x in np.asarray(attribute).tolist()]
    except (TypeError, ValueError):
        return None
    if not all(isinstance(name, str) for name in names) or len(set(names)) != p or len(names) != p:
        return None
    return tuple(names)
