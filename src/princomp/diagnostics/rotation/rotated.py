"""The result of a rotation: loadings, scores, tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from princomp.core import fitted_model
from princomp.diagnostics.arguments import feature_names, variable_names
from princomp.diagnostics.tables import pandas_or_dict
from princomp.errors import NotNumericError, ShapeError
from princomp.estimators import PCA
from princomp.linalg import FloatArray, unmasked

_ARRAYS = (
    *("loadings", "matrix", "factor_correlations"),
    *("sums_of_squares", "variances", "rates"),
)


@dataclass(frozen=True, eq=False)
class Rotation:
    """Rotated loadings, and the scores of the rotated components.

    Attributes
    ----------
    method : str
    loadings : ndarray of shape (p, k)
        Loadings of the rotated components (the pattern matrix), in the units of the analysis.
        The largest |entry| of each column is positive; columns are in descending order of
        their variances.
    matrix : ndarray of shape (k, k)
        Rotated loadings are ``model.loadings_ @ matrix``.
    factor_correlations : ndarray of shape (k, k)
        Correlations of the rotated components: the identity after varimax.
    sums_of_squares : ndarray of shape (k,)
        Sums of squared loadings of each component: "SS loadings" in R.
    variances : ndarray of shape (k,)
        Variance of each rotated component, with correlations counted once: the variances have
        the same sum as before the rotation. After varimax they are the sums of squares.
    rates : ndarray of shape (k,)
        Variances divided by the *total* variance of the table.
    iterations : int
    converged : bool
    """

    model: PCA
    method: str
    loadings: FloatArray
    matrix: FloatArray
    factor_correlations: FloatArray
    sums_of_squares: FloatArray
    variances: FloatArray
    rates: FloatArray
    iterations: int
    converged: bool

    @property
    def names(self) -> list[str]:
        """RC1 … RCk."""
        return [f"RC{a + 1}" for a in range(self.loadings.shape[1])]

    @property
    def n_samples_(self) -> int | None:
        """Number of rows of the fit."""
        return self.model.n_samples_

    @property
    def structure(self) -> FloatArray:
        """Covariances of the columns with the rotated components (p, k): loadings times Φ."""
        return self.loadings @ self.factor_correlations

    def transform(self, X: object) -> FloatArray:
        """Compute scores (n, k) on the rotated components: mean 0 and variance 1 in the fit.

        Parameters
        ----------
        X : as for :meth:`princomp.PCA.transform`

        Raises
        ------
        As :meth:`princomp.PCA.transform`.
        """
        return self._rotate_scores(np.asarray(self.model.transform(X)))

    def _rotate_scores(self, scores: FloatArray) -> FloatArray:
        dtype = scores.dtype
        if not self.model.whiten:
            scores = scores / np.sqrt(self.model.explained_variance_)
        # X̂ = z Aᵀ = (z T⁻ᵀ)(A T)ᵀ: scores are transformed by the inverse transpose.
        return (scores @ np.linalg.inv(self.matrix).T).astype(dtype, copy=False)

    def inverse_transform(self, scores: ArrayLike) -> FloatArray:
        """Return rows (n, p) in the units of the data, from scores (n, k).

        Raises
        ------
        ShapeError
            If there are not k scores per row.
        NotNumericError
            If the scores are not numbers.
        """
        scores = np.asarray(unmasked(scores))
        k = self.loadings.shape[1]
        if scores.ndim != 2 or scores.shape[1] != k:
            raise ShapeError(
                f"scores have shape {scores.shape}, and the rotation has {k} components",
                hint=f"give an array of shape (n, {k})",
            )
        if scores.dtype.kind not in "biufO":
            raise NotNumericError(
                f"scores are {scores.dtype}, not numbers", hint="scores.astype(float)"
            )
        unrotated = scores @ self.matrix.T.astype(np.result_type(scores, np.float32))
        if not self.model.whiten:
            unrotated = unrotated * np.sqrt(self.model.explained_variance_)
        return self.model.inverse_transform(unrotated)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "method": self.method,
            "columns": feature_names(self.model),
            **{name: getattr(self, name).tolist() for name in _ARRAYS},
            "iterations": self.iterations,
            "converged": self.converged,
        }

    def to_frame(self) -> Any:
        """Return the loadings as a pandas frame if pandas is imported, else a dict of arrays.

        ``column`` (the index of the frame) has the names of the columns.
        """
        loadings = {name: self.loadings[:, a] for a, name in enumerate(self.names)}
        return pandas_or_dict({"column": variable_names(self.model), **loadings}, "column")

    def __str__(self) -> str:
        k = self.loadings.shape[1]
        lines = [f"Rotation by {self.method} of {k} component{'s' * (k != 1)}"]
        for a, (squares, rate) in enumerate(zip(self.sums_of_squares, self.rates, strict=True)):
            lines.append(f"  RC{a + 1:<3} sum of squares {squares:.6g}, rate {rate:.1%}")
        if self.method == "promax" and k > 1:
            off = self.factor_correlations[np.triu_indices(len(self.matrix), 1)]
            lines.append(f"  correlations up to {np.abs(off).max(initial=0.0):.3f}")
        return "\n".join(lines)


def rotated_scores(rotation: Rotation, rows: Any, data: Any, first: int) -> FloatArray:
    """Rotated scores of some rows of ``data``; ``first`` is the number of the first one."""
    return rotation._rotate_scores(fitted_model(rotation.model).chunk_scores(rows, data, first))
