"""Random Fourier features: a kernel of differences as a mean over random waves.

A. Rahimi, B. Recht, "Random features for large-scale kernel machines" (NIPS 2007). Each wave
gives a cosine and a sine, whose error is smaller than that of cosines with random phases
(D. Sutherland, J. Schneider, "On the error of random Fourier features", UAI 2015). Waves of a
Gaussian are orthogonal in groups of p (F. Yu et al., "Orthogonal random features",
NIPS 2016).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from princomp.errors import ParameterError
from princomp.io import RowArray
from princomp.kernel_pca.feature_maps.feature_map import BLOCK_ROWS, RandomMap
from princomp.kernel_pca.functions import KernelFunction
from princomp.kernels import RightFactor
from princomp.linalg import FloatArray, cached_property
from princomp.summaries import is_sparse


@lru_cache(maxsize=2)
def _random_waves(p: int, count: int, seed: int, name: str) -> FloatArray:
    """Draw waves (p, count) for a kernel with γ = 1."""
    rng = np.random.default_rng(seed)
    if name == "laplacian":
        waves = rng.standard_cauchy((p, count))
    else:
        # exp(−‖d‖²) has waves of variance 2 in each coordinate. An orthogonal group gets the
        # lengths of independent waves.
        groups = []
        for start in range(0, count, p):
            width = min(p, count - start)
            factors = np.linalg.qr(rng.standard_normal((p, width)))
            # Restore the signs: the sign rule of the routine would favour some directions.
            signs = np.where(np.diagonal(factors.R) < 0, -1.0, 1.0)
            lengths = np.sqrt(2 * rng.chisquare(p, width))
            groups.append(factors.Q * (signs * lengths))
        waves = np.concatenate(groups, axis=1)
    waves.flags.writeable = False
    return waves


@dataclass(frozen=True, eq=False)
class Fourier(RandomMap):
    """z(x) = √(2/D) (cos Wᵀx, sin Wᵀx) with D/2 random waves W.

    On average over seeds, inner products of images are the kernel; their error is of order 1/√D.
    All images have length 1.

    Parameters
    ----------
    count : int
        Number of waves, D/2.
    seed : int
        Determines the waves, which are not stored in model files.
    """

    kind = "fourier"

    @classmethod
    def _draw_count(cls, kernel: KernelFunction, width: int) -> int:
        """Check the kernel, and return the number of waves for ``width`` coordinates.

        Raises
        ------
        ParameterError
            For kernels other than "rbf" and "laplacian", or a width below 2.
        """
        if kernel.name not in ("rbf", "laplacian"):
            similar = " with kernel='chi2'" if kernel.name == "additive_chi2" else ""
            raise ParameterError(
                "there are random features for kernels 'rbf', 'laplacian' and 'poly', not for "
                f"{kernel.name!r}",
                place={"parameter": "kernel"},
                hint=f"use approximation='nystrom'{similar}",
            )
        if width < 2:
            raise ParameterError(
                f"{width} random Fourier features are too few",
                place={"parameter": "n_landmarks"},
                hint="use at least 2: a wave is a cosine and a sine",
            )
        return width // 2

    @property
    def width(self) -> int:
        """Number of coordinates of an image."""
        return 2 * self.count

    @property
    def bytes_per_thread(self) -> int:
        """Bytes of the angles of a block, and of a copy of its rows."""
        return 8 * BLOCK_ROWS * (2 * self.count + 2 * self.p)

    @property
    def factor(self) -> float:
        """Scales images to length 1."""
        return float(1 / np.sqrt(self.count))

    @property
    def precision(self) -> np.dtype[Any]:
        """Precision of angles: those of a Laplacian may be too large for float32."""
        return np.dtype(np.float64) if self.kernel.name == "laplacian" else self.dtype

    @cached_property
    def waves(self) -> FloatArray:
        """W (p, D/2), in the precision of angles."""
        gamma = float(self.kernel.gamma or 0.0)
        unit_waves = _random_waves(self.p, self.count, self.seed, self.kernel.name)
        waves = unit_waves * (gamma if self.kernel.name == "laplacian" else np.sqrt(gamma))
        # The angles of scaled rows.
        divisors = self.kernel.divisors
        waves = waves if divisors is None else waves / divisors[:, None]
        return waves.astype(self.precision, copy=False)

    @cached_property
    def _waves_factor(self) -> RightFactor:
        return RightFactor(self.waves)

    def _map_block(self, rows: RowArray, out: FloatArray) -> None:
        if is_sparse(rows):
            angles = rows @ self.waves
        else:
            angles = self._waves_factor.times(rows.astype(self.precision, copy=False))
        # In the precision of the angles: rounding large ones first would lose digits.
        out[:, : self.count] = np.cos(angles)
        out[:, self.count :] = np.sin(angles)
        out *= self.dtype.type(self.factor)
