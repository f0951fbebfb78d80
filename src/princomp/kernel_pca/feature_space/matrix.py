"""Products of vectors with the centred kernel matrix of n rows.

K is divided into stripes of rows. Only the part of a stripe from the diagonal on is computed, in
tiles. As many tiles are kept as memory allows; the others are computed again for each product, so
that nothing of order n² has to be in memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np

from princomp.errors import DataError, NotFiniteError, row_words
from princomp.io import RowArray
from princomp.kernel_pca.feature_space.centring import Centring, Spread
from princomp.kernel_pca.functions import KernelFunction, Sides, check_values
from princomp.kernels import sampled_rows
from princomp.linalg import FloatArray, empty, in_order, one_blas_thread

# Rows of a stripe, and columns of a tile of it: 2 MB of float64.
_ROWS, _COLUMNS = 256, 1024
# For more than _ALL_KEPT rows, at most the share _KEPT of the tiles is kept: computing a tile costs
# as much as two products with it, and half a matrix of 10,000 rows is 400 MB.
_ALL_KEPT, _KEPT = 5000, 0.86
# Number of rows from which the level of K, its mean entry, is estimated.
_SAMPLE = 16


class Products(Protocol):
    """A centred kernel matrix, as solvers use it."""

    n: int
    dtype: np.dtype[Any]
    centring: Centring
    spread: Spread
    # Error of an entry of K, relative to the largest.
    entry_error: float
    # The centred matrix times random vectors (n, m), if already computed.
    first: FloatArray | None
    # Whether K is a product of numbers that are not all zero. A K of zeros then underflowed.
    underflows: bool

    def apply(self, vectors: FloatArray) -> FloatArray:
        """The centred matrix times vectors (n, m), in float64."""

    def dense(self) -> FloatArray:
        """The centred matrix (n, n), as a new array."""

    @property
    def products(self) -> int:
        """Number of times that K was multiplied or computed."""

    @property
    def kept(self) -> float:
        """Share of K that is kept in memory between products."""

    @property
    def kept_bytes(self) -> int:
        """Bytes of the tiles that are kept."""


class KernelMatrix:
    """The centred kernel matrix of rows.

    Parameters
    ----------
    function : KernelFunction
    rows : array or CSR array of shape (n, p)
        In float32 or float64, as the tiles.
    weights : ndarray of shape (n,), optional
        Positive frequencies.
    memory : int
        Bytes of the tiles that may be kept.
    width : int
        Number of random vectors to multiply in the same pass that computes the means.
    """

    def __init__(
        self,
        function: KernelFunction,
        rows: RowArray,
        weights: FloatArray | None = None,
        *,
        memory: int,
        width: int = 0,
    ) -> None:
        self.function, self.rows = function, rows
        self.n, self.dtype = rows.shape[0], np.dtype(rows.dtype)
        self.products = 0
        self._sides = function.sides(rows)
        self.underflows = function.of_products and bool(abs(self._sides.right).max() > 0)
        self._kept: dict[tuple[int, int], FloatArray] = {}
        # The stripe from row i on has n − i columns: the first ones are the longest.
        starts = np.arange(0, self.n, _ROWS)
        sizes = np.cumsum(_ROWS * (self.n - starts)) * self.dtype.itemsize
        most = min(memory, _KEPT * sizes[-1]) if self.n > _ALL_KEPT else memory
        self._stripes_kept = int(np.searchsorted(sizes, most, side="right"))
        self.kept_bytes = int(sizes[self._stripes_kept - 1]) if self._stripes_kept else 0
        self.kept = self.kept_bytes / float(sizes[-1])
        self.centring = Centring.of(weights, self.n, rows)
        self.entry_error = function.entry_error(rows, self.dtype)
        self._level = self.dtype.type(_level_of(function, self._sides))
        # Products fill it from the tiles: it is rounded like all entries, so that the bias cancels.
        self._diagonal = np.empty(self.n)
        count = np.ones(self.n) if weights is None else weights
        random = np.random.default_rng(0).standard_normal((self.n, width))
        vectors = np.column_stack([count, self.centring.before(random)])
        with np.errstate(all="ignore"):
            images = self._times(vectors.astype(self.dtype))
        sums = images[:, 0]
        if not np.isfinite(sums).all():
            raise _not_finite(int(np.flatnonzero(~np.isfinite(sums))[0]), function.name)
        level = float(self._level)
        self.spread = Spread.of(self.centring, sums / count.sum(), self._diagonal + level, level)
        _check_range(self, function.name)
        self.first = self.centring.after(images[:, 1:].copy()) if width else None

    def apply(self, vectors: FloatArray) -> FloatArray:
        """The centred matrix times vectors (n, m), in float64."""
        # In C order, because each tile is multiplied by a block of their rows.
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
        """Yield the tiles of a stripe of K − level from the diagonal on, after their first columns.

        Each tile is an array of its own, because rows far apart in memory are slow to read.
        """
        left = None
        for at in range(start, self.n, _COLUMNS):
            tile = self._kept.get((start, at))
            if tile is None:
                left = self._sides[start : start + _ROWS] if left is None else left
                tile = self.function.tile(left, self._sides[at : at + _COLUMNS], self.dtype)
                if at == start and self.function.name == "rbf":
                    np.fill_diagonal(tile[:, : len(left)], 1.0)
                tile -= self._level
                if start < self._stripes_kept * _ROWS:
                    self._kept[start, at] = tile
            yield at, tile

    def _times(self, vectors: FloatArray) -> FloatArray:
        """Multiply K − level by vectors of its precision, with sums in float64."""
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
        """Compute what a stripe and its transpose contribute to the product from ``start`` on."""
        rows = min(_ROWS, self.n - start)
        here = vectors[start : start + rows]
        out = np.zeros((self.n - start, vectors.shape[1]), vectors.dtype)
        for at, tile in self._tiles(start):
            if at == start:
                self._diagonal[start : start + rows] = tile.diagonal()
            low, stop = at - start, at - start + tile.shape[1]
            out[:rows] += tile @ vectors[at : at + tile.shape[1]]
            # The square on the diagonal is its own transpose: do not add it twice.
            skip = rows if at == start else 0
            out[low + skip : stop] += tile[:, skip:].T @ here
        return out


def _level_of(function: KernelFunction, sides: Sides) -> float:
    """Estimate the mean entry of K from some rows; it is zero for a linear K of centred rows."""
    if function.name == "linear":
        return 0.0
    some = sides[sampled_rows(len(sides), _SAMPLE)]
    with np.errstate(all="ignore"):
        return _finite_mean(function.tile(some, some))


def _finite_mean(values: FloatArray) -> float:
    """Mean of numbers, or zero if it is not finite."""
    mean = float(values.mean(dtype=np.float64))
    return mean if np.isfinite(mean) else 0.0


class PrecomputedMatrix:
    """The centred matrix of a precomputed kernel matrix (n, n), which is not changed."""

    kept, kept_bytes, underflows = 1.0, 0, False
    first: FloatArray | None = None

    def __init__(self, matrix: FloatArray, weights: FloatArray | None = None) -> None:
        self.matrix = matrix
        self.n, self.dtype = len(matrix), np.dtype(matrix.dtype)
        self.entry_error = float(np.finfo(self.dtype).eps)
        self.products = 1
        self._count = np.ones(self.n) if weights is None else weights
        places = sampled_rows(self.n, _SAMPLE)
        level = _finite_mean(matrix[np.ix_(places, places)])
        sums = np.zeros(self.n)
        for start in range(0, self.n, _ROWS):
            some = matrix[start : start + _ROWS].astype(np.float64) - level
            sums += self._count[start : start + _ROWS] @ some
        if not np.isfinite(sums).all():
            raise _not_finite(int(np.flatnonzero(~np.isfinite(sums))[0]), "precomputed")
        self.centring = Centring.of(weights, self.n, matrix)
        diagonal = np.diagonal(matrix).astype(np.float64)
        self.spread = Spread.of(self.centring, sums / self._count.sum(), diagonal, level)
        _check_range(self, "precomputed")

    def apply(self, vectors: FloatArray) -> FloatArray:
        """The centred matrix times vectors (n, m), in float64."""
        self.products += 1
        before = self.centring.before(vectors).astype(self.dtype)
        return self.centring.after((self.matrix @ before).astype(np.float64, copy=False))

    def dense(self) -> FloatArray:
        """The centred matrix (n, n), as a new array of float64."""
        # A matrix that is not symmetric is centred by the means of its rows, as in scikit-learn.
        full = self.matrix.astype(np.float64)
        full -= self.spread.level
        return centred(full, full @ self._count / self._count.sum(), self)


def centred(matrix: FloatArray, rows: FloatArray, products: Products) -> FloatArray:
    """Centre K − level (n, n), whose row means are ``rows``, in place."""
    matrix -= products.spread.means
    matrix -= rows[:, None]
    matrix += products.spread.grand
    # The means have the rounding error of sums, which is larger than that of an entry and the same
    # along a row or column. Now that the entries are small, subtract the means that are left.
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


def _check_range(matrix: Products, name: str) -> None:
    """Refuse values of a kernel so small that products with them lose digits.

    Each of the n products in a sum may be wrong by the smallest positive number, which is the
    roundoff of ``tiny``. Products that are all zero may also have underflowed.
    """
    largest = matrix.spread.largest
    if largest > 0.0 or matrix.underflows:
        check_values(name, largest, matrix.n, matrix.dtype)


def _not_finite(row: int, name: str) -> DataError:
    return NotFiniteError(
        f"the kernel {name!r} of {row_words(row)} with the other rows is not finite",
        place={"row": row},
        hint="scale the columns (or lower gamma or degree), so that its values stay in range",
    )
