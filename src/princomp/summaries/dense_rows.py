"""Dense rows that are centred, scaled and weighted while they are multiplied.

The matrix is ``A = W^½ (X − 1μᵀ) D⁻¹``. The kernels form small parts of it in the cache and
multiply them there, so every product reads X once and needs no copy of it.

The mean is split into ``high``, in the precision of the data, and the remainder ``low``. ``high``
is subtracted from the rows before they are multiplied, so a large mean never cancels digits.
``low`` is far smaller than the spread and makes a term of rank one: ``A = B − r·lowᵀ``, where r
holds the square roots of the weights. The small contribution of this term is subtracted from the
product.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from princomp.kernels import Affine, dense, images_of_rows, row_products
from princomp.linalg import (
    FloatArray,
    aligned,
    cached_property,
    empty,
    for_each,
    map_in_order,
    part_of,
    slices,
)
from princomp.summaries.blocks import Weights, in_range

# Number of pieces of rows that is enough for threads to share.
_MIN_PIECES = 4
# A piece has at least MIN_PIECE_ROWS rows and, if threads still have enough pieces to share,
# MIN_PIECE_NUMBERS to MAX_PIECE_NUMBERS values: fewer pieces mean fewer sums to add up.
# 4,000 × 4,000 float32 times 16 vectors takes 22, 19, 18 and 17 ms in 16, 8, 4 and 2 pieces. If
# there are more columns than rows, a piece has at least MIN_PIECE_COLUMNS columns, or as many as
# make MIN_PIECE_NUMBERS values.
MIN_PIECE_ROWS, MIN_PIECE_NUMBERS, MAX_PIECE_NUMBERS, MIN_PIECE_COLUMNS = 256, 2**20, 2**22, 2048
# Fewest and most columns of a piece that is read twice while it is in the last-level cache.
MIN_SPAN_COLUMNS, MAX_SPAN_COLUMNS = 1024, 4096
# If eight rows take more bytes than this, they are too long to be read twice while in the cache.
LONG_ROWS_BYTES = 2**22
# Number of pieces of columns: enough for threads to share evenly, but each piece adds another sum.
# 1,000 × 20,000 takes 30 ms in 20 pieces and 27 ms in 8.
_COLUMN_PIECES = 8
# Fewest values for which several threads pay.
MIN_NUMBERS_FOR_THREADS = 2**20


@dataclass(frozen=True, eq=False)
class DenseRows(Affine):
    """The matrix A of shape (n, p), for products with A and with Aᵀ.

    Products are in the precision of the data, and the sums over pieces of rows in float64. The
    pieces depend only on the shape, so results do not depend on the number of threads, bit for bit.

    Parameters
    ----------
    data, high, divisor, roots
        B: the rows minus ``high``, scaled and weighted, in the precision of the rows; see
        :class:`~princomp.kernels.dense.Affine`.
    low : ndarray of shape (p,), optional
        The remainder of the mean, divided by the divisor; None for zero.
    spare_buffers : list of ndarray
        Buffers for the sums of pieces, reused by the next product, because touching new memory
        would cost more than a product.
    """

    low: FloatArray | None = None
    spare_buffers: list[FloatArray] = field(default_factory=list)

    @classmethod
    def of(
        cls,
        data: FloatArray,
        mean: FloatArray,
        mean_low: FloatArray,
        divisor: FloatArray | None,
        weights: Weights,
    ) -> DenseRows:
        """Build from rows of data (n, p), their mean (high and low part), divisors and weights."""
        roots = None if weights is None else np.sqrt(weights)
        if not (in_range(divisor, data.dtype) and in_range(roots, data.dtype)):
            data = data.astype(np.float64)  # in float32, they would overflow or lose digits
        dtype = data.dtype
        high = mean.astype(dtype)
        low = (mean - high) + mean_low
        if divisor is not None:
            low = low / divisor
            divisor = divisor.astype(dtype)
        if roots is not None:
            roots = roots.astype(dtype)
        high_or_none, low_or_none = (part if part.any() else None for part in (high, low))
        return cls(data, high_or_none, divisor, roots, low_or_none)

    # The lowest precision of :meth:`images` is that of the data.
    lowest_dtype = Affine.dtype

    @property
    def fused(self) -> bool:
        """Whether rows are short enough to be read twice while they are in the cache."""
        return 8 * self.shape[1] * self.dtype.itemsize <= LONG_ROWS_BYTES

    @property
    def rows(self) -> FloatArray:
        """All of A as an array (n, p)."""
        formed = np.array(self.formed())
        if self.low is not None:
            formed -= self._rooted(self.low.astype(self.dtype))
        return formed

    def matmul(self, right: FloatArray) -> FloatArray:
        """A @ right, (n, m), for ``right`` of shape (p, m)."""
        (n, p), m = self.shape, right.shape[1]
        padded = dense.padded(right, self.dtype)
        if n >= p:
            product = empty((n, m), self.dtype)

            def fill(rows: slice) -> None:
                product[rows] = dense.forward(self.part(rows), padded)[:, :m]

            for_each(fill, self._row_pieces, self._threads)
        else:

            def piece(columns: slice) -> FloatArray:
                return dense.forward(self.part(slice(None), columns), padded[columns])

            total = np.zeros((n, padded.shape[1]))
            for part in map_in_order(piece, self._column_pieces, self._threads):
                total += part
            product = total[:, :m].astype(self.dtype)
        if self.low is not None:
            product -= self._rooted(self._low_product(right))
        return product

    def rmatmul(self, left: FloatArray) -> FloatArray:
        """Aᵀ @ left, (p, m), for ``left`` of shape (n, m)."""
        product = np.zeros((self.shape[1], left.shape[1]))
        self.add_rmatmul(left, product)
        return np.asarray(product, dtype=self.dtype)

    def add_rmatmul(self, left: FloatArray, into: FloatArray) -> None:
        """Add Aᵀ @ left to ``into`` (p, m), in float64."""
        (n, p), m = self.shape, left.shape[1]
        padded = dense.padded(left, self.dtype)
        low, roots, sums = self.low, self.roots, np.empty(0)
        if low is not None:
            # In float64, because large numbers times roots of weights may leave float32.
            rooted = padded if roots is None else padded * roots.astype(np.float64)[:, None]
            sums = rooted.sum(axis=0, dtype=np.float64)[:m]
        if n >= p:

            def piece(rows: slice) -> FloatArray:
                total = self._buffer((p, padded.shape[1]))
                dense.backward(self.part(rows), padded[rows], total)
                return total

            for total in map_in_order(piece, self._row_pieces, self._threads):
                into += total[:, :m]
                self.spare_buffers.append(total)
            if low is not None:
                into -= np.multiply.outer(low, sums)
        else:

            def add(columns: slice) -> None:
                affine = self.part(slice(None), columns)
                total = self._buffer((affine.shape[1], padded.shape[1]))
                dense.backward(affine, padded, total)
                more = total[:, :m]
                if low is not None:
                    more -= np.multiply.outer(low[columns], sums)
                into[columns] += more
                self.spare_buffers.append(total)

            for_each(add, self._column_pieces, self._threads)

    def images(self, vectors: FloatArray) -> FloatArray:
        """AᵀA @ vectors (p, m), in float64; in one pass over X if a few rows fit in a cache."""
        p, m = vectors.shape
        if not self._in_one_pass:
            image = np.zeros((p, m))
            self.add_rmatmul(self.matmul(vectors), image)
            return image
        padded, shift = dense.padded(vectors, self.dtype), None
        if self.low is not None:
            (shift,) = dense.padded(self._low_product(vectors)[None], self.dtype)

        def piece(rows: slice) -> tuple[FloatArray, FloatArray]:
            total = self._buffer(padded.shape)
            return total, dense.images(self.part(rows), padded, total, shift=shift)

        parts = map_in_order(piece, self._row_pieces, self._threads)
        whole, score_sums = next(parts)
        for total, sums in parts:
            whole += total
            score_sums += sums
            self.spare_buffers.append(total)
        image = empty((m, p)).T
        image[:] = whole[:, :m]
        if self.low is not None:
            image -= np.outer(self.low, score_sums[:m])
        self.spare_buffers.append(whole)
        return image

    def add_images(self, vectors: FloatArray, into: FloatArray) -> None:
        """Add AᵀA @ vectors to ``into`` (p, m)."""
        if self._in_one_pass:
            into += self.images(vectors)
        else:
            self.add_rmatmul(self.matmul(vectors), into)

    def row_images(self, vectors: FloatArray) -> FloatArray:
        """AAᵀ @ vectors (n, m) in float64, in one pass over X by pieces of columns."""
        (n, p), m = self.shape, vectors.shape[1]
        padded = dense.padded(vectors, self.dtype)

        def piece(columns: slice) -> tuple[FloatArray, FloatArray]:
            affine = self.part(slice(None), columns)
            return images_of_rows(affine, padded, low=part_of(self.low, columns))

        images = np.zeros((n, padded.shape[1]))
        score_sums = np.zeros(padded.shape[1])
        step = min(MAX_SPAN_COLUMNS, max(MIN_SPAN_COLUMNS, -(-p // _COLUMN_PIECES)))
        for total, sums in map_in_order(piece, slices(p, step), self._threads):
            images += total
            score_sums += sums
        if self.low is not None:
            images -= self._rooted(score_sums)
        return images[:, :m]

    def row_products(self) -> FloatArray:
        """AAᵀ (n, n) in float64, in one pass over X by pieces of columns."""
        p = self.shape[1]
        low = None if self.low is None else self.low.astype(self.dtype)

        def piece(columns: slice) -> FloatArray:
            return row_products(self.part(slice(None), columns), part_of(low, columns))

        # Few pieces, since each is as large as the result.
        columns = slices(p, max(MIN_SPAN_COLUMNS, -(-p // _COLUMN_PIECES)))
        pieces = map_in_order(piece, columns, self._threads)
        total = next(pieces)
        for product in pieces:
            total += product
        return total

    # ---- pieces of A for threads ---------------------------------------------------------

    @property
    def _threads(self) -> int | None:
        return 1 if self.data.size < MIN_NUMBERS_FOR_THREADS else None

    @property
    def _in_one_pass(self) -> bool:
        """Whether AᵀA is multiplied in one pass: rows are used for both products while in cache.

        Not for a few long rows, such as a block of a stream: there, pieces of columns keep all
        threads busy, and need no sums that are as long as a row.
        """
        n, p = self.shape
        return self.fused and (n >= p or len(self._row_pieces) >= _MIN_PIECES)

    @cached_property
    def _row_pieces(self) -> list[slice]:
        n, p = self.shape
        numbers = min(MAX_PIECE_NUMBERS, max(MIN_PIECE_NUMBERS, -(-n * p // _MIN_PIECES)))
        return slices(n, max(MIN_PIECE_ROWS, -(-numbers // p)))

    @cached_property
    def _column_pieces(self) -> list[slice]:
        n, p = self.shape
        return slices(p, max(MIN_PIECE_COLUMNS, MIN_PIECE_NUMBERS // max(n, 1)))

    def _buffer(self, shape: tuple[int, int]) -> FloatArray:
        """Return an array of zeros, in a spare buffer if there is one."""
        try:
            buffer = self.spare_buffers.pop()
        except IndexError:
            buffer = np.empty(0)
        if buffer.shape != shape:
            buffer = aligned(shape, np.float64)
        buffer[:] = 0.0
        return buffer

    def _rooted(self, row: FloatArray) -> FloatArray:
        """Return r times a row, or the row itself if there are no weights."""
        return row if self.roots is None else self.roots[:, None] * row

    def _low_product(self, right: FloatArray) -> FloatArray:
        """``low @ right`` (m,): times its root, what each row of B @ right has in excess."""
        assert self.low is not None
        return (self.low @ right).astype(self.dtype)
