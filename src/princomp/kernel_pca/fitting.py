"""Fits of a KernelPCA: exact ones, and those by images, to which rows can be added.

``partial_fit``, ``forget`` and ``merge`` are methods of :class:`KernelPCA`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from sklearn.utils.metaestimators import available_if

from princomp.core import (
    FILL_METHODS,
    TableSchema,
    attach_weights,
    checked_weights,
    warn_of_small_weights,
)
from princomp.engines import ProgressCallback
from princomp.errors import NotAvailableError, ShapeError, counted
from princomp.estimators import PCA, check_other_model
from princomp.io import RowData, Rows, Source, is_frame
from princomp.kernel_pca.exact import ExactFit, solve_matrix, solve_rows
from princomp.kernel_pca.feature_maps import mapped, prepare_map
from princomp.kernel_pca.images import ImageFit
from princomp.kernel_pca.parameters import KernelParameters, is_precomputed
from princomp.kernel_pca.rows import (
    check_counted,
    complete_rows,
    imputer_for,
    in_memory,
    rows_with_weight,
    square_matrix,
    with_divisors,
)
from princomp.summaries import SampleWeight, Weights

if TYPE_CHECKING:
    from princomp.kernel_pca.estimator import KernelPCA

K = TypeVar("K", bound="KernelPCA")
M = TypeVar("M")


def fit_exact(rows: Rows, sample_weight: SampleWeight, parameters: KernelParameters) -> ExactFit:
    """Fit all rows, or a kernel matrix, in memory."""
    source, columns, origin = rows
    data = in_memory(source, parameters.limit)
    n = data.shape[0]
    weights = checked_weights(sample_weight, n)
    if is_precomputed(parameters):
        matrix = square_matrix((data, columns, origin), weights)
        rows_with_weight(matrix, weights)  # refuses weights that are all zero
        fitted = replace(solve_matrix(matrix, weights, parameters), matrix=matrix)
    else:
        imputer = imputer_for(parameters, data, weights)
        table = data, columns, origin
        data, weights, dropped = complete_rows(table, weights, parameters.missing, imputer)
        if parameters.copy_X and data is source:
            data = data.copy()  # the model keeps the rows, and the caller may change the originals
        parameters = with_divisors(parameters, (data, columns, origin), weights)
        fitted = solve_rows(data, weights, parameters)
        complete = data.shape[0] == n
        fitted = replace(fitted, dropped=dropped, complete=complete, imputer=imputer)
    if weights is not None and fitted.imputer is None:  # the fit of an imputer has warned
        warn_of_small_weights(float(weights.sum()), int(np.count_nonzero(weights)))
    return fitted.without_zero_components() if parameters.remove_zero_eig else fitted


def fit_images(
    rows: Rows,
    sample_weight: SampleWeight,
    parameters: KernelParameters,
    progress: ProgressCallback | None,
) -> ImageFit:
    """Make a feature map and fit a PCA of images."""
    data, columns, origin = rows
    weights, imputer = checked_weights(sample_weight, data.shape[0]), None
    if parameters.missing in FILL_METHODS:
        data = in_memory(data, parameters.limit)
        imputer = imputer_for(parameters, data, weights)
        table = data, columns, origin
        data, weights, _ = complete_rows(table, weights, parameters.missing, imputer)
    elif not isinstance(data, Source):
        # A row of weight zero must not become a landmark.
        kept, positive = rows_with_weight(data, weights)
        if kept.shape[0] < data.shape[0]:  # later checks count the rows that are left
            check_counted(rows, weights, parameters.missing)
        data, weights = kept, positive
    fit, data = _fit_first_rows((data, columns, origin), weights, parameters)
    images = mapped(data, fit.map, allow_missing=parameters.drop)
    fit.images.fit(images, sample_weight=weights, progress=progress)
    return replace(fit, imputer=imputer)


def _fit_first_rows(
    rows: Rows, weights: Weights, parameters: KernelParameters
) -> tuple[ImageFit, RowData]:
    """Make a feature map and a PCA that is not fitted yet; also return the rows to fit it to."""
    data, columns, _ = rows
    if columns is not None and is_frame(parameters.landmarks):
        # Compare the names: by position, columns in another order would be mixed up.
        schema = TableSchema(data.shape[1], columns, owner="KernelPCA")
        parameters = parameters._replace(landmarks=schema.open(parameters.landmarks)[0])
    parameters = with_divisors(parameters.seeded(), rows, weights)
    prepared = prepare_map(data, parameters, weights)
    k, n, width = parameters.n_components, data.shape[0], prepared.map.width
    if isinstance(k, int) and k > width and (n is None or n > width):
        raise ShapeError(
            f"n_components={k} is more than the {counted(width, 'coordinate')} of the map",
            place={"parameter": "n_components"},
            hint="ask for fewer components, or raise n_landmarks if there are more distinct rows",
        )
    model = PCA(
        parameters.n_components,
        tol=parameters.tol,
        missing="drop" if parameters.drop else "error",
        memory_limit=parameters.memory_limit,
        random_state=parameters.seed,
    )
    fit = ImageFit(
        prepared.map,
        model,
        prepared.error,
        prepared.notes,
        passes=_passes_before(data, parameters),
        nonzero=parameters.n_components is None or parameters.remove_zero_eig,
    )
    return fit, prepared.rows


def _passes_before(rows: RowData, parameters: KernelParameters) -> int:
    """Count the passes over the rows that the map and its divisors take."""
    if isinstance(rows, Source) and not rows.repeatable:
        return 0  # the first rows are kept, and not read again
    auto, given = parameters.n_landmarks == "auto", not isinstance(parameters.landmarks, str)
    sampled = auto if parameters.approximation == "features" else not given
    return isinstance(parameters.scale, str) + parameters.has_median_gamma + sampled


# ---- rows that are added and removed -----------------------------------------------------


def _can_add_rows(model: KernelPCA) -> bool:
    """Whether rows can be added: scikit-learn hides these methods otherwise."""
    if model.approximation is None:
        raise _no_sums_error()
    return True


_if_rows_can_be_added: Callable[[M], M] = available_if(_can_add_rows)


@_if_rows_can_be_added
def partial_fit(self: K, X: Any, y: object = None, sample_weight: SampleWeight = None) -> K:
    """Add rows. The first call makes the feature map and the divisors of ``scale``.

    Landmarks are chosen from the rows of the first call: pass many rows there, or ``landmarks``
    as an array. With ``n_landmarks="auto"``, a warning says if they leave out more than a tenth
    of the variance of later rows. Components are not computed here, but when an attribute is read.

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
    AttributeError
        Without an approximation: an exact fit has no sums that rows could be added to, so the
        method does not exist, as in scikit-learn.
    NotAvailableError
        If the approximation was set after an exact fit, or cells are to be filled.
    ShapeError
        If the first rows are fewer than the landmarks.
    NotFiniteError, ParameterError
        Then no row was added.
    """
    parameters = _check_rows_can_be_added(self)
    fitted = self.__dict__.get("_fitted")
    if fitted is not None and self._has_no_rows(X, sample_weight):
        return self
    X, sample_weight = attach_weights(X, sample_weight, by_chunks=True)
    rows, schema = self._open_table(X, first=fitted is None)
    data = rows[0]
    if fitted is None:
        _check_enough_rows(data.shape[0], parameters)
        weights = checked_weights(sample_weight, data.shape[0])
        fitted, data = _fit_first_rows(rows, weights, parameters)
    fitted = fitted.add(data, sample_weight, drop=parameters.drop)
    self._schema, self._fitted = schema, fitted
    return self


@_if_rows_can_be_added
def forget(self: K, X: Any, y: object = None, sample_weight: SampleWeight = None) -> K:
    """Remove rows that were added before; see :meth:`princomp.PCA.forget`.

    The feature map does not change.

    Raises
    ------
    AttributeError, NotAvailableError
        Without an approximation; see ``partial_fit``.
    ShapeError
        If more rows are removed than there are.
    """
    _check_rows_can_be_added(self)
    fitted = _image_fit(self)
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
    AttributeError, NotAvailableError
        Without an approximation; see ``partial_fit``.
    """
    from princomp.kernel_pca.estimator import KernelPCA

    check_other_model(other, KernelPCA)
    _check_rows_can_be_added(self)
    mine, theirs = _image_fit(self), _image_fit(other)
    self._schema, self._fitted = self._schema.merged(other._schema), mine.merge(theirs)
    return self


