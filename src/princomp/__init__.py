"""Principal component analysis: a summary of rows, merged, then solved."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from princomp._version import __version__

if TYPE_CHECKING:
    from princomp.certificate import Certificate
    from princomp.errors import PrincompError
    from princomp.estimator import PCA
    from princomp.functions import load, pca, plan, svd
    from princomp.incremental import IncrementalPCA
    from princomp.planning import Plan
    from princomp.progress import Progress
    from princomp.spectrum import Spectrum
    from princomp.summaries import Moments, Sketch, Triangle

__all__ = [
    "PCA",
    "Certificate",
    "IncrementalPCA",
    "Moments",
    "Plan",
    "PrincompError",
    "Progress",
    "Sketch",
    "Spectrum",
    "Triangle",
    "__version__",
    "load",
    "pca",
    "plan",
    "svd",
]

# Names are resolved when first used, so that the command line answers --help without
# loading scikit-learn. No module may carry a public name: importing it would hide the name.
_HOMES = {
    "PCA": "estimator",
    "Certificate": "certificate",
    "IncrementalPCA": "incremental",
    "Moments": "summaries",
    "Plan": "planning",
    "PrincompError": "errors",
    "Progress": "progress",
    "Sketch": "summaries",
    "Spectrum": "spectrum",
    "Triangle": "summaries",
    "load": "functions",
    "pca": "functions",
    "plan": "functions",
    "svd": "functions",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'princomp' has no attribute {name!r}")
    value = getattr(import_module(f"princomp.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
