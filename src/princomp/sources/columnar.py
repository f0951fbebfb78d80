"""Tables from Parquet and Arrow files."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from princomp.errors import MalformedFileError, ShapeError
from princomp.sources.cells import LARGEST_INTEGER, MISSING, long_integer
from princomp.sources.columns import Choice, Origin, choose, listed
from princomp.sources.faults import need_pyarrow, reading
from princomp.sources.frames import convert
from princomp.sources.table import Table

__all__ = [
    "Way",
    "arrow_opener",
    "choose_fields",
    "ids_of",
    "numbers_of",
    "plain_array",
    "plain_kind",
    "read_arrow",
    "read_parquet",
    "refuse_cut_stream",
    "way_of",
]

Way: TypeAlias = Literal["take", "check", "cast", "unwrap", "judge"]

# What ends a stream; without it, a stream cut between two batches looks whole.
_END_OF_STREAM = b"\xff\xff\xff\xff\x00\x00\x00\x00"


def read_parquet(
    path: Path, columns: Sequence[str] | None, exclude: Sequence[str], id_column: str | None
) -> Table:
    """Read the chosen columns of a Parquet file."""
    parquet = need_pyarrow("pyarrow.parquet", path)
    asked = (columns, exclude, id_column)
    with reading(path, "Parquet"):
        # Not read_table, which would add columns for folders named like "x=3".
        file = parquet.ParquetFile(path, page_checksum_verification=True)
        schema = file.schema_arrow
    with file:
        return _chosen(path, schema, lambda names: file.read(columns=names), asked)


def read_arrow(
    path: Path, columns: Sequence[str] | None, exclude: Sequence[str], id_column: str | None
) -> Table:
    """Read the chosen columns of an Arrow IPC file (also called Feather 2) or stream."""
    pa = need_pyarrow("pyarrow", path)
    asked = (columns, exclude, id_column)
    with reading(path, "Arrow"):
        source = pa.OSFile(str(path))
    with source:
        with reading(path, "Arrow"):
            opener = arrow_opener(path, source)
            schema = opener(source).schema

        def load(names: list[str]) -> Any:
            indices = [schema.get_field_index(name) for name in names]
            source.seek(0)
            options = pa.ipc.IpcReadOptions(included_fields=indices)
            return opener(source, options=options).read_all()

        return _chosen(path, schema, load, asked)


def arrow_opener(path: Path, source: Any) -> Any:
    """What opens the Arrow data in ``source``: pyarrow's reader of files or that of streams."""
    import pyarrow as pa

    in_blocks = source.read(6) == b"ARROW1"
    if not in_blocks:
        refuse_cut_stream(path, source)
    source.seek(0)
    return pa.ipc.open_file if in_blocks else pa.ipc.open_stream


def refuse_cut_stream(path: Path, source: Any) -> None:
    """Raise MalformedFileError unless an opened Arrow stream has the mark of its end."""
    size = source.size()
    source.seek(max(0, size - len(_END_OF_STREAM)))
    if source.read() != _END_OF_STREAM:
        raise MalformedFileError(
            f"{path}: is not an Arrow file, nor an Arrow stream that ends properly",
            place={"file": str(path)},
            hint="It may be cut short or still being written: make or fetch it anew.",
        )


def _chosen(
    path: Path,
    schema: Any,
    load: Callable[[list[str]], Any],
    asked: tuple[Sequence[str] | None, Sequence[str], str | None],
) -> Table:
    """Choose among the columns of ``schema``, load only these and convert them."""
    origin = Origin(str(path))
    choice, notes = choose_fields(schema, *asked, origin)
    ids = () if choice.id_column is None else (choice.id_column,)
    with reading(path, "a table of Arrow or Parquet"):
        table = load([*choice.names, *ids])
        # Damaged offsets would otherwise be followed outside of the buffers.
        table.validate(full=True)
        table = _plain(table)
    converted = convert(nw.from_native(table, eager_only=True), choice, "leave out", origin)
    return replace(converted, notes=(*notes, *converted.notes))


def choose_fields(
    schema: Any,
    columns: Sequence[str] | None,
    exclude: Sequence[str],
    id_column: str | None,
    origin: Origin,
) -> tuple[Choice, tuple[str, ...]]:
    """Settle which fields of an Arrow schema are looked at, and what to say of it.

    Raises
    ------
    ColumnError, ParameterError, ShapeError
        As ``columns.choose``.
    MalformedFileError
        A name that is no text.
    """
    with reading(Path(origin.file or ""), "a table of Arrow or Parquet"):
        available = schema.names  # decoded only now
    choice = choose(available, columns, exclude, id_column, origin)
    if choice.requested:
        return choice, ()
    # pandas stores its row index among the columns; row numbers are no measurements.
    stored = _index_columns(schema)
    index = [name for name in choice.names if name in stored]
    names = tuple(name for name in choice.names if name not in stored)
    if not (index and names):
        return choice, ()
    note = f"left out the row index that pandas stored: {listed(index)}"
    return replace(choice, names=names), (note,)


def _index_columns(schema: Any) -> set[str]:
    try:
        stored = json.loads((schema.metadata or {})[b"pandas"])["index_columns"]
        return {name for name in stored if isinstance(name, str)}
    except (KeyError, ValueError, TypeError):
        return set()


def _plain(table: Any) -> Any:
    """Turn columns of kinds that narwhals cannot compute with into such that it can."""
    import pyarrow as pa

    for i, field in enumerate(table.schema):
        kind = plain_kind(field.type)
        if kind != field.type:
            chunks = [plain_array(chunk) for chunk in table.column(i).chunks]
            table = table.set_column(i, field.name, pa.chunked_array(chunks, kind))
    return table


