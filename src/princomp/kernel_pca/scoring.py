"""What a fitted KernelPCA computes: scores and pre-images.

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
from sklearn.exceptions import NotFittedError

from princomp.core import FittedModel, blocks_of, open_scores
from princomp.engines import DistributedRows
from princomp.errors import NotAvailableError, NotFiniteError, row_words, scores_overflow, warn
from princomp.estimators import PCA
from princomp.io import Origin, RowArray, RowData
from princomp.kernel_pca.exact import ExactFit
from princomp.kernel_pca.images import ImageFit
from princomp.kernel_pca.parameters import KernelParameters
from princomp.kernel_pca.pre_images.methods import pre_images
from princomp.kernel_pca.pre_images.pre_image import PreImages
from princomp.kernel_pca.pre_images.ridge import Ridge
from princomp.kernel_pca.rows import fill_cells
from princomp.linalg import FloatArray
from princomp.solvers import Spectrum
from princomp.summaries import as_dense

if TYPE_CHECKING:
    from princomp.kernel_pca.estimator import KernelPCA

KernelFit: TypeAlias = ExactFit | ImageFit

# Rows that are scored together.
_BLOCK_ROWS = 8192
# From this mean of the kernel on, without k(x, x), the rows of a fit count as near each other.
_NEAR = 0.05


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
        scored = self._score(rows, first)
        self._warn_of_remote_rows(scored)
        return scored.scores

    def engine_scores(self, data: DistributedRows) -> Any:
        """Compute scores on the engine that holds the rows."""
        return self.result.scores_on_engine(data, drop=self.missing == "drop")

    def for_scoring(self) -> Self:
        """Return a copy with only what scores need."""
        return replace(self, result=self.result.for_scoring())

    def scored_blocks(self, X: object) -> Iterator[ScoredRows]:
        """Yield blocks of rows with their scores."""
        data, _, origin = self.schema.open(X)
        first = 0
        for block in blocks_of(data):
            self.check_finite(block, data, first, origin)
            for start in range(0, block.shape[0], _BLOCK_ROWS):
                yield self._score(block[start : start + _BLOCK_ROWS], first + start)
            first += block.shape[0]

    def _warn_of_remote_rows(self, scored: ScoredRows) -> None:
        """Warn if the kernel of rows with all points of the fit is zero."""
        expansion, n = self.result.expansion, len(scored.scores)
        if expansion is None or expansion.points is None or not expansion.k:
            return
        remote = expansion.count_remote(scored.filled, scored.scores)
        if remote:
            gamma, mean = expansion.function.gamma, expansion.mean_square
            points = "rows of the fit" if self.result.landmarks is None else "landmarks"
            why = (
                f"gamma {gamma:g} is too large for them. Use a smaller one, such as "
                "gamma='median', or choose it with tune"
            )
            if mean - 1.0 / self.result.n_samples > _NEAR:
                why = (
                    "they are far from the rows of the fit, which are near each other (their mean "
                    f"kernel is {mean:.2g}). Give rows in the units and scale of the fit"
                )
            warn(
                f"the kernel of {remote:,} of {n:,} rows with all {points} is zero up to "
                f"rounding, so their scores are the same and say nothing: {why}"
            )

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
        scores = as_dense(block)
        if scores.dtype.char != "f":
            scores = np.asarray(scores, dtype=np.float64)
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
