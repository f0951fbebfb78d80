"""The feature space of a kernel: centred kernel matrices, their eigenpairs, axes as expansions."""

from princomp.kernel_pca.feature_space.expansion import (
    Expansion as Expansion,
    map_tiles as map_tiles,
)
from princomp.kernel_pca.feature_space.matrix import (
    CentredMatrix as CentredMatrix,
    Centring as Centring,
    KernelMatrix as KernelMatrix,
    PrecomputedMatrix as PrecomputedMatrix,
)
from princomp.kernel_pca.feature_space.solve import (
    MAX_NEGATIVE_SHARE as MAX_NEGATIVE_SHARE,
    count_for_share as count_for_share,
    first_block_width as first_block_width,
    solve as solve,
)
