"""Results do not depend on the number of threads, bit for bit."""

from __future__ import annotations

import threading
from itertools import cycle

import numpy as np
import pytest
import scipy.sparse as sp
from threadpoolctl import threadpool_info, threadpool_limits

from helpers import EPS, aligned
from laws import fold_on, same_bits
from princomp import PCA
from princomp.engines import local
from princomp.engines.local import fold, iter_blocks
from princomp.errors import NotFiniteError
from princomp.io.readers.source import Chunk, Source
from princomp.solvers.krylov import ImagesOf
from princomp.summaries import (
    Columns,
    Extremes,
    Moments,
    Pair,
    PairOf,
    SketchOf,
    Triangle,
    block_rows,
    blocks,
    sketch,
)

KINDS = [Moments, Triangle, Columns, Extremes]
every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
COLUMNS = 24
ROWS = 5 * block_rows(COLUMNS) + 1234


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(7)
    rows = rng.standard_normal((ROWS, COLUMNS)) * np.linspace(1, 0.1, COLUMNS) + 1e3
    assert rows.size > local.MIN_NUMBERS_FOR_THREADS  # otherwise no thread would start
    rows.flags.writeable = False
    return rows


@pytest.fixture(scope="module")
def weights():
    return np.random.default_rng(8).integers(0, 5, ROWS).astype(float)


def fold_reproducibly(kind, table, weights=None, **options):
    """The summary and the dropped rows by one thread; assert that more threads give the same."""
    one, dropped, *_ = fold_on(1, kind, table, weights, **options)
    for threads in (2, 3, None):
        other, also, *_ = fold_on(threads, kind, table, weights, **options)
        assert dropped == also
        same_bits(one, other)
    with threadpool_limits(1):
        same_bits(one, fold(kind, table, weights, **options)[0])
    return one, dropped


@every_kind
def test_threads_do_not_change_a_bit(kind, table):
    fold_reproducibly(kind, table)


@every_kind
def test_threads_do_not_change_a_bit_of_weighted_rows(kind, table, weights):
    summary, _ = fold_reproducibly(kind, table, weights)
    assert summary.rows == weights.sum()


@every_kind
def test_threads_do_not_change_a_bit_of_float32_rows(kind, table):
    fold_reproducibly(kind, table.astype(np.float32))


@every_kind
def test_threads_do_not_change_a_bit_of_sparse_rows(kind, table):
    sparse = np.where(table - 1e3 > 1.2, table, 0.0)
    fold_reproducibly(kind, sp.csr_array(sparse))


@every_kind
def test_threads_do_not_change_which_rows_are_dropped(kind, table):
    incomplete = table.copy()
    at = [3, block_rows(COLUMNS) - 1, block_rows(COLUMNS), ROWS - 1]
    incomplete[at, [0, 1, 2, 3]] = np.nan
    summary, dropped = fold_reproducibly(kind, incomplete, drop=True)
    assert dropped == 4
    assert summary.rows == ROWS - 4


def test_any_number_of_threads_names_the_first_non_finite_value(table):
    incomplete = table.copy()
    incomplete[4 * block_rows(COLUMNS) + 5, 7] = np.nan
    incomplete[2 * block_rows(COLUMNS) + 1, 9] = np.inf
    for threads in (1, 2, 3):
        with pytest.raises(ValueError) as caught:  # noqa: PT011 - the place is what matters
            fold_on(threads, Moments, incomplete)
        assert caught.value.place == {"row": 2 * block_rows(COLUMNS) + 1, "column": 9}


def layouts(table):
    """Equal numbers in every memory layout that NumPy has."""
    n, p = table.shape
    wide = np.full((2 * n, 3 * p), np.nan)
    wide[::2, ::3] = table
    read_only = table.copy()
    read_only.flags.writeable = False
    return {
        "C": np.ascontiguousarray(table),
        "Fortran": np.asfortranarray(table),
        "negative strides": np.ascontiguousarray(table[::-1, ::-1])[::-1, ::-1],
        "strided": wide[::2, ::3],
        "read-only": read_only,
        "big-endian": table.astype(">f8"),
    }


@pytest.fixture(scope="module")
def plain(table):
    """By the number of rows: a fit of rows in the usual layout, and its scores."""
    models = {n: PCA(n_components=5).fit(table[:n].copy()) for n in (40, 3000, ROWS)}
    return {n: (model, model.transform(table[:n])) for n, model in models.items()}


