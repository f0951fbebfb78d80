"""Choose columns of Arrow data, and convert them to numbers."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as compute
from numpy.typing import NDArray
from pyarrow import types

from princomp.io.readers.cells import may_have_lost_digits, refuse_long_integers
from princomp.io.readers.columns import (
    Choice,
    Origin,
    Selection,
    choose_columns,
    listed,
    text_of,
)
from princomp.io.readers.frames import column_numbers
from princomp.io.readers.left_out import IndexNote, kind_name
from princomp.io.readers.number_text import PLAIN
from princomp.io.readers.reader_errors import reading

Conversion: TypeAlias = Literal["as is", "check", "cast", "unwrap", "inspect"]


def choose_fields(
    schema: pa.Schema, selection: Selection, origin: Origin
) -> tuple[Choice, tuple[str, ...]]:
    """Choose the candidate fields of an Arrow schema; also return notes for the user.

    Raises
    ------
    ColumnError, ParameterError, ShapeError
        As for ``columns.choose_columns``.
    MalformedFileError
        A name is not valid text.
    """
    with reading(Path(origin.file or ""), "a table of Arrow or Parquet"):
        available = schema.names  # pyarrow decodes the names only here
    choice = choose_columns(available, selection, origin)
    # pandas stores its row index among the columns, but row labels are not measurements.
    index_columns = index_columns_of(schema)
    names = choice.names
    if not choice.requested:
        names = tuple(name for name in names if name not in index_columns) or names
    if selection.find_ids and len(index_columns) == 1:
        (name,) = index_columns
        other_uses = {*names, *map(str, selection.exclude)}
        if name in available and name not in other_uses:
            note = IndexNote(f"the rows are named by the index that pandas stored, {name!r}")
            return replace(choice, names=names, id_column=name), (note,)
    if names == choice.names:
        return choice, ()
    index = [name for name in choice.names if name in index_columns]
    note = IndexNote(f"left out the row index that pandas stored: {listed(index)}")
    return replace(choice, names=names), (note,)


def index_columns_of(schema: pa.Schema) -> set[str]:
    """Names of the columns that are the row index of a frame that pandas stored."""
    try:
        stored = json.loads((schema.metadata or {})[b"pandas"])["index_columns"]
        return {name for name in stored if isinstance(name, str)}
    except (KeyError, ValueError, TypeError):
        return set()


def stored_categories(metadata: Mapping[bytes, bytes] | None) -> frozenset[str]:
    """Names of columns that were dictionaries (categories) before they became a Parquet file.

    Parquet itself keeps only dictionaries of text; of others, it returns the plain cells.
    """
    stored = (metadata or {}).get(b"ARROW:schema")
    if stored is None:
        return frozenset()
    schema = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(stored)))
    return frozenset(field.name for field in schema if types.is_dictionary(field.type))


def plain_kind(kind: pa.DataType) -> pa.DataType:
    """The Arrow type to which ``plain_array`` converts arrays of type ``kind``."""
    if isinstance(kind, pa.BaseExtensionType):
        return plain_kind(kind.storage_type)
    if types.is_run_end_encoded(kind):
        return plain_kind(kind.value_type)
    return kind if _is_supported(kind) else pa.large_string()


def plain_array(array: pa.Array) -> pa.Array:
    """Unwrap extension types and run-end encoding; convert arrays of unknown types to text."""
    if isinstance(array.type, pa.BaseExtensionType):
        return plain_array(array.storage)
    if types.is_run_end_encoded(array.type):
        return plain_array(compute.run_end_decode(array))
    if types.is_string_view(array.type):
        return array.cast(pa.large_string())
    if _is_supported(array.type):
        return array
    cells = [None if cell is None else str(cell) for cell in array.to_pylist()]
    return pa.array(cells, pa.large_string())


def id_array(array: pa.Array) -> pa.Array:
    """Convert the cells of an id column as ``plain_array`` does; keep bytes, make UUIDs text."""
    if isinstance(array.type, pa.UuidType):
        digits = [None if cell is None else cell.hex() for cell in array.storage.to_pylist()]
        return pa.array([None if x is None else _uuid_text(x) for x in digits], pa.string())
    if isinstance(array.type, pa.BaseExtensionType):
        return id_array(array.storage)
    tests = (types.is_binary, types.is_large_binary, types.is_fixed_size_binary)
    if types.is_binary_view(array.type) or any(test(array.type) for test in tests):
        return array
    return plain_array(array)


def _uuid_text(digits: str) -> str:
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def as_text(array: pa.Array) -> pa.Array:
    """Convert cells to text, null where missing."""
    if types.is_integer(array.type) or types.is_floating(array.type):
        return array.cast(pa.string())
    return pa.array(text_of(_cells(array)), pa.string())


def _cells(array: pa.Array) -> list[Any]:
    """Cells as Python values, None where null; text for times in nanoseconds."""
    try:
        return array.to_pylist()
    except ValueError:  # datetime cannot hold nanoseconds
        return array.cast(pa.string()).to_pylist()


def arrow_kind_name(kind: pa.DataType) -> str:
    """The word in notes for columns of an Arrow type."""
    kind = plain_kind(kind)
    schema = pa.schema([("", kind)]).empty_table()
    return kind_name(nw.from_native(schema, eager_only=True).schema[""])


def conversion_of(kind: pa.DataType) -> Conversion:
    """How to convert columns of an Arrow type to numbers; see ``numbers_of``."""
    plain = plain_kind(kind)
    may_be_numbers = types.is_primitive(plain) or types.is_decimal(plain) or types.is_null(plain)
    if types.is_temporal(plain) or not may_be_numbers:
        return "inspect"
    if plain != kind:
        return "unwrap"
    if types.is_int64(kind) or types.is_uint64(kind):
        return "check"
    return "as is" if types.is_floating(kind) or types.is_integer(kind) else "cast"


def numbers_of(
    array: pa.Array, conversion: Conversion, name: str, requested: bool, origin: Origin
) -> NDArray[Any] | None:
    """Numbers of an Arrow array of shape (n,), NaN where it is null.

    Parameters
    ----------
    array : pyarrow.Array
        Some rows of the column ``name``.
    conversion : {"as is", "check", "cast", "unwrap", "inspect"}
        "check" ensures that 64-bit integers are exact as float64; "inspect" decides about columns
        that may be text, by the rules of ``frames.column_numbers``.
    requested : bool
        The user named the column.
    origin : Origin
        Where the rows come from, for messages.

    Returns
    -------
    ndarray of shape (n,) or None
        None if the column is to be left out.

    Raises
    ------
    NotNumericError
        A cell is not a number; the error has its row and column.
    """
    if conversion == "inspect":
        return _inspected(plain_array(array), name, requested, origin)
    if conversion == "unwrap":
        array = plain_array(array)
        return numbers_of(array, conversion_of(array.type), name, requested, origin)
    if conversion == "check":
        # The integers themselves are compared, because 2**53 + 1 becomes 2**53 as float64.
        integers = array.fill_null(0).to_numpy()
        refuse_long_integers(integers, lambda index: (name, index[0]), origin)
    elif types.is_decimal(array.type):
        # Arrow does not round decimals to the nearest float64, but it does so with their text.
        return _inspected(array.cast(pa.string()), name, True, origin)
    elif conversion == "cast":
        array = array.cast("float64")
    return array.to_numpy(zero_copy_only=False)


def _inspected(array: pa.Array, name: str, requested: bool, origin: Origin) -> NDArray[Any] | None:
    text = _is_text(array.type)
    if array.null_count == len(array) and (text or requested):
        return np.full(len(array), np.nan)
    if text and requested and (numbers := _written_numbers(array)) is not None:
        return numbers
    series = nw.from_native(pa.chunked_array([array]), series_only=True)
    return column_numbers(series, name, requested, "leave out", origin)


def _written_numbers(array: pa.Array) -> NDArray[Any] | None:
    """Convert numbers written as text at once; None if cells must be checked one by one."""
    if types.is_dictionary(array.type):
        array = array.dictionary_decode()
    parsed = PLAIN.cast(array, pa.float64()) if _is_text(array.type) else None
    if parsed is None:
        return None
    numbers: NDArray[Any] = parsed.to_numpy(zero_copy_only=False)
    # Numbers beyond 2**53 may be integers, and Arrow accepts text such as "nan(1)" as a number.
    if np.isnan(numbers).sum() != parsed.null_count or may_have_lost_digits(numbers):
        return None
    return numbers


def ids_of(array: pa.Array) -> NDArray[np.object_]:
    """Cells of an Arrow array as Python values, None where null."""
    cells = _cells(id_array(array))
    # np.array would make a two-dimensional array of cells that are lists.
    return np.fromiter(cells, dtype=object, count=len(cells))


def _is_supported(kind: pa.DataType) -> bool:
    return _is_text(kind) or any(
        test(kind)
        for test in (types.is_primitive, types.is_decimal, types.is_null, types.is_nested)
    )


def _is_text(kind: pa.DataType) -> bool:
    return types.is_string(kind) or types.is_large_string(kind) or types.is_dictionary(kind)
