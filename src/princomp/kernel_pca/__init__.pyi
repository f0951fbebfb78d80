from .estimator import KernelPCA as KernelPCA
from .functions import median_gamma as median_gamma
from .parameters import KernelParameters as KernelParameters
from .tuned import Tuned as Tuned, tune as tune
