"""The largest eigenpairs of a centred kernel matrix, each with a small residual.

Schölkopf, Smola & Müller (1998), "Nonlinear component analysis as a kernel eigenvalue problem".
The eigenvalues are n − 1 times the variances; the eigenvectors are the scores, scaled to length 1.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from princomp.errors import MemoryLimitError
from princomp.kernel_pca.feature_space.matrix import CentredMatrix
from princomp.kernel_pca.feature_space.rounding import (
    checked_total,
    eigenvalue_rounding,
    power_of_two_scale,
    spectrum_of,
    zero_rounding,
)
from princomp.linalg import FloatArray, format_bytes, one_blas_thread
from princomp.solvers import (
    FEWEST_UNITS,
    Pairs,
    Spectrum,
    eigenpairs,
    lanczos,
    max_search_vectors,
    orthonormal,
    search_block_width,
)

# LAPACK is faster for up to _SMALL_ROWS rows, or for more than the share _FEW_SHARE of all pairs.
_SMALL_ROWS, _FEW_SHARE = 400, 0.05
# Arrays of n² doubles at the peak of a dense solution, with the kernel matrix.
_DENSE_COPIES = 4
# The search for a share of the variance begins with _FIRST_PAIRS pairs, doubles their number, and
# ends without a result at the share _MAX_LANCZOS_SHARE of all pairs.
_FIRST_PAIRS, _MAX_LANCZOS_SHARE = 16, 0.1


class Solution(NamedTuple):
    """A spectrum whose axes are eigenvectors (k, n), and how it was found."""

    spectrum: Spectrum
    solver: str
    reason: str
    memory: int


def solve(
    matrix: CentredMatrix,
    n_components: int | float | None,
    *,
    solver: str = "auto",
    tol: float = 0.0,
    memory: int,
) -> Solution:
    """Compute the spectrum of the centred kernel matrix, divided by n − 1 (with weights, Σw − 1).

    Parameters
    ----------
    matrix : KernelMatrix or PrecomputedMatrix
    n_components : int, float in (0, 1) or None
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
    check_memory(n, n_components, solver, memory)
    if not uses_lanczos(n, n_components, solver, memory):
        spectrum = _solve_dense(matrix, n_components)
        reason = (
            f"only {n:,} rows" if n <= _SMALL_ROWS else f"{spectrum.k} of {n:,} components are many"
        )
        return Solution(spectrum, "eigh", reason, _DENSE_COPIES * 8 * n * n)
    with one_blas_thread():  # BLAS's idle threads would slow down those of the products
        result = _solve_lanczos(matrix, n_components, tol, memory)
    if result is None:
        spectrum = _solve_dense(matrix, n_components)
        reason = (
            f"{n_components:.0%} of the variance needs more than {_MAX_LANCZOS_SHARE:.0%} of "
            f"{n:,} components"
        )
        return Solution(spectrum, "eigh", reason, _DENSE_COPIES * 8 * n * n)
    spectrum, products = result
    kept = "all" if matrix.kept_share == 1.0 else f"{matrix.kept_share:.0%}"
    reason = f"{spectrum.k} of {n:,} components in {products} products, {kept} of the tiles kept"
    space = search_space_size(n, spectrum.k, memory // 2)
    search_bytes = 8 * n * (space + 4 * search_block_width(spectrum.k))
    return Solution(spectrum, "lanczos", reason, search_bytes + matrix.kept_bytes)


def _solve_dense(matrix: CentredMatrix, n_components: int | float | None) -> Spectrum:
    full, n = matrix.dense(), matrix.n
    # From the centred entries: the trace of ``sums`` is a difference, which may lose digits.
    trace = float(np.trace(full))
    k = n if not isinstance(n_components, int) else min(n_components, n)
    values, vectors = eigenpairs(full, k)
    values = values[: k if k < n // 3 else n]  # few pairs are returned without other values
    trace = checked_total(values[:k], matrix, trace, n_components)
    values = zero_rounding(values, matrix)
    if not isinstance(n_components, int):
        k = int((values > 0).sum())
    if isinstance(n_components, float):
        k = _count_for_share(values, trace, n_components)
    axes = np.ascontiguousarray(vectors[:k])
    residuals = _residuals(full @ axes.T, axes, values[:k])
    return spectrum_of(values, axes, residuals, matrix, trace)


def _residuals(images: FloatArray, axes: FloatArray, values: FloatArray) -> FloatArray:
    if not len(axes) or values[0] == 0.0:
        return np.zeros(len(axes))
    differences = images / values[0] - axes.T * (values / values[0])
    residuals: FloatArray = np.linalg.norm(differences, axis=0)
    return residuals


def uses_lanczos(n: int, n_components: int | float | None, solver: str, memory: int) -> bool:
    """Whether pairs are computed by a search, instead of all at once by LAPACK."""
    if (
        n_components is None
        or (isinstance(n_components, int) and n_components >= n)
        or solver == "eigh"
    ):
        return False
    few = isinstance(n_components, float) or n_components <= _FEW_SHARE * n
    fits = _DENSE_COPIES * 8 * n * n <= memory
    return solver == "lanczos" or not fits or (n > _SMALL_ROWS and few)


def check_memory(n: int, n_components: int | float | None, solver: str, memory: int) -> None:
    """Refuse a solution that does not fit in memory, before anything is computed.

    Raises
    ------
    MemoryLimitError
    """
    if uses_lanczos(n, n_components, solver, memory):
        search_space_size(n, n_components if isinstance(n_components, int) else 1, memory // 2)
    elif _DENSE_COPIES * 8 * n * n > memory:
        raise MemoryLimitError(
            f"the kernel matrix and all eigenvectors of {n:,} rows need "
            f"{format_bytes(_DENSE_COPIES * 8.0 * n * n)}, and the limit is {format_bytes(memory)}",
            place={"parameter": "memory_limit", "rows": n},
            hint="use few components (n_components=10), or approximation='nystrom'",
        )


def search_space_size(n: int, k: int, memory: int) -> int:
    """Compute the number of vectors of a search for k pairs of n rows, within a memory limit.

    Raises
    ------
    MemoryLimitError
        If even the smallest number does not fit.
    """
    width = search_block_width(k)
    # In addition to the space: a block, its image, and its projection.
    fewest, extra = k + 3 * width, 4 * width
    if 8 * n * (fewest + extra) > memory:
        needed = 8.0 * n * (fewest + extra)
        raise MemoryLimitError(
            f"an exact kernel PCA of {n:,} rows needs {format_bytes(needed)} for the vectors of "
            f"its search, and the limit is {format_bytes(memory)}",
            place={"parameter": "memory_limit", "rows": n},
            hint=f"allow {format_bytes(2.1 * needed)}, or use approximation='nystrom', whose "
            "memory does not grow with the rows",
        )
    return min(max_search_vectors(n, k), memory // (8 * n) - extra)


def start_block_width(n_components: int | float | None) -> int:
    """Number of vectors in the first block of a search."""
    return search_block_width(n_components if isinstance(n_components, int) else _FIRST_PAIRS)


def _solve_lanczos(
    matrix: CentredMatrix, n_components: int | float | None, tol: float, memory: int
) -> tuple[Spectrum, int] | None:
    """Search for the pairs, and count the products; None if LAPACK is faster."""
    assert n_components is not None
    n = matrix.n
    fits = _DENSE_COPIES * 8 * n * n <= memory
    max_pairs = int(_MAX_LANCZOS_SHARE * n) if fits else n
    rng = np.random.default_rng(0)
    k, products = n_components if isinstance(n_components, int) else min(_FIRST_PAIRS, n), 1
    start = matrix.start_block
    if start is None:
        start = matrix.apply(rng.standard_normal((n, start_block_width(n_components))))
    if not start.any():
        zeros = np.zeros(k)
        return spectrum_of(zeros, np.eye(k, n), zeros, matrix, matrix.sums.trace), products
    first, n_random = _largest_eigenvalue_lower_bound(matrix, start), start.shape[1]
    min_residual = max(tol, FEWEST_UNITS * eigenvalue_rounding(matrix, first) / first)
    while True:
        max_vectors = search_space_size(n, k, memory // 2)
        pairs = _lanczos_pairs(matrix, k, start, n_random, min_residual, max_vectors, rng)
        products += pairs.products
        trace = checked_total(pairs.values, matrix, matrix.sums.trace, n_components)
        # Estimates of a search never exceed the eigenvalues.
        values = zero_rounding(pairs.values, matrix)
        if isinstance(n_components, int):
            break
        count = _count_for_share(values, matrix.sums.trace, n_components)
        if values[:count].sum() > n_components * matrix.sums.trace or k >= n or values[-1] == 0.0:
            k = count
            break
        # Further eigenvalues are no larger than the last.
        remaining = n_components * matrix.sums.trace - values.sum()
        if fits and (2 * k > max_pairs or remaining > (max_pairs - k) * values[-1]):
            return None
        k = min(2 * k, n)
        # Continue with the known vectors and new random ones.
        n_random = max(search_block_width(k) - pairs.vectors.shape[1], 8)
        random_vectors = rng.standard_normal((n, n_random))
        start = np.concatenate([pairs.vectors, random_vectors], axis=1)
    axes, residuals = orthonormal(pairs.vectors[:, :k].T), np.zeros(k)
    if values[0] > 0.0:
        residuals = np.maximum(pairs.residuals[:k] / values[0], min_residual / 2)
    spectrum = spectrum_of(values, axes, residuals, matrix, trace, pairs.missed, searched=True)
    return spectrum, products


def _lanczos_pairs(
    matrix: CentredMatrix,
    k: int,
    start: FloatArray,
    n_random: int,
    tol: float,
    max_vectors: int,
    rng: np.random.Generator,
) -> Pairs:
    # A start with known vectors is wider than a block.
    max_vectors = max(max_vectors, k + 3 * start.shape[1])
    scale = power_of_two_scale(matrix)
    pairs = lanczos(
        lambda vectors: matrix.apply(vectors) * scale,
        matrix.n,
        k,
        tol=tol,
        rng=rng,
        start=start,
        n_random=n_random,
        max_vectors=max_vectors,
        trace=matrix.sums.trace * scale,
    )
    return replace(pairs, values=pairs.values / scale, residuals=pairs.residuals / scale)


def _largest_eigenvalue_lower_bound(matrix: CentredMatrix, images: FloatArray) -> float:
    """Compute a lower bound of the first eigenvalue from images of random vectors.

    λ₁ is at least Σλ²/Σλ, and Σλ² is the mean squared length of the images. If K is only
    rounding, the trace Σλ is not that of the products; √Σλ², which λ₁ never exceeds, then limits
    the result.
    """
    scale = power_of_two_scale(matrix)
    squares = float(((images * scale) ** 2).sum(axis=0).mean())
    trace = max(matrix.sums.trace * scale, 1e-300)
    return max(min(squares / trace, np.sqrt(squares)) / scale, 1e-300)


def _count_for_share(values: FloatArray, trace: float, share: float) -> int:
    """Count the fewest pairs whose sum exceeds a share of the trace."""
    exceeding = np.flatnonzero(np.cumsum(values) > share * trace)
    return int(exceeding[0]) + 1 if exceeding.size else int((values > 0).sum())
