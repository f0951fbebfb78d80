"""Pre-images: rows, in the input's units, whose images lie near given scores.

methods                    which way there is for which kernel
ridge, fixed_point, distances   the ways; the linear kernel's is in ridge
descent, nearest, given    what they are made with
"""

from princomp.pre_images.distances import Distances
from princomp.pre_images.fixed_point import FixedPoint
from princomp.pre_images.methods import METHODS, PreImages, check_method, pre_images
from princomp.pre_images.ridge import Linear, Ridge, learned

__all__ = [
    "METHODS",
    "Distances",
    "FixedPoint",
    "Linear",
    "PreImages",
    "Ridge",
    "check_method",
    "learned",
    "pre_images",
]
