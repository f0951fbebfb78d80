"""The spectrum of a small scatter, where LAPACK's calls cost more than its arithmetic."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from princomp.arrays import FloatArray, eigh, empty, fix_signs
from princomp.kernels import native

__all__ = ["MOST", "SmallFit", "SmallSpectrum", "moments_and_spectrum", "spectrum", "spectrum_twin"]

# Columns up to here: as many as the compiled kernel has room for.
MOST = 64

_SIZE, _POINTER = ctypes.c_ssize_t, ctypes.c_void_p
_SIGNATURE = (_POINTER, _SIZE, ctypes.c_double, _SIZE, _POINTER)
_SIGNATURE_OF_ROWS = (_POINTER, _SIZE, _SIZE, _SIZE, _POINTER)


class SmallSpectrum(NamedTuple):
    """What a scatter of p columns comes to.

    Parameters
    ----------
    variances : ndarray of shape (p,)
        Descending, none below zero, those beyond the rank zero.
    axes : ndarray of shape (p, p)
        One a row, the largest |entry| of each positive.
    total : float
        Total variance.
    orthogonality : float
        Largest entry of |VVᵀ − I|.
    clipped : int
        Variances that came out below zero.
    """

    variances: FloatArray
    axes: FloatArray
    total: float
    orthogonality: float
    clipped: int


class SmallFit(NamedTuple):
    """Mean in two parts (p,), scatter (p, p) and spectrum of some rows."""

    mean: FloatArray
    mean_low: FloatArray
    scatter: FloatArray
    spectrum: SmallSpectrum


def spectrum(
    scatter: FloatArray, divisor: float, rank: int, *, instructions: str = ""
) -> SmallSpectrum | None:
    """Variances and all axes, or None where rotations do not end.

    Columns without scatter have the last axes for themselves, and no entry in the others.

    Parameters
    ----------
    scatter : ndarray of shape (p, p)
        Finite float64, p at most ``MOST``.
    divisor : float
        n − 1.
    rank : int
        What it is at most.
    instructions : str, optional
        Another instruction set than the one in use.
    """
    kernel = _kernel("spectrum_f64", _SIGNATURE, instructions)
    if kernel is None:
        return spectrum_twin(scatter, divisor, rank)
    p = len(scatter)
    scatter = np.ascontiguousarray(scatter)
    out = empty(p + p * p + 3)
    answer = kernel(native.address(scatter), p, divisor, rank, native.address(out))
    return None if answer != native.DONE else _read(out, 0, p)


def moments_and_spectrum(rows: FloatArray) -> SmallFit | None:
    """Of rows (n, p) that all count once, in one call: their moments, and the spectrum of these.

    None without compiled kernels as well, and where something is not finite or leaves the range.

    Parameters
    ----------
    rows : ndarray of shape (n, p)
        float32 or float64, at least two.
    """
    of_doubles = rows.dtype.char == "d"
    kernel = _kernel("small_f64" if of_doubles else "small_f32", _SIGNATURE_OF_ROWS, "")
    flags = rows.flags
    if kernel is None or not (flags.c_contiguous and flags.aligned):
        return None
    n, p = rows.shape
    square = p * p
    out = empty(2 * square + 3 * p + 3)
    if kernel(native.address(rows), n, p, p, native.address(out)) != native.DONE:
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


@cache
def _kernel(name: str, signature: tuple[Any, ...], instructions: str) -> Any:
    return native.function(name, *signature, instructions=instructions)


def spectrum_twin(scatter: FloatArray, divisor: float, rank: int) -> SmallSpectrum | None:
    """The same by LAPACK."""
    diagonal, p = scatter.diagonal(), len(scatter)
    total = max(float(np.add.reduce(diagonal)), 0.0) / divisor
    order = np.argsort(diagonal == 0.0, kind="stable")
    live = np.count_nonzero(diagonal)
    columns = order[:live]
    variances, axes = np.zeros(p), np.zeros((p, p))
    axes[range(live, p), order[live:]] = 1.0
    values, inner = eigh(scatter[np.ix_(columns, columns)])
    values = values / divisor
    values[rank:] = 0.0
    clipped = int((values < 0.0).sum())
    inner = inner * fix_signs(inner)[:, None]
    inner += 0.0  # a zero stays +0 whatever the sign
    variances[:live] = np.maximum(values, 0.0)
    axes[:live, columns] = inner
    gram = axes @ axes.T
    gram.ravel()[:: p + 1] -= 1.0
    away = float(np.maximum.reduce(np.abs(gram), axis=None))
    return SmallSpectrum(variances, axes, total, away, clipped)
