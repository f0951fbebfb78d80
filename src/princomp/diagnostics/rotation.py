"""Rotated components: varimax (Kaiser 1958) and promax (Hendrickson & White 1964) of loadings."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning

from princomp.core import FLAG, Request, check_parameter, fitted_model, number, one_of
from princomp.diagnostics.models import fitted_of, not_a_pca, variable_names
from princomp.diagnostics.tables import pandas_or_dict
from princomp.errors import NotAvailableError, NotNumericError, ShapeError, warn
from princomp.estimators import PCA
from princomp.linalg import FloatArray, binary_exponent, fix_signs, unmasked

# Converged when no plane is rotated by more than this angle, in radians.
_ANGLE_TOLERANCE = 1e-13
_MAX_SWEEPS = 1000
# A sum of loadings below this share of their sizes may be zero but for rounding.
_SUM_TOLERANCE = 1e-10
# A pair of components whose criterion varies by less than this share is not rotated.
_FLATNESS_TOLERANCE = 1e-12


@dataclass(frozen=True, eq=False)
class Rotation:
    """Rotated loadings, and the scores of the rotated components.

    Attributes
    ----------
    method : str
    loadings : ndarray of shape (p, k)
        Loadings of the rotated components (the pattern matrix), in the units of the analysis.
        The sum of each column is positive (if it is zero, the largest |entry|); columns are in
        descending order of their variances.
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
        arrays = ("loadings", "matrix", "factor_correlations", "sums_of_squares", "variances")
        names = fitted_model(self.model).schema.names
        return {
            "method": self.method,
            "columns": None if names is None else list(names),
            **{name: getattr(self, name).tolist() for name in (*arrays, "rates")},
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
            squared = f"squared loadings {squares:.6g}"
            lines.append(f"  RC{a + 1:<3} {squared}, rate of variance {rate:.1%}")
        if self.method == "promax" and k > 1:
            off = self.factor_correlations[np.triu_indices(len(self.matrix), 1)]
            lines.append(f"  correlations up to {np.abs(off).max(initial=0.0):.3f}")
        return "\n".join(lines)


def rotated_scores(rotation: Rotation, rows: Any, data: Any, first: int) -> FloatArray:
    """Rotated scores of some rows of ``data``; ``first`` is the number of the first one."""
    return rotation._rotate_scores(fitted_model(rotation.model).chunk_scores(rows, data, first))


def rotate(
    model: PCA, method: str = "varimax", *, kaiser: bool = True, power: float = 4.0
) -> Rotation:
    """Rotate the components of a fitted model so that loadings are either large or near zero.

    These are principal components, not the factors of a factor analysis.

    Parameters
    ----------
    model : PCA
        Fitted, with the k components to be rotated; the result depends on k.
    method : {"varimax", "promax"}, default="varimax"
        Varimax (Kaiser 1958) keeps components uncorrelated. Promax (Hendrickson & White 1964)
        lets them correlate, to approach a power of the varimax loadings.
    kaiser : bool, default=True
        Whether varimax scales the loadings of each variable to length 1 while rotating, so that
        variables with small loadings count as much as others. The second step of promax does not,
        as in R.
    power : float, default=4
        Power of promax, above 1. Larger powers give smaller loadings and larger correlations.
        Varimax ignores it, with a warning.

    Returns
    -------
    Rotation
        ``loadings``, ``structure`` (covariances of columns and components),
        ``factor_correlations``, ``sums_of_squares``, ``variances``, ``rates``, and ``matrix``, by
        which the loadings of the model were multiplied; ``transform(X)``,
        ``inverse_transform(scores)``, ``to_frame()`` and ``to_dict()``. It prints as a summary.

    Raises
    ------
    ParameterError
        For an invalid argument.
    ShapeError
        For a model without components.
    NotAvailableError
        For components without variance, whose loadings are zero.

    Warns
    -----
    ConvergenceWarning
        When varimax has not converged after 1,000 sweeps.
    UserWarning
        When the model keeps all components: each may then stand for a single column. With
        ``center=False``: variances, covariances and correlations are then mean squares and products
        about zero.

    Examples
    --------
    >>> import numpy as np
    >>> from princomp import PCA, rotate
    >>> rng = np.random.default_rng(0)
    >>> X = np.repeat(rng.standard_normal((100, 2)), 3, axis=1) + 0.1 * rng.random((100, 6))
    >>> found = rotate(PCA(2, scale="unit").fit(X), "varimax")
    >>> print(np.abs(found.loadings).round().T)
    [[1. 1. 1. 0. 0. 0.]
     [0. 0. 0. 1. 1. 1.]]
    """
    _check_arguments(model, method, kaiser, power)
    loadings = np.asarray(model.loadings_, dtype=np.float64)
    # The criteria take fourth powers and more.
    exponent = binary_exponent(loadings)
    scaled = np.ldexp(loadings, -exponent)
    # Normalised, the rounding errors in a constant column would count as much as other loadings.
    fitted = fitted_of(model)
    varying = fitted.analysed.column_scatter != 0
    sound, dropped = scaled * varying[:, None], Request.of(model).dropped_columns(fitted.summary)
    if dropped.size:  # their zeros would count in the means of squared loadings
        sound = np.delete(sound, dropped, axis=0)
    matrix, iterations, converged = varimax(sound, kaiser)
    if not converged:
        warn(
            f"varimax did not converge in {iterations:,} sweeps; several rotations may be equally "
            "good",
            ConvergenceWarning,
        )
    if method == "promax":
        matrix = matrix @ promax_matrix(scaled @ matrix, float(power))
    inverse = np.linalg.inv(matrix)
    # Components are ordered by their variances. The sum of loadings decides their signs: another
    # of several almost equal entries may be the largest after another rotation.
    share = component_variances(scaled @ matrix, inverse @ inverse.T)
    order = np.argsort(-np.round(share / share.sum(), 12), kind="stable")
    matrix = matrix[:, order] * _signs(scaled @ matrix[:, order])
    rotated = loadings @ matrix
    correlations = np.eye(len(matrix))
    if method == "promax":
        inverse = np.linalg.inv(matrix)
        correlations = inverse @ inverse.T
    variances = component_variances(rotated, correlations)
    squares, rates = np.sum(rotated**2, axis=0), variances / model.total_variance_
    arrays = (rotated, matrix, correlations, squares, variances, rates)
    for array in arrays:
        array.flags.writeable = False
    # A copy, so that rows added to the model later do not change the scores.
    return Rotation(copy(model), method, *arrays, iterations, converged)


def _check_arguments(model: PCA, method: str, kaiser: bool, power: float) -> None:
    if not isinstance(model, PCA):
        raise not_a_pca(
            model,
            hint="rotate(PCA(2, scale='unit').fit(X), 'varimax')",
            sklearn_hint="rotate(PCA.from_sklearn(model))",
        )
    check_parameter("method", method, one_of("varimax", "promax"))
    check_parameter("kaiser", kaiser, FLAG)
    check_parameter("power", power, number(1, exclusive=True))
    if method == "varimax" and power != 4:
        warn(f"power={power!r} has no effect with method='varimax'")
    fitted = fitted_of(model)
    if not fitted.k:
        raise ShapeError(
            "the model has no components to rotate",
            place={"parameter": "model"},
            hint="fit with n_components of at least 1",
        )
    constant = np.flatnonzero(fitted.variances <= fitted.spectrum.resolution)
    if constant.size:
        k = int(constant[0])
        hint = (
            f"use model.truncated({k}), or fit with n_components={k}"
            if k
            else "fit rows that differ"
        )
        raise NotAvailableError(
            f"component {k + 1} has no variance, so its loadings cannot be rotated",
            place={"parameter": "model", "component": k + 1},
            hint=hint,
        )
    if fitted.k == fitted.p > 1:
        warn(
            f"all {fitted.k} components are rotated, so each may stand for a single column: fit "
            "with a smaller n_components, or rotate model.truncated(k)"
        )
    if not fitted.centred:
        warn(
            "the model has center=False: rotated scores have mean squares of 1, not variances, and "
            "factor_correlations and structure are mean products about zero, not correlations and "
            "covariances. Fit with center=True to get these"
        )


def varimax(loadings: FloatArray, kaiser: bool) -> tuple[FloatArray, int, bool]:
    """Return the varimax rotation (k, k), the number of sweeps, and whether it converged.

    Each sweep rotates every plane of two components by its optimal angle (Kaiser 1958).
    """
    k = loadings.shape[1]
    if kaiser:
        lengths = np.linalg.norm(loadings, axis=1, keepdims=True)
        # A column without loadings has no direction.
        loadings = loadings / np.where(lengths > 0, lengths, 1.0)
    rotated, matrix = loadings.copy(), np.eye(k)
    for sweep in range(1, _MAX_SWEEPS + 1):
        largest_angle = 0.0
        for a, b in combinations(range(k), 2):
            angle = _best_angle(rotated[:, a], rotated[:, b])
            largest_angle = max(largest_angle, abs(angle))
            c, s = np.cos(angle), np.sin(angle)
            plane = np.array([[c, -s], [s, c]])
            rotated[:, [a, b]] = rotated[:, [a, b]] @ plane
            matrix[:, [a, b]] = matrix[:, [a, b]] @ plane
        if largest_angle <= _ANGLE_TOLERANCE:
            return matrix, sweep, True
    return matrix, _MAX_SWEEPS, False


def _best_angle(x: FloatArray, y: FloatArray) -> float:
    """Return the angle in (−π/4, π/4] that maximises the variances of squared loadings."""
    u, v = x * x - y * y, 2.0 * x * y
    u, v = u - u.mean(), v - v.mean()
    sine, cosine = 2.0 * float(u @ v), float(u @ u - v @ v)
    # If all angles are equally good, rounding errors must not choose one.
    if np.hypot(sine, cosine) <= _FLATNESS_TOLERANCE * float(u @ u + v @ v):
        return 0.0
    return float(np.arctan2(sine, cosine)) / 4.0


def promax_matrix(rotated: FloatArray, power: float) -> FloatArray:
    """Return the promax transformation of varimax loadings; components keep variance 1."""
    # Only the direction of a target matters. Its largest entry is made ±1, so powers stay in range.
    relative = rotated / np.abs(rotated).max(axis=0)
    target = relative * np.abs(relative) ** (power - 1.0)
    matrix = np.linalg.lstsq(rotated, target, rcond=None)[0]
    # Columns of very different lengths would make the inverse inaccurate; only directions matter.
    matrix = matrix / np.linalg.norm(matrix, axis=0)
    scale = np.sqrt(np.linalg.inv(matrix.T @ matrix).diagonal())
    return np.asarray(matrix * scale)


def _signs(loadings: FloatArray) -> FloatArray:
    """Signs (k,) that make the sums of loadings positive; if one is zero, the largest |entry|."""
    sums, sizes = loadings.sum(axis=0), np.abs(loadings).sum(axis=0)
    usual = np.copysign(1.0, sums)
    return np.where(np.abs(sums) > _SUM_TOLERANCE * sizes, usual, fix_signs(loadings.T))


def component_variances(loadings: FloatArray, correlations: FloatArray) -> FloatArray:
    """Variances (k,) of rotated components: the diagonal of Φ LᵀL."""
    return np.einsum("ab,jb,ja->a", correlations, loadings, loadings)
