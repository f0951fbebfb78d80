"""Arrays of other libraries: their namespace, their device, and copies to and from the host.

Nothing here imports such a library: an engine makes a :class:`Space` for the arrays it was
given, and all arithmetic on them uses only the array API standard.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from princomp.linalg import FloatArray, slices

# An array or a scalar of another library: the array API standard defines no types for them.
DeviceArray: TypeAlias = Any

# Blocks of wide rows have more than ``block_size`` numbers, but at most this many rows.
_MAX_ROWS = 4096


@dataclass(frozen=True, eq=False)
class Space:
    """An array namespace and one of its devices.

    Parameters
    ----------
    xp : module
        Namespace of the array API standard.
    device : object
        A device of the namespace.
    name : str
        Name in messages, such as ``"cuda:0"``.
    to_host : callable
        Converts an array on the device to a NumPy array.
    block_size : int
        Size of a block of rows, in numbers, that is processed at a time.
    full_precision : callable
        Returns a context manager in which products use full float32 precision.
    qr_r : callable, optional
        Returns the R of a QR factorisation, if the namespace can compute it without Q.
    free_memory : callable
        Returns the free memory of the device in bytes, or None if it shares the memory of the
        host.
    """

    xp: Any
    device: Any
    name: str
    to_host: Callable[[Any], Any]
    block_size: int = 2**20
    full_precision: Callable[[], AbstractContextManager[Any]] = nullcontext
    qr_r: Callable[[Any], Any] | None = None
    free_memory: Callable[[], int | None] = lambda: None

    def rows_at_a_time(self, p: int) -> int:
        """Rows of a block of p columns: enough to make work on p × p numbers a small share."""
        return max(self.block_size // max(p, 1), min(p, _MAX_ROWS), 256)

    @property
    def doubles(self) -> Any:
        """The float64 dtype of the namespace."""
        return self.xp.float64

    def dtype(self, dtype: DTypeLike) -> Any:
        """Return the dtype of the namespace, float32 or float64, for a dtype of NumPy."""
        return self.xp.float32 if np.dtype(dtype).itemsize == 4 else self.xp.float64

    def put(self, array: ArrayLike, dtype: DTypeLike = np.float64) -> DeviceArray:
        """Copy a host array to the device."""
        # In C order and writeable: libraries differ in whether they accept other arrays.
        host = np.require(array, dtype=dtype, requirements=["C", "W"])
        return self.xp.asarray(host, device=self.device)

    def get(self, array: DeviceArray) -> FloatArray:
        """Copy a device array to the host, in float64."""
        return np.asarray(self.to_host(array), dtype=np.float64)

    def cast(self, array: DeviceArray, dtype: DTypeLike) -> DeviceArray:
        """Return a device array as float32 or float64: a copy only if its dtype differs."""
        return self.xp.astype(array, self.dtype(dtype), copy=False)

    def zeros(self, *shape: int) -> DeviceArray:
        """Return zeros on the device, in float64."""
        return self.xp.zeros(shape, dtype=self.doubles, device=self.device)

    def is_same_device(self, other: Space) -> bool:
        """Whether both are the same device, so that their arrays can be added."""
        return self.xp is other.xp and bool(self.device == other.device)

    def diagonal(self, matrix: DeviceArray) -> DeviceArray:
        """Return the diagonal of a square matrix in C order."""
        n, _ = matrix.shape
        return self.xp.reshape(matrix, (n * n,))[:: n + 1]

    def add_outer(self, matrix: DeviceArray, factor: float, vector: DeviceArray) -> None:
        """Add ``factor · vector vectorᵀ`` to ``matrix`` in place, some rows at a time."""
        (size,) = vector.shape
        for some in slices(size, max(1, self.block_size // max(size, 1))):
            part = matrix[some, :]
            part += (factor * vector[some])[:, None] * vector[None, :]

    def first_true(self, mask: DeviceArray) -> tuple[int, int] | None:
        """Return row and column of the first true entry of an array (n, p), or None."""
        xp = self.xp
        if not bool(xp.any(mask)):
            return None
        row = int(xp.argmax(xp.astype(xp.any(mask, axis=1), xp.int8)))
        return row, int(xp.argmax(xp.astype(mask[row, :], xp.int8)))

    def all_finite(self, array: DeviceArray) -> bool:
        """Whether there is no NaN and no infinity; copies one number to the host."""
        return bool(self.xp.all(self.xp.isfinite(array)))


class DeviceBlock(NamedTuple):
    """Consecutive rows on a device, in the precision of the data, and their weights."""

    start: int
    rows: DeviceArray
    weights: DeviceArray = None


class DeviceTable(Protocol):
    """Rows (n, p) on a device, as summaries read them."""

    p: int
    dtype: np.dtype[Any]
    # Whether the blocks can be read again.
    repeatable: bool

    @property
    def space(self) -> Space:
        """The device of the rows."""

    def blocks(self, step: int) -> Iterator[DeviceBlock]:
        """Blocks of at most ``step`` rows, in order; none is empty."""
