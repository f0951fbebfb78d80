"""The feature space of a kernel: centred kernel matrices, their eigenpairs, axes as expansions."""

from princomp.kernel_pca.feature_space.centring import Centring
from princomp.kernel_pca.feature_space.expansion import Expansion, by_tiles
from princomp.kernel_pca.feature_space.matrix import KernelMatrix, PrecomputedMatrix
from princomp.kernel_pca.feature_space.solve import check_memory, first_width, is_searched, solve

__all__ = [
    "Centring",
    "Expansion",
    "KernelMatrix",
    "PrecomputedMatrix",
    "by_tiles",
    "check_memory",
    "first_width",
    "is_searched",
    "solve",
]
