"""The base of feature maps: coordinates whose inner products approximate the values of a kernel."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from princomp.io import RowArray
from princomp.kernel_pca.functions import KernelFunction
from princomp.linalg import FloatArray, cached_property, empty, one_blas_thread, stored_fields
from princomp.summaries import is_sparse

# Rows that are mapped together: intermediate results stay in the cache of a core.
BLOCK_ROWS = 192


@dataclass(frozen=True, eq=False)
class FeatureMap:
    """A map from rows (m, p) to images (m, D), with z(x)ᵀz(y) near k(x, y).

    A subclass defines ``kind``, ``width``, ``bytes_per_thread``, ``_map_block`` and a constructor
    ``of`` (from landmarks or a seed). Its fields in model files are listed in ``contents.py``.

    Laws
    ----
    - A map is immutable, and several threads may call it.
    - The image of a row depends on that row alone, to the bit: not on its position, the other
      rows or the number of threads.
    - A map restored from a model file computes the same images, and ``same_as`` is true for the
      two.

    Parameters
    ----------
    kernel : KernelFunction
    p : int
        Columns of the rows.
    dtype : numpy dtype
        float32 or float64, of the images.
    """

    kernel: KernelFunction
    p: int
    dtype: np.dtype[Any]

    # Its name in model files.
    kind = ""

    @property
    def width(self) -> int:
        """Number of coordinates of an image, D."""
        raise NotImplementedError

    @property
    def bytes_per_thread(self) -> int:
        """Bytes that a thread needs in addition to rows and images."""
        raise NotImplementedError

    def images(self, rows: RowArray, out: FloatArray | None = None) -> FloatArray:
        """Compute the images (m, D) of rows.

        Parameters
        ----------
        rows : ndarray or CSR array of shape (m, p)
            Finite: for a row with NaN the image is NaN, or the kernel raises an error.
        out : ndarray of shape (m, D), optional
            The result, in C order.
        """
        n = rows.shape[0]
        if out is None:
            out = empty((n, self.width), self.dtype)
        # The NumPy fallback of the products calls BLAS, whose threads would split the sums.
        with one_blas_thread():
            for start in range(0, n, BLOCK_ROWS):
                block = rows[start : start + BLOCK_ROWS]
                # The order of sums over a row depends on its memory layout.
                block = block if is_sparse(block) else np.ascontiguousarray(block)
                self._map_block(block, out[start : start + BLOCK_ROWS])
        return out

    def _map_block(self, rows: RowArray, out: FloatArray) -> None:
        """Write the images of at most ``BLOCK_ROWS`` rows."""
        raise NotImplementedError

    # ---- identity ----------------------------------------------------------------------

    def arrays(self) -> dict[str, Any]:
        """Return the arrays of the map, for a model file."""
        optional = {"shift": self.kernel.shift, "divisors": self.kernel.divisors}
        return {name: array for name, array in optional.items() if array is not None}

    @cached_property
    def _identity(self) -> list[Any]:
        """What determines the images of rows; arrays by their digests."""
        kernel = self.kernel
        values = [type(self), self.p, self.width, self.dtype, kernel.name, kernel.gamma]
        values += [kernel.degree, kernel.coef0, kernel.call, repr(kernel.parameters)]
        arrays = {
            name: (array.shape, array.dtype, sha256(np.ascontiguousarray(array).data).digest())
            for name, array in self.arrays().items()
        }
        return [*values, arrays, getattr(self, "seed", None)]

    def same_as(self, other: FeatureMap) -> bool:
        """Whether both compute the same images, so that their sums may be added."""
        return self._identity == other._identity

    __getstate__ = stored_fields  # cached properties are computed again


@dataclass(frozen=True, eq=False)
class RandomMap(FeatureMap):
    """A feature map of random features, which are determined by a seed.

    A subclass defines ``_draw_count``, which checks the kernel.

    Parameters
    ----------
    count : int
        Number of random draws.
    seed : int
        Determines the draws, which are not stored in model files.
    """

    count: int
    seed: int = 0

    @classmethod
    def _draw_count(cls, kernel: KernelFunction, width: int) -> int:
        """Number of draws for images with ``width`` coordinates."""
        raise NotImplementedError

    @classmethod
    def of(
        cls,
        kernel: KernelFunction,
        p: int,
        width: int,
        *,
        seed: int = 0,
        dtype: npt.DTypeLike = np.float64,
    ) -> Self:
        """Make a map to ``width`` coordinates, or to one less if their number must be even.

        Raises
        ------
        ParameterError
            For a kernel without such features, or too few coordinates.
        """
        return cls(kernel, p, np.dtype(dtype), cls._draw_count(kernel, width), seed)
