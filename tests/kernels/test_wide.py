"""Blocks of wide rows added to a scatter in place, compiled and by NumPy, against exact sums."""

import numpy as np
import pytest
from exact_moments import exact

from princomp.kernels import native, wide
from princomp.kernels.gram import sampled_rows

# Around the sizes of vectors, tiles, panels and groups of every instruction set; and of chunks.
COLUMNS = (1, 2, 5, 8, 15, 17, 33, 48, 49, 97, 144, 145, 241, 300)
ROWS = (1, 2, 33, 300)
PRECISIONS = (("f8", False), ("f4", False), ("f4", True))


def accumulate(blocks, weights=None, *, precise=False, threads=2):
    """The scatter of some blocks, each after the other, and their mean."""
    p = blocks[0].shape[1]
    scatter, rows, mean = np.zeros((p, p)), 0.0, np.zeros(p)
    memory = None
    for i, block in enumerate(blocks):
        share = None if weights is None else weights[i]
        packed = wide.packed(block, share, precise=precise, memory=memory, threads=threads)
        assert packed.status == native.DONE
        memory = packed.memory
        block_mean = packed.shift + packed.sums / packed.rows
        delta, all_rows = block_mean - mean, rows + packed.rows
        delta_weight = rows * packed.rows / all_rows
        wide.add(packed, scatter, delta_weight, delta, threads=threads)
        mean, rows = mean + delta * (packed.rows / all_rows), all_rows
    wide.mirror(scatter, threads=threads)
    return scatter, mean


def check(blocks, weights=None, *, precise=False):
    """Compare with exact sums, to the bound of test_gram.py and the rounding of a merge."""
    found, _ = accumulate(blocks, weights, precise=precise)
    rows = np.concatenate(blocks)
    _, scatter = exact(rows, None if weights is None else np.concatenate(weights))
    unit = np.finfo("f8" if precise else blocks[0].dtype).eps
    spread = np.sqrt(np.outer(scatter.diagonal(), scatter.diagonal()).astype(float))
    assert (np.abs(found - scatter) <= 64 * unit * spread + 1e-300).all()
    assert (found == found.T).all()


@pytest.mark.parametrize(("dtype", "precise"), PRECISIONS)
def test_any_shape_is_within_a_few_roundings(kind, dtype, precise):
    rng = np.random.default_rng(0)
    for p in COLUMNS:
        for m in ROWS:
            # Rows of half-integers: differences of two rows are exact.
            check([np.round(4 * rng.standard_normal((m, p))).astype(dtype) / 2],
                  precise=precise)  # fmt: skip


@pytest.mark.parametrize(("dtype", "precise"), PRECISIONS)
def test_several_chunks_and_blocks_add_up_to_the_scatter_of_all(kind, dtype, precise):
    rng = np.random.default_rng(1)
    blocks = [(rng.standard_normal((m, 60)) + 3 + i).astype(dtype)
              for i, m in enumerate((1100, 513, 1, 20))]  # fmt: skip
    check(blocks, precise=precise)
    check(blocks, [rng.random(len(b)) + 0.1 for b in blocks], precise=precise)


def test_bits_do_not_depend_on_the_number_of_threads(kind):
    rng = np.random.default_rng(2)
    for dtype in ("f8", "f4"):
        blocks = [(rng.standard_normal((600, 530)) + 3).astype(dtype) for _ in range(2)]
        one = accumulate(blocks, threads=1)[0]
        for threads in (2, 5):
            np.testing.assert_array_equal(accumulate(blocks, threads=threads)[0], one)


def test_large_means_do_not_cancel_and_constants_have_no_scatter(kind):
    rows = np.random.default_rng(3).standard_normal((700, 60))
    rows[:, 3], rows[:, 59] = 0.1, -1e8 / 3
    for dtype, mean in (("f8", 1e6), ("f4", 1e3)):
        moved = rows.astype(dtype)
        moved[:, 5] = (rows[:, 5] + mean).astype(dtype)
        check([moved])  # the mean of two blocks in this file is one double
        assert not accumulate([moved[:400], moved[400:]])[0][[3, 59]].any()


