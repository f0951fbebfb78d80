"""The largest eigenpairs of a centred kernel matrix, each with a small residual.

Schölkopf, Smola & Müller (1998), "Nonlinear component analysis as a kernel eigenvalue problem".
The eigenvalues are n − 1 times the variances; the eigenvectors are the scores, scaled to length 1.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from princomp.errors import DataError, MemoryLimitError, warn
from princomp.kernel_pca.feature_space.matrix import CentredMatrix
from princomp.linalg import EPS, FloatArray, fix_signs, format_bytes, one_blas_thread, search_rng
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

if TYPE_CHECKING:
    from princomp.kernel_pca.parameters import KernelParameters

# LAPACK is faster for up to _SMALL_ROWS rows, or for more than the share _FEW_SHARE of all pairs.
_SMALL_ROWS, _FEW_SHARE = 400, 0.05
# Arrays of n² doubles at the peak of a dense solution, with the kernel matrix.
_DENSE_COPIES = 4
# The search for a share of the variance begins with _FIRST_PAIRS pairs, doubles their number, and
# ends without a result at the share _MAX_LANCZOS_SHARE of all pairs.
_FIRST_PAIRS, _MAX_LANCZOS_SHARE = 16, 0.1

# Negative eigenvalues beyond this share of the first mean that the matrix is not a kernel matrix.
MAX_NEGATIVE_SHARE = 1e-5
# Eigenvalues below this multiple of `eigenvalue_rounding` are set to zero. Measured errors reached
# about 3 times the bound in sums and 5 times in LAPACK; the rest is a margin.
_ZERO_FACTOR = 40.0
# Divisors that may be zero, such as the first eigenvalue, are replaced by this.
_SMALLEST_DIVISOR = float(np.finfo(np.float64).smallest_subnormal)
# Variances below this many eps times the first one never count as resolved.
_MIN_ROUNDOFF_UNITS = 10.0
# Negative eigenvalues are allowed up to this many times Σw times the error of an entry: errors of
# entries that are not random may all add up.
_NEGATIVE_FACTOR = 10.0
# Errors of a search, in eps of float64: a constant, and a part for each row. A sum of c equal
# numbers, added one by one, is off by up to 3c/16 eps (see solvers/dense.py); c is about 256 in
# BLAS, and products are merged from stripes of 256 rows.
_SEARCH_UNITS, _SEARCH_UNITS_PER_ROW = 64.0, 3 / 16 / 256


class Solution(NamedTuple):
    """A spectrum whose axes are eigenvectors (k, n), and how it was found."""

    spectrum: Spectrum
    solver: str
    reason: str
    memory: int


def solve(matrix: CentredMatrix, parameters: KernelParameters) -> Solution:
    """Compute the spectrum of the centred kernel matrix, divided by n − 1 (with weights, Σw − 1).

    Parameters
    ----------
    matrix : KernelMatrix or PrecomputedMatrix
    parameters : KernelParameters
        ``n_components`` is the number of pairs; or the share of the variance that they must
        exceed; or None for all pairs whose eigenvalue is not zero.

    Raises
    ------
    DataError
        If the kernel matrix has negative eigenvalues that are not rounding.
    MemoryLimitError
        If the solution does not fit in memory; see :func:`first_block_width`.
    """
    n, n_components, memory = matrix.n, parameters.n_components, parameters.limit
    width, result = first_block_width(n, n_components, parameters.solver, memory), None
    negative = matrix.sums.trace < -_allowed_negative(matrix, 0.0)
    if negative:  # a search does not end if no eigenvalue is positive
        if _dense_bytes(n) > memory:
            _refuse_distances(matrix)
        else:
            width = 0
    if width:
        with one_blas_thread():  # BLAS's idle threads would slow down those of the products
            result = _solve_lanczos(matrix, n_components, parameters.tol, memory, width)
    spectrum, products = result or (_solve_dense(matrix, n_components), 0)
    _warn_if_share_is_missed(matrix, spectrum, n_components)
    if result is None:
        reason = f"{spectrum.k} of {n:,} components are many"
        if parameters.solver == "eigh":
            reason = "eigen_solver='dense' was requested"
        elif negative:
            reason = "the kernel matrix has negative eigenvalues, and its trace is negative"
        elif n <= _SMALL_ROWS:
            reason = f"only {n:,} rows"
        return Solution(spectrum, "eigh", reason, _dense_bytes(n))
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
    if values.max(initial=0.0) <= _allowed_negative(matrix, 0.0):
        _refuse_distances(matrix)
    trace = checked_total(values[:k], matrix, trace, n_components)
    values = zero_rounding(values, matrix)
    k = count_components(values, trace, n_components)
    axes, residuals = np.ascontiguousarray(vectors[:k]), np.zeros(k)
    if k and values[0] > 0.0:
        differences = full @ axes.T / values[0] - axes.T * (values[:k] / values[0])
        residuals = np.linalg.norm(differences, axis=0)
    return spectrum_of(values, axes, residuals, matrix, trace)


def _dense_bytes(n: int) -> int:
    """Bytes of a dense solution of n rows."""
    return _DENSE_COPIES * 8 * n * n


def first_block_width(n: int, n_components: int | float | None, solver: str, memory: int) -> int:
    """Count the vectors in the first block of a search; 0 if LAPACK computes all pairs at once.

    Raises
    ------
    MemoryLimitError
        If the solution does not fit in memory.
    """
    fits = _dense_bytes(n) <= memory
    known = n_components if isinstance(n_components, int) else None
    if n_components is None or n_components >= n or solver == "eigh":
        searches = False
    else:
        few = known is None or known <= _FEW_SHARE * n
        searches = solver == "lanczos" or not fits or (n > _SMALL_ROWS and few)
    if searches:
        search_space_size(n, known or 1, memory // 2)
        return search_block_width(known or _FIRST_PAIRS)
    if not fits:
        raise MemoryLimitError(
            f"the kernel matrix and all eigenvectors of {n:,} rows need "
            f"{format_bytes(_dense_bytes(n))}, and the limit is {format_bytes(memory)}",
            place={"parameter": "memory_limit", "rows": n},
            hint="use few components (n_components=10), or approximation='nystrom'",
        )
    return 0


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
            f"its search, and {format_bytes(memory)} of the memory limit are left for them",
            place={"parameter": "memory_limit", "rows": n},
            hint=f"allow {format_bytes(2.1 * needed)} (memory_limit), or use "
            "approximation='nystrom', whose memory does not grow with the rows",
        )
    return min(max_search_vectors(n, k), memory // (8 * n) - extra)


def _solve_lanczos(
    matrix: CentredMatrix, n_components: int | float | None, tol: float, memory: int, width: int
) -> tuple[Spectrum, int] | None:
    """Search for the pairs, and count the products; None if LAPACK is faster."""
    assert n_components is not None
    n = matrix.n
    fits = _dense_bytes(n) <= memory
    max_pairs = int(_MAX_LANCZOS_SHARE * n) if fits else n
    rng = search_rng()
    k, products = n_components if isinstance(n_components, int) else min(_FIRST_PAIRS, n), 1
    start = matrix.start_block
    if start is None:
        start = matrix.apply(rng.standard_normal((n, width)))
    if not start.any():
        k = k if isinstance(n_components, int) else 0
        zeros = np.zeros(k)
        trace = max(matrix.sums.trace, 0.0)
        return spectrum_of(zeros, np.eye(k, n), zeros, matrix, trace), products
    first = _largest_eigenvalue_lower_bound(matrix, start)
    min_residual = max(tol, FEWEST_UNITS * eigenvalue_rounding(matrix, first) / first)
    n_random = start.shape[1]
    while True:
        # A start with known vectors is wider than a block.
        room = max(search_space_size(n, k, memory // 2), k + 3 * start.shape[1])
        pairs = _search(matrix, k, start, n_random, tol=min_residual, rng=rng, max_vectors=room)
        products += pairs.products
        trace = checked_total(pairs.values, matrix, matrix.sums.trace, n_components)
        # Estimates of a search never exceed the eigenvalues.
        values = zero_rounding(pairs.values, matrix)
        if isinstance(n_components, int):
            break
        count = count_components(values, matrix.sums.trace, n_components)
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


def _search(
    matrix: CentredMatrix,
    k: int,
    start: FloatArray,
    n_random: int,
    *,
    tol: float,
    rng: np.random.Generator,
    max_vectors: int,
) -> Pairs:
    """Search for k pairs; the last ``n_random`` vectors of ``start`` are random."""
    scale = _scale_of(matrix)
    pairs = lanczos(
        lambda vectors: matrix.apply(vectors) * scale,
        matrix.n,
        k,
        tol=tol,
        rng=rng,
        start=start,
        n_random=n_random,
        max_vectors=max_vectors,
        # If it is zero or less, some eigenvalues are negative.
        trace=max(matrix.sums.trace, 0.0) * scale or None,
        definite=matrix.function.positive,
    )
    return replace(pairs, values=pairs.values / scale, residuals=pairs.residuals / scale)


def _scale_of(matrix: CentredMatrix) -> float:
    """Power of two that scales the largest entry of K to about 1: squares stay within range."""
    exponent = -np.frexp(matrix.sums.max_abs)[1]
    return float(np.ldexp(1.0, int(np.clip(exponent, -1000, 1000))))


def _largest_eigenvalue_lower_bound(matrix: CentredMatrix, images: FloatArray) -> float:
    """Compute a lower bound of the first eigenvalue from images of random vectors.

    λ₁ is at least Σλ²/Σλ, and Σλ² is the mean squared length of the images. If K is only
    rounding, the trace Σλ is not that of the products; √Σλ², which λ₁ never exceeds, then limits
    the result.
    """
    scale = _scale_of(matrix)
    squares = float(((images * scale) ** 2).sum(axis=0).mean())
    trace = max(matrix.sums.trace * scale, _SMALLEST_DIVISOR)
    return max(min(squares / trace, np.sqrt(squares)) / scale, _SMALLEST_DIVISOR)


def count_components(values: FloatArray, trace: float, n_components: int | float | None) -> int:
    """Count the pairs to keep of those with eigenvalues ``values``, the largest first.

    For a share, they are the fewest whose sum exceeds this share of the trace. Without a number,
    and where no sum exceeds the share, they are all whose eigenvalue is not zero.
    """
    if isinstance(n_components, int):
        return min(n_components, len(values))
    if n_components is not None:
        exceeding = np.flatnonzero(np.cumsum(values) > n_components * trace)
        if exceeding.size:
            return int(exceeding[0]) + 1
    return int((values > 0).sum())


# ---- rounding errors: which eigenvalues are zero, refused or resolved --------------------


def _warn_if_share_is_missed(
    matrix: CentredMatrix, spectrum: Spectrum, n_components: int | float | None
) -> None:
    """Warn if the eigenvalues that are not zero sum to less than the share that is wanted.

    A lack of 0.1% of the variance is tolerated, and a matrix that is constant up to rounding.
    """
    found, total = float(spectrum.variances[: spectrum.k].sum()), spectrum.total
    constant = total <= EPS * matrix.sums.max_abs
    if isinstance(n_components, float) and not constant and found < (n_components - 0.001) * total:
        warn(
            f"n_components={n_components:g} is not reached: the eigenvalues above rounding errors "
            f"explain {found / total:.1%} of the variance, because entries of the kernel matrix "
            f"(up to {matrix.sums.max_abs:.2g}) are large compared with their differences. Compute "
            "the matrix from centred rows, or use another kernel"
        )


def eigenvalue_rounding(matrix: CentredMatrix, first: float) -> float:
    """Bound the rounding error of an eigenvalue: ε max(λ₁, √n max|Kᵢⱼ|), up to a small factor.

    Entries of K are rounded before centring subtracts their mean. If these errors are random, the
    matrix of errors has a norm of at most ε √n max|Kᵢⱼ| (with weights, ``Centring.error_gain``
    replaces √n). LAPACK and sums round relative to λ₁. Eigenvalues below ``_ZERO_FACTOR`` times
    this bound are zero, with eigh and with Lanczos.
    """
    entries = matrix.sums.max_abs * matrix.centring.error_gain
    return float(np.finfo(matrix.dtype).eps) * max(first, entries)


def zero_rounding(values: FloatArray, matrix: CentredMatrix) -> FloatArray:
    """Set eigenvalues that are rounding to zero."""
    floor = _ZERO_FACTOR * eigenvalue_rounding(matrix, float(values[0]))
    return np.where(values > floor, values, 0.0)


def checked_total(
    values: FloatArray, matrix: CentredMatrix, trace: float, n_components: int | float | None
) -> float:
    """Check that K is positive semi-definite; return the sum of its eigenvalues.

    The sum is the trace, unless the computed eigenvalues ``values`` sum to more than the trace:
    then some of the others are negative. Such matrices are used on purpose, for example those of
    geodesic distances (Isomap). So if ``n_components`` is a number of components, the function only
    warns, and returns the sum of ``values`` that are not rounding.

    Raises
    ------
    DataError
        If an eigenvalue is not finite, if one of ``values`` is negative by more than rounding, or
        if others are and ``n_components`` is not an integer.
    """
    if not np.isfinite(values).all():
        raise DataError(
            "an eigenvalue of the kernel matrix is not finite", hint="check gamma and scale"
        )
    lowest, first = float(values.min(initial=0.0)), float(values.max(initial=0.0))
    others = trace - float(values.sum())
    allowed = _allowed_negative(matrix, first)
    if min(lowest, others) >= -allowed:
        return max(trace, 0.0)
    if lowest < -allowed or not isinstance(n_components, int):
        positive = int((values > allowed).sum())
        keep = f"; or keep n_components={positive} or fewer" if positive else ""
        found = f"those that were not computed sum to {others:.3g}"
        if lowest < -allowed:
            found = f"the smallest that was computed is {lowest:.3g}"
        raise DataError(
            f"There are significant negative eigenvalues ({found}, and the largest is "
            f"{first:.3g}): the kernel matrix is not positive semi-definite",
            hint="use other parameters or another kernel: 'sigmoid' is indefinite for many values "
            f"of gamma and coef0, 'poly' for a fractional degree or a negative coef0{keep}",
        )
    warn(
        "the kernel matrix is not positive semi-definite: the eigenvalues that were not computed "
        f"sum to {others:.3g} (the largest is {first:.3g}). explained_variance_ratio_ is "
        "relative to the sum of the computed ones, so it depends on n_components"
    )
    return float(zero_rounding(values, matrix).sum())


def _allowed_negative(matrix: CentredMatrix, first: float) -> float:
    """Size up to which negative eigenvalues may be rounding; ``first`` is the first eigenvalue."""
    entries = matrix.entry_error * matrix.sums.max_abs
    return max(
        MAX_NEGATIVE_SHARE * first, _NEGATIVE_FACTOR * matrix.centring.total_weight * entries
    )


def _refuse_distances(matrix: CentredMatrix) -> None:
    """Refuse a matrix with a diagonal of zeros whose eigenvalues have a negative sum."""
    if matrix.sums.zero_diagonal and matrix.sums.trace < 0.0:
        raise DataError(
            "these look like distances, not a kernel: the diagonal is zero, and the eigenvalues "
            f"of the centred matrix sum to {matrix.sums.trace:.3g}, so it is not positive "
            "semi-definite",
            hint="a kernel is large for rows that are alike: for Euclidean distances D (not "
            "squared) use -D**2 / 2, or np.exp(-gamma * D**2); for cosine distances 1 - D",
        )


def spectrum_of(
    values: FloatArray,
    axes: FloatArray,
    residuals: FloatArray,
    matrix: CentredMatrix,
    trace: float,
    missed: float = 0.0,
    *,
    searched: bool = False,
) -> Spectrum:
    """Return the Spectrum of eigenvalues and unit eigenvectors (k, n), with its rounding error.

    Parameters
    ----------
    residuals : ndarray of shape (k,)
        Relative to the first eigenvalue.
    missed : float
        Probability that a larger eigenvalue was missed.
    searched : bool
        Whether a search by products with K found them, instead of LAPACK.
    """
    # If no eigenvalue is kept, the first is at least the mean of all n.
    first = max(float(values[0]) if len(values) else trace / matrix.n, _SMALLEST_DIVISOR)
    minimum = _MIN_ROUNDOFF_UNITS * float(np.finfo(matrix.dtype).eps)
    search = (_SEARCH_UNITS + _SEARCH_UNITS_PER_ROW * matrix.n) * EPS if searched else 0.0
    # If there are g groups of n / g rows with the same rounding errors, the matrix of errors has a
    # norm of about n / √g. K then has about g eigenvalues above rounding, so λ₁ is at least
    # ``trace`` / g, and g is at least ``trace`` / λ₁.
    rate = min(first / trace, 1.0) if trace > 0.0 else 1.0
    shared = matrix.centring.total_weight * float(np.sqrt(rate))
    entries = matrix.entry_error * matrix.sums.max_abs * max(matrix.centring.error_gain, shared)
    largest = max(minimum, search, eigenvalue_rounding(matrix, first) / first, entries / first)
    divisor, roundoff = matrix.centring.divisor, min(largest, 1.0)
    roots = matrix.centring.roots
    if roots is not None:
        axes = axes * _signs_of_scores(axes, roots[:, 0], matrix.dtype)[:, None]
    # If negative eigenvalues may be rounding, the components may sum to far more than the trace.
    # Otherwise, the trace is more accurate.
    kept = float(values[: len(axes)].sum())
    total = kept if kept - trace > MAX_NEGATIVE_SHARE * first else trace
    return Spectrum(
        values / divisor,
        axes,
        total / divisor,
        roundoff,
        residuals=residuals,
        missed=missed,
        signs_given=roots is not None,
    )


def _signs_of_scores(axes: FloatArray, roots: FloatArray, dtype: npt.DTypeLike) -> FloatArray:
    """Signs (k,) that make the largest scores positive, as if rows were repeated by their weights.

    Scores are eigenvectors (k, n) divided by the roots (n,) of the weights. Entries that are
    rounding are left out, because division by a small root would enlarge them.
    """
    sizes = np.abs(axes)
    known = sizes > np.sqrt(np.finfo(dtype).eps) * sizes.max(axis=1, keepdims=True)
    scores = np.where(known, axes / roots, 0.0)
    return fix_signs(scores / np.abs(scores).max(axis=1, keepdims=True))
