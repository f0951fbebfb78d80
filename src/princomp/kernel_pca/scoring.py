"""Methods of KernelPCA that use a fit: pre-images and errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import NotFittedError

from princomp.core import blocks_of, open_rows
from princomp.errors import NotAvailableError
from princomp.kernel_pca.evaluation import known_mean, pre_image_residuals, projection_residuals
from princomp.kernel_pca.inverse import inverse_of
from princomp.kernel_pca.pre_images import Ridge
from princomp.linalg import FloatArray
from princomp.summaries import is_sparse

if TYPE_CHECKING:
    from princomp.kernel_pca.estimator import KernelPCA


def inverse_transform(self: KernelPCA, X: Any) -> FloatArray:
    """Compute rows (n, p) in the units of the data from scores (n, k).

    Raises
    ------
    NotFittedError
        Without ``pre_image``.
    NotAvailableError
        For random features, which keep no rows.
    ShapeError, NotFiniteError
    """
    self._result  # noqa: B018  (raises before fit)
    parameters = self._parameters()
    if parameters.pre_image is None:
        raise NotFittedError(
            "The fit_inverse_transform parameter was not set to True when instantiating, nor "
            "pre_image to 'ridge', 'fixed_point' or 'distance': there is no inverse."
        )
    self._inverse = inverse_of(self._result, parameters, self._inverse)
    rows = self._inverse.pre_images.rows
    scores = X if isinstance(X, np.ndarray) else open_rows(X)[0]
    parts = [rows(block.toarray() if is_sparse(block) else block) for block in blocks_of(scores)]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def learned_pre_image(model: KernelPCA, attribute: str) -> Ridge:
    """Return the learned pre-image, to which ``attribute`` belongs.

    Raises
    ------
    NotAvailableError
        If no pre-image was learned.
    """
    fitted, parameters = model._result, model._parameters()
    if parameters.pre_image == "ridge":
        model._inverse = inverse_of(fitted, parameters, model._inverse)
        if isinstance(model._inverse.pre_images, Ridge):
            return model._inverse.pre_images
    raise NotAvailableError(
        f"{attribute} belongs to the learned pre-image, and none was learned",
        hint="fit_inverse_transform=True, and a kernel that is not linear",
    )


def reconstruction_error(
    self: KernelPCA, X: Any, *, per_row: bool = False, diagonal: npt.ArrayLike | None = None
) -> float | FloatArray:
    """Compute the mean of ‖φ(x) − Pφ(x)‖² over rows, with P the projection on the axes.

    The result is in squared units of the feature space, for the linear kernel in squared units
    of the data. Use it to compare numbers of components of one kernel, not to compare kernels:
    each has its own units. ``score`` has no units: it divides by the total.

    Parameters
    ----------
    X : array, sparse array, frame or path, of shape (n, p)
        With ``kernel="precomputed"`` the kernel of each row with each row of the fit.
    per_row : bool, default=False
        Return the error of each row (n,) instead of their mean.
    diagonal : array of shape (n,), optional
        Kernel of each row with itself, for a precomputed kernel only.

    Returns
    -------
    float or ndarray of shape (n,)
        NaN for rows that ``missing="drop"`` leaves out; the mean is over the others.

    Raises
    ------
    NotAvailableError
        For a precomputed kernel without ``diagonal``.
    NotFiniteError, ParameterError, ShapeError, ColumnError
    """
    model = self.__fitted_model__()
    residuals, _ = projection_residuals(model.result, model.scored_blocks(X), diagonal)
    return residuals if per_row else known_mean(residuals)


def pre_image_error(self: KernelPCA, X: Any, *, per_row: bool = False) -> float | FloatArray:
    """Compute the root mean squared difference between rows and their pre-images.

    The mean is over rows and columns, in the units of the data, without missing cells.

    Parameters
    ----------
    X : array, sparse array, frame or path, of shape (n, p)
    per_row : bool, default=False
        Return the error of each row (n,) instead.

    Raises
    ------
    NotFittedError
        Without ``pre_image``.
    NotFiniteError, ShapeError, ColumnError
    """
    blocks = self.__fitted_model__().scored_blocks(X)
    squares, counts = pre_image_residuals(blocks, self.inverse_transform)
    if per_row:
        return np.sqrt(squares / counts)
    return float(np.sqrt(known_mean(squares) / known_mean(counts)))


def score(self: KernelPCA, X: Any, y: object = None) -> float:
    """Return a measure of fit for parameter searches; larger values are better.

    With ``pre_image``, it is −``pre_image_error(X)``. Otherwise it is the share of the variance
    of the rows in the feature space, about the mean of the fit, that the components explain:
    1 − Σ‖φ(x) − Pφ(x)‖² / Σ‖φ(x) − mean‖². This share increases with every component, and is
    close to 1 for any kernel that is smooth enough, so it cannot be used to choose either.

    Raises
    ------
    NotAvailableError
        For a precomputed kernel, which does not contain the kernel of new rows with themselves.
    """
    if self.pre_image is not None or self.fit_inverse_transform:
        return -float(self.pre_image_error(X))
    model = self.__fitted_model__()
    found = projection_residuals(model.result, model.scored_blocks(X), None)
    residual, total = map(known_mean, found)
    return 1.0 - residual / total if total > 0 else float(residual == 0)
