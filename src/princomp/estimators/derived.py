"""Methods of PCA that make models without rows.

They take a covariance, a summary, a model of scikit-learn, or a fit whose scale or number of
components is to change.
"""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy, deepcopy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from princomp import core, io
from princomp.core import Fitted, Request, TableSchema
from princomp.errors import NotNumericError, ParameterError, ShapeError, invalid_value
from princomp.linalg import FloatArray
from princomp.rules import Rule, for_fraction
from princomp.solvers import Spectrum
from princomp.summaries import Columns, Moments, Sketch, Triangle, check_order_of_labels

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from princomp.estimators.estimator import PCA

P = TypeVar("P", bound="PCA")


def from_covariance(
    cls: type[PCA],
    /,
    C: Any,
    *,
    mean: ArrayLike | None = None,
    n_samples: int | None = None,
    feature_names: Sequence[str] | None = None,
    **parameters: Any,
) -> PCA:
    """A fitted model from a covariance or a correlation matrix.

    Parameters
    ----------
    C : array of shape (p, p)
        Symmetric, positive semi-definite. A correlation matrix is the covariance
        of scaled columns; ``scale="unit"`` converts a covariance to one.
    mean : array of shape (p,) or 0, optional
        Column means, in the order of C. Without them, rows cannot be transformed.
    n_samples : int, optional
        Number of rows behind C, needed for singular values and ``"mle"``.
    feature_names : sequence of str, optional
    **parameters
        Parameters of the constructor.

    Raises
    ------
    DataError
        If C is not a covariance.
    """
    model = cls(**parameters)
    labels = getattr(C, "columns", None) if hasattr(C, "loc") else None
    if io.is_frame(C):
        table = _covariance_table(C)
        feature_names = table.columns if feature_names is None else feature_names
        C = table.data
    covariance = io.checked_covariance(C)
    p = len(covariance)
    core.check_parameter("n_samples", n_samples, core.one_of(None) | core.whole_number(2))
    count = None if n_samples is None else int(n_samples)
    schema = _make_schema(cls, p, feature_names)
    for name, values in (("mean", mean), ("scale", model.scale)):
        check_order_of_labels(name, values, schema.names if labels is None else labels, "C")
    centre = np.zeros(p) if mean is None else io.checked_mean(mean, p)
    if not model.center and (mean is None or (count is None and centre.any())):
        raise ParameterError(
            "center=False moves a covariance back to the origin, which needs the mean and the "
            "number of rows",
            place={"parameter": "mean"},
            hint="give mean=… and n_samples=…; or mean=0 where C is already about the origin",
        )
    # If the number of rows is not known, C may have full rank: p + 1 rows are the fewest for that.
    rows = float(p + 1 if count is None else count)
    moments = Moments.of_covariance(covariance, centre, rows)
    fitted = core.fit_summary(
        moments,
        Request.of(model),
        n_samples=count,
        columns=schema.names,
        mean_known=mean is not None,
    )
    model._schema, model._fitted = schema, fitted
    return model


def _covariance_table(frame: Any) -> io.TableSource:
    """Read a covariance from a frame, whose rows must be in the order of its columns."""
    io.check_order_of_rows(frame)
    try:
        return io.from_frame(frame)
    except NotNumericError as error:
        if frame.shape[1] == frame.shape[0] + 1:
            name = error.place.get("column")
            drop = "set_index" if hasattr(frame, "set_index") else "drop"
            error.hint = f"if column {name!r} names the rows, give C.{drop}([{name!r}])"
        raise


def from_summary(
    cls: type[PCA],
    /,
    summary: Moments | Triangle | Sketch | Columns,
    *,
    feature_names: Sequence[str] | None = None,
    **parameters: Any,
) -> PCA:
    """A fitted model from a copy of a summary; ``parameters`` are those of the constructor.

    A summary does not record whether its rows have faded: give ``decay`` to continue such a stream,
    which also refuses to ``forget`` rows.

    Raises
    ------
    ParameterError
        For anything but a summary, and for one about the origin if ``center`` is true.
    NotAvailableError
        For a summary of columns only.
    """
    if not isinstance(summary, Moments | Triangle | Sketch | Columns):
        raise ParameterError(
            f"from_summary takes a summary, got {type(summary).__name__}",
            place={"parameter": "summary"},
            hint="give model.summary_, or Moments.of(X)",
        )
    model, summary = cls(**parameters), deepcopy(summary)
    if not summary.centred and model.center:
        raise ParameterError(
            "this summary is about the origin: it does not contain the spread about the mean",
            place={"parameter": "summary"},
            hint="give center=False, or the summary before about_origin()",
        )
    schema = _make_schema(cls, summary.p, feature_names)
    request = Request.of(model)
    fitted = core.fit_summary(summary, request, n_samples=summary.count, columns=schema.names)
    model._schema, model._fitted = schema, fitted
    return model


