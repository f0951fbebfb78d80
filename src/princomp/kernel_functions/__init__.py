"""Kernel functions: how alike two rows are, as an inner product somewhere else."""

from princomp.kernel_functions.bandwidth import median_gamma
from princomp.kernel_functions.function import KERNELS, KernelFunction

__all__ = ["KERNELS", "KernelFunction", "median_gamma"]
