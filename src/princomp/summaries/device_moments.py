"""Moments with the scatter on a device: the covariance route for torch and CuPy arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from princomp.linalg import FloatArray
from princomp.summaries.block_moments import products_unit
from princomp.summaries.centred import OnDevice, as_kind
from princomp.summaries.device_sums import sums_of
from princomp.summaries.moments import Moments
from princomp.summaries.space import DeviceArray, DeviceTable, Space


def moments_on(table: DeviceTable, *, drop: bool, precise: bool) -> tuple[Moments, int]:
    """Moments of all rows of a table, and how many were left out for missing values."""
    sums = sums_of(table, drop=drop, precise=precise)
    if not sums.rows:
        return Moments.empty(table.p), sums.dropped
    moments = DeviceMoments(
        **sums.fields,
        **sums.errors(products_unit(table.dtype, precise)),
        scatter=sums.product,
        space=table.space,
        diagonal=sums.squares,
    )
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
        scatter, diagonal = self.space.put(other.scatter), np.array(other.column_scatter)
        return as_kind(DeviceMoments, other, scatter=scatter, space=self.space, diagonal=diagonal)

    def _with(self, scatter: DeviceArray, **changes: Any) -> DeviceMoments:
        """Return moments of this kind with another scatter and other fields."""
        return as_kind(
            DeviceMoments, self, scatter=scatter, diagonal=self._diagonal(scatter), **changes
        )

    def _diagonal(self, scatter: DeviceArray) -> FloatArray:
        """Return the diagonal of a scatter (p,), on the host."""
        return self.space.get(self.space.diagonal(scatter))

    def _rows_of(self, scatter: DeviceArray, indices: NDArray[np.intp]) -> FloatArray:
        """Return a copy of some rows of a scatter (m, p), on the host."""
        xp, device = self.space.xp, self.space.device
        return self.space.get(xp.take(scatter, xp.asarray(indices, device=device), axis=0))

    def _add_outer(self, scatter: DeviceArray, factor: float, vector: FloatArray) -> None:
        """Add ``factor · vector vectorᵀ`` to a scatter in place."""
        self.space.add_outer(scatter, factor, self.space.put(vector))

    def _sum_with_outer(
        self, added: DeviceArray, factor: float, vector: FloatArray, *, overwrite: bool
    ) -> DeviceArray:
        """Return the sum of two scatters and ``factor · vector vectorᵀ``."""
        scatter = self.scatter + added
        self._add_outer(scatter, factor, vector)
        return scatter