def from_sklearn(
    cls: type[PCA], /, model: Any, *, feature_names: Sequence[str] | None = None
) -> PCA:
    """A fitted model from a fitted PCA or IncrementalPCA of scikit-learn.

    Scores, figures and reports use its components, with their signs. scikit-learn's PCA does not
    store the variances of the columns, so correlations and cos² of the columns are known only if
    it kept all p components, or n − 1.

    Parameters
    ----------
    model : sklearn.decomposition.PCA or sklearn.decomposition.IncrementalPCA
        Fitted.
    feature_names : sequence of str, optional
        Names of the columns; by default those of the fit, if it had any.

    Returns
    -------
    PCA

    Raises
    ------
    ParameterError
        For any other object.
    ShapeError
        For a model of one row.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn import decomposition
    >>> from princomp import PCA
    >>> X = np.random.default_rng(0).standard_normal((30, 4))
    >>> theirs = decomposition.PCA(2).fit(X)
    >>> np.allclose(PCA.from_sklearn(theirs).transform(X), theirs.transform(X))
    True
    """
    # Imported here, because these modules load much that a fit does not need.
    from sklearn import decomposition
    from sklearn.utils.validation import check_is_fitted

    if not isinstance(model, decomposition.PCA | decomposition.IncrementalPCA):
        raise ParameterError(
            f"from_sklearn needs a PCA of scikit-learn, got {type(model).__name__}",
            place={"parameter": "model"},
            hint="give a fitted sklearn.decomposition.PCA or IncrementalPCA, such as the last step "
            "of a pipeline, pipeline[-1]",
        )
    check_is_fitted(model)
    fitted = _fit_of_sklearn(model)
    pca = cls(n_components=fitted.k)
    pca.whiten = bool(model.whiten)  # a subclass may not have it in __init__
    if feature_names is None:
        feature_names = getattr(model, "feature_names_in_", None)
    pca._schema, pca._fitted = _make_schema(cls, fitted.p, feature_names), fitted
    return pca


def _fit_of_sklearn(model: Any) -> Fitted:
    """The results of a PCA or IncrementalPCA of scikit-learn."""
    axes, variances = (
        np.asarray(values, dtype=np.float64)
        for values in (model.components_, model.explained_variance_)
    )
    kept_share, (k, p) = float(np.sum(model.explained_variance_ratio_)), axes.shape
    n = int(getattr(model, "n_samples_", 0) or getattr(model, "n_samples_seen_", 0))
    if n < 2:
        raise ShapeError(
            f"a variance needs at least 2 rows, and this {type(model).__name__} has seen {n}",
            place={"parameter": "model"},
            hint="give it more rows first",
        )
    # Without components, the total follows from the noise variance.
    total = float(model.noise_variance_) * min(n, p)
    if kept_share > 0:
        total = float(variances.sum()) / kept_share
    if hasattr(model, "var_"):
        column_variances = np.asarray(model.var_, dtype=np.float64) * (n / (n - 1.0))
    else:
        complete = k >= min(n - 1, p)
        column_variances = variances @ axes**2 if complete else np.full(p, np.nan)
    # scikit-learn decomposes float32 rows in float32: by an SVD, except for one of its solvers.
    dtype, solver = model.components_.dtype, getattr(model, "_fit_svd_solver", "")
    squared = dtype != np.float32 or solver == "covariance_eigh"
    roundoff = p * float(np.finfo(dtype).eps)
    mean, scatter = np.asarray(model.mean_, dtype=np.float64), column_variances * (n - 1.0)
    reason = f"fitted by sklearn.decomposition.{type(model).__name__}"
    return Fitted(
        summary=Columns(float(n), n, mean, np.zeros(p), scatter),
        spectrum=Spectrum(variances, axes, total, roundoff, squared, missed=None, signs_given=True),
        k=k,
        scale=None,
        centred=True,
        dtype=np.dtype(np.float64),
        n_samples=n,
        problem=core.Problem(n, p, k),
        route=core.RouteChoice("columns", "given", reason),
    )


