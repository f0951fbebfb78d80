"""Dense rows that are centred, scaled and weighted while they are multiplied.

The matrix is ``A = W^½ (X − 1μᵀ) D⁻¹``. The kernels make a little of it at a time in the cache
and multiply it there, so that every product reads X once and takes no memory of its size.

The mean is a number of the data's precision, ``high``, and what that leaves, ``low``. The
first is subtracted, so a large mean never cancels. The second is far below the spread and
has rank one, ``A = B − r·lowᵀ`` with r the roots of the weights: its share of a product is
small, and is taken off the product.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from princomp.kernels import Affine, dense, images_of_rows, row_products
from princomp.linalg import LINE, FloatArray, aligned, empty, in_order
from princomp.summaries.blocks import Weights

T = TypeVar("T")

# Pieces that threads can share.
_SHARED = 4
# Rows of a piece that a thread takes, or as many as make so many numbers, fewer where there would
# not be enough pieces: the sums of pieces are added up. 4,000 × 4,000 float32 times 16 vectors
# takes 22, 19, 18 and 17 ms in 16, 8, 4 and 2 pieces. Columns of a piece, where there are more,
# or as many as make the fewest numbers.
_ROWS, _FEWEST, _NUMBERS, _COLUMNS = 256, 2**20, 2**22, 2048
# Columns of a piece that is met twice while it is in the last cache, at least and at most.
_SPAN, _WIDEST = 1024, 4096
# Bytes of eight rows above which they are too long to be met twice while they are there.
_LONG = 2**22
# Pieces of columns for threads to share evenly, and each is another sum to be added: 1,000 ×
# 20,000 takes 30 ms in 20 and 27 in 8.
_PIECES = 8
# Numbers from how many on several threads pay.
_THREADS_PAY = 2**20


@dataclass(frozen=True, eq=False)
class DenseRows:
    """The matrix A of shape (n, p), for products from both sides.

    Products are in the data's precision, sums over pieces of the rows in float64, and the
    pieces follow from the shape alone: the bits do not depend on the number of threads.

    Parameters
    ----------
    above : Affine of shape (n, p)
        B: rows less their mean in the precision of the rows.
    low : ndarray of shape (p,), optional
        The rest of the mean, divided by the divisor; None for zero.
    spare : list of ndarray
        Buffers of sums of pieces, reused by the next product: touching new memory would cost more
        than a product.
    """

    above: Affine
    low: FloatArray | None = None
    spare: list[FloatArray] = field(default_factory=list)

    @classmethod
    def of(
        cls,
        data: FloatArray,
        mean: FloatArray,
        mean_low: FloatArray,
        variances: FloatArray,
        divisor: FloatArray | None,
        weights: Weights,
    ) -> DenseRows:
        """Build from rows of data (n, p), their mean in two parts, divisors and weights."""
        if divisor is not None and divisor.min(initial=1.0) < np.finfo(data.dtype).tiny:
            data = data.astype(np.float64)  # a subnormal divisor has lost digits
        dtype = data.dtype
        high = mean.astype(dtype)
        low = (mean - high) + mean_low
        if divisor is not None:
            low = low / divisor
            divisor = divisor.astype(dtype)
        roots = None if weights is None else np.sqrt(weights).astype(dtype)
        above = Affine(data, high if high.any() else None, divisor, roots)
        return cls(above, low if low.any() else None)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.above.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """Precision of the products."""
        return self.above.dtype

    @property
    def coarsest(self) -> np.dtype[Any]:
        """Lowest precision of :meth:`images`: that of the data."""
        return self.dtype

    @property
    def step(self) -> int:
        """Vectors that products multiply at once: a cache line of their numbers."""
        return LINE // self.dtype.itemsize

    @property
    def fused(self) -> bool:
        """Whether rows are short enough to be multiplied twice while they are in the cache."""
        return 8 * self.shape[1] * self.dtype.itemsize <= _LONG

    @property
    def rows(self) -> FloatArray:
        """All of A as an array (n, p)."""
        formed = np.array(self.above.formed())
        if self.low is not None:
            low = self.low.astype(self.dtype)
            formed -= low if self._roots is None else self._roots[:, None] * low
        return formed

    def matmul(self, right: FloatArray) -> FloatArray:
        """A @ right, (n, m), for ``right`` of shape (p, m)."""
        (n, p), m = self.shape, right.shape[1]
        narrow = dense.padded(right, self.dtype)
        if n >= p:
            product = empty((n, m), self.dtype)

            def fill(rows: slice) -> None:
                product[rows] = dense.forward(self.above.part(rows), narrow)[:, :m]

            for _ in self._parts(fill, self._row_pieces):
                pass
        else:
            total = np.zeros((n, narrow.shape[1]))
            for part in self._parts(
                lambda columns: dense.forward(
                    self.above.part(slice(None), columns), narrow[columns]
                ),
                self._column_pieces,
            ):
                total += part
            product = total[:, :m].astype(self.dtype)
        taken = self._taken(right)
        if taken is not None:
            product -= taken if self._roots is None else self._roots[:, None] * taken
        return product

    def rmatmul(self, left: FloatArray) -> FloatArray:
        """Aᵀ @ left, (p, m), for ``left`` of shape (n, m)."""
        product = np.zeros((self.shape[1], left.shape[1]))
        self.add_rmatmul(left, product)
        return product.astype(self.dtype, copy=False)

    def add_rmatmul(self, left: FloatArray, into: FloatArray) -> None:
        """Add Aᵀ @ left to ``into`` (p, m), in float64."""
        (n, p), m = self.shape, left.shape[1]
        narrow = dense.padded(left, self.dtype)
        low, sums = self.low, np.empty(0)
        if low is not None:
            sums = self._rooted(narrow).sum(axis=0, dtype=np.float64)[:m]
        if n >= p:

            def piece(rows: slice) -> FloatArray:
                total = self._buffer((p, narrow.shape[1]))
                dense.backward(self.above.part(rows), narrow[rows], total)
                return total

            for total in self._parts(piece, self._row_pieces):
                into += total[:, :m]
                self.spare.append(total)
            if low is not None:
                into -= np.multiply.outer(low, sums)
        else:

            def add(columns: slice) -> None:
                above = self.above.part(slice(None), columns)
                total = self._buffer((above.shape[1], narrow.shape[1]))
                dense.backward(above, narrow, total)
                more = total[:, :m]
                if low is not None:
                    more -= np.multiply.outer(low[columns], sums)
                into[columns] += more
                self.spare.append(total)

            for _ in self._parts(add, self._column_pieces):
                pass

    def images(self, vectors: FloatArray) -> FloatArray:
        """AᵀA @ vectors (p, m), in float64; one pass over X where a few rows fit a cache."""
        p, m = vectors.shape
        if not self._together:
            image = np.zeros((p, m))
            self.add_rmatmul(self.matmul(vectors), image)
            return image
        narrow, taken = dense.padded(vectors, self.dtype), self._taken(vectors)
        if taken is not None:
            taken = dense.padded(taken[None], self.dtype)[0]

        def piece(rows: slice) -> tuple[FloatArray, FloatArray]:
            total = self._buffer(narrow.shape)
            return total, dense.images(self.above.part(rows), narrow, total, taken=taken)

        image = np.zeros((m, p)).T
        gathered = np.zeros(narrow.shape[1])
        parts = self._parts(piece, self._row_pieces)
        whole, sums = next(parts)
        gathered += sums
        for total, sums in parts:
            whole += total
            gathered += sums
            self.spare.append(total)
        if self.low is None:
            image[:] = whole[:, :m]
        else:
            np.subtract(whole[:, :m], np.outer(self.low, gathered[:m]), out=image)
        self.spare.append(whole)
        return image

    def add_images(self, vectors: FloatArray, into: FloatArray) -> None:
        """Add AᵀA @ vectors to ``into`` (p, m)."""
        if self._together:
            into += self.images(vectors)
        else:
            self.add_rmatmul(self.matmul(vectors), into)

    def row_images(self, vectors: FloatArray) -> FloatArray:
        """AAᵀ @ vectors (n, m) in float64, in one pass over X by pieces of columns."""
        (n, p), m = self.shape, vectors.shape[1]
        narrow = dense.padded(vectors, self.dtype)

        def piece(columns: slice) -> tuple[FloatArray, FloatArray]:
            low = None if self.low is None else self.low[columns]
            return images_of_rows(self.above.part(slice(None), columns), narrow, low=low)

        images = np.zeros((n, narrow.shape[1]))
        gathered = np.zeros(narrow.shape[1])
        step = min(_WIDEST, max(_SPAN, -(-p // _PIECES)))
        for total, sums in self._parts(piece, _cut(p, step)):
            images += total
            gathered += sums
        if self.low is not None:
            images -= self._rooted(np.ones((n, 1))) * gathered
        return images[:, :m]

    def row_products(self) -> FloatArray:
        """AAᵀ (n, n) in float64, in one pass over X by pieces of columns."""
        p = self.shape[1]
        low = None if self.low is None else self.low.astype(self.dtype)

        def piece(columns: slice) -> FloatArray:
            part = None if low is None else low[columns]
            return row_products(self.above.part(slice(None), columns), part)

        # Few pieces, since each is as large as the answer.
        pieces = self._parts(piece, _cut(p, max(_SPAN, -(-p // _PIECES))))
        total = next(pieces)
        for product in pieces:
            total += product
        return total

    # ---- pieces of A for threads ---------------------------------------------------------

    @property
    def _roots(self) -> FloatArray | None:
        return self.above.roots

    @property
    def _together(self) -> bool:
        """Whether both products of a row are computed at once.

        Not of a few long ones, such as a block of a stream: pieces of their columns keep all
        threads busy, and need no sums that are as long as a row.
        """
        n, p = self.shape
        return self.fused and (n >= p or len(self._row_pieces) >= _SHARED)

    @cached_property
    def _row_pieces(self) -> list[slice]:
        n, p = self.shape
        numbers = min(_NUMBERS, max(_FEWEST, -(-n * p // _SHARED)))
        return _cut(n, max(_ROWS, -(-numbers // p)))

    @cached_property
    def _column_pieces(self) -> list[slice]:
        n, p = self.shape
        return _cut(p, max(_COLUMNS, _FEWEST // max(n, 1)))

    def _buffer(self, shape: tuple[int, int]) -> FloatArray:
        """Return zeros, in a spare buffer if there is one."""
        try:
            buffer = self.spare.pop()
        except IndexError:
            buffer = aligned(shape, np.float64)
        if buffer.shape != shape:
            buffer = aligned(shape, np.float64)
        buffer[:] = 0.0
        return buffer

    def _rooted(self, numbers: FloatArray) -> FloatArray:
        return numbers if self._roots is None else numbers * self._roots[:, None]

    def _taken(self, right: FloatArray) -> FloatArray | None:
        """``low @ right`` (m,): the excess of each row of B @ right, before its root."""
        return None if self.low is None else (self.low @ right).astype(self.dtype)

    def _parts(self, work: Callable[[slice], T], pieces: Iterable[slice]) -> Iterator[T]:
        return in_order(work, pieces, 1 if self.above.data.size < _THREADS_PAY else None)


def _cut(stop: int, step: int) -> list[slice]:
    """Slices of ``step`` from 0 to ``stop``."""
    return [slice(at, min(at + step, stop)) for at in range(0, stop, step)]
