"""Moments of wide rows, whose scatter is added to in place: laws, refusals, equal bits."""

import threading

import numpy as np
import pytest
import scipy.sparse as sp

from laws import check_laws, fold_on
from princomp import PCA
from princomp.engines.local import fold, iter_blocks
from princomp.errors import NotFiniteError
from princomp.io.readers.source import Chunk, Source
from princomp.kernels import native, wide
from princomp.linalg.threads import default_threads, limit_threads, run_uninterrupted
from princomp.summaries import Extremes, Moments, PairOf, block_rows


@pytest.fixture(autouse=True)
def _wide_from_four_columns(monkeypatch):
    monkeypatch.setattr(wide, "MIN_COLUMNS", 4)


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(Moments, "block_rows", staticmethod(lambda p, *, sparse=False: 50))


def same_bits(one, other):
    for name in ("rows", "count", "mean", "mean_low", "scatter", "unit"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def test_moments_added_in_place_obey_the_laws_of_summaries(rng):
    rows = rng.standard_normal((40, 6)) * [1, 5, 1e3, 1e-3, 1, 1] + 100
    check_laws(Moments, [rows[:7], rows[7:7], rows[7:30], rows[30:]])
    weights = [np.full(7, 2.0), np.ones(0), np.arange(1.0, 24.0), np.ones(10)]
    check_laws(Moments, [rows[:7], rows[7:7], rows[7:30], rows[30:]], weights)


@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_a_fold_is_the_merge_of_its_blocks(rng, small_blocks, dtype):
    rows = (rng.standard_normal((1320, 700)) + 3).astype(dtype)
    whole = fold(Moments, rows).summary
    parts = [Moments.of(rows[at : at + 50]) for at in range(0, 1320, 50)]
    merged = parts[0]
    for part in parts[1:]:
        merged = merged.merge(part)
    assert type(whole) is Moments
    assert (whole.rows, whole.count, whole.unit) == (merged.rows, merged.count, merged.unit)
    size = np.sqrt(np.outer(merged.column_scatter, merged.column_scatter))
    # Each merge rounds a few times in float64. The products of kernels are the same; BLAS may add
    # up 50 rows in another order, in the precision of the products.
    error = 4 * 27 * 2.3e-16
    if native.instruction_set_in_use() == "numpy":
        error += 50 * np.finfo(dtype).eps
    np.testing.assert_allclose(whole.scatter / size, merged.scatter / size, rtol=0, atol=error)
    np.testing.assert_array_equal(whole.scatter, whole.scatter.T)
    for threads in (1, 3):
        same_bits(fold_on(threads, Moments, rows).summary, whole)


def test_a_block_without_rows_adds_nothing(rng):
    moments = Moments.of(rng.standard_normal((9, 6)))
    assert Moments.add(moments, np.zeros((0, 6))) is moments
    assert Moments.add(moments, np.ones((2, 6)), np.zeros(2)) is moments


def test_a_last_block_of_one_row_is_added(rng, small_blocks):
    rows = rng.standard_normal((151, 8))
    found = fold(Moments, rows).summary
    assert (found.rows, found.count) == (151, 151)
    np.testing.assert_allclose(found.scatter, np.cov(rows, rowvar=False) * 150, atol=1e-11)


def test_an_earlier_summary_is_not_modified(rng, small_blocks):
    rows = rng.standard_normal((400, 8))
    earlier = fold(Moments, rows[:150]).summary
    scatter = earlier.scatter.copy()
    later = fold(Moments, rows[150:], initial=earlier).summary
    np.testing.assert_array_equal(earlier.scatter, scatter)
    same_bits(later, fold(Moments, rows).summary)


def test_non_finite_values_in_the_last_row_are_located(rng, small_blocks):
    rows = rng.standard_normal((420, 8))
    rows[419, 7] = np.nan
    with pytest.raises(NotFiniteError) as caught:
        fold(Moments, rows)
    assert caught.value.place == {"row": 419, "column": 7}
    left = fold(Moments, rows, drop=True)
    assert left.dropped == 1
    same_bits(left.summary, fold(Moments, rows[:419]).summary)
    rows[419, 7] = 1e200
    with pytest.raises(NotFiniteError, match="squares of column 7"):
        fold(Moments, rows)


def test_float32_rows_out_of_its_range_are_multiplied_in_float64(rng, small_blocks):
    rows = rng.standard_normal((420, 8)).astype("f4")
    rows[:, 2] *= 1e25
    rows[:, 3] *= 1e-30
    found = fold(Moments, rows).summary
    true = np.cov(rows.astype("f8"), rowvar=False) * 419
    size = np.sqrt(np.outer(true.diagonal(), true.diagonal()))
    np.testing.assert_allclose(found.scatter / size, true / size, atol=1e-13)


def test_sparse_rows_and_pairs_with_ranges_are_added(rng, small_blocks):
    rows = rng.standard_normal((420, 8)) * (rng.random((420, 8)) < 0.5)
    whole = fold(Moments, rows).summary
    for given in (rows, rows * (rng.random((420, 8)) < 0.2)):  # summed as dense rows, and not
        found, dense = fold(Moments, sp.csr_array(given)).summary, fold(Moments, given).summary
        np.testing.assert_allclose(found.scatter, dense.scatter, atol=1e-11)
    pair = fold(PairOf(Moments, Extremes), rows).summary
    same_bits(pair.first, whole)
    np.testing.assert_array_equal(pair.second.high, rows.max(axis=0))


def test_batches_of_any_size_have_the_bits_of_one_fit(rng, small_blocks):
    rows = rng.standard_normal((430, 8)) + 5
    whole = PCA(3, svd_solver="covariance_eigh").fit(rows)
    for step in (7, 130):
        model = PCA(3)
        for at in range(0, 430, step):
            model.partial_fit(rows[at : at + step])
            model.explained_variance_  # noqa: B018  (solves between batches)
        np.testing.assert_array_equal(model.explained_variance_, whole.explained_variance_)
        np.testing.assert_array_equal(model.components_, whole.components_)


def test_a_fit_resumes_from_a_checkpoint_in_the_middle(rng, small_blocks, tmp_path):
    rows = rng.standard_normal((430, 8)) + 5
    np.save(tmp_path / "rows.npy", rows)
    seen = []

    def stop(progress):
        seen.append(progress.rows)
        if progress.rows >= 200:
            raise KeyboardInterrupt

    options, model = {"checkpoint": tmp_path / "run"}, PCA(3, svd_solver="covariance_eigh")
    with pytest.raises(KeyboardInterrupt):
        model.fit(tmp_path / "rows.npy", progress=stop, **options)
    resumed = model.fit(tmp_path / "rows.npy", **options)
    whole = PCA(3, svd_solver="covariance_eigh").fit(rows)
    np.testing.assert_array_equal(resumed.components_, whole.components_)


def test_blocks_of_the_default_width_are_added_accurately(monkeypatch, rng):
    monkeypatch.undo()
    rows = rng.standard_normal((2 * block_rows(1100) + 5, 1100)).astype("f4")
    assert Moments.adds_in_place(1100, sparse=False)
    found = fold(Moments, rows).summary
    some = np.r_[:40, 1070:1100]
    true = np.cov(rows[:, some].astype("f8"), rowvar=False) * (len(rows) - 1)
    # Relative to the diagonal; 64 units as in the kernel's own test.
    assert np.abs(found.scatter[np.ix_(some, some)] - true).max() < 64 * 1.2e-7 * true.max()


def test_uninterrupted_work_keeps_the_thread_limit():
    with limit_threads(1):
        assert run_uninterrupted(default_threads, int)[0] == 1


class Overlapping(Source):
    """Rows whose next block is read only while the one before is being added."""

    def __init__(self, rows, adding):
        super().__init__(rows=None, p=rows.shape[1], dtype=rows.dtype)
        self.table, self.adding, self.overlapped = rows, adding, []

    def chunks(self, start=0):
        for at in range(start, len(self.table), 50):
            if at > start:
                self.overlapped.append(self.adding.wait(20))
                self.adding.clear()
            yield Chunk(self.table[at : at + 50])


def test_rows_are_read_while_earlier_ones_are_added(monkeypatch, rng, small_blocks):
    rows = rng.standard_normal((200, 8))
    whole = fold(Moments, rows).summary
    adding = threading.Event()
    add = Moments.add

    def watched(*given, **options):
        adding.set()
        return add(*given, **options)

    monkeypatch.setattr(Moments, "add", staticmethod(watched))
    source = Overlapping(rows, adding)
    same_bits(fold(Moments, source).summary, whole)
    assert source.overlapped == [True] * 3


class LoadedRows(Source):
    """Rows that are read into memory of the caller."""

    random_access = True

    def __init__(self, rows):
        super().__init__(rows=len(rows), p=rows.shape[1], dtype=rows.dtype)
        self.table = rows

    def load(self, start, stop, empty):
        block = empty((stop - start, self.p), self.dtype)
        block[...] = self.table[start:stop]
        return block


def test_reading_ahead_does_not_overwrite_a_block():
    # Blocks so large that the memory of the thread is reused.
    rows = np.arange(6.0 * 2**14).reshape(6, 2**14)
    first, second, third = iter_blocks(LoadedRows(rows), 2)
    one, other, last = first.load(), second.load(), third.load()
    for block, at in ((one, 0), (other, 2), (last, 4)):
        np.testing.assert_array_equal(block, rows[at : at + 2])


class FailingRows(Source):
    """Rows followed by an error of their reader."""

    def __init__(self, rows):
        super().__init__(rows=None, p=rows.shape[1], dtype=rows.dtype)
        self.table = rows

    def chunks(self, start=0):
        yield Chunk(self.table)
        raise OSError("the disk is gone")


def test_errors_in_earlier_rows_precede_errors_of_the_reader(rng, small_blocks):
    rows = rng.standard_normal((100, 8))
    with pytest.raises(OSError, match="the disk is gone"):
        fold(Moments, FailingRows(rows))
    rows[60, 3] = np.inf
    with pytest.raises(NotFiniteError) as caught:
        fold(Moments, FailingRows(rows))
    assert caught.value.place["row"] == 60
