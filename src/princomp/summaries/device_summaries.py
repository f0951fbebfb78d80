"""Moments and Triangle whose matrix stays on a device, for torch and CuPy arrays."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from princomp.linalg import FloatArray, restore_underflowed
from princomp.summaries.blocks import merged_mean, sum_overflow
from princomp.summaries.centred import Centred, OnDevice, as_kind
from princomp.summaries.device_faults import check_read_once, counted_rows, first_fault
from princomp.summaries.device_sums import sums_of
from princomp.summaries.moments import Moments, products_unit
from princomp.summaries.pair import Pair
from princomp.summaries.space import DeviceArray, DeviceTable, Space
from princomp.summaries.triangle import Triangle, compressed


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

    @property
    def column_scatter(self) -> FloatArray:
        """Diagonal of the scatter (p,), on the host."""
        return self.diagonal

    def to_host(self) -> Moments:
        """Return Moments on the host; copies p² numbers."""
        return as_kind(Moments, self, scatter=self.space.get(self.scatter))

    def on_same_device(self, other: Moments) -> DeviceMoments:
        """Copy the scatter of another summary to this device."""
        if isinstance(other, DeviceMoments) and self.space.is_same_device(other.space):
            return other
        moments: DeviceMoments = summary_on(self.space, other.to_host())
        return moments

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

    def _joint_scatter(self, added: Any, factor: float, vector: FloatArray, overwrite: bool) -> Any:
        """Return the sum of two scatters and ``factor · vector vectorᵀ``."""
        scatter = self.scatter + added
        self._add_outer(scatter, factor, vector)
        return scatter


@dataclass(frozen=True, slots=True, eq=False)
class DeviceTriangle(OnDevice, Triangle):
    """A Triangle with ``factor`` on a device; its means are on the host.

    When merged or pickled, it becomes a plain Triangle: factors are small compared with the rows.

    Parameters
    ----------
    rows, count, mean, mean_low, factor, centred
        As in :class:`~princomp.summaries.Triangle`; the factor is on the device, in float64.
    space : Space
        The device.
    """

    space: Space = None  # type: ignore[assignment]

    @property
    def column_scatter(self) -> FloatArray:
        """Diagonal of the scatter (p,), on the host."""
        xp, factor = self.space.xp, self.factor
        if not factor.shape[0]:
            return np.zeros(self.p)
        sums = xp.stack([xp.sum(factor * factor, axis=0), xp.max(xp.abs(factor), axis=0)])
        return restore_underflowed(*self.space.get(sums))

    def to_host(self) -> Triangle:
        """Return a Triangle in this process's memory."""
        return as_kind(Triangle, self, factor=self.space.get(self.factor))

    def merge(self, other: Centred) -> Any:
        """Triangle of the rows of both; if ``other`` has less detail, a summary of its kind."""
        return self.to_host().merge(other)

    def about_origin(self) -> DeviceTriangle:
        """Take the scatter about zero instead of the mean."""
        mean = self.space.put(np.sqrt(self.rows) * self.mean)
        factor = _compressed(self.space, [self.factor, mean[None, :]])
        return replace(self, factor=factor, **self._fields_about_origin())


def summary_on(space: Space, summary: object) -> Any:
    """Copy Moments or a Triangle from the host to a device; other summaries stay on the host."""
    if isinstance(summary, Pair):
        return Pair(summary_on(space, summary.first), summary.second)
    if type(summary) is Moments:
        scatter, diagonal = space.put(summary.scatter), np.array(summary.column_scatter)
        return as_kind(DeviceMoments, summary, scatter=scatter, space=space, diagonal=diagonal)
    if type(summary) is Triangle:
        factor = space.put(summary.factor)
        return as_kind(DeviceTriangle, summary, factor=factor, space=space)
    return summary


def triangle_on(table: DeviceTable, *, drop: bool) -> tuple[Triangle, int]:
    """Triangle of all rows of a table, and how many were left out for missing values.

    Raises
    ------
    NotFiniteError
        For NaN or infinity, with its row in the table, or if sums overflow.
    """
    space, xp, p = table.space, table.space.xp, table.p
    step = max(space.block_size // p, 2 * p)
    factor, shift, mean = space.zeros(0, p), None, space.zeros(p)
    rows, count, dropped = 0.0, 0, 0
    for block in table.blocks(step):
        part = xp.astype(block.rows, space.doubles)
        kept, missing = counted_rows(space, part, block.weights, drop)
        added, weight, weights = part.shape[0], float(part.shape[0]), block.weights
        if kept is not None:
            added = int(xp.count_nonzero(kept))
            dropped += int(xp.count_nonzero(missing))
            weights = xp.astype(kept, space.doubles) * (1.0 if weights is None else weights)
            weight = float(xp.sum(weights))
            part = xp.where(kept[:, None], part, xp.zeros_like(part))
        if not added:
            continue
        if shift is None:
            # Shift by the mean of the first block, so that large numbers lose fewer digits. This
            # mean is computed about a row, so it is exact for constant columns.
            row = part[int(xp.argmax(weights)) if weights is not None else 0, :]
            shift = row + _mean_of(xp, part - row, weights, weight)
        part = part - shift
        block_mean = _mean_of(xp, part, weights, weight)
        part = part - block_mean
        if weights is not None:
            part = part * xp.sqrt(weights)[:, None]
        delta, total = block_mean - mean, rows + weight
        delta_weight = (rows * weight / total) ** 0.5
        factor = _compressed(space, [factor, part, (delta_weight * delta)[None, :]])
        mean = mean + delta * (weight / total)
        rows, count = total, count + added
        check_read_once(table, block, mean, drop=drop)
    if not rows:
        return Triangle.empty(p), dropped
    if not (space.all_finite(mean) and space.all_finite(factor)):
        error = first_fault(table, drop) if table.repeatable else None
        raise error or sum_overflow()
    high, low = merged_mean(space.get(shift), np.zeros(p), space.get(mean), 1.0)
    return DeviceTriangle(rows, count, high, low, factor, space=space), dropped


def _mean_of(xp: Any, part: DeviceArray, weights: DeviceArray, weight: float) -> Any:
    if weights is None:
        return xp.mean(part, axis=0)
    return xp.sum(part * weights[:, None], axis=0) / weight


def _compressed(space: Space, parts: list[DeviceArray]) -> Any:
    """Return at most 2p rows R with the same product RᵀR as these parts of a matrix."""
    xp = space.xp
    factored = space.qr_r or (lambda matrix: xp.linalg.qr(matrix, mode="reduced")[1])
    return compressed(xp.concat(parts, axis=0), factored, xp)
