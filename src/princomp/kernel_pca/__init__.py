"""Kernel PCA: principal components of rows in the feature space of a kernel."""

from princomp.kernel_pca.estimator import KernelPCA
from princomp.kernel_pca.tuned import Tuned
from princomp.kernel_pca.tuning import tune

__all__ = ["KernelPCA", "Tuned", "tune"]
