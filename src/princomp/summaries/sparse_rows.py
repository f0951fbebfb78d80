"""Sparse rows as a centred, scaled and weighted matrix for products, which is never formed.

The matrix is ``A = W^½ (X − 1μᵀ) D⁻¹``. The kernels multiply the sparse X itself: the vectors are
divided by the scale, the mean is subtracted from the product, (X − 1μᵀ)Q = XQ − 1(μᵀQ), and each
row of the product is multiplied by the root of its weight.

If a mean is large compared with the spread, this subtraction cancels digits. Such columns store a
value in nearly every row, so there are few of them, and storing them centred takes no more memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from princomp.kernels import Entries, csr, entries_of
from princomp.linalg import (
    FloatArray,
    cached_property,
    empty,
    for_each,
    scratch,
    slices,
)
from princomp.summaries.blocks import CSR, Weights

# Columns are centred explicitly if their mean exceeds this many standard deviations.
_MEAN_DOMINATES = 3.0
# AAᵀ is computed without centring and centred afterwards if that adds an error of at most this many
# unit roundoffs of the largest eigenvalue.
_CENTRED_AFTER = 2.0**10
# Rows of AAᵀ that are centred at a time; otherwise, unit vectors that AAᵀ is multiplied by at a
# time.
_UNITS = 256
# Rows of a product that are added at a time, and the fewest multiplications for which several
# threads pay.
_CHUNK, _THREADS_PAY = 2**12, 2**19


@np.errstate(over="ignore")  # an infinite square is larger, as it should be
def columns_to_centre(mean: FloatArray, variances: FloatArray) -> NDArray[np.intp]:
    """Indices of the columns whose mean is so large that implicit centring would cancel digits.

    They store a value in nearly every row, so there are few of them, and storing them centred
    takes no more memory.
    """
    return np.flatnonzero(mean**2 > _MEAN_DOMINATES**2 * variances)


@dataclass(frozen=True, eq=False)
class SparseRows:
    """The matrix A of shape (n, p), for products with A and with Aᵀ.

    Products are in float64, except that :meth:`images`, :meth:`add_images` and :meth:`row_images`
    multiply in float32 if rows and vectors are both float32 and there is no scale.

    Parameters
    ----------
    rows : CSR array of shape (n, p)
        X, after centring the columns of :func:`columns_to_centre`.
    entries : Entries
        The arrays of ``rows``.
    mean : ndarray of shape (p,)
        Mean that is still to be subtracted, in the units of the data.
    divisor : ndarray of shape (p,), optional
        Diagonal of D.
    weights : ndarray of shape (n,), optional
    """

    rows: CSR
    entries: Entries
    mean: FloatArray
    divisor: FloatArray | None = None
    weights: Weights = None

    # Precision of the products.
    dtype = np.dtype(np.float64)

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
            If an index is not a valid column, or the row ends (``indptr``) do not ascend.
        """
        full = columns_to_centre(mean, variances)
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
    def lowest_dtype(self) -> np.dtype[Any]:
        """Lowest precision of :meth:`images`, for vectors of the same precision."""
        return self.entries.values.dtype if self.divisor is None else self.dtype

    @cached_property
    def _roots(self) -> FloatArray | None:
        return None if self.weights is None else np.sqrt(self.weights)

    def matmul(self, right: FloatArray) -> FloatArray:
        """A @ right (n, m), for ``right`` of shape (p, m)."""
        right = self._scaled(np.asarray(right, dtype=np.float64))
        return csr.forward(self.entries, right, shift=self.mean @ right, factor=self._roots)

    def rmatmul(self, left: FloatArray) -> FloatArray:
        """Aᵀ @ left (p, m), for ``left`` of shape (n, m)."""
        left = np.asarray(left, dtype=np.float64)
        return self._centred(csr.backward(self.entries, left, factor=self._roots))

    def add_rmatmul(self, left: FloatArray, into: FloatArray) -> None:
        """Add Aᵀ @ left to ``into`` (p, m)."""
        left = np.asarray(left, dtype=np.float64)
        if "_by_columns" not in self.__dict__:
            self._centred(csr.backward(self.entries, left, factor=self._roots), into)
            return
        # With a copy by columns, each column of X writes to one row of the product.
        columns, mean = self._by_columns
        rooted, shift = self._rooted(left)

        def add(part: slice) -> None:
            some = columns.rows(part)
            into[part] += csr.forward(some, rooted, shift=shift, share=mean[part], threads=1)

        threads = 1 if len(columns.values) * left.shape[1] < _THREADS_PAY else None
        for_each(add, slices(len(mean), _CHUNK), threads)

    def images(self, vectors: FloatArray) -> FloatArray:
        """AᵀA @ vectors (p, m), in float64, in one pass over the rows.

        On two threads it is fastest if m is a multiple of 16 (of 32 in float32).
        """
        return self._centred(self._image(vectors))

    def add_images(self, vectors: FloatArray, into: FloatArray) -> None:
        """Add AᵀA @ vectors to ``into`` (p, m)."""
        self._centred(self._image(vectors), into)

    def row_images(self, vectors: FloatArray) -> FloatArray:
        """AAᵀ @ vectors (n, m), in float64, in one pass over the columns.

        The first call makes a copy of the rows in CSC order and keeps it.
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
        # (X − 1μᵀ)(X − 1μᵀ)ᵀ = XXᵀ − (Xμ)1ᵀ − 1(Xμ)ᵀ + μᵀμ: both middle terms are added first, so
        # that the result is symmetric.
        column, _ = csr.backward(columns, mean[:, None])
        mean_products = column.flatten()
        mean_square, panels = float(mean @ mean), slices(n, _UNITS)
        for panel in panels:
            products[panel] -= (mean_products[panel, None] + mean_products) - mean_square
            if self._roots is not None:
                products[panel] *= self._roots[panel, None] * self._roots
        total_weight = float(n if self.weights is None else self.weights.sum())
        if total_weight * mean_square <= _CENTRED_AFTER * float(products.trace()) / min(self.shape):
            return products
        for panel in panels:
            units = np.eye(n, panel.stop - panel.start, -panel.start)
            products[:, panel] = self.row_images(units)
        return (products + products.T) / 2

    @cached_property
    def _by_columns(self) -> tuple[Entries, FloatArray]:
        """The scaled columns as rows of a CSR matrix (p, n), and their scaled means."""
        n, p = self.shape
        csc = self.rows.tocsc()
        csc.sum_duplicates()
        values, mean = csc.data, self.mean
        if self.divisor is not None:
            values = values / np.repeat(self.divisor, np.diff(csc.indptr))
            mean = mean / self.divisor
        return Entries(values, csc.indices, csc.indptr, (p, n)), mean

    def _rooted(self, vectors: FloatArray) -> tuple[FloatArray, FloatArray]:
        """W^½ @ vectors in their precision, and its column sums in float64."""
        rooted = vectors if self._roots is None else vectors * self._roots[:, None]
        rooted = np.asarray(rooted, dtype=vectors.dtype)
        return rooted, np.ones(len(rooted)) @ np.asarray(rooted, dtype=np.float64)

    def _scaled(self, vectors: FloatArray) -> FloatArray:
        """D⁻¹ @ vectors."""
        if self.divisor is None:
            return vectors
        out = scratch("divided", vectors.shape, np.float64)
        return np.divide(vectors, self.divisor[:, None], out=out)

    def _image(self, vectors: FloatArray) -> tuple[FloatArray, FloatArray]:
        right = self._scaled(vectors)
        return csr.images(self.entries, right, shift=self.mean @ right, factor=self.weights)

    def _centred(
        self, sums: tuple[FloatArray, FloatArray], into: FloatArray | None = None
    ) -> FloatArray:
        """Return D⁻¹ (Z − μ sᵀ) from Z and s, as returned by ``csr.images``.

        Or add it to ``into``, which may be in any memory order.
        """
        product, total = sums
        out = empty(product.shape) if into is None else into
        for part in slices(len(product), _CHUNK):
            image = product[part] - self.mean[part, None] * total
            if self.divisor is not None:
                image /= self.divisor[part, None]
            if into is not None:
                image += into[part]
            out[part] = image
        return out


def with_centred_columns(
    data: CSR, full: NDArray[np.intp], mean: FloatArray, mean_low: FloatArray
) -> Any:
    """Return CSR rows (n, p) in float64, with the columns ``full`` centred and fully stored."""
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
