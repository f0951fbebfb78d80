"""Tables from HDF5 files, among them those of netCDF-4."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from princomp.io.readers.array_lookup import Member, name_list, pick_array, refuse_id_column
from princomp.io.readers.chunk_plan import Tiling
from princomp.io.readers.columns import Origin, Selection
from princomp.io.readers.packing import Packing
from princomp.io.readers.reader_errors import malformed, reading
from princomp.io.readers.source import Source
from princomp.io.readers.stored_array import StoredArray


def open_hdf5(path: Path, selection: Selection, inside: str | None = None) -> Source:
    """Open a two-dimensional dataset in an HDF5 file; its first dimension is the rows.

    MATLAB stores matrices with the columns as the first dimension: they are transposed.

    Parameters
    ----------
    path : Path
        The file.
    selection : Selection
        Columns by number, or by name if the dataset has an attribute ``columns``, a list
        of p different texts. There is no id column.
    inside : str, optional
        The dataset, or the group it is in; required if the file has several candidates.

    Returns
    -------
    Source
        Rows of shape (n, p); float32 if the dataset is float32, else float64.

    Raises
    ------
    MissingLibraryError
        h5py is not installed.
    InputNotFoundError, MalformedFileError
        The file does not exist, is damaged, is a table of pandas, or is not HDF5.
    ParameterError, ShapeError, NotNumericError
        No dataset or several datasets fit; the message lists them.
    """
    origin = Origin(str(path))
    refuse_id_column(selection, "an HDF5 dataset", origin)
    with open_file(path) as file:
        name = (inside or "").strip("/") or None
        members, frames = members_of(path, file, name)
        if frames and not any(member.is_table for member in members):
            problem = f"{frames[0]} is a frame in the layout that pandas has of its own"
            hint = "Read it by pandas.read_hdf and write it by frame.to_parquet(…)."
            raise malformed(path, problem, hint)
        member = pick_array(members, name, origin)
        with reading(path, "HDF5"):
            dataset = file[member.name]
            names = name_list(dataset.attrs.get("columns"), member.shape[1])
        return dataset_source(path, dataset, member, names, selection)


@contextmanager
def open_file(path: Path, cache: int = 0) -> Iterator[h5py.File]:
    """Open an HDF5 file to read; ``cache`` is the size in bytes of the tile cache per dataset."""
    with reading(path, "HDF5"):
        try:
            file = h5py.File(path, "r", rdcc_nbytes=cache)
        except BlockingIOError as error:
            hint = "Close it there, or copy the file once nothing is written any more."
            raise malformed(path, "another program has it open to write", hint) from error
        except OSError as error:
            with open(path, "rb") as start:
                if start.read(3) != b"CDF":
                    raise
            hint = f"Convert it: nccopy -k nc4 {shlex.quote(str(path))} new.nc"
            problem = "it is a netCDF file of the classic format, and only netCDF-4 is read"
            raise malformed(path, problem, hint) from error
    with file:
        yield file


def members_of(path: Path, file: h5py.File, inside: str | None) -> tuple[list[Member], list[str]]:
    """Arrays in the file, and the groups in which pandas stores frames.

    Arrays in such groups are left out. If ``inside`` is a dataset, only that is returned, because
    a file may have a million others.
    """
    members: list[Member] = []
    frames: list[str] = []

    def visit(name: str, node: Any) -> None:
        if frames and name.startswith(f"{frames[-1]}/"):
            return  # what a group holds is visited right after it
        if "pandas_type" in node.attrs:
            frames.append(name)
        elif isinstance(node, h5py.Dataset):
            members.append(_member(name, node))

    with reading(path, "HDF5"):
        if inside and inside in file and isinstance(file[inside], h5py.Dataset):
            # pandas marks groups, so look at each enclosing group before the dataset.
            parts = inside.split("/")
            for k in range(1, len(parts) + 1):
                visit("/".join(parts[:k]), file["/".join(parts[:k])])
        else:
            file.visititems(visit)
    return members, frames


def _member(name: str, dataset: h5py.Dataset) -> Member:
    """Describe a dataset; matrices of MATLAB, as ``save -v7.3`` writes them, are transposed."""
    shape: tuple[int, ...] = dataset.shape or ()
    dtype = dataset.dtype
    matlab_class = dataset.attrs.get("MATLAB_class")
    if matlab_class is None or len(shape) != 2:
        return Member(name, shape, dtype)
    if matlab_class in (b"char", "char"):
        dtype = np.dtype("U1")  # stored as numbers of letters
    note = f"{name} is a matrix of MATLAB, which stores the columns first: its {shape[-1]:,} rows "
    note += "are read as the rows"
    return Member(name, shape[::-1], dtype, (note,), transposed=True)


class _Transposed:
    """A dataset with rows and columns exchanged, from which slices are read."""

    def __init__(self, dataset: h5py.Dataset) -> None:
        self._dataset = dataset
        self.shape, self.dtype = dataset.shape[::-1], dataset.dtype

    def __getitem__(self, index: tuple[slice, slice]) -> NDArray[Any]:
        rows, columns = index
        values: NDArray[Any] = self._dataset[columns, rows]
        return values.T


@dataclass(kw_only=True, eq=False)
class Hdf5Array(StoredArray):
    """Rows of a dataset; h5py has a global lock, so reading in several threads gains nothing."""

    kind: str = "HDF5"

    def _open_store(self) -> AbstractContextManager[h5py.File]:
        # No cache: each tile is needed only once, and HDF5 reads uncompressed tiles in parts
        # only if they do not fit in the cache.
        return open_file(self.path)

    def _array(self, store: h5py.File) -> Any:
        dataset = super()._array(store)
        return _Transposed(dataset) if self.member.transposed else dataset


def _absent_part(path: Path, dataset: h5py.Dataset) -> str | None:
    """The first dataset that a virtual dataset refers to and that cannot be read.

    HDF5 reads fill values in place of its rows; NaN is missing in any case. Names with % stand for
    several files, and HDF5_VDS_PREFIX is put before all of them: neither is checked.
    """
    if not dataset.is_virtual or np.isnan(dataset.fillvalue) or "HDF5_VDS_PREFIX" in os.environ:
        return None
    sources = ((source.file_name, source.dset_name) for source in dataset.virtual_sources())
    for name, inside in dict.fromkeys(sources):
        if name == "." or "%" in name:
            continue
        # HDF5 looks in these places.
        places = (Path(name), path.parent / name, path.parent / Path(name).name)
        place = next((place for place in places if os.access(place, os.R_OK)), None)
        if place is None:
            return name
        with open_file(place) as file:
            if inside not in file:
                return f"{inside} of {name}"
    return None


def dataset_source(
    path: Path,
    dataset: h5py.Dataset,
    member: Member,
    names: Sequence[str] | None,
    selection: Selection,
    **more: Any,
) -> Hdf5Array:
    """Make the source of a dataset whose columns have the given names, if any."""
    with reading(path, "HDF5"):
        absent = _absent_part(path, dataset)
        if absent is not None:
            problem = f"{member.name} has rows of {absent}, which cannot be read"
            hint = "Put the file into the folder that it had, or into that of this file."
            raise malformed(path, problem, hint)
        tile_rows, tile_columns = dataset.chunks or (1, member.shape[1])
        if member.transposed:
            tile_columns, tile_rows = dataset.chunks or dataset.shape
        filters = dataset.id.get_create_plist().get_nfilters()
        nbytes = dataset.id.get_storage_size()
        packing = Packing.of_dataset(dataset)
    # For a read that spans tiles side by side, HDF5 copies only a few bytes at a time.
    tiling = Tiling(tile_rows, tile_columns, whole_tiles=filters > 0, separate_columns=True)
    more |= {"tiling": tiling, "packing": packing, "nbytes": nbytes}
    return Hdf5Array.of(path, member, names, selection, **more)
