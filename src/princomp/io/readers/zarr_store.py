"""Tables from Zarr stores, which are folders or zip files."""

from __future__ import annotations

import warnings
import zipfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import zarr

from princomp.io.readers.array_lookup import Member, name_list, pick_array, refuse_id_column
from princomp.io.readers.chunk_plan import Tiling
from princomp.io.readers.columns import Origin, Selection
from princomp.io.readers.packing import Packing
from princomp.io.readers.reader_errors import malformed, reading
from princomp.io.readers.source import FileState, Source, files_below
from princomp.io.readers.stored_array import StoredArray

# Files that describe an array or a group, in versions 3 and 2.
_METADATA = ("zarr.json", ".zarray", ".zgroup", ".zattrs")


def open_zarr(path: Path, selection: Selection, inside: str | None = None) -> Source:
    """Open a two-dimensional array in a Zarr store; its first dimension is the rows.

    A tile that is missing from the store reads as the array's fill value. Zarr stores tiles
    that were never written in this way, so lost tiles look the same and cannot be reported.

    Parameters
    ----------
    path : Path
        A folder or a zip file, of Zarr version 2 or 3.
    selection, inside
        As for :func:`~princomp.io.readers.hdf5.open_hdf5`, with arrays instead of datasets.

    Returns
    -------
    Source
        Rows of shape (n, p); float32 if the array is float32, else float64.

    Raises
    ------
    MissingLibraryError
        zarr is not installed.
    InputNotFoundError, MalformedFileError
        The store does not exist, is damaged, or is not Zarr.
    ParameterError, ShapeError, NotNumericError
        No array or several arrays fit; the message lists them.
    """
    origin = Origin(str(path))
    refuse_id_column(selection, "a Zarr array", origin)
    name = (inside or "").strip("/") or None
    with _open_store(path, name) as node:
        with reading(path, "Zarr"):
            if name is None and node.attrs.get("encoding-type") == "anndata":
                name = "X"  # not an embedding, which may be the only dense matrix
        member = pick_array(_members_of(path, node), name, origin)
        with reading(path, "Zarr"):
            array = node
            if node.path != member.name:
                array = node[member.name.removeprefix(node.path).strip("/")]
            names = name_list(array.attrs.get("columns"), member.shape[1])
            packing = Packing.of_zarr(array)
            tile_rows, tile_columns = array.chunks
            shards = array.shards
            if shards is not None and shards[0] * member.shape[1] <= 2**20:
                tile_rows = shards[0]
            folder = path / member.name
            nbytes = FileState.of_folder(folder).size if path.is_dir() else path.stat().st_size
        if shards is not None:
            _refuse_empty(path, member.name)
    tiling = Tiling(tile_rows, tile_columns)
    return ZarrArray.of(
        path, member, names, selection, tiling=tiling, packing=packing, nbytes=nbytes
    )


@contextmanager
def _open_store(path: Path, inside: str | None) -> Iterator[Any]:
    """Open the group or array ``inside``, or the whole store if there is none of that name."""
    with reading(path, "Zarr"):
        kind = zarr.storage.LocalStore if path.is_dir() else zarr.storage.ZipStore
        store = kind(path, read_only=True)
    try:
        node = None
        with reading(path, "Zarr"):
            for name in (inside or "", ""):
                # Zarr's own "not found" errors are subclasses of this.
                with suppress(FileNotFoundError):
                    node = zarr.open(store, path=name, mode="r")
                    break
        if node is None:
            problem = "is no Zarr store: nothing in it describes an array or a group"
            hint = "Name the folder that holds zarr.json, .zarray or .zgroup."
            raise malformed(path, problem, hint)
        yield node
    finally:
        # Closing a zip file that could not be opened raises AttributeError.
        with suppress(AttributeError):
            store.close()


def _members_of(path: Path, node: Any) -> list[Member]:
    """Arrays in the store, or in the part of it that was opened."""
    with reading(path, "Zarr"), warnings.catch_warnings():
        # The folder may hold other files; Zarr need not warn that they are not arrays.
        warnings.filterwarnings("ignore", message="Object at .* is not recognized")
        if hasattr(node, "chunks"):
            return [Member(node.path, node.shape, node.dtype)]
        return [
            Member(array.path, array.shape, array.dtype)
            for _, array in node.members(max_depth=None)
            if hasattr(array, "chunks")
        ]


@dataclass(kw_only=True, eq=False)
class ZarrArray(StoredArray):
    """Rows of an array; Zarr decompresses tiles in its own threads."""

    kind: str = "Zarr"

    def _open_store(self) -> AbstractContextManager[Any]:
        return _open_store(self.path, self.member.name)

    def _array(self, store: zarr.Array[Any]) -> zarr.Array[Any]:
        return store

    def current_states(self) -> tuple[FileState, ...]:
        """States of the metadata files, and of the folder with its total size and newest time.

        A store may have a million files, so they are not listed one by one. Rewriting a tile
        changes the newest time, and removing a tile changes the total size.
        """
        with reading(self.path, self.kind):
            if not self.path.is_dir():
                return (FileState.of(self.path),)
            folder = self.path / self.member.name
            metadata = [folder / name for name in _METADATA if (folder / name).is_file()]
            return (FileState.of_folder(folder), *map(FileState.of, metadata))


def _refuse_empty(path: Path, name: str) -> None:
    """Refuse an empty shard file, which Zarr reads as tiles that were never written.

    A full disk leaves such files. Zarr itself reports shard files that are cut short at any
    other length as damaged.
    """
    with reading(path, "Zarr"):
        if path.is_dir():
            empty = [file for file, status in files_below(path / name) if not status.st_size]
        else:
            with zipfile.ZipFile(path) as archive:
                prefix = f"{name}/" if name else ""
                empty = [
                    entry.filename
                    for entry in archive.infolist()
                    if entry.filename.startswith(prefix) and not (entry.file_size or entry.is_dir())
                ]
    if empty:
        problem = f"the file {empty[0]} in it is empty"
        raise malformed(path, problem, "Its rows are lost: create or download the store again.")
