"""The kernel for scores and its NumPy version, against sums in extended precision."""

import numpy as np
import pytest

from princomp.kernels.scores import project, project_twin

# Fewer numbers are multiplied by NumPy.
FEW_NUMBERS = 2**12


@pytest.fixture
def kernel(kind):
    return project_twin if kind == "numpy" else project


def check(kernel, rows, mean, low, axes):
    out = np.full((len(rows), axes.shape[1]), 7, dtype=rows.dtype)
    kernel(rows, mean, low, axes, out)
    wide = [array.astype(np.longdouble) for array in (rows, mean, low, axes)]
    centred = (wide[0] - wide[1]) - wide[2]
    expected = centred @ wide[3]
    size = np.abs(centred) @ np.abs(wide[3])
    # Two roundings to centre, one for each of p products and sums.
    bound = (rows.shape[1] + 3) * np.finfo(rows.dtype).eps * size
    # The subtraction of the mean itself rounds to the row's size, unless it is exact.
    bound = bound + np.finfo(rows.dtype).eps * np.abs(wide[1]).max() * np.abs(wide[3]).sum(axis=0)
    assert (np.abs(out - expected) <= bound).all()
    return out


@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_scores_of_any_shape_are_within_their_roundings(kernel, dtype):
    rng = np.random.default_rng(0)
    for remaining in (1, 7, 8, 9, 30):
        for p in (1, 5, 16, 100):
            m = FEW_NUMBERS // (8 * p) * 8 + 8 + remaining
            for k in (1, 2, 8, 9, 16, 17, 33, 50, 100):
                rows = (rng.standard_normal((m, p)) + 3).astype(dtype)
                axes = rng.standard_normal((p, k)).astype(dtype)
                mean = rows.mean(axis=0)
                check(kernel, rows, mean, (mean * 1e-9).astype(dtype), axes)


def test_a_row_has_the_same_bits_among_any_others(instructions):
    rng = np.random.default_rng(1)
    p = FEW_NUMBERS + 23
    rows, axes, mean = rng.standard_normal((41, p)), rng.standard_normal((p, 5)), np.zeros(p)
    whole = np.empty((41, 5))
    project(rows, mean, mean, axes, whole)
    for row in (0, 6, 40):
        one = np.empty((1, 5))
        project(rows[row : row + 1], mean, mean, axes, one)
        assert (one[0] == whole[row]).all()


def test_rows_of_any_strides_without_the_memory_next_to_them(kernel):
    m = FEW_NUMBERS // 5
    whole = np.full((m + 11, 30), np.nan)
    whole[4:-7, 6:25] = np.random.default_rng(2).standard_normal((m, 19))
    inner, axes = whole[4:-7, 6:25], np.random.default_rng(3).standard_normal((19, 3))
    zero = np.zeros(19)
    for rows in (inner, inner[::-1], inner[::3], np.asfortranarray(inner), inner[:, ::-1]):
        check(kernel, rows, zero, zero, axes)


def test_wide_axes_are_multiplied_by_blas():
    rng = np.random.default_rng(4)
    rows, axes = rng.standard_normal((5, 600)), rng.standard_normal((600, 300))
    check(project, rows, np.zeros(600), np.zeros(600), axes)


def test_nan_stays_in_its_row(kernel):
    rows = np.ones((FEW_NUMBERS, 4))
    rows[11, 2] = np.nan
    out = np.empty((FEW_NUMBERS, 2))
    kernel(rows, np.zeros(4), np.zeros(4), np.ones((4, 2)), out)
    assert list(np.flatnonzero(np.isnan(out).any(axis=1))) == [11]


def test_arrays_of_other_shapes_or_types_are_refused(instructions):
    m = FEW_NUMBERS
    rows, mean, axes = np.ones((m, 2)), np.zeros(2), np.ones((2, 1))
    for out in (np.empty((m - 1, 1)), np.empty((m, 1), dtype="f4"), np.empty((m, 2))[:, :1]):
        with pytest.raises(ValueError, match="other shapes or precisions"):
            project(rows, mean, mean, axes, out)
