"""Principal component pursuit: a table as a sum of a low rank and few large cells.

E. J. Candès, X. Li, Y. Ma & J. Wright, "Robust principal component analysis?", Journal of the
ACM 58 (2011): min ‖L‖₊ + λ‖S‖₁ with L + S = X, by alternating directions (ADMM).
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from princomp.arrays import FloatArray, svd
from princomp.eigenpairs import eigenpairs
from princomp.engines.distributed import Distributed
from princomp.errors import NotFiniteError, ParameterError
from princomp.inputs import opened
from princomp.parameters import is_a
from princomp.sources.holding import whole
from princomp.sources.memory import refuse_not_finite
from princomp.sources.source import Source
from princomp.summaries.blocks import is_sparse

__all__ = ["Pursuit", "principal_component_pursuit"]

# The penalty of a step is changed by this much where one residual is this much the larger
# (Boyd et al. 2011, 3.4.1), and no more after so many steps: then the method converges surely.
_FACTOR, _APART, _SETTLED = 2.0, 10.0, 200
# From this ratio of its sides on, a table is decomposed by products of the shorter one.
_LONG = 2


@dataclass(frozen=True, eq=False)
class Pursuit:
    """A table taken apart.

    Attributes
    ----------
    low_rank, sparse : ndarray of shape (n, p)
        Their sum is the table to ``residual``.
    rank : int
        Of ``low_rank``.
    cells : int
        Cells of ``sparse`` that are not zero.
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
    """Take a table apart into a low rank and a few large cells.

    For cells that are wrong here and there, in any row; ``RobustPCA`` is for rows that are
    outliers as a whole. Components are those of the low rank: ``PCA().fit(found.low_rank)``.
    Nothing is centred: subtract medians first where the columns have different means, which
    otherwise are one more rank.

    Parameters
    ----------
    X : array, frame or path, of shape (n, p)
    penalty : float, optional
        λ of the sum of absolute cells; 1/√max(n, p) by default, which recovers a low rank
        exactly under conditions that need no knowledge of it.
    tol : float, default=1e-9
        Of both residuals, relative to the norm of X.
    max_iter : int, default=2000

    Returns
    -------
    Pursuit

    Raises
    ------
    NotFiniteError, ParameterError

    Warns
    -----
    ConvergenceWarning
        When ``max_iter`` is reached.

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
    rows = _checked(X, penalty, tol, max_iter)
    n, p = rows.shape
    penalty = 1.0 / np.sqrt(max(n, p)) if penalty is None else float(penalty)
    size = float(np.linalg.norm(rows))
    if not size:
        return Pursuit(rows, rows.copy(), 0, 0, penalty, 0, True, 0.0)
    strength = n * p / (4.0 * float(np.abs(rows).sum()))
    sparse, dual = np.zeros_like(rows), np.zeros_like(rows)
    low, rank, left, number = sparse, 0, np.inf, 0
    converged = False
    for number in range(1, max_iter + 1):
        low, rank = _lower_rank(rows - sparse + dual / strength, 1.0 / strength)
        before = sparse
        sparse = _nearer_zero(rows - low + dual / strength, penalty / strength)
        rest = rows - low - sparse
        dual = dual + strength * rest
        left = float(np.linalg.norm(rest)) / size
        moved = (
            strength
            * float(np.linalg.norm(sparse - before))
            / max(float(np.linalg.norm(dual)), 1e-300)
        )
        if left <= tol and moved <= tol:
            converged = True
            break
        if number <= _SETTLED:
            strength *= _change(left, moved)
    found = Pursuit(
        low, sparse, rank, int(np.count_nonzero(sparse)), penalty, number, converged, left
    )
    if not converged:
        warnings.warn(f"{found}: max_iter={max_iter} was reached", ConvergenceWarning, stacklevel=2)
    return found


def _change(left: float, moved: float) -> float:
    if left > _APART * moved:
        return _FACTOR
    return 1.0 / _FACTOR if moved > _APART * left else 1.0


def _lower_rank(table: FloatArray, threshold: float) -> tuple[FloatArray, int]:
    """Singular values moved towards zero by the threshold, and how many are left."""
    n, p = table.shape
    if max(n, p) < _LONG * min(n, p):
        left, sizes, right = svd(table)
        rank = int(np.count_nonzero(sizes > threshold))
        return (left[:, :rank] * (sizes[:rank] - threshold)) @ right[:rank], rank
    tall = n > p
    values, vectors = eigenpairs(table.T @ table if tall else table @ table.T)
    sizes = np.sqrt(np.maximum(values, 0.0))
    rank = int(np.count_nonzero(sizes > threshold))
    kept = vectors[:rank]
    factors = 1.0 - threshold / sizes[:rank]
    if tall:
        return ((table @ kept.T) * factors) @ kept, rank
    return (kept.T * factors) @ (kept @ table), rank


def _nearer_zero(table: FloatArray, threshold: float) -> FloatArray:
    return np.sign(table) * np.maximum(np.abs(table) - threshold, 0.0)


def _checked(X: Any, penalty: Any, tol: Any, max_iter: Any) -> FloatArray:
    for name, value, lawful, hint in (
        ("penalty", penalty, penalty is None or _positive(penalty), "None or a positive number"),
        ("tol", tol, _positive(tol), "a positive number, such as 1e-9"),
        ("max_iter", max_iter, is_a(max_iter, Integral) and max_iter >= 1, "a whole number"),
    ):
        if not lawful:
            raise ParameterError(
                f"{name}={value!r} is not lawful",
                place={"parameter": name},
                hint=f"{name} must be {hint}",
            )
    data, columns, file = opened(X)
    if is_sparse(data) or isinstance(data, Distributed):
        raise ParameterError(
            "the parts of a pursuit are dense, and so must the rows be, in memory",
            place={"parameter": "X"},
            hint="give X.toarray(), or a sample of the rows",
        )
    data = whole(data) if isinstance(data, Source) else data
    if not np.isfinite(data).all():
        found = NotFiniteError("", place={"row": 0})
        hint = "fill the missing cells before: PCA(k, missing='em').fit(X).impute(X)"
        raise refuse_not_finite(data, found, columns=columns, file=file, hint=hint)
    return np.asarray(data, dtype=np.float64)


def _positive(value: Any) -> bool:
    return bool(is_a(value, Real) and 0 < value < np.inf)
