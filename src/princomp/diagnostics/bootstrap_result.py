"""The result of a bootstrap: intervals, angles, tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from princomp.core import check_parameter, one_of
from princomp.diagnostics.tables import pair_columns, pandas_or_dict
from princomp.errors import invalid_value
from princomp.linalg import FloatArray


@dataclass(frozen=True, eq=False)
class Bootstrap:
    """Bootstrap intervals of a PCA, by component.

    Attributes
    ----------
    n, level, align : as given to :func:`princomp.bootstrap`
    variances, rates : ndarray of shape (k,)
        Variances and contribution rates of the model.
    loadings : ndarray of shape (p, k)
    variance_interval, rate_interval : ndarray of shape (2, k)
        Lower and upper limits: quantiles of the resamples.
    loading_interval : ndarray of shape (2, p, k)
    variance_error, rate_error : ndarray of shape (k,)
        Standard deviations over the resamples.
    loading_error : ndarray of shape (p, k)
    angles : ndarray of shape (n, k)
        Angles in degrees, 0 to 90, between each axis and that of a resample.
    space_angles : ndarray of shape (n,)
        Largest angle in degrees between the space of all k axes and that of a resample. If it
        is small although single axes turn, only the space as a whole is stable.
    columns : tuple of str or None
    """

    n: int
    level: float
    align: str
    variances: FloatArray
    rates: FloatArray
    loadings: FloatArray
    variance_interval: FloatArray
    rate_interval: FloatArray
    loading_interval: FloatArray
    variance_error: FloatArray
    rate_error: FloatArray
    loading_error: FloatArray
    angles: FloatArray
    space_angles: FloatArray
    columns: tuple[str, ...] | None = None

    def angle_quantiles(self, quantiles: Sequence[float] = (0.5, 0.95)) -> FloatArray:
        """Return quantiles of the angles of each axis in degrees, shape (len(quantiles), k)."""
        return _quantiles(self.angles, quantiles)

    def space_quantiles(self, quantiles: Sequence[float] = (0.5, 0.95)) -> FloatArray:
        """Return quantiles of the angle of the space of all k axes, shape (len(quantiles),)."""
        return _quantiles(self.space_angles, quantiles)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, with the 50% and 95% quantiles of the angles."""
        arrays = (
            *("variances", "variance_interval", "variance_error"),
            *("rates", "rate_interval", "rate_error"),
            *("loadings", "loading_interval", "loading_error"),
        )
        return {
            "n": self.n,
            "level": self.level,
            "align": self.align,
            "columns": None if self.columns is None else list(self.columns),
            **{name: getattr(self, name).tolist() for name in arrays},
            "angles": self.angle_quantiles().tolist(),
            "space_angles": self.space_quantiles().tolist(),
        }

    def to_frame(self, what: str = "components") -> Any:
        """Return a tidy table: a pandas frame if pandas is imported, else a dict of arrays.

        Parameters
        ----------
        what : {"components", "loadings", "intervals"}, default="components"
            "components": one row for each component with its variance, rate, their intervals
            and angles. "loadings": one row for each variable and component. "intervals": one
            row for each interval: ``quantity`` ("variance", "rate", "loading"), ``component``,
            ``variable`` (of a loading, else None), ``value``, ``low``, ``high``, ``error``.

        Raises
        ------
        ParameterError
        """
        return pandas_or_dict(self.columns_of(what))

    def columns_of(self, what: str = "components") -> dict[str, NDArray[Any]]:
        """Return the columns of :meth:`to_frame` as arrays by name.

        Raises
        ------
        ParameterError
        """
        tables = {
            "components": self._components,
            "loadings": self._loadings,
            "intervals": self._intervals,
        }
        check_parameter("what", what, one_of(*tables))
        return tables[what]()

    @property
    def _names(self) -> NDArray[Any]:
        return np.array([f"PC{a + 1}" for a in range(len(self.variances))], object)

    def _intervals(self) -> dict[str, NDArray[Any]]:
        loadings, k, names = self._loadings(), len(self.variances), self._names
        quantities = np.array(["variance", "rate", "loading"], dtype=object)
        parts = {
            "component": (names, names, loadings["component"]),
            "variable": (np.full(2 * k, None), loadings["variable"]),
            "value": (self.variances, self.rates, loadings["loading"]),
            "low": (self.variance_interval[0], self.rate_interval[0], loadings["low"]),
            "high": (self.variance_interval[1], self.rate_interval[1], loadings["high"]),
            "error": (self.variance_error, self.rate_error, loadings["error"]),
        }
        return {
            "quantity": np.repeat(quantities, [k, k, len(loadings["loading"])]),
            **{name: np.concatenate(arrays) for name, arrays in parts.items()},
        }

    def _components(self) -> dict[str, NDArray[Any]]:
        median, high = self.angle_quantiles()
        return {
            "component": self._names,
            "variance": self.variances,
            "variance_low": self.variance_interval[0],
            "variance_high": self.variance_interval[1],
            "rate": self.rates,
            "rate_low": self.rate_interval[0],
            "rate_high": self.rate_interval[1],
            "angle_median": median,
            "angle_95": high,
        }

    def _loadings(self) -> dict[str, NDArray[Any]]:
        variables = self.columns or tuple(f"x{j}" for j in range(len(self.loadings)))
        names = {"variable": np.array(variables, dtype=object), "component": self._names}
        low, high = self.loading_interval
        measures = {"loading": self.loadings, "low": low, "high": high, "error": self.loading_error}
        return pair_columns(names, measures, long=True)

    def __str__(self) -> str:
        median, high = self.angle_quantiles()
        lines = [f"Bootstrap of {self.n:,} resamples, {100 * self.level:.10g}% intervals"]
        for a, variance in enumerate(self.variances):
            low, top = self.variance_interval[:, a]
            rate_low, rate_high = self.rate_interval[:, a]
            lines.append(
                f"  PC{a + 1:<3} variance {variance:.4g} [{low:.4g}, {top:.4g}], "
                f"rate {self.rates[a]:.1%} [{rate_low:.1%}, {rate_high:.1%}], "
                f"axis turns {median[a]:.1f}° (median), 95% below {high[a]:.1f}°"
            )
        if self.space_angles.size and len(self.variances):
            middle, top = self.space_quantiles()
            lines.append(f"  space of all axes turns {middle:.1f}° (median), 95% below {top:.1f}°")
        return "\n".join(lines)


def _quantiles(values: FloatArray, quantiles: Sequence[float]) -> FloatArray:
    try:
        return np.asarray(np.quantile(values, quantiles, axis=0))
    except (TypeError, ValueError):
        raise invalid_value(
            "quantiles", quantiles, "numbers from 0 to 1", "(0.5, 0.95) is usual"
        ) from None
