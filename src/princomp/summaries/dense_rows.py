"""Dense rows, centred, scaled and weighted as they are multiplied; never formed whole.

The matrix is ``A = W^½ (X − 1μᵀ) D⁻¹``. A panel of it at a time is made in the cache and
multiplied there, so that every product reads X once and takes no memory of its size.

The mean is a number of the data's precision, ``high``, and what that leaves, ``low``. The
first is subtracted, so a large mean never cancels. The second is far below the spread and
has rank one, ``A = B − r·lowᵀ`` with r the roots of the weights: its share of a product is
small, and is taken off the product.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from princomp.arrays import FloatArray, scratch
from princomp.summaries.blocks import Weights
from princomp.threads import in_order

__all__ = ["DenseRows"]

# Bytes of a panel at most, its fewest rows, and how many are enough to be no longer than a
# quarter of that. On two cores, 4,000 × 4,000 float32 times 16 vectors takes 18, 12, 11, 12 and
# 15 ms with panels of 32, 64, 128, 256 and 500 rows: short ones leave BLAS packing, long ones
# leave the cache.
_PANEL, _FEWEST, _ENOUGH = 2**22, 32, 128
# Bytes of a panel with the fewest rows above which rows are too long to be multiplied twice
# while they are there.
_LONG = 2**24
# Panels of a piece: what threads hand over is summed once for so many.
_PANELS = 4
# Bytes of a panel whose columns are multiplied with each other, and of one sum of those.
_SYRK = 2**22
# Numbers from how many on a thread has something to do.
_THREADS_PAY = 2**20


@dataclass(frozen=True, eq=False)
class DenseRows:
    """The matrix A of shape (n, p), for products from both sides.

    Products are in the data's precision, sums over pieces of the rows in float64, and the
    pieces follow from the shape alone: the bits do not depend on the number of threads.

    Parameters
    ----------
    data : ndarray of shape (n, p)
        float32 or float64, as given.
    high : ndarray of shape (p,), optional
        What is subtracted, in the precision of the data; None for zero.
    low : ndarray of shape (p,), optional
        What is left of the mean after that, divided by the divisor; None for zero.
    divisor : ndarray of shape (p,), optional
    roots : ndarray of shape (n,), optional
        Square roots of the weights.
    spare : list of ndarray
        Sums of pieces that were added up, to be used by the next pass: memory that has been
        touched before costs less than a product does.
    """

    data: FloatArray
    high: FloatArray | None = None
    low: FloatArray | None = None
    divisor: FloatArray | None = None
    roots: FloatArray | None = None
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
        dtype = data.dtype
        high = mean.astype(dtype)
        low = (mean - high) + mean_low
        if divisor is not None:
            low = low / divisor
            divisor = divisor.astype(dtype)
        return cls(
            data,
            high if high.any() else None,
            low if low.any() else None,
            divisor,
            None if weights is None else np.sqrt(weights).astype(dtype),
        )

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        n, p = self.data.shape
        return n, p

    @property
    def dtype(self) -> np.dtype[Any]:
        """Precision of the products."""
        return self.data.dtype

    @property
    def fused(self) -> bool:
        """Whether rows are short enough to be multiplied twice while they are in the cache."""
        return _FEWEST * self.shape[1] * self.dtype.itemsize <= _LONG

    @property
    def rows(self) -> FloatArray:
        """All of A as an array (n, p): for small tables, and where nearly all of it is wanted."""
        return np.array(self._panel(slice(None), slice(None), whole=True))

    def matmul(self, right: FloatArray) -> FloatArray:
        """A @ right, (n, m), for ``right`` of shape (p, m)."""
        n, p = self.shape
        narrow = right.astype(self.dtype, copy=False)
        if n >= p:
            product = np.empty((n, right.shape[1]), self.dtype)

            def fill(rows: slice) -> None:
                np.matmul(self._panel(rows, slice(None)), narrow, out=product[rows])

            self._each(fill, _cut(n, self._step(p)))
        else:
            total = np.zeros((n, right.shape[1]))
            for part in self._parts(
                lambda columns: self._panel(slice(None), columns) @ narrow[columns],
                _cut(p, self._step(n)),
            ):
                total += part
            product = total.astype(self.dtype, copy=False)
        return self._without_low(product, right)

    def rmatmul(self, left: FloatArray) -> FloatArray:
        """Aᵀ @ left, (p, m), for ``left`` of shape (n, m)."""
        product = np.zeros((left.shape[1], self.shape[1])).T
        self.add_rmatmul(left, product)
        return product.astype(self.dtype, copy=False)

    def add_rmatmul(self, left: FloatArray, into: FloatArray) -> None:
        """Add Aᵀ @ left to ``into`` (p, m), in float64."""
        n, p = self.shape
        narrow = left.astype(self.dtype, copy=False)
        if n >= p:
            for part in self._parts(
                lambda rows: narrow[rows].T @ self._panel(rows, slice(None)),
                _cut(n, self._step(p)),
            ):
                across = into.T
                across += part
        else:

            def add(columns: slice) -> None:
                # So that both sides are in the order of the panel's rows.
                across = into.T[:, columns]
                across += narrow.T @ self._panel(slice(None), columns)

            self._each(add, _cut(p, self._step(n)))
        if self.low is not None:
            into -= np.outer(self.low, self._rooted(narrow).sum(axis=0, dtype=np.float64))

    def images(self, vectors: FloatArray) -> FloatArray:
        """AᵀA @ vectors (p, m), in float64; one pass over X where a panel of rows fits a cache."""
        n, p = self.shape
        if not self.fused:
            image = np.zeros((p, vectors.shape[1]))
            self.add_rmatmul(self.matmul(vectors), image)
            return image
        narrow = np.ascontiguousarray(vectors, self.dtype)
        taken = self._taken(vectors)
        step = self._step(p)

        def piece(span: slice) -> tuple[FloatArray, FloatArray]:
            total = self._buffer((vectors.shape[1], p))
            sums = np.zeros(vectors.shape[1])
            for rows in _cut(span.stop, step, span.start):
                panel = self._panel(rows, slice(None))
                scores = panel @ narrow
                if taken is not None:
                    roots = None if self.roots is None else self.roots[rows]
                    scores -= taken if roots is None else roots[:, None] * taken
                    sums += scores.sum(axis=0) if roots is None else roots @ scores
                total += np.matmul(scores.T, panel, out=scratch("image", total.shape, self.dtype))
            return total, sums

        parts = self._parts(piece, _cut(n, _PANELS * step))
        image, gathered = next(parts)
        for total, sums in parts:
            image += total
            gathered += sums
            self.spare.append(total)
        if self.low is not None:
            for column, sum_ in zip(image, gathered, strict=True):
                column -= sum_ * self.low
        return image.T

    def add_images(self, vectors: FloatArray, into: FloatArray) -> None:
        """Add AᵀA @ vectors to ``into`` (p, m)."""
        if self.fused:
            into += self.images(vectors)
        else:
            self.add_rmatmul(self.matmul(vectors), into)

    def row_images(self, vectors: FloatArray) -> FloatArray:
        """AAᵀ @ vectors (n, m) in float64, in one pass over X by panels of columns."""
        n, p = self.shape
        narrow = np.ascontiguousarray(vectors, self.dtype)
        summed = self._rooted(narrow).sum(axis=0, dtype=np.float64)
        step = self._step(n)

        def piece(span: slice) -> tuple[FloatArray, FloatArray]:
            total = self._buffer((n, vectors.shape[1]))
            sums = np.zeros(vectors.shape[1])
            for columns in _cut(span.stop, step, span.start):
                panel = self._panel(slice(None), columns)
                weights = panel.T @ narrow
                if self.low is not None:
                    low = self.low[columns]
                    weights -= np.outer(low, summed).astype(self.dtype, copy=False)
                    sums += low @ weights
                total += np.matmul(panel, weights, out=scratch("image", total.shape, self.dtype))
            return total, sums

        images = np.zeros((n, vectors.shape[1]))
        gathered = np.zeros(vectors.shape[1])
        for total, sums in self._parts(piece, _cut(p, _PANELS * step)):
            images += total
            gathered += sums
            self.spare.append(total)
        if self.low is not None:
            images -= self._rooted(np.ones((n, 1))) * gathered
        return images

    def row_products(self) -> FloatArray:
        """AAᵀ (n, n) in float64, in one pass over X by panels of columns."""
        n, p = self.shape
        step = max(1, _SYRK // (max(n, 1) * self.dtype.itemsize))

        def piece(columns: slice) -> FloatArray:
            panel = self._panel(slice(None), columns, whole=True)
            return panel @ panel.T

        total = np.zeros((n, n))
        for product in self._parts(piece, _cut(p, step)):
            total += product
        return total

    # ---- panels, and what of them a thread takes at once ------------------------------

    def _panel(self, rows: slice, columns: slice, *, whole: bool = False) -> FloatArray:
        """Rows and columns of A, but for ``low`` unless whole: in this thread's scratch, or X's."""
        part = self.data[rows, columns]
        low = self.low if whole else None
        if self.high is None and self.divisor is None and self.roots is None and low is None:
            return part
        made = scratch("centred", part.shape, self.dtype)
        if self.high is not None:
            part = np.subtract(part, self.high[columns], out=made)
        if self.divisor is not None:
            part = np.divide(part, self.divisor[columns], out=made)
        if low is not None:
            part = np.subtract(part, low[columns].astype(self.dtype), out=made)
        if self.roots is not None:
            np.multiply(part, self.roots[rows, None], out=made)
        return made

    def _buffer(self, shape: tuple[int, ...]) -> FloatArray:
        """Zeros, in memory of an earlier sum where there is some."""
        try:
            buffer = self.spare.pop()
        except IndexError:
            return np.zeros(shape)
        if buffer.shape != shape:
            return np.zeros(shape)
        buffer[:] = 0.0
        return buffer

    def _rooted(self, numbers: FloatArray) -> FloatArray:
        return numbers if self.roots is None else numbers * self.roots[:, None]

    def _taken(self, right: FloatArray) -> FloatArray | None:
        """What ``low`` adds to each row of B @ right, before its root: (m,)."""
        return None if self.low is None else (self.low @ right).astype(self.dtype)

    def _without_low(self, product: FloatArray, right: FloatArray) -> FloatArray:
        taken = self._taken(right)
        if taken is not None:
            product -= taken if self.roots is None else self.roots[:, None] * taken
        return product

    def _step(self, across: int) -> int:
        """Rows (or columns) of a panel, for so many numbers in each."""
        size = max(across, 1) * self.dtype.itemsize
        return max(_FEWEST, min(_PANEL // size, max(_ENOUGH, _PANEL // 4 // size)))

    def _parts(self, work: Any, pieces: Any) -> Iterator[Any]:
        return in_order(work, pieces, 1 if self.data.size < _THREADS_PAY else None)

    def _each(self, work: Any, pieces: Any) -> None:
        for _ in self._parts(work, pieces):
            pass


def _cut(stop: int, step: int, start: int = 0) -> list[slice]:
    """Slices of ``step`` from ``start`` to ``stop``."""
    return [slice(at, min(at + step, stop)) for at in range(start, stop, step)]
