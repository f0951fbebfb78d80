"""The same rows give the same bits, however many threads add them up."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

from helpers import EPS, aligned
from laws import same_bits
from princomp import PCA
from princomp.engines import local
from princomp.engines.local import fold
from princomp.summaries import Columns, Extremes, Moments, Triangle, block_rows

KINDS = [Moments, Triangle, Columns, Extremes]
every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
COLUMNS = 24
ROWS = 5 * block_rows(COLUMNS) + 1234


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(7)
    made = rng.standard_normal((ROWS, COLUMNS)) * np.linspace(1, 0.1, COLUMNS) + 1e3
    assert made.size > local._THREADS_PAY  # else no thread would start
    made.flags.writeable = False
    return made


@pytest.fixture(scope="module")
def weights():
    return np.random.default_rng(8).integers(0, 5, ROWS).astype(float)


def answers(kind, table, weights=None, **options):
    """Folded by one thread, and that the same comes of more."""
    one, dropped, _ = fold(kind, table, weights, threads=1, **options)
    for threads in (2, 3, None):
        other, also, _ = fold(kind, table, weights, threads=threads, **options)
        assert dropped == also
        same_bits(one, other)
    with threadpool_limits(1):
        same_bits(one, fold(kind, table, weights, **options)[0])
    return one, dropped


@every_kind
def test_threads_do_not_change_a_bit(kind, table):
    answers(kind, table)


@every_kind
def test_threads_do_not_change_a_bit_of_weighted_rows(kind, table, weights):
    summary, _ = answers(kind, table, weights)
    assert summary.rows == weights.sum()


@every_kind
def test_threads_do_not_change_a_bit_of_float32_rows(kind, table):
    answers(kind, table.astype(np.float32))


@every_kind
def test_threads_do_not_change_a_bit_of_sparse_rows(kind, table):
    sparse = np.where(table - 1e3 > 1.2, table, 0.0)
    answers(kind, sp.csr_array(sparse))


@every_kind
def test_threads_do_not_change_which_rows_are_dropped(kind, table):
    holes = table.copy()
    at = [3, block_rows(COLUMNS) - 1, block_rows(COLUMNS), ROWS - 1]
    holes[at, [0, 1, 2, 3]] = np.nan
    summary, dropped = answers(kind, holes, drop=True)
    assert dropped == 4
    assert summary.rows == ROWS - 4


def test_the_first_hole_is_named_whatever_thread_finds_it(table):
    holes = table.copy()
    holes[4 * block_rows(COLUMNS) + 5, 7] = np.nan
    holes[2 * block_rows(COLUMNS) + 1, 9] = np.inf
    for threads in (1, 2, 3):
        with pytest.raises(ValueError) as caught:  # noqa: PT011 - the place is what matters
            fold(Moments, holes, threads=threads)
        assert caught.value.place == {"row": 2 * block_rows(COLUMNS) + 1, "column": 9}


def layouts(table):
    """The same numbers laid out in every way that NumPy knows."""
    n, p = table.shape
    wide = np.full((2 * n, 3 * p), np.nan)
    wide[::2, ::3] = table
    frozen = table.copy()
    frozen.flags.writeable = False
    return {
        "C": np.ascontiguousarray(table),
        "Fortran": np.asfortranarray(table),
        "negative strides": np.ascontiguousarray(table[::-1, ::-1])[::-1, ::-1],
        "strided": wide[::2, ::3],
        "read-only": frozen,
        "big-endian": table.astype(">f8"),
    }


@pytest.mark.parametrize("n", [40, 3000, ROWS])
@pytest.mark.parametrize("layout", list(layouts(np.zeros((2, 2)))))
def test_the_layout_of_the_input_changes_nothing_and_is_never_written(layout, n, table):
    table = table[:n]
    given = layouts(table)[layout]
    copy = given.copy()
    model = PCA(n_components=5).fit(given)
    scores = model.transform(given)
    np.testing.assert_array_equal(given, copy)
    plain = PCA(n_components=5).fit(layouts(table)["C"])
    tol = 30 * COLUMNS * EPS
    found, wanted = model.explained_variance_, plain.explained_variance_
    np.testing.assert_allclose(found, wanted, rtol=tol)
    np.testing.assert_allclose(model.mean_, plain.mean_, rtol=EPS)
    gap = np.min(-np.diff(wanted)) / wanted[0]
    axes = aligned(plain.components_, model.components_)
    np.testing.assert_allclose(axes, plain.components_, rtol=0, atol=tol / gap)
    expected = plain.transform(table)
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
