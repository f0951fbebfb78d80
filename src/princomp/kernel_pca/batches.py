"""Methods of KernelPCA that add rows to a fit by images and remove them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, cast

from sklearn.utils.metaestimators import available_if

from princomp.core import FILL_METHODS, attach_weights, checked_weights
from princomp.errors import NotAvailableError
from princomp.estimators import check_other_model
from princomp.kernel_pca.fitting import check_enough_rows, fit_first_rows
from princomp.kernel_pca.images import ImageFit
from princomp.kernel_pca.parameters import KernelParameters
from princomp.summaries import SampleWeight

if TYPE_CHECKING:
    from princomp.kernel_pca.estimator import KernelPCA

K = TypeVar("K", bound="KernelPCA")
M = TypeVar("M")


def _can_add_rows(model: KernelPCA) -> bool:
    """Whether rows can be added: scikit-learn hides these methods otherwise."""
    if model.approximation is None:
        raise _no_sums_error("this method")
    return True


def _if_rows_can_be_added(method: M) -> M:
    return cast(M, available_if(_can_add_rows)(method))


@_if_rows_can_be_added
def partial_fit(self: K, X: Any, y: object = None, sample_weight: SampleWeight = None) -> K:
    """Add rows. The first call makes the feature map and the divisors of ``scale``.

    Landmarks are chosen from the rows of the first call: pass many rows there, or ``landmarks``
    as an array. Components are not computed here, but when an attribute is read.

    Parameters
    ----------
    X : as for ``fit``
    y : ignored
    sample_weight : array of shape (n,), optional

    Returns
    -------
    self

    Raises
    ------
    NotAvailableError
        Without an approximation: an exact fit has no sums that rows could be added to.
    ShapeError
        If the first rows are fewer than the landmarks.
    NotFiniteError, ParameterError
        Then no row was added.
    """
    parameters = _check_rows_can_be_added(self, "partial_fit")
    fitted = self.__dict__.get("_fitted")
    if fitted is not None and self._has_no_rows(X, sample_weight):
        return self
    X, sample_weight = attach_weights(X, sample_weight, by_chunks=True)
    rows, schema = self._open_table(X, first=fitted is None)
    data = rows[0]
    if fitted is None:
        check_enough_rows(data.shape[0], parameters)
        weights = checked_weights(sample_weight, data.shape[0])
        fitted, data = fit_first_rows(rows, weights, parameters)
    fitted = fitted.add(data, sample_weight, drop=parameters.drop)
    self._schema, self._fitted = schema, fitted
    return self


@_if_rows_can_be_added
def forget(self: K, X: Any, y: object = None, sample_weight: SampleWeight = None) -> K:
    """Remove rows that were added before; see :meth:`princomp.PCA.forget`.

    The feature map does not change.

    Raises
    ------
    NotAvailableError
        Without an approximation.
    ShapeError
        If more rows are removed than there are.
    """
    _check_rows_can_be_added(self, "forget")
    fitted = _image_fit(self, "forget")
    if self._has_no_rows(X, sample_weight):
        return self
    X, sample_weight = attach_weights(X, sample_weight, by_chunks=True)
    rows, schema = self._open_table(X, first=False)
    fitted = fitted.remove(rows[0], sample_weight, drop=self.missing == "drop")
    self._schema, self._fitted = schema, fitted
    return self


@_if_rows_can_be_added
def merge(self: K, other: KernelPCA) -> K:
    """Add all rows of another fit with the same feature map.

    Parameters
    ----------
    other : KernelPCA
        Made with the same landmarks (``landmarks=model.landmarks_``), or the same random
        features; it is not changed.

    Raises
    ------
    ParameterError
        If the feature maps differ: the coordinates of their images are then not comparable.
    NotAvailableError
        Without an approximation.
    """
    from princomp.kernel_pca.estimator import KernelPCA

    check_other_model(other, KernelPCA)
    _check_rows_can_be_added(self, "merge")
    mine, theirs = _image_fit(self, "merge"), _image_fit(other, "merge")
    self._schema.check_same(other._schema)
    self._fitted = mine.merge(theirs)
    return self


def _check_rows_can_be_added(model: KernelPCA, method: str) -> KernelParameters:
    """Return the parameters of a model, or raise if rows cannot be added to it."""
    parameters = KernelParameters.of(model)
    if "_fitted" in model.__dict__:
        _image_fit(model, method)
    if parameters.missing in FILL_METHODS:
        raise NotAvailableError(
            f"missing={parameters.missing!r} fills cells only where all rows are given to fit "
            "at once",
            place={"parameter": "missing"},
            hint="missing='drop' leaves such rows out as they come",
        )
    return parameters


def _image_fit(model: KernelPCA, method: str) -> ImageFit:
    if not isinstance(model._result, ImageFit):
        raise _no_sums_error(method)
    return model._result


def _no_sums_error(method: str) -> NotAvailableError:
    return NotAvailableError(
        f"{method} needs sums of rows, and an exact kernel PCA keeps the rows themselves",
        place={"parameter": "approximation"},
        hint="approximation='nystrom' or 'features' sums the images of rows",
    )
