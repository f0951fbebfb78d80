"""Functions for people who want an answer and no estimator: ``pca``, ``svd``, ``plan``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from importlib import import_module
from numbers import Integral, Real
from typing import Any

import numpy as np

from princomp.arrays import FloatArray, fix_signs, one_blas_thread
from princomp.arrays import svd as lapack_svd
from princomp.choosing import Rule, for_fraction
from princomp.engines.local import fold
from princomp.errors import NotFiniteError, ParameterError, ShapeError
from princomp.estimator import PCA
from princomp.fitting import check_shape
from princomp.inputs import opened
from princomp.missing import room_to_fill
from princomp.model_file import read
from princomp.parameters import Request, is_a
from princomp.planning import SMALL, Plan, choose, memory_of
from princomp.solvers.lanczos import solve_rows
from princomp.sources.any import is_file, rows_of
from princomp.sources.holding import whole
from princomp.sources.memory import refuse_not_finite
from princomp.sources.source import Source
from princomp.summaries import Columns
from princomp.summaries.blocks import is_sparse
from princomp.summaries.centred_rows import CentredRows, safe_exponent

__all__ = ["load", "pca", "plan", "svd"]

# The estimators that a model file may hold, and the rooms that they are in.
_ESTIMATORS = {
    "PCA": "estimator",
    "IncrementalPCA": "incremental",
    "RobustPCA": "robust",
    "KernelPCA": "kernel_pca",
}
_METHODS = {"ED": "covariance_eigh", "SVD": "full"}
# A full decomposition of the shorter side pays when this share of it is wanted.
_MOST_OF_ALL = 0.2


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
        For an unlawful threshold, method or ddof.
    ConstantColumnError
        Naming the columns that cannot be standardised.

    Examples
    --------
    >>> import numpy as np
    >>> from princomp import pca
    >>> X = np.array([[2.5, 2.4], [0.5, 0.7], [2.2, 2.9], [1.9, 2.2], [3.1, 3.0]])
    >>> print(pca(X, 0.9).round(3).ravel())
    [ 0.458 -2.303  0.622 -0.133  1.356]
    """
    if not (is_a(threshold, Real) and 0 < threshold <= 1):
        raise ParameterError(
            f"threshold={threshold!r} is not lawful",
            place={"parameter": "threshold"},
            hint="give an accumulated contribution rate in (0, 1], such as 0.8",
        )
    if method not in _METHODS:
        raise ParameterError(
            f"method={method!r} is not known",
            place={"parameter": "method"},
            hint="choose 'ED' or 'SVD'",
        )
    if ddof not in (0, 1):
        raise ParameterError(
            f"ddof={ddof!r} is not lawful", place={"parameter": "ddof"}, hint="choose 0 or 1"
        )
    X = _held(rows_of(X)[0]) if is_file(X) or callable(X) or isinstance(X, Iterator) else X
    n, p = rows_of(X)[0].shape
    # The eigenvalues of wide data are found from products of rows: p × p is never needed.
    solver = "row_gram" if method == "ED" and p > n else _METHODS[method]
    model = PCA(scale="unit", svd_solver=solver).fit(X)
    k = for_fraction(model.contribution_rate_, float(threshold), reach=True)
    scores: FloatArray = model.truncated(k or model.n_components_).transform(X)
    if ddof == 0:
        scores = scores * np.sqrt(n / (n - 1))
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
    s : ndarray of shape (k,)
        Descending, in the units of X.
    Vt : ndarray of shape (k, p)
        The largest |entry| of each row is positive.

    Raises
    ------
    ShapeError
        When k is out of range.
    NotFiniteError
        With the first place.

    Examples
    --------
    >>> import numpy as np
    >>> from princomp import svd
    >>> U, s, Vt = svd(np.array([[3.0, 0.0], [0.0, 4.0], [0.0, 0.0]]), k=1)
    >>> print(s, Vt)
    [4.] [[0. 1.]]
    """
    data, names, file = opened(X)
    data = _held(data)
    n, p = data.shape
    if not (is_a(k, Integral) and 1 <= k <= min(n, p)):
        raise ShapeError(
            f"k={k!r} must be a whole number from 1 to min(n, p) = {min(n, p)}",
            place={"parameter": "k"},
            hint=f"X has {n} rows and {p} columns",
        )
    try:
        columns = fold(Columns, data).summary
    except NotFiniteError as error:
        raise refuse_not_finite(
            data, error, columns=names, file=file, hint="fill the missing values before"
        ) from None
    if not center:
        columns = columns.about_origin()
    variances = columns.column_scatter / max(columns.rows - 1.0, 1.0)
    exponent = safe_exponent(columns.column_scatter, data.dtype)
    divisor = np.full(p, 2.0**exponent) if exponent else None
    rows = CentredRows.of(data, columns.mean, columns.mean_low, variances, divisor, None)
    columns = columns if divisor is None else columns.scaled(divisor)
    if n * p <= SMALL or (not is_sparse(data) and k > _MOST_OF_ALL * min(n, p)):
        whole = rows.rows
        if is_sparse(data):
            whole = rows.matmul(np.eye(p)) if p <= n else rows.rmatmul(np.eye(n)).T
        u, s, vt = lapack_svd(whole)
    else:
        with one_blas_thread():
            rng = np.random.default_rng(0)
            spectrum, _ = solve_rows(rows, columns, int(k), tol=0.0, rng=rng)
            axes = spectrum.axes.astype(rows.dtype)
            u, s, turn = lapack_svd(rows.matmul(axes.T))
        vt = turn @ axes
    signs = fix_signs(vt[:k])
    return u[:, :k] * signs, np.ldexp(s[:k], exponent), vt[:k] * signs[:, None]


def plan(X: Any, n_components: int | float | str | Rule | None = None, **parameters: Any) -> Plan:
    """What a fit of ``X`` would do and cost, without doing it.

    Parameters
    ----------
    X : array, sparse array, frame, path or source, of shape (n, p)
        Of a file only what tells its shape is read.
    n_components : as for :class:`~princomp.PCA`
    **parameters
        Others of :class:`~princomp.PCA` that shape the plan, such as ``svd_solver``.

    Returns
    -------
    Plan
        Prints well; ``to_dict`` and ``to_json`` for programs. A fallback that only the
        data can ask for is not in it; it is in the model's ``plan_``.

    Examples
    --------
    >>> import numpy as np
    >>> from princomp import plan
    >>> print(plan(np.zeros((1000, 20)), n_components=3).solver)
    eigh
    """
    request = Request.of(PCA(n_components, **parameters))
    if isinstance(X, Iterator):
        raise ParameterError(
            "a plan looks at the first batch of an iterator, and nothing gives it back",
            place={"parameter": "X"},
            hint="give a function that makes a new iterator: plan(lambda: batches())",
        )
    data, _, _ = opened(X)
    facts = request.facts(data)
    if request.fill is not None:
        facts = facts._replace(held=True, limit=None)  # read whole, whatever they are
    check_shape(facts)
    choice = choose(facts)
    if request.fill is not None:
        told = f"missing={request.fill!r}: missing cells are filled first, all rows in memory"
        then = Plan.of(facts, choice, (told,))
        return replace(then, memory=max(then.memory, room_to_fill(facts.rows, facts.columns)))
    if choice.summary == "hold":
        # What follows is decided anew, with the rows in memory.
        then = Plan.of(facts._replace(held=True), choose(facts._replace(held=True, limit=None)))
        return replace(
            then, memory=memory_of(facts, choice), reasons=(choice.reason, *then.reasons)
        )
    return Plan.of(facts, choice)


def _held(data: Any) -> Any:
    """Rows in memory, where they come from a source."""
    return whole(data) if isinstance(data, Source) else data


def load(path: Any) -> Any:
    """Read a model that its method ``save`` wrote, after checking all of it.

    Parameters
    ----------
    path : path

    Returns
    -------
    PCA, IncrementalPCA, RobustPCA or KernelPCA
        What was saved, fitted; it transforms to the same bits.

    Raises
    ------
    InputNotFoundError
        When there is no such file.
    ModelFileError
        When the file is cut short, changed, of a newer major version or a kind of model that
        is not known, or no model.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from princomp import PCA, load
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     PCA(1).fit(np.eye(4)).save(f"{folder}/model.pca")
    ...     print(load(f"{folder}/model.pca").n_components_)
    1
    """
    return read(path, {name: partial(_restored, name) for name in _ESTIMATORS})


def _restored(name: str, tensors: dict[str, Any], document: dict[str, Any]) -> Any:
    """The model of a file, whose class is loaded where one is met: some need more libraries."""
    estimator = getattr(import_module(f"princomp.{_ESTIMATORS[name]}"), name)
    return estimator._restored(tensors, document)
