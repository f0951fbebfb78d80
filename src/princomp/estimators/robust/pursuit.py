"""Principal component pursuit: a table as the sum of a low-rank table and a few large cells.

E. J. Candès, X. Li, Y. Ma & J. Wright, "Robust principal component analysis?", Journal of the
ACM 58 (2011): min ‖L‖₊ + λ‖S‖₁ with L + S = X, by alternating directions (ADMM).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from princomp.core import check_parameter, number, one_of, open_rows, whole_number
from princomp.errors import warn
from princomp.estimators.robust.model import dense_rows
from princomp.linalg import FloatArray, binary_exponent, svd
from princomp.solvers import eigenpairs

# The penalty of a step changes by _FACTOR if one residual is more than _RESIDUAL_RATIO times the
# other (Boyd et al. 2011, 3.4.1). It is fixed after _ADAPTIVE_STEPS steps to ensure convergence.
_FACTOR, _RESIDUAL_RATIO, _ADAPTIVE_STEPS = 2.0, 10.0, 200
_WHY_DENSE = "a pursuit takes dense rows in memory, because its parts are dense"
_HINT = "fill the missing cells before: PCA(k, missing='em').fit(X).impute(X)"
# From this ratio of its sides on, a table is decomposed through its Gram matrix.
_GRAM_ASPECT = 2


@dataclass(frozen=True, eq=False)
class Pursuit:
    """A table as the sum of a low-rank table and a few large cells.

    Attributes
    ----------
    low_rank, sparse : ndarray of shape (n, p)
        Their sum is the table, up to ``residual``.
    rank : int
        Rank of ``low_rank``.
    cells : int
        Number of cells of ``sparse`` that are not zero.
    penalty : float
        λ, the weight of the sparse part.
    iterations : int
    converged : bool
    residual : float
        ‖X − L − S‖ / ‖X‖ at the end (Frobenius).
    """

    low_rank: FloatArray
    sparse: FloatArray
    rank: int
    cells: int
    penalty: float
    iterations: int
    converged: bool
    residual: float

    def __str__(self) -> str:
        n, p = self.low_rank.shape
        end = "" if self.converged else "; NOT CONVERGED"
        return (
            f"Pursuit of {n:,} × {p:,}: rank {self.rank:,}, {self.cells:,} large cells "
            f"({self.cells / (n * p):.1%}), {self.iterations:,} iterations, residual "
            f"{self.residual:.0e}{end}"
        )


def principal_component_pursuit(
    X: Any, *, penalty: float | None = None, tol: float = 1e-9, max_iter: int = 2000
) -> Pursuit:
    """Decompose a table into a low-rank table and a few large cells.

    Use it if single cells are wrong, in any row; use ``RobustPCA`` if whole rows are outliers.
    Fit the low-rank part for its components: ``PCA().fit(found.low_rank)``. The table is not
    centred: subtract medians first if the columns have different means, which would add one to
    the rank.

    Noise in all cells is divided between the two parts, so ``rank`` is far above the number of
    components and most ``cells`` are not zero. Then use a larger ``tol``, such as 1e-3: a smaller
    one takes many more steps and does not improve the parts. Keep a few components of the
    low-rank part, and take as wrong only the cells of ``sparse`` far above the noise.

    Parameters
    ----------
    X : array, frame or path, of shape (n, p)
    penalty : float, optional
        λ, the weight of the sum of absolute cells. The default, 1/√max(n, p), does not depend on
        the rank, and recovers the low-rank part exactly under the conditions of Candès et al.
    tol : float, default=1e-9
        Tolerance of both residuals, relative to the norm of X.
    max_iter : int, default=2000

    Returns
    -------
    Pursuit
        ``low_rank`` and ``sparse``, whose sum is the table; ``rank``, the number of ``cells`` that
        are not zero, ``iterations``, ``converged`` and ``residual``. It prints as a summary.

    Raises
    ------
    NotFiniteError, ParameterError

    Warns
    -----
    ConvergenceWarning
        If ``max_iter`` is reached.

    Examples
    --------
    >>> import numpy as np
    >>> from princomp import principal_component_pursuit
    >>> rng = np.random.default_rng(0)
    >>> L = np.outer(rng.standard_normal(40), rng.standard_normal(30))
    >>> X = L.copy()
    >>> X[3, 4] += 10
    >>> found = principal_component_pursuit(X)
    >>> print(found.rank, found.cells, np.abs(found.low_rank - L).max() < 1e-6)
    1 1 True
    """
    check_parameter("penalty", penalty, one_of(None) | number(0, exclusive=True))
    check_parameter("tol", tol, number(0, exclusive=True))
    check_parameter("max_iter", max_iter, whole_number(1))
    rows = np.asarray(dense_rows(*open_rows(X), why_dense=_WHY_DENSE, hint=_HINT), np.float64)
    n, p = rows.shape
    penalty = 1.0 / np.sqrt(max(n, p)) if penalty is None else float(penalty)
    # Scaled by a power of two, so that squares neither overflow nor underflow, and tables of any
    # size take the same steps.
    exponent = binary_exponent(rows)
    rows = np.ldexp(rows, -exponent)
    norm = float(np.linalg.norm(rows))
    if not norm:
        return Pursuit(rows, rows.copy(), 0, 0, penalty, 0, True, 0.0)
    step_penalty = n * p / (4.0 * float(np.abs(rows).sum()))
    sparse, dual = np.zeros_like(rows), np.zeros_like(rows)
    low_rank, rank, primal_residual, iteration = sparse, 0, np.inf, 0
    converged = False
    for iteration in range(1, max_iter + 1):
        low_rank, rank = _shrink_singular_values(
            rows - sparse + dual / step_penalty, 1.0 / step_penalty
        )
        previous = sparse
        sparse = _soft_threshold(rows - low_rank + dual / step_penalty, penalty / step_penalty)
        residual = rows - low_rank - sparse
        dual = dual + step_penalty * residual
        primal_residual = float(np.linalg.norm(residual)) / norm
        dual_residual = (
            step_penalty
            * float(np.linalg.norm(sparse - previous))
            / max(float(np.linalg.norm(dual)), 1e-300)
        )
        if primal_residual <= tol and dual_residual <= tol:
            converged = True
            break
        if iteration <= _ADAPTIVE_STEPS:
            step_penalty *= _penalty_factor(primal_residual, dual_residual)
    cells = int(np.count_nonzero(sparse))
    low_rank, sparse = np.ldexp(low_rank, exponent), np.ldexp(sparse, exponent)
    result = Pursuit(low_rank, sparse, rank, cells, penalty, iteration, converged, primal_residual)
    if not converged:
        warn(f"{result}: max_iter={max_iter} was reached", ConvergenceWarning)
    return result


def _penalty_factor(primal_residual: float, dual_residual: float) -> float:
    """Choose the factor of the penalty from the two residuals."""
    if primal_residual > _RESIDUAL_RATIO * dual_residual:
        return _FACTOR
    return 1.0 / _FACTOR if dual_residual > _RESIDUAL_RATIO * primal_residual else 1.0


def _shrink_singular_values(table: FloatArray, threshold: float) -> tuple[FloatArray, int]:
    """Shrink singular values by the threshold, and count those that are left."""
    n, p = table.shape
    if max(n, p) < _GRAM_ASPECT * min(n, p):
        left, singular_values, right = svd(table)
        rank = int(np.count_nonzero(singular_values > threshold))
        return (left[:, :rank] * (singular_values[:rank] - threshold)) @ right[:rank], rank
    tall = n > p
    values, vectors = eigenpairs(table.T @ table if tall else table @ table.T)
    singular_values = np.sqrt(np.maximum(values, 0.0))
    rank = int(np.count_nonzero(singular_values > threshold))
    kept = vectors[:rank]
    factors = 1.0 - threshold / singular_values[:rank]
    if tall:
        return ((table @ kept.T) * factors) @ kept, rank
    return (kept.T * factors) @ (kept @ table), rank


def _soft_threshold(table: FloatArray, threshold: float) -> FloatArray:
    return np.sign(table) * np.maximum(np.abs(table) - threshold, 0.0)
