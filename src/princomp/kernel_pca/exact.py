"""Exact fits: axes as sums over all rows, from eigenpairs of the centred kernel matrix."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from princomp.core import Certificate, certify
from princomp.engines import DistributedRows
from princomp.errors import NotAvailableError, warn
from princomp.estimators import PCA
from princomp.io import RowArray
from princomp.kernel_pca.feature_space.expansion import Expansion
from princomp.kernel_pca.feature_space.matrix import (
    CentredMatrix,
    Centring,
    KernelMatrix,
    PrecomputedMatrix,
    centring_cancels,
)
from princomp.kernel_pca.feature_space.solve import first_block_width, solve
from princomp.kernel_pca.functions import POLYNOMIALS, KernelFunction, shift_of
from princomp.kernel_pca.parameters import KernelParameters
from princomp.kernel_pca.plan import KernelPlan
from princomp.kernel_pca.rows import in_memory
from princomp.linalg import FloatArray, cached_property
from princomp.solvers import Spectrum
from princomp.summaries import Columns, Weights, as_dense, stored_bytes

# Scores of rows with a weight below this share of the mean are not computed from eigenvectors.
_LIGHT_SHARE = 1e-4
# Below this mean over pairs of different rows, and 1/n, a kernel with k(x, x) = 1 is negligible.
_NEGLIGIBLE = 1e-3


@dataclass(frozen=True, eq=False)
class ExactFit:
    """The first k eigenpairs of the centred kernel matrix.

    Parameters
    ----------
    expansion : Expansion
        Axes as sums over the rows of the fit; its points are None for a kernel matrix.
    spectrum : Spectrum
        Variances (k,), and eigenvectors (k, n) as axes, with zeros for rows of weight zero.
    divisor : float
        Divisor that turns eigenvalues into variances.
    roots : ndarray of shape (n, 1), optional
        Square roots of the weights of the rows, unless all are 1.
    n_samples : int
        Rows of positive weight: fewer than n only for a kernel matrix.
    dtype : numpy dtype
        Precision of scores and eigenvectors.
    plan : KernelPlan
    bytes_read : int
        Bytes of rows, or of the kernel matrix, that the products read.
    dropped : int
        Number of rows that were left out for missing cells.
    complete : bool
        Whether no row was left out, for its weight or for missing cells.
    matrix : ndarray of shape (n, n), optional
        The kernel matrix that was passed to fit; model files do not hold it.
    imputer : PCA, optional
        The linear PCA that fills missing cells.
    """

    expansion: Expansion
    spectrum: Spectrum
    divisor: float
    roots: FloatArray | None
    n_samples: int
    dtype: np.dtype[Any]
    plan: KernelPlan
    bytes_read: int
    dropped: int = 0
    complete: bool = True
    matrix: RowArray | None = None
    imputer: PCA | None = None

    landmarks: ClassVar[None] = None
    approximation_error: ClassVar[float] = 0.0

    @property
    def k(self) -> int:
        """Number of components."""
        return self.spectrum.k

    @property
    def kernel(self) -> KernelFunction:
        """The kernel with its final parameters."""
        return self.expansion.function

    @property
    def points(self) -> RowArray:
        """The rows, or the kernel matrix, that were passed to fit.

        Raises
        ------
        NotAvailableError
            For a kernel matrix after loading a model file.
        """
        points = self.expansion.points if self.matrix is None else self.matrix
        if points is None:
            raise NotAvailableError(
                "a precomputed kernel matrix is not in the model's file",
                hint="use the matrix that was passed to fit: scores do not need it",
            )
        return points

    def for_scoring(self) -> Self:
        """Return this fit: scores need all of it."""
        return self

    def without_zero_components(self) -> Self:
        """Return a copy without components of variance zero."""
        kept = int((self.spectrum.variances[: self.k] > 0).sum())
        spectrum = replace(self.spectrum.first(kept), variances=self.spectrum.variances[:kept])
        expansion = replace(self.expansion, weights=self.expansion.weights[:, :kept])
        return replace(self, spectrum=spectrum, expansion=expansion)

    @property
    def eigenvectors(self) -> FloatArray:
        """Unit eigenvectors of the centred kernel matrix (n, k)."""
        return self.spectrum.axes.T.astype(self.dtype)

    @property
    def training_scores(self) -> FloatArray:
        """Scores of the rows of the fit (n, k); NaN for rows of weight zero."""
        scores = self.spectrum.axes.T * np.sqrt(self.spectrum.variances[: self.k] * self.divisor)
        if self.roots is not None:
            # Scores of rows of weight zero are unknown: they were left out of the eigenproblem.
            known = self.roots > 0
            scores = np.where(known, scores / np.where(known, self.roots, 1.0), np.nan)
            # Division by a small root enlarges rounding errors.
            limit = _LIGHT_SHARE * float((self.roots**2).sum()) / self.n_samples
            light = np.flatnonzero(known & (self.roots**2 < limit))
            if light.size:
                scores[light] = self.scores(self.points[light])
        return scores.astype(self.dtype)

    @cached_property
    def certificate(self) -> Certificate:
        """Residuals, orthogonality and what they imply."""
        plan, read = self.plan, self.bytes_read
        return certify(self.spectrum, None, self.k, passes=plan.passes, bytes_read=read)

    def scores(self, rows: RowArray) -> FloatArray:
        """Compute scores of rows (m, p), or of their kernel with the rows of the fit (m, n)."""
        expansion = self.expansion
        if expansion.points is None:
            return expansion.scores_from_kernel(as_dense(rows)).astype(rows.dtype)
        return expansion.scores(rows)

    def scores_on_engine(self, rows: DistributedRows, *, drop: bool) -> Any:
        """Refuse: exact scores need rows in memory."""
        return self.scores(in_memory(rows, 0))

    def squared_norms(self, rows: RowArray, diagonal: FloatArray | None = None) -> FloatArray:
        """Compute the squared lengths of centred images (m,).

        ``diagonal`` (m,) is k(x, x) of the rows if they are a precomputed kernel (m, n).
        """
        expansion = self.expansion
        if diagonal is None:
            return expansion.squared_norms(rows)
        return diagonal - 2 * (rows @ expansion.mean) + expansion.mean_square


def solve_rows(rows: RowArray, weights: Weights, parameters: KernelParameters) -> ExactFit:
    """Solve the kernel matrix of rows (n, p) in memory, with positive weights.

    Raises
    ------
    MemoryLimitError, NotFiniteError, DataError
    """
    function, limit = parameters.function(rows), parameters.limit
    if function.shift_invariant:
        function = function.with_shift(shift_of(rows))
    dtype = rows.dtype
    if dtype == np.float32 and centring_cancels(function, rows):
        rows = rows.astype(np.float64)
    n_random = first_block_width(rows.shape[0], parameters.n_components, parameters.solver, limit)
    # The other half of the limit is for the search space and products.
    matrix = KernelMatrix(function, rows, weights, memory=limit // 2, n_random=n_random)
    fitted = replace(_exact_fit(matrix, parameters), dtype=dtype)
    _warn_of_parameters(function, rows, fitted)
    return fitted


def _warn_of_parameters(function: KernelFunction, rows: RowArray, fitted: ExactFit) -> None:
    """Warn if the kernel is the same for all pairs of rows, or negligible for nearly all."""
    is_zero = function.takes_gamma and not fitted.spectrum.variances.any()
    if is_zero and Columns.of(rows).column_scatter.any():  # the rows are not all equal
        given, better = f"gamma {function.gamma:g}", "gamma='median'"
        if function.name in POLYNOMIALS and function.degree == 0:
            given, better = "degree 0", "degree=2"
        warn(
            f"all eigenvalues are zero: kernel {function.name!r} with {given} is, up to rounding, "
            f"the same for all pairs of rows. Choose other parameters, such as {better}"
        )
    shares = fitted.expansion.mean
    own = float(shares @ shares)  # of k(x, x) in the mean of the matrix
    if not function.unit_diagonal or own >= 1.0:
        return
    mean = (fitted.expansion.mean_square - own) / (1.0 - own)
    if mean < min(_NEGLIGIBLE, 1.0 / fitted.n_samples):
        warn(
            f"the kernel {function.name!r} with gamma {function.gamma:g} is near zero for nearly "
            f"all pairs of rows (mean {max(mean, 0.0):.1g}), so each component describes "
            "little more than one row. Use a smaller gamma, such as gamma='median', or scale the "
            "columns (scale='unit')"
        )


def solve_matrix(matrix: FloatArray, weights: Weights, parameters: KernelParameters) -> ExactFit:
    """Solve a kernel matrix (n, n) without its rows of weight zero."""
    if weights is None or weights.all():
        return _exact_fit(PrecomputedMatrix(matrix, weights), parameters)
    n, positive = len(matrix), np.flatnonzero(weights)
    inner_matrix = PrecomputedMatrix(matrix[np.ix_(positive, positive)], weights[positive])
    fitted = _exact_fit(inner_matrix, parameters)
    # The kernel of new rows is with all n rows, so rows of weight zero get weight zero in each axis
    # and a zero in each eigenvector.
    inner, spectrum = fitted.expansion, fitted.spectrum
    assert fitted.roots is not None  # there are weights

    def of_all_rows(values: FloatArray) -> FloatArray:
        out = np.zeros((n, *values.shape[1:]))
        out[positive] = values
        return out

    expansion = replace(
        inner,
        weights=of_all_rows(inner.weights),
        mean=of_all_rows(inner.mean),
        centre=of_all_rows(inner.centre),
    )
    spectrum = replace(spectrum, axes=of_all_rows(spectrum.axes.T).T)
    roots = of_all_rows(fitted.roots)
    return replace(fitted, expansion=expansion, spectrum=spectrum, roots=roots, complete=False)


def _exact_fit(matrix: CentredMatrix, parameters: KernelParameters) -> ExactFit:
    """Compute the eigenpairs of a centred kernel matrix, and the axes that they give."""
    solution = solve(matrix, parameters)
    spectrum, centring, sums = solution.spectrum, matrix.centring, matrix.sums
    function, rows = matrix.function, matrix.rows
    plan = KernelPlan(
        rows=matrix.n,
        columns=None if rows is None else rows.shape[1],
        kernel=function.name,
        gamma=function.gamma if function.takes_gamma else None,
        route="exact",
        solver=solution.solver,
        reasons=(solution.reason,),
        passes=matrix.n_products,
        memory=solution.memory,
    )
    return ExactFit(
        expansion=Expansion(
            function=function,
            points=rows,
            weights=_axis_weights(spectrum, centring),
            mean=centring.shares,
            centre=sums.column_means,
            mean_square=sums.mean_square,
        ),
        spectrum=spectrum,
        divisor=centring.divisor,
        roots=centring.roots,
        n_samples=matrix.n,
        dtype=matrix.dtype,
        plan=plan,
        bytes_read=(
            matrix.matrix.nbytes
            if isinstance(matrix, PrecomputedMatrix)
            else matrix.n_products * stored_bytes(rows)
        ),
    )


def _axis_weights(spectrum: Spectrum, centring: Centring) -> FloatArray:
    """Compute the weights of the rows in each axis (n, k); zero if an axis has no variance."""
    eigenvalues = spectrum.variances[: spectrum.k] * centring.divisor
    positive = eigenvalues > 0
    factors = np.where(positive, 1.0 / np.sqrt(np.where(positive, eigenvalues, 1.0)), 0.0)
    weights = spectrum.axes.T * factors
    if centring.roots is not None:
        weights *= centring.roots
    # Centre the images: subtract their mean, in which each row has its share.
    return weights - centring.shares[:, None] * weights.sum(axis=0)