@pytest.mark.parametrize("n", [40, 3000, pytest.param(ROWS, id="several blocks")])
@pytest.mark.parametrize("layout", list(layouts(np.zeros((2, 2)))))
def test_the_layout_of_the_input_does_not_change_the_fit(layout, n, table, plain):
    table, (plain, expected) = table[:n], plain[n]
    given = layouts(table)[layout]
    copy = given.copy()
    model = PCA(n_components=5).fit(given)
    scores = model.transform(given)
    np.testing.assert_array_equal(given, copy)
    tol = 30 * COLUMNS * EPS
    found, variances = model.explained_variance_, plain.explained_variance_
    np.testing.assert_allclose(found, variances, rtol=tol)
    np.testing.assert_allclose(model.mean_, plain.mean_, rtol=EPS)
    gap = np.min(-np.diff(variances)) / variances[0]
    axes = aligned(plain.components_, model.components_)
    np.testing.assert_allclose(axes, plain.components_, rtol=0, atol=tol / gap)
    np.testing.assert_allclose(scores, expected, rtol=0, atol=tol / gap * np.abs(expected).max())


SOLVERS = ["auto", "full", "covariance_eigh", "arpack", "lanczos", "randomized", "row_gram"]


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("shape", [(300, 40), (40, 300)])
def test_fitting_twice_gives_equal_bits(solver, shape, rng):
    table = rng.standard_normal(shape)
    one = PCA(4, svd_solver=solver, random_state=3).fit(table)
    other = PCA(4, svd_solver=solver, random_state=3).fit(table.copy())
    same_fit(one, other)
    assert one.transform(table).tobytes() == other.transform(table).tobytes()


@pytest.mark.parametrize("p", [20, 100, 300])
@pytest.mark.parametrize("solver", ["auto", "full", "lanczos", "row_gram", "randomized"])
def test_a_fit_does_not_depend_on_the_threads_of_blas(p, solver, rng):
    n = 300 if solver == "row_gram" else 3000
    table = rng.standard_normal((n, p)) * np.linspace(1, 0.1, p)
    fits = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            fits.append(PCA(10, svd_solver=solver, random_state=0).fit(table))
    same_bits(fits[0].summary_, fits[1].summary_)
    same_fit(*fits)


def same_fit(one, other):
    for name in ("mean_", "explained_variance_", "components_"):
        a, b = getattr(one, name), getattr(other, name)
        assert a.tobytes() == b.tobytes(), f"{name} differs by {np.abs(a - b).max():.1e}"


# ---- rows that come in chunks --------------------------------------------------------------------

STREAMED_KINDS = [
    *KINDS,
    SketchOf(12),
    PairOf(Moments, Extremes),
    PairOf(SketchOf(5, seed=3), Extremes),
]


class Chunks(Source):
    """An array (dense or CSR) in chunks of the given sizes, which are used in turn."""

    def __init__(self, table, sizes, *, known=True):
        n, p = table.shape
        stored = table.nnz if sp.issparse(table) else None
        super().__init__(rows=n if known else None, p=p, dtype=table.dtype, stored=stored)
        self.table, self.sizes = table, sizes

    def chunks(self, start=0):
        for size in cycle(self.sizes):
            if start >= self.table.shape[0]:
                return
            yield Chunk(self.table[start : start + size])
            start += size


class RandomAccessChunks(Chunks):
    """Rows of a source with random access."""

    random_access = True

    def read(self, start, stop):
        return Chunk(self.table[start:stop].copy())


def parts(summary):
    """A list of the summary, or of both of a pair."""
    return [summary.first, summary.second] if isinstance(summary, Pair) else [summary]


def same_parts(one, other):
    for a, b in zip(parts(one), parts(other), strict=True):
        same_bits(a, b)


@pytest.fixture
def threads_for_small_tables(monkeypatch):
    """Threads start for small tables, and blocks are small."""
    monkeypatch.setattr(local, "MIN_NUMBERS_FOR_THREADS", 0)
    monkeypatch.setattr(local, "MIN_NUMBERS_FOR_BLAS_THREADS", 0)
    monkeypatch.setattr(blocks, "NUMBERS_PER_BLOCK", 1)
    monkeypatch.setattr(blocks, "NUMBERS_PER_PANEL", 1)
    monkeypatch.setattr(sketch, "NUMBERS_PER_WIDE_BLOCK", 1)
    monkeypatch.setattr(sketch, "MIN_ROWS_PER_SPARSE_BLOCK", 32)


def sources_of(table, sizes):
    return Chunks(table, sizes), Chunks(table, sizes, known=False), RandomAccessChunks(table, sizes)


SIZES = [[1], [7], [1000], [10**9], [255, 1, 1, 256, 3]]


@pytest.mark.parametrize("p", [1, 5, 31, 33, 130])
@pytest.mark.parametrize("kind", STREAMED_KINDS, ids=lambda kind: getattr(kind, "__name__", None))
def test_neither_chunks_nor_threads_change_a_bit(kind, p, threads_for_small_tables, rng):
    step = kind.block_rows(p)
    # The shortest last block has one row, the longest is full.
    for n in (2 * step + 1, 3 * step):
        table = rng.standard_normal((n, p)) * 3 + 100
        expected = fold_on(1, kind, table)
        for sizes in SIZES:
            for source in sources_of(table, sizes):
                for threads in (1, 2):
                    found = fold_on(threads, kind, source)
                    assert (found.dropped, found.rows) == (0, n)
                    same_parts(expected.summary, found.summary)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("kind", STREAMED_KINDS, ids=lambda kind: getattr(kind, "__name__", None))
