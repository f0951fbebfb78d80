"""Kernel functions: how alike two rows are, as an inner product somewhere else."""

from princomp.kernel_functions.bandwidth import median_gamma
from princomp.kernel_functions.function import KERNELS, KernelFunction, divided

__all__ = ["KERNELS", "KernelFunction", "divided", "median_gamma"]
