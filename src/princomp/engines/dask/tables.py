"""Conversion of Dask arrays and data frames to rows: what is accepted, in which precision."""

from __future__ import annotations

from typing import Any

import dask.array as da
import narwhals as nw
import numpy as np
import scipy.sparse as sp
from dask.utils import is_dataframe_like, is_series_like

from princomp.engines.dask.rows import DaskRows, float_dtype, partition_blocks
from princomp.engines.dask.tasks import hstack
from princomp.errors import NotNumericError, ParameterError, ShapeError
from princomp.io import Origin, as_rows, kind_name, left_out_notes, refuse_duplicates


def rows_of(X: object) -> DaskRows:
    """Return the rows of a Dask array (n, p) or data frame; nothing is computed.

    Raises
    ------
    ShapeError
        If X does not have two dimensions, or its number of columns is unknown.
    NotNumericError
        If the array, or every column of the frame, is not numeric.
    ParameterError
        For another collection of Dask.
    """
    if isinstance(X, da.Array):
        return _array_rows(X)
    if is_dataframe_like(X):
        return _frame_rows(X)
    if is_series_like(X):
        raise _not_2d(1, "give a frame of one column: X.to_frame()")
    raise ParameterError(
        f"X must be a Dask array or data frame, got a Dask {type(X).__name__}",
        place={"parameter": "X"},
        hint="convert it: dask.array.from_delayed(…), or bag.to_dataframe()",
    )


def _array_rows(X: da.Array) -> DaskRows:
    if X.ndim != 2:
        raise _not_2d(X.ndim, "reshape it: x.reshape(-1, 1) is one column, (1, -1) one row")
    n, p = X.shape
    if p != p:
        raise ShapeError(
            "the number of columns of this Dask array is not known",
            hint="call x.compute_chunk_sizes(), or give the chunks where the array is made",
        )
    if X.dtype.kind not in "fiubc":
        raise NotNumericError(
            f"a Dask array of dtype {X.dtype} is not numeric",
            hint="convert it: x.astype(float)",
        )
    if X.dtype.kind == "c":
        as_rows(np.empty((1, p), X.dtype))  # raises, with a hint
    meta = X._meta
    sparse = sp.issparse(meta) or hasattr(meta, "to_scipy_sparse")
    if X.numblocks[1] > 1:
        X = da.blockwise(
            hstack, "ik", X, "ij", new_axes={"k": p}, concatenate=False, dtype=X.dtype, meta=meta
        )
    return DaskRows(
        rows=None if n != n else n,
        p=p,
        dtype=float_dtype([X.dtype]),
        # Only the chunks know how many numbers are stored.
        stored=0 if sparse else None,
        array=X,
    )


def _frame_rows(X: Any) -> DaskRows:
    all_labels = list(X.columns)
    refuse_duplicates([str(label) for label in all_labels], Origin(None))
    left_out = {}
    for label, kind in nw.from_native(X._meta).schema.items():
        letter = getattr(X.dtypes[label], "kind", "O")
        if letter == "c":
            as_rows(np.empty((1, 1), complex))  # raises, with a hint
        if letter not in "fiu":
            left_out[str(label)] = kind_name(kind)
    labels = [label for label in all_labels if str(label) not in left_out]
    if not labels:
        raise NotNumericError(
            f"the frame has no column of numbers: {'; '.join(left_out_notes(left_out))}",
            place={"columns": list(left_out)},
            hint="convert the columns to analyse: df.astype(float)",
        )
    if left_out:
        X = X[labels]
    has_names = any(isinstance(label, str) for label in labels)
    return DaskRows(
        rows=None,
        p=len(labels),
        dtype=float_dtype(X.dtypes),
        columns=tuple(map(str, labels)) if has_names else None,
        notes=left_out_notes(left_out),
        array=partition_blocks(X),
        frame=X,
    )


def _not_2d(ndim: int, hint: str) -> ShapeError:
    return ShapeError(f"Expected 2D array, got {ndim}D array instead, on Dask", hint=hint)
