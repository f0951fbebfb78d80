"""Rows to images: finitely many coordinates whose inner products stand for a kernel's values."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from princomp.arrays import FloatArray, empty, one_blas_thread
from princomp.errors import ParameterError, ShapeError
from princomp.kernel_functions import KernelFunction
from princomp.summaries.blocks import is_sparse

__all__ = ["ROWS", "FeatureMap"]

# Rows that are mapped at a time: what is made of them on the way stays in a core's cache.
ROWS = 192


@dataclass(frozen=True, eq=False)
class FeatureMap:
    """A map from rows (m, p) to images (m, D), with z(x)ᵀz(y) near k(x, y).

    Immutable, and may be called from several threads. A subclass gives ``width``, ``room``,
    ``_block`` and what a file holds of it.

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

    # What files call it.
    kind = ""

    @property
    def width(self) -> int:
        """Number of coordinates of an image, D."""
        raise NotImplementedError

    @property
    def room(self) -> int:
        """Bytes that a thread takes while it maps, beside rows and images."""
        raise NotImplementedError

    def images(self, rows: Any, out: FloatArray | None = None) -> FloatArray:
        """Images (m, D) of rows.

        The image of a row is a function of that row alone, to the bit: it does not depend on the
        row's position, on the other rows, or on the number of threads.

        Parameters
        ----------
        rows : ndarray or CSR array of shape (m, p)
            Finite: a row with NaN has NaN for its image, or an error of the kernel's.
        out : ndarray of shape (m, D), optional
            Where they are written; the numbers of each row lie side by side.

        Raises
        ------
        ShapeError
            For another number of columns.
        """
        n = rows.shape[0]
        if rows.shape[1] != self.p:
            raise ShapeError(
                f"rows have {rows.shape[1]} columns, and the map was made of {self.p}",
                hint="give the columns that the map was made of, in their order",
            )
        if out is None:
            out = empty((n, self.width), self.dtype)
        # The NumPy twin of the products calls BLAS, whose threads would split the sums.
        with one_blas_thread():
            for start in range(0, n, ROWS):
                block = rows[start : start + ROWS]
                # Sums over a row follow its memory layout.
                block = block if is_sparse(block) else np.ascontiguousarray(block)
                self._block(block, out[start : start + ROWS])
        return out

    def _block(self, rows: Any, out: FloatArray) -> None:
        """Write the images of at most ``ROWS`` rows."""
        raise NotImplementedError

    def missing_variance(self, rows: Any) -> FloatArray:
        """What the image of each row lacks, k(x, x) − ‖z(x)‖² (m,), in float64."""
        images = self.images(rows)
        own = np.einsum("ij,ij->i", images, images, dtype=np.float64)
        if self.kernel.shift is not None and is_sparse(rows):
            rows = rows.toarray()
        return self.kernel.diagonal(rows) - own

    # ---- identity, and files -----------------------------------------------------------

    def words(self) -> dict[str, Any]:
        """What a file says of it in plain values.

        Raises
        ------
        ParameterError
            For a kernel that is a function of somebody's: a file cannot hold it.
        """
        kernel = self.kernel
        if kernel.call is not None:
            raise ParameterError(
                "a kernel that is a Python function cannot be saved in a model file",
                place={"parameter": "kernel"},
                hint="use a kernel with a name, or pickle the model",
            )
        return {
            "kind": self.kind,
            "p": self.p,
            "dtype": self.dtype.name,
            "kernel": kernel.name,
            "gamma": None if kernel.gamma is None else float(kernel.gamma),
            "degree": float(kernel.degree),
            "coef0": float(kernel.coef0),
        }

    def arrays(self) -> dict[str, Any]:
        """What a file holds of it in arrays."""
        given = {"shift": self.kernel.shift, "divisors": self.kernel.divisors}
        return {name: array for name, array in given.items() if array is not None}

    @cached_property
    def _digest(self) -> str:
        kernel = self.kernel
        told = [self.kind, self.p, self.width, self.dtype.name, kernel.name, repr(kernel.gamma)]
        told += [repr(float(kernel.degree)), repr(float(kernel.coef0)), repr(kernel.parameters)]
        total = hashlib.sha256(json.dumps([*told, *self._more()]).encode())
        for name, array in sorted(self.arrays().items()):
            total.update(f"{name} {array.shape} {array.dtype}".encode())
            total.update(np.ascontiguousarray(array).tobytes())
        return total.hexdigest()[:16]

    def _more(self) -> list[Any]:
        """Plain values beside the kernel's by which two maps differ."""
        return []

    def mark(self) -> str:
        """What tells it from others, such as in a checkpoint."""
        return f"{self.kind} map of digest {self._digest}"

    def same_as(self, other: FeatureMap) -> bool:
        """Whether images of both are images of one map, so that sums of them may be added."""
        if type(self) is not type(other) or self.kernel.call is not other.kernel.call:
            return False
        return self._digest == other._digest

    def __getstate__(self) -> dict[str, Any]:
        # What is derived is derived again where it travels to.
        return {name: self.__dict__[name] for name in self.__dataclass_fields__}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
