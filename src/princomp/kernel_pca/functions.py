"""Kernel functions, evaluated one tile of the kernel matrix at a time.

Kernels that are functions of inner products are evaluated in two steps: rows are prepared once as
the left and right factors ("sides") of a matrix product, and a tile is such a product with a
function applied to each entry. For the Gaussian the sides (2γx, −γ‖x‖², 1) and (y, 1, −γ‖y‖²) have
the product −γ‖x − y‖².
"""

from __future__ import annotations

import reprlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from numpy.typing import NDArray

from princomp.errors import DataError, NotFiniteError, ParameterError
from princomp.io import RowArray
from princomp.linalg import EPS, FloatArray, slices
from princomp.summaries import Columns, columns_to_centre, is_sparse, with_centred_columns

POLYNOMIALS = ("poly", "polynomial")
# Kernels computed from products of rows; scikit-learn computes the others entry by entry.
PRODUCT_KERNELS = ("linear", *POLYNOMIALS, "rbf", "sigmoid", "cosine")
KERNELS = (*PRODUCT_KERNELS, "laplacian", "chi2", "additive_chi2")
_POSITIVE_KERNELS = ("linear", "rbf", "cosine", "laplacian", "chi2", "additive_chi2")
GAMMA_KERNELS = ("rbf", *POLYNOMIALS, "sigmoid", "laplacian", "chi2")
# Columns that einsum sums at once. It splits longer rows at a place that depends on the number of
# rows, so the sum of a row would depend on the other rows.
_EINSUM_COLUMNS = 8192
# A γ from 2⁻²⁰ to 2²⁰ multiplies the left side only; for other γ, half of the exponent goes to each
# side.
_MAX_ONE_SIDED_HALF = 10
# Squared lengths between this and its inverse have the full precision of float64.
_SMALLEST_SQUARE = 1e-280


@dataclass(frozen=True, slots=True, eq=False)
class Sides:
    """Rows as the left and the right factor of a product that gives kernel values."""

    left: RowArray
    right: RowArray

    def __len__(self) -> int:
        return int(self.left.shape[0])

    def __getitem__(self, rows: slice | NDArray[np.intp]) -> Sides:
        return Sides(self.left[rows], self.right[rows])


