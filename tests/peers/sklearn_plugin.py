"""A pytest plugin that puts princomp's classes where scikit-learn's own tests import theirs.

Loaded with ``-p sklearn_plugin``, that is before any test module is imported.
"""

import os
import sys
from pathlib import Path

import sklearn.decomposition
import sklearn.decomposition._incremental_pca
import sklearn.decomposition._kernel_pca
import sklearn.decomposition._pca

import princomp

_TESTS = "sklearn.decomposition.tests."
_MODULES = {
    _TESTS + "test_pca": "PCA",
    _TESTS + "test_incremental_pca": "IncrementalPCA",
    _TESTS + "test_kernel_pca": "KernelPCA",
}


def pytest_configure():
    for module in _MODULES:
        if module in sys.modules:
            raise RuntimeError(f"{module} was imported before princomp's was put in its place")
    wanted = os.environ.get("PRINCOMP_SOURCE")
    found = Path(princomp.__file__).resolve().parents[1]
    if wanted and found != Path(wanted).resolve():
        raise RuntimeError(f"princomp was imported from {found} and not from {wanted}")
    for kind in (princomp.PCA, princomp.IncrementalPCA, princomp.KernelPCA):
        # The tests name components pca0, …; here that is an option.
        kind.__init__.__kwdefaults__["component_names"] = "sklearn"
    sklearn.decomposition.PCA = princomp.PCA
    # Whoever imports it from its home gets ours too.
    sklearn.decomposition._pca.PCA = princomp.PCA
    sklearn.decomposition.IncrementalPCA = princomp.IncrementalPCA
    sklearn.decomposition._incremental_pca.IncrementalPCA = princomp.IncrementalPCA
    sklearn.decomposition.KernelPCA = princomp.KernelPCA
    sklearn.decomposition._kernel_pca.KernelPCA = princomp.KernelPCA


def pytest_collection_finish(session):
    """Fail the run where the tests hold another class after all."""
    held = {sys.modules[module]: name for module, name in _MODULES.items() if module in sys.modules}
    if not held:
        raise RuntimeError("none of scikit-learn's tests were collected")
    for module, name in held.items():
        if getattr(module, name) is not getattr(princomp, name):
            raise RuntimeError(f"{module.__name__} does not hold princomp's {name}")
