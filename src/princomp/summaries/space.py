"""Arrays of other libraries: their namespace, the device, and copies there and back.

Nothing here imports such a library: an engine makes a :class:`Space` of the arrays it was
given, and all arithmetic on them is written against the array API standard.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from princomp.linalg import FloatArray

# An array of another library, or a scalar of it: the array API standard has no types.
DeviceArray: TypeAlias = Any


@dataclass(frozen=True, eq=False)
class Space:
    """An array namespace and a device of it.

    Parameters
    ----------
    xp : module
        Of the array API standard.
    device : object
        In the namespace's terms.
    name : str
        For messages, such as ``"cuda:0"``.
    to_host : callable
        Maps an array there to a NumPy array.
    numbers : int
        Of a block of rows that is worked on at a time.
    exact : callable
        A context in which float32 products keep all their bits.
    triangle : callable, optional
        The R of a QR factorisation, where the namespace can do without Q.
    free : callable
        Bytes that are free on the device; None where it shares this process's memory.
    """

    xp: Any
    device: Any
    name: str
    to_host: Callable[[Any], Any]
    numbers: int = 2**20
    exact: Callable[[], AbstractContextManager[Any]] = nullcontext
    triangle: Callable[[Any], Any] | None = None
    free: Callable[[], int | None] = lambda: None

    @property
    def doubles(self) -> Any:
        """float64 of the namespace."""
        return self.xp.float64

    def dtype(self, dtype: DTypeLike) -> Any:
        """Return the precision of the namespace for one of NumPy."""
        return self.xp.float32 if np.dtype(dtype).itemsize == 4 else self.xp.float64

    def put(self, array: ArrayLike, dtype: DTypeLike = np.float64) -> DeviceArray:
        """Copy a host array to the device."""
        # In C order and writeable: libraries differ in how they take other arrays.
        host = np.require(array, dtype=dtype, requirements=["C", "W"])
        return self.xp.asarray(host, device=self.device)

    def get(self, array: DeviceArray) -> FloatArray:
        """Copy a device array to the host, in float64."""
        host: FloatArray = np.asarray(self.to_host(array)).astype(np.float64, copy=False)
        return host

    def zeros(self, *shape: int) -> DeviceArray:
        """Zeros in float64."""
        return self.xp.zeros(shape, dtype=self.doubles, device=self.device)

    def same(self, other: Space) -> bool:
        """Whether arrays of both can be added."""
        return self.xp is other.xp and bool(self.device == other.device)

    def diagonal(self, matrix: DeviceArray) -> DeviceArray:
        """Return the diagonal of a square matrix in C order."""
        return self.xp.reshape(matrix, (-1,))[:: matrix.shape[0] + 1]

    def add_outer(self, matrix: DeviceArray, factor: float, vector: DeviceArray) -> None:
        """Add ``factor · vector vectorᵀ`` in place, some rows at a time."""
        size = vector.shape[0]
        panel = max(1, self.numbers // max(size, 1))
        for start in range(0, size, panel):
            stop = min(start + panel, size)
            part = matrix[start:stop, :]
            part += (factor * vector[start:stop])[:, None] * vector[None, :]

    def all_finite(self, array: DeviceArray) -> bool:
        """Whether there is no NaN and no infinity; one number is copied to the host."""
        return bool(self.xp.all(self.xp.isfinite(array)))


class DeviceBlock(NamedTuple):
    """Consecutive rows on a device, in their own precision, and their weights."""

    start: int
    rows: DeviceArray
    weights: DeviceArray = None


class DeviceTable(Protocol):
    """Rows (n, p) on a device, as summaries see them."""

    p: int
    dtype: np.dtype[Any]
    # Whether its blocks can be read again.
    repeatable: bool

    @property
    def space(self) -> Space:
        """Where the rows are."""

    def blocks(self, step: int) -> Iterator[DeviceBlock]:
        """Blocks of at most ``step`` rows, in order."""
