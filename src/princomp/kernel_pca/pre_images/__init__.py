"""Pre-images: rows, in the units of the data, whose images lie near projections.

pre_image                               what methods share: protocol, checks, nearest points
linear, ridge, fixed_point, distances   one method each
methods                                 methods by name, and which kernels they support
"""

from princomp.kernel_pca.pre_images.distances import Distances as Distances
from princomp.kernel_pca.pre_images.fixed_point import FixedPoint as FixedPoint
from princomp.kernel_pca.pre_images.linear import Linear as Linear
from princomp.kernel_pca.pre_images.methods import (
    METHODS as METHODS,
    check_method as check_method,
    pre_images as pre_images,
)
from princomp.kernel_pca.pre_images.pre_image import PreImages as PreImages
from princomp.kernel_pca.pre_images.ridge import Ridge as Ridge
