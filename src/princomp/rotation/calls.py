"""What people call: the rotation of a fitted model."""

from __future__ import annotations

import warnings
from numbers import Real
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from princomp.arrays import FloatArray, fix_signs
from princomp.attributes import FittedAttributes
from princomp.errors import NotAvailableError, ParameterError, ShapeError
from princomp.estimator import PCA
from princomp.parameters import is_a
from princomp.rotation.rotated import Rotation
from princomp.rotation.turning import carried, towards_power, varimax

__all__ = ["rotate"]

_METHODS = ("varimax", "promax")


def rotate(
    model: PCA, method: str = "varimax", *, kaiser: bool = True, power: float = 4.0
) -> Rotation:
    """Rotate the components of a fitted model towards loadings that are large or near zero.

    Parameters
    ----------
    model : PCA
        Fitted, with the k components that are to be rotated: what comes out depends on k.
    method : {"varimax", "promax"}, default="varimax"
        Varimax (Kaiser 1958) keeps components uncorrelated. Promax (Hendrickson & White 1964)
        lets them correlate, towards a power of the varimax loadings.
    kaiser : bool, default=True
        Divide each column's loadings by their length while rotating, so that columns of which
        the components say little count as much as others.
    power : float, default=4
        Of promax, above 1: larger ones give smaller loadings and larger correlations.

    Returns
    -------
    Rotation

    Raises
    ------
    ParameterError
        For an unlawful argument; for ``power`` other than 4 with varimax, which has none.
    ShapeError
        For a model without components.
    NotAvailableError
        For components of no variance: their loadings are zero, whatever the rotation.

    Warns
    -----
    ConvergenceWarning
        When varimax is not at its end after 1,000 sweeps.

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
    _check(model, method, kaiser, power)
    loadings = np.asarray(model.loadings_, dtype=np.float64)
    turn, iterations, converged = varimax(loadings, kaiser)
    if not converged:
        warnings.warn(
            f"varimax still moves after {iterations:,} sweeps: the columns have loadings that no "
            "rotation tells apart",
            ConvergenceWarning,
            stacklevel=2,
        )
    if method == "promax":
        turn = turn @ towards_power(loadings @ turn, float(power))
    inverse = np.linalg.inv(turn)
    # Components are ordered by what they carry, and signs follow the one rule for signs.
    share = carried(loadings @ turn, inverse @ inverse.T)
    order = np.argsort(-np.round(share, 12), kind="stable")
    turn = turn[:, order] * fix_signs((loadings @ turn[:, order]).T)
    rotated = loadings @ turn
    correlations = np.eye(len(turn))
    if method == "promax":
        inverse = np.linalg.inv(turn)
        correlations = inverse @ inverse.T
    variances = carried(rotated, correlations)
    total = model.total_variance_
    return Rotation(
        model,
        method,
        _sealed(rotated),
        _sealed(turn),
        _sealed(correlations),
        _sealed(np.sum(rotated**2, axis=0)),
        _sealed(variances),
        _sealed(variances / total),
        iterations,
        converged,
    )


def _check(model: Any, method: Any, kaiser: Any, power: Any) -> None:
    if not isinstance(model, FittedAttributes):
        raise ParameterError(
            f"rotate takes a fitted PCA, got {type(model).__name__}",
            place={"parameter": "model"},
            hint="rotate(PCA(2, scale='unit').fit(X), 'varimax')",
        )
    if method not in _METHODS:
        raise ParameterError(
            f"method={method!r} is not known",
            place={"parameter": "method"},
            hint="choose 'varimax' or 'promax'",
        )
    if kaiser is not True and kaiser is not False:
        raise ParameterError(
            f"kaiser={kaiser!r} is not lawful",
            place={"parameter": "kaiser"},
            hint="kaiser must be True or False",
        )
    if not (is_a(power, Real) and 1 < power < np.inf):
        raise ParameterError(
            f"power={power!r} is not lawful",
            place={"parameter": "power"},
            hint="power must be a number above 1; 4 is usual",
        )
    if method == "varimax" and power != 4:
        raise ParameterError(
            f"power={power!r} does nothing with method='varimax'",
            place={"parameter": "power"},
            hint="leave it out, or choose method='promax'",
        )
    state = model._state
    if not state.k:
        raise ShapeError(
            "the model has no components to rotate",
            place={"parameter": "model"},
            hint="fit with n_components of at least 1",
        )
    empty = np.flatnonzero(state.variances <= state.spectrum.resolution)
    if empty.size:
        raise NotAvailableError(
            f"component {empty[0] + 1} has no variance, and its loadings cannot be rotated",
            place={"parameter": "model", "component": int(empty[0]) + 1},
            hint=f"rotate(model.truncated({empty[0]}), …)",
        )


def _sealed(array: FloatArray) -> FloatArray:
    array.flags.writeable = False
    return array
