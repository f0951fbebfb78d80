"""Rows on a device: summed, and multiplied with the axes of a fit, where they are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Self
from weakref import WeakKeyDictionary

import numpy as np

from princomp import summaries
from princomp.engines.device.spaces import is_device_array, space_of
from princomp.engines.distributed import DistributedRows, PartialResult, SummaryKind
from princomp.errors import NotAvailableError, PrincompError, ShapeError, scores_overflow
from princomp.io import Chunk, checksum
from princomp.linalg import as_floats
from princomp.solvers import Images, ImagesOf
from princomp.summaries import WEIGHTS, DeviceBlock, DeviceTable, Space, fault_in, first_fault

# If every mean is at most this many standard deviations from zero, products of rows that are not
# centred lose no significant digit. Otherwise rows are centred first, block by block.
_NEAR_ZERO = 2.0

# Axes of fits that were copied to a device; they are kept as long as the fit exists.
_axes_on_devices: WeakKeyDictionary[Any, dict[Any, Any]] = WeakKeyDictionary()


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

    resident = True
    has_chunks = False

    def blocks(self, step: int) -> Iterator[DeviceBlock]:
        """Yield blocks of at most ``step`` rows, in order."""
        raise NotImplementedError

    def chunks(self, start: int = 0) -> Iterator[Chunk]:
        """Refuse: rows are not copied to the host implicitly."""
        raise _not_on_host(self.space)

    def weighted(self, weights: Any) -> Self:
        """Return the same rows with frequencies, an array on the device or on the host.

        Raises
        ------
        ShapeError, ParameterError
        """
        return replace(self, weights=weights_on(self.space, weights, self.rows or 0))

    def fingerprint(self) -> tuple[str, ...]:
        """Return a checksum of the weights."""
        if self.weights is None:
            return ()
        return (f"weights with checksum {checksum([self.space.get(self.weights)])}",)

    def restored(self, summary: object) -> Any:
        """Return the summary from a checkpoint, on the device again."""
        return summaries.summary_on(self.space, summary)

    def reduce(self, kind: SummaryKind, *, drop: bool, precise: bool) -> PartialResult:
        """Summarise all rows on the device in one pass."""
        rows = self.rows or 0
        try:
            with self.space.full_precision():
                summary, dropped = _summary(self, kind, drop, precise)
        except PrincompError as error:
            return PartialResult(None, 0, rows, error)
        return PartialResult(summary, dropped, rows)

    def scores(self, fitted: Any, *, whiten: bool, drop: bool) -> Any:
        """Return the scores (n, k) in the rows' own kind of array, on their device.

        Raises
        ------
        NotFiniteError
            With the row counted over the table; also for scores that overflow.
        """
        space = self.space
        mean, mean_low, projection, offset = self._axes(fitted, whiten, back=False)

        def project(block: DeviceBlock) -> Any:
            dtype, rows = block.rows.dtype, block.rows
            rows = space.xp.astype(rows, projection.dtype, copy=False)
            if offset is None:
                scores = space.xp.matmul((rows - mean) - mean_low, projection)
            else:
                scores = space.xp.matmul(rows, projection)
                scores += offset
            scores = space.xp.astype(scores, dtype, copy=False)
            if not self.repeatable:
                self._check_scores(scores, block.start, drop, lambda: fault_in(space, block, drop))
            return scores

        scores = self._map_blocks(project, at_once=offset is not None)
        if self.repeatable:
            self._check_scores(scores, 0, drop, lambda: first_fault(self, drop))
        return scores

    def _check_scores(
        self, scores: Any, start: int, drop: bool, fault: Callable[[], PrincompError | None]
    ) -> None:
        """Raise an error if rows or their scores are not finite; NaN is dropped with ``drop``."""
        xp = self.space.xp
        if scores.shape[1] and self.space.all_finite(scores):
            return
        if (error := fault()) is not None:
            raise error
        if cell := self.space.first_true(xp.isinf(scores) if drop else ~xp.isfinite(scores)):
            raise scores_overflow(start + cell[0], self.dtype)

    def reconstructed(self, fitted: Any, *, whiten: bool) -> Any:
        """Return rows (n, p) in the units of the data, from these scores (n, k)."""
        mean, mean_low, axes, _ = self._axes(fitted, whiten, back=True)

        def reconstruct(block: DeviceBlock) -> Any:
            rows = self.space.xp.matmul(block.rows, axes)
            rows += mean_low
            rows += mean
            return rows

        return self._map_blocks(reconstruct, at_once=True)

    def _axes(self, fitted: Any, whiten: bool, *, back: bool) -> tuple[Any, ...]:
        """Return the mean in two parts, the axes, and the offset of products without centring.

        They are copied to the device once. The offset is None for the way back, and where such
        a product would lose digits.
        """
        copies = _axes_on_devices.setdefault(fitted, {})
        key = self.space, self.dtype, whiten, back
        if key not in copies:
            parts_of = fitted.reconstruction_parts if back else fitted.projection_parts
            mean, mean_low, axes = parts_of(self.dtype, whiten=whiten)
            dtype = axes.dtype  # float64 where the axes overflow float32
            offset = None
            # Not by squares, which may underflow in float32.
            if not back and (np.abs(mean) <= _NEAR_ZERO * np.sqrt(fitted.column_variances)).all():
                exact_mean = mean.astype(np.float64) + mean_low
                offset = self.space.put(-(exact_mean @ axes.astype(np.float64)), dtype)
            parts = (self.space.put(part, dtype) for part in (mean, mean_low, axes))
            copies[key] = *parts, offset
        return copies[key]

    def _block(self, start: int, rows: Any) -> DeviceBlock:
        """Return rows from number ``start`` on as a block, with their weights."""
        stop = start + rows.shape[0]
        return DeviceBlock(start, rows, None if self.weights is None else self.weights[start:stop])

    def _map_blocks(self, function: Callable[[DeviceBlock], Any], *, at_once: bool) -> Any:
        """Apply a function to blocks, or to all rows at once where that needs no copy."""
        space, working_dtype = self.space, self.space.dtype(self.dtype)
        step = space.rows_at_a_time(self.p)
        if at_once and isinstance(self, DeviceRows) and self.array.dtype == working_dtype:
            step = max(self.array.shape[0], 1)
        parts = []
        with space.full_precision():
            for block in self.blocks(step):
                rows = space.xp.astype(block.rows, working_dtype, copy=False)
                parts.append(function(block._replace(rows=rows)))
        return parts[0] if len(parts) == 1 else space.xp.concat(parts, axis=0)


def _summary(table: DeviceTable, kind: SummaryKind, drop: bool, precise: bool) -> tuple[Any, int]:
    """Summarise all rows of a table; also return how many were left out for missing values."""
    if isinstance(kind, summaries.PairOf):
        noted = summaries.WithExtremes(table, drop=drop)
        first, dropped = _summary(noted, kind.first, drop, precise)
        return summaries.Pair(first, noted.extremes(first.rows)), dropped
    if isinstance(kind, summaries.SketchOf):
        return summaries.sketch_on(table, kind, drop=drop, precise=precise)
    if isinstance(kind, ImagesOf):
        image, rows = summaries.images_on(
            table, kind.vectors, kind.columns, kind.divisor, drop=drop, precise=precise
        )
        return Images(rows, image), 0
    if not isinstance(kind, type):  # such as a sample of rows
        raise _not_on_host(table.space)
    if issubclass(kind, summaries.Triangle):
        return summaries.triangle_on(table, drop=drop)
    if issubclass(kind, summaries.Columns):
        return summaries.columns_on(table, drop=drop)
    assert issubclass(kind, summaries.Moments), kind
    return summaries.moments_on(table, drop=drop, precise=precise)


def _not_on_host(space: Space) -> NotAvailableError:
    return NotAvailableError(
        f"this needs rows in the host's memory, but these are on {space.name}",
        hint="copy them to the host first: X.numpy(force=True) for a torch tensor "
        "(X.float().numpy(force=True) of bfloat16), X.get() for a CuPy array; or give X instead "
        "of on_device(X)",
    )


def weights_on(space: Space, weights: Any, rows: int) -> Any:
    """Return frequencies on a device: one per row, or one for all rows.

    Parameters
    ----------
    space : Space
        The device.
    weights : array-like of shape (rows,) or number
        An array on any device, or on the host.
    rows : int

    Raises
    ------
    ShapeError, ParameterError
    """
    xp, on_device = space.xp, None
    if is_device_array(weights):
        given = space_of(weights)
        weights = weights.detach() if hasattr(weights, "detach") else weights
        if "complex" in str(weights.dtype):
            as_floats(weights, "sample_weight")  # raises
        weights = given.xp.astype(weights, given.doubles)
        if weights.ndim and space.is_same_device(given):
            on_device = weights
        else:
            weights = given.to_host(weights)
    if on_device is None:
        weights = as_floats(weights, "sample_weight")
        on_device = space.put(weights if weights.ndim else np.full(rows, weights))
    if tuple(on_device.shape) != (rows,):
        raise ShapeError(
            f"sample_weight has shape {tuple(on_device.shape)}, but there are {rows} rows",
            place=WEIGHTS,
            hint=f"give one weight per row: an array of shape ({rows},)",
        )
    if not bool(xp.all(xp.isfinite(on_device) & (on_device >= 0))):
        summaries.check_frequencies(space.get(on_device))  # raises
    return on_device


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
            yield self._block(start, self.array[start : min(start + step, rows), :])

    def chunks(self, start: int = 0) -> Iterator[Chunk]:
        """Yield the rows of a tensor on the CPU as NumPy arrays; refuse others."""
        space = self.space
        if str(space.device) != "cpu":
            raise _not_on_host(space)
        for block in self.blocks(space.rows_at_a_time(self.p)):
            rows = block.rows[max(0, start - block.start) :]
            if rows.shape[0]:
                rows = space.xp.astype(rows, space.dtype(self.dtype), copy=False)
                yield Chunk(space.to_host(rows))

    def fingerprint(self) -> tuple[str, ...]:
        """Return checksums of the weights, and of sums of the rows times random numbers."""
        space, xp = self.space, self.space.xp
        total = space.zeros(self.p)
        for block in self.blocks(space.rows_at_a_time(self.p)):
            rows = xp.astype(block.rows, space.doubles)
            # A NaN or infinity would hide all other values of its column.
            rows = xp.where(xp.isfinite(rows), rows, xp.full_like(rows, -0.1))
            factors = np.random.default_rng(block.start).standard_normal(rows.shape[0])
            total += xp.sum(rows * space.put(factors)[:, None], axis=0)
        return (*super().fingerprint(), f"rows with checksum {checksum([space.get(total)])}")
