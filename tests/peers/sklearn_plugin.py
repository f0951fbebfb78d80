"""A pytest plugin that replaces scikit-learn's classes by princomp's in scikit-learn's own tests.

It is loaded with ``-p sklearn_plugin``, before any test module is imported.
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
    source = os.environ.get("PRINCOMP_SOURCE")
    found = Path(princomp.__file__).resolve().parents[1]
    if source and found != Path(source).resolve():
        raise RuntimeError(f"princomp was imported from {found} and not from {source}")
    for kind in (princomp.PCA, princomp.IncrementalPCA, princomp.KernelPCA):
        # The tests expect the names pca0, …, which are an option of princomp.
        kind.__init__.__kwdefaults__["component_names"] = "sklearn"
    sklearn.decomposition.PCA = princomp.PCA
    # For imports from the private modules.
    sklearn.decomposition._pca.PCA = princomp.PCA
    sklearn.decomposition.IncrementalPCA = princomp.IncrementalPCA
    sklearn.decomposition._incremental_pca.IncrementalPCA = princomp.IncrementalPCA
    sklearn.decomposition.KernelPCA = princomp.KernelPCA
    sklearn.decomposition._kernel_pca.KernelPCA = princomp.KernelPCA


def pytest_collection_finish(session):
    """Fail the run if the tests did not import princomp's classes."""
    loaded = {
        sys.modules[module]: name for module, name in _MODULES.items() if module in sys.modules
    }
    if not loaded:
        raise RuntimeError("none of scikit-learn's tests were collected")
    for module, name in loaded.items():
        if getattr(module, name) is not getattr(princomp, name):
            raise RuntimeError(f"{module.__name__} does not hold princomp's {name}")
