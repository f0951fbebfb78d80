"""The part of a RobustPCA that uses a fit: scores, distances, a file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError

from princomp.arrays import FloatArray
from princomp.engines.distributed import Distributed
from princomp.errors import NotFiniteError, ParameterError, ShapeError
from princomp.inputs import TableInput
from princomp.model_file import write
from princomp.robust.contents import Robustly, described
from princomp.robust.outliers import OutlierMap, mapped
from princomp.sources.holding import whole
from princomp.sources.memory import refuse_not_finite
from princomp.sources.source import Source
from princomp.summaries.blocks import first_not_finite, is_sparse

__all__ = ["UsesRobustFit", "about"]

_HOLES = "leave such rows out, or fill the cells before"


def about(rows: Any, mean: FloatArray, scale: FloatArray | None) -> FloatArray:
    """Rows (n, p) about the centre, in float64 and the units of the analysis."""
    away: FloatArray = rows.astype(np.float64) - mean
    return away if scale is None else away / scale


class UsesRobustFit(TableInput):
    """Rows on robust components, and how far off they lie."""

    # The command line sets it.
    id_column_: str | None = None

    # Of the estimator.
    _asked: Callable[[], dict[str, Any]]

    def _keep(self, found: Robustly) -> None:
        """The fitted attributes of what was found."""
        self._found = found
        self.components_ = found.axes.astype(found.dtype)
        self.explained_variance_ = found.variances
        self.total_variance_ = found.total
        rates = found.variances / found.total if found.total > 0 else np.zeros_like(found.variances)
        self.explained_variance_ratio_ = rates
        self.loadings_ = found.axes.T * np.sqrt(found.variances)
        self.mean_, self.scale_ = found.mean, found.scale
        self.n_components_, self.n_samples_ = len(found.axes), len(found.score_distances)
        self.n_support_ = found.support
        self.score_cutoff_, self.orthogonal_cutoff_ = found.score_cutoff, found.orthogonal_cutoff
        self.score_distances_ = found.score_distances
        self.orthogonal_distances_ = found.orthogonal_distances
        self.outliers_ = found.outliers

    def _dense(self, X: Any, *, reset: bool) -> tuple[FloatArray, Any]:
        """Finite rows in memory."""
        data, columns, file = self._rows(X, reset=reset)
        if isinstance(data, Source) and not isinstance(data, Distributed):
            data = whole(data)
        self._check_dense(data)
        if not np.isfinite(data).all():
            found = NotFiniteError("", place={"row": 0})
            raise refuse_not_finite(data, found, columns=columns, file=file, hint=_HOLES)
        return data, columns

    def _check_dense(self, rows: Any) -> None:
        if is_sparse(rows) or sp.issparse(rows) or isinstance(rows, Source):
            raise ParameterError(
                "Sparse data was passed, or rows that lie elsewhere: RobustPCA takes dense rows in "
                "memory",
                place={"parameter": "X"},
                hint="give X.toarray(), or a sample of the rows",
            )

    def _need_fit(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' with rows "
                "before using it."
            )

    def __sklearn_is_fitted__(self) -> bool:
        return "_found" in self.__dict__

    def _scores(self, X: Any) -> FloatArray:
        self._need_fit()
        return self._scores_on_axes(self._dense(X, reset=False)[0])

    def _scores_on_axes(self, rows: FloatArray) -> FloatArray:
        found = self._found
        return (about(rows, found.mean, found.scale) @ found.axes.T).astype(rows.dtype)

    def _chunk_scores(self, rows: Any, data: Any, at: int) -> FloatArray:
        """Scores of some rows of ``data``, the first of which has number ``at``."""
        self._check_chunk(rows, data, at)
        return self._scores_on_axes(rows)

    def _chunk_map(self, rows: Any, data: Any, at: int) -> OutlierMap:
        """Their distances."""
        self._check_chunk(rows, data, at)
        return self._map(rows)

    def _check_chunk(self, rows: Any, data: Any, at: int) -> None:
        self._check_dense(rows)
        if not np.isfinite(rows).all():
            found = first_not_finite(rows)
            found.place["row"] += at
            columns = self.__dict__.get("feature_names_in_")
            raise refuse_not_finite(data, found, columns=columns, hint=_HOLES)

    def inverse_transform(self, X: Any) -> FloatArray:
        """Rows (n, p) in the units of the data, from scores (n, k)."""
        self._need_fit()
        return self._reconstructed(np.asarray(X))

    def _reconstructed(self, scores: Any) -> FloatArray:
        found = self._found
        if scores.ndim != 2 or scores.shape[1] != self.n_components_:
            raise ShapeError(
                f"scores have shape {scores.shape}, and the model has {self.n_components_} "
                "components",
                hint=f"give an array of shape (n, {self.n_components_})",
            )
        rows = scores @ found.axes
        if found.scale is not None:
            rows = rows * found.scale
        out: FloatArray = rows + found.mean
        return out.astype(scores.dtype) if scores.dtype.kind == "f" else out

    def outlier_map(self, X: Any) -> OutlierMap:
        """Distances of rows within the space and off it, and which are beyond the cut-offs.

        The cut-offs are those of the fit, whatever the rows.

        Parameters
        ----------
        X : array, frame or path, of shape (n, p)

        Returns
        -------
        OutlierMap
        """
        self._need_fit()
        return self._map(self._dense(X, reset=False)[0])

    def _map(self, rows: FloatArray) -> OutlierMap:
        found = self._found
        return mapped(
            about(rows, found.mean, found.scale),
            found.axes,
            found.variances,
            found.score_cutoff,
            found.orthogonal_cutoff,
        )

    def save(self, path: Any, *, overwrite: bool = True) -> None:
        """Write the model to a file; :func:`princomp.load` reads it.

        Raises
        ------
        OutputExistsError
            When the file exists and ``overwrite`` is false.
        OutputError
            When it cannot be written.
        """
        self._need_fit()
        names = self.__dict__.get("feature_names_in_")
        contents = described(self._found, self._asked(), names, self.id_column_)
        write(path, *contents, overwrite=overwrite)
