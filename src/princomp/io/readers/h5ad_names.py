"""Names of rows and columns in AnnData files of all versions."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import NamedTuple

import h5py
import numpy as np
from numpy.typing import NDArray

from princomp.errors import ColumnError, MalformedFileError, did_you_mean
from princomp.io.readers.array_lookup import Member
from princomp.io.readers.columns import listed
from princomp.io.readers.reader_errors import file_error, malformed, reading


class NamesLocation(NamedTuple):
    """Location of names: a dataset, or a field of a dataset of records."""

    node: str
    field: str | None
    # Name of the index.
    index_name: str

    def read(self, file: h5py.File, start: int = 0, stop: int | None = None) -> NDArray[np.object_]:
        """Names ``start`` to ``stop`` as strings; call it inside ``reading``."""
        dataset = file[self.node]
        if self.field is not None:
            dataset = dataset.fields(self.field)
        elif dataset.dtype.kind in "OS":
            dataset = dataset.asstr()
        cells = dataset[start:stop]
        if cells.dtype.kind == "S":
            cells = np.char.decode(cells, "utf-8")
        if cells.dtype.kind == "O":
            texts = [x.decode() if isinstance(x, bytes) else str(x) for x in cells.tolist()]
            return np.array(texts, object)
        return cells.astype(str).astype(object)


def column_names(
    path: Path, file: h5py.File, member: Member
) -> tuple[tuple[str, ...] | None, tuple[str, ...]]:
    """Unique column names of a matrix, None if it has none, and a note if any were repeated."""
    p = member.shape[1]
    if member.name.split("/")[0] not in ("X", "raw", "raw.X", "layers"):
        return None, ()
    where = {"raw/X": "raw/var", "raw.X": "raw.var"}.get(member.name, "var")
    with reading(path, "AnnData"):
        index = _find_index(file, where)
        names = None if index is None else index.read(file).tolist()
    if names is None:
        return None, ()
    if len(names) != p:
        raise _length_error(path, where, len(names), "columns", member)
    repeated = [name for name, times in Counter(names).items() if times > 1]
    if not repeated:
        return tuple(names), ()
    repeated_names = f"{len(repeated)} repeated column name{'s' if len(repeated) > 1 else ''}"
    return _made_unique(names), (f"numbered {repeated_names}: {listed(repeated)}",)


def _made_unique(names: list[str]) -> tuple[str, ...]:
    """Make names unique, as AnnData users expect: "a", "a" become "a", "a-1"."""
    used = set(names)
    counts: Counter[str] = Counter()
    unique = []
    for name in names:
        new = name
        if counts[name]:
            while new in used:
                new = f"{name}-{counts[name]}"
                counts[name] += 1
            used.add(new)
        else:
            counts[name] = 1
        unique.append(new)
    return tuple(unique)


def row_names(path: Path, file: h5py.File, id_column: str, rows: Member) -> NamesLocation:
    """Location of the row names.

    Raises
    ------
    ColumnError
        ``id_column`` is not the name of the index, or there are no row names.
    """
    with reading(path, "AnnData"):
        index = _find_index(file, "obs")
        length = 0 if index is None else int(file[index.node].shape[0])
    problem = f"no id column {id_column!r}"
    if index is None:
        problem += ": its rows have no names"
        raise file_error(ColumnError, path, problem, "Leave the id column out.", column=id_column)
    if id_column not in ("obs_names", "_index", index.index_name):
        alternative = "" if index.index_name == "_index" else f" or {index.index_name!r}"
        hint = f"Use id_column='obs_names'{alternative}."
        raise file_error(ColumnError, path, problem, hint, column=id_column)
    if length != rows.shape[0]:
        raise _length_error(path, "obs", length, "rows", rows)
    return index


def obs_column(path: Path, name: str) -> NDArray[np.object_]:
    """Cells of a column of ``obs``; category names for categoricals, None where missing.

    Raises
    ------
    ColumnError
        There is no such column.
    """
    with reading(path, "AnnData"), h5py.File(path, "r") as file:
        obs = file.get("obs")
        known = [] if obs is None or isinstance(obs, h5py.Dataset) else list(obs)
        if name not in known:
            problem = f"obs has no column {name!r}"
            hint = f"{did_you_mean(name, known)}It has {listed(known) or 'none'}."
            raise file_error(ColumnError, path, problem, hint, column=name)
        node = obs[name]

        def cells_of(dataset: h5py.Dataset) -> NDArray[np.object_]:
            text = h5py.check_string_dtype(dataset.dtype)
            return np.asarray(dataset.asstr()[:] if text else dataset[:], dtype=object)

        def named(codes: h5py.Dataset, names: h5py.Dataset) -> NDArray[np.object_]:
            # A missing cell has the code -1, which selects the None at the end.
            return np.array([*cells_of(names), None], object)[codes[:]]

        if isinstance(node, h5py.Dataset):
            names = node.attrs.get("categories")  # until anndata 0.7
            return named(node, file[names]) if isinstance(names, h5py.Reference) else cells_of(node)
        if "codes" in node:
            return named(node["codes"], node["categories"])
        cells = cells_of(node["values"])
        cells[node["mask"][:]] = None
        return cells


def _find_index(file: h5py.File, where: str) -> NamesLocation | None:
    """The index of a frame, which is a group or, until 2019, a dataset of records."""
    if where not in file:
        return None
    frame = file[where]
    if isinstance(frame, h5py.Dataset):
        fields = frame.dtype.names or ()
        known = [name for name in ("_index", "index", *fields[:1]) if name in fields]
        return NamesLocation(where, known[0], known[0]) if known else None
    index_name = frame.attrs.get("_index", "_index")
    index_name = index_name.decode() if isinstance(index_name, bytes) else str(index_name)
    if index_name not in frame:
        return None
    node = frame[index_name]
    # Text that allows missing values is stored as a group with values and a mask.
    inner = "/values" if isinstance(node, h5py.Group) else ""
    return NamesLocation(f"{where}/{index_name}{inner}", None, index_name)


def _length_error(
    path: Path, where: str, length: int, what: str, member: Member
) -> MalformedFileError:
    axis = 0 if what == "rows" else 1
    problem = f"{where} names {length:,} {what}, but {member.name} has {member.shape[axis]:,}"
    return malformed(path, problem, "The file is not as anndata writes it: create it again.")
