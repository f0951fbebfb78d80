"""Moments with the scatter on a device: the covariance route for torch and CuPy arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from princomp.linalg import EPS, FloatArray
from princomp.summaries.blocks import merged_mean
from princomp.summaries.centred import (
    ROUNDING,
    Centred,
    OnDevice,
    as_kind,
    check_remaining_scatter,
    constant_columns,
    lost_by_both,
    lost_by_removing,
    lost_by_zeroing,
    to_common_kind,
)
from princomp.summaries.device_sums import sums_of
from princomp.summaries.moments import Moments
from princomp.summaries.space import DeviceArray, DeviceTable, Space

_SINGLE = float(np.finfo(np.float32).eps)


def moments_on(table: DeviceTable, *, drop: bool, precise: bool) -> tuple[Moments, int]:
    """Moments of all rows of a table, and how many were left out for missing values."""
    sums = sums_of(table, drop=drop, precise=precise)
    if not sums.rows:
        return Moments.empty(table.p), sums.dropped
    zero = np.zeros(table.p)
    mean, low = merged_mean(sums.shift, zero, sums.offset, 1.0)
    unit = EPS if precise or table.dtype.itemsize == 8 else _SINGLE
    moments = DeviceMoments(
        sums.rows, sums.count, mean, low, sums.product, unit,
        space=table.space, diagonal=sums.squares,
    )  # fmt: skip
    return moments, sums.dropped


@dataclass(frozen=True, slots=True, eq=False)
class DeviceMoments(OnDevice, Moments):
    """Moments with ``scatter`` on a device; their means and diagonal are on the host.

    They merge with Moments on the host or a device, and the result is on this device. When pickled
    or saved, they become plain Moments, because a file or another process has no such device.

    Parameters
    ----------
    rows, count, mean, mean_low, unit, centred
        As in :class:`~princomp.summaries.Moments`.
    scatter : array of shape (p, p)
        In float64, on the device; never changed in place.
    space : Space
        The device.
    diagonal : ndarray of shape (p,)
        Diagonal of the scatter, on the host.
    """

    space: Space = None  # type: ignore[assignment]
    diagonal: FloatArray = None  # type: ignore[assignment]

    # Rows on the host are summarised on the host.
    empty = staticmethod(Moments.empty)
    of = staticmethod(Moments.of)

    kind = "Moments"

    @property
    def column_scatter(self) -> FloatArray:
        """Diagonal of the scatter (p,), on the host."""
        return self.diagonal

    def to_host(self) -> Moments:
        """Return Moments on the host; copies p² numbers."""
        return as_kind(Moments, self, scatter=self.space.get(self.scatter))

    def on_same_device(self, other: Moments) -> DeviceMoments:
        """Copy the scatter of another summary to this device."""
        if isinstance(other, DeviceMoments):
            if self.space.is_same_device(other.space):
                return other
            other = other.to_host()
        return self._with(other, self.space.put(other.scatter))

    def _with(self, like: Moments, scatter: DeviceArray, **changed: Any) -> DeviceMoments:
        """Return moments with this scatter and ``changed`` fields, and the others of ``like``."""
        diagonal = self.space.get(self.space.diagonal(scatter))
        changed |= {"scatter": scatter, "space": self.space, "diagonal": diagonal}
        return as_kind(DeviceMoments, like, **changed)

    def merge(self, other: Centred, *, overwrite: bool = False) -> Any:
        """Moments of the rows of both, on this device; if ``other`` has less detail, its kind."""
        if not isinstance(other, Moments):
            one, other = to_common_kind(self, other)
            return one.merge(other)
        joined = self._joined(other)
        if joined is None:
            return self if self.rows else other
        rows, count, mean, low, delta, delta_weight = joined
        scatter = self.scatter + self.on_same_device(other).scatter
        self.space.add_outer(scatter, delta_weight, self.space.put(delta))
        unit, lost = max(self.unit, other.unit), lost_by_both(self, other)
        return self._with(
            self, scatter, rows=rows, count=count, mean=mean, mean_low=low, unit=unit, lost=lost
        )

    def remove(self, other: Moments) -> Moments:
        """Moments of the rows of this one without those of ``other``.

        Raises
        ------
        ShapeError
            If ``other`` has more rows than this summary, or rows that were never added.
        """
        remaining = self._without(other)
        if remaining is None:
            return Moments.empty(self.p) if other.rows else self
        rows, count, mean, low, delta, delta_weight = remaining
        scatter = self.scatter - self.on_same_device(other).scatter
        self.space.add_outer(scatter, delta_weight, self.space.put(delta))
        # The rounding errors of the outer product are not symmetric, and may be large here.
        scatter = (scatter + scatter.T) * 0.5
        remaining_squares = self.space.get(self.space.diagonal(scatter))
        slack = check_remaining_scatter(self, other, remaining_squares)
        candidates, lost = (
            np.flatnonzero(remaining_squares <= slack),
            lost_by_removing(self, other, remaining_squares),
        )
        if candidates.size:
            indices = self.space.xp.asarray(candidates, device=self.space.device)
            products = self.space.get(self.space.xp.take(scatter, indices, axis=0))
            constant = constant_columns(candidates, products, slack)
            lost_by_zeroing(lost, constant, products[np.isin(candidates, constant)])
            for j in candidates.tolist():  # no variance may be negative
                scatter[j, j] = float(max(remaining_squares[j], slack[j] / ROUNDING))
            kept = np.ones(self.p)
            kept[constant] = 0.0
            mask = self.space.put(kept)
            scatter = scatter * mask[:, None] * mask
        unit = max(self.unit, other.unit)
        return self._with(
            self, scatter, rows=rows, count=count, mean=mean, mean_low=low, unit=unit, lost=lost
        )

    def faded(self, factor: float) -> DeviceMoments:
        """Moments of the same rows with their weights multiplied by ``factor``."""
        lost = None if self.lost is None else self.lost * factor
        return self._with(self, self.scatter * factor, rows=self.rows * factor, lost=lost)

    def scaled(self, divisor: FloatArray) -> DeviceMoments:
        """Moments of the rows divided by ``divisor`` (p,), column by column."""
        device_divisor = self.space.put(divisor)
        # Two divisions: the product of two divisors could overflow or underflow.
        scatter = self.scatter / device_divisor[:, None] / device_divisor
        mean, low = self.mean / divisor, self.mean_low / divisor
        lost = None if self.lost is None else self.lost / divisor / divisor
        return self._with(self, scatter, mean=mean, mean_low=low, lost=lost)

    def about_origin(self) -> DeviceMoments:
        """Take the scatter about zero instead of the mean."""
        scatter = self.scatter + 0.0
        self.space.add_outer(scatter, self.rows, self.space.put(self.mean))
        zero = np.zeros(self.p)
        return self._with(self, scatter, mean=zero, mean_low=zero, centred=False)
