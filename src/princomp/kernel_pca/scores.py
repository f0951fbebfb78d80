"""The part of a KernelPCA that makes scores of rows of any origin."""

from __future__ import annotations

from typing import Any

import numpy as np

from princomp.arrays import FloatArray
from princomp.feature_maps import mapped
from princomp.kernel_pca.attributes import KernelAttributes
from princomp.kernel_pca.fits import ExactFit
from princomp.kernel_pca.rows import across, held
from princomp.scoring import MakesScores
from princomp.summaries.blocks import is_sparse

__all__ = ["ScoresByKernel"]


class ScoresByKernel(KernelAttributes, MakesScores):
    """Rows, or their kernel with the rows of the fit, to scores."""

    # Of the estimator.
    kernel: Any

    def _chunk_scores(self, rows: Any, data: Any, at: int, file: str | None = None) -> FloatArray:
        # Looked at before: not every kernel of NaN is NaN.
        self._check_finite(rows, data, at, file)
        return self._rows_scored(rows)

    def _scores_there(self, data: Any) -> Any:
        """Scores of rows on an engine: those of their images, which are made there."""
        fitted = self._state
        if isinstance(fitted, ExactFit):
            return self._scores(held(data, 0))  # which says why not
        images = mapped(data, fitted.map, holes=self.missing == "drop")
        return fitted.images._scores_of(images, None, None)

    def _rows_scored(self, rows: Any) -> FloatArray:
        """Scores of some rows in memory, empty where cells are missing and none fills them."""
        fitted = self._state
        if isinstance(self.kernel, str) and self.kernel == "precomputed":
            return fitted.scores(across(rows, self.n_features_in_))
        rows, empty = self._with_cells(rows)
        scores: FloatArray = fitted.scores(rows)
        if empty is not None:
            scores[empty] = np.nan
        return scores

    def _with_cells(self, rows: Any) -> tuple[Any, Any]:
        """Rows without missing cells, and which of them get empty scores."""
        values = rows.data if is_sparse(rows) else rows
        if self.missing == "error" or np.isfinite(values).all():
            return rows, None
        if (filler := self.__dict__.get("_filler")) is not None:
            return filler._with_cells(rows), None
        holes = np.isnan(values)
        filled = rows.copy()
        (filled.data if is_sparse(rows) else filled)[holes] = 0
        if not is_sparse(rows):
            return filled, holes.any(axis=1)
        return filled, np.unique(np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))[holes])
