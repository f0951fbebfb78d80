"""A pytest plugin that puts princomp's PCA where scikit-learn's own tests import theirs.

Loaded with ``-p sklearn_plugin``, that is before any test module is imported.
"""

import os
import sys
from pathlib import Path

import sklearn.decomposition
import sklearn.decomposition._pca

import princomp

_MODULE = "sklearn.decomposition.tests.test_pca"


def pytest_configure():
    if _MODULE in sys.modules:
        raise RuntimeError(f"{_MODULE} was imported before princomp's PCA was put in its place")
    wanted = os.environ.get("PRINCOMP_SOURCE")
    found = Path(princomp.__file__).resolve().parents[1]
    if wanted and found != Path(wanted).resolve():
        raise RuntimeError(f"princomp was imported from {found} and not from {wanted}")
    sklearn.decomposition.PCA = princomp.PCA
    # Whoever imports it from its home gets ours too.
    sklearn.decomposition._pca.PCA = princomp.PCA


def pytest_collection_finish(session):
    """Fail the run where the tests hold another PCA after all."""
    module = sys.modules.get(_MODULE)
    if module is None or module.PCA is not princomp.PCA:
        raise RuntimeError("scikit-learn's tests do not hold princomp's PCA")
