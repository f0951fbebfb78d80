"""Functions that return arrays instead of an estimator: ``pca`` and ``svd``."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from princomp import core, errors, linalg
from princomp.engines import DistributedRows, fold
from princomp.estimators.estimator import PCA
from princomp.io import Origin, RowData, Source, TableSource, not_finite_error, read_whole
from princomp.linalg import FloatArray
from princomp.rules import for_fraction
from princomp.solvers import search_rows
from princomp.summaries import Block, Columns, centre_rows, is_sparse, safe_exponent

_THRESHOLD = core.Constraint(
    lambda value: core.is_number(value, Real) and 0 < value <= 1,
    ("an accumulated contribution rate in (0, 1], such as 0.8",),
)
_DDOF = core.Constraint(lambda value: value in (0, 1), ("0", "1"))
_METHODS = {"ED": "covariance_eigh", "SVD": "full"}
# If more than this share of all components is wanted, a full decomposition is faster.
_FULL_SVD_SHARE = 0.2
# A search multiplies by AᵀA, so a singular value σ has an error of about ε²σ₁⁴/σ³, for the unit
# roundoff ε. If (σ/σ₁)³ is below this many ε, that is more than εσ₁, the error of QR and SVD.
_LOST_UNITS = 50
_TINY = float(np.finfo(np.float64).tiny)


def pca(X: Any, threshold: float = 0.8, method: str = "ED", *, ddof: int = 1) -> FloatArray:
    """Scores of the standardised data on the fewest components that reach a threshold.

    Parameters
    ----------
    X : array, sparse array, frame or path, of shape (n, p)
    threshold : float, default=0.8
        In (0, 1]: the accumulated contribution rate that must be *reached*. (``PCA``
        keeps scikit-learn's meaning, where a fraction must be *exceeded*.)
    method : {"ED", "SVD"}, default="ED"
        Eigendecomposition of the correlation matrix, or singular value decomposition
        of the standardised rows. Both accumulate variances and give the same scores;
        "SVD" keeps digits that squaring loses when columns are nearly dependent.
    ddof : {0, 1}, default=1
        Columns are standardised by the deviation with divisor n − ddof.

    Returns
    -------
    ndarray of shape (n, k)
        Without unit; the sign rule of :class:`~princomp.PCA` applies.

    Raises
    ------
    ParameterError
        For an invalid threshold, method or ddof.
    ConstantColumnError
        If columns cannot be standardised; the message names them.

    Examples
    --------
    >>> import numpy as np
    >>> from princomp import pca
    >>> X = np.array([[2.5, 2.4], [0.5, 0.7], [2.2, 2.9], [1.9, 2.2], [3.1, 3.0]])
    >>> print(pca(X, 0.9).round(3).ravel())
    [ 0.458 -2.303  0.622 -0.133  1.356]
    """
    core.check_parameter("threshold", threshold, _THRESHOLD)
    core.check_parameter("method", method, core.one_of(*_METHODS))
    core.check_parameter("ddof", ddof, _DDOF)
    (data, names, origin), _ = core.TableSchema.read(X)
    if not isinstance(data, DistributedRows):
        data = TableSource(_in_memory(data), columns=names, origin=origin or Origin())
    n, p = data.shape
    # The eigenvalues of wide data are computed from products of rows, without a p × p matrix.
    # Rows on an engine are not multiplied with each other.
    wide = not isinstance(data, DistributedRows) and p > n
    solver = "row_gram" if method == "ED" and wide else _METHODS[method]
    try:
        model = PCA(scale="unit", svd_solver=solver).fit(data)
    except errors.ConstantColumnError as error:
        error.hint = "leave the column out, or use PCA(scale='unit', constant='drop')"
        raise
    except errors.NotFiniteError as error:
        if "row" in error.place:  # a cell, not a sum that overflows
            error.hint = "leave such rows out, or use PCA(scale='unit', missing='drop')"
        raise
    k = for_fraction(model.contribution_rate_, float(threshold), reach=True)
    # Not transform, which returns a frame if scikit-learn is configured so.
    scores: FloatArray = model.truncated(k or model.n_components_)._scores(data)
    if ddof == 0:
        rows = model.summary_.rows
        scores = scores * math.sqrt(rows / (rows - 1.0))  # a Python float keeps float32
    return scores


def svd(X: Any, k: int, *, center: bool = False) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The ``k`` largest singular triplets of any table.

    Parameters
    ----------
    X : array, sparse array, frame or path, of shape (n, p)
        A sparse document-term matrix stays sparse, centred or not.
    k : int
        From 1 to min(n, p).
    center : bool, default=False
        Subtract the column means first.

    Returns
    -------
    U : ndarray of shape (n, k)
        Like ``s`` and ``Vt``, float32 if X is a dense float32 array, otherwise float64.
    s : ndarray of shape (k,)
        Descending, in the units of X.
    Vt : ndarray of shape (k, p)
        The entry of each row that is largest in absolute value is positive.

    Raises
    ------
    ShapeError
        If k is out of range.
    NotFiniteError
        For NaN or infinity; the message gives the first place.

    Notes
    -----
    A search for a few singular values of a large table does not resolve those below about 2e-5 of
    the first (0.02 for float32). If there are any, the rows are decomposed by QR and SVD in
    float64, which takes more time and memory.

    Examples
    --------
    >>> import numpy as np
    >>> from princomp import svd
    >>> U, s, Vt = svd(np.array([[3.0, 0.0], [0.0, 4.0], [0.0, 0.0]]), k=1)
    >>> print(s, Vt)
    [4.] [[0. 1.]]
    """
    (data, names, origin), _ = core.TableSchema.read(X)
    data = _in_memory(data)
    n, p = data.shape
    if not (core.is_number(k, Integral) and 1 <= k <= min(n, p)):
        raise errors.ShapeError(
            f"k={k!r} must be a whole number from 1 to min(n, p) = {min(n, p)}",
            place={"parameter": "k"},
            hint=f"X has {n} rows and {p} columns",
        )
    try:
        columns = fold(Columns, data).summary
    except errors.NotFiniteError as error:
        raise not_finite_error(
            data, error, columns=names, origin=origin, hint="fill the missing values before"
        ) from None
    if not center:
        with np.errstate(over="ignore"):
            columns = columns.about_origin()
    largest = float(columns.column_scatter.max(initial=0.0))
    if largest and not n * _TINY <= largest < np.inf:  # squares overflow, or lose digits
        values = data.data if is_sparse(data) else data
        power = linalg.binary_exponent(values)
        if power:
            scaled = np.ldexp(values, -power)
            if is_sparse(data):
                scaled = csr_array((scaled, data.indices, data.indptr), shape=data.shape)
            u, s, vt = svd(scaled, k, center=center)
            return u, np.ldexp(s, power), vt
    return _triplets(data, columns, int(k), center)


def _triplets(
    data: Block, columns: Columns, k: int, center: bool
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Compute the ``k`` largest triplets of rows whose squares are in range.

    ``columns`` is the summary of the columns, about the origin unless ``center``.
    """
    n, p = data.shape
    variances = columns.column_scatter / max(columns.rows - 1.0, 1.0)
    exponent = safe_exponent(columns.column_scatter, data.dtype)
    divisor = np.full(p, 2.0**exponent) if exponent else None
    rows = centre_rows(data, columns.mean, columns.mean_low, variances, divisor, None)
    columns = columns if divisor is None else columns.scaled(divisor)
    if n * p <= core.SMALL_TABLE_SIZE or (not is_sparse(data) and k > _FULL_SVD_SHARE * min(n, p)):
        dense = rows.rows
        if is_sparse(data):
            dense = rows.matmul(np.eye(p)) if p <= n else rows.rmatmul(np.eye(n)).T
        u, s, vt = linalg.svd(dense)
    else:
        with linalg.one_blas_thread():
            rng = np.random.default_rng(0)
            spectrum, _ = search_rows(rows, columns, k, tol=0.0, rng=rng)
            assert spectrum is not None  # the search is not abandoned
            axes = spectrum.axes.astype(rows.dtype)
            u, s, rotation = linalg.svd(rows.matmul(axes.T))
        if s[-1] < (_LOST_UNITS * np.finfo(rows.dtype).eps) ** (1 / 3) * s[0]:
            if rows.dtype == np.float32:
                parts = svd(data.astype(np.float64), k, center=center)
                u, s, vt = (part.astype(np.float32) for part in parts)
                return u, s, vt
            axes = _axes_by_qr(data, k, center, axes)
            u, s, rotation = linalg.svd(rows.matmul(axes.T))
        vt = rotation @ axes
    signs = linalg.fix_signs(vt[:k])
    return u[:, :k] * signs, np.ldexp(s[:k], exponent), vt[:k] * signs[:, None]


def _axes_by_qr(data: Block, k: int, center: bool, found: FloatArray) -> FloatArray:
    """Compute axes (k, p) by QR and SVD; return those ``found`` before if memory is short."""
    try:
        # Not components_, which has the precision of the rows.
        return PCA(k, center=center, svd_solver="full").fit(data)._result.spectrum.axes[:k]
    except errors.MemoryLimitError as error:
        errors.warn(
            "singular values below 1e-5 of the first may have errors of up to 1e-7 of the first: "
            f"a QR decomposition would be exact, but it does not fit in memory ({error})"
        )
        return found


def _in_memory(data: RowData) -> Any:
    """Read the rows of a source into memory; return other rows unchanged."""
    return read_whole(data) if isinstance(data, Source) else data
