"""Conversion of arrays of torch and CuPy to rows that stay on their device.

Means, variances and axes are copied to the host (p × k numbers and a few times p); the rows, the
scatter and the scores stay where they are. :mod:`~princomp.engines.device.stream` brings rows
of any other origin to a device, block by block.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from princomp import io
from princomp.engines.device.rows import DeviceRows, weights_on
from princomp.engines.device.spaces import space_named, space_of
from princomp.engines.distributed import DistributedRows, PartialResult, RowFunction, SummaryKind
from princomp.engines.local import reduce_partition
from princomp.errors import NotAvailableError, NotNumericError, ShapeError, row_words
from princomp.io import LARGEST_INTEGER, Chunk, as_rows, from_sparse
from princomp.summaries import Space


@dataclass(kw_only=True, eq=False)
class SparseTensor(DistributedRows):
    """A sparse torch tensor in the host's memory, as SciPy's CSR rows."""

    csr: sp.csr_array

    def chunks(self, start: int = 0) -> Iterator[Chunk]:
        """Yield the rows from number ``start`` on."""
        yield Chunk(self.csr[start:])

    def weighted(self, weights: Any) -> Self:
        """Return the same rows with frequencies."""
        on_cpu = weights_on(space_named("cpu"), weights, self.csr.shape[0])
        return replace(self, weights=on_cpu.numpy())

    def fingerprint(self) -> tuple[str, ...]:
        """Return a checksum of the rows and their weights."""
        weights = [] if self.weights is None else [self.weights]
        return (f"rows with checksum {io.checksum([*io.stored_arrays(self.csr), *weights])}",)

    def reduce(self, kind: SummaryKind, *, drop: bool, precise: bool) -> PartialResult:
        """Summarise all rows in one pass."""
        return reduce_partition(kind, self.csr, self.weights, drop=drop, precise=precise)

    def map_rows(self, function: RowFunction, names: tuple[str, ...], dtype: np.dtype[Any]) -> Any:
        """Apply a function to the rows, and return a dense tensor."""
        import torch

        return torch.from_numpy(np.ascontiguousarray(function(self.csr)))


def rows_of(X: Any, columns: Sequence[str] = ()) -> DistributedRows | None:
    """Return the rows of a device array, neither copied nor changed; None for anything else.

    float32 and float64 keep their precision; float16 and bfloat16 become float32, integers and
    booleans float64, block by block. Gradients are not tracked: rows are detached. A device array
    has no names of ``columns``, which are ignored.

    Raises
    ------
    ShapeError, NotNumericError, NotAvailableError
    """
    if not hasattr(X, "__dlpack__"):
        return None
    if getattr(X, "is_nested", False):
        raise ShapeError(
            "Expected 2D array, got a nested tensor instead",
            hint="rows of one length: torch.nested.to_padded_tensor(X, float('nan'))",
        )
    shape = tuple(X.shape)
    if len(shape) != 2:
        io.in_memory(np.broadcast_to(0.0, shape))  # raises, with a hint
    if hasattr(X, "detach"):
        X = X.detach()
        if str(X.layout) != "torch.strided":
            return _sparse_rows(X)
    if shape[0] == 0:
        as_rows(np.empty(shape))  # raises
    space = space_of(X)
    return DeviceRows(
        engine=space.name,
        rows=shape[0],
        p=shape[1],
        dtype=_precision(X, space),
        nbytes=shape[0] * shape[1] * X.dtype.itemsize if hasattr(X.dtype, "itemsize") else None,
        space=space,
        array=X,
    )


def _precision(X: Any, space: Space) -> np.dtype[Any]:
    """Return the precision of the computation."""
    xp, name = space.xp, str(X.dtype).rpartition(".")[2]
    if name in ("float16", "bfloat16", "float32"):
        return np.dtype(np.float32)
    if name.startswith("complex"):
        as_rows(np.empty((1, 1), name.replace("complex32", "complex64")))  # raises
    if name in ("int64", "uint64"):
        # Not every library compares unsigned integers; from 2⁶³ on they turn negative here.
        signed = xp.astype(X, xp.int64, copy=False)
        smallest = -LARGEST_INTEGER if name == "int64" else 0
        if cell := space.first_true((signed > LARGEST_INTEGER) | (signed < smallest)):
            row, column = cell
            value = int(space.to_host(X[row, column]))
            raise NotNumericError(
                f"the integer {value} at {row_words(row)}, column {column} is beyond 2**53, and "
                "float64 cannot hold it exactly",
                place={"row": row, "column": column},
                hint="subtract a constant, or convert to float64 yourself if its last digits do "
                "not matter",
            )
    return np.dtype(np.float64)


def _sparse_rows(X: Any) -> SparseTensor:
    """Wrap a sparse tensor as a SciPy array that shares its memory; refuse one on a GPU."""
    import torch

    if X.device.type != "cpu":
        raise NotAvailableError(
            f"sparse rows on {X.device} cannot be centred there without making them dense",
            hint="X.to_dense() where that fits on the device, or X.cpu()",
        )
    if X.dense_dim():
        raise NotAvailableError(
            "this sparse tensor is hybrid: its values are vectors, not numbers",
            hint="X.to_dense(), or X.to_dense().to_sparse_csr()",
        )
    # NumPy and SciPy lack some types of torch or cannot compute with them, and repeated cells of
    # short integers may add up to more than these hold.
    if X.dtype.is_floating_point or X.dtype.is_complex:
        X = X.to(torch.promote_types(X.dtype, torch.float32))
    elif X.dtype != torch.bool:
        X = X.to(torch.int64)
    if str(X.layout) == "torch.sparse_csr":
        parts = tuple(part.numpy() for part in (X.values(), X.col_indices(), X.crow_indices()))
    else:
        coo = X.to_sparse_coo().coalesce()
        parts = coo.values().numpy(), tuple(coo.indices().numpy())
    rows = from_sparse(sp.csr_array(parts, shape=tuple(X.shape)))
    return SparseTensor(
        engine="torch",
        rows=rows.shape[0],
        p=rows.shape[1],
        dtype=rows.dtype,
        stored=rows.nnz,
        csr=rows,
    )
