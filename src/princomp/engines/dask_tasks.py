"""What runs in Dask's tasks: a chunk becomes rows, and rows a share or scores.

Nothing here needs Dask.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from princomp.engines.local import share_of
from princomp.engines.shares import Share, joined
from princomp.errors import NotFiniteError, ParameterError, PrincompError, ShapeError
from princomp.sources.memory import from_sparse, in_memory

__all__ = [
    "WEIGHTS",
    "Form",
    "beside",
    "itself",
    "joined_shares",
    "lawful",
    "mapped_chunk",
    "mapped_frame",
    "named",
    "placed",
    "share_of_chunk",
    "unequal_lengths",
]

# Where a fault in the weights is.
WEIGHTS = {"parameter": "sample_weight"}


class Form(NamedTuple):
    """What a chunk is to become."""

    p: int
    dtype: np.dtype[Any]
    weight_column: Any


def beside(blocks: list[Any]) -> Any:
    """The chunks of some rows side by side."""
    blocks = [_scipy(block) for block in blocks]
    if any(sp.issparse(block) for block in blocks):
        return sp.hstack([sp.csr_array(block) for block in blocks], format="csr")
    return np.concatenate(blocks, axis=1)


def _scipy(block: Any) -> Any:
    return block.to_scipy_sparse() if hasattr(block, "to_scipy_sparse") else block


def lawful(block: Any, form: Form) -> tuple[Any, Any]:
    """A chunk as rows of the table's precision, dense or CSR, and its column of weights."""
    weights = None
    if form.weight_column is not None:
        weights = block[form.weight_column].to_numpy()
        block = block.drop(columns=form.weight_column)
    block = _scipy(block)
    if np.ndim(block) != 2 or block.shape[1] != form.p:
        raise ShapeError(
            f"a chunk has shape {block.shape}, and the Dask table says {form.p} columns",
            hint="give the right chunks (meta=, shape=) where the table is made",
        )
    if block.shape[0] == 0:
        return np.empty((0, form.p), form.dtype), weights
    if sp.issparse(block):
        rows = from_sparse(block)
    elif isinstance(block, np.ma.MaskedArray):
        rows = np.ma.filled(block.astype(form.dtype), np.nan)
    else:
        rows = in_memory(block)[0]
    return rows.astype(form.dtype, copy=False), weights


def share_of_chunk(
    block: Any, weights: Any, kind: Any, *, form: Form, drop: bool, precise: bool
) -> Share:
    """The share of one chunk, faults included."""
    n = block.shape[0]
    try:
        rows, own = lawful(block, form)
        weights = _checked(weights if own is None else own, n)
    except PrincompError as error:
        fault = error
        if "row" in error.place and "parameter" not in error.place:
            told = f"{error.message} (counted in its chunk)"
            fault = type(error)(told, place=error.place, hint=error.hint)
        return Share(None, 0, n, fault)
    return share_of(kind, rows, weights, drop=drop, precise=precise)


def _checked(weights: Any, n: int) -> Any:
    """Frequencies of the rows of a chunk."""
    if weights is None:
        return None
    weights = np.asarray(weights, dtype=np.float64)
    if weights.ndim == 0:
        weights = np.full(n, float(weights))
    if weights.shape != (n,):
        raise unequal_lengths(len(weights), n, "rows in the same chunk")
    wrong = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if wrong.size:
        raise ParameterError(
            f"Negative values, NaN or infinity in sample_weight: one is {weights[wrong[0]]:g}",
            place={**WEIGHTS, "row": int(wrong[0])},
            hint="weights are frequencies: finite and not below 0",
        )
    return weights


def joined_shares(shares: list[Share]) -> Share:
    """The share of the rows of all, in their order."""
    return reduce(joined, shares)


def placed(share: Share) -> Share:
    """The share of all chunks, whose fault says its row where nobody adds it later."""
    fault = share.fault
    if fault is None or "row" not in fault.place or isinstance(fault, NotFiniteError):
        return share
    told = f"row {fault.place['row']} of all: {fault.message}"
    return share._replace(fault=type(fault)(told, place=fault.place, hint=fault.hint))


def mapped_chunk(
    block: Any,
    function: Callable[[Any], Any],
    *,
    form: Form,
    k: int,
    dtype: np.dtype[Any],
    block_id: tuple[int, ...] | None = None,
) -> Any:
    """The function of a chunk's rows, of which there may be none."""
    rows = lawful(block, form)[0]
    if rows.shape[0] == 0:
        return np.empty((0, k), dtype)
    try:
        return function(rows).astype(dtype, copy=False)
    except NotFiniteError as error:
        chunk = "its chunk" if block_id is None else f"chunk {block_id[0]}"
        told = f"{error.message} (counted in {chunk})"
        raise NotFiniteError(told, place=error.place, hint=error.hint) from None


def mapped_frame(
    partition: Any,
    function: Callable[[Any], Any],
    *,
    form: Form,
    names: tuple[str, ...],
    dtype: np.dtype[Any],
) -> Any:
    """The function of the rows of a frame's partition, with its index."""
    values = mapped_chunk(partition, function, form=form, k=len(names), dtype=dtype)
    return named(values, names, partition)


def named(values: Any, names: tuple[str, ...], like: Any) -> Any:
    """A frame of the kind and with the index of another."""
    return type(like)(values, columns=list(names), index=like.index)


def unequal_lengths(weights: Any, rows: Any, what: str) -> ShapeError:
    """The error for weights that do not line up with the rows."""
    return ShapeError(
        f"Sample weights must be 1D array or scalar: sample_weight has {weights} and X has {rows} "
        f"{what}",
        place=WEIGHTS,
        hint="give one weight a row, in chunks of the same rows",
    )


def itself(partition: Any) -> Any:
    """A partition as a chunk of an array."""
    return partition
