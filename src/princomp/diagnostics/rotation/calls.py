"""Rotation of a fitted model."""

from __future__ import annotations

import warnings
from numbers import Real

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from princomp.core import is_number
from princomp.diagnostics.arguments import fitted_of, not_a_pca
from princomp.diagnostics.rotation.criteria import component_variances, promax_matrix, varimax
from princomp.diagnostics.rotation.rotated import Rotation
from princomp.errors import NotAvailableError, ParameterError, ShapeError, invalid_value
from princomp.estimators import PCA
from princomp.linalg import binary_exponent, fix_signs

_METHODS = ("varimax", "promax")


def rotate(
    model: PCA, method: str = "varimax", *, kaiser: bool = True, power: float = 4.0
) -> Rotation:
    """Rotate the components of a fitted model so that loadings are either large or near zero.

    Parameters
    ----------
    model : PCA
        Fitted, with the k components to be rotated; the result depends on k.
    method : {"varimax", "promax"}, default="varimax"
        Varimax (Kaiser 1958) keeps components uncorrelated. Promax (Hendrickson & White 1964)
        lets them correlate, to approach a power of the varimax loadings.
    kaiser : bool, default=True
        Whether to normalise the loadings of each column while rotating, so that columns with
        small loadings count as much as others.
    power : float, default=4
        Power of promax, above 1. Larger powers give smaller loadings and larger correlations.

    Returns
    -------
    Rotation

    Raises
    ------
    ParameterError
        For an invalid argument, or ``power`` other than 4 with varimax.
    ShapeError
        For a model without components.
    NotAvailableError
        For components without variance, whose loadings are zero.

    Warns
    -----
    ConvergenceWarning
        When varimax has not converged after 1,000 sweeps.

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
    matrix, iterations, converged = varimax(scaled, kaiser)
    if not converged:
        warnings.warn(
            f"varimax did not converge in {iterations:,} sweeps; several rotations may be equally "
            "good",
            ConvergenceWarning,
            stacklevel=2,
        )
    if method == "promax":
        matrix = matrix @ promax_matrix(scaled @ matrix, float(power))
    inverse = np.linalg.inv(matrix)
    # Components are ordered by their variances, and get the usual signs.
    share = component_variances(scaled @ matrix, inverse @ inverse.T)
    order = np.argsort(-np.round(share / share.sum(), 12), kind="stable")
    matrix = matrix[:, order] * fix_signs((scaled @ matrix[:, order]).T)
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
    return Rotation(model, method, *arrays, iterations, converged)


def _check_arguments(model: PCA, method: str, kaiser: bool, power: float) -> None:
    if not isinstance(model, PCA):
        raise not_a_pca(
            model,
            hint="rotate(PCA(2, scale='unit').fit(X), 'varimax')",
            sklearn_hint="rotate(PCA.from_sklearn(model))",
        )
    if method not in _METHODS:
        hint = "promax lets components correlate"
        raise invalid_value("method", method, "'varimax' or 'promax'", hint)
    if kaiser is not True and kaiser is not False:
        raise invalid_value("kaiser", kaiser, "True or False", "True is usual")
    if not (is_number(power, Real) and 1 < power < np.inf):
        raise invalid_value("power", power, "a number above 1", "4 is usual")
    if method == "varimax" and power != 4:
        raise ParameterError(
            f"power={power!r} has no effect with method='varimax'",
            place={"parameter": "power"},
            hint="leave it out, or use method='promax'",
        )
    fitted = fitted_of(model)
    if not fitted.k:
        raise ShapeError(
            "the model has no components to rotate",
            place={"parameter": "model"},
            hint="fit with n_components of at least 1",
        )
    constant = np.flatnonzero(fitted.variances <= fitted.spectrum.resolution)
    if constant.size:
        raise NotAvailableError(
            f"component {constant[0] + 1} has no variance, so its loadings cannot be rotated",
            place={"parameter": "model", "component": int(constant[0]) + 1},
            hint=f"rotate(model.truncated({constant[0]}), …)",
        )
