"""A fitted kernel PCA, exact or approximate.

Laws of both kinds:

- A fit is immutable: adding or removing rows returns another fit.
- The scores of a row depend on this row only: they project its centred image on the axes.
- The scores of the rows of the fit have mean 0 and the variances of ``spectrum``.
- For each row, ‖``scores``‖² is at most ``squared_norms``, up to rounding.
"""

from __future__ import annotations

from typing import TypeAlias

from princomp.kernel_pca.exact import ExactFit
from princomp.kernel_pca.images import ImageFit

KernelFit: TypeAlias = ExactFit | ImageFit
