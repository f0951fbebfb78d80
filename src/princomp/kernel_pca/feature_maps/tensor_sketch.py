"""TensorSketch: a polynomial kernel by convolutions of count sketches.

N. Pham, R. Pagh, "Fast and scalable polynomial kernels via explicit feature maps" (KDD 2013).
The count sketch of the p^d products of d cells of a row is the circular convolution of d sketches
of the row. It is computed as a product of their Fourier transforms, so the p^d products of cells
are never formed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import scipy.fft
import scipy.sparse as sp

from princomp.errors import ParameterError
from princomp.io import RowArray
from princomp.kernel_pca.feature_maps.feature_map import BLOCK_ROWS, RandomMap
from princomp.kernel_pca.functions import POLYNOMIALS, KernelFunction, divide_columns
from princomp.linalg import FloatArray
from princomp.summaries import is_sparse


@lru_cache(maxsize=4)
def _sketches(p: int, width: int, degree: int, seed: int) -> tuple[Any, ...]:
    """Draw for each factor a matrix (width, p) with one ±1 in each column, and one more column."""
    rng = np.random.default_rng(seed)
    sketches = []
    for _ in range(degree):
        buckets = rng.integers(0, width, p + 1)
        signs = rng.choice([-1.0, 1.0], p + 1)
        entries = (buckets[:p], np.arange(p))
        extra_column = np.zeros((width, 1))
        extra_column[buckets[p]] = signs[p]
        sketches.append((sp.csr_array((signs[:p], entries), shape=(width, p)), extra_column))
    return tuple(sketches)


@dataclass(frozen=True, eq=False)
class TensorSketch(RandomMap):
    """Images in D coordinates, whose inner products are on average over seeds (γ xᵀy + c)ᵈ.

    The variance of an inner product over seeds is at most of order 3ᵈ ‖x‖²ᵈ ‖y‖²ᵈ / D, with
    ‖x‖² = γ xᵀx + c.

    Parameters
    ----------
    count : int
        D.
    seed : int
        Determines the hash functions, which are not stored in model files.
    """

    kind = "tensor sketch"

    @classmethod
    def _draw_count(cls, kernel: KernelFunction, width: int) -> int:
        """Check the kernel, and return the number of coordinates.

        Raises
        ------
        ParameterError
            For kernels other than "poly", a degree that is not a whole number of at least 1, or a
            negative coef0.
        """
        if kernel.name not in POLYNOMIALS:
            raise _unsupported("kernel", kernel.name, "'poly'")
        if kernel.degree != int(kernel.degree) or kernel.degree < 1:
            raise _unsupported("degree", kernel.degree, "a whole number of at least 1")
        if not kernel.coef0 >= 0:
            raise _unsupported("coef0", kernel.coef0, "at least 0")
        return width

    @property
    def width(self) -> int:
        """Number of coordinates of an image."""
        return self.count

    @property
    def bytes_per_thread(self) -> int:
        """Bytes of the transforms and the sketch of a block, and of its transposed rows."""
        return 8 * BLOCK_ROWS * (5 * self.count + 2 * self.p)

    def _map_block(self, rows: RowArray, out: FloatArray) -> None:
        assert self.kernel.gamma is not None
        scale, degree = np.sqrt(self.kernel.gamma), int(self.kernel.degree)
        rows = divide_columns(rows, self.kernel.divisors)
        columns = rows.T.tocsc() if is_sparse(rows) else rows.T
        # coef0 is the square of an additional cell of each row.
        constant = np.sqrt(self.kernel.coef0)
        product: Any = None
        for sketch, extra_column in _sketches(self.p, self.count, degree, self.seed):
            counts = sketch @ columns
            counts = counts.toarray() if is_sparse(counts) else counts
            counts = counts * scale + constant * extra_column
            if degree == 1:
                out[...] = counts.T
                return
            transforms = scipy.fft.rfft(np.ascontiguousarray(counts.T), axis=1, workers=1)
            product = transforms if product is None else product * transforms
        out[...] = scipy.fft.irfft(product, n=self.count, axis=1, workers=1)


def _unsupported(name: str, value: object, expected: str) -> ParameterError:
    return ParameterError(
        f"for a polynomial sketch {name} must be {expected}, got {value!r}",
        place={"parameter": name},
        hint="use approximation='nystrom'",
    )
