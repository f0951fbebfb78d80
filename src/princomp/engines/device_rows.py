"""Rows on a device: summed, and multiplied with the axes of a fit, where they lie."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self
from weakref import WeakKeyDictionary

import numpy as np

from princomp.arrays import FloatArray
from princomp.engines.distributed import Distributed
from princomp.engines.shares import Share
from princomp.errors import NotAvailableError, ParameterError, PrincompError, ShapeError
from princomp.solvers.krylov import Images, ImagesOf
from princomp.sources.source import Chunk
from princomp.summaries import Columns, Moments, Pair, PairOf, SketchOf, Triangle
from princomp.summaries.device_gram import rows_at_a_time
from princomp.summaries.device_moments import moments_on
from princomp.summaries.device_products import columns_on, extremes_on, images_on, sketch_on
from princomp.summaries.device_sums import first_fault
from princomp.summaries.device_triangle import triangle_on
from princomp.summaries.space import DeviceBlock, Space

__all__ = ["DeviceRows", "OnDevice"]

# Where every mean is at most this many deviations from zero, a product of the rows as they
# stand loses no digit that matters; else they are centred first, block by block.
_NEAR_ZERO = 2.0

# Axes of a fit that were copied to a device, as long as the fit is there.
_copied: WeakKeyDictionary[Any, dict[Any, Any]] = WeakKeyDictionary()


@dataclass(kw_only=True, eq=False)
class OnDevice(Distributed):
    """Rows whose blocks can be had on a device; a subclass gives ``blocks``.

    Parameters
    ----------
    space : Space
        Where.
    weights : array of shape (n,), optional
        Frequencies, there.
    """

    space: Space
    weights: Any = None

    # They are added and multiplied as a whole, by what stands here.
    together = True

    def blocks(self, step: int) -> Iterator[DeviceBlock]:
        """Blocks of at most ``step`` rows, in order."""
        raise NotImplementedError

    def chunks(self, start: int = 0) -> Iterator[Chunk]:
        """Refuse: no row is copied to the host unasked."""
        raise NotAvailableError(
            f"this works on rows in the host's memory, and these are on {self.space.name}",
            hint="copy them there yourself: X.cpu() of a torch tensor, X.get() of a CuPy array",
        )

    def weighted(self, weights: Any) -> Self:
        """The same rows with frequencies, an array on the device or of the host.

        Raises
        ------
        ShapeError, ParameterError
        """
        xp, place = self.space.xp, {"parameter": "sample_weight"}
        if type(weights).__module__.partition(".")[0] in ("torch", "cupy", "array_api_strict"):
            there = xp.astype(weights, self.space.doubles)
        else:
            there = self.space.put(weights)
        if tuple(there.shape) != (self.rows,):
            raise ShapeError(
                f"sample_weight has shape {tuple(there.shape)}, and there are {self.rows} rows",
                place=place,
                hint=f"give one weight a row: an array of shape ({self.rows},)",
            )
        lawful = xp.isfinite(there) & (there >= 0)
        if not bool(xp.all(lawful)):
            row = int(xp.argmax(xp.astype(~lawful, xp.int8)))
            raise ParameterError(
                f"Negative values, NaN or infinity in sample_weight: sample_weight[{row}] is "
                f"{float(there[row]):g}",
                place={**place, "row": row},
                hint="weights are frequencies: finite and not below 0",
            )
        return replace(self, weights=there)

    @property
    def has_weights(self) -> bool:
        """Whether the rows have frequencies."""
        return self.weights is not None

    # ---- rows in, a summary out ------------------------------------------------------

    def share(self, kind: Any, *, drop: bool, precise: bool) -> Share:
        """All rows folded into ``kind`` on the device."""
        rows = self.rows or 0
        try:
            with self.space.exact():
                summary, dropped = self._summary(kind, drop, precise)
        except PrincompError as error:
            return Share(None, 0, rows, error)
        return Share(summary, dropped, rows)

    def _summary(self, kind: Any, drop: bool, precise: bool) -> tuple[Any, int]:
        if isinstance(kind, PairOf):
            first, dropped = self._summary(kind.first, drop, precise)
            return Pair(first, extremes_on(self, drop=drop, rows=first.rows)), dropped
        if isinstance(kind, SketchOf):
            return sketch_on(self, kind, drop=drop, precise=precise)
        if isinstance(kind, ImagesOf):
            image = images_on(self, kind.vectors, kind.columns, kind.divisor, drop=drop)
            return Images(kind.columns.rows, image), 0
        if issubclass(kind, Triangle):
            return triangle_on(self, drop=drop)
        if issubclass(kind, Columns):
            return columns_on(self, drop=drop)
        assert issubclass(kind, Moments), kind
        return moments_on(self, drop=drop, precise=precise)

    # ---- scores and back -------------------------------------------------------------

    def scores(self, fitted: Any, *, whiten: bool, drop: bool) -> Any:
        """Scores (n, k) of a fit, in the rows' own kind of array, on their device.

        Raises
        ------
        NotFiniteError
            With the row counted over the table.
        """
        space = self.space
        made = partial(_towards, fitted, self.dtype, whiten, space)
        first, rest, right, offset = _there(fitted, (space, self.dtype, whiten, "to"), made)

        def of(rows: Any) -> Any:
            given, rows = rows.dtype, space.xp.astype(rows, right.dtype, copy=False)
            if offset is None:
                found = space.xp.matmul((rows - first) - rest, right)
            else:
                found = space.xp.matmul(rows, right)
                found += offset
            return space.xp.astype(found, given, copy=False)

        found = self._each(of, whole=offset is not None)
        if not fitted.k or not space.all_finite(found):
            error = first_fault(self, drop)
            if error is not None:
                raise error
        return found

    def reconstructed(self, fitted: Any, *, whiten: bool) -> Any:
        """Rows (n, p) in the units of the data, from these scores (n, k)."""
        space = self.space
        made = partial(_back, fitted, self.dtype, whiten, space)
        first, rest, axes = _there(fitted, (space, self.dtype, whiten, "from"), made)

        def of(scores: Any) -> Any:
            rows = space.xp.matmul(scores, axes)
            rows += rest
            rows += first
            return rows

        return self._each(of, whole=True)

    def _each(self, of: Callable[[Any], Any], *, whole: bool) -> Any:
        """``of`` the rows in the precision of the work, all at once where that needs no copy."""
        space, work = self.space, self.space.dtype(self.dtype)
        step = rows_at_a_time(space, self.p)
        if whole and isinstance(self, DeviceRows) and self.array.dtype == work:
            step = max(self.array.shape[0], 1)
        with space.exact():
            parts = [
                of(space.xp.astype(block.rows, work, copy=False)) for block in self.blocks(step)
            ]
        return parts[0] if len(parts) == 1 else space.xp.concat(parts, axis=0)


@dataclass(kw_only=True, eq=False)
class DeviceRows(OnDevice):
    """An array that is on a device.

    Parameters
    ----------
    array : array of shape (n, p)
        float32, float64, or of numbers that are converted block by block.
    """

    array: Any

    def blocks(self, step: int) -> Iterator[DeviceBlock]:
        """Slices of the array."""
        rows = self.array.shape[0]
        for start in range(0, rows, step):
            stop = min(start + step, rows)
            weights = None if self.weights is None else self.weights[start:stop]
            yield DeviceBlock(start, self.array[start:stop, :], weights)


# ---- what a fit sends to a device --------------------------------------------------------


def _there(fitted: Any, key: Any, make: Callable[[], Any]) -> Any:
    """What a fit needs on a device, copied there once."""
    kept = _copied.setdefault(fitted, {})
    if key not in kept:
        kept[key] = make()
    return kept[key]


def _towards(fitted: Any, dtype: np.dtype[Any], whiten: bool, space: Space) -> Any:
    """The mean in two parts, the axes, and what a product without centring lacks, if it may."""
    first, rest, right = fitted.towards_axes(dtype, whiten=whiten)
    dtype = right.dtype  # float64 where the axes overflow float32
    offset: FloatArray | None = None
    if (first**2 <= _NEAR_ZERO**2 * fitted.column_variances).all():
        mean = first.astype(np.float64) + rest
        offset = space.put(-(mean @ right.astype(np.float64)), dtype)
    return space.put(first, dtype), space.put(rest, dtype), space.put(right, dtype), offset


def _back(fitted: Any, dtype: np.dtype[Any], whiten: bool, space: Space) -> Any:
    first, rest, axes = fitted.from_axes(dtype, whiten=whiten)
    return tuple(space.put(part, dtype) for part in (first, rest, axes))
