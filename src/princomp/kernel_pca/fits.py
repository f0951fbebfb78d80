"""Finished fits: exact ones, whose axes are sums over the rows, and those of images."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from princomp.arrays import FloatArray
from princomp.certificate import Certificate, certify
from princomp.estimator import PCA
from princomp.feature_maps import FeatureMap, Nystrom
from princomp.feature_space import (
    Centring,
    Expansion,
    GivenMatrix,
    KernelMatrix,
    check_memory,
    first_width,
    is_searched,
    solve,
)
from princomp.kernel_functions import KernelFunction
from princomp.kernel_pca.asked import Asked
from princomp.kernel_pca.plan import KernelPlan
from princomp.spectrum import Spectrum
from princomp.summaries.blocks import stored_bytes

__all__ = ["ExactFit", "ImageFit", "fit_exact", "fit_given"]


@dataclass(frozen=True, eq=False)
class ExactFit:
    """The first k eigenpairs of the centred kernel matrix.

    Parameters
    ----------
    expansion : Expansion
        Axes as sums over the rows of the fit; without points where the kernel was given.
    spectrum : Spectrum
        Variances (k,), and eigenvectors (k, n) for axes; zero in rows that do not count.
    divisor : float
        What eigenvalues are divided by to be variances.
    roots : ndarray of shape (n, 1), optional
        Of the weights of the rows, where they do not all count once.
    n_samples : int
        Rows that count: fewer than n where a kernel matrix was given and some of its rows
        have weight zero.
    complete : bool
        Whether the rows of the fit are all that were given, and count.
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

    @property
    def k(self) -> int:
        """Components kept."""
        return self.spectrum.k

    def light(self) -> ExactFit:
        """What scores need, to travel with rows: all of it."""
        return self

    def without_zeros(self) -> ExactFit:
        """The same without components of no variance."""
        kept = int((self.spectrum.variances[: self.k] > 0).sum())
        spectrum = replace(self.spectrum.first(kept), variances=self.spectrum.variances[:kept])
        expansion = replace(self.expansion, weights=self.expansion.weights[:, :kept])
        return replace(self, spectrum=spectrum, expansion=expansion)

    @property
    def eigenvectors(self) -> FloatArray:
        """Of the centred kernel matrix (n, k), of length one."""
        return self.spectrum.axes.T.astype(self.dtype)

    @property
    def training_scores(self) -> FloatArray:
        """Scores of the rows of the fit (n, k); NaN of those that do not count."""
        scores = self.spectrum.axes.T * np.sqrt(self.spectrum.variances[: self.k] * self.divisor)
        if self.roots is not None:
            # Nothing of a row without weight is known here: its scores take its kernel.
            known = self.roots > 0
            scores = np.where(known, scores / np.where(known, self.roots, 1.0), np.nan)
        return scores.astype(self.dtype)

    @cached_property
    def certificate(self) -> Certificate:
        """What can be promised of it."""
        plan, read = self.plan, self.bytes_read
        return certify(self.spectrum, None, self.k, passes=plan.passes, bytes_read=read)

    def scores(self, rows: Any) -> FloatArray:
        """Scores of rows (m, p), or of their kernel with the rows of the fit."""
        if self.expansion.points is None:
            return self.expansion.scores_of(rows).astype(rows.dtype)
        return self.expansion.scores(rows)

    def squares(self, rows: Any) -> FloatArray:
        """Squared lengths of centred images (m,)."""
        return self.expansion.squares(rows)


@dataclass(frozen=True, eq=False)
class ImageFit:
    """A PCA of images in finitely many coordinates.

    Parameters
    ----------
    map : FeatureMap
    images : PCA
        Fitted to the images of the rows, and never changed: rows that come or go change a
        copy, which is another fit's.
    error : float
        Estimate of what the map misses; NaN where none was made.
    notes : tuple of str
        How the map was made.
    """

    map: FeatureMap
    images: PCA
    error: float
    notes: tuple[str, ...]

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
            reasons=(*self.notes, *(f"their PCA: {why}" for why in inner.reasons)),
            passes=inner.passes or 0,
            memory=inner.memory,
        )

    @property
    def spectrum(self) -> Spectrum:
        """Variances, and axes among the coordinates of images."""
        return self.images._state.spectrum

    def light(self) -> ImageFit:
        """What scores need, to travel with rows: no sums."""
        model = copy(self.images)
        model._fitted = self.images._state.light()
        return replace(self, images=model)

    @property
    def k(self) -> int:
        """Components kept."""
        return self.images._state.k

    @property
    def divisor(self) -> float:
        """What eigenvalues are divided by to be variances."""
        return max(float(self.images._state.summary.rows) - 1.0, 1.0)

    @property
    def n_samples(self) -> int:
        """Rows used."""
        return int(self.images.n_samples_ or 0)

    @property
    def dtype(self) -> np.dtype[Any]:
        """float32 or float64."""
        return self.images._state.dtype

    @property
    def dropped(self) -> int:
        """Rows left out for missing values."""
        return self.images.n_dropped_

    @property
    def certificate(self) -> Certificate:
        """What can be promised of it, as far as images go."""
        return self.images.certificate_

    @cached_property
    def expansion(self) -> Expansion | None:
        """Axes as sums over landmarks; None of a map that has none."""
        made, found = self.map, self.images._state
        if not isinstance(made, Nystrom):
            return None
        mean, axes = found.mean, found.spectrum.axes[: found.k]
        # z(x) = k(x, L) W, so that μ = m W for the mean m of k(x, L) within the landmarks' span.
        back = made.weights / np.einsum("ij,ij->j", made.weights, made.weights)
        return Expansion(
            function=made.kernel,
            points=made.points,
            weights=made.weights @ axes.T,
            mean=made.weights @ mean,
            centre=back @ mean,
            mean_square=float(mean @ mean),
        )

    def scores(self, rows: Any) -> FloatArray:
        """Scores of rows (m, p)."""
        if self.expansion is not None:
            return self.expansion.scores(rows)
        return self.images._state.scores(self.map.images(rows))

    def squares(self, rows: Any) -> FloatArray:
        """Squared lengths of centred images (m,), whatever the map leaves out included."""
        if self.expansion is not None:
            return self.expansion.squares(rows)
        images = self.map.images(rows) - self.images._state.mean
        return np.einsum("ij,ij->i", images, images, dtype=np.float64)


