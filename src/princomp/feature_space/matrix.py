"""The centred kernel matrix of n rows, as products with vectors.

K is cut into stripes of rows, of which only the part from the diagonal on is computed: a tile
serves both sides of it. As many tiles are kept as memory allows; the others are computed again
for each product, so that nothing of order n² has to be held.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np

from princomp.arrays import FloatArray, empty, one_blas_thread
from princomp.errors import DataError, NotFiniteError
from princomp.feature_space.centring import Centring, Spread
from princomp.kernel_functions import KernelFunction
from princomp.threads import in_order

__all__ = ["GivenMatrix", "KernelMatrix", "Products"]

# Rows of a stripe, and columns of the part of it that is worked on at a time: 2 MB of float64.
_ROWS, _COLUMNS = 256, 1024
# Of more rows than this not all tiles are kept: to compute one costs as much as two products with
# it, and half a matrix of 10,000 rows is 400 MB.
_ALL_KEPT, _KEPT = 5000, 0.86


class Products(Protocol):
    """A kernel matrix as solvers see it."""

    n: int
    dtype: np.dtype[Any]
    centring: Centring
    spread: Spread
    # The centred matrix times random vectors (n, m), where that came for nothing.
    first: FloatArray | None

    def apply(self, vectors: FloatArray) -> FloatArray:
        """The centred matrix times vectors (n, m), in float64."""

    def dense(self) -> FloatArray:
        """The centred matrix (n, n), as a new array."""

    @property
    def products(self) -> int:
        """How often K was multiplied or made."""

    @property
    def kept(self) -> float:
        """Share of K that is in memory from one product to the next."""

    @property
    def kept_bytes(self) -> int:
        """What it takes there."""


class KernelMatrix:
    """Of a kernel function and rows.

    Parameters
    ----------
    function : KernelFunction
    rows : array or CSR array of shape (n, p)
        float32 or float64; so are the tiles.
    weights : ndarray of shape (n,), optional
        Frequencies, all of them positive.
    memory : int
        Bytes that tiles may take for longer than a moment.
    width : int
        Random vectors that are multiplied in the pass that finds the means.
    """

    def __init__(
        self,
        function: KernelFunction,
        rows: Any,
        weights: FloatArray | None = None,
        *,
        memory: int,
        width: int = 0,
    ) -> None:
        self.function, self.rows = function, rows
        self.n, self.dtype = rows.shape[0], np.dtype(rows.dtype)
        self.products = 0
        self._sides = function.sides(rows)
        self._kept: dict[tuple[int, int], FloatArray] = {}
        # The stripe from row i on has n − i columns: the first ones are the longest.
        starts = np.arange(0, self.n, _ROWS)
        sizes = np.cumsum(_ROWS * (self.n - starts)) * self.dtype.itemsize
        most = min(memory, _KEPT * sizes[-1]) if self.n > _ALL_KEPT else memory
        self._stripes_kept = int(np.searchsorted(sizes, most, side="right"))
        self.kept_bytes = int(sizes[self._stripes_kept - 1]) if self._stripes_kept else 0
        self.kept = self.kept_bytes / float(sizes[-1])
        self.centring = Centring.of(weights, self.n)
        count = np.ones(self.n) if weights is None else weights
        drawn = np.random.default_rng(0).standard_normal((self.n, width))
        vectors = np.column_stack([count, self.centring.before(drawn)])
        with np.errstate(all="ignore"):
            images = self._times(vectors.astype(self.dtype))
        sums = images[:, 0]
        if not np.isfinite(sums).all():
            raise _not_finite(int(np.flatnonzero(~np.isfinite(sums))[0]), function.name)
        self.spread = Spread.of(self.centring, sums / count.sum(), function.diagonal(rows))
        self.first = self.centring.after(images[:, 1:].copy()) if width else None

    def apply(self, vectors: FloatArray) -> FloatArray:
        """The centred matrix times vectors (n, m), in float64."""
        # In C order, as tiles take some rows of them at a time.
        before = np.array(self.centring.before(vectors), self.dtype, order="C")
        return self.centring.after(self._times(before))

    def dense(self) -> FloatArray:
        """The centred matrix (n, n), as a new array of float64."""
        full = empty((self.n, self.n))

        def fill(start: int) -> None:
            for at, tile in self._tiles(start):
                rows, columns = tile.shape
                full[start : start + rows, at : at + columns] = tile
                full[at : at + columns, start : start + rows] = tile.T

        with one_blas_thread():
            for _ in in_order(fill, range(0, self.n, _ROWS)):
                pass
        return centred(full, self.spread.means, self)

    def _tiles(self, start: int) -> Iterator[tuple[int, FloatArray]]:
        """A stripe of K from row ``start``: its tiles from the diagonal on, and where they begin.

        Each is an array of its own: rows that lie far apart in memory are slow to come by.
        """
        left = None
        for at in range(start, self.n, _COLUMNS):
            tile = self._kept.get((start, at))
            if tile is None:
                left = self._sides[start : start + _ROWS] if left is None else left
                tile = self.function.tile(left, self._sides[at : at + _COLUMNS], self.dtype)
                if at == start and self.function.name == "rbf":
                    np.fill_diagonal(tile[:, : len(left)], 1.0)
                if start < self._stripes_kept * _ROWS:
                    self._kept[start, at] = tile
            yield at, tile

    def _times(self, vectors: FloatArray) -> FloatArray:
        """K times vectors of this precision, added up in float64."""
        self.products += 1
        out = np.zeros(vectors.shape)

        def image(start: int) -> FloatArray:
            return self._image(start, vectors)

        starts = range(0, self.n, _ROWS)
        with one_blas_thread():
            for start, part in zip(starts, in_order(image, starts), strict=True):
                out[start:] += part
        return out

    def _image(self, start: int, vectors: FloatArray) -> FloatArray:
        """What a stripe and its mirror image add to the product, from row ``start`` on."""
        rows = min(_ROWS, self.n - start)
        here = vectors[start : start + rows]
        out = np.zeros((self.n - start, vectors.shape[1]), vectors.dtype)
        for at, tile in self._tiles(start):
            low, stop = at - start, at - start + tile.shape[1]
            out[:rows] += tile @ vectors[at : at + tile.shape[1]]
            # The square on the diagonal is its own mirror image.
            skip = rows if at == start else 0
            out[low + skip : stop] += tile[:, skip:].T @ here
        return out


class GivenMatrix:
    """Of a kernel matrix that was computed elsewhere (n, n); it is not written to."""

    kept, kept_bytes = 1.0, 0
    first: FloatArray | None = None

    def __init__(self, matrix: FloatArray, weights: FloatArray | None = None) -> None:
        self.matrix = matrix
        self.n, self.dtype = len(matrix), np.dtype(matrix.dtype)
        self.products = 1
        self._count = np.ones(self.n) if weights is None else weights
        means = self._count @ matrix.astype(np.float64, copy=False) / self._count.sum()
        if not np.isfinite(means).all():
            raise _not_finite(int(np.flatnonzero(~np.isfinite(means))[0]), "precomputed")
        self.centring = Centring.of(weights, self.n)
        self.spread = Spread.of(self.centring, means, np.diagonal(matrix).astype(np.float64))

    def apply(self, vectors: FloatArray) -> FloatArray:
        """The centred matrix times vectors (n, m), in float64."""
        self.products += 1
        before = self.centring.before(vectors).astype(self.dtype)
        return self.centring.after((self.matrix @ before).astype(np.float64, copy=False))

    def dense(self) -> FloatArray:
        """The centred matrix (n, n), as a new array of float64."""
        # One that is not symmetric is centred by its own rows, as scikit-learn does.
        full = self.matrix.astype(np.float64)
        return centred(full, full @ self._count / self._count.sum(), self)


def centred(matrix: FloatArray, rows: FloatArray, products: Products) -> FloatArray:
    """The centred matrix from K (n, n), whose rows have these means, in place."""
    matrix -= products.spread.means
    matrix -= rows[:, None]
    matrix += products.spread.grand
    # Means are known to the rounding of sums of entries, which is more than that of an entry and
    # the same along a line. Now that entries are small, what is left of them is taken away.
    shares, roots = products.centring.shares, products.centring.roots
    with one_blas_thread():
        columns, left = shares @ matrix, matrix @ shares
    matrix -= columns
    matrix -= left[:, None]
    matrix += float(shares @ left)
    if roots is not None:
        matrix *= roots
        matrix *= roots.T
    return matrix


def _not_finite(row: int, name: str) -> DataError:
    return NotFiniteError(
        f"the kernel {name!r} of row {row} with the others is not finite",
        place={"row": row},
        hint="scale the columns (or lower gamma or degree), so that its values stay in range",
    )
