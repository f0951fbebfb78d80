"""Products of rows with each other: every instruction set and NumPy, to the same bound."""

from __future__ import annotations

import numpy as np
import pytest

from helpers import EPS, EPS32
from princomp.kernels.dense import Affine, row_products

# One row and column, ends of vectors, squares, panels and chunks, odd numbers of columns.
SHAPES = [(1, 1), (2, 3), (5, 700), (16, 16), (17, 31), (40, 257), (100, 515), (230, 96)]
every_dtype = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def check(rows, low, matrix):
    found = row_products(rows, low)
    unit = EPS32 if rows.dtype == np.float32 else EPS
    sizes = np.abs(matrix) @ np.abs(matrix).T
    assert (np.abs(found - matrix @ matrix.T) <= (matrix.shape[1] + 16) * unit * sizes).all()
    assert (found == found.T).all()


@every_dtype
@pytest.mark.parametrize("shape", SHAPES)
def test_rows_are_multiplied_with_each_other(kind, dtype, shape, rng):
    data = (rng.standard_normal(shape) + 3).astype(dtype)
    high = data.mean(axis=0)
    check(Affine(data, high), None, data.astype(np.float64) - high)


@every_dtype
@pytest.mark.parametrize("omitted", range(4))
def test_rows_are_centred_scaled_and_weighted_in_products(kind, dtype, omitted, rng):
    n, p = 21, 300
    data = (rng.standard_normal((n, p)) + 3).astype(dtype)
    high, divisor, low, roots = (
        None if omitted == i else numbers.astype(dtype)
        for i, numbers in enumerate(
            (rng.uniform(2, 4, p), rng.uniform(1, 2, p), rng.uniform(0, 1, p), rng.uniform(0, 2, n))
        )
    )
    matrix = data.astype(np.float64)
    matrix = matrix if high is None else matrix - high
    matrix = matrix if divisor is None else matrix / divisor
    matrix = matrix if low is None else matrix - low
    matrix = matrix if roots is None else matrix * roots[:, None]
    check(Affine(data, high, divisor, roots), low, matrix)


def test_rows_of_any_strides_are_multiplied(kind, rng):
    wide = rng.standard_normal((30, 90))
    for data in (wide[::2, ::3], np.asfortranarray(wide), wide[:, 7:50]):
        check(Affine(data), None, data)


def test_a_low_part_that_does_not_fit_is_refused(rng):
    rows = Affine(rng.standard_normal((4, 5)))
    for low in (np.zeros(4), np.zeros(5, np.float32)):
        with pytest.raises(ValueError, match="other shapes"):
            row_products(rows, low)
    with pytest.raises(ValueError, match="other shapes"):
        row_products(Affine(rows.data, np.zeros(4)))
