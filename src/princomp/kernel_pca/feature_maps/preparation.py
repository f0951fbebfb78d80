"""The feature map of a fit: its kernel, and its landmarks or random features.

Their number is given, or doubled until the estimated error is small enough.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from princomp.core import PCAParameters, array_like, check_parameter, one_of, plan_table
from princomp.engines import DistributedRows
from princomp.errors import MemoryLimitError, ParameterError, PrincompError
from princomp.io import RowArray, RowData, Source
from princomp.kernel_pca.feature_maps.distributed import mapped
from princomp.kernel_pca.feature_maps.feature_map import FeatureMap
from princomp.kernel_pca.feature_maps.fourier import Fourier
from princomp.kernel_pca.feature_maps.landmarks import landmarks
from princomp.kernel_pca.feature_maps.nystrom import ROUNDING, Nystrom, variance
from princomp.kernel_pca.feature_maps.row_samples import ROWS_READ_PER_ROW, sample_rows
from princomp.kernel_pca.feature_maps.tensor_sketch import TensorSketch
from princomp.kernel_pca.feature_space.matrix import centring_cancels
from princomp.kernel_pca.functions import POLYNOMIALS, KernelFunction, shift_of
from princomp.kernel_pca.median import MEDIAN_ROWS
from princomp.kernel_pca.parameters import KernelParameters
from princomp.linalg import format_bytes
from princomp.summaries import Weights

M = TypeVar("M", bound=FeatureMap)

_LANDMARKS = one_of("uniform", "kmeans", "leverage") | array_like("an array of shape (m, p)")
# Maximum number of landmarks or features m: eigenvalues of an m × m matrix take m³ operations.
MAX_COUNT = 4096
# The first number to try: at least _MIN_COUNT, and at least _COUNT_PER_COMPONENT per component.
_MIN_COUNT, _COUNT_PER_COMPONENT = 50, 4
# Rounding error of K, far from the origin, that would show in the estimated error of features.
_LARGE_ENTRY_ERROR = 1e-3
# Measured: an exact search for a few components of n rows is faster than m landmarks from
# m³ ≈ 60 n² to 100 n² on.
_EXACT_IS_FASTER = 100
# Maximum number of rows on which an error is estimated.
_HELD_OUT = 1000
# D × D matrices in memory at once: a scatter of images, those merged into it, the solution.
_SCATTERS = 10


class PreparedMap(NamedTuple):
    """A feature map, the rows to map, the estimated error (or NaN), and notes for the plan.

    Rows that can be read only once were partly read to make the map; ``rows`` has all of them.
    """

    map: FeatureMap
    rows: RowData
    error: float
    notes: tuple[str, ...]


def prepare_map(rows: RowData, parameters: KernelParameters, weights: Weights) -> PreparedMap:
    """Make the feature map that the parameters describe.

    Raises
    ------
    ParameterError
        For a kernel that the approximation does not support.
    MemoryLimitError, NotFiniteError, ShapeError
    """
    sample, rule, count = rows, parameters.landmarks, parameters.n_landmarks
    given, seed, drop = not isinstance(rule, str), parameters.seed, parameters.drop
    if parameters.has_median_gamma:
        sample, rows = sample_rows(rows, MEDIAN_ROWS, seed=seed, drop=drop, weights=weights)
    kernel = parameters.function(sample)
    if parameters.approximation == "features":
        if given or rule != "uniform":
            raise ParameterError(
                "random features have no landmarks",
                place={"parameter": "landmarks"},
                hint="leave landmarks out, or use approximation='nystrom'",
            )
        if isinstance(count, str):
            return sized_random_map(rows, kernel, parameters, weights)
        map = random_map(kernel, rows.shape[1], count, seed=seed, dtype=rows.dtype)
        return PreparedMap(map, rows, float("nan"), (f"{map.width:,} features",))
    check_parameter("landmarks", rule, _LANDMARKS)
    if isinstance(count, str) and not given:
        return sized_nystrom_map(rows, kernel, parameters, weights)
    number = 1 if isinstance(count, str) else count  # ignored if the landmarks are given
    points, rows = landmarks(rows, number, kernel, rule=rule, seed=seed, drop=drop, weights=weights)
    nystrom = _nystrom_map(kernel, points, rows)
    name = "given" if given else rule
    note = f"{nystrom.m:,} landmarks ({name}) span {nystrom.width:,} coordinates"
    return PreparedMap(nystrom, rows, float("nan"), (note,))


def missing_share(map: FeatureMap, rows: RowArray) -> float:
    """Compute the share of the variance of rows in the feature space that their images lack.

    |1 − (variance of the images) / (variance in the feature space)|, both about their means. If
    none of the rows (m, p) is a landmark, it estimates the share for other rows. The images have
    more variance if the kernel is not positive semi-definite. NaN if the variance is so small that
    it may be rounding.
    """
    total, size = variance(map.kernel, rows), float(map.kernel.diagonal(rows).mean())
    images = map.images(rows).astype(np.float64)
    images -= images.mean(axis=0)
    captured = float(np.einsum("ij,ij->", images, images)) / len(images)
    return abs(1.0 - captured / total) if total > ROUNDING * size else float("nan")


def kernel_error(map: FeatureMap, rows: RowArray) -> float:
    """Compute ‖ZZᵀ − K‖ / ‖K‖, in the Frobenius norm, for the images Z and the kernel K of rows."""
    kernel = map.kernel
    if kernel.entry_error(rows, np.float64) > _LARGE_ENTRY_ERROR:  # products would cancel
        kernel = kernel.with_shift(shift_of(rows))
    sides = kernel.sides(rows.astype(np.float64))
    exact = kernel.tile(sides, sides)
    images = map.images(rows).astype(np.float64)
    size = float(np.linalg.norm(exact))
    return float(np.linalg.norm(images @ images.T - exact)) / size if size else 0.0


def _nystrom_map(kernel: KernelFunction, points: RowArray, rows: RowData) -> Nystrom:
    """Make Nyström's map: in the precision of the rows, or in float64 if float32 loses digits."""
    dtype = rows.dtype
    on_device = isinstance(rows, DistributedRows) and rows.resident  # may lack float64
    may_widen = dtype == np.float32 and not on_device
    if may_widen and centring_cancels(kernel, points):
        dtype, points = np.dtype(np.float64), points.astype(np.float64)
    return Nystrom.of(kernel, points, dtype, may_widen=may_widen)


