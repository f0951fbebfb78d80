"""The largest eigenpairs of a centred kernel matrix, each with a small residual.

Schölkopf, Smola & Müller (1998), "Nonlinear component analysis as a kernel eigenvalue problem".
The eigenvalues are n − 1 times the variances; the eigenvectors are the scores, scaled to length 1.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from princomp.errors import MemoryLimitError
from princomp.kernel_pca.feature_space.matrix import Products
from princomp.kernel_pca.feature_space.rounding import (
    checked_total,
    rounding_of,
    spectrum_of,
    unit_of,
    without_rounding,
)
from princomp.linalg import FloatArray, in_words, one_blas_thread
from princomp.solvers import (
    FEWEST_UNITS,
    Pairs,
    Spectrum,
    eigenpairs,
    lanczos,
    orthonormal,
    search_room,
    wide_block,
)

# LAPACK is faster for up to _SMALL rows, or for more than the share _SHARE of all eigenpairs.
_SMALL, _SHARE = 400, 0.05
# Arrays of n² doubles at the peak of a dense solution, with the kernel matrix.
_DENSE_COPIES = 4
# The search for a share of the variance begins with _FIRST pairs, doubles their number, and ends
# without a result at the share _LARGE_SHARE of all pairs.
_FIRST, _LARGE_SHARE = 16, 0.1


class Solved(NamedTuple):
    """A spectrum whose axes are eigenvectors (k, n), and how it was found."""

    spectrum: Spectrum
    solver: str
    reason: str
    memory: int


def solve(
    matrix: Products,
    wanted: int | float | None,
    *,
    solver: str = "auto",
    tol: float = 0.0,
    memory: int,
) -> Solved:
    """Compute the spectrum of the centred kernel matrix, divided by n − 1 (with weights, Σw − 1).

    Parameters
    ----------
    matrix : KernelMatrix or PrecomputedMatrix
    wanted : int, float in (0, 1) or None
        Number of pairs; or the share of the variance that they must exceed; or None for all pairs
        whose eigenvalue is not zero.
    solver : {"auto", "eigh", "lanczos"}
    tol : float
        Largest residual of the search relative to the first eigenvalue; 0 means the smallest that
        rounding allows.
    memory : int
        Bytes that a dense solution may use.

    Raises
    ------
    DataError
        If the kernel matrix has negative eigenvalues that are not rounding.
    MemoryLimitError
        If the solution does not fit in memory; see :func:`check_memory`.
    """
    n = matrix.n
    check_memory(n, wanted, solver, memory)
    if not is_searched(n, wanted, solver, memory):
        spectrum = _dense(matrix, wanted)
        why = f"only {n:,} rows" if n <= _SMALL else f"{spectrum.k} of {n:,} components are many"
        return Solved(spectrum, "eigh", why, _DENSE_COPIES * 8 * n * n)
    with one_blas_thread():  # BLAS's idle threads would slow down those of the products
        found = _searched(matrix, wanted, tol, memory)
    if found is None:
        spectrum = _dense(matrix, wanted)
        why = f"{wanted:.0%} of the variance needs more than {_LARGE_SHARE:.0%} of {n:,} components"
        return Solved(spectrum, "eigh", why, _DENSE_COPIES * 8 * n * n)
    spectrum, products = found
    kept = "all" if matrix.kept == 1.0 else f"{matrix.kept:.0%}"
    why = f"{spectrum.k} of {n:,} components in {products} products, {kept} of the tiles kept"
    space = search_space(n, spectrum.k, memory // 2)
    taken = 8 * n * (space + 4 * wide_block(spectrum.k))
    return Solved(spectrum, "lanczos", why, taken + matrix.kept_bytes)


def _dense(matrix: Products, wanted: int | float | None) -> Spectrum:
    full, n = matrix.dense(), matrix.n
    # From the centred entries: the trace of ``spread`` is a difference, which may lose digits.
    trace = float(np.trace(full))
    k = n if not isinstance(wanted, int) else min(wanted, n)
    values, vectors = eigenpairs(full, k)
    values = values[: k if k < n // 3 else n]  # few pairs are returned without other values
    trace = checked_total(values[:k], matrix, trace, wanted)
    values = without_rounding(values, matrix)
    if not isinstance(wanted, int):
        k = int((values > 0).sum())
    if isinstance(wanted, float):
        k = _enough(values, trace, wanted)
    axes = np.ascontiguousarray(vectors[:k])
    residuals = _residuals(full @ axes.T, axes, values[:k])
    return spectrum_of(values, axes, residuals, matrix, trace)


def _residuals(images: FloatArray, axes: FloatArray, values: FloatArray) -> FloatArray:
    if not len(axes) or values[0] == 0.0:
        return np.zeros(len(axes))
    away = images / values[0] - axes.T * (values / values[0])
    residuals: FloatArray = np.linalg.norm(away, axis=0)
    return residuals


def is_searched(n: int, wanted: int | float | None, solver: str, memory: int) -> bool:
    """Whether pairs are computed by a search, instead of all at once by LAPACK."""
    if wanted is None or (isinstance(wanted, int) and wanted >= n) or solver == "eigh":
        return False
    few = isinstance(wanted, float) or wanted <= _SHARE * n
    fits = _DENSE_COPIES * 8 * n * n <= memory
    return solver == "lanczos" or not fits or (n > _SMALL and few)


def check_memory(n: int, wanted: int | float | None, solver: str, memory: int) -> None:
    """Refuse a solution that does not fit in memory, before anything is computed.

    Raises
    ------
    MemoryLimitError
    """
    if is_searched(n, wanted, solver, memory):
        search_space(n, wanted if isinstance(wanted, int) else 1, memory // 2)
    elif _DENSE_COPIES * 8 * n * n > memory:
        raise MemoryLimitError(
            f"the kernel matrix and all eigenvectors of {n:,} rows need "
            f"{in_words(_DENSE_COPIES * 8.0 * n * n)}, and the limit is {in_words(memory)}",
            place={"parameter": "memory_limit", "rows": n},
            hint="use few components (n_components=10), or approximation='nystrom'",
        )


def search_space(n: int, k: int, memory: int) -> int:
    """Compute the number of vectors of a search for k pairs of n rows, within a memory limit.

    Raises
    ------
    MemoryLimitError
        If even the smallest number does not fit.
    """
    width = wide_block(k)
    # In addition to the space: a block, its image, and its projection.
    least, extra = k + 3 * width, 4 * width
    if 8 * n * (least + extra) > memory:
        needed = 8.0 * n * (least + extra)
        raise MemoryLimitError(
            f"an exact kernel PCA of {n:,} rows needs {in_words(needed)} for the vectors of its "
            f"search, and the limit is {in_words(memory)}",
            place={"parameter": "memory_limit", "rows": n},
            hint=f"allow {in_words(2.1 * needed)}, or use approximation='nystrom', whose memory "
            "does not grow with the rows",
        )
    return min(search_room(n, k), memory // (8 * n) - extra)


def first_width(wanted: int | float | None) -> int:
    """Number of vectors in the first block of a search."""
    return wide_block(wanted if isinstance(wanted, int) else _FIRST)


def _searched(
    matrix: Products, wanted: int | float | None, tol: float, memory: int
) -> tuple[Spectrum, int] | None:
    """Search for the pairs, and count the products; None if LAPACK is faster."""
    assert wanted is not None
    n = matrix.n
    fits = _DENSE_COPIES * 8 * n * n <= memory
    most = int(_LARGE_SHARE * n) if fits else n
    rng = np.random.default_rng(0)
    k, products = wanted if isinstance(wanted, int) else min(_FIRST, n), 1
    start = matrix.first
    if start is None:
        start = matrix.apply(rng.standard_normal((n, first_width(wanted))))
    if not start.any():
        none = np.zeros(k)
        return spectrum_of(none, np.eye(k, n), none, matrix, matrix.spread.trace), products
    first, fresh = _first_at_least(matrix, start), start.shape[1]
    least = max(tol, FEWEST_UNITS * rounding_of(matrix, first) / first)
    while True:
        room = search_space(n, k, memory // 2)
        pairs = _pairs(matrix, k, start, fresh, least, room, rng)
        products += pairs.products
        trace = checked_total(pairs.values, matrix, matrix.spread.trace, wanted)
        # Estimates of a search never exceed the eigenvalues.
        values = without_rounding(pairs.values, matrix)
        if isinstance(wanted, int):
            break
        found = _enough(values, matrix.spread.trace, wanted)
        if values[:found].sum() > wanted * matrix.spread.trace or k >= n or values[-1] == 0.0:
            k = found
            break
        # Further eigenvalues are no larger than the last.
        left = wanted * matrix.spread.trace - values.sum()
        if fits and (2 * k > most or left > (most - k) * values[-1]):
            return None
        k = min(2 * k, n)
        # Continue with the known vectors and new random ones.
        fresh = max(wide_block(k) - pairs.vectors.shape[1], 8)
        more = rng.standard_normal((n, fresh))
        start = np.concatenate([pairs.vectors, more], axis=1)
    axes, residuals = orthonormal(pairs.vectors[:, :k].T), np.zeros(k)
    if values[0] > 0.0:
        residuals = np.maximum(pairs.residuals[:k] / values[0], least / 2)
    spectrum = spectrum_of(values, axes, residuals, matrix, trace, pairs.missed, searched=True)
    return spectrum, products


def _pairs(
    matrix: Products,
    k: int,
    start: FloatArray,
    fresh: int,
    tol: float,
    room: int,
    rng: np.random.Generator,
) -> Pairs:
    # A start with known vectors is wider than a block.
    room = max(room, k + 3 * start.shape[1])
    unit = unit_of(matrix)
    pairs = lanczos(
        lambda vectors: matrix.apply(vectors) * unit,
        matrix.n,
        k,
        tol=tol,
        rng=rng,
        start=start,
        fresh=fresh,
        room=room,
        trace=matrix.spread.trace * unit,
    )
    return replace(pairs, values=pairs.values / unit, residuals=pairs.residuals / unit)


def _first_at_least(matrix: Products, images: FloatArray) -> float:
    """Compute a lower bound of the first eigenvalue from images of random vectors.

    λ₁ is at least Σλ²/Σλ, and Σλ² is the mean squared length of the images. If K is only
    rounding, the trace Σλ is not that of the products; √Σλ², which λ₁ never exceeds, then limits
    the result.
    """
    unit = unit_of(matrix)
    squares = float(((images * unit) ** 2).sum(axis=0).mean())
    trace = max(matrix.spread.trace * unit, 1e-300)
    return max(min(squares / trace, np.sqrt(squares)) / unit, 1e-300)


def _enough(values: FloatArray, trace: float, share: float) -> int:
    """Count the fewest pairs whose sum exceeds a share of the trace."""
    passed = np.flatnonzero(np.cumsum(values) > share * trace)
    return int(passed[0]) + 1 if passed.size else int((values > 0).sum())
