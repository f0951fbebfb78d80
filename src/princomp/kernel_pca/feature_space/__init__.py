"""The feature space of a kernel: centred kernel matrices, their eigenpairs, axes as expansions."""

from princomp.kernel_pca.feature_space.centring import Centring as Centring
from princomp.kernel_pca.feature_space.expansion import (
    Expansion as Expansion,
    map_tiles as map_tiles,
)
from princomp.kernel_pca.feature_space.matrix import (
    KernelMatrix as KernelMatrix,
    PrecomputedMatrix as PrecomputedMatrix,
)
from princomp.kernel_pca.feature_space.solve import (
    check_memory as check_memory,
    solve as solve,
    start_block_width as start_block_width,
    uses_lanczos as uses_lanczos,
)
