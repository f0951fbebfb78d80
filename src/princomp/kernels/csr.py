"""Products of CSR rows: with a block of vectors, from one side or both, and with themselves.

For each row x, with its share c and factor f, one pass does all or part of

    y = f (Σ x_j Q_j − c t),   Z_j += x_j y,   s += c y

where Q_j and Z_j are the rows of Q and Z. With c = 1 and t = μᵀQ the rows are centred before
they meet again, so a mean cancels no more than in two products one after the other.

Threads share the columns of Q, in whole cache lines: each column is summed by one of them, in
the order of the entries, so the bits do not depend on how many there are. Where there is one
line only, the rows are halved, whatever the threads.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from princomp.arrays import LINE, FloatArray, aligned, scratch
from princomp.kernels import native
from princomp.kernels.entries import Entries, entries_of
from princomp.threads import default_threads, in_order

__all__ = ["Entries", "backward", "entries_of", "forward", "images", "scatter"]

# Products from how many on a thread has something to do.
_THREADS_PAY = 2**19
# Entries a column from how many on two sums of half the rows are quicker than one of all.
_HALVES_PAY = 8
# Entries a column, on an average, that are summed in float32 before they are added in float64:
# sums of all of them are off by 8e-7 in 100,000 rows, and adding takes little of a pass.
_A_COLUMN = 64
# Rows that SciPy adds one by one: equal ones round all one way, so that the error grows with them.
_TWIN_ROWS = 1024
_SIZE, _POINTER = ctypes.c_ssize_t, ctypes.c_void_p
_PASS = (_POINTER,) * 3 + (_SIZE,) + (_POINTER,) * 7 + (_SIZE, _SIZE)
_SCATTER = (_POINTER,) * 3 + (_SIZE, _SIZE) + (_POINTER,) * 3


def images(
    rows: Entries,
    right: FloatArray,
    *,
    shift: FloatArray | None = None,
    share: FloatArray | None = None,
    factor: FloatArray | None = None,
    threads: int | None = None,
    instructions: str = "",
) -> tuple[FloatArray, FloatArray]:
    """Z = Xᵀ F (X Q − c tᵀ) and s = cᵀ F (X Q − c tᵀ), in one pass over the entries.

    Parameters
    ----------
    rows : Entries of shape (n, p)
        X.
    right : ndarray of shape (p, m)
        Q. Where Q and X are both float32, so are products and the sums over some rows.
    shift : ndarray of shape (m,), optional
        t; zero by default.
    share, factor : ndarray of shape (n,), optional
        c and the diagonal of F; ones by default.
    threads : int, optional
        All processors by default. Fewer are used where there is less than a cache line of
        columns for each.
    instructions : str, optional
        Another instruction set than the one in use; "numpy" for the twin.

    Returns
    -------
    ndarray of shape (p, m)
        Z, in float64.
    ndarray of shape (m,)
        s, in float64.
    """
    kernel, dtype = _pass_kernel(rows, right, instructions)
    n, p = rows.shape
    _check(right, p)
    share, factor = _each(share, n), _each(factor, n)
    if kernel is None:
        middle = forward(rows, right, shift=shift, share=share, factor=factor, instructions="numpy")
        return backward(rows, middle, share=share, instructions="numpy")
    return _gathered(kernel, dtype, rows, right, None, shift, share, factor, threads)


def backward(
    rows: Entries,
    left: FloatArray,
    *,
    share: FloatArray | None = None,
    factor: FloatArray | None = None,
    threads: int | None = None,
    instructions: str = "",
) -> tuple[FloatArray, FloatArray]:
    """Z = Xᵀ F Y and s = cᵀ F Y for Y = ``left`` (n, m): the second half of :func:`images`."""
    kernel, dtype = _pass_kernel(rows, left, instructions)
    n, _ = rows.shape
    _check(left, n)
    share, factor = _each(share, n), _each(factor, n)
    if kernel is None:
        scaled = left if factor is None else left * factor[:, None].astype(dtype)
        each = np.ones(n) if share is None else share
        total: FloatArray = each @ scaled.astype(np.float64, copy=False)
        return _gathered_twin(rows, scaled.astype(dtype, copy=False)), total
    return _gathered(kernel, dtype, rows, None, left, None, share, factor, threads)


def forward(
    rows: Entries,
    right: FloatArray,
    *,
    shift: FloatArray | None = None,
    share: FloatArray | None = None,
    factor: FloatArray | None = None,
    threads: int | None = None,
    instructions: str = "",
) -> FloatArray:
    """F (X Q − c tᵀ), of shape (n, m): the first half of :func:`images`."""
    kernel, dtype = _pass_kernel(rows, right, instructions)
    n, p = rows.shape
    _check(right, p)
    share, factor = _each(share, n), _each(factor, n)
    if kernel is None:
        product: FloatArray = _matrix(rows) @ right.astype(dtype, copy=False)
        if shift is not None:
            product -= np.multiply.outer(np.ones(n) if share is None else share, shift)
        return product if factor is None else product * factor[:, None].astype(dtype)
    packed = _packed("right", right, dtype)
    width = packed.shape[1]
    product = aligned((n, width), dtype)
    offset = None if shift is None else _packed("shift", shift[None], dtype)

    def work(start: int) -> None:
        part = range(start, min(start + step, n))
        _run(kernel, rows, part, share, factor, packed, offset, product, None, None)

    threads = _threads(threads, len(rows.values) * width)
    # Rows stand for themselves: any cut gives the same bits.
    step = max(1, -(-n // (4 * threads))) if threads > 1 else max(n, 1)
    for _ in in_order(work, range(0, n, step), threads):
        pass
    return product[:, : right.shape[1]]


def scatter(
    rows: Entries, weights: NDArray[np.float64] | None = None, *, instructions: str = ""
) -> tuple[FloatArray, FloatArray]:
    """Σ w x xᵀ (p, p) and Σ w x (p,) over the rows, about zero, in float64.

    Parameters
    ----------
    rows : Entries of shape (n, p)
        The indices of each row ascend, none of them twice.
    weights : ndarray of shape (n,), optional
    instructions : str, optional
        Another instruction set than the one in use; "numpy" for the twin.
    """
    kernel = _scatter_kernel(_kind(rows), instructions)
    n, p = rows.shape
    weights = _each(weights, n)
    products, sums = np.zeros((p, p)), np.zeros(p)
    if kernel is None:
        for start in range(0, n, _TWIN_ROWS):
            part = slice(start, start + _TWIN_ROWS)
            matrix = _matrix(rows.rows(part)).astype(np.float64)
            rooted, moved = matrix, np.asarray(matrix.sum(axis=0)).ravel()
            if weights is not None:
                rooted = sp.diags_array(np.sqrt(weights[part])) @ matrix
                moved = weights[part] @ matrix
            products += (rooted.T @ rooted).toarray()
            sums += moved
        return products, sums
    kernel(
        *(
            native.address(rows.values),
            native.address(rows.columns),
            native.address(rows.ends),
            n,
            p,
        ),
        *(native.address(weights), native.address(products), native.address(sums)),
    )
    _mirror(products)
    return products, sums


def _mirror(products: FloatArray) -> None:
    """Copy the upper triangle to the lower one, by squares that fit in the cache."""
    size = 256
    for top in range(0, len(products), size):
        corner = products[top : top + size, top : top + size]
        np.copyto(corner, np.triu(corner) + np.triu(corner, 1).T)
        for left in range(top + size, len(products), size):
            products[left : left + size, top : top + size] = products[
                top : top + size, left : left + size
            ].T


def _gathered(
    kernel: Any,
    dtype: np.dtype[Any],
    rows: Entries,
    right: FloatArray | None,
    left: FloatArray | None,
    shift: FloatArray | None,
    share: FloatArray | None,
    factor: FloatArray | None,
    threads: int | None,
) -> tuple[FloatArray, FloatArray]:
    """Z and s by the kernel, some cache lines of columns a thread.

    Each thread has its columns in memory of their own: processors fetch lines by twos, and
    two that write to neighbours would take them from each other.
    """
    given = right if left is None else left
    assert given is not None
    (n, p), (height, wanted), numbers = rows.shape, given.shape, LINE // dtype.itemsize
    lines = max(-(-wanted // numbers), 1)
    # One line is for one thread, so the rows are halved instead: for any number of threads.
    halves = 2 if lines == 1 and len(rows.values) >= _HALVES_PAY * p else 1
    threads = min(_threads(threads, len(rows.values) * lines * numbers), lines * halves)
    shares = min(threads, lines)
    cuts = [lines * i // shares * numbers for i in range(shares + 1)]
    ends = [n * i // halves for i in range(halves + 1)]
    whole_in = scratch("csr given", (height * cuts[-1],), dtype)
    whole_out = scratch("csr made", (halves, p * cuts[-1]), dtype)
    out, totals = scratch("csr into", (halves, p, wanted), np.float64), np.zeros((halves, cuts[-1]))
    offset = np.zeros(cuts[-1], dtype)
    if shift is not None:
        offset[:wanted] = shift
    step = _rows_of_a_sum(rows, dtype)

    both = _filled(whole_in, given, 0, cuts[-1]) if halves > 1 else None

    def work(piece: tuple[int, int]) -> None:
        half, place = piece
        first, last = cuts[place], cuts[place + 1]
        used = min(last, wanted) - first
        block = _filled(whole_in, given, first, last) if both is None else both
        into = whole_out[half, p * first : p * last].reshape(p, last - first)
        for start in range(ends[half], max(ends[half + 1], ends[half] + 1), step):
            into.fill(0.0)
            part = range(start, min(start + step, ends[half + 1]))
            right, middle = (block, None) if left is None else (None, block)
            sums = totals[half, first:]
            _run(kernel, rows, part, share, factor, right, offset[first:], middle, into, sums)
            if start == ends[half]:
                out[half, :, first:last] = into[:, :used]
            else:
                out[half, :, first:last] += into[:, :used]

    pieces = [(half, place) for half in range(halves) for place in range(shares)]
    for _ in in_order(work, pieces, threads):
        pass
    if halves > 1:
        np.add(out[0], out[1], out=out[0])
    return out[0], totals.sum(axis=0)[:wanted]


def _run(
    kernel: Any,
    rows: Entries,
    part: range,
    share: FloatArray | None,
    factor: FloatArray | None,
    right: FloatArray | None,
    shift: FloatArray | None,
    middle: FloatArray | None,
    into: FloatArray | None,
    total: FloatArray | None,
) -> None:
    """The kernel on some rows: of ``share``, ``factor`` and ``middle`` those, of the others all."""
    block = middle if right is None else right
    assert block is not None
    width, first = block.shape[1], part.start
    kernel(
        *(native.address(numbers) for numbers in (rows.values, rows.columns)),
        *(native.address(rows.ends, first), len(part)),
        *(native.address(each, first) for each in (share, factor)),
        *(native.address(vectors) for vectors in (right, shift)),
        native.address(middle, first),
        *(native.address(sums) for sums in (into, total)),
        *(width, width * block.itemsize // LINE),
    )


def _gathered_twin(rows: Entries, left: FloatArray) -> FloatArray:
    """Xᵀ Y by SciPy, in the precision of Y and summed as the kernel's."""
    matrix, n = _matrix(rows), rows.shape[0]
    step = _rows_of_a_sum(rows, left.dtype)
    total = np.zeros((rows.shape[1], left.shape[1]))
    for start in range(0, n, step):
        part = matrix if step >= n else matrix[start : start + step]
        total += part.T @ left[start : start + step]
    return total


