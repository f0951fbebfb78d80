"""A kernel of rows, a tile of its values at a time.

Kernels that are a function of inner products are split in two: each row becomes a side, once,
and a tile is a product of matrices with something done to each entry. A Gaussian is among
them: with the sides (2γx, −γ‖x‖², 1) and (y, 1, −γ‖y‖²) the product is −γ‖x − y‖².
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from princomp.arrays import FloatArray
from princomp.summaries.blocks import is_sparse

__all__ = ["KERNELS", "KernelFunction", "Sides", "divided"]

# Of products of rows, and those that scikit-learn computes entry by entry.
_PRODUCTS = ("linear", "poly", "polynomial", "rbf", "sigmoid", "cosine")
KERNELS = (*_PRODUCTS, "laplacian", "chi2", "additive_chi2")
# Columns that einsum sums at once: it cuts longer rows in two, one row elsewhere than several.
_BUFFER = 8192
_WITH_GAMMA = ("rbf", "poly", "polynomial", "sigmoid", "laplacian", "chi2")


@dataclass(frozen=True, slots=True, eq=False)
class Sides:
    """Rows as a kernel multiplies them: what stands on the left, and on the right."""

    left: Any
    right: Any

    def __len__(self) -> int:
        return int(self.left.shape[0])

    def __getitem__(self, span: slice) -> Sides:
        return Sides(self.left[span], self.right[span])


@dataclass(frozen=True, eq=False)
class KernelFunction:
    """How alike two rows are.

    Parameters
    ----------
    name : str
        One of ``KERNELS``, or "callable".
    gamma : float, optional
        Of "rbf" exp(−γ‖x−y‖²), "laplacian" exp(−γ‖x−y‖₁), "poly" (γxᵀy + c)ᵈ, "sigmoid"
        tanh(γxᵀy + c), "chi2".
    degree, coef0 : float
        d and c of "poly"; "sigmoid" takes c.
    call : callable, optional
        Of two rows (p,), a number.
    parameters : dict
        Keyword arguments of ``call``.
    shift : ndarray of shape (p,), optional
        Subtracted from all rows. Centred kernels do not change by it where they depend on
        differences, and large numbers no longer cancel.
    divisors : ndarray of shape (p,), optional
        What the columns of all rows are divided by: the kernel is one of scaled rows.
    """

    name: str
    gamma: float | None = None
    degree: float = 3
    coef0: float = 1
    call: Callable[..., Any] | None = None
    parameters: dict[str, Any] = field(default_factory=dict)
    shift: FloatArray | None = None
    divisors: FloatArray | None = None

    @property
    def of_products(self) -> bool:
        """Whether tiles are products of matrices."""
        return self.name in _PRODUCTS

    @property
    def of_differences(self) -> bool:
        """Whether rows may be shifted: the centred kernel stays the same."""
        return self.name in ("linear", "rbf", "laplacian")

    @property
    def takes_gamma(self) -> bool:
        """Whether γ means something to it."""
        return self.name in _WITH_GAMMA

    def about(self, shift: FloatArray) -> KernelFunction:
        """The same kernel of rows from which ``shift`` is subtracted, where that is lawful."""
        return replace(self, shift=shift) if self.of_differences else self

    def sides(self, rows: Any) -> Sides:
        """Rows (m, p), dense or CSR, as tiles take them."""
        rows = self._prepared(rows)
        sparse = is_sparse(rows)
        if not self.of_products:
            return Sides(rows, rows)
        if self.name == "linear":
            return Sides(rows, rows)
        if self.name == "cosine":
            lengths = np.sqrt(_squares(rows))
            over = 1.0 / np.where(lengths > 0, lengths, 1.0)
            unit = rows.multiply(over[:, None]).tocsr() if sparse else rows * over[:, None]
            return Sides(unit, unit)
        assert self.gamma is not None
        if self.name != "rbf":
            return Sides(rows * self.gamma, rows)
        # Differences of squares lose digits: they are taken in float64 whatever the rows are.
        rows = rows.astype(np.float64)
        away, ones = (-self.gamma * _squares(rows))[:, None], np.ones((rows.shape[0], 1))
        return Sides(_beside(2 * self.gamma * rows, away, ones), _beside(rows, ones, away))

    def _prepared(self, rows: Any) -> Any:
        """Rows shifted and scaled; sparse ones become dense where there is a shift."""
        if self.shift is not None:
            rows = (rows.toarray() if is_sparse(rows) else rows).astype(np.float64) - self.shift
        return rows if self.divisors is None else divided(rows, self.divisors)

    def tile(self, left: Sides, right: Sides, dtype: Any = np.float64) -> FloatArray:
        """Values (a, b) of the kernel between rows, as a new array.

        A Gaussian of rows with themselves is exactly 1 where both sides are one object.
        """
        if not self.of_products:
            return np.ascontiguousarray(self._entries(left.left, right.right), dtype=dtype)
        return self.of_product(_product(left.left, right.right), dtype, same=left is right)

    def of_product(self, product: FloatArray, dtype: Any, *, same: bool = False) -> FloatArray:
        """A tile made of the product of its sides, which is used up.

        ``same``: the sides are those of the same rows.
        """
        if self.name == "rbf":
            np.minimum(product, 0.0, out=product)
            if same:
                np.fill_diagonal(product, 0.0)
        return self.finished(product.astype(dtype, copy=False))

    def finished(self, out: FloatArray) -> FloatArray:
        """What products of sides become, in place.

        They are xᵀy of "linear" and, of unit rows, of "cosine", −γ‖x − y‖² of "rbf", and γxᵀy
        of "poly" and "sigmoid".
        """
        if self.name == "rbf":
            np.exp(out, out=out)
        elif self.name != "linear" and self.name != "cosine":
            out += out.dtype.type(self.coef0)
            if self.name == "sigmoid":
                np.tanh(out, out=out)
            else:
                np.power(out, out.dtype.type(self.degree), out=out)
        return out

    def _entries(self, left: Any, right: Any) -> FloatArray:
        # Loaded where it is used: it is half of scikit-learn.
        from sklearn.metrics.pairwise import pairwise_kernels

        call: Any = self.name if self.call is None else self.call
        options = dict(self.parameters)
        if self.call is None and self.takes_gamma:
            options = {"gamma": self.gamma}
        if self.name.endswith("chi2"):  # scikit-learn's takes no array that is read-only
            left, right = (np.require(one, requirements="W") for one in (left, right))
        values: FloatArray = pairwise_kernels(left, right, metric=call, **options)
        return values

    def diagonal(self, rows: Any) -> FloatArray:
        """The kernel of each row with itself (m,), in float64."""
        if self.name in ("rbf", "laplacian", "chi2"):
            return np.ones(rows.shape[0])
        rows = self._prepared(rows)
        if self.name == "additive_chi2":
            return np.zeros(rows.shape[0])
        if not self.of_products:
            each = (rows[i : i + 1] for i in range(rows.shape[0]))
            return np.array([float(self._entries(row, row)[0, 0]) for row in each])
        squares = _squares(rows)
        if self.name == "linear":
            return squares
        if self.name == "cosine":
            return (squares > 0).astype(np.float64)
        values = self.gamma * squares + self.coef0
        return np.tanh(values) if self.name == "sigmoid" else values**self.degree


def divided(rows: Any, divisors: FloatArray) -> Any:
    """Rows (m, p), dense or CSR, with each column divided by its number, in their precision."""
    if not is_sparse(rows):
        return (rows / divisors).astype(rows.dtype, copy=False)
    values = (rows.data / divisors[rows.indices]).astype(rows.dtype, copy=False)
    return sp.csr_array((values, rows.indices, rows.indptr), shape=rows.shape)


def _squares(rows: Any) -> FloatArray:
    """Squared lengths of rows (m,), in float64."""
    if is_sparse(rows):
        return np.asarray(rows.astype(np.float64).power(2).sum(axis=1)).ravel()
    total = np.zeros(rows.shape[0])
    for start in range(0, rows.shape[1], _BUFFER):
        some = rows[:, start : start + _BUFFER]
        total += np.einsum("ij,ij->i", some, some, dtype=np.float64)
    return total


def _beside(rows: Any, first: FloatArray, second: FloatArray) -> Any:
    """Two more columns."""
    if not is_sparse(rows):
        return np.concatenate([rows, first, second], axis=1)
    return sp.csr_array(sp.hstack([rows, sp.csr_array(first), sp.csr_array(second)], format="csr"))


def _product(left: Any, right: Any) -> FloatArray:
    """``left rightᵀ`` as a dense array."""
    product = left @ right.T
    return product.toarray() if is_sparse(product) else np.asarray(product)
