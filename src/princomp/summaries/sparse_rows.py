"""Sparse rows as a centred, scaled, weighted matrix to multiply with, never formed.

The matrix is ``A = W^½ (X − 1μᵀ) D⁻¹``. The scale goes to the vectors, the weights to the
products of each row, and the mean is taken off these: (X − 1μᵀ)Q = XQ − 1(μᵀQ). So X itself
is multiplied, in place.

A mean that is large compared with the spread would cancel there. Columns that have one hold a value
in nearly every row, so they are few, and storing them centred takes no more than they took.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from princomp.kernels import Entries, csr, entries_of
from princomp.linalg import LINE, FloatArray, empty, in_order, scratch
from princomp.summaries.blocks import CSR, Weights

# A mean that exceeds this many standard deviations would cancel in an implicit product.
_MEAN_DOMINATES = 3.0
# Products of rows are centred afterwards where that costs at most so many roundoffs of the
# largest eigenvalue.
_CENTRED_AFTER = 2.0**10
# Rows of a product of rows with themselves that are made at a time, where they are not.
_UNITS = 256
# Columns that are added at a time, and products from how many on several threads pay.
_CHUNK, _THREADS_PAY = 2**12, 2**19


def full_columns(mean: FloatArray, variances: FloatArray) -> NDArray[np.intp]:
    """Indices of the columns whose mean would cancel in an implicit product.

    They hold a value in nearly every row, so there are few of them, and centring them
    explicitly costs no more than storing them did.
    """
    return np.flatnonzero(mean**2 > _MEAN_DOMINATES**2 * variances)


@dataclass(frozen=True, eq=False)
class SparseRows:
    """The matrix A of shape (n, p), for products from both sides.

    Products are in float64; where rows and vectors are both float32 and there is no scale,
    those of :meth:`images`, :meth:`add_images` and :meth:`row_images` are in float32.

    Parameters
    ----------
    rows : CSR array of shape (n, p)
        X, with the columns centred whose mean would cancel.
    entries : Entries
        Its parts.
    mean : ndarray of shape (p,)
        Mean that is still to be subtracted, not scaled.
    divisor : ndarray of shape (p,), optional
        Diagonal of D.
    weights : ndarray of shape (n,), optional
    """

    rows: CSR
    entries: Entries
    mean: FloatArray
    divisor: FloatArray | None = None
    weights: Weights = None

    @classmethod
    def of(
        cls,
        data: CSR,
        mean: FloatArray,
        mean_low: FloatArray,
        variances: FloatArray,
        divisor: FloatArray | None,
        weights: Weights,
    ) -> SparseRows:
        """Build from CSR rows of data (n, p) and their mean, column variances and scale.

        Raises
        ------
        DataError
            An index that is no column, or rows that do not follow one another.
        """
        full = full_columns(mean, variances)
        if full.size:
            data = with_centred_columns(data, full, mean, mean_low)
            mean = mean.copy()
            mean[full] = 0.0
        return cls(data, entries_of(data), mean, divisor, weights)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.entries.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """Precision of the products."""
        return np.dtype(np.float64)

    @property
    def coarsest(self) -> np.dtype[Any]:
        """Lowest precision of :meth:`images`, for vectors of the same precision."""
        return self.entries.values.dtype if self.divisor is None else self.dtype

    @property
    def step(self) -> int:
        """Vectors that products multiply at once: a cache line of their numbers."""
        return LINE // self.coarsest.itemsize

    @cached_property
    def _roots(self) -> FloatArray | None:
        return None if self.weights is None else np.sqrt(self.weights)

    def matmul(self, right: FloatArray) -> FloatArray:
        """A @ right (n, m), for ``right`` of shape (p, m)."""
        right = self._scaled(right.astype(np.float64, copy=False))
        return csr.forward(self.entries, right, shift=self.mean @ right, factor=self._roots)

    def rmatmul(self, left: FloatArray) -> FloatArray:
        """Aᵀ @ left (p, m), for ``left`` of shape (n, m)."""
        left = left.astype(np.float64, copy=False)
        return self._finished(csr.backward(self.entries, left, factor=self._roots))

    def add_rmatmul(self, left: FloatArray, into: FloatArray) -> None:
        """Add Aᵀ @ left to ``into`` (p, m)."""
        left = left.astype(np.float64, copy=False)
        if "_by_columns" not in self.__dict__:
            self._add(csr.backward(self.entries, left, factor=self._roots), into)
            return
        # Where the columns lie one after the other, nothing is scattered.
        columns, mean = self._by_columns
        rooted, shift = self._rooted(left)

        def add(part: slice) -> None:
            some = columns.rows(part)
            into[part] += csr.forward(some, rooted, shift=shift, share=mean[part], threads=1)

        threads = 1 if len(columns.values) * left.shape[1] < _THREADS_PAY else None
        spans = (slice(at, at + _CHUNK) for at in range(0, len(mean), _CHUNK))
        for _ in in_order(add, spans, threads):
            pass

    def images(self, vectors: FloatArray) -> FloatArray:
        """AᵀA @ vectors (p, m), in float64, in one pass over the rows.

        Widths that are multiples of 16 (32 in float32) are the quickest on two threads.
        """
        return self._finished(self._image(vectors))

    def add_images(self, vectors: FloatArray, into: FloatArray) -> None:
        """Add AᵀA @ vectors to ``into`` (p, m)."""
        self._add(self._image(vectors), into)

    def row_images(self, vectors: FloatArray) -> FloatArray:
        """AAᵀ @ vectors (n, m), in float64, in one pass over the columns.

        The first call keeps a copy of the rows by columns.
        """
        columns, mean = self._by_columns
        rooted, shift = self._rooted(vectors)
        product, total = csr.images(columns, rooted, shift=shift, share=mean)
        image: FloatArray = product - total
        return image if self._roots is None else image * self._roots[:, None]

    def row_products(self) -> FloatArray:
        """AAᵀ (n, n), in float64."""
        columns, mean = self._by_columns
        n = self.shape[0]
        products, _ = csr.scatter(columns)
        # (X − 1μᵀ)(X − 1μᵀ)ᵀ = XXᵀ − (Xμ)1ᵀ − 1(Xμ)ᵀ + μᵀμ, each sum with its mirror image.
        across = np.array(csr.backward(columns, mean[:, None])[0][:, 0])
        squared, panels = float(mean @ mean), range(0, n, _UNITS)
        for start in panels:
            panel = slice(start, start + _UNITS)
            products[panel] -= (across[panel, None] + across) - squared
            if self._roots is not None:
                products[panel] *= self._roots[panel, None] * self._roots
        mass = float(n if self.weights is None else self.weights.sum())
        if mass * squared <= _CENTRED_AFTER * float(products.trace()) / min(self.shape):
            return products
        for start in panels:
            units = np.eye(n, min(_UNITS, n - start), -start)
            products[:, start : start + _UNITS] = self.row_images(units)
        return (products + products.T) / 2

    @cached_property
    def _by_columns(self) -> tuple[Entries, FloatArray]:
        """The scaled columns as rows of a CSR matrix (p, n), and their scaled means."""
        n, p = self.shape
        turned = self.rows.tocsc()
        turned.sum_duplicates()
        values, mean = turned.data, self.mean
        if self.divisor is not None:
            values = values / np.repeat(self.divisor, np.diff(turned.indptr))
            mean = mean / self.divisor
        return Entries(values, turned.indices, turned.indptr, (p, n)), mean

    def _rooted(self, vectors: FloatArray) -> tuple[FloatArray, FloatArray]:
        """W^½ @ vectors in their precision, and the sums of its columns in float64."""
        rooted = vectors if self._roots is None else vectors * self._roots[:, None]
        rooted = rooted.astype(vectors.dtype, copy=False)
        return rooted, np.ones(len(rooted)) @ rooted.astype(np.float64, copy=False)

    def _scaled(self, vectors: FloatArray) -> FloatArray:
        """D⁻¹ @ vectors."""
        if self.divisor is None:
            return vectors
        out = scratch("divided", vectors.shape, np.float64)
        return np.divide(vectors, self.divisor[:, None], out=out)

    def _image(self, vectors: FloatArray) -> tuple[FloatArray, FloatArray]:
        right = self._scaled(vectors)
        return csr.images(self.entries, right, shift=self.mean @ right, factor=self.weights)

    def _finished(self, sums: tuple[FloatArray, FloatArray]) -> FloatArray:
        """Return D⁻¹ (Z − μ sᵀ) from sums about zero, Z and s."""
        image = empty(sums[0].shape)
        for part, centred in self._centred(sums):
            image[part] = centred
        return image

    def _add(self, sums: tuple[FloatArray, FloatArray], into: FloatArray) -> None:
        """Add D⁻¹ (Z − μ sᵀ) to ``into``, of any memory order."""
        for part, centred in self._centred(sums):
            into[part] += centred

    def _centred(self, sums: tuple[FloatArray, FloatArray]) -> Iterator[tuple[slice, FloatArray]]:
        """Yield D⁻¹ (Z − μ sᵀ), some of its rows at a time."""
        product, total = sums
        for start in range(0, len(product), _CHUNK):
            part = slice(start, start + _CHUNK)
            image = product[part] - self.mean[part, None] * total
            if self.divisor is not None:
                image /= self.divisor[part, None]
            yield part, image


def with_centred_columns(
    data: Any, full: NDArray[np.intp], mean: FloatArray, mean_low: FloatArray
) -> Any:
    """CSR rows (n, p) with some of their columns centred and stored in every row, in float64."""
    n, p = data.shape
    dense = (data[:, full].toarray() - mean[full]) - mean_low[full]
    kept = np.ones(p, dtype=bool)
    kept[full] = False
    others = sp.coo_array(data)
    inside = kept[others.col]
    kind = data.indices.dtype
    rows = np.concatenate((others.row[inside], np.repeat(np.arange(n, dtype=kind), len(full))))
    columns = np.concatenate((others.col[inside], np.tile(full.astype(kind), n)))
    values = np.concatenate((others.data[inside].astype(np.float64), dense.ravel()))
    return sp.csr_array((values, (rows, columns)), shape=(n, p))
