"""Feature maps of arrays on a device, by the array API standard: images stay there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from princomp.engines import AbstractDeviceRows, DeviceRows, DistributedRows
from princomp.errors import NotAvailableError
from princomp.io import not_finite_error_in_source
from princomp.kernel_pca.feature_maps.distributed import MappedRows
from princomp.kernel_pca.feature_maps.feature_map import FeatureMap
from princomp.kernel_pca.feature_maps.fourier import Fourier
from princomp.kernel_pca.feature_maps.nystrom import Nystrom
from princomp.kernel_pca.functions import POLYNOMIALS, PRODUCT_KERNELS
from princomp.linalg import FloatArray
from princomp.summaries import DeviceBlock, Space, as_dense, counted_rows, fault_in, first_fault

_ImageFunction = Callable[[Any], Any]


@dataclass(kw_only=True, eq=False)
class MappedOnDevice(MappedRows, AbstractDeviceRows):
    """Images of rows whose blocks are on a device.

    Parameters
    ----------
    images : callable
        Maps a block on the device.
    """

    origin: AbstractDeviceRows
    images: _ImageFunction

    has_chunks = False
    reduce = AbstractDeviceRows.reduce

    def blocks(self, step: int) -> Iterator[DeviceBlock]:
        """Map blocks of at most ``step`` rows.

        Raises
        ------
        NotFiniteError
            With the row and the column.
        """
        space, origin = self.space, self.origin
        dtype = space.dtype(origin.dtype)
        for block in origin.blocks(step):
            if not space.all_finite(block.rows):
                error = fault_in(space, block, self.allow_missing)
                if error is not None:
                    raise not_finite_error_in_source(origin, error, columns=origin.columns)
            images = self.images(space.xp.astype(block.rows, dtype, copy=False))
            yield block._replace(rows=images)


def mapped_on_device(fields: dict[str, Any]) -> MappedOnDevice:
    """Return the images of rows on a device, as rows on that device.

    ``fields`` are the constructor arguments that images on all engines have.

    Raises
    ------
    NotAvailableError
        For a map that is not implemented there.
    """
    origin = fields["origin"]
    assert isinstance(origin, AbstractDeviceRows)
    images = _image_function(fields["map"], origin.space)
    return MappedOnDevice(file=origin.file, space=origin.space, images=images, **fields)


def sample_on_device(
    rows: DistributedRows, count: int, seed: int, *, drop: bool = False
) -> FloatArray:
    """Copy a random sample of at most ``count`` rows from a device to the host.

    Rows of weight zero are left out, and with ``drop`` also those with NaN.
    """
    assert isinstance(rows, AbstractDeviceRows)
    if not isinstance(rows, DeviceRows):
        raise NotAvailableError(
            "landmarks cannot be chosen from rows that on_device copies block by block",
            hint="choose them from the argument of on_device, and pass them as an array",
        )
    xp, space = rows.space.xp, rows.space
    counted = [np.arange(int(rows.array.shape[0]))]
    if drop or rows.has_weights:
        counted = []
        for block in rows.blocks(space.rows_at_a_time(rows.p)):
            values = xp.astype(block.rows, space.dtype(rows.dtype), copy=False)
            kept, _ = counted_rows(space, values, block.weights, drop)
            counted.append(block.start + np.flatnonzero(space.get(kept)))
    chosen = np.random.default_rng(seed).permutation(np.concatenate(counted))[:count]
    indices = xp.asarray(chosen, device=space.device)
    points = xp.astype(xp.take(rows.array, indices, axis=0), space.dtype(rows.dtype), copy=False)
    if not space.all_finite(points):
        error = first_fault(rows, drop)
        if error is not None:
            raise not_finite_error_in_source(rows, error, columns=rows.columns)
    return np.array(space.to_host(points), dtype=rows.dtype)


def _image_function(map: FeatureMap, space: Space) -> _ImageFunction:
    if isinstance(map, Nystrom) and map.kernel.uses_products:
        return _nystrom_images(map, space)
    if isinstance(map, Fourier):
        return _fourier_images(map, space)
    raise NotAvailableError(
        f"the {map.kind} map of kernel {map.kernel.name!r} is not computed on {space.name}",
        hint="copy the rows to the host, or choose a kernel among "
        f"{', '.join(PRODUCT_KERNELS)} with landmarks, or random Fourier features",
    )


def _nystrom_images(map: Nystrom, space: Space) -> _ImageFunction:
    xp, kernel = space.xp, map.kernel
    dtype = space.dtype(map.dtype)
    weights, shift = space.put(map.weights, map.dtype), None
    cosine = kernel.name == "cosine"
    points = kernel.sides(map.points).right if cosine else map.points
    points = as_dense(points)
    if kernel.shift is not None:
        points, shift = points - kernel.shift, space.put(kernel.shift)
    if kernel.divisors is not None and not cosine:  # the sides of a cosine are already divided
        points = points / kernel.divisors
    # Differences of squares lose digits, as on the host.
    work_dtype = space.doubles if kernel.name == "rbf" or shift is not None else dtype
    host_dtype = np.float64 if work_dtype == space.doubles else map.dtype
    right = space.put(points.T, host_dtype)
    squares = space.put((np.asarray(points, dtype=np.float64) ** 2).sum(axis=1))
    divisors = None if kernel.divisors is None else space.put(kernel.divisors, host_dtype)
    gamma = 1.0 if kernel.gamma is None else float(kernel.gamma)
    degree, coef0 = float(kernel.degree), float(kernel.coef0)

    def images(rows: Any) -> Any:
        rows = xp.astype(rows, work_dtype, copy=False)
        if shift is not None:
            rows = rows - shift
        if divisors is not None:
            rows = rows / divisors
        if kernel.name == "cosine":
            largest = xp.max(xp.abs(rows), axis=1)[:, None]  # squares stay in range
            rows = rows / xp.where(largest > 0, largest, xp.ones_like(largest))
            lengths = xp.sqrt(xp.sum(rows * rows, axis=1))
            rows = rows / xp.where(lengths > 0, lengths, xp.ones_like(lengths))[:, None]
        values = xp.matmul(rows, right)
        if kernel.name == "rbf":
            sums = xp.sum(rows * rows, axis=1)[:, None] + squares[None, :]
            # Rounding may make differences negative; NaN stays NaN.
            distances = sums - 2 * values
            values = -gamma * xp.where(distances < 0, xp.zeros_like(distances), distances)
        values = xp.astype(values, dtype, copy=False)
        if kernel.name == "rbf":
            values = xp.exp(values)
        elif kernel.name == "sigmoid":
            values = xp.tanh(gamma * values + coef0)
        elif kernel.name in POLYNOMIALS:
            values = (gamma * values + coef0) ** degree
        return xp.matmul(values, weights)

    return images


def _fourier_images(map: Fourier, space: Space) -> _ImageFunction:
    xp, dtype = space.xp, space.dtype(map.dtype)
    work_dtype = space.dtype(map.precision)
    waves = space.put(map.waves, map.precision)

    def images(rows: Any) -> Any:
        angles = xp.matmul(xp.astype(rows, work_dtype, copy=False), waves)
        both = xp.concat([xp.cos(angles), xp.sin(angles)], axis=1)
        return xp.astype(both, dtype, copy=False) * map.factor

    return images
