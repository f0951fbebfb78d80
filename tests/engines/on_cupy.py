"""Rows in one CuPy array on a GPU."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import scipy.sparse as sp

from princomp import PCA

NAME = "cupy"


def missing():
    if find_spec("cupy") is None:
        return "CuPy is not installed: pip install 'princomp[cupy]'"
    import cupy

    return None if cupy.cuda.is_available() else "there is no CUDA device"


def to_device(rows):
    import cupy

    return cupy.asarray(rows)


def to_host(array):
    import cupy

    return cupy.asnumpy(array)


def table(parts):
    return to_device(np.concatenate([p.toarray() if sp.issparse(p) else p for p in parts]))


def fit(parts, **parameters):
    return PCA(**parameters).fit(table(parts))


def transform(model, parts):
    return to_host(model.transform(table(parts)))