def fit_exact(
    function: KernelFunction,
    rows: Any,
    weights: FloatArray | None,
    asked: Asked,
    *,
    dropped: int = 0,
) -> ExactFit:
    """Solve the kernel matrix of rows (n, p) in memory; weights are positive.

    Raises
    ------
    MemoryLimitError, NotFiniteError, DataError
    """
    limit = asked.limit
    if function.of_differences and not hasattr(rows, "tocsr"):
        function = function.about(rows.mean(axis=0, dtype=np.float64))
    # Half of it: the search space and products need room as well.
    wanted, n = asked.n_components, rows.shape[0]
    check_memory(n, wanted, asked.solver, limit)
    width = first_width(wanted) if is_searched(n, wanted, asked.solver, limit) else 0
    matrix = KernelMatrix(function, rows, weights, memory=limit // 2, width=width)
    return _solved(matrix, function, rows, asked, limit, dropped)


def fit_given(matrix: FloatArray, weights: FloatArray | None, asked: Asked) -> ExactFit:
    """Solve a kernel matrix (n, n) that was given; rows of weight zero take no part."""
    function = KernelFunction("precomputed")
    n, counted = len(matrix), None
    if weights is not None and not weights.all():
        counted = np.flatnonzero(weights)
        matrix, weights = matrix[np.ix_(counted, counted)], weights[counted]
    given = GivenMatrix(matrix, weights)
    fitted = _solved(given, function, None, asked, asked.limit, 0)
    if counted is None:
        return fitted
    # Scores are asked for with the kernel of all rows: those that do not count add nothing, and
    # have none of an eigenvector, as the root of their weight is a factor of it.
    inner, spectrum = fitted.expansion, fitted.spectrum
    roots = np.ones((len(counted), 1)) if fitted.roots is None else fitted.roots
    expansion = replace(
        inner,
        weights=_among(n, counted, inner.weights),
        mean=_among(n, counted, inner.mean),
        centre=_among(n, counted, inner.centre),
    )
    return replace(
        fitted,
        expansion=expansion,
        spectrum=replace(spectrum, axes=_among(n, counted, spectrum.axes.T).T),
        roots=_among(n, counted, roots),
        complete=False,
    )


def _among(n: int, places: Any, values: FloatArray) -> FloatArray:
    """Values of some rows among zeros."""
    out = np.zeros((n, *values.shape[1:]))
    out[places] = values
    return out


def _solved(
    matrix: Any, function: KernelFunction, rows: Any, asked: Asked, limit: int, dropped: int
) -> ExactFit:
    found = solve(matrix, asked.n_components, solver=asked.solver, tol=asked.tol, memory=limit)
    spectrum, centring, spread = found.spectrum, matrix.centring, matrix.spread
    plan = KernelPlan(
        rows=matrix.n,
        columns=None if rows is None else rows.shape[1],
        kernel=function.name,
        gamma=function.gamma if function.takes_gamma else None,
        route="exact",
        solver=found.solver,
        reasons=(found.reason,),
        passes=matrix.products,
        memory=found.memory,
    )
    return ExactFit(
        expansion=Expansion(
            function=function,
            points=rows,
            weights=_weights(spectrum, centring),
            mean=centring.shares,
            centre=spread.means,
            mean_square=spread.grand,
        ),
        spectrum=spectrum,
        divisor=centring.divisor,
        roots=centring.roots,
        n_samples=matrix.n,
        dtype=matrix.dtype,
        plan=plan,
        bytes_read=matrix.matrix.nbytes if rows is None else matrix.products * stored_bytes(rows),
        dropped=dropped,
    )


def _weights(spectrum: Spectrum, centring: Centring) -> FloatArray:
    """Of the rows in each axis (n, k); zero where an axis has no variance."""
    eigenvalues = spectrum.variances[: spectrum.k] * centring.divisor
    sound = eigenvalues > 0
    over = np.where(sound, 1.0 / np.sqrt(np.where(sound, eigenvalues, 1.0)), 0.0)
    weights = spectrum.axes.T * over
    if centring.roots is not None:
        weights *= centring.roots
    # The images are those about their mean, which has a share of each.
    return weights - centring.shares[:, None] * weights.sum(axis=0)
