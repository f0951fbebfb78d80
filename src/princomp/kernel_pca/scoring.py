"""What a fitted KernelPCA computes: scores, pre-images and errors.

Laws of fits, exact or by images:

- A fit is immutable: adding or removing rows returns another fit.
- The scores of a row depend on this row only: they project its centred image on the axes.
- The scores of the rows of the fit have mean 0 and the variances of ``spectrum``.
- For each row, ‖``scores``‖² is at most ``squared_norms``, up to rounding.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeAlias

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import NotFittedError

from princomp.core import FittedModel, blocks_of, open_scores
from princomp.engines import DistributedRows
from princomp.errors import (
    NotAvailableError,
    NotFiniteError,
    ParameterError,
    ShapeError,
    row_words,
    scores_overflow,
)
from princomp.estimators import PCA
from princomp.io import Origin, RowArray, RowData
from princomp.kernel_pca.exact import ExactFit
from princomp.kernel_pca.images import ImageFit
from princomp.kernel_pca.parameters import KernelParameters
from princomp.kernel_pca.pre_images.methods import pre_images
from princomp.kernel_pca.pre_images.pre_image import PreImages
from princomp.kernel_pca.pre_images.ridge import Ridge
from princomp.kernel_pca.rows import fill_cells
from princomp.linalg import FloatArray, as_floats
from princomp.solvers import Spectrum
from princomp.summaries import is_sparse

if TYPE_CHECKING:
    from princomp.kernel_pca.estimator import KernelPCA

KernelFit: TypeAlias = ExactFit | ImageFit

# Rows that are scored together.
_BLOCK_ROWS = 8192


class ScoredRows(NamedTuple):
    """Rows (n, p) as they are, their scores (n, k), and the rows with missing cells filled."""

    rows: RowArray
    scores: FloatArray
    filled: RowArray


@dataclass(frozen=True, eq=False)
class KernelPCAModel(FittedModel[KernelFit]):
    """A fitted kernel PCA that computes scores of rows from any source.

    Parameters
    ----------
    missing : str
        The parameter of the estimator.
    """

    missing: str = "error"

    @property
    def imputer(self) -> PCA | None:
        """The linear PCA that fills missing cells, which the command line reports."""
        return self.result.imputer

    def block_scores(self, rows: RowArray) -> FloatArray:
        """Compute scores of rows in memory; NaN if cells are missing and nothing fills them."""
        return self._score(rows, 0).scores

    def chunk_scores(
        self, rows: RowArray, data: RowData, first: int, origin: Origin | None = None
    ) -> FloatArray:
        """Compute scores of some rows of ``data``; ``first`` is the number of the first one."""
        # Check first: the kernel of a row with NaN may be a number, which would hide the NaN.
        self.check_finite(rows, data, first, origin)
        return self._score(rows, first).scores

    def engine_scores(self, data: DistributedRows) -> Any:
        """Compute scores on the engine that holds the rows."""
        return self.result.scores_on_engine(data, drop=self.missing == "drop")

    def for_scoring(self) -> Self:
        """Return a copy with only what scores need."""
        return replace(self, result=self.result.for_scoring())

    def scored_blocks(self, X: Any) -> Iterator[ScoredRows]:
        """Yield blocks of rows with their scores."""
        data, _, origin = self.schema.open(X)
        first = 0
        for block in blocks_of(data):
            self.check_finite(block, data, first, origin)
            for start in range(0, block.shape[0], _BLOCK_ROWS):
                yield self._score(block[start : start + _BLOCK_ROWS], first + start)
            first += block.shape[0]

    def _score(self, rows: RowArray, first: int) -> ScoredRows:
        """Compute scores of rows without infinity; ``first`` is the number of the first one.

        Raises
        ------
        NotFiniteError
            If the scores of a row overflow.
        """
        filled, unknown = fill_cells(rows, self.missing, self.imputer)
        with np.errstate(over="ignore", invalid="ignore"):  # checked below
            scores = self.result.scores(filled)
        finite = np.asarray(np.isfinite(scores).all(axis=1))
        if unknown is not None:
            scores[unknown], finite[unknown] = np.nan, True
        if not finite.all():
            raise scores_overflow(first + int(np.argmin(finite)), scores.dtype)
        return ScoredRows(rows, scores, filled)


# ---- pre-images --------------------------------------------------------------------------


class Inverse(NamedTuple):
    """Pre-images, and the fit and parameters that they were computed from."""

    spectrum: Spectrum
    settings: tuple[str | None, int, float]
    pre_images: PreImages

    def belongs_to(self, fit: KernelFit, parameters: KernelParameters) -> bool:
        """Whether these are the pre-images of this fit with these parameters."""
        return self.spectrum is fit.spectrum and self.settings == parameters.pre_image_settings


def inverse_transform(self: KernelPCA, X: Any) -> FloatArray:
    """Compute rows (n, p) in the units of the data from scores (n, k).

    Scores of NaN, such as those of rows that ``missing="drop"`` leaves out, give rows of NaN.

    Raises
    ------
    NotFittedError
        Without ``pre_image``.
    NotAvailableError
        For random features, which keep no rows.
    ShapeError
    NotFiniteError
        For an infinite score, and if a pre-image overflows.
    """
    model = self.__fitted_model__()  # raises before fit
    parameters = KernelParameters.of(self)
    if parameters.pre_image is None:
        raise NotFittedError(
            "The fit_inverse_transform parameter was not set to True when instantiating, nor "
            "pre_image to 'ridge', 'fixed_point' or 'distance': there is no inverse."
        )
    self._inverse = inverse_of(self._result, parameters, self._inverse)
    rows = self._inverse.pre_images.rows
    parts, first = [], 0
    for block in blocks_of(open_scores(X)):
        scores = block.toarray() if is_sparse(block) else block
        model.check_scores(scores, first)
        known = np.flatnonzero(~np.isnan(scores).any(axis=1))
        with np.errstate(over="ignore", invalid="ignore"):  # checked below
            found = rows(scores[known])
        finite = np.isfinite(found).all(axis=1)
        if not finite.all():
            row = first + int(known[np.argmin(finite)])
            raise NotFiniteError(
                f"the pre-image of the scores in {row_words(row)} overflows {found.dtype}",
                place={"row": row},
                hint="pass scores of about the size of those of the fit",
            )
        part = np.full((len(scores), found.shape[1]), np.nan, dtype=found.dtype)
        part[known] = found
        parts.append(part)
        first += len(part)
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def inverse_of(fit: KernelFit, parameters: KernelParameters, previous: Inverse | None) -> Inverse:
    """Return the pre-images of a fit: ``previous`` if they belong to it, otherwise new ones.

    Raises
    ------
    NotAvailableError
        For random features.
    """
    if previous is not None and previous.belongs_to(fit, parameters):
        return previous
    if fit.expansion is None:
        raise NotAvailableError(
            "random features keep no rows, and pre-images are computed from rows",
            place={"parameter": "pre_image"},
            hint="use approximation='nystrom', whose landmarks are rows",
        )
    weights = None if fit.roots is None else fit.roots[:, 0] ** 2
    computed = pre_images(fit.expansion, parameters, scores=fit.training_scores, weights=weights)
    return Inverse(fit.spectrum, parameters.pre_image_settings, computed)


def learned_pre_image(model: KernelPCA, attribute: str) -> Ridge:
    """Return the learned pre-image, to which ``attribute`` belongs.

    Raises
    ------
    NotAvailableError
        If no pre-image was learned.
    """
    fitted, parameters = model._result, KernelParameters.of(model)
    if parameters.pre_image == "ridge":
        model._inverse = inverse_of(fitted, parameters, model._inverse)
        if isinstance(model._inverse.pre_images, Ridge):
            return model._inverse.pre_images
    raise NotAvailableError(
        f"{attribute} belongs to the learned pre-image, and none was learned",
        hint="fit_inverse_transform=True, and a kernel that is not linear",
    )


# ---- errors ------------------------------------------------------------------------------


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
    residuals, _ = _projection_residuals(self.__fitted_model__(), X, diagonal)
    return residuals if per_row else _known_mean(residuals)


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

    Raises
    ------
    NotAvailableError
        For a precomputed kernel, which does not contain the kernel of new rows with themselves.
    """
    if self.pre_image is not None or self.fit_inverse_transform:
        return -float(self.pre_image_error(X))
    found = _projection_residuals(self.__fitted_model__(), X, None)
    residual, total = map(_known_mean, found)
    return 1.0 - residual / total if total > 0 else float(residual == 0)


def _projection_residuals(
    model: KernelPCAModel, X: Any, diagonal: npt.ArrayLike | None
) -> tuple[FloatArray, FloatArray]:
    """Compute ‖φ − Pφ‖² and ‖φ − mean‖² of each row (n,), NaN for rows without scores.

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
        residuals.append(np.maximum(squares - np.einsum("ij,ij->i", scores, scores), 0.0))
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
