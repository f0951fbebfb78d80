"""Rows on a device: summed, and multiplied with the axes of a fit, where they are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol, Self, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from princomp.engines.distributed import DistributedRows
from princomp.engines.partial_result import PartialResult, SummaryKind
from princomp.errors import NotAvailableError, ParameterError, PrincompError, ShapeError
from princomp.io import Chunk
from princomp.linalg import FloatArray
from princomp.solvers import Images, ImagesOf
from princomp.summaries import (
    Columns,
    DeviceBlock,
    Moments,
    Pair,
    PairOf,
    SketchOf,
    Space,
    Triangle,
    columns_on,
    extremes_on,
    first_fault,
    images_on,
    moments_on,
    rows_at_a_time,
    sketch_on,
    triangle_on,
)

T = TypeVar("T")

# If every mean is at most this many standard deviations from zero, products of rows that are not
# centred lose no significant digit. Otherwise rows are centred first, block by block.
_NEAR_ZERO = 2.0

# Axes of fits that were copied to a device; they are kept as long as the fit exists.
_axes_on_devices: WeakKeyDictionary[Any, dict[Any, Any]] = WeakKeyDictionary()


class Fitted(Protocol):
    """The parts of a fit that are copied to a device."""

    k: int

    @property
    def column_variances(self) -> FloatArray:
        """Variances of the columns."""

    def projection_parts(
        self, dtype: np.dtype[Any], *, whiten: bool
    ) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Return the mean in two parts, and the axes that rows are multiplied with."""

    def reconstruction_parts(
        self, dtype: np.dtype[Any], *, whiten: bool
    ) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Return the mean in two parts, and the axes that scores are multiplied with."""


@dataclass(kw_only=True, eq=False)
class AbstractDeviceRows(DistributedRows):
    """Rows that are read block by block on a device; a subclass implements ``blocks``.

    Parameters
    ----------
    space : Space
        The device.
    weights : array of shape (n,), optional
        Frequencies, on the device.
    """

    space: Space
    weights: Any = None

    resident = True

    def blocks(self, step: int) -> Iterator[DeviceBlock]:
        """Yield blocks of at most ``step`` rows, in order."""
        raise NotImplementedError

    def chunks(self, start: int = 0) -> Iterator[Chunk]:
        """Refuse: rows are not copied to the host implicitly."""
        raise NotAvailableError(
            f"this needs rows in the host's memory, but these are on {self.space.name}",
            hint="copy them there yourself: X.cpu() of a torch tensor, X.get() of a CuPy array",
        )

    def weighted(self, weights: Any) -> Self:
        """Return the same rows with frequencies, an array on the device or on the host.

        Raises
        ------
        ShapeError, ParameterError
        """
        xp, place = self.space.xp, {"parameter": "sample_weight"}
        if type(weights).__module__.partition(".")[0] in ("torch", "cupy", "array_api_strict"):
            on_device = xp.astype(weights, self.space.doubles)
        else:
            weights = np.asarray(weights, dtype=np.float64)
            if weights.ndim == 0:
                weights = np.full(self.rows, weights)
            on_device = self.space.put(weights)
        if tuple(on_device.shape) != (self.rows,):
            raise ShapeError(
                f"sample_weight has shape {tuple(on_device.shape)}, but there are {self.rows} rows",
                place=place,
                hint=f"give one weight per row: an array of shape ({self.rows},)",
            )
        valid = xp.isfinite(on_device) & (on_device >= 0)
        if not bool(xp.all(valid)):
            row = int(xp.argmax(xp.astype(~valid, xp.int8)))
            raise ParameterError(
                f"Negative values, NaN or infinity in sample_weight: sample_weight[{row}] is "
                f"{float(on_device[row]):g}",
                place={**place, "row": row},
                hint="weights are frequencies: finite and not negative",
            )
        return replace(self, weights=on_device)

    @property
    def has_weights(self) -> bool:
        """Whether the rows have frequencies."""
        return self.weights is not None

    def reduce(self, kind: SummaryKind, *, drop: bool, precise: bool) -> PartialResult:
        """Summarise all rows on the device in one pass."""
        rows = self.rows or 0
        try:
            with self.space.full_precision():
                summary, dropped = self._summary(kind, drop, precise)
        except PrincompError as error:
            return PartialResult(None, 0, rows, error)
        return PartialResult(summary, dropped, rows)

    def _summary(self, kind: SummaryKind, drop: bool, precise: bool) -> tuple[Any, int]:
        if isinstance(kind, PairOf):
            first, dropped = self._summary(kind.first, drop, precise)
            return Pair(first, extremes_on(self, drop=drop, rows=first.rows)), dropped
        if isinstance(kind, SketchOf):
            return sketch_on(self, kind, drop=drop, precise=precise)
        if isinstance(kind, ImagesOf):
            image = images_on(self, kind.vectors, kind.columns, kind.divisor, drop=drop)
            return Images(kind.columns.rows, image), 0
        assert isinstance(kind, type), kind
        if issubclass(kind, Triangle):
            return triangle_on(self, drop=drop)
        if issubclass(kind, Columns):
            return columns_on(self, drop=drop)
        assert issubclass(kind, Moments), kind
        return moments_on(self, drop=drop, precise=precise)

    def scores(self, fitted: Fitted, *, whiten: bool, drop: bool) -> Any:
        """Return the scores (n, k) in the rows' own kind of array, on their device.

        Raises
        ------
        NotFiniteError
            With the row counted over the table.
        """
        space = self.space
        copy = partial(_copy_axes, fitted, self.dtype, whiten, space)
        mean, mean_low, projection, offset = _cached(
            fitted, (space, self.dtype, whiten, "to"), copy
        )

        def project(rows: Any) -> Any:
            dtype, rows = rows.dtype, space.xp.astype(rows, projection.dtype, copy=False)
            if offset is None:
                scores = space.xp.matmul((rows - mean) - mean_low, projection)
            else:
                scores = space.xp.matmul(rows, projection)
                scores += offset
            return space.xp.astype(scores, dtype, copy=False)

        scores = self._map_blocks(project, at_once=offset is not None)
        if not fitted.k or not space.all_finite(scores):
            error = first_fault(self, drop)
            if error is not None:
                raise error
        return scores

    def reconstructed(self, fitted: Fitted, *, whiten: bool) -> Any:
        """Return rows (n, p) in the units of the data, from these scores (n, k)."""
        space = self.space
        copy = partial(_copy_axes_back, fitted, self.dtype, whiten, space)
        mean, mean_low, axes = _cached(fitted, (space, self.dtype, whiten, "from"), copy)

        def reconstruct(scores: Any) -> Any:
            rows = space.xp.matmul(scores, axes)
            rows += mean_low
            rows += mean
            return rows

        return self._map_blocks(reconstruct, at_once=True)

    def _map_blocks(self, function: Callable[[Any], Any], *, at_once: bool) -> Any:
        """Apply a function to blocks, or to all rows at once where that needs no copy."""
        space, working_dtype = self.space, self.space.dtype(self.dtype)
        step = rows_at_a_time(space, self.p)
        if at_once and isinstance(self, DeviceRows) and self.array.dtype == working_dtype:
            step = max(self.array.shape[0], 1)
        with space.full_precision():
            parts = [
                function(space.xp.astype(block.rows, working_dtype, copy=False))
                for block in self.blocks(step)
            ]
        return parts[0] if len(parts) == 1 else space.xp.concat(parts, axis=0)


@dataclass(kw_only=True, eq=False)
class DeviceRows(AbstractDeviceRows):
    """The rows of an array on a device.

    Parameters
    ----------
    array : array of shape (n, p)
        float32, float64, or of a dtype that is converted block by block.
    """

    array: Any

    def blocks(self, step: int) -> Iterator[DeviceBlock]:
        """Yield slices of the array."""
        rows = self.array.shape[0]
        for start in range(0, rows, step):
            stop = min(start + step, rows)
            weights = None if self.weights is None else self.weights[start:stop]
            yield DeviceBlock(start, self.array[start:stop, :], weights)


def _cached(fitted: Fitted, key: tuple[object, ...], copy: Callable[[], T]) -> T:
    """Return the arrays that a fit needs on a device, copied there once."""
    arrays = _axes_on_devices.setdefault(fitted, {})
    if key not in arrays:
        arrays[key] = copy()
    return arrays[key]


def _copy_axes(fitted: Fitted, dtype: np.dtype[Any], whiten: bool, space: Space) -> Any:
    """Copy the mean in two parts, the axes, and the offset of a product without centring.

    The offset is None where that product would lose digits.
    """
    mean, mean_low, projection = fitted.projection_parts(dtype, whiten=whiten)
    dtype = projection.dtype  # float64 where the axes overflow float32
    offset: FloatArray | None = None
    if (mean**2 <= _NEAR_ZERO**2 * fitted.column_variances).all():
        exact_mean = mean.astype(np.float64) + mean_low
        offset = space.put(-(exact_mean @ projection.astype(np.float64)), dtype)
    return space.put(mean, dtype), space.put(mean_low, dtype), space.put(projection, dtype), offset


def _copy_axes_back(fitted: Fitted, dtype: np.dtype[Any], whiten: bool, space: Space) -> Any:
    """Copy the mean in two parts, and the axes."""
    mean, mean_low, axes = fitted.reconstruction_parts(dtype, whiten=whiten)
    return tuple(space.put(part, dtype) for part in (mean, mean_low, axes))