def _rows_of_a_sum(rows: Entries, dtype: np.dtype[Any]) -> int:
    """Rows whose products are summed in their own precision before they are added in float64."""
    n, p = rows.shape
    if dtype == np.float64 or not n:
        return max(n, 1)
    return max(1, min(n, _A_COLUMN * p * n // max(len(rows.values), 1)))


def _filled(whole: FloatArray, given: FloatArray, first: int, last: int) -> FloatArray:
    """Some columns of a block, zeros beyond its last one, in their part of the memory."""
    height, wanted = given.shape
    block = whole[height * first : height * last].reshape(height, last - first)
    used = min(last, wanted) - first
    block[:, :used] = given[:, first:last]
    block[:, used:] = 0.0
    return block


def _threads(threads: int | None, products: int) -> int:
    return (threads or default_threads()) if products >= _THREADS_PAY else 1


def _packed(name: str, block: FloatArray, dtype: np.dtype[Any]) -> FloatArray:
    """The block in rows of whole cache lines, itself where it is one already."""
    height, width = block.shape
    numbers = LINE // dtype.itemsize
    whole = -(-width // numbers) * numbers
    lawful = block.dtype == dtype and block.flags.c_contiguous and width == whole
    if lawful and block.ctypes.data % LINE == 0:
        return block
    packed = scratch(f"csr {name}", (height, whole), dtype)
    packed[:, :width] = block
    packed[:, width:] = 0.0
    return packed


def _each(numbers: FloatArray | None, n: int) -> FloatArray | None:
    """One double a row, one after the other."""
    if numbers is None:
        return None
    if numbers.shape != (n,):
        raise ValueError(f"{numbers.shape} numbers for {n} rows")
    return np.ascontiguousarray(numbers, dtype=np.float64)


def _check(block: FloatArray, height: int) -> None:
    if block.ndim != 2 or len(block) != height:
        raise ValueError(f"a block of shape {block.shape} has not {height} rows")


def _matrix(rows: Entries) -> Any:
    first, last = rows.ends[0], rows.ends[-1]
    ends = rows.ends - first if first else rows.ends
    return sp.csr_array((rows.values[first:last], rows.columns[first:last], ends), shape=rows.shape)


def _kind(rows: Entries) -> str:
    value = "f32" if rows.values.dtype == np.float32 else "f64"
    return f"{value}_{'i32' if rows.columns.dtype == np.int32 else 'i64'}"


def _pass_kernel(
    rows: Entries, vectors: FloatArray, instructions: str
) -> tuple[Any, np.dtype[Any]]:
    """The kernel and the precision of its products."""
    single = rows.values.dtype == np.float32 == vectors.dtype
    value, place = _kind(rows).split("_")
    kind = f"{value}_{'f32' if single else 'f64'}_{place}"
    dtype = np.dtype(np.float32 if single else np.float64)
    return _compiled(f"csr_pass_{kind}", _PASS, instructions), dtype


def _scatter_kernel(kind: str, instructions: str) -> Any:
    return _compiled(f"csr_scatter_{kind}", _SCATTER, instructions)


@cache
def _compiled(name: str, types: tuple[Any, ...], instructions: str) -> Any:
    try:
        return native.function(name, *types, instructions=instructions)
    except AttributeError:  # a library compiled before there was such a kernel
        return None
