"""The kernel for moments of a dense block and its NumPy version, against exact sums."""

import numpy as np
import pytest
from exact_moments import exact

from princomp.kernels import native
from princomp.kernels.gram import moments, sampled_rows

# Around the widths of vectors, tiles and panels of every instruction set, and the chunk of
# rows; the last is wide enough for long chunks.
COLUMNS = (*range(1, 10), 12, 15, 16, 17, 20, 24, 25, 31, 33, 48, 49, 54, 96, 97, 103, 130, 200)
ROWS = (1, 2, 31, 33, 256, 300)
PRECISIONS = (("f8", False), ("f4", False), ("f4", True))


@pytest.fixture
def kernel(kind):
    return moments


def check(kernel, rows, weights=None, *, precise=False):
    mean, scatter = exact(rows, weights)
    status, high, low, found = kernel(rows, weights, precise=precise)
    assert status == native.DONE
    unit = np.finfo("f8" if precise else rows.dtype).eps
    spread = np.sqrt(np.outer(scatter.diagonal(), scatter.diagonal()).astype(float))
    # Up to 512 products are added one by one: half a unit each, at random, is 11 units, and
    # this bound is six times as large. The shift and the move to the mean round a few times.
    bound = 64 * unit * spread + np.finfo("f8").tiny
    assert (np.abs(found - scatter) <= bound).all()
    assert (np.abs(found - found.T) <= bound).all()
    deviation = np.sqrt(scatter.diagonal().astype(float) / len(rows))
    size = 4 * np.finfo("f8").eps ** 2 * np.abs(mean)
    total = 1.0 if weights is None else weights.sum() / len(rows)
    assert (np.abs(high + low.astype(np.longdouble) - mean)
            <= 8 * unit * deviation / total + size + 1e-300).all()  # fmt: skip


@pytest.mark.parametrize(("dtype", "precise"), PRECISIONS)
def test_moments_of_any_shape_are_within_a_few_roundings(kernel, dtype, precise):
    rng = np.random.default_rng(0)
    for p in COLUMNS:
        for m in ROWS:
            check(kernel, (rng.standard_normal((m, p)) + 3).astype(dtype), precise=precise)


def test_moments_of_long_chunks_of_wide_rows(kernel):
    rng = np.random.default_rng(1)
    some = np.r_[:60, 710:770]  # all of them in extended precision take ten seconds

    def of_some(found):
        scatter = found.scatter[np.ix_(some, some)]
        return found._replace(mean=found.mean[some], mean_low=found.mean_low[some], scatter=scatter)

    for dtype in ("f8", "f4"):
        rows = rng.standard_normal((530, 770)).astype(dtype)
        found = of_some(kernel(rows))
        check(lambda *_, found=found, **__: found, rows[:, some])


@pytest.mark.parametrize(("dtype", "precise"), PRECISIONS)
def test_weights_are_frequencies(kernel, dtype, precise):
    rng = np.random.default_rng(2)
    for p in (1, 7, 20, 100):
        rows = (rng.standard_normal((90, p)) - 2).astype(dtype)
        check(kernel, rows, rng.random(90) + 0.1, precise=precise)
    counts = rng.integers(1, 4, 90)
    rows = rng.standard_normal((90, 5))
    one, other = kernel(rows, counts.astype(float)), kernel(np.repeat(rows, counts, axis=0))
    np.testing.assert_allclose(one.scatter, other.scatter, rtol=0, atol=1e-12)


def test_a_mean_of_a_million_does_not_cancel(kernel):
    rng = np.random.default_rng(3)
    check(kernel, rng.standard_normal((1000, 9)) + 1e6)
    rows = (rng.standard_normal((1000, 9)) + 1e3).astype("f4")
    check(kernel, rows)


@pytest.mark.parametrize(("dtype", "precise"), PRECISIONS)
@pytest.mark.parametrize("m", [4096, 3600])
def test_rows_of_any_period_do_not_mislead_the_shift(kernel, dtype, precise, m):
    rng = np.random.default_rng(11)
    periods = [period for period in range(2, m) if m % period == 0]
    markers = np.zeros((m, len(periods)))
    for column, period in enumerate(periods):
        markers[::period, column] = 100 * np.pi
    noise = rng.standard_normal((m, len(periods)))
    rows = np.c_[markers, 1.1 * markers + 0.1 * markers.std(axis=0) * noise].astype(dtype)
    for given in (rows, np.asfortranarray(rows), rows[1:], rows[::-1]):
        check(kernel, given, precise=precise)
    check(kernel, rows, rng.random(m) + 0.1, precise=precise)


@pytest.mark.parametrize(("dtype", "precise"), PRECISIONS)
def test_special_rows_that_are_sampled_do_not_mislead_the_shift(kernel, dtype, precise):
    m = 2**16
    rng = np.random.default_rng(12)
    rows = rng.standard_normal((m, 3))
    rows[sampled_rows(m), :2] += 1e5
    check(kernel, rows.astype(dtype), precise=precise)
    # One distant row of almost no weight: differences to it have no digits left.
    rows = rng.standard_normal((500, 3))
    rows[0] = 1e12
    check(kernel, rows.astype(dtype), np.r_[1e-24, np.ones(499)], precise=precise)


