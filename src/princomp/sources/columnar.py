"""Tables from Parquet and Arrow files."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import narwhals as nw

from princomp.errors import MalformedFileError
from princomp.sources.columns import Origin, choose, listed
from princomp.sources.faults import need_pyarrow, reading
from princomp.sources.frames import convert
from princomp.sources.table import Table

__all__ = ["read_arrow", "read_parquet"]

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
            start = source.read(6)
            if start != b"ARROW1":
                _refuse_cut_stream(path, source)
            opener = pa.ipc.open_file if start == b"ARROW1" else pa.ipc.open_stream
            source.seek(0)
            schema = opener(source).schema

        def load(names: list[str]) -> Any:
            indices = [schema.get_field_index(name) for name in names]
            source.seek(0)
            options = pa.ipc.IpcReadOptions(included_fields=indices)
            return opener(source, options=options).read_all()

        return _chosen(path, schema, load, asked)


def _refuse_cut_stream(path: Path, source: Any) -> None:
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
    choice = choose(schema.names, *asked, origin)
    notes: tuple[str, ...] = ()
    if not choice.requested:
        # pandas stores its row index among the columns; row numbers are no measurements.
        stored = _index_columns(schema)
        index = [name for name in choice.names if name in stored]
        names = tuple(name for name in choice.names if name not in stored)
        if index and names:
            choice = replace(choice, names=names)
            notes = (f"left out the row index that pandas stored: {listed(index)}",)
    ids = () if choice.id_column is None else (choice.id_column,)
    with reading(path, "a table of Arrow or Parquet"):
        table = load([*choice.names, *ids])
        # Damaged offsets would otherwise be followed outside of the buffers.
        table.validate(full=True)
        table = _plain(table)
    converted = convert(nw.from_native(table, eager_only=True), choice, "leave out", origin)
    return replace(converted, notes=(*notes, *converted.notes))


def _index_columns(schema: Any) -> set[str]:
    try:
        stored = json.loads((schema.metadata or {})[b"pandas"])["index_columns"]
        return {name for name in stored if isinstance(name, str)}
    except (KeyError, ValueError, TypeError):
        return set()


def _plain(table: Any) -> Any:
    """Turn columns of kinds that narwhals cannot compute with into such that it can."""
    import pyarrow as pa
    import pyarrow.compute as compute

    for i, field in enumerate(table.schema):
        kind, column = field.type, table.column(i)
        if isinstance(kind, pa.BaseExtensionType):
            kind = kind.storage_type
            column = pa.chunked_array([chunk.storage for chunk in column.chunks], kind)
        if pa.types.is_run_end_encoded(kind):
            kind = kind.value_type
            column = compute.run_end_decode(column)
        if pa.types.is_string_view(kind):
            column = column.cast(pa.large_string())
        elif not _known(kind, pa.types):
            column = pa.array([None if cell is None else str(cell) for cell in column.to_pylist()])
        if column is not table.column(i):
            table = table.set_column(i, field.name, column)
    return table


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
