"""The centred kernel matrix of n rows, multiplied by vectors.

With weights w it is √w H K Hᵀ √w, where H subtracts the weighted mean; without weights HKH.

K is divided into stripes of rows. Only the part of a stripe from the diagonal on is computed, in
tiles. As many tiles are kept as memory allows; the others are computed again for each product, so
that nothing of order n² has to be in memory.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import combinations_with_replacement
from typing import TypeAlias

import numpy as np

from princomp.errors import NotFiniteError, row_words, warn
from princomp.io import RowArray
from princomp.kernel_pca.functions import KernelFunction, check_values
from princomp.kernels import sampled_rows
from princomp.linalg import (
    EPS,
    FloatArray,
    empty,
    for_each,
    map_in_order,
    one_blas_thread,
    search_rng,
    slices,
)
from princomp.summaries import Weights, is_sparse

# Rows of a stripe, and columns of a tile of it: 2 MB of float64.
_STRIPE_ROWS, _TILE_COLUMNS = 256, 1024
# For more than _MAX_ROWS_ALL_KEPT rows, at most the share _MAX_KEPT_SHARE of the tiles is kept:
# computing one costs as much as two products with it, and half a matrix of 10,000 rows is 400 MB.
_MAX_ROWS_ALL_KEPT, _MAX_KEPT_SHARE = 5000, 0.86
# Number of rows from which the offset of K, its mean entry, is estimated.
_SAMPLE_ROWS = 16
# float32 has seven digits: if centring leaves less than this share of K, over three of them cancel.
_MIN_CENTRED_SHARE = 1e-3
# Differences between an entry and its mirror image of more than this share of the largest entry
# are not rounding errors of any precision.
_MAX_ASYMMETRY = 1e-4


class Centring:
    """Subtracts the mean image in products.

    Parameters
    ----------
    weights : ndarray of shape (n,), optional
        1 each by default.
    rows : ndarray or CSR array of shape (n, p)

    Attributes
    ----------
    weights : ndarray of shape (n,)
    shares : ndarray of shape (n,)
        Shares of the rows in the mean: weights divided by their sum.
    roots : ndarray of shape (n, 1), optional
        Square roots of the weights, unless all are 1.
    max_weight : float
        Largest weight of a row; equal rows count as one.
    """

    def __init__(self, weights: Weights, rows: RowArray) -> None:
        self.weights = np.ones(rows.shape[0]) if weights is None else weights
        self.shares = self.weights / self.weights.sum()
        self.roots = None if weights is None else np.sqrt(weights)[:, None]
        self.max_weight = _max_row_weight(rows, self.weights)

    @property
    def total_weight(self) -> float:
        """Sum of the weights."""
        return len(self.shares) if self.roots is None else float((self.roots**2).sum())

    @property
    def divisor(self) -> float:
        """Divisor that turns eigenvalues into variances."""
        total = self.total_weight
        return total - 1.0 if total > 1.0 else 1.0

    @property
    def error_gain(self) -> float:
        """Bound on the change of an eigenvalue by random errors of size 1 in the entries of K.

        √(Σw max w), or √n without weights. The change is at most twice this (Wigner), times the
        standard deviation of the errors, which is at most half their size. The entries of equal
        rows have equal errors, as if they were one row with the sum of their weights.
        """
        return float(np.sqrt(self.total_weight) * np.sqrt(self.max_weight))

    def before_product(self, vectors: FloatArray) -> FloatArray:
        """Prepare vectors (n, m) for the product with K."""
        if self.roots is not None:
            vectors = self.roots * vectors
        return vectors - self.shares[:, None] * vectors.sum(axis=0)

    def after_product(self, images: FloatArray) -> FloatArray:
        """Turn the product with K into that with the centred matrix, in place."""
        images -= self.shares @ images
        if self.roots is not None:
            images *= self.roots
        return images


class MatrixSums:
    """Sums of K and of its centred matrix.

    Parameters
    ----------
    centring : Centring
    column_sums : ndarray of shape (n,)
        Weighted sums of the columns of K − offset.
    diagonal : ndarray of shape (n,)
        Diagonal of K.
    offset : float
        Number subtracted from all entries, which does not change the centred matrix. Without it,
        sums of nearly equal entries would all be rounded in one direction, by up to 64 units of
        their size.

    Attributes
    ----------
    offset_means : ndarray of shape (n,)
        Means of the columns of K − offset.
    grand_mean : float
        Mean of all entries of K − offset.
    trace : float
        Trace of the centred matrix: Σw − 1 times the total variance. Negative only if K is not
        positive semi-definite, or by rounding.
    zero_diagonal : bool
        Whether the diagonal is zero up to rounding, as that of a matrix of distances.
    max_abs : float
        Size of the entries of K: the largest absolute value on its diagonal, where positive
        semi-definite matrices have their largest entry, or of a column mean.
    """

    def __init__(
        self, centring: Centring, column_sums: FloatArray, diagonal: FloatArray, offset: float
    ) -> None:
        self.offset = offset
        self.offset_means = offset_means = column_sums / centring.weights.sum()
        self.grand_mean = float(centring.shares @ offset_means)
        # Summed as differences: two large traces would cancel.
        squares = (diagonal - offset) - 2 * offset_means + self.grand_mean
        roots = centring.roots
        self.trace = float(squares.sum() if roots is None else (roots[:, 0] ** 2) @ squares)
        self.max_abs = max(
            float(np.abs(values).max(initial=0.0)) for values in (diagonal, offset_means + offset)
        )
        largest = float(np.abs(diagonal).max(initial=0.0))
        self.zero_diagonal = largest <= EPS**0.5 * self.max_abs

    @property
    def column_means(self) -> FloatArray:
        """Means of the columns of K (n,)."""
        return self.offset_means + self.offset

    @property
    def mean_square(self) -> float:
        """Squared length of the mean image: the mean of all entries of K."""
        return self.grand_mean + self.offset


def _max_row_weight(rows: RowArray, weights: FloatArray) -> float:
    """Return the largest sum of the weights of equal rows."""
    sums: defaultdict[int, float] = defaultdict(float)
    for i, weight in enumerate(weights.tolist()):
        if is_sparse(rows):
            span = slice(rows.indptr[i], rows.indptr[i + 1])
            key = hash((rows.indices[span].tobytes(), rows.data[span].tobytes()))
        else:
            key = hash(rows[i].tobytes())  # 64 bits: unequal rows hardly ever share it
        sums[key] += weight
    return max(sums.values(), default=0.0)


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
    n_random : int
        Number of random vectors to multiply in the same pass that computes the means.

    Attributes
    ----------
    n_products : int
        Number of times that K was multiplied or computed.
    kept_share, kept_bytes : float, int
        Share of K, and bytes of the tiles, that are kept in memory between products.
    entry_error : float
        Error of an entry of K, relative to the largest.
    start_block : ndarray of shape (n, n_random) or None
        The centred matrix times random vectors.
    """

    def __init__(
        self,
        function: KernelFunction,
        rows: RowArray,
        weights: Weights = None,
        *,
        memory: int,
        n_random: int = 0,
    ) -> None:
        self.function, self.rows = function, rows
        self.n, self.dtype = rows.shape[0], np.dtype(rows.dtype)
        self.n_products = 0
        self._sides = function.sides(rows)
        self._cached_tiles: dict[tuple[int, int], FloatArray] = {}
        # The stripe from row i on has n − i columns: the first ones are the longest.
        starts = np.arange(0, self.n, _STRIPE_ROWS)
        sizes = np.cumsum(_STRIPE_ROWS * (self.n - starts)) * self.dtype.itemsize
        share = _MAX_KEPT_SHARE if self.n > _MAX_ROWS_ALL_KEPT else 1.0
        max_bytes = min(memory, share * sizes[-1])
        self._n_cached_stripes = int(np.searchsorted(sizes, max_bytes, side="right"))
        self.kept_bytes = int(sizes[self._n_cached_stripes - 1]) if self._n_cached_stripes else 0
        self.kept_share = self.kept_bytes / float(sizes[-1])
        self.centring = Centring(weights, rows)
        self.entry_error = function.entry_error(rows, self.dtype)
        self._offset = self.dtype.type(self._estimate_offset())
        # Products fill it from the tiles: it is rounded like all entries, so that the bias cancels.
        self._diagonal = np.empty(self.n)
        random = search_rng().standard_normal((self.n, n_random))
        vectors = np.column_stack([self.centring.weights, self.centring.before_product(random)])
        with np.errstate(all="ignore"):
            images = self._multiply(vectors.astype(self.dtype))
        sums, offset = images[:, 0], float(self._offset)
        _check_finite(sums, function)
        self.sums = MatrixSums(self.centring, sums, self._diagonal + offset, offset)
        # Products of numbers that are not all zero may have underflowed to a K of zeros.
        if self.sums.max_abs > 0.0 or (function.uses_products and abs(self._sides.right).max() > 0):
            check_values(function.name, self.sums.max_abs, self.n, self.dtype)
        self.start_block = self.centring.after_product(images[:, 1:].copy()) if n_random else None

    def apply(self, vectors: FloatArray) -> FloatArray:
        """The centred matrix times vectors (n, m), in float64."""
        # In C order, because each tile is multiplied by a block of their rows.
        prepared = np.array(self.centring.before_product(vectors), self.dtype, order="C")
        return self.centring.after_product(self._multiply(prepared))

    def dense(self) -> FloatArray:
        """The centred matrix (n, n), as a new array of float64."""
        full = empty((self.n, self.n))

        def fill(start: int) -> None:
            for column, tile in self._tiles(start):
                rows, columns = tile.shape
                full[start : start + rows, column : column + columns] = tile
                full[column : column + columns, start : start + rows] = tile.T

        with one_blas_thread():
            for_each(fill, range(0, self.n, _STRIPE_ROWS))
        return centre_in_place(full, self.sums.offset_means, self)

    def _tiles(self, start: int) -> Iterator[tuple[int, FloatArray]]:
        """Yield tiles of a stripe of K − offset from the diagonal on, after their first columns.

        Each tile is an array of its own, because rows far apart in memory are slow to read.
        """
        stripe = None
        for column in range(start, self.n, _TILE_COLUMNS):
            tile = self._cached_tiles.get((start, column))
            if tile is None:
                stripe = self._sides[start : start + _STRIPE_ROWS] if stripe is None else stripe
                others = self._sides[column : column + _TILE_COLUMNS]
                tile = self.function.tile(stripe, others, self.dtype)
                if column == start and self.function.name == "rbf":
                    np.fill_diagonal(tile[:, : len(stripe)], 1.0)
                tile -= self._offset
                if start < self._n_cached_stripes * _STRIPE_ROWS:
                    self._cached_tiles[start, column] = tile
            yield column, tile

    def _multiply(self, vectors: FloatArray) -> FloatArray:
        """Multiply K − offset by vectors of its precision, with sums in float64."""
        self.n_products += 1

        def product_of_stripe(start: int) -> FloatArray:
            """Compute what a stripe and its transpose contribute from ``start`` on."""
            rows = min(_STRIPE_ROWS, self.n - start)
            stripe_vectors = vectors[start : start + rows]
            out = np.zeros((self.n - start, vectors.shape[1]), vectors.dtype)
            # Threads do not inherit this setting; the caller refuses values that are not finite.
            with np.errstate(all="ignore"):
                for column, tile in self._tiles(start):
                    if column == start:
                        self._diagonal[start : start + rows] = tile.diagonal()
                    first, stop = column - start, column - start + tile.shape[1]
                    out[:rows] += tile @ vectors[column : column + tile.shape[1]]
                    # The square on the diagonal is its own transpose: do not add it twice.
                    skip = rows if column == start else 0
                    out[first + skip : stop] += tile[:, skip:].T @ stripe_vectors
            return out

        total, starts = np.zeros(vectors.shape), range(0, self.n, _STRIPE_ROWS)
        with one_blas_thread():
            for start, part in zip(starts, map_in_order(product_of_stripe, starts), strict=True):
                total[start:] += part
        return total

    def _estimate_offset(self) -> float:
        """Estimate the mean entry of K from some rows; zero for a linear K of centred rows."""
        if self.function.name == "linear":
            return 0.0
        sample = self._sides[sampled_rows(self.n, _SAMPLE_ROWS)]
        with np.errstate(all="ignore"):
            return _mean_or_zero(self.function.tile(sample, sample))