@pytest.mark.parametrize(("dtype", "precise"), PRECISIONS)
def test_columns_of_neighbouring_numbers_keep_their_digits(kernel, dtype, precise):
    # No number of the precision lies nearer to the mean than about the spread.
    low = np.array([1e6, -0.1, 2.0, 1.0], dtype)
    high = np.nextafter(low, np.array([9e9, 9e9, 0.0, 0.0], dtype))
    rng = np.random.default_rng(13)
    for share in (0.5, 0.1, 1e-3):
        rows = np.where(rng.random((4000, 4)) < share, high, low)
        rows[0], rows[1] = low, high
        check(kernel, rows, precise=precise)


def test_constant_columns_are_exactly_zero(kernel):
    rows = np.random.default_rng(4).standard_normal((700, 30))
    rows[:, 3], rows[:, 29] = 0.1, -1e8 / 3
    for dtype in ("f8", "f4"):
        scatter = kernel(rows.astype(dtype)).scatter
        assert not scatter[[3, 29]].any()


@pytest.mark.parametrize("at", [(0, 0), (0, 18), (500, 4), (999, 18)])
def test_non_finite_values_are_detected_anywhere(kernel, at):
    for value in (np.nan, np.inf, -np.inf):
        for dtype in ("f8", "f4"):
            rows = np.random.default_rng(5).standard_normal((1000, 19)).astype(dtype)
            rows[at] = value
            assert kernel(rows).status == native.NOT_FINITE


def test_memory_next_to_the_rows_is_not_used(kernel):
    whole = np.full((64, 40), np.nan)
    whole[3:50, 5:24] = np.random.default_rng(6).standard_normal((47, 19))
    check(kernel, whole[3:50, 5:24])
    part = whole.astype("f4")[3:50, 5:24]
    check(kernel, part)


def test_rows_of_any_strides(kernel):
    rows = np.random.default_rng(7).standard_normal((120, 21))
    for given in (np.asfortranarray(rows), rows[::-1], rows[:, ::-1], rows[::3], rows[:, ::2],
                  np.broadcast_to(rows[:1], (50, 21)), rows.astype(">f8")):  # fmt: skip
        mean, scatter = exact(given)
        found = kernel(given)
        np.testing.assert_allclose(found.mean, mean.astype(float), atol=1e-13)
        np.testing.assert_allclose(found.scatter, scatter.astype(float), atol=1e-12)
    unaligned = np.frombuffer(b"x" + rows.tobytes(), dtype="u1")[1:].view("f8").reshape(120, 21)
    assert not unaligned.flags.aligned
    np.testing.assert_array_equal(kernel(unaligned).scatter, kernel(rows).scatter)


def test_float32_products_that_leave_the_range_are_reported(kernel):
    rows = np.random.default_rng(8).standard_normal((300, 6))
    rows[:, 2] *= 1e-25
    assert kernel(rows.astype("f4")).status == native.LEFT_RANGE
    rows[:, 2] *= 1e50
    assert kernel(rows.astype("f4")).status == native.NOT_FINITE
    check(kernel, rows.astype("f4"), precise=True)


def test_squares_that_overflow_show_on_the_diagonal(kernel):
    rows = np.random.default_rng(9).standard_normal((50, 4))
    rows[:, 1] *= 1e200
    status, sums, _, scatter = kernel(rows)
    assert status == native.NOT_FINITE
    assert np.isfinite(sums).all()
    assert list(np.isfinite(scatter.diagonal())) == [True, False, True, True]


def test_the_input_is_not_modified(kernel):
    rows = np.random.default_rng(10).standard_normal((100, 11))
    before = rows.copy()
    rows.flags.writeable = False
    kernel(rows)
    assert (rows == before).all()


def test_an_unavailable_instruction_set_is_refused_by_name(monkeypatch):
    from princomp.errors import ParameterError

    monkeypatch.setenv("PRINCOMP_KERNEL", "quantum")
    native.instruction_set_in_use.cache_clear()
    try:
        with pytest.raises(ParameterError, match="PRINCOMP_KERNEL='quantum'"):
            native.instruction_set_in_use()
    finally:
        native.instruction_set_in_use.cache_clear()


def test_missing_kernels_are_reported_once(monkeypatch, caplog):
    monkeypatch.delenv("PRINCOMP_KERNEL", raising=False)
    monkeypatch.setattr(native, "instruction_set_in_use", lambda: "numpy")
    native.warn_without_kernels.cache_clear()
    native.warn_without_kernels()
    native.warn_without_kernels()
    native.warn_without_kernels.cache_clear()
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "PRINCOMP_KERNEL=numpy" in caplog.text
    assert "pip install --force-reinstall --no-deps . in a checkout" in caplog.text