def plain_kind(kind: Any) -> Any:
    """The Arrow type that ``plain_array`` gives for arrays of type ``kind``."""
    import pyarrow as pa

    if isinstance(kind, pa.BaseExtensionType):
        return plain_kind(kind.storage_type)
    if pa.types.is_run_end_encoded(kind):
        return plain_kind(kind.value_type)
    return kind if _known(kind, pa.types) else pa.large_string()


def plain_array(array: Any) -> Any:
    """Unwrap an Arrow array: no extension, no runs, text where nothing else is understood."""
    import pyarrow as pa
    import pyarrow.compute as compute

    if isinstance(array.type, pa.BaseExtensionType):
        return plain_array(array.storage)
    if pa.types.is_run_end_encoded(array.type):
        return plain_array(compute.run_end_decode(array))
    if pa.types.is_string_view(array.type):
        return array.cast(pa.large_string())
    if _known(array.type, pa.types):
        return array
    cells = [None if cell is None else str(cell) for cell in array.to_pylist()]
    return pa.array(cells, pa.large_string())


def way_of(kind: Any) -> Way:
    """How the numbers of columns of an Arrow type are had, see ``numbers_of``."""
    from pyarrow import types

    plain = plain_kind(kind)
    if not (types.is_primitive(plain) or types.is_decimal(plain) or types.is_null(plain)):
        return "judge"
    if types.is_temporal(plain):
        return "judge"
    if plain != kind:
        return "unwrap"
    if types.is_int64(kind) or types.is_uint64(kind):
        return "check"
    return "take" if types.is_floating(kind) or types.is_integer(kind) else "cast"


def numbers_of(
    array: Any, way: Way, name: str, requested: bool, origin: Origin
) -> NDArray[Any] | None:
    """Numbers of an Arrow array of shape (n,), NaN where it is null.

    Parameters
    ----------
    array : pyarrow.Array
        Some rows of the column ``name``.
    way : {"take", "check", "cast", "unwrap", "judge"}
        Integers of 64 bits are checked to be exact as float64; text and whatever may
        be text is judged as ``frames.convert`` does.
    requested : bool
        A person named the column.
    origin : Origin
        For messages.

    Returns
    -------
    ndarray of shape (n,) or None
        None where the column is to be left out.

    Raises
    ------
    NotNumericError
        With row and column.
    """
    if way == "judge":
        return _judged(plain_array(array), name, requested, origin)
    if way == "unwrap":
        array = plain_array(array)
        return numbers_of(array, way_of(array.type), name, requested, origin)
    if way == "check":
        _refuse_long_integers(array, name, origin)
    elif way == "cast":
        array = array.cast("float64")
    numbers: NDArray[Any] = array.to_numpy(zero_copy_only=False)
    return numbers


def _refuse_long_integers(array: Any, name: str, origin: Origin) -> None:
    import pyarrow.compute as compute

    # On the integers themselves: as float64, 2**53 + 1 is 2**53.
    ends = compute.min_max(array).as_py()
    if ends["max"] is None or max(ends["max"], -ends["min"]) <= LARGEST_INTEGER:
        return
    cells = array.fill_null(0).to_numpy()
    i = int(np.flatnonzero((cells > LARGEST_INTEGER) | (cells < -LARGEST_INTEGER))[0])
    raise long_integer(name, i, cells[i], origin)


def _judged(array: Any, name: str, requested: bool, origin: Origin) -> NDArray[Any] | None:
    import pyarrow as pa
    from pyarrow import types

    text = any(
        test(array.type) for test in (types.is_string, types.is_large_string, types.is_dictionary)
    )
    if array.null_count == len(array) and (text or requested):
        return np.full(len(array), np.nan)
    if text and requested and (numbers := _written_numbers(array)) is not None:
        return numbers
    frame = nw.from_native(pa.table({name: array}), eager_only=True)
    try:
        return convert(frame, Choice((name,), requested, None), "leave out", origin).data[:, 0]
    except ShapeError:  # no numeric column
        return None


def _written_numbers(array: Any) -> NDArray[Any] | None:
    """Numbers written as text, all at once; None where their cells need a closer look."""
    import pyarrow as pa
    import pyarrow.compute as compute

    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if array.type not in (pa.string(), pa.large_string()):
        return None
    text = compute.utf8_trim_whitespace(array)
    missing = compute.is_in(text, pa.array(sorted(MISSING), text.type))
    try:
        parsed = compute.if_else(missing, None, text).cast("float64")
    except pa.ArrowInvalid:
        return None
    numbers: NDArray[Any] = parsed.to_numpy(zero_copy_only=False)
    # Beyond 2**53 they may be integers; and Arrow takes "nan(1)" for a number, too.
    if np.count_nonzero(np.isnan(numbers)) != parsed.null_count:
        return None
    return None if (np.abs(numbers) >= LARGEST_INTEGER).any() else numbers


def ids_of(array: Any) -> NDArray[np.object_]:
    """Cells of an Arrow array as Python values, None where null."""
    cells = plain_array(array).to_pylist()
    # Not np.array, which would make rows of cells that are lists.
    return np.fromiter(cells, dtype=object, count=len(cells))


def _known(kind: Any, types: Any) -> bool:
    return any(
        test(kind)
        for test in (
            types.is_boolean,
            types.is_integer,
            types.is_floating,
            types.is_decimal,
            types.is_string,
            types.is_large_string,
            types.is_dictionary,
            types.is_null,
            types.is_temporal,
            types.is_nested,
        )
    )