def centring_cancels(function: KernelFunction, rows: RowArray) -> bool:
    """Estimate from some rows whether K is nearly constant, so that float32 would not resolve it.

    An example is a cosine kernel of rows with a large mean, which are nearly parallel. Kernels that
    do not depend on the mean are left as they are.
    """
    if function.shift_invariant or function.call is not None:
        return False
    sample = rows[sampled_rows(rows.shape[0], _SAMPLE_ROWS)].astype(np.float64)
    sides = function.sides(sample)
    with np.errstate(all="ignore"):
        values = function.tile(sides, sides)
        squares = values.diagonal().mean() - values.mean()
        return bool(squares < _MIN_CENTRED_SHARE * np.abs(values).max())


def _mean_or_zero(values: FloatArray) -> float:
    """Mean of numbers, or zero if it is not finite."""
    mean = float(values.mean(dtype=np.float64))
    return mean if np.isfinite(mean) else 0.0


class PrecomputedMatrix:
    """The centred matrix of a precomputed kernel matrix (n, n), which is not changed."""

    function, rows = KernelFunction("precomputed"), None
    kept_share, kept_bytes, start_block = 1.0, 0, None

    def __init__(self, matrix: FloatArray, weights: Weights = None) -> None:
        self.matrix = matrix
        self.n, self.dtype = len(matrix), np.dtype(matrix.dtype)
        self.n_products = 1
        self.centring = Centring(weights, matrix)
        indices = sampled_rows(self.n, _SAMPLE_ROWS)
        offset = _mean_or_zero(matrix[np.ix_(indices, indices)])
        sums = np.zeros(self.n)
        for part in slices(self.n, _STRIPE_ROWS):
            sums += self.centring.weights[part] @ (matrix[part].astype(np.float64) - offset)
        _check_finite(sums, self.function)
        diagonal = np.diagonal(matrix).astype(np.float64)
        self.sums = MatrixSums(self.centring, sums, diagonal, offset)
        if self.sums.max_abs > 0.0:
            check_values("precomputed", self.sums.max_abs, self.n, self.dtype)
        asymmetry = _asymmetry(matrix) / (self.sums.max_abs or 1.0)
        if asymmetry > _MAX_ASYMMETRY:
            warn(
                f"the kernel matrix is not symmetric: K[i, j] and K[j, i] differ by up to "
                f"{asymmetry:.1g} of the largest entry, so components are accurate only to about "
                "that; pass (K + K.T) / 2, or use a symmetric kernel"
            )
        self.entry_error = max(float(np.finfo(self.dtype).eps), asymmetry)
        # Products are with K − offset, as in KernelMatrix, if most of K is a constant.
        is_large = abs(offset) * self.centring.total_weight > self.sums.trace
        self._offset = self.dtype.type(offset if is_large else 0.0)

    def apply(self, vectors: FloatArray) -> FloatArray:
        """The centred matrix times vectors (n, m), in float64."""
        self.n_products += 1
        prepared = self.centring.before_product(vectors).astype(self.dtype)
        products = empty((self.n, vectors.shape[1]))
        for part in slices(self.n, _STRIPE_ROWS if self._offset else self.n):
            stripe = self.matrix[part]
            stripe = stripe - self._offset if self._offset else stripe
            products[part] = stripe @ prepared
        return self.centring.after_product(products)

    def dense(self) -> FloatArray:
        """The centred matrix (n, n), as a new array of float64."""
        # A matrix that is not symmetric is centred by the means of its rows, as in scikit-learn.
        full = self.matrix.astype(np.float64)
        full -= self.sums.offset
        weights = self.centring.weights
        return centre_in_place(full, full @ weights / weights.sum(), self)


