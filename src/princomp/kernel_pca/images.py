"""Approximate fits: a PCA of the images of rows under a feature map."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from princomp.core import Certificate, Fitted, fitted_model
from princomp.engines import DistributedRows
from princomp.errors import NotAvailableError, ParameterError, warn
from princomp.estimators import PCA
from princomp.io import RowArray, RowData, Source
from princomp.kernel_pca.feature_maps import FeatureMap, Nystrom, mapped
from princomp.kernel_pca.feature_maps.nystrom import ROUNDING
from princomp.kernel_pca.feature_space.expansion import Expansion
from princomp.kernel_pca.functions import KernelFunction
from princomp.kernel_pca.plan import KernelPlan
from princomp.kernels import sampled_rows
from princomp.linalg import FloatArray, cached_property
from princomp.solvers import Spectrum
from princomp.summaries import rows_without_nan

# Landmarks that leave out more than this share of the variance of added rows cause a warning. It is
# computed from a sample of the rows, if there are enough.
_LARGE_SHARE, _SAMPLE_ROWS, _FEWEST_ROWS = 0.1, 256, 20


@dataclass(frozen=True, eq=False)
class ImageFit:
    """A PCA of images in finitely many coordinates.

    Parameters
    ----------
    map : FeatureMap
    images : PCA
        Fitted to the images of the rows, and never changed: rows that are added or removed
        change a copy.
    error : float
        Estimated error of the map for the rows it was made from; NaN if there is no estimate.
    notes : tuple of str
        How the map was made.
    imputer : PCA, optional
        The linear PCA that fills missing cells.
    passes : int
        Number of times that the rows were read to make the map.
    nonzero : bool
        Leave out components whose variance is below the resolution.
    changed : bool
        Whether rows were added or removed since the map was made, so that ``error`` and
        ``notes`` are of other rows.
    """

    map: FeatureMap
    images: PCA
    error: float
    notes: tuple[str, ...]
    imputer: PCA | None = None
    passes: int = 0
    nonzero: bool = False
    changed: bool = False

    complete: ClassVar[bool] = False
    training_scores: ClassVar[None] = None
    roots: ClassVar[None] = None

    @cached_property
    def _pca_result(self) -> Fitted:
        result = fitted_model(self.images).result
        return replace(result, k=result.n_resolved) if self.nonzero else result

    @property
    def spectrum(self) -> Spectrum:
        """Variances, and axes among the coordinates of images."""
        return self._pca_result.spectrum

    @property
    def k(self) -> int:
        """Number of components."""
        return self._pca_result.k

    @property
    def divisor(self) -> float:
        """Divisor that turns eigenvalues into variances."""
        total = float(self._pca_result.summary.rows)
        return total - 1.0 if total > 1.0 else 1.0

    @property
    def dtype(self) -> np.dtype[Any]:
        """float32 or float64."""
        return self._pca_result.dtype

    @property
    def kernel(self) -> KernelFunction:
        """The kernel with its final parameters."""
        return self.map.kernel

    @property
    def n_samples(self) -> int:
        """Number of rows used."""
        return int(self.images.n_samples_ or 0)

    @property
    def dropped(self) -> int:
        """Number of rows left out for missing values."""
        return self.images.n_dropped_ + (0 if self.imputer is None else self.imputer.n_dropped_)

    @property
    def eigenvectors(self) -> FloatArray:
        """Not available: they have an entry for each row."""
        raise NotAvailableError(
            "eigenvectors have an entry for each row, and an approximation does not keep them",
            hint="transform(X) gives scores: eigenvectors times the roots of the eigenvalues",
        )

    @property
    def points(self) -> RowArray:
        """Landmarks (m, p).

        Raises
        ------
        NotAvailableError
            For random features.
        """
        if self.landmarks is None:
            raise NotAvailableError(
                "random features keep no rows", hint="use approximation='nystrom' or None"
            )
        return self.landmarks

    @property
    def landmarks(self) -> RowArray | None:
        """Landmarks (m, p); None for random features."""
        return self.map.points if isinstance(self.map, Nystrom) else None

    @property
    def certificate(self) -> Certificate:
        """Residuals, orthogonality and what they imply, for the PCA of images."""
        return self._pca_result.certificate

    @cached_property
    def approximation_error(self) -> float:
        """Estimated error for all rows; NaN if there is no estimate.

        For rows that were added it is exact: Σ(k(x, x) − ‖z(x)‖²) / Σ‖φ(x) − mean‖² follows from
        the sums of images where k(x, x) is 1.
        """
        if not self.changed:
            return self.error
        if not isinstance(self.map, Nystrom) or not self.kernel.unit_diagonal:
            return float("nan")
        result = self._pca_result
        n, mean = float(result.summary.rows), result.mean.astype(np.float64)
        total = n * (1.0 - float(mean @ mean))
        if total <= ROUNDING * n:
            return float("nan")
        return max(0.0, 1.0 - float(result.spectrum.total) * self.divisor / total)

    @property
    def _notes_of_all_rows(self) -> tuple[str, ...]:
        if not self.changed:
            return self.notes
        points, error = self.landmarks, self.approximation_error
        count = f"{self.map.width:,} features"
        count = count if points is None else f"{points.shape[0]:,} landmarks"
        if np.isnan(error):
            return (f"{count}: their error for rows that were added is not known",)
        return (f"{count} leave out {error:.2g} of the variance of all rows",)

    @property
    def plan(self) -> KernelPlan:
        """How the fit ran."""
        kernel, inner = self.map.kernel, self.images.plan_
        return KernelPlan(
            rows=self.n_samples,
            columns=self.map.p,
            kernel=kernel.name,
            gamma=kernel.gamma if kernel.takes_gamma else None,
            route=self.map.kind,
            solver=inner.solver,
            reasons=(*self._notes_of_all_rows, *(f"their PCA: {why}" for why in inner.reasons)),
            passes=self.passes + (inner.passes or 0),
            memory=inner.memory,
        )

    @cached_property
    def expansion(self) -> Expansion | None:
        """Axes as sums over landmarks; None for a map without landmarks."""
        feature_map, result = self.map, self._pca_result
        if not isinstance(feature_map, Nystrom):
            return None
        mean, axes = result.mean, result.spectrum.axes[: result.k]
        # z(x) = k(x, L) W, so the mean image is m W, with m the mean of k(x, L). The columns of W
        # are orthogonal: ``inverse_weights`` inverts it within the span of the landmarks.
        largest = np.abs(feature_map.weights).max(axis=0)  # its square may overflow
        scaled = feature_map.weights / largest
        inverse_weights = scaled / np.einsum("ij,ij->j", scaled, scaled) / largest
        return Expansion(
            function=feature_map.kernel,
            points=feature_map.points,
            weights=feature_map.weights @ axes.T,
            mean=feature_map.weights @ mean,
            centre=inverse_weights @ mean,
            mean_square=float(mean @ mean),
        )

    def for_scoring(self) -> Self:
        """Return a copy without the summary of the rows."""
        model = copy(self.images)
        model._fitted = self._pca_result.for_scoring()
        return replace(self, images=model)

    def scores(self, rows: RowArray) -> FloatArray:
        """Compute scores of rows (m, p), in their precision."""
        if self.expansion is not None:
            return self.expansion.scores(rows)
        return self._pca_result.scores(self.map.images(rows)).astype(rows.dtype, copy=False)

    def scores_on_engine(self, rows: DistributedRows, *, drop: bool) -> Any:
        """Compute scores on the engine that holds the rows."""
        model = replace(fitted_model(self.images), result=self._pca_result)
        return model.scores(mapped(rows, self.map, allow_missing=drop))

    def squared_norms(self, rows: RowArray, diagonal: FloatArray | None = None) -> FloatArray:
        """Compute the squared lengths of centred images (m,).

        With landmarks, they include the part outside the span of the landmarks.
        """
        if self.expansion is not None:
            return self.expansion.squared_norms(rows)
        images = self.map.images(rows) - self._pca_result.mean
        return np.einsum("ij,ij->i", images, images, dtype=np.float64)

    # ---- rows that are added and removed -------------------------------------------------

    def add(self, rows: RowData, weights: npt.ArrayLike | None, *, drop: bool) -> Self:
        """Return the fit with more rows."""
        images = mapped(rows, self.map, allow_missing=drop)
        changed = "_fitted" in vars(self.images)
        model = copy(self.images).partial_fit(images, sample_weight=weights)
        fit = replace(self, images=model, changed=changed)
        if changed and weights is None and not isinstance(rows, Source):
            fit._warn_of_missing_variance(rows)
        return fit

    def _warn_of_missing_variance(self, rows: RowArray) -> None:
        """Warn if landmarks whose error was small leave out much of the variance of new rows."""
        rows = rows[sampled_rows(rows.shape[0], _SAMPLE_ROWS)]
        rows = rows[rows_without_nan(rows)]
        if not isinstance(self.map, Nystrom) or rows.shape[0] < _FEWEST_ROWS:
            return
        share = self.map.missing_share(rows) if self.error <= _LARGE_SHARE else 0.0
        if share > _LARGE_SHARE:
            warn(
                f"the {self.map.m:,} landmarks, chosen from earlier rows, leave out about "
                f"{min(share, 1.0):.0%} of the variance of the rows that were added. Begin with "
                "more rows, of all kinds, give landmarks as an array, or fit all batches at once: "
                "fit(lambda: batches())"
            )

    def remove(self, rows: RowData, weights: npt.ArrayLike | None, *, drop: bool) -> Self:
        """Return the fit without some of its rows."""
        images = mapped(rows, self.map, allow_missing=drop)
        model = copy(self.images).forget(images, sample_weight=weights)
        return replace(self, images=model, changed=True)

    def merge(self, other: ImageFit) -> Self:
        """Return the fit of the rows of two fits with the same map.

        Raises
        ------
        ParameterError
            If the maps differ: the coordinates of their images are then not comparable.
        """
        if not self.map.same_as(other.map):
            raise ParameterError(
                "the two fits have different feature maps, so coordinates of their images differ",
                place={"parameter": "other"},
                hint="fit the second with the gamma, the divisors (scale=model.scale_) and the "
                "landmarks (landmarks=model.landmarks_) of the first; instead of landmarks, random "
                "features need the same random_state and n_landmarks",
            )
        return replace(self, images=copy(self.images).merge(other.images), changed=True)
