"""Rows in an array of array_api_strict, on a device that NumPy cannot access, a few at a time."""

from __future__ import annotations

from functools import lru_cache
from importlib.util import find_spec

import numpy as np
import scipy.sparse as sp

from princomp import PCA
from princomp.engines.device.spaces import SPACES
from princomp.engines.distributed import ENGINES
from princomp.summaries import Space

NAME = "array_api_strict"


@lru_cache
def space_of_device(device):
    import array_api_strict

    host = array_api_strict.Device("CPU_DEVICE")
    return Space(
        xp=array_api_strict,
        device=device,
        name=f"array_api_strict ({device})",
        to_host=lambda array: np.asarray(array.to_device(host)),
        # It computes with NumPy, whose warnings about overflow are not needed: the sums show it.
        full_precision=lambda: np.errstate(all="ignore"),
    )


SPACES[NAME] = space_of_device
ENGINES[NAME] = ENGINES["torch"]


def missing():
    if find_spec("array_api_strict") is None:
        return "array_api_strict is not installed: pip install array-api-strict"
    return None


def to_device(rows):
    import array_api_strict as xp

    return xp.asarray(rows, device=xp.Device("device1"))


def to_host(array):
    import array_api_strict as xp

    assert array.device == xp.Device("device1")
    return np.asarray(array.to_device(xp.Device("CPU_DEVICE")))


def table(parts):
    # It has no sparse arrays.
    return to_device(np.concatenate([p.toarray() if sp.issparse(p) else p for p in parts]))


def fit(parts, **parameters):
    return PCA(**parameters).fit(table(parts))


def transform(model, parts):
    return to_host(model.transform(table(parts)))
