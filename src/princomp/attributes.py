"""The fitted attributes of the estimator: names with a trailing underscore, read from the record.

Nothing is stored twice: each property asks the immutable :class:`~princomp.fitted.Fitted`.
"""

from __future__ import annotations

from dataclasses import fields

import numpy as np
from sklearn.exceptions import NotFittedError

from princomp.arrays import FloatArray, frozen
from princomp.certificate import Certificate
from princomp.choosing import Decision
from princomp.fitted import Fitted
from princomp.pending import Pending
from princomp.planning import Plan
from princomp.summaries import Columns, Moments, Sketch, Triangle

__all__ = ["FittedAttributes"]


class FittedAttributes:
    """Read-only attributes of a fitted model."""

    # A model that is not fitted has none.
    _fitted: Fitted | Pending

    @property
    def _state(self) -> Fitted:
        fitted: Fitted | Pending | None = self.__dict__.get("_fitted")
        if type(fitted) is Pending:
            return fitted.fitted
        if fitted is None:
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' with rows "
                "before using it."
            )
        assert isinstance(fitted, Fitted)
        return fitted

    def _names(self) -> tuple[str, ...] | None:
        names = self.__dict__.get("feature_names_in_")
        return None if names is None else tuple(names)

    def __sklearn_is_fitted__(self) -> bool:
        return "_fitted" in self.__dict__

    @property
    def components_(self) -> FloatArray:
        """Axes (k, p)."""
        return self._state.components

    @property
    def explained_variance_(self) -> FloatArray:
        """Variances (k,)."""
        return self._state.variances

    @property
    def explained_variance_ratio_(self) -> FloatArray:
        """Contribution rates (k,)."""
        return self._state.rates

    @property
    def contribution_rate_(self) -> FloatArray:
        """Variance of each component over the total variance (k,)."""
        return self._state.rates

    @property
    def accumulated_rate_(self) -> FloatArray:
        """Running sum of the contribution rates (k,)."""
        return self._state.spectrum.accumulated[: self._state.k]

    @property
    def singular_values_(self) -> FloatArray:
        """√((n − 1) λ) (k,)."""
        return self._state.singular_values

    @property
    def loadings_(self) -> FloatArray:
        """Axes times √λ (p, k)."""
        return self._state.loadings

    @property
    def mean_(self) -> FloatArray:
        """Column means (p,)."""
        return self._state.mean

    @property
    def var_(self) -> FloatArray:
        """Column variances (p,), in squared units of the data."""
        return self._state.column_variances

    @property
    def scale_(self) -> FloatArray | None:
        """What the columns were divided by (p,)."""
        scale = self._state.scale
        return None if scale is None else frozen(scale)

    @property
    def total_variance_(self) -> float:
        """Sum of all p variances of the analysed columns."""
        return self._state.spectrum.total

    @property
    def noise_variance_(self) -> float:
        """Mean variance of the components left out."""
        return self._state.noise_variance

    @property
    def n_components_(self) -> int:
        """Components kept."""
        return self._state.k

    @property
    def decision_(self) -> Decision | None:
        """What the rule said that chose ``n_components_``; None where none did."""
        return self._state.decision

    @property
    def n_samples_(self) -> int | None:
        """Rows used."""
        return self._state.n_samples

    @property
    def n_dropped_(self) -> int:
        """Rows left out for missing values."""
        return self._state.dropped

    @property
    def plan_(self) -> Plan:
        """How the fit ran."""
        return self._state.plan

    @property
    def certificate_(self) -> Certificate:
        """What can be promised of it."""
        return self._state.certificate

    @property
    def summary_(self) -> Moments | Triangle | Columns | Sketch:
        """What was kept of the rows."""
        held: Moments | Triangle | Columns | Sketch = self._state.summary.held()
        for field in fields(held):
            if isinstance(value := getattr(held, field.name), np.ndarray):
                frozen(value)
        return held

    @property
    def _n_features_out(self) -> int:
        return self._state.k
