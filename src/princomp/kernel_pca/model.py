"""A fitted KernelPCA: its result, the columns of its table, and how it fills missing cells."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np

from princomp.core import FittedModel, blocks_of
from princomp.engines import DistributedRows
from princomp.estimators import PCA
from princomp.io import Origin, RowArray, RowData
from princomp.kernel_pca.fit import KernelFit
from princomp.kernel_pca.rows import fill_cells
from princomp.linalg import FloatArray

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
        """The linear PCA that fills missing cells."""
        return self.result.imputer

    def block_scores(self, rows: RowArray) -> FloatArray:
        """Compute scores of rows in memory; NaN if cells are missing and nothing fills them."""
        return self._score(rows).scores

    def chunk_scores(
        self, rows: RowArray, data: RowData, first: int, origin: Origin | None = None
    ) -> FloatArray:
        """Compute scores of some rows of ``data``; ``first`` is the number of the first one."""
        # Check first: the kernel of a row with NaN may be a number, which would hide the NaN.
        self.check_finite(rows, data, first, origin)
        return self.block_scores(rows)

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
            first += block.shape[0]
            for start in range(0, block.shape[0], _BLOCK_ROWS):
                yield self._score(block[start : start + _BLOCK_ROWS])

    def _score(self, rows: RowArray) -> ScoredRows:
        filled, unknown = fill_cells(rows, self.missing, self.imputer)
        scores = self.result.scores(filled)
        if unknown is not None:
            scores[unknown] = np.nan
        return ScoredRows(rows, scores, filled)