@pytest.mark.parametrize(("dtype", "precise"), PRECISIONS)
def test_special_rows_that_are_sampled_do_not_mislead_the_shift(kind, dtype, precise):
    rng = np.random.default_rng(7)
    rows = rng.standard_normal((1500, 60))
    rows[sampled_rows(1500), 5:] += 1e4
    rows[::25, :5] += 1e4
    check([rows.astype(dtype)], precise=precise)
    check([np.asfortranarray(rows.astype(dtype))], precise=precise)
    rows[0], weights = 1e12, np.ones(1500)
    weights[0] = 1e-24
    check([rows.astype(dtype)], [weights], precise=precise)


@pytest.mark.parametrize("at", [(0, 0), (0, 48), (500, 4), (1099, 48)])
def test_non_finite_values_are_detected_anywhere(kind, at):
    for value in (np.nan, np.inf, -np.inf):
        for dtype in ("f8", "f4"):
            rows = np.random.default_rng(4).standard_normal((1100, 49)).astype(dtype)
            rows[at] = value
            packed = wide.packed(rows)
            assert packed.status == native.NOT_FINITE
            with pytest.raises(ValueError, match="out of range cannot be added"):
                wide.add(packed, np.zeros((49, 49)), 0.0, np.zeros(49))


def test_products_that_leave_the_range_are_reported(kind):
    rng = np.random.default_rng(5)
    rows = rng.standard_normal((300, 60))
    rows[:, 2] *= 1e-25
    assert wide.packed(rows.astype("f4")).status == native.LEFT_RANGE
    rows[:, 2] *= 1e50
    assert wide.packed(rows.astype("f4")).status == native.NOT_FINITE
    check([rows.astype("f4")], precise=True)
    rows[:, 2] *= 1e150
    packed = wide.packed(rows)
    assert packed.status == native.NOT_FINITE
    assert list(np.flatnonzero(~np.isfinite(packed.squares))) == [2]
    # Squares of a few rows are within the range of float32, those of a chunk are not.
    large = (1.5e18 * np.sign(rng.standard_normal((500, 60)))).astype("f4")
    assert wide.packed(large).status == native.NOT_FINITE
    check([large], precise=True)


def test_rows_of_any_strides_without_the_memory_next_to_them(kind):
    whole = np.full((140, 90), np.nan)
    whole[3:123, 5:55] = rows = np.random.default_rng(6).standard_normal((120, 50))
    for given in (whole[3:123, 5:55], np.asfortranarray(rows), rows[::-1], rows[:, ::-1],
                  rows[::3], np.broadcast_to(rows[:1], (50, 50)), rows.astype(">f8")):  # fmt: skip
        check([given])


@pytest.mark.parametrize("rows", [1, 512, 513, 1024, 1025, 2097])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_packed_block_takes_no_more_memory_than_planned(rows, dtype):
    for columns in (1024, 1025):
        packed = wide.packed(np.zeros((rows, columns), dtype))
        assert packed.memory.nbytes <= wide.packed_bytes(rows, columns)


def test_weights_and_scatters_of_other_shapes_are_refused(kind):
    rows = np.ones((5, 4))
    with pytest.raises(ValueError, match="other shapes"):
        wide.packed(rows, np.ones(4))
    packed = wide.packed(rows)
    for scatter in (np.zeros((5, 5)), np.zeros((4, 4), order="F")[::-1], np.zeros((4, 4), "f4")):
        with pytest.raises(ValueError, match="a C-ordered float64 scatter of 4 columns is needed"):
            wide.add(packed, scatter, 0.0, np.zeros(4))
    with pytest.raises(ValueError, match="delta has the shape"):
        wide.add(packed, np.zeros((4, 4)), 0.0, np.zeros(5))
    for scatter in (np.zeros((4, 5)), np.zeros((4, 4), order="F")[::-1], np.zeros((4, 4), "f4")):
        with pytest.raises(ValueError, match="a C-ordered float64 scatter of 4 columns is needed"):
            wide.mirror(scatter)
