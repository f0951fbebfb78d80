"""What a person gives to a diagnostic: a fitted model, and some of its components."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from princomp.arrays import FloatArray
from princomp.errors import NotAvailableError, ParameterError, ShapeError
from princomp.estimator import PCA
from princomp.fitted import Fitted

__all__ = [
    "Names",
    "Picked",
    "axes_of",
    "picked",
    "row_count",
    "state_of",
    "variable_names",
]

Names = NDArray[Any]


def state_of(model: Any) -> Fitted:
    """The record of a fitted model.

    Raises
    ------
    ParameterError
        For anything that is no PCA of this package.
    NotAvailableError
        For a kernel PCA.
    """
    if not isinstance(model, PCA):
        # Loaded for what is neither a PCA nor, it may be, a model at all.
        from princomp.kernel_pca import KernelPCA

        if isinstance(model, KernelPCA):
            raise NotAvailableError(
                "a kernel PCA has no loadings: its axes lie in the feature space of the kernel",
                place={"parameter": "model"},
                hint="scree, scores and pairs are figures of it; for all others fit a princomp.PCA",
            )
        raise ParameterError(
            f"a diagnostic reads a fitted princomp.PCA, got {type(model).__name__}",
            place={"parameter": "model"},
            hint="PCA(…).fit(X), princomp.load(path) or PCA.from_covariance(C)",
        )
    fitted: Fitted = model._state
    return fitted


def variable_names(model: PCA) -> Names:
    """Names of the columns (p,): x0, x1, … where the fit had none."""
    known = model.__dict__.get("feature_names_in_")
    names = [f"x{j}" for j in range(model.n_features_in_)] if known is None else map(str, known)
    return np.array(list(names), dtype=object)


class Picked(NamedTuple):
    """Components that are looked at: their numbers from 0, and what tables call them."""

    at: NDArray[np.intp]
    names: Names


def picked(fitted: Fitted, components: Any) -> Picked:
    """Some components of a model, given as numbers from 1 or as "PC1", …; all by default.

    Raises
    ------
    ParameterError
        For one that the model does not have, or that stands twice.
    """
    k = fitted.k
    if components is None:
        numbers = list(range(1, k + 1))
    else:
        single = isinstance(components, str) or not np.iterable(components)
        numbers = [_number(one, k) for one in ([components] if single else components)]
        if len(set(numbers)) < len(numbers):
            raise ParameterError(
                f"components={components!r} names one twice",
                place={"parameter": "components"},
                hint="give each once",
            )
    if not numbers:
        raise ShapeError(
            "no components to look at",
            place={"parameter": "components"},
            hint="keep at least one: model.truncated(1), or n_components=1",
        )
    at = np.array(numbers, dtype=np.intp) - 1
    return Picked(at, np.array([f"PC{number}" for number in numbers], dtype=object))


def _number(one: Any, k: int) -> int:
    text = one[2:] if isinstance(one, str) and one.startswith("PC") else one
    digits = isinstance(text, str) and text.isascii() and text.isdigit()
    whole = isinstance(text, int | np.integer) and not isinstance(text, bool)
    if (digits or whole) and 1 <= int(text) <= k:
        return int(text)
    raise ParameterError(
        f"component {one!r} is not one of the model's, which are PC1 to PC{k}",
        place={"parameter": "components"},
        hint="components are counted from 1, or named 'PC1'",
    )


def axes_of(fitted: Fitted, at: Any = None) -> FloatArray:
    """Axes in float64 (p, c): the chosen ones, or all k."""
    axes = fitted.spectrum.axes[: fitted.k].astype(np.float64)
    return np.ascontiguousarray((axes if at is None else axes[at]).T)


def row_count(fitted: Fitted, what: str) -> float:
    """Rows of the fit, Σw where they had weights.

    Raises
    ------
    NotAvailableError
        For a covariance without ``n_samples``.
    """
    if fitted.n_samples is None:
        raise NotAvailableError(
            f"{what} need the number of rows behind the covariance",
            place={"parameter": "n_samples"},
            hint="PCA.from_covariance(C, n_samples=…)",
        )
    return float(fitted.summary.rows)
