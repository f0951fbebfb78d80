"""Principal components of rows in the feature space of a kernel, which is never entered."""

from princomp.feature_space.centring import Centring, Spread
from princomp.feature_space.expansion import Expansion
from princomp.feature_space.matrix import GivenMatrix, KernelMatrix
from princomp.feature_space.solve import Solved, check_memory, first_width, is_searched, solve

__all__ = [
    "Centring",
    "Expansion",
    "GivenMatrix",
    "KernelMatrix",
    "Solved",
    "Spread",
    "check_memory",
    "first_width",
    "is_searched",
    "solve",
]
