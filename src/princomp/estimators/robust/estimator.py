"""RobustPCA: ROBPCA in scikit-learn's conventions."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral
from typing import Any, Self, TypeVar

import numpy as np
import numpy.typing as npt
from scipy import stats
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin

from princomp import core, linalg
from princomp.errors import ConstantColumnError, ShapeError, counted
from princomp.estimators import base
from princomp.estimators.base import ResultAttribute, TableEstimator
from princomp.estimators.robust.mcd import LEVEL
from princomp.estimators.robust.model import (
    OutlierMap,
    RobustFit,
    RobustModel,
    check_dense,
    dense_rows,
    model_from_contents,
    model_to_contents,
)
from princomp.estimators.robust.robpca import robpca
from princomp.io import Arrays, Document, rows_of
from princomp.linalg import EPS, FloatArray
from princomp.summaries import Names, checked_divisors, column_name, leave_out_hint

_CONSTRAINTS = {
    "n_components": core.one_of(None) | core.whole_number(1) | core.fraction(),
    "support": core.number(0.5, 1),
    "n_directions": core.whole_number(1),
    "component_names": core.one_of("PC", "sklearn"),
    "scale": core.one_of(None, "mad") | core.array_like("one divisor per column"),
}

# Standard deviation of normal rows over their median absolute deviation.
_MAD = 1.4826022185056018


def check_robust_parameters(model: RobustPCA) -> None:
    """Refuse invalid parameters.

    Raises
    ------
    ParameterError
    """
    core.check_parameters(model, _CONSTRAINTS)
    linalg.check_random_state(model.random_state)


def component_count(n_components: int | float | None, n: int, p: int) -> int | float | None:
    """Check the number of components for rows (n, p); return a share or None unchanged.

    Raises
    ------
    ShapeError
        For fewer than two rows, or more components than half of the rows can determine.
    """
    if n < 2:
        raise ShapeError(
            f"a variance needs at least 2 rows, got n_samples = {n}", hint="pass more rows"
        )
    if n_components is None or not core.is_number(n_components, Integral):
        return n_components
    limit = min(p, max((n - 1) // 2, 1))
    if n_components > limit:
        raise ShapeError(
            f"n_components={n_components} must be at most {limit} for {counted(n, 'row')}, half of "
            f"which must determine a covariance, and {counted(p, 'column')}",
            place={"parameter": "n_components"},
            hint=f"set n_components to {limit} or less",
        )
    return int(n_components)


def robust_deviations(rows: FloatArray) -> FloatArray:
    """Compute robust standard deviations of columns (p,), by the median absolute deviation."""
    rows = rows.astype(np.float64, copy=False)
    return np.asarray(_MAD * np.median(np.abs(rows - np.median(rows, axis=0)), axis=0))


def column_divisors(
    scale: str | npt.ArrayLike | None, rows: FloatArray, columns: Names
) -> FloatArray | None:
    """Compute the divisors of the columns."""
    if scale is None:
        return None
    if not isinstance(scale, str):
        return checked_divisors(scale, rows.shape[1], columns)
    deviation = robust_deviations(rows)
    flat = np.flatnonzero(deviation == 0)
    if flat.size:
        name = column_name(columns, flat[0])
        others = f" and {flat.size - 1} more" if flat.size > 1 else ""
        raise ConstantColumnError(
            f"scale='mad' cannot divide by the spread of column {name!r}{others}: half of its "
            "values or more are the same",
            place={"column": name},
            hint=f"{leave_out_hint(flat, columns)}; scale can also be an array of divisors",
        )
    return deviation


T = TypeVar("T")


class _Attribute(ResultAttribute[RobustFit, T]):
    """An attribute of RobustPCA."""


class RobustPCA(
    TableEstimator[RobustModel], ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator
):
    """Principal components of the majority of the rows, robust to outliers: ROBPCA.

    Up to a share of 1 − ``support`` of the rows may be outliers. The rows that are least outlying
    over many directions determine the space of the components; the minimum covariance determinant
    (MCD) determines the centre and the axes in it (Hubert, Rousseeuw & Vanden Branden 2005). Rows
    must be dense and in memory; there may be more columns than rows.

    Parameters
    ----------
    n_components : int, float or None, default=None
        A number; a share in (0, 1) of the variance of the least outlying rows; or None, for 80%
        of this variance and at most 10 components.
    support : float, default=0.75
        Share of the rows that are assumed not to be outliers, from 0.5 (most robust) to 1 (most
        efficient).
    n_directions : int, default=250
        Number of directions over which outlyingness is measured.
    scale : None, "mad" or array of shape (p,), default=None
        Divisors of the columns: none; 1.4826 times their median absolute deviation; or the
        given ones. (Standard deviations are not robust to outliers.)
    random_state : int, RandomState, Generator or None, default=0
        Seed of the random directions and starts. The same seed gives the same result to the bit.
    component_names : {"PC", "sklearn"}, default="PC"
        Names of the scores in ``get_feature_names_out`` and in frames: PC1, PC2, …, or those of
        scikit-learn: robustpca0, ….

    Attributes
    ----------
    components_ : ndarray of shape (k, p)
        Axes, unit length; the entry of each that is largest in absolute value is positive.
    explained_variance_ : ndarray of shape (k,)
        Robust variances, consistent for normal rows.
    explained_variance_ratio_ : ndarray of shape (k,)
        Variances over ``total_variance_``.
    total_variance_ : float
        Sum of all variances; beyond the components, the variances of the rows near their space.
    loadings_ : ndarray of shape (p, k)
        Axes times √λ.
    mean_ : ndarray of shape (p,)
        Robust centre, in the units of the data.
    scale_ : ndarray of shape (p,) or None
    score_distances_, orthogonal_distances_ : ndarray of shape (n,)
        Distances of the rows of the fit; see :meth:`outlier_map`.
    score_cutoff_ : float
        √ of the 97.5% quantile of χ² with k degrees of freedom.
    orthogonal_cutoff_ : float
        (m + z s)^{3/2}, with m and s the median and the scaled MAD of the distances to the
        power 2/3, z the 97.5% quantile of the normal distribution; at least the rounding error
        of a distance.
    outliers_ : ndarray of bool of shape (n,)
        Rows beyond either cut-off: about 5% of normal rows if n is at least 50 k. With fewer rows,
        the axes follow the rows that determine them, and more of the others are beyond a cut-off:
        about 10% of normal rows at n = 20 k, and 25% at n = 5 k.
    n_components_, n_samples_, n_features_in_, n_support_ : int
        ``n_support_``: number h of rows whose covariance the MCD uses.
    feature_names_in_ : ndarray of shape (p,)
    id_column_ : str or None
        The column with the names of the rows, for a model made by the command line.

    Examples
    --------
    >>> import numpy as np
    >>> from princomp import RobustPCA
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((100, 4)) * [5, 3, 0.1, 0.1]
    >>> X[:20, 3] += 50
    >>> model = RobustPCA(2).fit(X)
    >>> print(np.abs(model.components_).round(), model.outliers_[:20].all())
    [[1. 0. 0. 0.]
     [0. 1. 0. 0.]] True
    """

    def __init__(
        self,
        n_components: int | float | None = None,
        *,
        support: float = 0.75,
        n_directions: int = 250,
        scale: str | npt.ArrayLike | None = None,
        random_state: core.RandomState = 0,
        component_names: str = "PC",
    ) -> None:
        self.n_components = n_components
        self.support = support
        self.n_directions = n_directions
        self.scale = scale
        self.random_state = random_state
        self.component_names = component_names

    def fit(self, X: Any, y: object = None) -> Self:
        """Fit to rows.

        Parameters
        ----------
        X : array, frame or path, of shape (n, p)
            Dense, without missing values.
        y : ignored

        Raises
        ------
        NotFiniteError, ParameterError, DataError
        ShapeError
            For fewer than two rows, or more components than half of the rows can determine.
        """
        check_robust_parameters(self)
        (data, columns, origin), schema = self._open_table(X, first=True)
        rows = dense_rows(data, columns, origin)
        fitted = self._fit(rows, columns)
        self._schema, self._fitted = schema, fitted

        def describe(names: list[str]) -> str | None:
            unequal = core.unequal_variances(robust_deviations(rows) ** 2, names)
            return unequal and f"robust {unequal}"

        if fitted.scale is None:
            self._warn_of_unequal_columns(X, describe, "scale='mad'")
        return self

    def _fit(self, data: FloatArray, columns: Names) -> RobustFit:
        n_components = component_count(self.n_components, *data.shape)
        rows = data.astype(np.float64)
        scale = column_divisors(self.scale, rows, columns)
        state = self.random_state
        rng = np.random.default_rng(
            linalg.seed_of(state) if isinstance(state, np.random.RandomState) else state
        )
        # Medians are subtracted before the division, which would round large numbers.
        medians = np.zeros(rows.shape[1]) if scale is None else np.median(rows, axis=0)
        with linalg.one_blas_thread():
            components = robpca(
                rows if scale is None else (rows - medians) / scale,
                n_components,
                support=float(self.support),
                n_directions=int(self.n_directions),
                rng=rng,
            )
        mean = components.centre if scale is None else medians + components.centre * scale
        # Rounding the centre moves all rows by up to this distance from the space.
        rounding = EPS * np.abs(mean if scale is None else mean / scale).max() * len(mean) ** 0.5
        fit = RobustFit(
            mean=mean,
            scale=scale,
            axes=components.axes * linalg.fix_signs(components.axes)[:, None],
            variances=components.variances,
            total=components.total,
            score_distances=np.empty(0),
            orthogonal_distances=np.empty(0),
            score_cutoff=float(np.sqrt(stats.chi2.ppf(LEVEL, max(len(components.axes), 1)))),
            orthogonal_cutoff=max(components.cutoff, float(rounding)),
            support=components.h,
            dtype=data.dtype,
        )
        score_distances, orthogonal_distances, *_ = fit.outlier_map(data)
        return replace(
            fit, score_distances=score_distances, orthogonal_distances=orthogonal_distances
        )

    def fit_transform(self, X: Any, y: object = None) -> FloatArray:
        """Fit, then compute scores of the same rows: exactly ``fit(X).transform(X)``.

        Raises
        ------
        ParameterError
            For an iterator, whose rows can be read only once.
        """
        base.refuse_reading_twice(X)
        return self.fit(X, y).transform(X)

    def transform(self, X: Any) -> FloatArray:
        """Compute scores of rows (n, k), in the precision of X."""
        model = self.__fitted_model__()
        return model.array_scores(dense_rows(*model.schema.open(X)))

    def inverse_transform(self, X: npt.ArrayLike) -> FloatArray:
        """Compute rows (n, p) in the units of the data from scores (n, k).

        Rows with NaN among their scores are NaN.

        Raises
        ------
        ShapeError
            If there are not k scores per row.
        NotFiniteError
            For an infinite score.
        """
        scores = core.open_scores(X, rows_of)  # not of engines
        check_dense(scores)
        return self.__fitted_model__().reconstruct(scores)

    def outlier_map(self, X: Any) -> OutlierMap:
        """Compute distances of rows within the space and from it, and compare with cut-offs.

        The cut-offs are those of the fit.

        Parameters
        ----------
        X : array, frame or path, of shape (n, p)

        Returns
        -------
        OutlierMap
            ``score_distances`` and ``orthogonal_distances``; ``outliers``, the rows beyond a
            cut-off; and ``kinds``: "regular", "good leverage" (far from the centre, within the
            space), "orthogonal" (off the space, near its centre) or "bad leverage" (both).
        """
        model = self.__fitted_model__()
        return model.result.outlier_map(dense_rows(*model.schema.open(X)))

    def _contents(self) -> tuple[Arrays, Document]:
        model = self.__fitted_model__()
        check_robust_parameters(self)
        parameters = {name: getattr(self, name) for name in RobustPCA._get_param_names()}
        return model_to_contents(model, parameters)

    @classmethod
    def _from_contents(cls, tensors: Arrays, document: Document) -> Self:
        """Restore a model from the contents of a file, all of which are checked."""
        result, parameters = model_from_contents(tensors, document)
        model = base.estimator_from_document(cls, parameters, len(result.mean), document)
        check_robust_parameters(model)
        model._fitted = result
        return model

    def __fitted_model__(self) -> RobustModel:
        return RobustModel(self._result, self._schema)

    _result: RobustFit

    # ---- fitted attributes -----------------------------------------------------------------

    components_ = _Attribute(lambda fit: fit.components, "Axes (k, p), of unit length.")
    explained_variance_ = _Attribute(lambda fit: fit.variances, "Robust variances (k,).")
    explained_variance_ratio_ = _Attribute(
        lambda fit: fit.rates, "Variances over the total variance (k,)."
    )
    total_variance_ = _Attribute(lambda fit: fit.total, "Sum of all variances.")
    loadings_ = _Attribute(lambda fit: fit.loadings, "Axes times √λ (p, k).")
    mean_ = _Attribute(lambda fit: fit.mean, "Robust centre (p,), in the units of the data.")
    scale_ = _Attribute(lambda fit: fit.scale, "Divisors of the columns (p,), or None.")
    score_distances_ = _Attribute(
        lambda fit: fit.score_distances,
        "Distances of the rows of the fit from the centre, within the space (n,).",
    )
    orthogonal_distances_ = _Attribute(
        lambda fit: fit.orthogonal_distances,
        "Distances of the rows of the fit from the space (n,).",
    )
    score_cutoff_ = _Attribute(
        lambda fit: fit.score_cutoff, "Score distances beyond it belong to outliers."
    )
    orthogonal_cutoff_ = _Attribute(
        lambda fit: fit.orthogonal_cutoff, "Orthogonal distances beyond it belong to outliers."
    )
    outliers_ = _Attribute(lambda fit: fit.outliers, "Rows of the fit (n,) beyond either cut-off.")
    n_support_ = _Attribute(
        lambda fit: fit.support, "Number h of rows whose covariance the MCD uses."
    )
    n_samples_ = _Attribute(lambda fit: fit.n_samples, "Number of rows of the fit.")
