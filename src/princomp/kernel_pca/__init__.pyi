from .estimator import KernelPCA as KernelPCA
from .median import median_gamma as median_gamma
from .parameters import KernelParameters as KernelParameters
from .pre_images.methods import methods_for as methods_for
from .tuned import Tuned as Tuned
from .tuning import tune as tune