def sized_nystrom_map(
    rows: RowData, kernel: KernelFunction, parameters: KernelParameters, weights: Weights = None
) -> PreparedMap:
    """Make Nyström's map, doubling the landmarks until little variance is missing.

    The number of landmarks m starts at max(50, 4k). It grows until the missing share of the
    variance (``missing_share``) of up to 1,000 rows, none of them a landmark, is within
    ``approximation_tol``, or until m is n, 4,096 or the most that memory allows.

    Raises
    ------
    MemoryLimitError
        If the smallest number does not fit in the limit.
    """
    min_count, max_count = _count_bounds(rows, parameters)
    seed, rule = parameters.seed, parameters.landmarks
    assert isinstance(rule, str)  # landmarks that are given have a number
    sample, rows = sample_rows(
        rows, max_count + _HELD_OUT, seed=seed, drop=parameters.drop, weights=weights
    )
    n = sample.shape[0]

    def make_map(m: int) -> tuple[Nystrom, float]:
        # The last rows are held out, and landmarks are chosen from the others. One row has no
        # variance about its own mean, so it becomes a landmark, too.
        m = n if m == n - 1 else m
        cut = max(m, n - _HELD_OUT)
        points = sample[:m]
        if rule != "uniform" and m < cut:
            points, _ = landmarks(sample[:cut], m, kernel, rule=rule, seed=seed)
        map = _nystrom_map(kernel, points, rows)
        if cut < n:
            return map, missing_share(map, sample[cut:])
        # All rows are landmarks, so only what the map itself leaves out is missing.
        share = missing_share(map, sample[-_HELD_OUT:])
        return map, 0.0 if math.isnan(share) else share

    # If the sample is smaller than requested, it has all distinct rows.
    bounds = min_count, min(max_count, n)
    map, share = _double_until_enough(make_map, bounds, rows, parameters)
    found = f"{map.m:,} landmarks leave out {share:.2g} of the variance"
    if math.isnan(share):
        found = f"{map.m:,} landmarks: the variance is too close to rounding to estimate the error"
    notes = _notes(found, share, parameters)
    return PreparedMap(map, rows, share, notes + _note_of_exact_fit(rows, map.m, parameters))


