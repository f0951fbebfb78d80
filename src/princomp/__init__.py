"""Principal component analysis: blocks of rows are summarised, merged, then solved."""

from __future__ import annotations

from typing import TYPE_CHECKING

import lazy_loader

__version__ = "0.2.0"

if TYPE_CHECKING:
    from princomp import diagnostics as diagnostics, plots as plots, rules as rules
    from princomp.core import Certificate, Plan
    from princomp.diagnostics import bootstrap, rotate
    from princomp.engines import Progress, on_device
    from princomp.errors import PrincompError
    from princomp.estimators import (
        PCA,
        IncrementalPCA,
        RobustPCA,
        choose,
        load,
        pca,
        plan,
        principal_component_pursuit,
        svd,
    )
    from princomp.io import read_table
    from princomp.kernel_pca import KernelPCA, tune
    from princomp.reports import report
    from princomp.solvers import Spectrum
    from princomp.summaries import Moments, Sketch, Triangle

# Names load when first used, so that ``princomp --help`` starts without NumPy.
__getattr__, _, _ = lazy_loader.attach(
    __name__,
    submodules=["diagnostics", "plots", "rules"],
    submod_attrs={
        "core": ["Certificate", "Plan"],
        "diagnostics": ["bootstrap", "rotate"],
        "engines": ["Progress", "on_device"],
        "errors": ["PrincompError"],
        "estimators": [
            "PCA",
            "IncrementalPCA",
            "RobustPCA",
            "choose",
            "load",
            "pca",
            "plan",
            "principal_component_pursuit",
            "svd",
        ],
        "io": ["read_table"],
        "kernel_pca": ["KernelPCA", "tune"],
        "reports": ["report"],
        "solvers": ["Spectrum"],
        "summaries": ["Moments", "Sketch", "Triangle"],
    },
)

__all__ = [
    "PCA",
    "Certificate",
    "IncrementalPCA",
    "KernelPCA",
    "Moments",
    "Plan",
    "PrincompError",
    "Progress",
    "RobustPCA",
    "Sketch",
    "Spectrum",
    "Triangle",
    "__version__",
    "bootstrap",
    "choose",
    "load",
    "on_device",
    "pca",
    "plan",
    "principal_component_pursuit",
    "read_table",
    "report",
    "rotate",
    "svd",
    "tune",
]


def __dir__() -> list[str]:
    return sorted(__all__)
