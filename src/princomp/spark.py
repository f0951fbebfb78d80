"""MLlib's names for people who come from its RowMatrix, on DataFrames of Spark.

``compute_principal_components`` is of the covariance, ``compute_svd`` of the rows as they
are, without centring, as in MLlib. ``PCA().fit(df)`` does the first and tells more.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from princomp.arrays import FloatArray
from princomp.engines.spark import rows_of
from princomp.errors import ParameterError
from princomp.estimator import PCA

__all__ = ["SVD", "compute_principal_components", "compute_svd", "mllib_solver"]

# What MLlib decides by, with n for columns: up to so many columns, and where more than half of
# all singular values are wanted of up to so many, the n × n Gramian goes to the driver.
_LOCAL_COLUMNS, _LOCAL_HALF = 100, 15_000


class SVD(NamedTuple):
    """A singular value decomposition of rows A: A ≈ U diag(s) Vᵀ.

    Attributes
    ----------
    U : DataFrame or None
        The frame with more columns: u0, u1, …, or one of arrays ``u_features`` where its rows
        are arrays. Lazy.
    s : ndarray of shape (k,)
        Descending; fewer than were asked for where the rest is zero to ``r_cond``.
    V : ndarray of shape (p, k)
    """

    U: Any
    s: FloatArray
    V: FloatArray


def compute_principal_components(df: Any, k: int, *, mode: str = "auto") -> FloatArray:
    """The ``k`` principal components, one a column, of the covariance of the rows.

    Parameters
    ----------
    df : DataFrame of Spark
        Of numeric columns, or with one column of arrays or vectors.
    k : int
        From 1 to the number of columns.
    mode : {"auto", "mllib"}
        Who decides how: princomp, or MLlib's rule, which always forms the covariance.

    Returns
    -------
    ndarray of shape (p, k)
    """
    _check(k, mode)
    solver = "auto" if mode == "auto" else "covariance_eigh"
    components: FloatArray = PCA(k, svd_solver=solver).fit(df).components_.T
    return components


def compute_svd(
    df: Any, k: int, compute_u: bool = False, r_cond: float = 1e-9, *, mode: str = "auto"
) -> SVD:
    """The ``k`` largest singular values of the rows as they are, and their vectors.

    Parameters
    ----------
    df : DataFrame of Spark
        Of numeric columns, or with one column of arrays or vectors.
    k : int
        From 1 to the number of columns.
    compute_u : bool, default=False
        Whether left singular vectors are wanted.
    r_cond : float, default=1e-9
        Singular values up to this share of the first are taken for zero and left out.
    mode : {"auto", "mllib"}
        Who decides how: princomp, or MLlib's rule (:func:`mllib_solver`).

    Returns
    -------
    SVD
    """
    _check(k, mode)
    if not 0 <= r_cond < 1:
        raise ParameterError(
            f"r_cond={r_cond!r} is not lawful",
            place={"parameter": "r_cond"},
            hint="r_cond must be a number in [0, 1)",
        )
    rows = rows_of(df)
    solver = "auto" if mode == "auto" else mllib_solver(rows.p, k)
    model = PCA(k, center=False, svd_solver=solver).fit(rows)
    s = model.singular_values_
    s = s[s > r_cond * s[0]] if len(s) else s
    if not compute_u:
        return SVD(None, s, model.components_[: len(s)].T)
    light, names = model._light(), tuple(f"u{i}" for i in range(len(s)))

    def left(block: Any) -> FloatArray:
        scores: FloatArray = light._block_scores(block)[:, : len(s)]
        return (scores / s).astype(scores.dtype)

    return SVD(rows.mapped(left, names, rows.dtype), s, model.components_[: len(s)].T)


def mllib_solver(p: int, k: int) -> str:
    """The ``svd_solver`` that does what MLlib's rule for an SVD decides.

    Up to 100 columns, and where more than half of up to 15,000 are wanted, it forms the
    Gramian on the driver; else it multiplies the rows with vectors until they converge.
    """
    local = p < _LOCAL_COLUMNS or (k > p / 2 and p <= _LOCAL_HALF)
    return "covariance_eigh" if local else "krylov"


def _check(k: Any, mode: str) -> None:
    if not isinstance(k, int | np.integer) or isinstance(k, bool) or k < 1:
        raise ParameterError(
            f"k={k!r} is not lawful",
            place={"parameter": "k"},
            hint="k must be a whole number of at least 1",
        )
    if mode not in ("auto", "mllib"):
        raise ParameterError(
            f"mode={mode!r} is not known",
            place={"parameter": "mode"},
            hint="mode must be 'auto' or 'mllib'",
        )
