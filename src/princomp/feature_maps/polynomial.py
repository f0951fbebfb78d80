"""TensorSketch: a polynomial kernel by convolutions of count sketches.

N. Pham, R. Pagh, "Fast and scalable polynomial kernels via explicit feature maps" (KDD 2013).
The p^d products of d cells of a row are never formed: their count sketch is the circular
convolution of d sketches of the row, a product of their Fourier transforms.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Self

import numpy as np
import scipy.fft
import scipy.sparse as sp

from princomp.arrays import FloatArray
from princomp.errors import ParameterError
from princomp.feature_maps.feature_map import ROWS, FeatureMap
from princomp.kernel_functions import KernelFunction, divided
from princomp.summaries.blocks import is_sparse

__all__ = ["TensorSketch"]


@lru_cache(maxsize=4)
def _sketches(p: int, width: int, degree: int, seed: int) -> tuple[Any, ...]:
    """For each factor a matrix (width, p), one sign in each column, and that of one column more."""
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(degree):
        buckets = rng.integers(0, width, p + 1)
        signs = rng.choice([-1.0, 1.0], p + 1)
        at = (buckets[:p], np.arange(p))
        last = np.zeros((width, 1))
        last[buckets[p]] = signs[p]
        made.append((sp.csr_array((signs[:p], at), shape=(width, p)), last))
    return tuple(made)


@dataclass(frozen=True, eq=False)
class TensorSketch(FeatureMap):
    """Images of D coordinates whose inner products are those of (γ xᵀy + c)ᵈ, in the mean.

    The variance of an inner product over seeds is at most of order 3ᵈ ‖x‖²ᵈ ‖y‖²ᵈ / D, with
    ‖x‖² = γ xᵀx + c.

    Parameters
    ----------
    size : int
        D.
    seed : int
        Hash functions are drawn again from it; they are not kept in files.
    """

    size: int
    seed: int = 0

    kind = "tensor sketch"

    @classmethod
    def of(
        cls, kernel: KernelFunction, p: int, width: int, *, seed: int = 0, dtype: Any = np.float64
    ) -> Self:
        """A map to ``width`` coordinates.

        Raises
        ------
        ParameterError
            For another kernel than "poly", a degree that is no whole number of at least 1, a
            negative coef0 or γ, or no coordinates.
        """
        if kernel.name not in ("poly", "polynomial"):
            raise _unlawful("kernel", kernel.name, "'poly'", "use approximation='nystrom'")
        if kernel.degree != int(kernel.degree) or kernel.degree < 1:
            lawful = "a whole number of at least 1"
            raise _unlawful("degree", kernel.degree, lawful, "use approximation='nystrom'")
        for name, value in (("coef0", kernel.coef0), ("gamma", kernel.gamma)):
            if value is None or not value >= 0:
                raise _unlawful(name, value, "at least 0", "use approximation='nystrom'")
        if width < 1:
            raise _unlawful("n_landmarks", width, "at least 1", "give a whole number")
        return cls(kernel, p, np.dtype(dtype), width, seed)

    @property
    def width(self) -> int:
        """Number of coordinates of an image."""
        return self.size

    @property
    def room(self) -> int:
        """Bytes of the transforms of a block, of a sketch, and of its rows turned."""
        return 8 * ROWS * (5 * self.size + 2 * self.p)

    @property
    def degree(self) -> int:
        """Number of factors."""
        return int(self.kernel.degree)

    def _block(self, rows: Any, out: FloatArray) -> None:
        assert self.kernel.gamma is not None
        scale = np.sqrt(self.kernel.gamma)
        if self.kernel.divisors is not None:
            rows = divided(rows, self.kernel.divisors)
        turned = rows.T.tocsc() if is_sparse(rows) else rows.T
        # coef0 is the square of one more cell of each row.
        constant = np.sqrt(self.kernel.coef0)
        product: Any = None
        for sketch, last in _sketches(self.p, self.size, self.degree, self.seed):
            counts = sketch @ turned
            counts = counts.toarray() if is_sparse(counts) else counts
            counts = counts * scale + constant * last
            if self.degree == 1:
                out[...] = counts.T
                return
            waves = scipy.fft.rfft(np.ascontiguousarray(counts.T), axis=1, workers=1)
            product = waves if product is None else product * waves
        out[...] = scipy.fft.irfft(product, n=self.size, axis=1, workers=1)

    # ---- files -------------------------------------------------------------------------

    def _more(self) -> list[Any]:
        return [self.seed]

    def words(self) -> dict[str, Any]:
        """What a file says of it: the number of coordinates and the seed among it."""
        return {**super().words(), "size": self.size, "seed": self.seed}

    @classmethod
    def from_contents(
        cls, kernel: KernelFunction, words: dict[str, Any], arrays: dict[str, Any]
    ) -> Self:
        """The map that gave these."""
        return cls(kernel, words["p"], np.dtype(words["dtype"]), words["size"], words["seed"])


def _unlawful(name: str, value: Any, lawful: str, hint: str) -> ParameterError:
    return ParameterError(
        f"a polynomial sketch takes {name} of {lawful}, and it is {value!r}",
        place={"parameter": name},
        hint=hint,
    )
