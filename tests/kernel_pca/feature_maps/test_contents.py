"""Feature maps in files: restored bit for bit, and altered contents are refused."""

from __future__ import annotations

import json

import numpy as np
import pytest
import scipy.sparse as sp
from kernel_cases import LAPLACIAN, POLY, RBF

from princomp.errors import ModelFileError
from princomp.kernel_pca.contents import map_from_contents, map_to_contents
from princomp.kernel_pca.feature_maps import Fourier, Nystrom, TensorSketch

ROWS = np.random.default_rng(9).standard_normal((50, 4))
MAPS = {
    "landmarks": Nystrom.of(RBF, ROWS[:20]),
    "sparse landmarks": Nystrom.of(POLY, sp.csr_array(np.where(ROWS[:20] > 0, ROWS[:20], 0))),
    "float32": Nystrom.of(LAPLACIAN, ROWS[:20].astype(np.float32)),
    "waves": Fourier.of(RBF, 4, 30, seed=7),
    "sketch": TensorSketch.of(POLY, 4, 30, seed=7, dtype=np.float32),
}


def contents(map):
    arrays, document = map_to_contents(map)
    return json.loads(json.dumps(document)), arrays


@pytest.mark.parametrize("map", MAPS.values(), ids=MAPS)
def test_a_map_is_restored_exactly(map):
    again = map_from_contents(*contents(map))
    assert again.same_as(map)
    np.testing.assert_array_equal(again.images(ROWS), map.images(ROWS))
    assert all(isinstance(array, np.ndarray) for array in contents(map)[1].values())


@pytest.mark.parametrize("map", MAPS.values(), ids=MAPS)
def test_changed_entries_are_refused(map):
    document, arrays = contents(map)
    for name in document:
        for value in (None, "other", -1, [], float("nan")):
            if name == "gamma" and value in (None, -1):
                continue  # which are valid
            if name in ("degree", "coef0") and value == -1:
                continue
            with pytest.raises(ModelFileError):
                map_from_contents({**document, name: value}, arrays)
        if name != "gamma":
            with pytest.raises(ModelFileError):
                map_from_contents(
                    {key: value for key, value in document.items() if key != name}, arrays
                )


def test_another_number_of_columns_is_refused():
    document, arrays = contents(MAPS["landmarks"])
    with pytest.raises(ModelFileError):
        map_from_contents({**document, "p": 5}, arrays)
    for document in (None, [], {}):
        with pytest.raises(ModelFileError, match="not known"):
            map_from_contents(document, {})


@pytest.mark.parametrize("map", MAPS.values(), ids=MAPS)
def test_changed_arrays_are_refused(map):
    document, arrays = contents(map)
    with pytest.raises(ModelFileError):
        map_from_contents(document, {**arrays, "more": np.ones(3)})
    for name, array in arrays.items():
        if name != "shift":
            with pytest.raises(ModelFileError):
                map_from_contents(
                    document, {key: value for key, value in arrays.items() if key != name}
                )
        if array.dtype.kind == "f":
            broken = array.copy()
            broken.flat[0] = np.nan
            with pytest.raises(ModelFileError):
                map_from_contents(document, {**arrays, name: broken})
        with pytest.raises(ModelFileError):
            map_from_contents(document, {**arrays, name: array[:-1]})
