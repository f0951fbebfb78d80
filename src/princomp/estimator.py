"""PCA: parameters in, sources → plan → engine → summary → spectrum, attributes out."""

from __future__ import annotations

import os
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import validate_data

from princomp.arrays import FloatArray
from princomp.certificate import Certificate
from princomp.errors import (
    NotFiniteError,
    ParameterError,
    ShapeError,
)
from princomp.fitted import Fitted
from princomp.fitting import Request, fit_rows, fit_summary, truncated_to
from princomp.planning import SOLVERS, Plan
from princomp.sources.frames import from_frame, is_frame
from princomp.sources.memory import as_rows, from_sparse, refuse_not_finite
from princomp.summaries import Columns, Moments, Triangle
from princomp.summaries.blocks import Weights

__all__ = ["PCA"]

_SCALES = ("unit", "pareto", "range")
_MISSING = ("error", "drop")
_NORMALIZERS = ("auto", "QR", "LU", "none")


class PCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Principal component analysis.

    A drop-in for :class:`sklearn.decomposition.PCA`: its parameters, attributes and
    methods keep their names and meanings. A fit keeps a summary of the rows, not the
    rows, and every attribute is derived from it.

    Parameters
    ----------
    n_components : int, float, "mle" or None, default=None
        How many components to keep. A number; a fraction in (0, 1): the fewest whose
        accumulated rate exceeds it, with any solver; ``"mle"``: Minka's rule; None:
        min(n, p), and min(⌊Σw⌋, p) with weights.
    copy : bool, default=True
        Kept for scikit-learn's sake. The input is never written to.
    whiten : bool, default=False
        Scores with unit variance. Components below the fit's resolution get zeros,
        where dividing by their standard deviation would only enlarge noise.
    svd_solver : str, default="auto"
        ``"auto"`` decides by shape, prints its reasons in ``plan_`` and takes a more
        exact route where a wanted variance asks for it. ``"covariance_eigh"``: one
        pass and an eigendecomposition. ``"full"``: QR and SVD, nothing squared.
        ``"arpack"``: Lanczos to a residual, fewer than min(n, p) components;
        ``"lanczos"`` is the same without that limit. ``"randomized"``: scikit-learn's.
        ``"row_gram"``: n × n products of the rows.
    tol : float, default=0.0
        Residual at which Lanczos may stop, relative to the first variance; 0 is
        machine precision.
    iterated_power : int or "auto", default="auto"
        Power iterations of ``"randomized"``.
    n_oversamples : int, default=10
        Additional vectors of ``"randomized"``.
    power_iteration_normalizer : {"auto", "QR", "LU", "none"}, default="auto"
        Of ``"randomized"``.
    random_state : int, RandomState or None, default=None
        Of ``"randomized"``; every other solver is deterministic.
    scale : None, "unit", "pareto", "range" or array of shape (p,), default=None
        What columns are divided by: nothing; their standard deviation (correlation
        PCA); its square root; largest minus smallest value; given divisors.
    center : bool, default=True
        Subtract the column means. Without it, ``explained_variance_`` are mean squares
        about zero, still divided by n − 1.
    missing : {"error", "drop"}, default="error"
        What to do with NaN in ``fit``: refuse with the place, or leave such rows out
        and count them (``n_dropped_``). With ``"drop"``, ``transform`` gives NaN scores
        for such rows, so that rows stay aligned.

    Attributes
    ----------
    components_ : ndarray of shape (k, p)
        Axes, unit length, one a row; the largest |entry| of each is positive. In the
        precision of the data.
    explained_variance_ : ndarray of shape (k,)
        Variances λ, in squared units. This and all statistics below are float64.
    explained_variance_ratio_, contribution_rate_ : ndarray of shape (k,)
        λ over the total variance.
    accumulated_rate_ : ndarray of shape (k,)
        Running sum of the contribution rates.
    singular_values_ : ndarray of shape (k,)
        √((n − 1) λ).
    loadings_ : ndarray of shape (p, k)
        Axes times √λ.
    mean_, var_ : ndarray of shape (p,)
        Means (zero without centring) and variances of the columns as given.
    scale_ : ndarray of shape (p,) or None
        What the columns were divided by.
    total_variance_ : float
        Sum of all p variances of the analysed columns.
    noise_variance_ : float
        Mean variance of the p − k components left out.
    n_components_, n_features_in_ : int
    n_samples_ : int
        Rows used.
    n_dropped_ : int
        Rows left out for missing values.
    feature_names_in_ : ndarray of shape (p,)
        Column names, where the input has them.
    plan_ : Plan
        Summary, solver, reasons, passes and memory.
    certificate_ : Certificate
        Residuals, orthogonality, variances below resolution, inseparable pairs.
    summary_ : Moments, Triangle or Columns
        What was kept of the rows.

    Examples
    --------
    >>> import numpy as np
    >>> from princomp import PCA
    >>> X = np.array([[-1, -1], [-2, -1], [-3, -2], [1, 1], [2, 1], [3, 2]])
    >>> model = PCA(n_components=2).fit(X)
    >>> print(model.explained_variance_ratio_.round(4))
    [0.9924 0.0076]
    """

    def __init__(
        self,
        n_components: int | float | str | None = None,
        *,
        copy: bool = True,
        whiten: bool = False,
        svd_solver: str = "auto",
        tol: float = 0.0,
        iterated_power: int | str = "auto",
        n_oversamples: int = 10,
        power_iteration_normalizer: str = "auto",
        random_state: Any = None,
        scale: Any = None,
        center: bool = True,
        missing: str = "error",
    ) -> None:
        self.n_components = n_components
        self.copy = copy
        self.whiten = whiten
        self.svd_solver = svd_solver
        self.tol = tol
        self.iterated_power = iterated_power
        self.n_oversamples = n_oversamples
        self.power_iteration_normalizer = power_iteration_normalizer
        self.random_state = random_state
        self.scale = scale
        self.center = center
        self.missing = missing

    # ---- fitting ---------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to rows.

        Parameters
        ----------
        X : array, sparse array, frame or path, of shape (n, p)
            Any numeric dtype and layout; float32 stays float32. Frames of pandas,
            polars and pyarrow keep their column names. A path to a CSV, TSV, Parquet,
            Arrow or npy file is read.
        y : ignored
        sample_weight : array of shape (n,), optional
            Frequencies: weight 2 is the row twice; the divisor is Σw − 1.

        Returns
        -------
        self

        Raises
        ------
        NotFiniteError
            At NaN or infinity, with the first place.
        ShapeError, ConstantColumnError, ParameterError
        """
        request = self._request()
        data, columns, file = self._rows(X, reset=True)
        weights = _weights(sample_weight, data)
        try:
            self._fitted = fit_rows(data, weights, request, columns)
        except NotFiniteError as error:
            raise refuse_not_finite(data, error, columns=columns, file=file) from None
        return self

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit, then transform the same rows: exactly ``fit(X).transform(X)``."""
        return self.fit(X, y, sample_weight)._scores(X)

    def _request(self) -> Request:
        """The parameters that shape a fit, checked."""
        k = _checked_components(self.n_components)
        scale = self.scale
        if isinstance(scale, str) and scale not in _SCALES:
            raise _not_among("scale", scale, ("None", *_SCALES, "an array of divisors"))
        if self.svd_solver not in SOLVERS:
            raise _not_among("svd_solver", self.svd_solver, tuple(SOLVERS))
        if self.missing not in _MISSING:
            raise _not_among("missing", self.missing, _MISSING)
        if self.power_iteration_normalizer not in _NORMALIZERS:
            raise _not_among(
                "power_iteration_normalizer", self.power_iteration_normalizer, _NORMALIZERS
            )
        if not (isinstance(self.tol, Real) and self.tol >= 0):
            raise _not_among("tol", self.tol, ("a number of at least 0",))
        power = self.iterated_power
        if power != "auto" and not (isinstance(power, Integral) and power >= 0):
            raise _not_among("iterated_power", power, ("'auto'", "a whole number of at least 0"))
        if not (isinstance(self.n_oversamples, Integral) and self.n_oversamples >= 1):
            raise _not_among("n_oversamples", self.n_oversamples, ("a whole number of at least 1",))
        return Request(
            k,
            scale,
            bool(self.center),
            self.svd_solver,
            float(self.tol),
            power,
            self.n_oversamples,
            self.power_iteration_normalizer,
            self.random_state,
            self.missing == "drop",
        )

    def _rows(self, X: Any, *, reset: bool) -> tuple[Any, tuple[str, ...] | None, str | None]:
        """Rows to compute with, column names and file for messages."""
        if type(X) is np.ndarray and X.ndim == 2 and X.dtype.kind in "fiub":
            data = as_rows(X)
            self._check_columns(data.shape[1], reset)
            return data, None, None
        if sp.issparse(X):
            data = from_sparse(X)
            self._check_columns(data.shape[1], reset)
            return data, None, None
        if is_frame(X):
            validate_data(self, X, reset=reset, skip_check_array=True)
            table = from_frame(X)
            self._check_columns(table.data.shape[1], False)
            return as_rows(table.data), table.columns, None
        if isinstance(X, str | os.PathLike):
            return self._file_rows(X, reset)
        checked = validate_data(
            self, X, reset=reset, dtype="numeric", ensure_all_finite=False, accept_sparse=False
        )
        return as_rows(np.asarray(checked)), None, None

    def _file_rows(self, path: Any, reset: bool) -> tuple[Any, tuple[str, ...] | None, str]:
        from princomp.sources.files import read_table

        known = getattr(self, "feature_names_in_", None)
        wanted = None if reset or known is None else list(known)
        table = read_table(path, columns=wanted)
        self._check_columns(table.data.shape[1], reset)
        if reset and table.columns is not None:
            self.feature_names_in_ = np.asarray(table.columns, dtype=object)
        return as_rows(table.data), table.columns, str(path)

    def _check_columns(self, p: int, reset: bool) -> None:
        if reset:
            self.n_features_in_ = p
            self.__dict__.pop("feature_names_in_", None)
        elif p != self.n_features_in_:
            raise ShapeError(
                f"X has {p} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input",
                hint="give the columns that the model was fitted to, in their order",
            )

    # ---- from what is already summed --------------------------------------------------

    @classmethod
    def from_covariance(
        cls,
        C: Any,
        *,
        mean: Any = None,
        n_samples: int | None = None,
        feature_names: Any = None,
        **parameters: Any,
    ) -> Self:
        """A fitted model from a covariance or a correlation matrix.

        Parameters
        ----------
        C : array of shape (p, p)
            Symmetric, positive semi-definite. A correlation matrix is the covariance
            of columns already scaled; ``scale="unit"`` makes one of a covariance.
        mean : array of shape (p,) or 0, optional
            Column means. Without it rows cannot be transformed.
        n_samples : int, optional
            Rows behind C; singular values and ``"mle"`` need it.
        feature_names : sequence of str, optional
        **parameters
            Of the constructor.

        Raises
        ------
        DataError
            When C is not a covariance.
        """
        model = cls(**parameters)
        covariance = _checked_covariance(C)
        p = len(covariance)
        if n_samples is None and model.n_components == "mle":
            raise ParameterError(
                "n_components='mle' needs the number of rows behind the covariance",
                place={"parameter": "n_samples"},
                hint="PCA.from_covariance(C, n_samples=…, n_components='mle')",
            )
        if n_samples is not None and n_samples < 2:
            raise ShapeError(
                f"a covariance needs at least 2 rows, got n_samples={n_samples}",
                place={"parameter": "n_samples"},
            )
        centre = np.zeros(p) if mean is None else _checked_mean(mean, p)
        # How many rows there were bounds neither the rank nor k here: C says it all.
        rows = float(n_samples) if n_samples is not None else float(p + 1)
        moments = Moments.of_covariance(covariance, centre, rows)
        if n_samples is not None and n_samples <= p:
            moments = _replace_count(moments, n_samples)
        return model._take(
            moments,
            n_samples=n_samples,
            mean_known=mean is not None or not model.center,
            feature_names=feature_names,
        )

    @classmethod
    def from_summary(
        cls, summary: Moments | Triangle, *, feature_names: Any = None, **parameters: Any
    ) -> Self:
        """A fitted model from a summary, with the parameters of the constructor."""
        model = cls(**parameters)
        return model._take(summary, n_samples=summary.count, feature_names=feature_names)

    def _take(self, summary: Any, *, feature_names: Any = None, **known: Any) -> Self:
        self._fitted = fit_summary(summary, self._request(), **known)
        self.n_features_in_ = summary.p
        if feature_names is not None:
            if len(feature_names) != summary.p:
                raise ShapeError(
                    f"{len(feature_names)} feature names for {summary.p} columns",
                    place={"parameter": "feature_names"},
                )
            self.feature_names_in_ = np.asarray(feature_names, dtype=object)
        return self

    def rescaled(self, scale: Any) -> Self:
        """The same fit under another scale, without the data.

        Raises
        ------
        NotAvailableError
            Where the fit kept no scatter (``row_gram``, ``arpack``, ``randomized``), or
            no ranges for ``"range"``.
        """
        return self._again(scale=scale)

    def truncated(self, n_components: Any) -> Self:
        """The same fit with another number of components, or rule for it, without the data.

        Fewer components are always to be had; more need a kept scatter.
        """
        fitted = self._state
        if isinstance(fitted.summary, Columns):
            k = _checked_components(n_components)
            if isinstance(k, int) and 0 < k <= fitted.k:
                return self._copy_with(truncated_to(fitted, k), n_components=n_components)
        return self._again(n_components=n_components)

    def _again(self, **changes: Any) -> Self:
        fitted = self._state
        model = self._copy_with(fitted, **changes)
        names = getattr(self, "feature_names_in_", None)
        model._fitted = fit_summary(
            fitted.summary,
            model._request(),
            facts=fitted.facts,
            n_samples=fitted.n_samples,
            extremes=fitted.extremes,
            columns=None if names is None else tuple(names),
            dtype=fitted.dtype,
            mean_known=fitted.mean_known,
        )
        return model

    def _copy_with(self, fitted: Fitted, **changes: Any) -> Self:
        parameters = self.get_params(deep=False)
        model = type(self)(**{**parameters, **changes})
        model._fitted = fitted
        model.n_features_in_ = self.n_features_in_
        if hasattr(self, "feature_names_in_"):
            model.feature_names_in_ = self.feature_names_in_
        return model

    # ---- using -------------------------------------------------------------------------

    def transform(self, X: Any) -> Any:
        """Scores of rows: centre (and scale), then project.

        Parameters
        ----------
        X : array, sparse array, frame or path, of shape (n, p)

        Returns
        -------
        ndarray of shape (n, k)
            In the precision of X.
        """
        return self._scores(X)

    def _scores(self, X: Any) -> FloatArray:
        fitted = self._state
        data, columns, file = self._rows(X, reset=False)
        scores = fitted.scores(data, whiten=self.whiten)
        if not np.isfinite(scores).all() or not fitted.k:
            self._check_finite(data, columns, file)
        return scores

    def _check_finite(self, data: Any, columns: Any, file: str | None) -> None:
        values = data.data if sp.issparse(data) else data
        lawful = ~np.isinf(values) if self.missing == "drop" else np.isfinite(values)
        if not lawful.all():
            found = NotFiniteError("", place={"row": 0})
            raise refuse_not_finite(data, found, columns=columns, file=file)

    def inverse_transform(self, X: Any) -> FloatArray:
        """Rows (n, p) in the units of the data, from scores (n, k).

        Raises
        ------
        ShapeError
            When there are not k scores a row.
        """
        fitted = self._state
        scores = from_frame(X).data if is_frame(X) else np.asarray(X)
        if scores.dtype.kind != "f" or scores.dtype.itemsize not in (4, 8):
            scores = scores.astype(np.float64)
        if scores.ndim != 2 or scores.shape[1] != fitted.k:
            raise ShapeError(
                f"scores have shape {scores.shape}, and the model has {fitted.k} components",
                hint=f"give an array of shape (n, {fitted.k})",
            )
        return fitted.reconstruction(scores, whiten=self.whiten)

    def score_samples(self, X: Any) -> FloatArray:
        """Log-likelihood of each row (n,) under probabilistic PCA (Tipping & Bishop 1999)."""
        fitted = self._state
        data, columns, file = self._rows(X, reset=False)
        self._check_finite(data, columns, file)
        return fitted.log_likelihood(data)

    def score(self, X: Any, y: Any = None) -> float:
        """Mean log-likelihood of the rows."""
        return float(np.mean(self.score_samples(X)))

    def get_covariance(self) -> FloatArray:
        """Model covariance (p, p), in squared units, whitened or not."""
        return self._state.covariance().astype(self._state.dtype, copy=False)

    def get_precision(self) -> FloatArray:
        """Inverse of the model covariance (p, p); its pseudo-inverse where it is singular."""
        return self._state.precision().astype(self._state.dtype, copy=False)

    def save(self, path: Any, *, force: bool = False) -> None:
        """Write the model to a file; see :func:`princomp.load`.

        Raises
        ------
        OutputExistsError
            When the file exists and ``force`` is not given.
        """
        from princomp.model_file import save

        save(self, path, force=force)

    # ---- what was found ----------------------------------------------------------------

    @property
    def _state(self) -> Fitted:
        fitted: Fitted | None = self.__dict__.get("_fitted")
        if fitted is None:
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' with rows "
                "before using it."
            )
        return fitted

    def __sklearn_is_fitted__(self) -> bool:
        return "_fitted" in self.__dict__

    @property
    def components_(self) -> FloatArray:
        """Axes (k, p)."""
        return self._state.components

    @property
    def explained_variance_(self) -> FloatArray:
        """Variances (k,)."""
        return self._state.variances

    @property
    def explained_variance_ratio_(self) -> FloatArray:
        """Contribution rates (k,)."""
        return self._state.rates

    @property
    def contribution_rate_(self) -> FloatArray:
        """Variance of each component over the total variance (k,)."""
        return self._state.rates

    @property
    def accumulated_rate_(self) -> FloatArray:
        """Running sum of the contribution rates (k,)."""
        return np.cumsum(self._state.rates)

    @property
    def singular_values_(self) -> FloatArray:
        """√((n − 1) λ) (k,)."""
        return self._state.singular_values

    @property
    def loadings_(self) -> FloatArray:
        """Axes times √λ (p, k)."""
        return self._state.loadings

    @property
    def mean_(self) -> FloatArray:
        """Column means (p,)."""
        return self._state.mean

    @property
    def var_(self) -> FloatArray:
        """Column variances (p,), in squared units of the data."""
        return self._state.column_variances

    @property
    def scale_(self) -> FloatArray | None:
        """What the columns were divided by (p,)."""
        return self._state.scale

    @property
    def total_variance_(self) -> float:
        """Sum of all p variances of the analysed columns."""
        return self._state.spectrum.total

    @property
    def noise_variance_(self) -> float:
        """Mean variance of the components left out."""
        return self._state.noise_variance

    @property
    def n_components_(self) -> int:
        """Components kept."""
        return self._state.k

    @property
    def n_samples_(self) -> int | None:
        """Rows used."""
        return self._state.n_samples

    @property
    def n_dropped_(self) -> int:
        """Rows left out for missing values."""
        return self._state.dropped

    @property
    def plan_(self) -> Plan:
        """How the fit ran."""
        return self._state.plan

    @property
    def certificate_(self) -> Certificate:
        """What can be promised of it."""
        return self._state.certificate

    @property
    def summary_(self) -> Moments | Triangle | Columns:
        """What was kept of the rows."""
        return self._state.summary

    @property
    def _n_features_out(self) -> int:
        return self._state.k

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self.missing == "drop"
        return tags


def _weights(sample_weight: Any, data: Any) -> Weights:
    if sample_weight is None:
        return None
    from sklearn.utils.validation import _check_sample_weight

    weights: Weights = _check_sample_weight(
        sample_weight, data, dtype=np.float64, ensure_non_negative=True
    )
    return weights


def _checked_components(k: Any) -> int | float | str | None:
    if k is None:
        return None
    if isinstance(k, str):
        if k == "mle":
            return k
    elif isinstance(k, Integral) and not isinstance(k, bool):
        if k >= 0:
            return int(k)
    elif isinstance(k, Real) and not isinstance(k, bool) and 0 < k < 1:
        return float(k)
    raise _not_among(
        "n_components", k, ("a whole number ≥ 0", "a fraction in (0, 1)", "'mle'", "None")
    )


def _not_among(name: str, value: Any, lawful: tuple[str, ...]) -> ParameterError:
    return ParameterError(
        f"{name}={value!r} is not lawful",
        place={"parameter": name},
        hint=f"{name} is one of {', '.join(lawful)}",
    )


def _checked_covariance(C: Any) -> FloatArray:
    matrix = np.array(C, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not matrix.size:
        raise ShapeError(f"a covariance is square, got shape {matrix.shape}")
    if not np.isfinite(matrix).all():
        row, column = (int(i) for i in np.argwhere(~np.isfinite(matrix))[0])
        raise NotFiniteError(
            f"the covariance holds {matrix[row, column]} at C[{row}, {column}]",
            place={"row": row, "column": column},
        )
    largest = float(np.abs(matrix).max())
    skew = np.abs(matrix - matrix.T)
    if skew.max() > 1e-8 * largest:
        row, column = (int(i) for i in np.unravel_index(int(skew.argmax()), skew.shape))
        raise ShapeError(
            f"a covariance is symmetric, but C[{row}, {column}] = {matrix[row, column]:g} and "
            f"C[{column}, {row}] = {matrix[column, row]:g}",
            place={"row": row, "column": column},
        )
    matrix = (matrix + matrix.T) / 2
    lowest = float(np.linalg.eigvalsh(matrix)[0])
    if lowest < -1e-8 * len(matrix) * largest:
        raise ShapeError(
            f"a covariance has no negative eigenvalue, but C has {lowest:g}",
            hint="a correlation matrix put together pair by pair may need repair first",
        )
    return matrix


def _checked_mean(mean: Any, p: int) -> FloatArray:
    centre = np.asarray(mean, dtype=np.float64)
    if centre.ndim == 0:
        centre = np.full(p, float(centre))
    if centre.shape != (p,) or not np.isfinite(centre).all():
        raise ShapeError(
            f"mean must be {p} finite numbers, got an array of shape {centre.shape}",
            place={"parameter": "mean"},
        )
    return centre


def _replace_count(moments: Moments, count: int) -> Moments:
    from dataclasses import replace

    return replace(moments, count=count)
