"""The parts of estimators that use a fit: scores, rows of scores, likelihoods."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from princomp.arrays import FloatArray
from princomp.engines.distributed import Distributed
from princomp.errors import NotFiniteError, ShapeError
from princomp.imputing import FillsCells
from princomp.inputs import TableInput, blocks_of, opened, output_wanted
from princomp.sources.memory import not_finite_in, refuse_not_finite
from princomp.sources.source import Source
from princomp.summaries.blocks import first_not_finite

__all__ = ["MakesScores", "ScoresRows"]

_HOLES = (
    "fill them, or fit with missing='em' or 'nipals', which does; with missing='drop' such rows "
    "get empty scores"
)


class MakesScores(TableInput):
    """Rows of any origin to scores, with their columns compared and their cells looked at."""

    # Of the estimator.
    missing: Any
    get_feature_names_out: Callable[[], Any]
    _fitted: Any

    @property
    def _state(self) -> Any:
        """The record of the fit, with k, ``scores`` and ``light``."""
        raise NotImplementedError

    def _names(self) -> tuple[str, ...] | None:
        raise NotImplementedError

    def _scores_there(self, data: Any) -> Any:
        """Scores of rows that are multiplied as a whole, where they lie."""
        raise NotImplementedError

    def _rows_scored(self, rows: Any) -> FloatArray:
        """Scores of some rows in memory, which may hold what is not finite."""
        raise NotImplementedError

    def _scores(self, X: Any) -> FloatArray:
        self._state  # noqa: B018  (raises where nothing is fitted)
        return self._scores_of(*self._rows(X, reset=False))

    def _scores_of(self, data: Any, columns: Any, file: str | None) -> FloatArray:
        """Scores of rows whose columns are those of the fit."""
        if not isinstance(data, Source):
            return self._chunk_scores(data, data, 0, file)
        if isinstance(data, Distributed):
            if data.together:
                return self._scores_there(data)
            names = tuple(self.get_feature_names_out())
            rows = data.framed(output_wanted(self))
            return rows.mapped(self._light()._block_scores, names, data.dtype)
        at, parts = 0, []
        for rows in blocks_of(data):
            parts.append(self._chunk_scores(rows, data, at, file))
            at += rows.shape[0]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _light(self) -> Self:
        """The model with what scores and reconstructions need, to travel with rows."""
        model = copy(self)
        model._fitted = self._state.light()
        return model

    def _block_scores(self, rows: Any) -> FloatArray:
        return self._chunk_scores(rows, rows, 0)

    def _chunk_scores(self, rows: Any, data: Any, at: int, file: str | None = None) -> FloatArray:
        """Scores of some rows of ``data``, the first of which has number ``at``."""
        scores = self._rows_scored(rows)
        if not np.isfinite(scores).all() or not self._state.k:
            self._check_finite(rows, data, at, file)
            self._check_overflow(scores, at)
        return scores

    def _check_overflow(self, scores: FloatArray, at: int) -> None:
        """Refuse scores that are not finite, of rows that are."""
        # Rows with missing cells may have empty scores, where that is allowed.
        lost = ~np.isfinite(scores) if self.missing == "error" else np.isinf(scores)
        if not lost.any():
            return
        row = int(np.argmax(lost.any(axis=1)))
        raise NotFiniteError(
            f"the scores of row {at + row} overflow {scores.dtype}",
            place={"row": at + row},
            hint="give the rows in float64" if scores.dtype == np.float32 else "scale the rows",
        )

    def _check_finite(self, rows: Any, data: Any, at: int, file: str | None) -> None:
        values = rows.data if sp.issparse(rows) else rows
        empty = self.missing != "error"  # as the scores of such rows may be
        lawful = ~np.isinf(values) if empty else np.isfinite(values)
        if lawful.all():
            return
        hint = _HOLES
        columns = self._names()
        if isinstance(data, Source):
            found = first_not_finite(rows)
            found.place["row"] += at
            raise not_finite_in(data, found, columns=columns, hint=hint)
        found = NotFiniteError("", place={"row": 0})
        raise refuse_not_finite(rows, found, columns=columns, file=file, hint=hint)


class ScoresRows(FillsCells, MakesScores):
    """Rows centred and projected, and back."""

    # Of the estimator.
    whiten: bool

    def _rows_scored(self, rows: Any) -> FloatArray:
        return self._state.scores(self._with_cells(rows), whiten=self.whiten)

    def _scores_there(self, data: Any) -> Any:
        """Scores of rows that are multiplied as a whole, where they lie."""
        try:
            return data.scores(self._state, whiten=self.whiten, drop=self.missing == "drop")
        except NotFiniteError as error:
            raise not_finite_in(data, error, columns=self._names(), hint=_HOLES) from None

    def inverse_transform(self, X: Any) -> FloatArray:
        """Rows (n, p) in the units of the data, from scores (n, k).

        Raises
        ------
        ShapeError
            When there are not k scores a row.
        """
        scores: Any = X if isinstance(X, np.ndarray) else opened(X)[0]
        if isinstance(scores, Distributed):
            self._check_scores((scores.rows or "n", scores.p))
            if scores.together:
                return scores.reconstructed(self._state, whiten=self.whiten)
            names = self._names() or tuple(f"x{i}" for i in range(self.n_features_in_))
            return scores.mapped(self._light()._reconstructed, names, scores.dtype)
        parts = [self._reconstructed(block) for block in blocks_of(scores)]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _reconstructed(self, scores: Any) -> FloatArray:
        fitted = self._state
        if sp.issparse(scores):
            scores = scores.toarray()
        if scores.dtype.kind != "f" or scores.dtype.itemsize not in (4, 8):
            scores = scores.astype(np.float64)
        self._check_scores(scores.shape)
        return fitted.reconstruction(scores, whiten=self.whiten)

    def _check_scores(self, shape: tuple[Any, ...]) -> None:
        k = self._state.k
        if len(shape) != 2 or shape[1] != k:
            raise ShapeError(
                f"scores have shape {shape}, and the model has {k} components",
                hint=f"give an array of shape (n, {k})",
            )

    def score_samples(self, X: Any) -> FloatArray:
        """Log-likelihood of each row (n,) under probabilistic PCA (Tipping & Bishop 1999)."""
        fitted, at, parts = self._state, 0, []
        data, _, file = self._rows(X, reset=False)
        for rows in blocks_of(data):
            self._check_finite(rows, data, at, file)
            parts.append(fitted.log_likelihood(rows))
            at += rows.shape[0]
        return np.concatenate(parts)

    def score(self, X: Any, y: Any = None) -> float:
        """Mean log-likelihood of the rows."""
        return float(np.mean(self.score_samples(X)))

    def get_covariance(self) -> FloatArray:
        """Model covariance (p, p), in squared units, whitened or not."""
        return self._state.covariance().astype(self._state.dtype, copy=False)

    def get_precision(self) -> FloatArray:
        """Inverse of the model covariance (p, p); its pseudo-inverse where it is singular."""
        return self._state.precision().astype(self._state.dtype, copy=False)
