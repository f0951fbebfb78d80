"""Spectra of wide rows from the n × n inner products of the rows.

With A the centred rows, AAᵀ has the same nonzero eigenvalues σ² as the scatter AᵀA; for an
eigenvector u of AAᵀ, the axis is Aᵀu/σ. This costs n²p instead of np² operations, and n² numbers in
memory instead of p².
"""

from __future__ import annotations

import numpy as np

from princomp.linalg import EPS, FloatArray, search_rng
from princomp.solvers.dense import eigenpairs, roundoff
from princomp.solvers.lanczos import lanczos
from princomp.solvers.ritz import FEWEST_UNITS, axes_of_rows, bound_of_rows, residuals_of
from princomp.solvers.spectrum import Spectrum
from princomp.solvers.stopping import AbandonRule
from princomp.summaries import CentredRows, Columns

# If k is below _FEW of n, only the wanted eigenvectors are computed: 10 of 1,000 take 51 ms with
# LAPACK. From _SEARCHED rows on, a search in blocks of _BLOCK is tried first: it takes 10 ms if
# some directions dominate, but finds only the first variances. If none dominate, it would take 160
# ms, so it is abandoned early: when its forecast is more than _PATIENCE further products.
_FEW, _SEARCHED, _BLOCK, _PATIENCE = 0.1, 500, 8, 15
# If all standard deviations are above this share of the first, the residuals of axes are bounded
# from those of the eigenvectors of AAᵀ. Otherwise, the bound is too loose and they are measured.
_BOUNDED = 1e-2


def solve_rows(rows: CentredRows, columns: Columns, k: int | None = None) -> tuple[Spectrum, int]:
    """Compute n variances and the first ``k`` axes (n by default) of wide rows (n, p).

    If k is small and n is large, only the first variances are computed. Also return the number of
    passes over the rows.
    """
    n, p = rows.shape
    divisor = columns.rows - 1.0
    unit = float(np.finfo(rows.dtype).eps)
    products = rows.row_products()
    max_rank = min(n, p)
    k = max_rank if k is None else min(k, max_rank)
    values, vectors, missed = _top(products, k)
    values = np.maximum(values[:max_rank] / divisor, 0.0)
    values[columns.rank_limit :] = 0.0
    eigenvectors, eigenvalues = np.ascontiguousarray(vectors[:k].T), values[:k] * divisor
    axes = axes_of_rows(rows, eigenvectors, eigenvalues)
    total = float(columns.column_scatter.sum()) / divisor
    passes = 2
    if k and eigenvalues[-1] > _BOUNDED**2 * eigenvalues[0]:
        errors = np.linalg.norm(products @ eigenvectors - eigenvectors * eigenvalues, axis=0)
        residuals = bound_of_rows(errors, eigenvalues, unit)
    else:
        residuals, passes = residuals_of(rows, axes, eigenvalues), 3
    error = roundoff(max_rank, unit)
    spectrum = Spectrum(
        values, axes, total, error, residuals=residuals, missed=missed, overwrite=True
    )
    return spectrum, passes


def _top(products: FloatArray, k: int) -> tuple[FloatArray, FloatArray, float]:
    """Compute eigenvalues, and at least ``k`` eigenvectors as rows.

    All eigenvalues are computed, or only the first where a search for few of many is faster. Also
    return an upper bound of the probability that a larger eigenvalue was missed.
    """
    n = len(products)
    if not 0 < k < _FEW * n:
        return *eigenpairs(products), 0.0
    if n >= _SEARCHED:
        rng = search_rng()
        pairs = lanczos(
            lambda block: products @ block,
            n,
            k,
            tol=FEWEST_UNITS * EPS,
            rng=rng,
            start=rng.standard_normal((n, _BLOCK)),
            trace=float(products.trace()),
            abandon=AbandonRule(_PATIENCE),
        )
        if pairs.converged:
            return pairs.values, pairs.vectors.T, pairs.missed
    return *eigenpairs(products, k), 0.0
