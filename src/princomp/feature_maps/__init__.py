"""Feature maps: rows to images in finitely many coordinates, so that sums of images do.

feature_map                what all maps are
nystrom                    by kernels with landmarks
landmarks, drawn           how these are chosen
fourier, polynomial        by random waves, and by sketches of products
auto                       how many it takes
elsewhere, device          rows of any origin through a map, where they lie
contents                   maps in files
"""

from princomp.feature_maps.auto import Sized, enough_features, enough_landmarks
from princomp.feature_maps.contents import restored, valid_divisors
from princomp.feature_maps.elsewhere import mapped
from princomp.feature_maps.feature_map import FeatureMap
from princomp.feature_maps.fourier import Fourier
from princomp.feature_maps.landmarks import Landmarks, drawn_rows, landmarks
from princomp.feature_maps.nystrom import Nystrom
from princomp.feature_maps.polynomial import TensorSketch

__all__ = [
    "FeatureMap",
    "Fourier",
    "Landmarks",
    "Nystrom",
    "Sized",
    "TensorSketch",
    "drawn_rows",
    "enough_features",
    "enough_landmarks",
    "landmarks",
    "mapped",
    "restored",
    "valid_divisors",
]
