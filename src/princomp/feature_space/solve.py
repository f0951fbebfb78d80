"""The largest eigenpairs of a centred kernel matrix: as many as are wanted, each to a residual.

Schölkopf, Smola & Müller (1998), "Nonlinear component analysis as a kernel eigenvalue problem".
The eigenvalues are n − 1 times the variances, the eigenvectors the scores of unit length.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from princomp.arrays import FloatArray, one_blas_thread
from princomp.eigenpairs import eigenpairs
from princomp.errors import DataError, MemoryLimitError
from princomp.feature_space.matrix import Products
from princomp.memory import in_words
from princomp.solvers.bases import orthonormal
from princomp.solvers.lanczos import Pairs, lanczos, search_room, wide_block
from princomp.solvers.ritz import FEWEST_UNITS
from princomp.spectrum import Spectrum

__all__ = ["Solved", "check_memory", "first_width", "is_searched", "solve"]

# Up to so many rows, or where more than this share of all pairs is wanted, LAPACK is quicker.
_SMALL, _SHARE = 400, 0.05
# Arrays of n² doubles that a dense solution holds at its peak, the kernel matrix among them.
_DENSE_COPIES = 4
# The search for a share of the variance begins with so many pairs, doubles them, and is given up
# where it takes more than this share of all.
_FIRST, _LARGE_SHARE = 16, 0.1
# Negative eigenvalues beyond this share of the first mean that the kernel is none.
_NEGATIVE = 1e-5
# The errors of a product's sums are some three times those of the entries, and LAPACK's some
# five units of the first eigenvalue: an eigenvalue under so many times the bound is nothing else.
_NOTHING = 40.0
# Units of the first eigenvalue below which no route claims to tell variances apart; and how many
# times the bound, and √n, negative eigenvalues may come to where errors of entries all add up.
_FEWEST_CLAIMED, _WORST = 10.0, 10.0


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
    """The spectrum of the centred kernel matrix over n − 1, or Σw − 1 with weights.

    Parameters
    ----------
    matrix : KernelMatrix or GivenMatrix
    wanted : int, float in (0, 1) or None
        Pairs; the share of the variance that they must exceed; all that are not zero.
    solver : {"auto", "eigh", "lanczos"}
    tol : float
        Largest residual of the search relative to the first eigenvalue; 0 is what rounding
        allows.
    memory : int
        Bytes that a dense solution may take.

    Raises
    ------
    DataError
        When the kernel matrix has negative eigenvalues that are not rounding.
    MemoryLimitError
        When it does not fit; see :func:`check_memory`.
    """
    n = matrix.n
    check_memory(n, wanted, solver, memory)
    if not is_searched(n, wanted, solver, memory):
        spectrum = _dense(matrix, wanted)
        why = f"{n:,} rows are few" if n <= _SMALL else f"{spectrum.k} of {n:,} components are many"
        return Solved(spectrum, "eigh", why, _DENSE_COPIES * 8 * n * n)
    with one_blas_thread():  # its threads would go on spinning beside those of the products
        found = _searched(matrix, wanted, tol, memory)
    if found is None:
        spectrum = _dense(matrix, wanted)
        why = f"{wanted:g} of the variance is more than {_LARGE_SHARE:.0%} of {n:,} components"
        return Solved(spectrum, "eigh", why, _DENSE_COPIES * 8 * n * n)
    spectrum, products = found
    kept = "all" if matrix.kept == 1.0 else f"{matrix.kept:.0%}"
    why = f"{spectrum.k} of {n:,} components in {products} products, {kept} of the tiles kept"
    space = search_space(n, spectrum.k, memory // 2)
    taken = 8 * n * (space + 4 * wide_block(spectrum.k))
    return Solved(spectrum, "lanczos", why, taken + matrix.kept_bytes)


def _dense(matrix: Products, wanted: int | float | None) -> Spectrum:
    full, n = matrix.dense(), matrix.n
    # Of centred entries: that of the spread is a difference, which may have lost digits.
    trace = max(float(np.trace(full)), 0.0)
    k = n if not isinstance(wanted, int) else min(wanted, n)
    values, vectors = eigenpairs(full, k)
    values = values[: k if k < n // 3 else n]  # of few wanted, no others are told
    _check(values[:k], matrix)
    values = _sound(values, matrix)
    if not isinstance(wanted, int):
        k = int((values > 0).sum())
    if isinstance(wanted, float):
        k = _enough(values, trace, wanted)
    axes = np.ascontiguousarray(vectors[:k])
    residuals = _residuals(full @ axes.T, axes, values[:k])
    return _spectrum(values, axes, residuals, matrix, trace)


def _residuals(images: FloatArray, axes: FloatArray, values: FloatArray) -> FloatArray:
    if not len(axes) or values[0] == 0.0:
        return np.zeros(len(axes))
    away: FloatArray = np.linalg.norm(images - axes.T * values, axis=0) / values[0]
    return away


def is_searched(n: int, wanted: int | float | None, solver: str, memory: int) -> bool:
    """Whether pairs are searched for, rather than all of them found at once."""
    if wanted is None or (isinstance(wanted, int) and wanted >= n) or solver == "eigh":
        return False
    few = isinstance(wanted, float) or wanted <= _SHARE * n
    fits = _DENSE_COPIES * 8 * n * n <= memory
    return solver == "lanczos" or not fits or (n > _SMALL and few)


def check_memory(n: int, wanted: int | float | None, solver: str, memory: int) -> None:
    """Refuse what does not fit, before anything is computed.

    Raises
    ------
    MemoryLimitError
    """
    if is_searched(n, wanted, solver, memory):
        search_space(n, wanted if isinstance(wanted, int) else 1, memory // 2)
    elif _DENSE_COPIES * 8 * n * n > memory:
        raise MemoryLimitError(
            f"all pairs of {n:,} rows need {in_words(_DENSE_COPIES * 8.0 * n * n)}, and the "
            f"limit is {in_words(memory)}",
            place={"parameter": "memory_limit", "rows": n},
            hint="ask for few components (n_components=10), or approximation='nystrom'",
        )


def search_space(n: int, k: int, memory: int) -> int:
    """Vectors of a search for k pairs of n rows: fewer where only so many bytes are there.

    Raises
    ------
    MemoryLimitError
        Where even the fewest do not fit.
    """
    width = wide_block(k)
    # Beside them a block, its image, and what is swept from it.
    least, beside = k + 3 * width, 4 * width
    if 8 * n * (least + beside) > memory:
        needed = 8.0 * n * (least + beside)
        raise MemoryLimitError(
            f"an exact kernel PCA of {n:,} rows needs {in_words(needed)} for the vectors of its "
            f"search, and it may take {in_words(memory)}",
            place={"parameter": "memory_limit", "rows": n},
            hint=f"allow {in_words(2.1 * needed)}, or use approximation='nystrom', whose memory "
            "does not grow with the rows",
        )
    return min(search_room(n, k), memory // (8 * n) - beside)


def first_width(wanted: int | float | None) -> int:
    """Vectors of a search's first block."""
    return wide_block(wanted if isinstance(wanted, int) else _FIRST)


