"""Products of CSR rows with a block of vectors, from one side or both, and their scatter.

For each row x, with its share c and factor f, one pass computes all or part of

    y = f (Σ x_j Q_j − c t),   Z_j += x_j y,   s += c y

where Q_j and Z_j are the rows of Q and Z. With c = 1 and t = μᵀQ the rows are centred between the
two products, so a large mean causes no more cancellation than in two separate products.
"""

from __future__ import annotations

from functools import reduce

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from princomp.kernels import native
from princomp.kernels.csr_pass import Pass, rows_of_a_sum
from princomp.kernels.entries import Entries
from princomp.kernels.wide import mirror
from princomp.linalg import FloatArray, compensated_sum, slices

# Rows that SciPy adds one by one: equal rows all round in the same direction, so the error grows
# with their number.
_TWIN_ROWS = 1024
# A scatter of at most _GROUPED columns, as in csr.cpp, is summed in groups of _GROUP rows.
_GROUPED, _GROUP = 256, 256


def images(
    rows: Entries,
    right: FloatArray,
    *,
    shift: FloatArray | None = None,
    share: FloatArray | None = None,
    factor: FloatArray | None = None,
    threads: int | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Compute Z = Xᵀ F (X Q − c tᵀ) and s = cᵀ F (X Q − c tᵀ), in one pass over the entries.

    Parameters
    ----------
    rows : Entries of shape (n, p)
        X.
    right : ndarray of shape (p, m)
        Q. If Q and X are both float32, products and their sums over some rows are float32 too.
    shift : ndarray of shape (m,), optional
        t; zero by default.
    share, factor : ndarray of shape (n,), optional
        c and the diagonal of F; ones by default.
    threads : int, optional
        All processors by default. Fewer are used if there is less than a cache line of
        columns for each thread.

    Returns
    -------
    ndarray of shape (p, m)
        Z, in float64.
    ndarray of shape (m,)
        s, in float64.
    """
    csr_pass = _make_pass(rows, right, rows.shape[1], share, factor)
    if csr_pass.kernel is None:
        middle = forward(rows, right, shift=shift, share=share, factor=factor)
        return backward(rows, middle, share=share)
    return csr_pass.gather(right, shift, threads)


def backward(
    rows: Entries,
    left: FloatArray,
    *,
    share: FloatArray | None = None,
    factor: FloatArray | None = None,
    threads: int | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Compute Z = Xᵀ F Y and s = cᵀ F Y for Y = ``left`` (n, m); see :func:`images`."""
    n, _ = rows.shape
    csr_pass = _make_pass(rows, left, n, share, factor)
    if csr_pass.kernel is None:
        dtype = csr_pass.dtype
        scaled = left if csr_pass.factor is None else left * csr_pass.factor[:, None].astype(dtype)
        shares = np.ones(n) if csr_pass.share is None else csr_pass.share
        total: FloatArray = shares @ scaled.astype(np.float64, copy=False)
        return _backward_twin(rows, scaled.astype(dtype, copy=False)), total
    return csr_pass.gather(left, None, threads, is_left=True)


def forward(
    rows: Entries,
    right: FloatArray,
    *,
    shift: FloatArray | None = None,
    share: FloatArray | None = None,
    factor: FloatArray | None = None,
    threads: int | None = None,
) -> FloatArray:
    """Compute F (X Q − c tᵀ), of shape (n, m); see :func:`images`."""
    n, p = rows.shape
    csr_pass = _make_pass(rows, right, p, share, factor)
    if csr_pass.kernel is None:
        product: FloatArray = rows.matrix() @ right.astype(csr_pass.dtype, copy=False)
        if shift is not None:
            shares = np.ones(n) if csr_pass.share is None else csr_pass.share
            product -= np.multiply.outer(shares, shift)
        if csr_pass.factor is not None:
            product = product * csr_pass.factor[:, None].astype(csr_pass.dtype)
        return product
    return csr_pass.forward(right, shift, threads)


def scatter(
    rows: Entries, weights: NDArray[np.float64] | None = None
) -> tuple[FloatArray, FloatArray]:
    """Compute Σ w x xᵀ (p, p) and Σ w x (p,) over the rows, about zero, in float64.

    Parameters
    ----------
    rows : Entries of shape (n, p)
        The column indices of each row must ascend, without duplicates.
    weights : ndarray of shape (n,), optional
    """
    kernel = native.function(f"csr_scatter_{rows.kind}")
    n, p = rows.shape
    if weights is not None:
        weights = native.as_kernel_weights(weights, n)
    if kernel is None:
        step = _GROUP if p <= _GROUPED else _TWIN_ROWS
        summands = (_scatter_twin(rows, part, weights) for part in slices(max(n, 1), step))
        summed = compensated_sum(summands) if p <= _GROUPED else reduce(np.add, summands)
        return summed[:p], summed[p]
    products, sums = np.zeros((p, p)), np.zeros(p)
    kernel(rows.values, rows.columns, rows.ends, n, p, weights, products, sums)
    mirror(products, threads=1)
    return products, sums


def _scatter_twin(
    rows: Entries, part: slice, weights: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """SciPy implementation of :func:`scatter` for some rows: products and sums, (p + 1, p)."""
    matrix = rows.rows(part).matrix().astype(np.float64)
    rooted, sums = matrix, np.asarray(matrix.sum(axis=0)).ravel()
    if weights is not None:
        rooted = sp.diags_array(np.sqrt(weights[part])) @ matrix
        sums = weights[part] @ matrix
    return np.vstack([(rooted.T @ rooted).toarray(), sums])


def _make_pass(
    rows: Entries,
    vectors: FloatArray,
    height: int,
    share: FloatArray | None,
    factor: FloatArray | None,
) -> Pass:
    """Return a pass over the rows; its kernel is None if NumPy does the work."""
    if vectors.ndim != 2 or len(vectors) != height:
        raise ValueError(f"a block of shape {vectors.shape} does not have {height} rows")
    single_precision = rows.values.dtype == np.float32 == vectors.dtype
    value_type, index_type = rows.kind.split("_")
    name = f"csr_pass_{value_type}_{'f32' if single_precision else 'f64'}_{index_type}"
    dtype = np.dtype(np.float32 if single_precision else np.float64)
    share, factor = (
        None if each is None else native.as_kernel_weights(each, rows.shape[0])
        for each in (share, factor)
    )
    return Pass(native.function(name), rows, dtype, share, factor)


def _backward_twin(rows: Entries, left: FloatArray) -> FloatArray:
    """SciPy implementation of Xᵀ Y, in the precision of Y and summed as in the kernel."""
    matrix, n = rows.matrix(), rows.shape[0]
    step = rows_of_a_sum(rows, left.dtype)
    total = np.zeros((rows.shape[1], left.shape[1]))
    for part in slices(n, step):
        total += (matrix if step >= n else matrix[part]).T @ left[part]
    return total
