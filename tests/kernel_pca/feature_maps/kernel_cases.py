"""Kernels shared by the tests of feature maps."""

from __future__ import annotations

import numpy as np

from princomp.core import open_rows
from princomp.kernel_pca.feature_maps.landmarks import landmarks
from princomp.kernel_pca.functions import KernelFunction

LINEAR = KernelFunction("linear")
RBF = KernelFunction("rbf", gamma=0.1)
LAPLACIAN = KernelFunction("laplacian", gamma=0.1)
POLY = KernelFunction("poly", gamma=0.2, degree=3, coef0=1.0)
COSINE = KernelFunction("cosine")
CHI2 = KernelFunction("chi2", gamma=0.3)


def overlap(one, other):
    """Intersection of two histograms, as a user-defined kernel."""
    return float(np.minimum(one, other).sum())


CUSTOM = KernelFunction("callable", call=overlap)


def kernel_matrix(kernel, rows, others=None):
    """The kernel between rows, evaluated by the kernel function itself in float64."""
    sides = kernel.sides(rows.astype(np.float64))
    return kernel.tile(sides, sides if others is None else kernel.sides(others.astype(np.float64)))


def missing_variance(map, rows):
    """k(x, x) − ‖z(x)‖² of each row, the part that its image lacks."""
    return map.kernel.diagonal(rows) - (map.images(rows) ** 2).sum(axis=1)


def points_of(table, count, kernel=RBF, **options):
    """Landmarks of a table of any kind."""
    return landmarks(open_rows(table)[0], count, kernel, **options)[0]