def test_weights_and_nan_of_a_stream_stay_with_their_rows(
    kind, sparse, dtype, threads_for_small_tables, rng
):
    n, p = 600, 9
    table = rng.standard_normal((n, p)).astype(dtype)
    table[rng.random((n, p)) < 0.5] = 0.0
    table[[0, 255, 256, 511, 599], [0, 1, 2, 3, 8]] = np.nan
    weights = np.arange(n) % 4.0
    given = sp.csr_array(table) if sparse else table
    expected = fold_on(1, kind, given, weights, drop=True)
    assert expected.dropped == 3  # the other two incomplete rows have weight zero
    for sizes in ([1], [100], [10**9]):
        for source in sources_of(given, sizes):
            found = fold_on(2, kind, source, weights, drop=True)
            assert (found.dropped, found.rows) == (3, n)
            same_parts(expected.summary, found.summary)


@pytest.mark.parametrize("kind", STREAMED_KINDS, ids=lambda kind: getattr(kind, "__name__", None))
def test_the_first_non_finite_value_of_a_stream_is_named_by_row(
    kind, threads_for_small_tables, rng
):
    table = rng.standard_normal((2000, 4))
    table[700, 2], table[1900, 0], table[701, 0] = np.inf, np.nan, np.nan
    if kind is Extremes:
        return  # used in pairs only: the other summary checks
    for sizes in ([1], [300], [10**9]):
        for source in sources_of(table, sizes):
            for threads in (1, 2):
                with pytest.raises(NotFiniteError) as caught:
                    fold_on(threads, kind, source)
                assert caught.value.place == {"row": 700, "column": 2}
                assert caught.value.value == np.inf


def test_a_krylov_product_has_the_same_bits_from_any_chunks(threads_for_small_tables, rng):
    table = rng.standard_normal((200, 50)) * 2 + 10
    columns, vectors = Columns.of(table), rng.standard_normal((50, 6))
    divisor = np.linspace(1, 2, 50)
    for given in (table, table.astype(np.float32), sp.csr_array(table * (table > 11))):
        kind = ImagesOf(vectors, Columns.of(given), divisor)
        weights = np.arange(200) % 3.0
        expected = fold_on(1, kind, given, weights).summary
        for sizes in ([1], [7], [33, 64], [10**9]):
            for source in sources_of(given, sizes):
                found = fold_on(2, kind, source, weights).summary
                assert found.rows == expected.rows == weights.sum()
                assert found.image.tobytes() == expected.image.tobytes()
    # And it is the product with the scatter: n + p roundings of sums of n and p terms.
    kind = ImagesOf(vectors, columns, divisor)
    rows = (table - table.mean(axis=0)) / divisor
    exact = rows.T @ (rows @ vectors)
    found = fold(kind, table).summary.image
    np.testing.assert_allclose(found, exact, rtol=0, atol=250 * EPS * np.abs(exact).max())


@pytest.mark.parametrize("at", [0, 256, 512])
def test_blocks_begin_at_a_given_row(at, threads_for_small_tables, rng):
    table = rng.standard_normal((900, 3))
    for source in (*sources_of(table, [7]), table):
        found = [(piece.start, piece.load().copy()) for piece in iter_blocks(source, 256, at)]
        assert [start for start, _ in found] == [*range(at, 900, 256)]
        assert np.concatenate([rows for _, rows in found]).tobytes() == table[at:].tobytes()


def test_a_stream_is_closed_if_a_fold_ends_early(threads_for_small_tables, rng):
    table = rng.standard_normal((900, 3))
    table[300, 0] = np.nan
    ended = []

    class Watched(Chunks):
        def chunks(self, start=0):
            try:
                yield from super().chunks(start)
            finally:
                ended.append(threading.get_ident())

    for threads in (1, 2):  # idle threads are kept
        fold_on(threads, Moments, Chunks(np.ones((900, 3)), [50]))
    before = threading.active_count()
    for threads in (1, 2):
        with pytest.raises(NotFiniteError):
            fold_on(threads, Moments, Watched(table, [50]))
    assert ended == [threading.get_ident()] * 2
    assert threading.active_count() == before


def test_a_failed_fold_restores_the_threads_of_blas(rng):
    def threads():
        return [lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"]

    table = rng.standard_normal((4000, 30))
    before = threads()
    fold(Moments, Chunks(table, [999]))
    table[3999, 0] = np.nan
    with pytest.raises(NotFiniteError):
        fold(Moments, Chunks(table, [999]))
    assert threads() == before
