"""The missing cells of any row, given a fit: what the cells that are there make likely."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from princomp.arrays import FloatArray
from princomp.missing.ridge import shrinkage

__all__ = ["with_cells_filled"]

# Rows are taken so many numbers at a time.
_PIECE = 2**20
# Directions that the cells of a row tell less of than this are left alone.
_TOLD = 1e-10


def with_cells_filled(rows: FloatArray, fitted: Any, method: str) -> FloatArray:
    """Rows (n, p) with their missing cells filled, in a copy where there was one.

    ``"em"``: the conditional mean given the cells that are there, under components shrunk as
    in the fit; a row of the fit gets the cells that it got there. ``"nipals"``: the cells of
    the least-squares scores, the shortest ones where the cells do not tell all. A row without
    any cell stays empty.

    Parameters
    ----------
    rows : ndarray of shape (n, p)
    fitted : Fitted
    method : {"em", "nipals"}
    """
    holes = np.isnan(rows)
    which = np.flatnonzero(holes.any(axis=1) & ~holes.all(axis=1))
    if not which.size:
        return rows
    axes = np.asarray(fitted.spectrum.axes[: fitted.k], dtype=np.float64)
    factors = _factors(fitted) if method == "em" else np.ones(fitted.k)
    scale = np.ones(fitted.p) if fitted.scale is None else fitted.scale
    out = rows.copy()
    step = max(1, _PIECE // max(fitted.p, fitted.k**2))
    for start in range(0, len(which), step):
        part = which[start : start + step]
        missing = holes[part]
        known = ((rows[part].astype(np.float64) - fitted.mean) - fitted.mean_low) / scale
        likely = _fit(np.where(missing, 0.0, known), ~missing, axes, factors)
        cells = (likely * scale + fitted.mean).astype(rows.dtype)
        out[part] = np.where(missing, cells, rows[part])
    return out


def _factors(fitted: Any) -> FloatArray:
    """By how much the components of a fit are shrunk."""
    spectrum, summary = fitted.spectrum, fitted.analysed
    left = spectrum.left_out(fitted.k, summary.rank_limit)
    return shrinkage(
        spectrum.variances, left, fitted.k, summary.rows, fitted.p, centred=fitted.centred
    )


def _fit(
    known: FloatArray, there: NDArray[np.bool_], axes: FloatArray, factors: FloatArray
) -> FloatArray:
    """What the components say of rows (m, p), zero where cells are missing.

    With D the factors and V the axes, a filled cell is that of V D Vᵀx, x the row with all of
    its cells. Solved for x: with G = VₒVₒᵀ over the cells that are there and u = D^½ Vx,
    (I − D + D^½ G D^½) u = D^½ Vₒxₒ, and the cells are those of D^½ u.
    """
    k = len(factors)
    root = np.sqrt(factors)
    # Rows of the same pattern share their matrix.
    patterns, of = np.unique(np.packbits(there, axis=1), axis=0, return_inverse=True)
    masks = np.unpackbits(patterns, axis=1, count=there.shape[1]).astype(np.float64)
    weighted = axes * root[:, None]
    grams = np.einsum("uj,aj,bj->uab", masks, weighted, weighted, optimize=True)
    grams += np.diag(1.0 - factors)
    inverses = np.linalg.pinv(grams, rcond=_TOLD, hermitian=True) if k else grams
    u = np.einsum("iab,ib->ia", inverses[of.ravel()], known @ weighted.T)
    fit: FloatArray = u @ weighted
    return fit
