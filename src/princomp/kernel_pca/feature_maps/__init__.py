"""Feature maps: maps of rows to images in D coordinates, whose sums replace kernel matrices.

feature_map                      the base of all maps, and their laws
nystrom, fourier, tensor_sketch  one map each
landmarks                        the landmarks of Nyström's map, from a sample of rows
row_samples                      random samples of rows, which can be merged
preparation                      the map of a fit: how many landmarks or features are enough
distributed, device              maps of rows on engines and devices
"""

from princomp.kernel_pca.feature_maps.distributed import mapped as mapped
from princomp.kernel_pca.feature_maps.feature_map import FeatureMap as FeatureMap
from princomp.kernel_pca.feature_maps.fourier import Fourier as Fourier
from princomp.kernel_pca.feature_maps.nystrom import Nystrom as Nystrom
from princomp.kernel_pca.feature_maps.preparation import prepare_map as prepare_map
from princomp.kernel_pca.feature_maps.tensor_sketch import TensorSketch as TensorSketch
