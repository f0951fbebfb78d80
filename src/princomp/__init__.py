"""Principal component analysis: a summary of rows, merged, then solved."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from princomp._version import __version__

if TYPE_CHECKING:
    from princomp.certificate import Certificate
    from princomp.engines.device_stream import on_device
    from princomp.errors import PrincompError
    from princomp.estimator import PCA
    from princomp.functions import load, pca, plan, svd
    from princomp.incremental import IncrementalPCA
    from princomp.kernel_pca import KernelPCA, tune
    from princomp.planning import Plan
    from princomp.progress import Progress
    from princomp.reports import report
    from princomp.resampling import bootstrap
    from princomp.robust import RobustPCA, principal_component_pursuit
    from princomp.rotation import rotate
    from princomp.side_by_side import choose
    from princomp.spectrum import Spectrum
    from princomp.summaries import Moments, Sketch, Triangle

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
    "report",
    "rotate",
    "svd",
    "tune",
]

# Names are resolved when first used, so that the command line answers --help without
# loading scikit-learn. No module may carry a public name: importing it would hide the name.
_HOMES = {
    "PCA": "estimator",
    "Certificate": "certificate",
    "IncrementalPCA": "incremental",
    "KernelPCA": "kernel_pca",
    "Moments": "summaries",
    "Plan": "planning",
    "PrincompError": "errors",
    "Progress": "progress",
    "RobustPCA": "robust",
    "Sketch": "summaries",
    "Spectrum": "spectrum",
    "Triangle": "summaries",
    "bootstrap": "resampling",
    "choose": "side_by_side",
    "load": "functions",
    "on_device": "engines.device_stream",
    "pca": "functions",
    "plan": "functions",
    "principal_component_pursuit": "robust",
    "report": "reports",
    "rotate": "rotation",
    "svd": "functions",
    "tune": "kernel_pca",
}

# Rooms that are public as such; they load when first used, too.
_ROOMS = ("choosing", "diagnostics", "plots")


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f"princomp.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'princomp' has no attribute {name!r}")
    value = getattr(import_module(f"princomp.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
