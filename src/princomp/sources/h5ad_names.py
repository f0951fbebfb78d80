"""Names of rows and columns in AnnData files of all ages."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from princomp.errors import ColumnError, MalformedFileError
from princomp.sources.columns import listed
from princomp.sources.faults import reading
from princomp.sources.members import Member, need

__all__ = ["Names", "column_names", "row_names"]


class Names(NamedTuple):
    """Where names lie: in a dataset, or in a field of one with records."""

    node: str
    field: str | None
    # What the index is called.
    title: str

    def read(self, file: Any, start: int = 0, stop: int | None = None) -> NDArray[np.object_]:
        """Names number ``start`` to ``stop`` as texts; to be called inside of ``reading``."""
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
    path: Path, file: Any, member: Member
) -> tuple[tuple[str, ...] | None, tuple[str, ...]]:
    """Different names for the columns of a matrix, if it has such, and a note if they were not."""
    p = member.shape[1]
    if member.name.split("/")[0] not in ("X", "raw", "raw.X", "layers"):
        return None, ()
    where = {"raw/X": "raw/var", "raw.X": "raw.var"}.get(member.name, "var")
    with reading(path, "AnnData"):
        index = _index(path, file, where)
        names = None if index is None else index.read(file).tolist()
    if names is None:
        return None, ()
    if len(names) != p:
        raise _other_length(path, where, len(names), "columns", member)
    twice = [name for name, times in Counter(names).items() if times > 1]
    if not twice:
        return tuple(names), ()
    many = "1 name of columns stands" if len(twice) == 1 else f"{len(twice)} names of columns stand"
    return _numbered(names), (f"{many} there more than once and got numbers: {listed(twice)}",)


def _numbered(names: list[str]) -> tuple[str, ...]:
    """Make names different: "a", "a" become "a", "a-1", as people who use AnnData expect."""
    taken = set(names)
    met: Counter[str] = Counter()
    different = []
    for name in names:
        new = name
        if met[name]:
            while new in taken:
                new = f"{name}-{met[name]}"
                met[name] += 1
            taken.add(new)
        else:
            met[name] = 1
        different.append(new)
    return tuple(different)


def row_names(path: Path, file: Any, id_column: str, rows: Member) -> Names:
    """Where the names of the rows lie.

    Raises
    ------
    ColumnError
        ``id_column`` is not what they are called.
    """
    with reading(path, "AnnData"):
        index = _index(path, file, "obs")
        length = None if index is None else file[index.node].shape[0]
    if index is None or id_column not in ("obs_names", "_index", index.title):
        called = "" if index is None or index.title == "_index" else f", here also {index.title!r}"
        raise ColumnError(
            f"{path}: no id column {id_column!r}"
            + (": its rows have no names" if index is None else ""),
            place={"file": str(path), "column": id_column},
            hint="Leave the id column out."
            if index is None
            else f"The names of the rows are called 'obs_names'{called}.",
        )
    if length != rows.shape[0]:
        raise _other_length(path, "obs", int(length or 0), "rows", rows)
    return index


def _index(path: Path, file: Any, where: str) -> Names | None:
    """The index of a frame: of a group, or of a dataset with records, as it was until 2019."""
    h5py = need("h5py", path)
    if where not in file:
        return None
    frame = file[where]
    if isinstance(frame, h5py.Dataset):
        fields = frame.dtype.names or ()
        known = [name for name in ("_index", "index", *fields[:1]) if name in fields]
        return Names(where, known[0], known[0]) if known else None
    title = frame.attrs.get("_index", "_index")
    title = title.decode() if isinstance(title, bytes) else str(title)
    if title not in frame:
        return None
    node = frame[title]
    # Texts of which some could be missing are a group of values and a mask.
    inner = "/values" if isinstance(node, h5py.Group) else ""
    return Names(f"{where}/{title}{inner}", None, title)


def _other_length(
    path: Path, where: str, length: int, what: str, member: Member
) -> MalformedFileError:
    k = 0 if what == "rows" else 1
    return MalformedFileError(
        f"{path}: {where} names {length:,} {what}, but {member.name} has {member.shape[k]:,}",
        place={"file": str(path)},
        hint="The file is not as anndata writes it: make it anew.",
    )
