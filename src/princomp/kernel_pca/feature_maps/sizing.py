"""The number of landmarks or features: doubled until the estimated error is small enough."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from princomp.errors import MemoryLimitError
from princomp.io import RowArray, RowData
from princomp.kernel_pca.feature_maps.feature_map import FeatureMap
from princomp.kernel_pca.feature_maps.fourier import Fourier
from princomp.kernel_pca.feature_maps.landmarks import landmarks, sample_rows
from princomp.kernel_pca.feature_maps.nystrom import Nystrom
from princomp.kernel_pca.feature_maps.tensor_sketch import TensorSketch
from princomp.kernel_pca.functions import POLYNOMIALS, KernelFunction
from princomp.linalg import format_bytes

# Maximum number of landmarks m: their eigenvalues take m³ operations.
MAX_COUNT = 4096
# The first number to try: at least _MIN_COUNT, and at least _COUNT_PER_COMPONENT per component.
_MIN_COUNT, _COUNT_PER_COMPONENT = 50, 4
# A variance below this share of k(x, x) is rounding.
_ROUNDING = 1e-10
# Maximum number of rows on which an error is estimated.
_HELD_OUT = 1000
# D × D matrices in memory at once: a scatter of images, those merged into it, the solution.
_SCATTERS = 10


class SizedMap(NamedTuple):
    """A map with enough landmarks or features, and how they were found.

    Parameters
    ----------
    map : FeatureMap
    estimate : float
        Its estimated error.
    within_tolerance : bool
        Whether the estimate is within the tolerance.
    trials : tuple of (int, float)
        Numbers of landmarks or features, and their estimates.
    rows : object
        All rows to fit to: also those that were read from an iterator to make the map.
    note : str
        A sentence for the plan; empty if the tolerance was met.
    """

    map: FeatureMap
    estimate: float
    within_tolerance: bool
    trials: tuple[tuple[int, float], ...]
    rows: RowData
    note: str = ""


def missing_share(map: FeatureMap, rows: RowArray) -> float:
    """Compute the share of the variance of rows in the feature space that their images lack.

    1 − (variance of the images) / (variance in the feature space), both about their means. If none
    of the rows (m, p) is a landmark, it estimates the share for other rows.
    """
    kernel = map.kernel
    sides = kernel.sides(rows.astype(np.float64))
    mean_diagonal = float(kernel.diagonal(rows).mean())
    total = mean_diagonal - float(kernel.tile(sides, sides).mean())
    images = map.images(rows).astype(np.float64)
    images -= images.mean(axis=0)
    captured = float(np.einsum("ij,ij->", images, images)) / len(images)
    # Equal rows have no variance beyond rounding, so none is missing.
    return max(0.0, 1.0 - captured / total) if total > _ROUNDING * mean_diagonal else 0.0


def kernel_error(map: FeatureMap, rows: RowArray) -> float:
    """Compute ‖ZZᵀ − K‖ / ‖K‖ in the Frobenius norm, for rows (m, p)."""
    sides = map.kernel.sides(rows.astype(np.float64))
    exact = map.kernel.tile(sides, sides)
    images = map.images(rows).astype(np.float64)
    size = float(np.linalg.norm(exact))
    return float(np.linalg.norm(images @ images.T - exact)) / size if size else 0.0


def sized_nystrom_map(
    rows: Any,
    kernel: KernelFunction,
    k: int,
    *,
    rule: str = "uniform",
    tolerance: float = 0.01,
    limit: int | None = None,
    seed: int = 0,
    drop: bool = False,
    dtype: npt.DTypeLike | None = None,
) -> SizedMap:
    """Make Nyström's map, doubling the landmarks until little variance is missing.

    The number of landmarks m starts at max(50, 4k). It grows until the missing share of the
    variance (``missing_share``) of up to 1,000 rows, none of them a landmark, is within the
    tolerance, or until m is n, 4,096 or the most that memory allows.

    Parameters
    ----------
    rows : as for ``landmarks``
    kernel : KernelFunction
    k : int
        Number of components.
    rule : {"uniform", "kmeans", "leverage"}
    tolerance : float
        Largest missing share.
    limit : int, optional
        Bytes that landmarks and sums of images may use.
    seed, drop
        As for ``landmarks``.
    dtype : numpy dtype, optional
        Of the images.

    Raises
    ------
    MemoryLimitError
        If the smallest number does not fit in the limit.
    """
    min_count, max_count = _count_bounds(rows, k, limit)
    sample, rows = sample_rows(rows, max_count + _HELD_OUT, seed=seed, drop=drop)
    n = sample.shape[0]

    def make_map(m: int) -> tuple[FeatureMap, float]:
        # The last rows are held out, and landmarks are chosen from the others.
        cut = max(m, n - _HELD_OUT)
        points = sample[:m]
        if rule != "uniform" and m < cut:
            points = landmarks(sample[:cut], m, rule=rule, kernel=kernel, seed=seed).points
        map = Nystrom.of(kernel, points, dtype)
        # If all rows are landmarks, nothing is missing.
        return map, missing_share(map, sample[cut:] if cut < n else sample[-_HELD_OUT:])

    # The sample has all distinct rows if they are fewer than its size.
    sized = _double_until_enough(make_map, min_count, min(max_count, n), tolerance)
    kept = f"{sized.estimate:.2g} of the variance is missing"
    return _with_note(sized, rows, tolerance, f"{sized.trials[-1][0]:,} landmarks: {kept}")


def random_map(
    kernel: KernelFunction, p: int, width: int, *, seed: int, dtype: npt.DTypeLike = np.float64
) -> FeatureMap:
    """Draw random features for a kernel: a sketch for polynomials, Fourier features for others.

    Raises
    ------
    ParameterError
        For a kernel that has no random features.
    """
    kind = TensorSketch if kernel.name in POLYNOMIALS else Fourier
    return kind.of(kernel, p, width, seed=seed, dtype=dtype)


def sized_random_map(
    rows: Any,
    kernel: KernelFunction,
    k: int,
    *,
    tolerance: float = 0.01,
    limit: int | None = None,
    seed: int = 0,
    drop: bool = False,
    dtype: npt.DTypeLike = np.float64,
) -> SizedMap:
    """Make random features, doubling them until inner products are near the values of the kernel.

    As :func:`sized_nystrom_map`; the estimate is the relative error of the kernel matrix of up to
    1,000 rows (``kernel_error``). It falls as 1/√D: 0.1 is reached soon, 0.01 rarely.
    """
    min_count, max_count = _count_bounds(rows, k, limit)
    sample, rows = sample_rows(rows, _HELD_OUT, seed=seed, drop=drop)

    def make_map(m: int) -> tuple[FeatureMap, float]:
        map = random_map(kernel, sample.shape[1], m, seed=seed, dtype=dtype)
        return map, kernel_error(map, sample)

    sized = _double_until_enough(make_map, min_count, max_count, tolerance)
    missed = f"{sized.map.width} features: the error of the kernel matrix is {sized.estimate:.2g}"
    return _with_note(sized, rows, tolerance, missed)


def _double_until_enough(
    make_map: Callable[[int], tuple[FeatureMap, float]],
    min_count: int,
    max_count: int,
    tolerance: float,
) -> SizedMap:
    """Make larger maps until one meets the tolerance."""
    m, trials = min(min_count, max_count), []
    while True:
        map, estimate = make_map(m)
        trials.append((m, estimate))
        if estimate <= tolerance or m >= max_count:
            return SizedMap(map, estimate, estimate <= tolerance, tuple(trials), np.empty((0, 0)))
        m = min(2 * m, max_count)


def _with_note(sized: SizedMap, rows: RowData, tolerance: float, missed: str) -> SizedMap:
    note = "" if sized.within_tolerance else f"{missed}, more than the tolerance of {tolerance:g}"
    return sized._replace(rows=rows, note=note)


def _count_bounds(rows: Any, k: int, limit: int | None) -> tuple[int, int]:
    """Compute the fewest and the most landmarks or features to try."""
    min_count = max(_MIN_COUNT, _COUNT_PER_COMPONENT * k)
    max_count = max(min_count, MAX_COUNT)
    if limit is None:
        return min_count, max_count
    shape = getattr(rows, "shape", None)
    p = shape[1] if isinstance(shape, tuple) else None
    return min_count, min(max_count, _max_count_within(limit, p, min_count))


def _max_count_within(limit: int, p: int | None, min_count: int) -> int:
    """Compute the most landmarks or features whose sums and samples fit in a limit.

    Raises
    ------
    MemoryLimitError
    """
    per_row = 3 * 8 * (p or 1)

    def needed(m: int) -> int:
        return 8 * _SCATTERS * m * m + per_row * (m + _HELD_OUT)

    if needed(min_count) > limit:
        raise MemoryLimitError(
            f"{min_count:,} landmarks or features need {format_bytes(needed(min_count))}, and the "
            f"limit is {format_bytes(limit)}",
            place={"parameter": "memory_limit", "limit": limit, "needed": needed(min_count)},
            hint="raise memory_limit, or set fewer components",
        )
    # The root of needed(m) = limit.
    squares, rest = 8 * _SCATTERS, limit - per_row * _HELD_OUT
    return min(
        MAX_COUNT, int((math.sqrt(per_row**2 + 4 * squares * rest) - per_row) / (2 * squares))
    )
