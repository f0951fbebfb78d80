"""Feature maps: maps of rows to images in D coordinates, whose sums replace kernel matrices.

feature_map                      the base of all maps, and their laws
nystrom, fourier, tensor_sketch  one map each
landmarks, row_sample            the landmarks of Nyström's map
sizing                           how many landmarks or features are enough
distributed, device              maps of rows on engines and devices
contents                         maps in model files
"""

from princomp.kernel_pca.feature_maps.contents import map_from_contents
from princomp.kernel_pca.feature_maps.distributed import mapped
from princomp.kernel_pca.feature_maps.feature_map import FeatureMap
from princomp.kernel_pca.feature_maps.fourier import Fourier
from princomp.kernel_pca.feature_maps.landmarks import Landmarks, landmarks, sample_rows
from princomp.kernel_pca.feature_maps.nystrom import Nystrom
from princomp.kernel_pca.feature_maps.sizing import (
    SizedMap,
    random_map,
    sized_nystrom_map,
    sized_random_map,
)
from princomp.kernel_pca.feature_maps.tensor_sketch import TensorSketch

__all__ = [
    "FeatureMap",
    "Fourier",
    "Landmarks",
    "Nystrom",
    "SizedMap",
    "TensorSketch",
    "landmarks",
    "map_from_contents",
    "mapped",
    "random_map",
    "sample_rows",
    "sized_nystrom_map",
    "sized_random_map",
]