def random_map(
    kernel: KernelFunction, p: int, width: int, *, seed: int, dtype: npt.DTypeLike
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
    rows: RowData, kernel: KernelFunction, parameters: KernelParameters, weights: Weights = None
) -> PreparedMap:
    """Make random features, doubling them until inner products are near the values of the kernel.

    As :func:`sized_nystrom_map`; the estimate is the relative error of the kernel matrix of up to
    1,000 rows (``kernel_error``). It falls as 1/√D: 0.1 is reached soon, 0.01 rarely.
    """
    bounds = _count_bounds(rows, parameters)
    seed, dtype = parameters.seed, rows.dtype
    sample, rows = sample_rows(rows, _HELD_OUT, seed=seed, drop=parameters.drop, weights=weights)

    def make_map(m: int) -> tuple[FeatureMap, float]:
        map = random_map(kernel, sample.shape[1], m, seed=seed, dtype=dtype)
        return map, kernel_error(map, sample)

    map, error = _double_until_enough(make_map, bounds, rows, parameters)
    found = f"{map.width:,} features: estimated relative error of the kernel matrix {error:.2g}"
    return PreparedMap(map, rows, error, _notes(found, error, parameters))


def _double_until_enough(
    make_map: Callable[[int], tuple[M, float]],
    bounds: tuple[int, int],
    rows: RowData,
    parameters: KernelParameters,
) -> tuple[M, float]:
    """Make larger maps until the estimated error of one is within the tolerance, or not known.

    A larger map is not used if a PCA of its images would not fit in memory.
    """
    pca = PCAParameters(parameters.n_components, memory_limit=parameters.limit)
    m, max_count = min(bounds), bounds[1]
    map, error = make_map(m)
    while error > parameters.approximation_tol and m < max_count:
        m = min(2 * m, max_count)
        larger_map, larger_error = make_map(m)
        try:
            plan_table(mapped(rows, larger_map, allow_missing=True), pca)
        except MemoryLimitError:
            break
        except PrincompError:
            pass  # the fit reports it
        map, error = larger_map, larger_error
    return map, error


def _notes(found: str, error: float, parameters: KernelParameters) -> tuple[str, ...]:
    """Return the note of a map, and a second one if its error exceeds the tolerance."""
    tolerance = parameters.approximation_tol
    if error > tolerance:
        return found, f"this is more than the tolerance of {tolerance:g}"
    return (found,)


def _note_of_exact_fit(rows: RowData, m: int, parameters: KernelParameters) -> tuple[str, ...]:
    """Return a note if an exact fit of rows in memory takes less time than m landmarks."""
    searched = not isinstance(rows, Source) and isinstance(parameters.n_components, int)
    if not searched or m**3 <= _EXACT_IS_FASTER * rows.shape[0] ** 2:
        return ()
    return (f"an exact fit of {rows.shape[0]:,} rows (approximation=None) is probably faster",)


def _count_bounds(rows: RowData, parameters: KernelParameters) -> tuple[int, int]:
    """Compute the fewest landmarks or features to try, and the most whose sums and samples fit.

    Raises
    ------
    MemoryLimitError
    """
    k, limit = parameters.n_components, parameters.limit
    min_count = max(_MIN_COUNT, _COUNT_PER_COMPONENT * k) if isinstance(k, int) else _MIN_COUNT
    # Bytes of m landmarks or features: squares m² + per_row (m + _HELD_OUT).
    squares, per_row = 8 * _SCATTERS, 3 * 8 * rows.shape[1]
    if isinstance(rows, Source) and not rows.repeatable:
        per_row += ROWS_READ_PER_ROW * rows.dtype.itemsize * rows.shape[1]
    needed = squares * min_count**2 + per_row * (min_count + _HELD_OUT)
    if needed > limit:
        raise MemoryLimitError(
            f"{min_count:,} landmarks or features need {format_bytes(needed)}, and the limit is "
            f"{format_bytes(limit)}",
            place={"parameter": "memory_limit", "limit": limit, "needed": needed},
            hint="raise memory_limit, or set fewer components",
        )
    rest = limit - per_row * _HELD_OUT
    root = (math.sqrt(per_row**2 + 4 * squares * rest) - per_row) / (2 * squares)
    return min_count, min(MAX_COUNT, int(root))
