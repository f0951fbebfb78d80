"""Filling the cells of new rows, given a fit: their conditional means given the known cells."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from princomp.core.missing.ridge import shrinkage
from princomp.linalg import FloatArray

if TYPE_CHECKING:
    from princomp.core.fitted import Fitted

# Numbers that are filled together.
_CHUNK_SIZE = 2**20
# Directions that the known cells determine less than this are ignored.
_MIN_EIGENVALUE = 1e-10


def fill_new_rows(rows: FloatArray, fitted: Fitted, method: str) -> FloatArray:
    """Fill the missing cells of rows (n, p), in a copy if there are any.

    ``"em"``: the conditional mean given the known cells, under components shrunk as in the fit;
    a row of the fit gets the same cells as there. ``"nipals"``: the reconstruction from
    least-squares scores, those of smallest norm if they are not unique. A row without any known
    cell stays empty.

    Parameters
    ----------
    rows : ndarray of shape (n, p)
    fitted : Fitted
    method : {"em", "nipals"}

    Raises
    ------
    NotAvailableError
        If the mean or, for ``"em"``, the number of rows is not known.
    """
    missing = np.isnan(rows)
    incomplete = np.flatnonzero(missing.any(axis=1) & ~missing.all(axis=1))
    if not incomplete.size:
        return rows
    fitted.require_mean()
    axes = np.asarray(fitted.spectrum.axes[: fitted.k], dtype=np.float64)
    factors = np.ones(fitted.k)
    if method == "em":
        fitted.row_count("filled cells")
        spectrum, summary = fitted.spectrum, fitted.analysed
        left = spectrum.left_out(fitted.k, summary.rank_limit)
        factors = shrinkage(
            spectrum.variances, left, fitted.k, summary.rows, fitted.p, centred=fitted.centred
        )
    scale = np.ones(fitted.p) if fitted.scale is None else fitted.scale
    out = rows.copy()
    step = max(1, _CHUNK_SIZE // max(fitted.p, fitted.k**2))
    for start in range(0, len(incomplete), step):
        part = incomplete[start : start + step]
        part_missing = missing[part]
        known = ((rows[part].astype(np.float64) - fitted.mean) - fitted.mean_low) / scale
        fitted_values = _fit(np.where(part_missing, 0.0, known), ~part_missing, axes, factors)
        cells = (fitted_values * scale + fitted.mean).astype(rows.dtype)
        out[part] = np.where(part_missing, cells, rows[part])
    return out


def _fit(
    known: FloatArray, is_known: NDArray[np.bool_], axes: FloatArray, factors: FloatArray
) -> FloatArray:
    """Compute the fit of the components to rows (m, p), which are zero for missing cells.

    With factors D and axes V, the filled cells are those of V D Vᵀx, with x the complete row.
    Solved for x: with G = VₒVₒᵀ over the known cells and u = D^½ Vx,
    (I − D + D^½ G D^½) u = D^½ Vₒxₒ, and the cells are those of D^½ u.
    """
    k = len(factors)
    root = np.sqrt(factors)
    # Rows with the same pattern of known cells share their matrix.
    patterns, pattern_index = np.unique(np.packbits(is_known, axis=1), axis=0, return_inverse=True)
    masks = np.unpackbits(patterns, axis=1, count=is_known.shape[1]).astype(np.float64)
    weighted = axes * root[:, None]
    grams = np.einsum("uj,aj,bj->uab", masks, weighted, weighted, optimize=True)
    grams += np.diag(1.0 - factors)
    inverses = np.linalg.pinv(grams, rcond=_MIN_EIGENVALUE, hermitian=True) if k else grams
    u = np.einsum("iab,ib->ia", inverses[pattern_index.ravel()], known @ weighted.T)
    return u @ weighted
