"""How many landmarks, or features: doubled until an estimate of the error is small enough."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from princomp.errors import MemoryLimitError
from princomp.feature_maps.feature_map import FeatureMap
from princomp.feature_maps.fourier import Fourier
from princomp.feature_maps.landmarks import drawn_rows, landmarks
from princomp.feature_maps.nystrom import Nystrom
from princomp.feature_maps.polynomial import TensorSketch
from princomp.kernel_functions import KernelFunction
from princomp.memory import in_words

__all__ = ["MOST", "Sized", "enough_features", "enough_landmarks", "kernel_error", "missing_share"]

# Landmarks beyond so many cost more than they show: their eigenvalues take m³.
MOST = 4096
# What is begun with: this, or some for each component.
_LEAST, _FOR_EACH = 50, 4
# A variance below this share of k(x, x) is the rounding of its values.
_ROUNDING = 1e-10
# Rows on which an estimate is made.
_HELD_OUT = 1000
# D × D numbers that sums of images take at once: a scatter, what is merged into it, the solve.
_SCATTERS = 10


class Sized(NamedTuple):
    """A map of as many landmarks or features as it takes, and how that was found.

    Parameters
    ----------
    map : FeatureMap
    estimate : float
        The error that was reached, on rows that are no landmarks.
    met : bool
        Whether it is within the tolerance.
    tried : tuple of (int, float)
        Numbers of landmarks or features, and the estimate of each.
    rows : object
        What to read the rows from now on.
    note : str
        A sentence for people; empty where the tolerance was met.
    """

    map: FeatureMap
    estimate: float
    met: bool
    tried: tuple[tuple[int, float], ...]
    rows: Any
    note: str = ""


def missing_share(map: FeatureMap, rows: Any) -> float:
    """The share of the variance of rows in the feature space that their images lack.

    1 − (variance of the images) / (variance in the feature space), both about their means, of
    the rows (m, p) themselves: an estimate for other rows where none of these is a landmark.
    """
    kernel = map.kernel
    sides = kernel.sides(rows.astype(np.float64))
    own = float(kernel.diagonal(rows).mean())
    whole = own - float(kernel.tile(sides, sides).mean())
    images = map.images(rows).astype(np.float64)
    images -= images.mean(axis=0)
    seen = float(np.einsum("ij,ij->", images, images)) / len(images)
    # Rows that are all alike have no variance beyond rounding, and lack none.
    return max(0.0, 1.0 - seen / whole) if whole > _ROUNDING * own else 0.0


def kernel_error(map: FeatureMap, rows: Any) -> float:
    """‖ZZᵀ − K‖ / ‖K‖ in the Frobenius norm, between rows (m, p)."""
    sides = map.kernel.sides(rows.astype(np.float64))
    exact = map.kernel.tile(sides, sides)
    images = map.images(rows).astype(np.float64)
    size = float(np.linalg.norm(exact))
    return float(np.linalg.norm(images @ images.T - exact)) / size if size else 0.0


def enough_landmarks(
    rows: Any,
    kernel: KernelFunction,
    k: int,
    *,
    rule: str = "uniform",
    tolerance: float = 0.01,
    limit: int | None = None,
    seed: int = 0,
    drop: bool = False,
    dtype: Any = None,
) -> Sized:
    """Nyström's map with landmarks doubled until little variance is missing.

    From max(50, 4k) on, until the share of the variance that is missing (``missing_share``) on
    up to 1,000 rows, none of them a landmark, is within the tolerance; or m is n, 4,096, or
    what memory allows.

    Parameters
    ----------
    rows : as for ``landmarks``
    kernel : KernelFunction
    k : int
        Components that are wanted.
    rule : {"uniform", "kmeans", "leverage"}
    tolerance : float
        Largest share.
    limit : int, optional
        Bytes that landmarks and sums of images may take.
    seed, drop
        As for ``landmarks``.
    dtype : numpy dtype, optional
        Of the images.

    Raises
    ------
    MemoryLimitError
        When not even the fewest fit in the limit.
    """
    least = max(_LEAST, _FOR_EACH * k)
    most = max(least, MOST)
    if limit is not None:
        most = min(most, _most_within(limit, _columns(rows), least))
    sample, rows = drawn_rows(rows, most + _HELD_OUT, seed=seed, drop=drop)
    n = sample.shape[0]

    def made(m: int) -> tuple[FeatureMap, float]:
        # The last rows are held out: landmarks are of those before, the first where rows are.
        cut = max(m, n - _HELD_OUT)
        points = sample[:m]
        if rule != "uniform" and m < cut:
            points = landmarks(sample[:cut], m, rule=rule, kernel=kernel, seed=seed).points
        map = Nystrom.of(kernel, points, dtype)
        # Where all rows are landmarks, none is left, and nothing is missing.
        return map, missing_share(map, sample[cut:] if cut < n else sample[-_HELD_OUT:])

    # All rows that differ are here, where there are fewer than were asked for.
    found = _doubled(made, least, min(most, n), tolerance)
    kept = f"{found.estimate:.2g} of the variance is missing"
    return _told(found, rows, tolerance, f"{_landmarks_of(found.map)} landmarks: {kept}")


def enough_features(
    rows: Any,
    kernel: KernelFunction,
    k: int,
    *,
    tolerance: float = 0.01,
    limit: int | None = None,
    seed: int = 0,
    drop: bool = False,
    dtype: Any = np.float64,
) -> Sized:
    """Random features doubled until inner products are near the kernel's values.

    As :func:`enough_landmarks`, from max(50, 4k) on; the estimate is the relative error of the
    kernel matrix of up to 1,000 rows (``kernel_error``). It falls as 1/√D: 0.1 is reached soon,
    0.01 seldom. Gaussian and Laplacian kernels get Fourier features, polynomial ones sketches.
    """
    least = max(_LEAST, _FOR_EACH * k)
    most = max(least, MOST)
    if limit is not None:
        most = min(most, _most_within(limit, _columns(rows), least))
    sample, rows = drawn_rows(rows, _HELD_OUT, seed=seed, drop=drop)
    kind = TensorSketch if kernel.name in ("poly", "polynomial") else Fourier

    def made(m: int) -> tuple[FeatureMap, float]:
        map = kind.of(kernel, sample.shape[1], m, seed=seed, dtype=dtype)
        return map, kernel_error(map, sample)

    found = _doubled(made, least, most, tolerance)
    missed = f"{found.map.width} features: the error of the kernel matrix is {found.estimate:.2g}"
    return _told(found, rows, tolerance, missed)


def _doubled(
    made: Callable[[int], tuple[FeatureMap, float]],
    least: int,
    most: int,
    tolerance: float,
) -> Sized:
    m, tried = min(least, most), []
    while True:
        map, estimate = made(m)
        tried.append((m, estimate))
        if estimate <= tolerance or m >= most:
            return Sized(map, estimate, estimate <= tolerance, tuple(tried), None)
        m = min(2 * m, most)


def _told(found: Sized, rows: Any, tolerance: float, missed: str) -> Sized:
    note = "" if found.met else f"{missed}, more than the tolerance of {tolerance:g}"
    return found._replace(rows=rows, note=note)


def _landmarks_of(map: FeatureMap) -> str:
    assert isinstance(map, Nystrom)
    return f"{map.m:,}"


def _columns(rows: Any) -> int | None:
    shape = getattr(rows, "shape", None)
    return shape[1] if isinstance(shape, tuple) else None


def _most_within(limit: int, p: int | None, least: int) -> int:
    """Landmarks or features whose sums, and what is drawn for them, fit in a limit.

    Raises
    ------
    MemoryLimitError
    """
    each = 3 * 8 * (p or 1)

    def needed(m: int) -> int:
        return 8 * _SCATTERS * m * m + each * (m + _HELD_OUT)

    if needed(least) > limit:
        raise MemoryLimitError(
            f"{least:,} landmarks or features take {in_words(needed(least))}, and the limit is "
            f"{in_words(limit)}",
            place={"parameter": "memory_limit", "limit": limit, "needed": needed(least)},
            hint="allow more, or ask for fewer components",
        )
    # The root of needed(m) = limit.
    squares, rest = 8 * _SCATTERS, limit - each * _HELD_OUT
    return min(MOST, int((math.sqrt(each**2 + 4 * squares * rest) - each) / (2 * squares)))
