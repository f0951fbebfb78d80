"""What a rotation comes to: loadings, scores, tables."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

from princomp.arrays import FloatArray
from princomp.errors import ShapeError
from princomp.estimator import PCA

__all__ = ["Rotation"]


@dataclass(frozen=True, eq=False)
class Rotation:
    """Loadings after a rotation, and the scores that go with them.

    Attributes
    ----------
    method : str
    loadings : ndarray of shape (p, k)
        Of the rotated components, the pattern: the fit of a row is its scores on them. In the
        units of the analysis; the largest |entry| of each column is positive, and columns
        descend by what they carry.
    matrix : ndarray of shape (k, k)
        ``model.loadings_ @ matrix`` are the rotated loadings.
    factor_correlations : ndarray of shape (k, k)
        Correlations of the rotated components: the identity after varimax.
    sums_of_squares : ndarray of shape (k,)
        Of the loadings, column by column: what R prints as "SS loadings".
    variances : ndarray of shape (k,)
        What each carries, correlations counted once: their sum is that of the components.
        After varimax these are the sums of squares.
    rates : ndarray of shape (k,)
        Variances over the *total* variance of the table.
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
        """Rows of the fit."""
        return self.model.n_samples_

    @property
    def structure(self) -> FloatArray:
        """Covariances of the columns with the rotated components (p, k): loadings times Φ."""
        return self.loadings @ self.factor_correlations

    def transform(self, X: Any) -> FloatArray:
        """Scores of rows on the rotated components (n, k): mean 0 and variance 1 in the fit.

        Parameters
        ----------
        X : as for :meth:`princomp.PCA.transform`

        Raises
        ------
        As :meth:`princomp.PCA.transform` does.
        """
        return self._turned(np.asarray(self.model.transform(X)))

    def _chunk_scores(self, rows: Any, data: Any, at: int) -> FloatArray:
        """Scores of some rows of ``data``, the first of which has number ``at``."""
        return self._turned(self.model._chunk_scores(rows, data, at))

    def _turned(self, scores: FloatArray) -> FloatArray:
        if not self.model.whiten:
            scores = scores / np.sqrt(self.model.explained_variance_)
        # X̂ = z Aᵀ = (z T⁻ᵀ)(A T)ᵀ: what the scores are turned by undoes what the loadings are.
        turned: FloatArray = scores @ np.linalg.inv(self.matrix).T.astype(scores.dtype)
        return turned

    def inverse_transform(self, scores: Any) -> FloatArray:
        """Rows (n, p) in the units of the data, from scores (n, k)."""
        scores = np.asarray(scores)
        k = self.loadings.shape[1]
        if scores.ndim != 2 or scores.shape[1] != k:
            raise ShapeError(
                f"scores have shape {scores.shape}, and the rotation has {k} components",
                hint=f"give an array of shape (n, {k})",
            )
        back = scores @ self.matrix.T.astype(np.result_type(scores, np.float32))
        if not self.model.whiten:
            back = back * np.sqrt(self.model.explained_variance_)
        return self.model.inverse_transform(back)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        names = self.model.__dict__.get("feature_names_in_")
        return {
            "method": self.method,
            "columns": None if names is None else list(map(str, names)),
            "loadings": self.loadings.tolist(),
            "matrix": self.matrix.tolist(),
            "factor_correlations": self.factor_correlations.tolist(),
            "sums_of_squares": self.sums_of_squares.tolist(),
            "variances": self.variances.tolist(),
            "rates": self.rates.tolist(),
            "iterations": self.iterations,
            "converged": self.converged,
        }

    def to_frame(self) -> Any:
        """Loadings, a row a column of the table: a pandas frame where pandas is imported.

        Otherwise a dict of arrays: ``column``, then one of each rotated component.
        """
        names = self.model.__dict__.get("feature_names_in_")
        p = len(self.loadings)
        labels = [f"x{j}" for j in range(p)] if names is None else list(map(str, names))
        found = {name: self.loadings[:, a] for a, name in enumerate(self.names)}
        pandas = sys.modules.get("pandas")
        if pandas is None:
            return {"column": np.array(labels, dtype=object), **found}
        return pandas.DataFrame(found, index=pandas.Index(labels, name="column"))

    def __str__(self) -> str:
        k = self.loadings.shape[1]
        lines = [f"Rotation by {self.method} of {k} component{'s' * (k != 1)}"]
        for a, (squares, rate) in enumerate(zip(self.sums_of_squares, self.rates, strict=True)):
            lines.append(f"  RC{a + 1:<3} sum of squares {squares:.6g}, rate {rate:.1%}")
        if self.method == "promax" and k > 1:
            off = self.factor_correlations[np.triu_indices(len(self.matrix), 1)]
            lines.append(f"  correlations up to {np.abs(off).max(initial=0.0):.3f}")
        return "\n".join(lines)