def rescaled(self: P, scale: ArrayLike | str | None) -> P:
    """Return a new model with other divisors of the columns; the rows are not needed.

    Raises
    ------
    NotAvailableError
        If the fit kept neither a scatter nor all components, or, for ``"range"``, no ranges.
    """
    return _refitted(self, scale=scale)


def truncated(self: P, n_components: int | float | str | Rule | None) -> P:
    """Return a new model with another number of components, or rule; the rows are not needed.

    Fewer components are always available; more are available only if a scatter was kept.

    Raises
    ------
    NotAvailableError
        If more components are requested than were kept, and no scatter was kept.
    """
    fitted, k = self._result, core.checked_components(n_components)
    if self.missing in core.FILL_METHODS and isinstance(k, float):
        # Cells are filled by a whole number of components.
        n_components = k = for_fraction(fitted.spectrum.rates, k) or k
    if isinstance(fitted.summary, Columns):
        if isinstance(k, float) and fitted.k:
            k = for_fraction(fitted.rates, k)
        if isinstance(k, int) and k <= fitted.k:
            wanted = n_components if isinstance(n_components, float) else k
            problem = fitted.problem._replace(n_components=wanted)
            spectrum = fitted.spectrum.first(k)
            fitted = replace(fitted, k=k, spectrum=spectrum, decision=None, problem=problem)
            return _copy_with(self, fitted, n_components=n_components)
    return _refitted(self, n_components=n_components)


def with_names(model: P, names: Sequence[str]) -> P:
    """Return a copy of a fitted model with other names of the columns."""
    renamed = _copy_with(model, model._result)
    renamed._schema = _make_schema(type(model), len(names), names)
    return renamed


def with_signs(model: P, axes: FloatArray) -> P:
    """Return a copy of a fitted model whose components point the same way as ``axes`` (k, p)."""
    fitted = model._result
    own = fitted.spectrum.axes.copy()
    opposite = np.einsum("ij,ij->i", own[: len(axes)], axes) < 0
    own[: len(axes)][opposite] *= -1
    spectrum = replace(fitted.spectrum, axes=own, signs_given=True)
    return _copy_with(model, replace(fitted, spectrum=spectrum))


def _refitted(model: P, **changes: object) -> P:
    """Fit the same summary with other parameters."""
    fitted = model._result
    refitted = _copy_with(model, fitted, **changes)
    summary, request = fitted.mergeable_summary(), Request.of(refitted)
    if "n_components" not in changes and fitted.k != request.n_components:
        request = request.clipped(summary)  # as a stream with fewer rows than components was
    new_fit = core.fit_summary(
        summary,
        request,
        problem=fitted.problem,
        n_samples=fitted.n_samples,
        extremes=fitted.extremes,
        columns=model._schema.names,
        dtype=fitted.dtype,
        mean_known=fitted.mean_known,
        dropped=fitted.dropped,
        faded_by=fitted.faded_by,
        weighted=fitted.weighted,
    )
    if fitted.filled is not None:
        note = f"{fitted.filled}; under the first parameters"
        new_fit = replace(new_fit, filled=fitted.filled, notes=(note, *new_fit.notes))
    refitted._schema, refitted._fitted = model._schema, new_fit
    return refitted


def _copy_with(model: P, fitted: Fitted, **changes: object) -> P:
    copied: Any = copy(model)
    for name, value in changes.items():
        setattr(copied, name, value)  # set_params knows only what a subclass names in __init__
    copied._fitted = fitted
    if "_sklearn_output_config" in vars(copied):  # set_output of one must not change the other
        copied._sklearn_output_config = dict(copied._sklearn_output_config)
    return copied


def _make_schema(cls: type[PCA], p: int, names: Sequence[str] | None) -> TableSchema:
    if names is None:
        return TableSchema(p, None, None, cls.__name__)
    if isinstance(names, str | bytes) or not isinstance(names, Iterable):
        raise invalid_value("feature_names", names, "a list of names", "pass one name per column")
    text = tuple(map(str, names))
    if len(text) != p:
        raise ShapeError(
            f"{len(text)} feature names for {p} columns",
            place={"parameter": "feature_names"},
            hint="pass one name per column",
        )
    io.refuse_duplicates(text, io.Origin())
    return TableSchema(p, text, None, cls.__name__)
