"""The fitted attributes of a KernelPCA, read from the record of its fit."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError

from princomp.arrays import FloatArray, frozen
from princomp.certificate import Certificate
from princomp.errors import NotAvailableError
from princomp.kernel_pca.fits import ExactFit, ImageFit
from princomp.kernel_pca.plan import KernelPlan
from princomp.parameters import is_a

__all__ = ["KernelAttributes"]


class KernelAttributes:
    """Read-only attributes."""

    # A model that is not fitted has none.
    _fitted: ExactFit | ImageFit
    # Of the estimator.
    gamma: Any
    n_features_in_: int

    @property
    def _state(self) -> Any:
        fitted: ExactFit | ImageFit | None = self.__dict__.get("_fitted")
        if fitted is None:
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' with rows "
                "before using it."
            )
        return fitted

    def _names(self) -> tuple[str, ...] | None:
        names = self.__dict__.get("feature_names_in_")
        return None if names is None else tuple(names)

    def __sklearn_is_fitted__(self) -> bool:
        return "_fitted" in self.__dict__

    @property
    def explained_variance_(self) -> FloatArray:
        """Variances of the components (k,) in the feature space, with n − 1."""
        variances: FloatArray = self._state.spectrum.variances[: self._state.k]
        return variances

    @property
    def explained_variance_ratio_(self) -> FloatArray:
        """Contribution rates (k,)."""
        rates: FloatArray = self._state.spectrum.rates[: self._state.k]
        return frozen(rates)

    contribution_rate_ = explained_variance_ratio_

    @property
    def accumulated_rate_(self) -> FloatArray:
        """Running sum of the contribution rates (k,)."""
        rates: FloatArray = self._state.spectrum.accumulated[: self._state.k]
        return rates

    @property
    def total_variance_(self) -> float:
        """Of the rows in the feature space; of images, the variance that they keep."""
        return float(self._state.spectrum.total)

    @property
    def eigenvalues_(self) -> FloatArray:
        """Of the centred kernel matrix (k,): n − 1 times the variances."""
        values = self.explained_variance_ * self._state.divisor
        return values.astype(self._state.dtype)

    @property
    def eigenvectors_(self) -> FloatArray:
        """Of the centred kernel matrix (n, k), of length one.

        Raises
        ------
        NotAvailableError
            Of an approximation, which keeps nothing of order n.
        """
        fitted = self._state
        if not isinstance(fitted, ExactFit):
            raise NotAvailableError(
                "eigenvectors have an entry for each row, and an approximation keeps none",
                hint="transform(X) gives scores: eigenvectors times the roots of the eigenvalues",
            )
        return fitted.eigenvectors

    @property
    def X_fit_(self) -> Any:  # noqa: N802  (scikit-learn's name)
        """Rows of the fit (n, p), or the landmarks of an approximation.

        Raises
        ------
        NotAvailableError
            Where neither is kept.
        """
        if (known := self.__dict__.get("_given")) is not None:
            return known
        expansion = self._state.expansion
        if expansion is None:
            raise NotAvailableError(
                "random features keep no rows", hint="use approximation='nystrom' or None"
            )
        if expansion.points is None:
            raise NotAvailableError(
                "a kernel matrix that was given is not in the model's file",
                hint="take the matrix that the fit was given: scores do not need it",
            )
        return _frozen_rows(expansion.points)

    @property
    def landmarks_(self) -> Any:
        """Landmarks (m, p) of ``approximation="nystrom"``; None of others."""
        fitted = self._state
        if isinstance(fitted, ExactFit) or fitted.expansion is None:
            return None
        return _frozen_rows(fitted.expansion.points)

    @property
    def scale_(self) -> FloatArray | None:
        """What the columns are divided by (p,), or None."""
        fitted = self._state
        kernel = fitted.expansion.function if isinstance(fitted, ExactFit) else fitted.map.kernel
        divisors: FloatArray | None = kernel.divisors
        return divisors

    @property
    def gamma_(self) -> float | None:
        """γ as it was used; of a kernel matrix that was given, as it was asked for, or 1/n."""
        fitted = self._state
        if fitted.plan.kernel != "precomputed":
            gamma: float | None = fitted.plan.gamma
            return gamma
        return float(self.gamma) if is_a(self.gamma, Real) else 1.0 / self.n_features_in_

    @property
    def approximation_error_(self) -> float:
        """Estimated share of what an approximation misses; zero of an exact fit.

        Of the variance in the feature space (Nyström), or of the kernel matrix (features).
        """
        fitted = self._state
        return 0.0 if isinstance(fitted, ExactFit) else float(fitted.error)

    @property
    def n_components_(self) -> int:
        """Components kept."""
        return int(self._state.k)

    @property
    def n_samples_(self) -> int:
        """Rows used."""
        return int(self._state.n_samples)

    @property
    def n_dropped_(self) -> int:
        """Rows left out for missing values."""
        return int(self._state.dropped)

    @property
    def plan_(self) -> KernelPlan:
        """How the fit ran."""
        plan: KernelPlan = self._state.plan
        return plan

    @property
    def certificate_(self) -> Certificate:
        """What can be promised of it; of images, what their PCA can."""
        certificate: Certificate = self._state.certificate
        return certificate

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    @property
    def _dtype(self) -> np.dtype[Any]:
        dtype: np.dtype[Any] = self._state.dtype
        return dtype


def _frozen_rows(rows: Any) -> Any:
    """Dense or CSR rows, read-only."""
    if not isinstance(rows, np.ndarray):
        frozen(rows.data)
        return rows
    return frozen(rows)
