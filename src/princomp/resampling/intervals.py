"""What resamples come to: intervals, angles, tables."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

from princomp.arrays import FloatArray
from princomp.errors import ParameterError

__all__ = ["Bootstrap"]


@dataclass(frozen=True, eq=False)
class Bootstrap:
    """Intervals of a PCA by resampling its rows, component by component.

    Attributes
    ----------
    n, level, align : as they were asked for
    variances, rates : ndarray of shape (k,)
        Of the model, as are the loadings.
    loadings : ndarray of shape (p, k)
    variance_interval, rate_interval : ndarray of shape (2, k)
        Lower and upper end: quantiles of the resamples.
    loading_interval : ndarray of shape (2, p, k)
    variance_error, rate_error : ndarray of shape (k,)
        Standard deviations over the resamples.
    loading_error : ndarray of shape (p, k)
    angles : ndarray of shape (n, k)
        Degrees from each axis to that of the same number in a resample, 0 to 90.
    space_angles : ndarray of shape (n,)
        Degrees from the space of all k axes to that of a resample: the largest angle. Small
        where single axes turn, it says that these k go together.
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

    def angle_quantiles(self, quantiles: Any = (0.5, 0.95)) -> FloatArray:
        """Quantiles of the angles of each axis in degrees, shape (len(quantiles), k)."""
        return np.asarray(np.quantile(self.angles, quantiles, axis=0))

    def space_quantiles(self, quantiles: Any = (0.5, 0.95)) -> FloatArray:
        """Quantiles of the angle of the space of all k axes in degrees, (len(quantiles),)."""
        return np.asarray(np.quantile(self.space_angles, quantiles))

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON; of the angles their quantiles at 50% and 95%."""
        return {
            "n": self.n,
            "level": self.level,
            "align": self.align,
            "columns": None if self.columns is None else list(self.columns),
            "variances": self.variances.tolist(),
            "variance_interval": self.variance_interval.tolist(),
            "variance_error": self.variance_error.tolist(),
            "rates": self.rates.tolist(),
            "rate_interval": self.rate_interval.tolist(),
            "rate_error": self.rate_error.tolist(),
            "loadings": self.loadings.tolist(),
            "loading_interval": self.loading_interval.tolist(),
            "loading_error": self.loading_error.tolist(),
            "angles": self.angle_quantiles().tolist(),
            "space_angles": self.space_quantiles().tolist(),
        }

    def to_frame(self, what: str = "components") -> Any:
        """A tidy table: a pandas frame where pandas is imported, else a dict of arrays.

        Parameters
        ----------
        what : {"components", "loadings", "intervals"}, default="components"
            A row a component: variance, rate, their intervals, angles. Or a row a column of
            the data and component: the loading and its interval. Or all intervals in one, a
            row each: ``quantity`` ("variance", "rate", "loading"), ``component``, ``variable``
            (None but for a loading), ``value``, ``low``, ``high``, ``error``.

        Raises
        ------
        ParameterError
        """
        found = self.columns_of(what)
        pandas = sys.modules.get("pandas")
        return found if pandas is None else pandas.DataFrame(found)

    def columns_of(self, what: str = "components") -> dict[str, Any]:
        """The columns of :meth:`to_frame` as arrays by name.

        Raises
        ------
        ParameterError
        """
        tables = {
            "components": self._components,
            "loadings": self._loadings,
            "intervals": self._intervals,
        }
        if what not in tables:
            raise ParameterError(
                f"what={what!r} is not known",
                place={"parameter": "what"},
                hint=f"choose one of {', '.join(map(repr, tables))}",
            )
        return tables[what]()

    def _intervals(self) -> dict[str, Any]:
        loadings, k = self._loadings(), len(self.variances)
        names = np.array([f"PC{a + 1}" for a in range(k)], object)
        lines = len(loadings["loading"])
        parts = {
            "quantity": (["variance"] * k, ["rate"] * k, ["loading"] * lines),
            "component": (names, names, loadings["component"]),
            "variable": ([None] * k, [None] * k, loadings["variable"]),
            "value": (self.variances, self.rates, loadings["loading"]),
            "low": (self.variance_interval[0], self.rate_interval[0], loadings["low"]),
            "high": (self.variance_interval[1], self.rate_interval[1], loadings["high"]),
            "error": (self.variance_error, self.rate_error, loadings["error"]),
        }
        return {
            name: np.concatenate([np.asarray(one, _kind(name)) for one in part])
            for name, part in parts.items()
        }

    def _components(self) -> dict[str, Any]:
        median, high = self.angle_quantiles()
        return {
            "component": np.array([f"PC{a + 1}" for a in range(len(self.variances))], object),
            "variance": self.variances,
            "variance_low": self.variance_interval[0],
            "variance_high": self.variance_interval[1],
            "rate": self.rates,
            "rate_low": self.rate_interval[0],
            "rate_high": self.rate_interval[1],
            "angle_median": median,
            "angle_95": high,
        }

    def _loadings(self) -> dict[str, Any]:
        p, k = self.loadings.shape
        names = self.columns or tuple(f"x{j}" for j in range(p))
        low, high = self.loading_interval
        return {
            "variable": np.repeat(np.array(names, dtype=object), k),
            "component": np.tile(np.array([f"PC{a + 1}" for a in range(k)], object), p),
            "loading": self.loadings.ravel(),
            "low": low.ravel(),
            "high": high.ravel(),
            "error": self.loading_error.ravel(),
        }

    def __str__(self) -> str:
        median, high = self.angle_quantiles()
        lines = [f"Bootstrap of {self.n:,} resamples, {self.level:.0%} intervals"]
        for a, variance in enumerate(self.variances):
            low, top = self.variance_interval[:, a]
            least, most = self.rate_interval[:, a]
            lines.append(
                f"  PC{a + 1:<3} variance {variance:.4g} [{low:.4g}, {top:.4g}], "
                f"rate {self.rates[a]:.1%} [{least:.1%}, {most:.1%}], "
                f"axis turns {median[a]:.1f}°, 95% below {high[a]:.1f}°"
            )
        if self.space_angles.size and len(self.variances):
            middle, top = self.space_quantiles()
            lines.append(f"  space of all: turns {middle:.1f}°, 95% below {top:.1f}°")
        return "\n".join(lines)


def _kind(name: str) -> Any:
    return object if name in ("quantity", "component", "variable") else np.float64
