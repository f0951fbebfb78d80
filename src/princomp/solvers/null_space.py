"""Axes for the components that have no variance: any complete the basis, so take the same ones."""

from __future__ import annotations

import math

import numpy as np

from princomp.arrays import FloatArray, empty
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
    axes = _with_units(spectrum.axes[:sound], k - sound)
    variances = spectrum.variances
    if len(variances) < k:
        variances = np.concatenate([variances, np.zeros(k - len(variances))])
    residuals = spectrum.residuals
    if residuals is not None:
        # Against a variance under the resolution, the resolution bounds the residual.
        rest = np.full(k - sound, spectrum.roundoff)
        residuals = np.concatenate([residuals[:sound], rest])
    total, error, squared = spectrum.total, spectrum.roundoff, spectrum.squared
    return Spectrum(variances, axes, total, error, squared, residuals, spectrum.missed)


def _with_units(axes: FloatArray, count: int) -> FloatArray:
    """``axes``, and ``count`` rows more that are orthonormal, made of the first unit vectors."""
    known, p = axes.shape
    found = empty((known + count, p))
    found[:known] = axes
    left = 1.0 - np.einsum("ij,ij->j", axes, axes)  # squared length that each unit vector keeps
    for row in range(known, known + count):
        # The first that keeps half of what the best keeps: rounding cannot change the pick.
        pick = int((left >= 0.5 * np.maximum.reduce(left)).argmax())
        before, unit = found[:row], found[row]
        # A unit vector's coordinates are a column.
        np.negative(before[:, pick].dot(before), out=unit)
        unit[pick] += 1.0
        unit /= math.sqrt(unit.dot(unit))
        unit -= before.dot(unit).dot(before)
        unit /= math.sqrt(unit.dot(unit))
        left -= unit * unit
    return found
