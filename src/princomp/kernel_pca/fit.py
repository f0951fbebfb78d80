"""The protocol of a fitted kernel PCA, exact or approximate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np

from princomp.core import Certificate
from princomp.io import RowArray
from princomp.kernel_pca.functions import KernelFunction
from princomp.kernel_pca.plan import KernelPlan
from princomp.linalg import FloatArray

if TYPE_CHECKING:
    from princomp.engines import DistributedRows
    from princomp.kernel_pca.feature_space import Expansion
    from princomp.solvers import Spectrum


class KernelFit(Protocol):
    """Principal components of rows in a feature space.

    Laws
    ----
    - A fit is immutable: adding or removing rows returns another fit.
    - The scores of a row depend on this row only: they project its centred image on the axes.
    - The scores of the rows of the fit have mean 0 and the variances of ``spectrum``.
    - For each row, ‖``scores``‖² is at most ``squared_norms``, up to rounding.
    """

    @property
    def spectrum(self) -> Spectrum:
        """Variances and axes."""

    @property
    def k(self) -> int:
        """Number of components."""

    @property
    def divisor(self) -> float:
        """Divisor that turns eigenvalues of the centred kernel matrix into variances."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """float32 or float64."""

    @property
    def kernel(self) -> KernelFunction:
        """The kernel with its final parameters."""

    @property
    def expansion(self) -> Expansion | None:
        """Axes as sums over points; None for random features, which have no points."""

    @property
    def n_samples(self) -> int:
        """Number of rows used."""

    @property
    def dropped(self) -> int:
        """Number of rows left out for missing values."""

    @property
    def complete(self) -> bool:
        """Whether ``training_scores`` holds the scores of all rows that were passed to fit."""

    @property
    def training_scores(self) -> FloatArray | None:
        """Scores of the rows of the fit (n, k); None if they were not kept."""

    @property
    def eigenvectors(self) -> FloatArray:
        """Unit eigenvectors of the centred kernel matrix (n, k), or NotAvailableError."""

    @property
    def points(self) -> RowArray:
        """Rows of the fit, its kernel matrix or its landmarks, or NotAvailableError."""

    @property
    def landmarks(self) -> RowArray | None:
        """Landmarks (m, p) of an approximation."""

    @property
    def error(self) -> float:
        """Estimated error of the approximation; 0 for an exact fit."""

    @property
    def plan(self) -> KernelPlan:
        """How the fit ran."""

    @property
    def certificate(self) -> Certificate:
        """Residuals, orthogonality and what they imply."""

    def for_scoring(self) -> Self:
        """Return a copy with only what scores need, to send to other processes."""

    def scores(self, rows: RowArray) -> FloatArray:
        """Compute scores (m, k) of finite rows (m, p).

        With a precomputed kernel, ``rows`` is the kernel of each row with each row of the fit.
        """

    def scores_on_engine(self, rows: DistributedRows, *, drop: bool) -> Any:
        """Compute scores on the engine that holds the rows, or raise ParameterError."""

    def squared_norms(self, rows: RowArray, diagonal: FloatArray | None = None) -> FloatArray:
        """Compute the squared lengths of centred images (m,).

        With a precomputed kernel, ``rows`` is a kernel matrix, and ``diagonal`` the kernel of each
        row with itself.
        """
