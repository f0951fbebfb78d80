"""The spectrum of a small scatter, where calling LAPACK costs more than the arithmetic."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from princomp.kernels import native
from princomp.kernels.signatures import SIZES
from princomp.linalg import FloatArray, eigh, empty, fix_signs

# Maximum number of columns: the compiled kernel has buffers for no more.
MAX_SMALL_COLUMNS = SIZES["small_columns"]


class SmallSpectrum(NamedTuple):
    """Spectrum of a scatter of p columns.

    Parameters
    ----------
    variances : ndarray of shape (p,)
        Descending and non-negative; zero beyond the rank.
    axes : ndarray of shape (p, p)
        V: the axes as rows, with the signs that make the largest |entry| of each positive.
    total : float
        Total variance.
    orthogonality : float
        Largest entry of |VVᵀ − I|.
    clipped : int
        Number of variances that were computed as negative and set to zero.
    """

    variances: FloatArray
    axes: FloatArray
    total: float
    orthogonality: float
    clipped: int


class SmallFit(NamedTuple):
    """Mean in two parts (p,), scatter (p, p) and spectrum of a block of rows."""

    mean: FloatArray
    mean_low: FloatArray
    scatter: FloatArray
    spectrum: SmallSpectrum


def spectrum(scatter: FloatArray, divisor: float, rank: int) -> SmallSpectrum | None:
    """Compute the variances and all axes; return None if the rotations do not converge.

    Each constant column gets one of the last axes to itself, and is zero in all others.

    Parameters
    ----------
    scatter : ndarray of shape (p, p)
        Finite float64, p at most ``MAX_SMALL_COLUMNS``.
    divisor : float
        n − 1.
    rank : int
        Upper bound on the rank of the scatter.
    """
    kernel = native.function("spectrum_f64")
    if kernel is None:
        return spectrum_twin(scatter, divisor, rank)
    p = len(scatter)
    out = empty(p + p * p + 3)
    status = kernel(np.ascontiguousarray(scatter), p, divisor, rank, out)
    return None if status != native.DONE else _read(out, 0, p)


def moments_and_spectrum(rows: FloatArray) -> SmallFit | None:
    """Compute the moments of unweighted rows (n, p) and their spectrum in one call.

    Return None if there are no compiled kernels, if the rows are not C-contiguous and aligned, if a
    number is not finite or out of range, or if the rotations do not converge.

    Parameters
    ----------
    rows : ndarray of shape (n, p)
        float32 or float64, at least two rows.
    """
    kernel = native.function("small_f64" if rows.dtype.char == "d" else "small_f32")
    if kernel is None or not (rows.flags.c_contiguous and rows.flags.aligned):
        return None
    n, p = rows.shape
    square = p * p
    out = empty(2 * square + 3 * p + 3)
    if kernel(rows, n, p, p, out) != native.DONE:
        return None
    end = 2 * p + square
    scatter = out[2 * p : end].reshape(p, p)
    return SmallFit(out[:p], out[p : 2 * p], scatter, _read(out, end, p))


def _read(out: FloatArray, start: int, p: int) -> SmallSpectrum:
    end = start + p + p * p
    return SmallSpectrum(
        out[start : start + p],
        out[start + p : end].reshape(p, p),
        out.item(end),
        out.item(end + 1),
        int(out.item(end + 2)),
    )


def spectrum_twin(scatter: FloatArray, divisor: float, rank: int) -> SmallSpectrum | None:
    """LAPACK implementation of :func:`spectrum`."""
    diagonal, p = scatter.diagonal(), len(scatter)
    total = max(float(np.add.reduce(diagonal)), 0.0) / divisor
    order = np.argsort(diagonal == 0.0, kind="stable")
    varying = np.count_nonzero(diagonal)
    columns = order[:varying]
    variances, axes = np.zeros(p), np.zeros((p, p))
    axes[range(varying, p), order[varying:]] = 1.0
    values, inner = eigh(scatter[np.ix_(columns, columns)])
    values = values / divisor
    values[rank:] = 0.0
    clipped = int((values < 0.0).sum())
    inner = inner * fix_signs(inner)[:, None]
    inner += 0.0  # turns −0 into +0
    variances[:varying] = np.maximum(values, 0.0)
    axes[:varying, columns] = inner
    gram = axes @ axes.T
    gram.ravel()[:: p + 1] -= 1.0
    error = float(np.maximum.reduce(np.abs(gram), axis=None))
    return SmallSpectrum(variances, axes, total, error, clipped)
