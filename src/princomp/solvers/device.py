"""Spectra of summaries on a device; only k axes and p variances are copied to the host."""

from __future__ import annotations

import numpy as np

from princomp.linalg import EPS, FloatArray, search_rng, squares_over
from princomp.solvers.bases import orthonormal
from princomp.solvers.dense import AxisCount, roundoff, within_rank
from princomp.solvers.lanczos import lanczos
from princomp.solvers.ritz import FEWEST_UNITS, spectrum_of, without_variance
from princomp.solvers.scatter_search import trace_scale
from princomp.solvers.spectrum import Spectrum
from princomp.summaries import DeviceMoments, DeviceTriangle


def solve_on_device(
    summary: DeviceMoments | DeviceTriangle, k: AxisCount, *, few: bool, tol: float
) -> Spectrum:
    """Compute the spectrum of a summary that is on a device.

    Parameters
    ----------
    summary : DeviceMoments or DeviceTriangle
    k : int, callable or None
        As for :func:`princomp.solvers.dense.solve_moments`.
    few : bool
        Search for k axes instead of computing all.
    tol : float
        Largest residual with which the search may stop, relative to the first eigenvalue.
    """
    if isinstance(summary, DeviceTriangle):
        return _solve_triangle(summary, k)
    if few and isinstance(k, int):
        return _search(summary, k, tol)
    return _solve_moments(summary, k)


def _solve_moments(moments: DeviceMoments, k: AxisCount) -> Spectrum:
    """Compute all variances and the first axes."""
    space, p, divisor = moments.space, moments.p, moments.rows - 1.0
    xp = space.xp
    varying, trace = np.flatnonzero(moments.column_scatter), float(np.sum(moments.column_scatter))
    total, error = trace / divisor, roundoff(p, moments.effective_unit, moments.count)
    limit = min(moments.rank_limit, varying.size)

    def without_axes(values: FloatArray) -> Spectrum:
        return Spectrum(within_rank(values, limit), np.empty((0, p)), total, error)

    if not varying.size:
        count = k(without_axes(np.zeros(p))) if callable(k) else k
        return without_variance(p if count is None else count, p, moments.effective_unit)
    scale, matrix = trace_scale(trace), moments.scatter
    if varying.size < p:
        # Leave out constant columns: their entries in each axis are exactly zero.
        indices = xp.asarray(varying, device=space.device)
        matrix = xp.take(xp.take(matrix, indices, axis=0), indices, axis=1)
    matrix = matrix / scale
    found, vectors = xp.linalg.eigh(matrix)
    eigenvalues, values = space.get(found)[::-1], np.zeros(p)
    values[: varying.size] = eigenvalues * scale / divisor
    spectrum = without_axes(values)
    count = k(spectrum) if callable(k) else k
    count = varying.size if count is None else min(count, varying.size)
    chosen = xp.flip(vectors[:, varying.size - count :], axis=1)
    # Measure the residuals: this takes a product with the scatter.
    errors = xp.matmul(matrix, chosen) - chosen * xp.flip(found[varying.size - count :])[None, :]
    axes = np.zeros((count, p))
    axes[:, varying] = space.get(chosen).T
    residuals = space.get(xp.sqrt(xp.sum(errors * errors, axis=0))) / eigenvalues[0]
    return Spectrum(spectrum.variances, axes, total, error, residuals=residuals)


def _search(moments: DeviceMoments, k: int, tol: float) -> Spectrum:
    """Search for the first ``k``: copy vectors to the device, and their images to the host."""
    space, p, divisor = moments.space, moments.p, moments.rows - 1.0
    trace = float(np.sum(moments.column_scatter))
    total, scale = trace / divisor, trace_scale(trace)
    if total == 0.0:
        return without_variance(k, p, moments.effective_unit)

    def apply(vectors: FloatArray) -> FloatArray:
        return space.get(space.xp.matmul(moments.scatter, space.put(vectors))) / scale

    least, rng = FEWEST_UNITS * EPS, search_rng()
    pairs = lanczos(apply, p, k, tol=max(tol, least), rng=rng, trace=trace / scale)
    axes, error = orthonormal(pairs.vectors.T), roundoff(p, moments.effective_unit, moments.count)
    return spectrum_of(pairs, moments, total, error, axes=axes, scale=scale)


def _solve_triangle(triangle: DeviceTriangle, k: AxisCount) -> Spectrum:
    """Compute the singular values of the factor and the first axes."""
    space, p, divisor = triangle.space, triangle.p, triangle.rows - 1.0
    _, s, vt = space.xp.linalg.svd(triangle.factor, full_matrices=False)
    total = float(np.sum(triangle.column_scatter / divisor))
    singular_values = space.get(s)
    variances = within_rank(squares_over(singular_values, divisor), triangle.rank_limit)

    def spectrum(axes: FloatArray, residuals: FloatArray | None = None) -> Spectrum:
        error = roundoff(p, EPS)
        return Spectrum(variances, axes, total, error, squared=False, residuals=residuals)

    count = k(spectrum(np.empty((0, p)))) if callable(k) else k
    kept = vt.shape[0] if count is None else min(count, vt.shape[0])
    axes, first = vt[:kept, :], float(singular_values[0])
    residuals = np.zeros(kept)
    if first > 0:
        # Divide by the first singular value, so that squares stay in range.
        reduced = triangle.factor / first
        images = space.xp.matmul(space.xp.matmul(axes, reduced.T), reduced)
        errors = images - axes * ((s[:kept] / first) ** 2)[:, None]
        residuals = space.get(space.xp.sqrt(space.xp.sum(errors * errors, axis=1)))
    return spectrum(space.get(axes), residuals)