@dataclass(frozen=True, eq=False)
class KernelFunction:
    """A kernel with its parameters.

    Parameters
    ----------
    name : str
        One of ``KERNELS``, or "callable".
    gamma : float, optional
        γ of "rbf" exp(−γ‖x−y‖²), "laplacian" exp(−γ‖x−y‖₁), "poly" (γxᵀy + c)ᵈ, "sigmoid"
        tanh(γxᵀy + c), "chi2".
    degree, coef0 : float
        d and c of "poly"; "sigmoid" takes c.
    call : callable, optional
        Maps two rows (p,) to a number.
    parameters : dict
        Keyword arguments of ``call``.
    shift : ndarray of shape (p,), optional
        Subtracted from all rows. The centred kernel matrix does not change, and large numbers no
        longer cancel.
    divisors : ndarray of shape (p,), optional
        Divisors of the columns: the kernel is evaluated for scaled rows.
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
    def uses_products(self) -> bool:
        """Whether tiles are products of matrices."""
        return self.name in PRODUCT_KERNELS

    @property
    def shift_invariant(self) -> bool:
        """Whether the centred kernel does not change when all rows are shifted."""
        return self.name in ("linear", "rbf", "laplacian")

    @property
    def takes_gamma(self) -> bool:
        """Whether the kernel has a parameter γ."""
        return self.name in GAMMA_KERNELS

    @property
    def unit_diagonal(self) -> bool:
        """Whether the kernel of each row with itself is 1."""
        return self.name in ("rbf", "laplacian", "chi2")

    @property
    def positive(self) -> bool:
        """Whether centred kernel matrices have no negative eigenvalues, by their formula."""
        if self.name in POLYNOMIALS:
            return self.degree % 1 == 0 and self.coef0 >= 0 and (self.gamma or 0.0) >= 0
        return self.name in _POSITIVE_KERNELS and (self.gamma or 0.0) >= 0

    def entry_error(self, rows: RowArray, dtype: npt.DTypeLike) -> float:
        """Estimate the rounding error of a kernel matrix entry, relative to the largest entry.

        A sum of m terms has an error of about √m rounding units (Higham & Mary 2019), where m is
        the number of columns or, for sparse rows, of stored values in a row. A power or a
        hyperbolic tangent multiplies the error by its derivative. In an exponential, the absolute
        error of the argument becomes the relative error of the value. The argument of "rbf" and
        "laplacian" is a difference of squares or sums about the mean of the rows, in float64, so
        its error is relative to the farthest row, even for two rows that are close.
        """
        unit = float(np.finfo(dtype).eps)
        if self.call is not None:
            return unit
        rows, gamma = self._shifted_and_scaled(rows), self.gamma or 0.0
        n_terms = np.diff(rows.indptr).max(initial=1) if is_sparse(rows) else rows.shape[1]
        if self.name in ("rbf", "laplacian"):
            squared = self.name == "rbf"
            sizes = squared_norms(rows) if squared else abs(rows).sum(axis=1, dtype=np.float64)
            return max(unit, EPS * float(np.sqrt(n_terms)) * gamma * float(sizes.max()))
        if self.name == "chi2" and self.divisors is not None:
            # Division rounds x, which changes γ(x − y)²/(x + y) by 2γ|x − y| units. Multiplied by
            # the kernel, which decreases exponentially, this is at most √(2γ(x + y)) units.
            largest_sum = float(rows.sum(axis=1, dtype=np.float64).max())
            return unit * float(np.sqrt(n_terms) + np.sqrt(4.0 * gamma * largest_sum))
        unit *= float(np.sqrt(n_terms))
        if self.name not in ("sigmoid", *POLYNOMIALS):
            return unit
        squares = squared_norms(rows)
        sizes = gamma * np.array([squares.min(), squares.max()], dtype=np.float64)
        # NumPy scalars: division by zero gives inf. The largest argument of a kernel of a row with
        # itself is that of the longest or the shortest row.
        terms = np.abs(sizes).max() + abs(self.coef0)
        value = np.abs(sizes + self.coef0).max()
        if terms == 0:
            return unit
        with np.errstate(all="ignore"):
            if self.name == "sigmoid":
                return unit * max(1.0, float(terms / np.tanh(value)))
            return unit * max(1.0, self.degree) * float((terms / value) ** self.degree)

    def with_shift(self, shift: FloatArray | None) -> KernelFunction:
        """Return this kernel for rows minus ``shift``; unchanged if it is not shift-invariant."""
        return replace(self, shift=shift) if self.shift_invariant else self

    def sides(self, rows: RowArray) -> Sides:
        """Prepare rows (m, p), dense or CSR, for ``tile``."""
        rows = self._shifted_and_scaled(rows)
        if not self.uses_products or self.name == "linear":
            return Sides(rows, rows)
        if self.name == "cosine":
            rows, squares = _scaled_with_squared_norms(rows)
            lengths = np.sqrt(squares)
            unit = _scaled_rows(rows, 1.0 / np.where(lengths > 0, lengths, 1.0))
            return Sides(unit, unit)
        assert self.gamma is not None
        if self.name != "rbf":
            half = int(np.frexp(self.gamma)[1]) // 2
            if abs(half) <= _MAX_ONE_SIDED_HALF:
                return Sides(rows * self.gamma, rows)
            # Where γxᵀy is in the range of float32, both sides then are, too.
            return Sides(rows * float(np.ldexp(self.gamma, -half)), rows * 2.0**half)
        # Differences of squares lose digits: always use float64.
        rows = rows.astype(np.float64)
        squares, ones = (-self.gamma * squared_norms(rows))[:, None], np.ones((rows.shape[0], 1))
        stack: Callable[..., Any] = np.hstack
        if is_sparse(rows):
            stack = partial(sp.hstack, format="csr")
            squares, ones = sp.csr_array(squares), sp.csr_array(ones)
        return Sides(stack([2 * self.gamma * rows, squares, ones]), stack([rows, ones, squares]))

    def _shifted_and_scaled(self, rows: RowArray) -> RowArray:
        """Shift and scale rows; a shift of all columns makes sparse rows dense."""
        shift = self.shift
        if shift is not None and is_sparse(rows) and not shift.all():
            rows = with_centred_columns(rows, np.flatnonzero(shift), shift, np.zeros_like(shift))
        elif shift is not None:
            rows = (rows.toarray() if is_sparse(rows) else rows).astype(np.float64) - shift
        return divide_columns(rows, self.divisors)

    def tile(self, left: Sides, right: Sides, dtype: npt.DTypeLike = np.float64) -> FloatArray:
        """Compute kernel values (a, b) as a new array.

        The diagonal of a Gaussian is exactly 1 where both sides are the same object.
        """
        if not self.uses_products:
            return np.ascontiguousarray(self._pairwise(left.left, right.right), dtype=dtype)
        products = left.left @ right.right.T
        products = products.toarray() if is_sparse(products) else products
        return self.values_of_products(products, dtype, same=left is right)

    def values_of_products(
        self, products: FloatArray, dtype: npt.DTypeLike, *, same: bool = False
    ) -> FloatArray:
        """Turn the product of two sides into kernel values, in place.

        Entries are xᵀy for "linear", xᵀy of rows of unit length for "cosine", −γ‖x − y‖² for
        "rbf", and γxᵀy for "poly" and "sigmoid". ``same``: both sides are the same rows.
        """
        if self.name == "rbf":
            np.minimum(products, 0.0, out=products)
            if same:
                np.fill_diagonal(products, 0.0)
        out: FloatArray = products.astype(dtype, copy=False)
        if self.name == "rbf":
            np.exp(out, out=out)
        elif self.name in ("sigmoid", *POLYNOMIALS):
            out += out.dtype.type(self.coef0)
            if self.name == "sigmoid":
                np.tanh(out, out=out)
            else:
                degree = out.dtype.type(self.degree)
                if float(degree) != self.degree:  # rounded, it would be another power
                    degree = np.float64(self.degree)
                np.power(out, degree, out=out, casting="same_kind")
        return out

    def _pairwise(self, left: RowArray, right: RowArray) -> FloatArray:
        # Imported here because it loads half of scikit-learn.
        from sklearn.metrics.pairwise import pairwise_kernels

        metric: Any = self.name if self.call is None else self._call_for_number
        options = dict(self.parameters)
        if self.call is None and self.takes_gamma:
            options = {"gamma": self.gamma}
        if self.name == "laplacian":
            # scikit-learn accepts indices of 32 bits only, which are enough for a tile.
            left, right = (with_short_indices(side) for side in (left, right))
        if self.name.endswith("chi2"):
            # scikit-learn accepts dense rows only, so make the rows of this tile dense.
            left, right = (side.toarray() if is_sparse(side) else side for side in (left, right))
            for rows in (left, right):
                check_not_negative(rows, self.name)
            # Kernels are functions of γ(x − y)²/(x + y): a power of two moves from γ to the rows.
            # This also copies the rows: scikit-learn refuses read-only arrays.
            exponent = _chi2_exponent(left, right, options.get("gamma"))
            left, right = (np.ldexp(side, exponent) for side in (left, right))
            if self.name == "additive_chi2":
                return np.ldexp(pairwise_kernels(left, right, metric=metric), -exponent)
            options["gamma"] = float(np.ldexp(options["gamma"], -exponent))
        return pairwise_kernels(left, right, metric=metric, **options)

    def _call_for_number(self, left: RowArray, right: RowArray, **options: object) -> float:
        assert self.call is not None
        value = self.call(left, right, **options)
        with suppress(TypeError, ValueError):
            if np.ndim(value) == 0:
                return float(value)
        raise ParameterError(
            f"kernel must return a number for two rows, got {reprlib.repr(value)}",
            place={"parameter": "kernel"},
            hint="return a float, such as float(x @ y)",
        )

    def diagonal(self, rows: RowArray) -> FloatArray:
        """Compute the kernel of each row with itself (m,), in float64."""
        if self.unit_diagonal:
            return np.ones(rows.shape[0])
        rows = self._shifted_and_scaled(rows)
        if self.name == "additive_chi2":
            return np.zeros(rows.shape[0])
        if not self.uses_products:
            each = (rows[i : i + 1] for i in range(rows.shape[0]))
            return np.array([float(self._pairwise(row, row)[0, 0]) for row in each])
        if self.name == "cosine":
            return (_scaled_with_squared_norms(rows)[1] > 0).astype(np.float64)
        squares = squared_norms(rows)
        if self.name == "linear":
            return squares
        values = self.gamma * squares + self.coef0
        return np.tanh(values) if self.name == "sigmoid" else values**self.degree


def shift_of(rows: RowArray) -> FloatArray | None:
    """Compute the shift (p,) of rows (n, p) for a shift-invariant kernel, or None.

    For dense rows it is the mean; for a constant column, its value. For CSR rows it is the mean in
    columns that store a value in nearly every row, where products would cancel, and zero in others.
    """
    columns = Columns.of(rows)
    if not is_sparse(rows):
        return columns.mean
    full = columns_to_centre(columns.mean, columns.column_scatter / columns.rows)
    shift = np.zeros_like(columns.mean)
    shift[full] = columns.mean[full]
    return shift if full.size else None


def divide_columns(rows: RowArray, divisors: FloatArray | None) -> RowArray:
    """Divide the columns of rows (m, p), dense or CSR, in their precision; by 1 if None."""
    if divisors is None:
        return rows
    if not is_sparse(rows):
        return (rows / divisors).astype(rows.dtype, copy=False)
    values = (rows.data / divisors[rows.indices]).astype(rows.dtype, copy=False)
    return sp.csr_array((values, rows.indices, rows.indptr), shape=rows.shape)


def _chi2_exponent(left: FloatArray, right: FloatArray, gamma: float | None) -> int:
    """Exponent of a power of two that keeps (x − y)²/(x + y) in range if it multiplies the rows.

    With γ, differences that affect the kernel are then of order 1; else, the largest numbers are.
    """
    largest = [int(np.frexp(side.max(initial=0.0))[1]) for side in (left, right)]
    if gamma is None:
        return -max(largest)
    exponent = int(np.frexp(gamma)[1])
    # Limit the exponent so that x + y does not overflow.
    for side, size in zip((left, right), largest, strict=True):
        exponent = min(exponent, np.finfo(side.dtype).maxexp - 1 - size)
    return exponent


def check_not_negative(rows: RowArray, kernel: str) -> None:
    """Refuse negative values for the kernels of histograms.

    Raises
    ------
    DataError
    """
    smallest = float(rows.min())
    if smallest < 0:
        raise DataError(
            f"kernel {kernel!r} takes no negative values, and one is {smallest:g}",
            hint="use another kernel, such as kernel='rbf'",
        )


def with_short_indices(rows: RowArray) -> RowArray:
    """Return CSR rows with indices of 32 bits, and dense rows as they are."""
    if not is_sparse(rows) or rows.indices.dtype == np.int32:
        return rows
    indices, starts = rows.indices.astype(np.int32), rows.indptr.astype(np.int32)
    return sp.csr_array((rows.data, indices, starts), shape=rows.shape)


def squared_norms(rows: RowArray) -> FloatArray:
    """Compute the squared lengths of rows (m,), in float64."""
    if is_sparse(rows):
        return np.asarray(rows.astype(np.float64).power(2).sum(axis=1)).ravel()
    total = np.zeros(rows.shape[0])
    for columns in slices(rows.shape[1], _EINSUM_COLUMNS):
        part = rows[:, columns]
        total += np.einsum("ij,ij->i", part, part, dtype=np.float64)
    return total


def _scaled_with_squared_norms(rows: RowArray) -> tuple[RowArray, FloatArray]:
    """Return rows (m, p) and their squared lengths (m,), for a kernel of directions only.

    Rows whose squares leave the range of float64 are multiplied by powers of two first.
    """
    with np.errstate(over="ignore"):
        squares = squared_norms(rows)
    in_range = (squares > _SMALLEST_SQUARE) & (squares < 1 / _SMALLEST_SQUARE)
    if in_range.all():
        return rows, squares
    largest = abs(rows).max(axis=1)
    largest = largest.toarray().ravel() if is_sparse(rows) else largest
    exponents = np.where(in_range, 0, np.clip(-np.frexp(largest)[1], -1000, 1000))
    scaled = _scaled_rows(rows, np.ldexp(1.0, exponents)).astype(rows.dtype, copy=False)
    return scaled, squared_norms(scaled)


def _scaled_rows(rows: RowArray, factors: FloatArray) -> RowArray:
    """Multiply each row by its factor."""
    if is_sparse(rows):
        return sp.csr_array(rows.multiply(factors[:, None]))
    return rows * factors[:, None]


def check_values(name: str, largest: float, terms: int, dtype: npt.DTypeLike) -> None:
    """Refuse values of a kernel so small that sums of ``terms`` products lose digits.

    Each product may be wrong by the smallest positive number, which is the roundoff of ``tiny``.

    Raises
    ------
    NotFiniteError
    """
    smallest_allowed = terms * float(np.finfo(dtype).tiny)
    if largest < smallest_allowed:
        raise NotFiniteError(
            f"the values of the kernel {name!r} are too small: the largest is {largest:.3g}, and "
            f"below {smallest_allowed:.3g} {np.dtype(dtype)} loses digits of products",
            hint="multiply the columns by a power of ten, such as 1e10, or raise gamma",
        )