def _check_enough_rows(n: int | None, parameters: KernelParameters) -> None:
    """Raise if the first rows are fewer than the landmarks to choose from them.

    Raises
    ------
    ShapeError
    """
    count = parameters.n_landmarks
    chosen = parameters.approximation == "nystrom" and isinstance(parameters.landmarks, str)
    if chosen and n is not None and isinstance(count, int) and n < count:
        raise ShapeError(
            f"the first {n} rows are fewer than n_landmarks={count}, which are chosen from them",
            place={"parameter": "n_landmarks"},
            hint="pass more rows at first, fewer landmarks, or landmarks as an array",
        )


def _check_rows_can_be_added(model: KernelPCA) -> KernelParameters:
    """Return the parameters of a model, or raise if rows cannot be added to it."""
    parameters = KernelParameters.of(model)
    if "_fitted" in model.__dict__:
        _image_fit(model)
    if parameters.missing in FILL_METHODS:
        raise NotAvailableError(
            f"missing={parameters.missing!r} fills cells only where all rows are given to fit "
            "at once",
            place={"parameter": "missing"},
            hint="missing='drop' leaves such rows out as they come",
        )
    return parameters


def _image_fit(model: KernelPCA) -> ImageFit:
    if not isinstance(model._result, ImageFit):
        raise _no_sums_error()
    return model._result


def _no_sums_error() -> NotAvailableError:
    return NotAvailableError(
        "this method needs sums of rows, and an exact kernel PCA keeps the rows themselves",
        place={"parameter": "approximation"},
        hint="approximation='nystrom' or 'features' sums the images of rows",
    )
