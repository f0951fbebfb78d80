"""Rows times a matrix: correct to rounding, and each row independent of the others."""

from __future__ import annotations

import numpy as np
import pytest

from princomp.kernels.matmul import RightFactor

every_dtype = pytest.mark.parametrize("dtype", ["f4", "f8"])
# Around the lengths of vectors, panels, tiles and sums in registers; and empty matrices.
SHAPES = [(1, 1), (3, 16), (22, 40), (5, 33), (384, 17), (385, 8), (900, 65), (0, 4), (4, 0)]


@every_dtype
@pytest.mark.parametrize("shape", SHAPES)
def test_products_are_within_their_roundings(kind, dtype, shape, rng):
    matrix = rng.standard_normal(shape).astype(dtype)
    factor = RightFactor(matrix)
    for m in (0, 1, 2, 5, 12, 31):
        rows = rng.standard_normal((m, shape[0])).astype(dtype)
        found = factor.times(rows)
        assert (found.dtype, found.shape) == (matrix.dtype, (m, shape[1]))
        wide = rows.astype(np.longdouble), matrix.astype(np.longdouble)
        bound = shape[0] * np.finfo(dtype).eps * (np.abs(wide[0]) @ np.abs(wide[1]))
        assert (np.abs(found - wide[0] @ wide[1]) <= bound).all()


@every_dtype
@pytest.mark.parametrize("shape", SHAPES[:-2])
def test_a_row_has_the_same_bits_at_any_place_among_any_others(kind, dtype, shape, rng):
    factor = RightFactor(rng.standard_normal(shape).astype(dtype))
    row = rng.standard_normal((1, shape[0])).astype(dtype)
    alone = factor.times(row)
    for m in (2, 5, 12, 40):
        assert (factor.times(np.repeat(row, m, axis=0)) == alone).all()
        others = rng.standard_normal((m, shape[0])).astype(dtype)
        for at in range(m):
            others[at] = row[0]
            assert (factor.times(others)[at] == alone[0]).all()


def test_rows_of_any_strides_are_multiplied_within_the_output(kind, rng):
    whole = np.full((30, 40), np.nan)
    whole[4:23, 6:25] = rng.standard_normal((19, 19))
    inner, matrix = whole[4:23, 6:25], rng.standard_normal((19, 21))
    factor = RightFactor(matrix)
    for rows in (inner, inner[::-1], inner[::3], np.asfortranarray(inner), inner[:, ::-1]):
        buffer = np.full((len(rows), 24), 7.0)
        out = buffer[:, 1:22]
        assert factor.times(rows, out) is out
        np.testing.assert_allclose(out, rows @ matrix, atol=1e-13)
        assert (buffer[:, [0, 22, 23]] == 7.0).all()
    np.testing.assert_array_equal(
        RightFactor(np.asfortranarray(matrix)).times(inner), factor.times(inner)
    )


def test_nan_stays_in_its_row(kind):
    rows = np.ones((20, 4))
    rows[11, 2] = np.nan
    out = RightFactor(np.ones((4, 3))).times(rows)
    assert list(np.flatnonzero(np.isnan(out).any(axis=1))) == [11]


def test_arrays_of_other_shapes_or_types_are_refused(kind):
    factor = RightFactor(np.ones((2, 3)))
    rows = np.ones((5, 2))
    for given in (
        (np.ones((5, 3)),),
        (rows.astype("f4"),),
        (rows, np.empty((5, 2))),
        (rows, np.empty((5, 3), "f4")),
        (rows, np.empty((5, 6))[:, ::2]),
    ):
        with pytest.raises(ValueError, match=r"matrix|not contiguous"):
            factor.times(*given)
