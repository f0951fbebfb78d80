"""Eigenvalues that a search may have missed: copies of one that it found, and others.

A small residual shows that a pair is an eigenpair, but not that no larger one is missing.
"""

from __future__ import annotations

import math

import numpy as np

from princomp.linalg import EPS, FloatArray

# Eigenvalues that differ by less than this share count as copies: the search separates others.
# Differences below COPY_UNITS times the tolerance count as rounding.
_TIED, COPY_UNITS = 1e-3, 16
# Bound of the rounding errors of a trace and of the sum of eigenvalues, relative to the trace.
_SLACK = 1e-6


def may_hide_copies(
    values: FloatArray, copies: int, tol: float, *, within_tol: bool = False
) -> bool:
    """Whether eigenvalues larger than the last of those found (k,) may be hidden.

    A search from ``copies`` random vectors finds at most that many copies of an eigenvalue. Copies
    may be missing only if at least that many of the values above the last one agree. Values that
    are only larger by about the tolerance of the search count with ``within_tol``.
    """
    above = values[:-1]
    if copies > len(above):
        return False
    largest, smallest = above[: len(above) - copies + 1], above[copies - 1 :]
    tied = largest - smallest <= np.maximum(_TIED * largest, COPY_UNITS * tol * values[0])
    least = EPS if within_tol else max(tol, EPS)
    larger = largest - values[-1] > COPY_UNITS * least * values[0]
    return bool((tied & larger).any())


def miss_probability(size: int, copies: int, error: float) -> float:
    """Upper bound of the probability that a search misses an eigenvalue larger than its last.

    The smallest singular value of a random w × w matrix is below δ / √w with probability δ
    (Edelman 1988). So with probability 1 − δ, a random block of w = ``copies`` vectors has a
    component of at least δ / √(w·size) along each of w eigenvectors. The search ends when the
    errors of the wanted vectors are at most ``error``: their residuals, relative to the last
    eigenvalue. A vector with an eigenvalue that is clearly larger grows faster than they do, so it
    stays hidden only if its component in the start was less than that.
    """
    return min(1.0, error * math.sqrt(size * copies))


def relative_to_last(values: FloatArray, error: float) -> float:
    """Convert an error in units of the first value to units of the last value that exceeds it."""
    last = values[values > error * values[0]].min(initial=values[0])
    return float(error * values[0] / max(last, np.finfo(np.float64).tiny))


def rest_is_smaller(trace: float | None, values: FloatArray) -> bool:
    """Whether all other eigenvalues add up to less than the last one of ``values``."""
    return trace is not None and bool(trace * (1.0 + _SLACK) - values.sum() < values[-1])
