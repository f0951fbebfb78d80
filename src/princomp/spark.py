"""The functions of MLlib's RowMatrix, for Spark DataFrames.

As in MLlib, ``compute_principal_components`` uses the covariance, and ``compute_svd`` the rows
without centring. ``PCA().fit(df)`` does the first and returns a complete model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from princomp.core import check_parameter, fitted_model, one_of, whole_number
from princomp.engines import as_distributed
from princomp.errors import ParameterError, invalid_value, warn
from princomp.estimators import PCA
from princomp.linalg import FloatArray

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["SVD", "compute_principal_components", "compute_svd", "mllib_solver"]

# MLlib's rule, with n columns: the n × n Gramian goes to the driver for fewer than 100 columns,
# and for up to 15,000 if more than half of all singular values are wanted.
_LOCAL_COLUMNS, _LOCAL_HALF = 100, 15_000


class SVD(NamedTuple):
    """A singular value decomposition of rows A: A ≈ U diag(s) Vᵀ.

    Attributes
    ----------
    U : DataFrame or None
        The frame with the additional columns u0, u1, …, or ``u_features`` with arrays if its
        rows are arrays. Evaluated lazily.
    s : ndarray of shape (k,)
        Descending; fewer than k if the others are zero by ``r_cond``.
    V : ndarray of shape (p, k)
        Right singular vectors, one per column.
    """

    U: Any
    s: FloatArray
    V: FloatArray


def compute_principal_components(df: DataFrame, k: int, *, mode: str = "auto") -> FloatArray:
    """Compute the first ``k`` principal components, one per column.

    Parameters
    ----------
    df : DataFrame of Spark
        With numeric columns, or with one column of arrays or vectors. A first column of integers
        called "id" or the like is left out with a warning.
    k : int
        From 1 to the number of columns.
    mode : {"auto", "mllib"}
        Choose the solver by princomp's rule, or by MLlib's, which always forms the covariance.

    Returns
    -------
    ndarray of shape (p, k)
    """
    _check(k, mode)
    solver = "auto" if mode == "auto" else "covariance_eigh"
    return PCA(k, svd_solver=solver).fit(df).components_.T


def compute_svd(
    df: DataFrame, k: int, compute_u: bool = False, r_cond: float = 1e-9, *, mode: str = "auto"
) -> SVD:
    """Compute the ``k`` largest singular values and vectors of the rows, without centring.

    Parameters
    ----------
    df, k
        As for :func:`compute_principal_components`.
    compute_u : bool, default=False
        Whether to compute left singular vectors.
    r_cond : float, default=1e-9
        Singular values up to this fraction of the largest are treated as zero and left out. A
        warning says if others may be rounding errors of the solver.
    mode : {"auto", "mllib"}
        Choose the solver by princomp's rule, or by MLlib's (:func:`mllib_solver`).

    Returns
    -------
    SVD
    """
    _check(k, mode)
    if not 0 <= r_cond < 1:
        raise invalid_value("r_cond", r_cond, "a number in [0, 1)", "leave it out for 1e-9")
    rows = as_distributed(df)
    if rows is None:
        raise ParameterError(f"df must be a Spark DataFrame, got {type(df).__name__}")
    solver = "auto" if mode == "auto" else mllib_solver(rows.p, k)
    model = PCA(k, center=False, svd_solver=solver).fit(rows)
    s = model.singular_values_
    s = s[s > r_cond * s[0]] if len(s) else s
    unresolved = np.flatnonzero(model.certificate_.below_resolution[: len(s)])
    if unresolved.size:
        warn(
            f"singular values up to {s[unresolved[0]] / s[0]:.1g} of the largest are below the "
            "resolution of the solver, so they and their vectors may be rounding errors: "
            "mode='auto' resolves smaller ones, and a larger r_cond leaves them out",
        )
    V = model.components_[: len(s)].T
    if not compute_u:
        return SVD(None, s, V)
    scorer, names = fitted_model(model).for_scoring(), tuple(f"u{i}" for i in range(len(s)))

    def left_vectors(block: NDArray[Any]) -> FloatArray:
        scores: FloatArray = scorer.block_scores(block)[:, : len(s)]
        return (scores / s).astype(scores.dtype)

    return SVD(rows.map_rows(left_vectors, names, rows.dtype), s, V)


def mllib_solver(p: int, k: int) -> str:
    """Return the ``svd_solver`` that MLlib's rule for an SVD chooses.

    For fewer than 100 columns, or if more than half of up to 15,000 are wanted, it forms the
    Gramian on the driver. Otherwise it multiplies the rows with vectors until they converge.
    """
    local = p < _LOCAL_COLUMNS or (k > p / 2 and p <= _LOCAL_HALF)
    return "covariance_eigh" if local else "krylov"


def _check(k: object, mode: str) -> None:
    check_parameter("k", k, whole_number(1))
    check_parameter("mode", mode, one_of("auto", "mllib"))
