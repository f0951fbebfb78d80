"""Errors of rows under a fitted KernelPCA: in the feature space, and of their pre-images."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from princomp.errors import NotAvailableError, NotFiniteError, ParameterError, ShapeError, warn
from princomp.kernel_pca.scoring import KernelFit, KernelPCAModel
from princomp.linalg import FloatArray, as_floats
from princomp.summaries import is_sparse

if TYPE_CHECKING:
    from princomp.kernel_pca.estimator import KernelPCA

# Squared lengths that are negative by up to this share of the total variance, or of the squared
# length before the projection, count as rounding.
_ALLOWED_NEGATIVE = 1e-4


def reconstruction_error(
    self: KernelPCA, X: Any, *, per_row: bool = False, diagonal: npt.ArrayLike | None = None
) -> float | FloatArray:
    """Compute the mean of ‖φ(x) − Pφ(x)‖² over rows, with P the projection on the axes.

    The result is in squared units of the feature space, for the linear kernel in squared units
    of the data. Use it to compare numbers of components of one kernel, not to compare kernels:
    each has its own units. ``score`` has no units: it divides by the total. With random features,
    φ is their map, and what it leaves out does not count.

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
        NaN for rows that ``missing="drop"`` leaves out; the mean is over the others. NaN, with a
        warning, for rows with ‖φ(x)‖² < ‖Pφ(x)‖², which a kernel that is not positive
        semi-definite may have; then the mean is NaN, too.

    Raises
    ------
    NotAvailableError
        For a precomputed kernel without ``diagonal``.
    NotFiniteError, ParameterError, ShapeError, ColumnError
    """
    model = self.__fitted_model__()
    residuals, totals = _projection_residuals(model, X, diagonal)
    negative = _find_negative(model.result, residuals, totals)
    residuals = np.maximum(residuals, 0.0)
    if per_row:
        return np.where(negative, np.nan, residuals)
    return float("nan") if negative.any() else _known_mean(residuals)


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
    parts: list[FloatArray] = []
    for rows, scores, _ in self.__fitted_model__().scored_blocks(X):
        scored = np.isfinite(scores).all(axis=1)
        dense = np.asarray(rows.toarray() if is_sparse(rows) else rows, dtype=np.float64)
        # Σ(x − x̂)² over the known cells of each row, and their number; NaN without scores.
        sums = np.full((2, len(dense)), np.nan)
        differences = dense[scored] - self.inverse_transform(scores[scored])
        cells = np.isfinite(differences)
        sums[0, scored] = (np.where(cells, differences, 0.0) ** 2).sum(axis=1)
        sums[1, scored] = cells.sum(axis=1)
        parts.append(sums)
    squares, counts = np.concatenate(parts, axis=1)
    if per_row:
        return np.sqrt(squares / counts)
    return float(np.sqrt(_known_mean(squares) / _known_mean(counts)))


def score(self: KernelPCA, X: Any, y: object = None) -> float:
    """Return a measure of fit for parameter searches; larger values are better.

    With ``pre_image``, it is −``pre_image_error(X)``. Otherwise it is the share of the variance
    of the rows in the feature space, about the mean of the fit, that the components explain:
    1 − Σ‖φ(x) − Pφ(x)‖² / Σ‖φ(x) − mean‖². This share increases with every component, and is
    close to 1 for any kernel that is smooth enough, so it cannot be used to choose either.
    It is 0 if the kernel has no variance, and NaN, with a warning, where ``reconstruction_error``
    is.

    Raises
    ------
    NotAvailableError
        For a precomputed kernel, which does not contain the kernel of new rows with themselves.
    """
    if self.pre_image is not None or self.fit_inverse_transform:
        return -float(self.pre_image_error(X))
    model = self.__fitted_model__()
    residuals, totals = _projection_residuals(model, X, None)
    if _find_negative(model.result, residuals, totals).any():
        return float("nan")
    return 1.0 - unexplained_share(residuals[~np.isnan(residuals)], _known_mean(totals))


def unexplained_share(residuals: FloatArray, total: float) -> float:
    """Mean of residuals over a mean total; 1 without variance, since nothing is explained."""
    return float(np.maximum(residuals, 0.0).mean()) / total if total > 0 else 1.0


def are_negative(fit: KernelFit, residuals: FloatArray, totals: FloatArray) -> NDArray[np.bool_]:
    """Whether residuals ‖φ − Pφ‖² (n,) are negative by more than rounding of totals ‖φ − mean‖².

    Only kernels that are not positive semi-definite have such rows, whose error is undefined.
    """
    spectrum = fit.spectrum
    if fit.kernel.positive or not spectrum.variances[: fit.k].any():
        return np.zeros(len(residuals), dtype=bool)
    first = float(spectrum.variances[0])
    allowed = (
        _ALLOWED_NEGATIVE * np.maximum(totals, spectrum.total)
        + 10 * spectrum.roundoff * first * fit.divisor
    )
    return residuals < -allowed


def _find_negative(fit: KernelFit, residuals: FloatArray, totals: FloatArray) -> NDArray[np.bool_]:
    """Find residuals that are negative by more than rounding, with a warning."""
    negative = are_negative(fit, residuals, totals)
    if negative.any():
        warn(
            f"{int(negative.sum()):,} of {len(residuals):,} rows have a projection that is longer "
            f"than their image: kernel {fit.kernel.name!r} is not positive semi-definite with "
            "these parameters. Their reconstruction error is NaN, and so are the mean and score. "
            "Use another kernel, other parameters or fewer components"
        )
    return negative


def _projection_residuals(
    model: KernelPCAModel, X: object, diagonal: npt.ArrayLike | None
) -> tuple[FloatArray, FloatArray]:
    """Compute ‖φ − Pφ‖² and ‖φ − mean‖² of each row (n,), NaN for rows without scores.

    The first may be negative, by rounding or as ``are_negative`` says.

    Raises
    ------
    NotAvailableError
        For a precomputed kernel without ``diagonal``.
    ParameterError, ShapeError
    """
    fit = model.result
    kernel_diagonal = _checked_diagonal(fit, diagonal)
    residuals, totals, stop = [np.empty(0)], [np.empty(0)], 0
    for block in model.scored_blocks(X):
        scores = block.scores.astype(np.float64)
        start, stop = stop, stop + len(scores)
        block_diagonal = None if kernel_diagonal is None else kernel_diagonal[start:stop]
        if block_diagonal is not None and len(block_diagonal) < len(scores):
            break
        squares = fit.squared_norms(block.filled, block_diagonal)
        squares = np.where(np.isnan(scores).any(axis=1), np.nan, squares)
        totals.append(np.maximum(squares, 0.0))
        residuals.append(squares - np.einsum("ij,ij->i", scores, scores))
    if kernel_diagonal is not None and len(kernel_diagonal) != stop:
        raise ShapeError(
            f"diagonal has {len(kernel_diagonal)} entries, and there are {stop} rows or more",
            place={"parameter": "diagonal"},
            hint="pass the kernel of each row with itself",
        )
    return np.concatenate(residuals), np.concatenate(totals)


def _known_mean(values: FloatArray) -> float:
    """Compute the mean of the values that are not NaN.

    Raises
    ------
    NotFiniteError
        If there is none.
    """
    known = values[~np.isnan(values)]
    if not known.size:
        raise NotFiniteError(
            "no row of X is without missing values",
            place={"parameter": "X"},
            hint="pass rows without NaN",
        )
    return float(known.mean())


def _checked_diagonal(fit: KernelFit, diagonal: npt.ArrayLike | None) -> FloatArray | None:
    """Check ``diagonal``, which is required for a precomputed kernel and refused for others."""
    precomputed = fit.kernel.name == "precomputed"
    if precomputed and diagonal is None:
        raise NotAvailableError(
            "the error of a row needs its kernel with itself, and a precomputed kernel has only "
            "that with the rows of the fit",
            place={"parameter": "diagonal"},
            hint="use reconstruction_error(X, diagonal=…), or pass rows and the name of a kernel; "
            "to compare parameters, use tune(K, grid, model=KernelPCA(kernel='precomputed'), "
            "by='reconstruction')",
        )
    if diagonal is None:
        return None
    if not precomputed:
        raise ParameterError(
            "diagonal is only for kernel='precomputed'",
            place={"parameter": "diagonal"},
            hint=f"leave it out: kernel {fit.kernel.name!r} computes it",
        )
    values = np.ravel(as_floats(diagonal, "diagonal"))
    if not np.isfinite(values).all():
        entry = int(np.argmin(np.isfinite(values)))
        raise NotFiniteError(
            f"entry {entry} of diagonal is {values[entry]}",
            place={"parameter": "diagonal", "row": entry},
            hint="pass the kernel of each row with itself",
        )
    return values
