"""Pre-images: rows, in the units of the data, whose images lie near projections.

pre_image                               the protocol of methods, and their checks
linear, ridge, fixed_point, distances   one method each
nearest                                 the nearest points of projections
methods                                 methods by name, and which kernels they support
"""

from princomp.kernel_pca.pre_images.distances import Distances
from princomp.kernel_pca.pre_images.fixed_point import FixedPoint
from princomp.kernel_pca.pre_images.linear import Linear
from princomp.kernel_pca.pre_images.methods import METHODS, check_method, pre_images
from princomp.kernel_pca.pre_images.pre_image import PreImages
from princomp.kernel_pca.pre_images.ridge import Ridge

__all__ = [
    "METHODS",
    "Distances",
    "FixedPoint",
    "Linear",
    "PreImages",
    "Ridge",
    "check_method",
    "pre_images",
]
