"""Random Fourier features: a kernel of differences as a sum of waves.

A. Rahimi, B. Recht, "Random features for large-scale kernel machines" (NIPS 2007). Each wave
gives a cosine and a sine, whose error is smaller than that of cosines with random phases
(D. Sutherland, J. Schneider, "On the error of random Fourier features", UAI 2015). Waves of a
Gaussian stand at right angles in groups of p (F. Yu et al., "Orthogonal random features",
NIPS 2016).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Self

import numpy as np

from princomp.arrays import FloatArray
from princomp.errors import ParameterError
from princomp.feature_maps.feature_map import ROWS, FeatureMap
from princomp.kernel_functions import KernelFunction
from princomp.kernels.matmul import RightFactor
from princomp.summaries.blocks import is_sparse

__all__ = ["Fourier"]


@lru_cache(maxsize=2)
def _drawn(p: int, count: int, seed: int, name: str) -> FloatArray:
    """Waves (p, count) of a kernel with γ = 1."""
    rng = np.random.default_rng(seed)
    if name == "laplacian":
        drawn = rng.standard_cauchy((p, count))
    else:
        # exp(−‖d‖²) has waves of variance 2 in each coordinate. A group at right angles has
        # the lengths of independent ones.
        groups = []
        for first in range(0, count, p):
            width = min(p, count - first)
            turned = np.linalg.qr(rng.standard_normal((p, width)))
            # Signs as drawn, or the routine's own rule would favour some directions.
            signs = np.where(np.diagonal(turned.R) < 0, -1.0, 1.0)
            lengths = np.sqrt(2 * rng.chisquare(p, width))
            groups.append(turned.Q * (signs * lengths))
        drawn = np.concatenate(groups, axis=1)
    drawn.flags.writeable = False
    return drawn


@dataclass(frozen=True, eq=False)
class Fourier(FeatureMap):
    """z(x) = √(2/D) (cos Wᵀx, sin Wᵀx) with D/2 random waves W.

    The images' inner products have the kernel for their mean over seeds, and an error of order
    1/√D; all images have length 1.

    Parameters
    ----------
    count : int
        Waves, D/2.
    seed : int
        Waves are drawn again from it; they are not kept in files.
    """

    count: int
    seed: int = 0

    kind = "fourier"

    @classmethod
    def of(
        cls, kernel: KernelFunction, p: int, width: int, *, seed: int = 0, dtype: Any = np.float64
    ) -> Self:
        """A map to ``width`` coordinates, one less where that is odd.

        Raises
        ------
        ParameterError
            For another kernel than "rbf" and "laplacian", or a width below 2.
        """
        if kernel.name not in ("rbf", "laplacian"):
            raise ParameterError(
                f"random Fourier features are for kernels 'rbf' and 'laplacian', and this is "
                f"{kernel.name!r}",
                place={"parameter": "kernel"},
                hint="use approximation='nystrom', which is for every kernel",
            )
        if width < 2:
            raise ParameterError(
                f"{width} random Fourier features are too few",
                place={"parameter": "n_landmarks"},
                hint="give at least 2: a wave is a cosine and a sine",
            )
        return cls(kernel, p, np.dtype(dtype), width // 2, seed)

    @property
    def width(self) -> int:
        """Number of coordinates of an image."""
        return 2 * self.count

    @property
    def room(self) -> int:
        """Bytes of a block's angles, and of its rows without their shift."""
        return 8 * ROWS * (2 * self.count + 2 * self.p)

    @property
    def factor(self) -> float:
        """That gives images the length 1."""
        return float(1 / np.sqrt(self.count))

    @property
    def precision(self) -> np.dtype[Any]:
        """Of angles: those of a Laplacian are now and then so large that float32 has no digits."""
        return np.dtype(np.float64) if self.kernel.name == "laplacian" else self.dtype

    @cached_property
    def waves(self) -> FloatArray:
        """W (p, D/2), in float64."""
        gamma = float(self.kernel.gamma or 0.0)
        drawn = _drawn(self.p, self.count, self.seed, self.kernel.name)
        waves = drawn * (gamma if self.kernel.name == "laplacian" else np.sqrt(gamma))
        # Angles are those of divided rows.
        divisors = self.kernel.divisors
        return waves if divisors is None else waves / divisors[:, None]

    @cached_property
    def _waves(self) -> FloatArray:
        return self.waves.astype(self.precision, copy=False)

    @cached_property
    def _right_waves(self) -> RightFactor:
        return RightFactor(self._waves)

    @cached_property
    def _offset(self) -> FloatArray | None:
        return None if self.kernel.shift is None else self.kernel.shift @ self.waves

    def _block(self, rows: Any, out: FloatArray) -> None:
        shift = self.kernel.shift
        if is_sparse(rows):
            # Where there is a shift, the angles it takes away are subtracted.
            waves = self._waves if self._offset is None else self.waves
            angles = np.asarray(rows @ waves)
            if self._offset is not None:
                angles -= self._offset
        else:
            if shift is not None:
                rows = rows.astype(np.float64) - shift
            angles = self._right_waves.times(rows.astype(self.precision, copy=False))
        # In the precision of the angles: large ones lose their digits when they are rounded.
        out[:, : self.count] = np.cos(angles)
        out[:, self.count :] = np.sin(angles)
        out *= self.dtype.type(self.factor)

    # ---- files -------------------------------------------------------------------------

    def _more(self) -> list[Any]:
        return [self.seed]

    def words(self) -> dict[str, Any]:
        """What a file says of it: the number of waves and the seed among it."""
        return {**super().words(), "count": self.count, "seed": self.seed}

    @classmethod
    def from_contents(
        cls, kernel: KernelFunction, words: dict[str, Any], arrays: dict[str, Any]
    ) -> Self:
        """The map that gave these."""
        return cls(kernel, words["p"], np.dtype(words["dtype"]), words["count"], words["seed"])