def _asymmetry(matrix: FloatArray) -> float:
    """Return the largest difference between an entry of K and its mirror image."""
    largest = 0.0
    for rows, columns in combinations_with_replacement(slices(len(matrix), _STRIPE_ROWS), 2):
        difference = matrix[rows, columns] - matrix[columns, rows].T
        largest = max(largest, float(np.abs(difference).max()))
    return largest


CentredMatrix: TypeAlias = KernelMatrix | PrecomputedMatrix


def centre_in_place(
    matrix: FloatArray, row_means: FloatArray, centred_matrix: CentredMatrix
) -> FloatArray:
    """Centre K − offset (n, n), whose row means are ``row_means``, in place."""
    matrix -= centred_matrix.sums.offset_means
    matrix -= row_means[:, None]
    matrix += centred_matrix.sums.grand_mean
    # The means have the rounding error of sums, which is larger than that of an entry and the same
    # along a row or column. Now that the entries are small, subtract the means that are left.
    shares, roots = centred_matrix.centring.shares, centred_matrix.centring.roots
    with one_blas_thread():
        column_rest, row_rest = shares @ matrix, matrix @ shares
    matrix -= column_rest
    matrix -= row_rest[:, None]
    matrix += float(shares @ row_rest)
    if roots is not None:
        matrix *= roots
        matrix *= roots.T
    return matrix


def _check_finite(sums: FloatArray, function: KernelFunction) -> None:
    """Refuse a kernel matrix with values that are not finite, given the sums of its columns."""
    if not np.isfinite(sums).all():
        row = int(np.argmin(np.isfinite(sums)))
        raise NotFiniteError(
            f"the kernel {function.name!r} of {row_words(row)} with the other rows is not finite",
            place={"row": row},
            hint="scale the columns (or lower gamma or degree), so that its values stay in range; "
            "a fractional degree needs a larger coef0: negative numbers have no such power",
        )
