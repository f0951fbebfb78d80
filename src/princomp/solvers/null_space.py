"""Axes for the components that have no variance: any complete the basis, so take the same ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from princomp.arrays import FloatArray
from princomp.spectrum import Spectrum

__all__ = ["completed"]


def completed(spectrum: Spectrum, k: int) -> Spectrum:
    """The spectrum with exactly ``k`` axes, those of noise replaced by lawful ones.

    What a solver returns for a variance below its resolution is rounding. Such axes
    are replaced by unit vectors made orthogonal to the ones that mean something, a
    function of their span alone: a table with repeated rows and the same table with
    weights get the same axes.
    """
    if spectrum.k == k and (not k or spectrum.variances[k - 1] > spectrum.resolution):
        return spectrum
    known = min(k, spectrum.k)
    sound = int(np.sum(spectrum.variances[:known] > spectrum.resolution))
    if sound >= k:
        return spectrum.first(k)
    axes = np.vstack([spectrum.axes[:sound], _orthogonal_units(spectrum.axes[:sound], k - sound)])
    variances = spectrum.variances
    if len(variances) < k:
        variances = np.concatenate([variances, np.zeros(k - len(variances))])
    residuals = spectrum.residuals
    if residuals is not None:
        # Against a variance under the resolution, the resolution bounds the residual.
        rest = np.full(k - sound, spectrum.roundoff)
        residuals = np.concatenate([residuals[:sound], rest])
    return replace(spectrum, variances=variances, axes=axes, residuals=residuals)


def _orthogonal_units(axes: FloatArray, count: int) -> FloatArray:
    """``count`` orthonormal rows, orthogonal to ``axes``, made of the first unit vectors."""
    p = axes.shape[1]
    found = np.empty((len(axes) + count, p))
    found[: len(axes)] = axes
    left = 1.0 - np.einsum("ij,ij->j", axes, axes)  # squared length that each unit vector keeps
    for row in range(len(axes), len(axes) + count):
        # The first that keeps half of what the best keeps: rounding cannot change the pick.
        pick = int(np.argmax(left >= 0.5 * left.max()))
        unit = np.zeros(p)
        unit[pick] = 1.0
        for _ in range(2):
            unit -= found[:row].T @ (found[:row] @ unit)
            unit /= np.linalg.norm(unit)
        found[row] = unit
        left = np.maximum(left - unit**2, 0.0)
    return found[len(axes) :]
