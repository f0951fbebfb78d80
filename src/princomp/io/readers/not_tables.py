"""Errors for objects in memory that are not tables, with hints on how to get one."""

from __future__ import annotations

from typing import Any

import numpy as np

from princomp.errors import ParameterError, ShapeError, counted
from princomp.io.readers.packing import packing_of

# Hints for classes of objects that are not tables.
_CONTAINERS = {
    "anndata.AnnData": "Give adata.X, or adata.to_df() to keep the names; or the .h5ad file.",
    "anndata.CSRDataset": "Give 'path::group', which is read in blocks; or X.to_memory().",
    "anndata.CSCDataset": "Give 'path::group'; or X.to_memory().",
    "dask.Delayed": "Give dask.array.vstack([dask.array.from_delayed(x, (n, p), float) for x in "
    "parts]); of frames, dask.dataframe.from_delayed(parts); or (x.compute() for x in parts).",
    "h5py.Group": "Give the path of the file, or 'path::group'; or an array: X['name'].",
    "numpy.NpzFile": "Give the path of the file, or an array of it: X[name], a name of X.files.",
    "pandas.DataFrameGroupBy": "Give X.obj, all rows, or fit each group: for name, group in X.",
    "polars.GroupBy": "Fit each group: for name, group in X.",
    "pyarrow.Dataset": "Give data.to_batches, a function that reads it batch by batch; or lambda: "
    "data.to_batches(columns=names), for some of its columns.",
    "pyarrow.Scanner": "Give data.to_batches, a function that reads it batch by batch; "
    "dataset.scanner(columns=names) chooses columns.",
    "torch.DataLoader": "Give lambda: iter(X), a function that reads it batch by batch; if batches "
    "hold rows and labels, lambda: (rows for rows, *_ in X). Leave shuffle off.",
    "xarray.Dataset": "Give one array of it: data['name']; or, if all have one dimension, "
    "data.to_dataframe().",
}
# Types of the rows of a list.
_ROW_TYPES = (list, tuple, np.ndarray)


def refuse_containers(X: object) -> None:
    """Refuse objects that hold several tables, or read one from files.

    Raises
    ------
    ParameterError
        With a hint on how to get a table.
    """
    for kind in type(X).__mro__:
        name = f"{kind.__module__.partition('.')[0]}.{kind.__name__}"
        if name in _CONTAINERS:
            place = {"parameter": "X"}
            raise ParameterError(f"{name} is not a table", place=place, hint=_CONTAINERS[name])


def shape_error(X: Any) -> ShapeError | None:
    """Make an error for data that do not have rows and columns, if that is so."""
    kind = type(X).__name__
    try:
        shape = np.shape(X)
    except ValueError:
        lengths = [len(row) if isinstance(row, _ROW_TYPES) else 1 for row in X]
        i = next((i for i, length in enumerate(lengths) if length != lengths[0]), None)
        if i is None:
            return None
        problem = f"row {i} has {counted(lengths[i], 'value')}, and row 0 has {lengths[0]:,}"
        return ShapeError(problem, place={"row": i}, hint="write nan for missing values")
    if getattr(getattr(X, "dtype", None), "names", None):
        problem = f"a {kind} with named fields is not a table"
        return ShapeError(problem, hint="make a frame: pandas.DataFrame(X)")
    if len(shape) == 2:
        return None
    if isinstance(X, dict) or (isinstance(X, list) and X and isinstance(X[0], dict)):
        what = "a dict" if isinstance(X, dict) else "a list of dicts"
        return ShapeError(f"{what} is not a table", hint="make a frame: pandas.DataFrame(X)")
    problem = f"a table has rows and columns, but this {kind} has shape {shape}"
    if not shape:
        problem = f"a {kind} cannot be read as a table"
        hint = "give an array of shape (n, p), a frame, or the name of a file"
    elif len(shape) == 1:
        column = as_one_row(X).replace("(1, -1)", "(-1, 1)")
        if not hasattr(X, "__array__"):
            column = "[[x] for x in X]"
        elif hasattr(X, "to_frame"):
            column = "X.to_frame()"
        hint = f"Reshape your data: {as_one_row(X)} is one row, {column} one column"
        hint = stack_hint(X) or hint
    elif hasattr(X, "dims") and hasattr(X, "stack"):
        time = "time" if "time" in X.dims else X.dims[0]
        others = tuple(dim for dim in X.dims if dim != time)
        hint = f"X.stack(space={others!r}) makes a row for each {time!r}"
    else:
        array = _as_code(X)
        hint = (
            f"{array}.reshape(len(X), -1) makes a row of each X[i], such as an image; "
            f"{array}.reshape(-1, {shape[-1]}) keeps the last axis as columns, such as the bands "
            "of a pixel"
        )
        if packing_of(X).changes_numbers:
            hint += "; unpack its numbers as its attributes say, or read it by xarray, which does"
    return ShapeError(problem, hint=hint)


def stack_hint(X: Any) -> str | None:
    """Hint for X of one dimension whose cells are vectors; None for others."""
    if not len(X) or np.ndim(np.asarray(X)[0]) != 1:
        return None
    is_array = hasattr(X, "reshape") or hasattr(X, "to_frame")
    cells = "X" if is_array else "numpy.asarray(X)"
    return f"numpy.stack({cells}) makes each vector X[i] a row"


def _as_code(X: object) -> str:
    """Code that converts X to an array."""
    if hasattr(X, "reshape") and not hasattr(X, "to_frame"):
        return "X"
    if hasattr(X, "values") and not hasattr(X, "to_frame"):
        return "X.values"
    if hasattr(X, "attrs") or hasattr(X, "dimensions"):  # of an open file
        return "X[:]"
    return "numpy.asarray(X)"


def as_one_row(X: object) -> str:
    """Code that makes a table of one row from X of one dimension."""
    if hasattr(X, "iloc"):
        return "X.to_frame().T"
    return f"{_as_code(X)}.reshape(1, -1)" if hasattr(X, "__array__") else "[X]"
