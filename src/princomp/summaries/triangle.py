"""Triangle: number of rows, mean and a factor of the scatter (Benson, Gleich & Demmel 2013)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from princomp.kernels import is_shift_far, shift_of
from princomp.linalg import EPS, FloatArray, column_sums, qr_r, restore_underflowed, two_sum
from princomp.summaries import blocks
from princomp.summaries.blocks import Block, Weights
from princomp.summaries.centred import Centred

# Fewest rows that are factored at a time. LAPACK adds products one by one: if the first is large
# and the others are equal, factoring 65,536 rows of 3 columns at once loses 1,600 units of roundoff
# in a variance, panels of 256 rows lose 200, and panels of 128 lose 65. Panels stay in the cache
# and take half the time, but 0.9 of it from 64 columns on, and 1.6 times as long for one column.
_PANEL = 128


@dataclass(frozen=True, slots=True, eq=False)
class Triangle(Centred):
    """Number of rows, mean and R with RᵀR = scatter: the SVD route, which never squares the rows.

    Parameters
    ----------
    rows, count, mean, mean_low, centred
        As in :class:`~princomp.summaries.Moments`.
    factor : ndarray of shape (r, p)
        R, with at most 2p rows: the centred rows themselves if there are so few, otherwise the
        triangular factor of their QR factorisation, with a nonnegative diagonal.
    unit : float
        Greater than EPS if only the product RᵀR is known; then its unit roundoff.
    lost : ndarray of shape (p,), optional
        Error of RᵀR if only this product is known, for example if R was made from the eigenpairs
        of a scatter: at most xᵀ diag(lost) x in any direction x.

    Examples
    --------
    >>> import numpy as np
    >>> from princomp import Triangle
    >>> X = np.arange(12.0).reshape(4, 3) ** 2
    >>> R = Triangle.of(X).factor
    >>> np.allclose(R.T @ R, 3 * np.cov(X.T))
    True
    """

    factor: FloatArray
    centred: bool = True
    unit: float = EPS
    lost: FloatArray | None = None

    detail = 3
    # A factorisation needs several copies of a block and does not gain from larger blocks.
    block_rows = staticmethod(blocks.panel_rows)

    # Rows on the host give a summary on the host, also in subclasses for devices.
    @staticmethod
    def empty(p: int) -> Triangle:
        """Triangle of no rows of ``p`` columns."""
        zero = np.zeros(p)
        return Triangle(0.0, 0, zero, zero, np.zeros((0, p)))

    @staticmethod
    def of(block: Block, weights: Weights = None, *, precise: bool = True) -> Triangle:
        """Triangle of a block (m, p), always computed in float64.

        Raises
        ------
        NotFiniteError
            With the position of the value in the block.
        """
        block, weights = blocks.checked_block(block, weights)
        m, p = block.shape
        if not m:
            return Triangle.empty(p)
        dense = np.ascontiguousarray(blocks.as_dense(block), dtype=np.float64)
        with np.errstate(all="ignore"):
            rows = float(m) if weights is None else float(weights.sum())
            shift = shift_of(dense, weights)
            centred, sums, squares = _sums_about(shift, dense, weights)
            if is_shift_far(sums, squares, rows):
                shift = shift + sums / rows
                centred, sums, _ = _sums_about(shift, dense, weights)
            blocks.check_finite(sums, dense)
            offset = sums / rows
            centred -= offset
        if weights is not None:
            centred *= np.sqrt(weights)[:, None]
        mean, low = two_sum(shift, offset)
        return Triangle(rows, m, mean, low, compressed(centred))

    @property
    def column_scatter(self) -> FloatArray:
        """Diagonal of the scatter (p,)."""
        squares: FloatArray = np.einsum("ij,ij->j", self.factor, self.factor)
        if not squares.all():
            squares = restore_underflowed(squares, np.abs(self.factor).sum(axis=0))
        return squares

    @property
    def scatter(self) -> FloatArray:
        """RᵀR (p, p): squaring loses singular values below √eps times the largest one."""
        return self.factor.T @ self.factor

    def times(self, vectors: FloatArray) -> FloatArray:
        """Scatter @ vectors (p, m)."""
        return self.factor.T @ (self.factor @ vectors)

    def merge(self, other: Centred) -> Any:
        """Triangle of the rows of both; if ``other`` has less detail, a summary of its kind."""
        if not isinstance(other, Triangle):
            return self._merged_as_kind(other)
        joined = self._joined(other)
        if joined is None:
            return self if self.rows else other
        fields, delta, delta_weight = joined
        parts = [self.factor, other.to_host().factor, np.sqrt(delta_weight) * delta]
        factor = compressed(np.vstack(parts))
        return replace(self, factor=factor, **fields, **self._merged_errors(other))

    def faded(self, factor: float) -> Triangle:
        """Triangle of the same rows with their weights multiplied by ``factor``."""
        root = self.factor * float(np.sqrt(factor))
        return replace(self, factor=root, **self._faded_fields(factor))

    def scaled(self, divisor: FloatArray) -> Triangle:
        """Triangle of the rows divided by ``divisor`` (p,), column by column."""
        factor = self.factor / self._put(divisor)
        return replace(self, factor=factor, **self._scaled_fields(divisor))

    def about_origin(self) -> Triangle:
        """Take the scatter about zero instead of the mean."""
        factor = compressed(np.vstack([self.factor, np.sqrt(self.rows) * self.mean]))
        return replace(self, factor=factor, **self._fields_about_origin())


def _sums_about(
    shift: FloatArray, rows: FloatArray, weights: Weights
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Rows minus a shift (m, p), and the sums of their columns and of their squares (p,)."""
    shifted = rows - shift
    share = shifted if weights is None else weights[:, None] * shifted
    return shifted, column_sums(share), np.einsum("ij,ij->j", share, shifted)


def _factored(rows: FloatArray) -> FloatArray:
    """R of the QR factorisation of a matrix, or of each matrix in a stack."""
    return np.asarray(np.linalg.qr(rows, mode="r")) if rows.ndim == 3 else qr_r(rows)


def compressed(rows: Any, factored: Callable[[Any], Any] = _factored, xp: Any = np) -> Any:
    """Return at most 2p rows with the same product RᵀR; ``rows`` may be overwritten.

    ``xp`` is the namespace of the rows, an array of the array API standard, and ``factored``
    returns the R of the QR factorisation of a matrix, or of each matrix in a stack.
    """
    # For so few rows, a triangle is hardly smaller, and a factorisation adds rounding errors.
    p = rows.shape[1]
    if rows.shape[0] <= 2 * p:
        return rows
    panel = max(_PANEL, 4 * p)
    while rows.shape[0] > 2 * panel:
        panels = rows.shape[0] // panel
        whole = xp.reshape(rows[: panels * panel, :], (panels, panel, p))
        factors = xp.reshape(factored(whole), (panels * p, p))
        rows = xp.concat([factors, rows[panels * panel :, :]], axis=0)
    return factored(rows)
