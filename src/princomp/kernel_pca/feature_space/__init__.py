"""The feature space of a kernel: centred kernel matrices, their eigenpairs, axes as expansions."""

from princomp.kernel_pca.feature_space.centring import Centring
from princomp.kernel_pca.feature_space.expansion import Expansion, map_tiles
from princomp.kernel_pca.feature_space.matrix import KernelMatrix, PrecomputedMatrix
from princomp.kernel_pca.feature_space.solve import (
    check_memory,
    solve,
    start_block_width,
    uses_lanczos,
)

__all__ = [
    "Centring",
    "Expansion",
    "KernelMatrix",
    "PrecomputedMatrix",
    "check_memory",
    "map_tiles",
    "solve",
    "start_block_width",
    "uses_lanczos",
]