def _searched(
    matrix: Products, wanted: int | float | None, tol: float, memory: int
) -> tuple[Spectrum, int] | None:
    """The pairs, and how many products they took; None where LAPACK is quicker after all."""
    assert wanted is not None
    n = matrix.n
    fits = _DENSE_COPIES * 8 * n * n <= memory
    most = int(_LARGE_SHARE * n) if fits else n
    rng = np.random.default_rng(0)
    k, products = wanted if isinstance(wanted, int) else _FIRST, 1
    start = matrix.first
    if start is None:
        start = matrix.apply(rng.standard_normal((n, first_width(wanted))))
    if not start.any():
        none = np.zeros(k)
        return _spectrum(none, np.eye(k, n), none, matrix, matrix.spread.trace), products
    first, fresh = _first_at_least(matrix, start), start.shape[1]
    least = max(tol, FEWEST_UNITS * _rounding(matrix, first) / first)
    while True:
        room = search_space(n, k, memory // 2)
        pairs = _pairs(matrix, k, start, fresh, least, room, rng)
        products += pairs.products
        _check(pairs.values, matrix)
        # Those of a search are never more than the eigenvalues, however soon it ends.
        values = _sound(pairs.values, matrix)
        if isinstance(wanted, int):
            break
        found = _enough(values, matrix.spread.trace, wanted)
        if values[:found].sum() > wanted * matrix.spread.trace or k >= n or values[-1] == 0.0:
            k = found
            break
        # Those still to come are no larger than the last.
        left = wanted * matrix.spread.trace - values.sum()
        if fits and (2 * k > most or left > (most - k) * values[-1]):
            return None
        k = min(2 * k, n)
        # What is known already, and as many new directions.
        fresh = max(wide_block(k) - pairs.vectors.shape[1], 8)
        more = rng.standard_normal((n, fresh))
        start = np.concatenate([pairs.vectors, more], axis=1)
    axes, residuals = orthonormal(pairs.vectors[:, :k].T), np.zeros(k)
    if values[0] > 0.0:
        residuals = np.maximum(pairs.residuals[:k] / values[0], least / 2)
    trace = matrix.spread.trace
    return _spectrum(values, axes, residuals, matrix, trace, pairs.missed), products


def _pairs(
    matrix: Products,
    k: int,
    start: FloatArray,
    fresh: int,
    tol: float,
    room: int,
    rng: np.random.Generator,
) -> Pairs:
    # A start that holds what is known already is wider than a block.
    room = max(room, k + 3 * start.shape[1])
    return lanczos(
        matrix.apply,
        matrix.n,
        k,
        tol=tol,
        rng=rng,
        start=start,
        fresh=fresh,
        room=room,
        trace=matrix.spread.trace,
    )


def _rounding(matrix: Products, first: float) -> float:
    """What rounding moves an eigenvalue by: ε max(λ₁, √n max|Kᵢⱼ|), to a small factor.

    Entries of K are rounded before centring takes their mean away, and their errors, at random,
    have a norm of at most ε √n of their size (see ``Centring.reach``); LAPACK and sums round
    relative to λ₁. What is below ``_NOTHING`` times this is zero, on either road.
    """
    entries = matrix.spread.largest * matrix.centring.reach
    return float(np.finfo(matrix.dtype).eps) * max(first, entries)


def _sound(values: FloatArray, matrix: Products) -> FloatArray:
    """Descending eigenvalues, zero where they are rounding."""
    floor = _NOTHING * _rounding(matrix, float(values[0]))
    return np.where(values > floor, values, 0.0)


def _first_at_least(matrix: Products, images: FloatArray) -> float:
    """A number that the first eigenvalue is not below, from images of random vectors.

    Σλ²/Σλ is no more, and Σλ² is the mean squared length of the images. Where all is rounding,
    the trace Σλ is not that of what products show, but λ₁ is at most the root of Σλ².
    """
    squares = float((images**2).sum(axis=0).mean())
    return max(min(squares / max(matrix.spread.trace, 1e-300), np.sqrt(squares)), 1e-300)


def _enough(values: FloatArray, trace: float, share: float) -> int:
    """The fewest of the first pairs whose sum exceeds a share of the trace."""
    passed = np.flatnonzero(np.cumsum(values) > share * trace)
    return int(passed[0]) + 1 if passed.size else int((values > 0).sum())


def _check(values: FloatArray, matrix: Products) -> None:
    """Refuse what is no kernel."""
    if not np.isfinite(values).all():
        raise DataError(
            "the kernel matrix has no finite eigenvalues", hint="look at gamma and scale"
        )
    lowest, first = float(values.min(initial=0.0)), float(values.max(initial=0.0))
    # Errors of entries that are not at random, as of rows that are equal, all add up.
    allowed = max(_NEGATIVE * first, _WORST * np.sqrt(matrix.n) * _rounding(matrix, 0.0))
    if lowest < -allowed:
        raise DataError(
            f"There are significant negative eigenvalues ({lowest:.3g} of {first:.3g}): the kernel "
            "matrix is not positive semi-definite",
            hint="choose other parameters, or another kernel: 'sigmoid' is none for many",
        )


def _spectrum(
    values: FloatArray,
    axes: FloatArray,
    residuals: FloatArray,
    matrix: Products,
    trace: float,
    missed: float = 0.0,
) -> Spectrum:
    divisor = matrix.centring.divisor
    first = max(float(values[0]), 1e-300) if len(values) else 1.0
    least = _FEWEST_CLAIMED * float(np.finfo(matrix.dtype).eps)
    roundoff = max(least, _rounding(matrix, first) / first)
    return Spectrum(
        values / divisor,
        axes,
        trace / divisor,
        min(roundoff, 1.0),
        residuals=residuals,
        missed=missed,
    )
