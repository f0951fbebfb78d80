"""Functions that return arrays or choices instead of an estimator: ``pca``, ``svd``, ``choose``."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator

from princomp.core import (
    FILL_METHODS,
    SMALL_TABLE_SIZE,
    Constraint,
    TableSchema,
    check_parameter,
    is_number,
    one_of,
    renamed_parameters,
    whole_number,
)
from princomp.engines import DistributedRows, ProgressCallback, RunContext, fold
from princomp.errors import (
    ConstantColumnError,
    MemoryLimitError,
    NotFiniteError,
    ParameterError,
    ShapeError,
    class_words,
    warn,
)
from princomp.estimators.estimator import PCA
from princomp.io import Origin, RowData, Source, TableSource, not_finite_error, read_whole
from princomp.linalg import (
    FloatArray,
    binary_exponent,
    fix_signs,
    one_blas_thread,
    svd as lapack_svd,
)
from princomp.rules import RULES, Choices, Rule, Several, for_fraction, rule_of
from princomp.solvers import search_rows
from princomp.summaries import (
    Columns,
    Moments,
    SampleWeight,
    Sketch,
    Triangle,
    centre_rows,
    is_sparse,
    safe_exponent,
)

_THRESHOLD = Constraint(
    lambda value: is_number(value, Real) and 0 < value <= 1,
    ("an accumulated contribution rate in (0, 1], such as 0.8",),
)
_DDOF = Constraint(lambda value: value in (0, 1), ("0", "1"))
_METHODS = {"ED": "covariance_eigh", "SVD": "full"}
# If more than this share of all components is wanted, a full decomposition is faster.
_FULL_SVD_SHARE = 0.2
# A search multiplies by AᵀA, so a singular value σ has an error of about ε²σ₁⁴/σ³, for the unit
# roundoff ε. If (σ/σ₁)³ is below this many ε, that is more than εσ₁, the error of QR and SVD.
_LOST = 50
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
    check_parameter("threshold", threshold, _THRESHOLD)
    check_parameter("method", method, one_of(*_METHODS))
    check_parameter("ddof", ddof, _DDOF)
    (data, names, origin), _ = TableSchema.read(X)
    if not isinstance(data, DistributedRows):
        data = TableSource(_in_memory(data), columns=names, origin=origin or Origin())
    n, p = data.shape
    # The eigenvalues of wide data are computed from products of rows, without a p × p matrix.
    # Rows on an engine are not multiplied with each other.
    wide = not isinstance(data, DistributedRows) and p > n
    solver = "row_gram" if method == "ED" and wide else _METHODS[method]
    try:
        model = PCA(scale="unit", svd_solver=solver).fit(data)
    except ConstantColumnError as error:
        error.hint = "leave the column out, or use PCA(scale='unit', constant='drop')"
        raise
    except NotFiniteError as error:
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
    (data, names, origin), _ = TableSchema.read(X)
    data = _in_memory(data)
    n, p = data.shape
    if not (is_number(k, Integral) and 1 <= k <= min(n, p)):
        raise ShapeError(
            f"k={k!r} must be a whole number from 1 to min(n, p) = {min(n, p)}",
            place={"parameter": "k"},
            hint=f"X has {n} rows and {p} columns",
        )
    try:
        columns = fold(Columns, data).summary
    except NotFiniteError as error:
        raise not_finite_error(
            data, error, columns=names, origin=origin, hint="fill the missing values before"
        ) from None
    if not center:
        with np.errstate(over="ignore"):
            columns = columns.about_origin()
    largest = float(columns.column_scatter.max(initial=0.0))
    if largest and not n * _TINY <= largest < np.inf:  # squares overflow, or lose digits
        values = data.data if is_sparse(data) else data
        power = binary_exponent(values)
        if power:
            scaled = np.ldexp(values, -power)
            if is_sparse(data):
                scaled = csr_array((scaled, data.indices, data.indptr), shape=data.shape)
            u, s, vt = svd(scaled, k, center=center)
            return u, np.ldexp(s, power), vt
    return _triplets(data, columns, int(k), center)


def _triplets(
    data: Any, columns: Columns, k: int, center: bool
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
    if n * p <= SMALL_TABLE_SIZE or (not is_sparse(data) and k > _FULL_SVD_SHARE * min(n, p)):
        dense = rows.rows
        if is_sparse(data):
            dense = rows.matmul(np.eye(p)) if p <= n else rows.rmatmul(np.eye(n)).T
        u, s, vt = lapack_svd(dense)
    else:
        with one_blas_thread():
            rng = np.random.default_rng(0)
            spectrum, _ = search_rows(rows, columns, k, tol=0.0, rng=rng)
            assert spectrum is not None  # the search is not abandoned
            axes = spectrum.axes.astype(rows.dtype)
            u, s, rotation = lapack_svd(rows.matmul(axes.T))
        if s[-1] < (_LOST * np.finfo(rows.dtype).eps) ** (1 / 3) * s[0]:
            if rows.dtype == np.float32:
                parts = svd(data.astype(np.float64), k, center=center)
                u, s, vt = (part.astype(np.float32) for part in parts)
                return u, s, vt
            axes = _axes_by_qr(data, k, center, axes)
            u, s, rotation = lapack_svd(rows.matmul(axes.T))
        vt = rotation @ axes
    signs = fix_signs(vt[:k])
    return u[:, :k] * signs, np.ldexp(s[:k], exponent), vt[:k] * signs[:, None]


def _axes_by_qr(data: Any, k: int, center: bool, found: FloatArray) -> FloatArray:
    """Compute axes (k, p) by QR and SVD; return those ``found`` before if memory is short."""
    try:
        # Not components_, which has the precision of the rows.
        return PCA(k, center=center, svd_solver="full").fit(data)._result.spectrum.axes[:k]
    except MemoryLimitError as error:
        warn(
            "singular values below 1e-5 of the first may have errors of up to 1e-7 of the first: "
            f"a QR decomposition would be exact, but it does not fit in memory ({error})",
        )
        return found


def _in_memory(data: RowData) -> Any:
    """Read the rows of a source into memory; return other rows unchanged."""
    return read_whole(data) if isinstance(data, Source) else data


@renamed_parameters(seed="random_state")
def choose(
    X: Any,
    rules: str | Rule | Iterable[str | Rule] | None = None,
    *,
    random_state: int = 0,
    progress: ProgressCallback | None = None,
    sample_weight: SampleWeight = None,
    **parameters: Any,
) -> Choices:
    """Compare how many components different rules would keep.

    Parameters
    ----------
    X : array, sparse array, frame, path, of shape (n, p); a fitted PCA; or its summary
        Rules that draw from the rows apply only if these are in memory. The others need only a
        summary, such as that of a stream or a large file.
    rules : str, rule, or several of them, optional
        All by default: ``"kaiser"``, ``"broken-stick"``, ``"elbow"``, ``"parallel"``,
        ``"mle"``, ``"gavish-donoho"``, ``"marchenko-pastur"``, ``"gcv"``, ``"bi-cv"``, ``"cv"``
        and ``"permutation"``.
    random_state : int, default=0
        For rules and solvers that draw random numbers.
    progress : callable, optional
        Called from time to time with a :class:`~princomp.Progress`, whose ``step`` is the rule.
    sample_weight : array of shape (n,), optional
        Frequencies, as for ``PCA.fit``.
    **parameters
        Parameters of :class:`~princomp.PCA`, such as ``scale`` and ``center``.

    Returns
    -------
    Choices
        A mapping from the name of a rule to its :class:`~princomp.rules.Decision`. It prints as
        a table, and has ``k``, ``agreement``, ``rows()``, ``to_frame()``, ``to_dict()`` and
        ``to_json()``.

    Raises
    ------
    ParameterError
        For an unknown rule, an estimator other than PCA, or parameters that a fitted model already
        has.

    Examples
    --------
    >>> import numpy as np
    >>> from princomp import choose
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((100, 2)) @ rng.standard_normal((2, 10))
    >>> X += 0.1 * rng.standard_normal((100, 10))
    >>> choose(X, ["gcv", "gavish-donoho"]).k
    {'gcv': 2, 'gavish-donoho': 2}
    """
    return choices_and_model(X, rules, random_state, progress, sample_weight, parameters)[0]


def choices_and_model(
    X: Any,
    rules: Any,
    random_state: int,
    progress: ProgressCallback | None,
    sample_weight: SampleWeight,
    parameters: dict[str, Any],
) -> tuple[Choices, Any]:
    """Return the decisions of the rules, and the model that was fitted for them."""
    if "n_components" in parameters:
        raise ParameterError(
            "choose() finds the number of components",
            place={"parameter": "n_components"},
            hint="leave n_components out",
        )
    missing = X.missing if isinstance(X, PCA) else parameters.get("missing")
    if missing in FILL_METHODS:
        raise ParameterError(
            f"missing={missing!r} needs the number of components, which choose() is to find",
            place={"parameter": "missing"},
            hint="use missing='drop', or give rows whose cells are filled",
        )
    solver = X.svd_solver if isinstance(X, PCA) else parameters.get("svd_solver")
    if solver == "sketch":
        raise ParameterError(
            "rules do not apply to a sketch, which needs the number of components",
            place={"parameter": "svd_solver"},
            hint="use choose(X) with svd_solver='auto'",
        )
    check_parameter("random_state", random_state, whole_number(0))
    report = RunContext(progress=progress).report_draws if progress is not None else None
    several = Several(_checked_rules(rules), int(random_state), report)
    if isinstance(X, PCA):
        _refuse_parameters(parameters, sample_weight)
        # The summary of the model is solved again; this works for a stream, too.
        model: Any = X.truncated(several)
    elif isinstance(X, BaseEstimator):
        from sklearn import decomposition  # needed only for this error

        is_sklearn = isinstance(X, decomposition.PCA | decomposition.IncrementalPCA)
        hint = "PCA.from_sklearn(model), " if is_sklearn else ""
        raise ParameterError(
            f"choose() compares rules for princomp.PCA, got {class_words(X)}",
            place={"parameter": "X"},
            hint=f"give {hint}rows, a fitted princomp.PCA or its summary",
        )
    elif isinstance(X, Moments | Triangle | Sketch | Columns):
        _refuse_parameters({}, sample_weight)
        model = PCA.from_summary(X, n_components=several, **parameters)
    else:
        several = replace(several, tell=None)  # the fit reports rules as well as passes
        model = PCA(several, random_state=int(random_state), **parameters)
        model.fit(X, sample_weight=sample_weight, progress=progress)
    return Choices(tuple(several.answers), model.n_samples_, model.n_features_in_), model


def _checked_rules(rules: str | Rule | Iterable[str | Rule] | None) -> tuple[Rule, ...]:
    if rules is None:
        return tuple(rule_of(name) for name in RULES)
    if len(getattr(rules, "shape", ())) == 2:
        raise ParameterError(
            "rules is a table",
            place={"parameter": "rules"},
            hint="rows come first, then the rules, and parameters by name: "
            "choose(X, ['kaiser', 'cv'], scale='unit')",
        )
    is_collection = isinstance(rules, Iterable) and not isinstance(rules, str)
    rule_list: Any = rules if is_collection else [rules]
    chosen = tuple(rule_of(rule, "rules") for rule in rule_list)
    names = [rule.name for rule in chosen]
    duplicates = sorted({name for name in names if names.count(name) > 1})
    if duplicates or not names:
        raise ParameterError(
            f"rules names {', '.join(duplicates)} twice" if duplicates else "rules names none",
            place={"parameter": "rules"},
            hint="give each rule once; rules with other options can have names of their own",
        )
    return chosen


def _refuse_parameters(parameters: dict[str, Any], sample_weight: SampleWeight) -> None:
    given = [*parameters, *([] if sample_weight is None else ["sample_weight"])]
    if given:
        raise ParameterError(
            f"{', '.join(given)} cannot be given with a model or a summary",
            place={"parameter": given[0]},
            hint="use model.rescaled(…), or choose() with the rows",
        )
