"""Methods of a fitted PCA: rows from scores, likelihoods, filled cells, verification."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from princomp.core import FILL_METHODS, Certificate, Fitted, map_blocks, verify_table
from princomp.engines import DistributedRows
from princomp.errors import DataError, ParameterError
from princomp.io import frame_like, is_frame
from princomp.linalg import FloatArray
from princomp.summaries import Block, SampleWeight, in_range, is_sparse

if TYPE_CHECKING:
    from princomp.estimators.estimator import PCA


def inverse_transform(self: PCA, X: Any) -> Any:
    """Rows (n, p) in the units of the data, from scores (n, k).

    Rows with NaN among their scores are NaN.

    Raises
    ------
    ShapeError
        If there are not k scores per row.
    NotFiniteError
        For an infinite score in the host's memory.
    """
    return self.__fitted_model__().reconstructions(X, self.get_feature_names_out)


def score_samples(self: PCA, X: Any) -> FloatArray:
    """Log-likelihood of each row (n,) under probabilistic PCA (Tipping & Bishop 1999).

    Warns if a column that varies is left out, because its variance is below the resolution.
    """
    model = self.__fitted_model__()
    data, _, origin = model.open(X)
    model.warn_of_columns_left_out("densities", data.shape[1])

    def densities(rows: Block, first: int) -> FloatArray:
        model.check_finite(rows, data, first, origin)
        return model.result.log_likelihood(rows)

    return map_blocks(data, densities)


def score(self: PCA, X: Any, y: object = None) -> float:
    """Mean log-likelihood of the rows. If ``missing`` is not "error", incomplete rows are ignored.

    Raises
    ------
    DataError
        If there are no rows, or none is complete.
    """
    densities = self.score_samples(X)
    if not len(densities):
        raise DataError("there are no rows, so there is no score", hint="give at least one row")
    if self.missing != "error":
        # One incomplete row would make the score NaN, and GridSearchCV could not compare scores.
        densities = densities[~np.isnan(densities)]
        if not len(densities):
            raise DataError(
                "no row is complete, so there is no score", hint="score model.impute(X) instead"
            )
    return float(np.mean(densities))


def get_covariance(self: PCA) -> FloatArray:
    """Model covariance (p, p), in squared units; ``whiten`` does not change it.

    The components left out are replaced by noise with the same variance in all directions, so the
    variances of columns differ from those of the data (``var_``). A factor model has a noise
    variance for each column; the example needs ``center=True``, and ``scale`` (otherwise
    ``scale_`` is None).

    Returns
    -------
    ndarray of shape (p, p)

    Examples
    --------
    The covariance of a factor model:

    >>> import numpy as np
    >>> from princomp import PCA
    >>> X = np.array([[1.0, 20, 3], [2, 10, 3], [3, 40, 7], [4, 30, 7]])
    >>> model = PCA(1, scale="unit").fit(X)
    >>> B = model.loadings_ * model.scale_[:, np.newaxis]  # in the units of the rows
    >>> covariance = B @ B.T
    >>> np.fill_diagonal(covariance, model.var_)
    >>> print(np.round(covariance.diagonal() / model.get_covariance().diagonal(), 2))
    [1.07 1.07 0.89]
    """
    return _in_precision(self._result.covariance(), self._result)


def get_precision(self: PCA) -> FloatArray:
    """Inverse of the model covariance (p, p); its pseudo-inverse if it is singular."""
    model = self.__fitted_model__()
    model.warn_of_columns_left_out("entries of the precision", model.result.p)
    return _in_precision(model.result.precision(), model.result)


def _in_precision(matrix: FloatArray, fitted: Fitted) -> FloatArray:
    """Return a covariance in the dtype of the rows, or in float64 if that is too narrow for it."""
    possible = in_range(matrix.diagonal(), fitted.dtype)
    return matrix.astype(fitted.dtype, copy=False) if possible else matrix


def impute(self: PCA, X: Any) -> Any:
    """Fill the missing cells of rows by the components; all other cells stay the same.

    Parameters
    ----------
    X : array, frame or path, of shape (n, p)
        The rows of the fit, or new ones.

    Returns
    -------
    ndarray or frame of shape (n, p)
        In the precision and the units of X. If X is a frame in memory, a frame of the same kind,
        without columns that were not in the fit. A row without any known cell stays empty.

    Raises
    ------
    ParameterError
        For a model that was not fitted with ``missing="em"`` or ``"nipals"``, and for
        sparse rows.
    NotFiniteError
        For an infinite value.
    NotAvailableError
        For a model of a covariance whose mean or, for ``"em"``, number of rows is not known.
    """
    model = self.__fitted_model__()
    if model.missing not in FILL_METHODS:
        raise ParameterError(
            f"missing={model.missing!r} does not fill cells",
            place={"parameter": "missing"},
            hint="fit with missing='em' or missing='nipals' and a number of components",
        )
    data, _, origin = model.open(X)

    def fill(rows: Any, first: int) -> FloatArray:
        if is_sparse(rows):
            raise ParameterError(
                "impute takes dense rows", place={"parameter": "X"}, hint="give X.toarray()"
            )
        model.check_finite(rows, data, first, origin)
        return np.array(model.fill(rows))  # a copy also of complete rows

    filled = map_blocks(data, fill)
    if not isinstance(data, DistributedRows) and is_frame(X):
        return frame_like(X, filled, model.schema.names)
    return filled


def verify(self: PCA, X: Any, sample_weight: SampleWeight = None) -> Certificate:
    """Check the fit against its rows, with one more pass over them.

    ``certificate_`` measures residuals with the summary that the fit kept, so it cannot show
    what the summary lost. Here each block of rows is centred, scaled and multiplied with the
    components in float64 (on a device, in its precision).

    Parameters
    ----------
    X : array, sparse array, frame, path, list of paths or callable, of shape (n, p)
        The rows that the model was fitted to.
    sample_weight : array of shape (n,), optional
        Their weights.

    Returns
    -------
    Certificate
        With ``residuals`` measured with the rows: ‖Cv − λv‖ / λ₁ of each component. A warning
        says if they are so large that these are probably not the rows of the fit.

    Raises
    ------
    ShapeError
        If the number of rows, or the sum of their weights, is not that of the fit.
    NotFiniteError
    NotAvailableError
        If missing cells were filled, or the mean or the number of rows is not known.

    Examples
    --------
    >>> import numpy as np
    >>> from princomp import PCA
    >>> X = np.random.default_rng(0).normal(size=(1000, 5)) + 1e8
    >>> bool(PCA().fit(X).verify(X).residuals.max() < 1e-13)
    True
    """
    return verify_table(self.__fitted_model__(), X, sample_weight)
