"""The route that reads rows block by block and never forms p × p, against the SVD of the rows."""

from __future__ import annotations

import tracemalloc

import h5py
import numpy as np
import pytest
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

from helpers import EPS, EPS32, assert_orthonormal, centred, sine, truth, with_singular_values
from princomp import PCA
from princomp.errors import DataError, MemoryLimitError, NotFiniteError, ParameterError, ShapeError
from princomp.fitting import blocks as route
from princomp.planning import Facts, krylov_room
from princomp.solvers.krylov import block_width, room_for, solve_blocks
from princomp.sources.source import Chunk, Source
from princomp.summaries import Columns, sketch

# Where it stops unless told otherwise. The error of a variance is at most the residual, and
# about its square over the gap.
RESIDUAL = 1e-9


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """The many small decompositions here are quicker so."""
    with threadpool_limits(1):
        yield


@pytest.fixture
def small_blocks(monkeypatch):
    """A few rows a block, so that small tables have many."""
    monkeypatch.setattr(sketch, "_WIDE_NUMBERS", 1)
    monkeypatch.setattr(sketch, "_SPARSE_ROWS", 32)


class Rows(Source):
    """An array, read as a stream would be."""

    reader = 0

    def __init__(self, table, step=100):
        stored = table.nnz if sp.issparse(table) else None
        n, p = table.shape
        super().__init__(rows=n, p=p, dtype=table.dtype, stored=stored)
        self.table, self.step, self.passes = table, step, 0

    def chunks(self, start=0):
        self.passes += 1
        for first in range(start, self.table.shape[0], self.step):
            yield Chunk(self.table[first : first + self.step])


def dense(X):
    return np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)


def residuals_of(model, X, weights=None):
    """‖Cv − λv‖/λ₁ of each axis, with the covariance of the rows in float64."""
    rows = dense(X)
    if model.center:
        rows = centred(rows, weights)
    elif weights is not None:
        rows = rows * np.sqrt(weights)[:, None]
    if model.scale_ is not None:
        rows = rows / model.scale_
    n = len(rows) if weights is None else weights.sum()
    axes, values = model._fitted.spectrum.axes, model.explained_variance_
    images = rows.T @ (rows @ axes.T) / (n - 1)
    return np.linalg.norm(images - axes.T * values, axis=0) / values[0]


def check(X, k, *, weights=None, tol=1e-12, residual=RESIDUAL, **options):
    """Fit an array and a stream, and hold both to the SVD."""
    model = PCA(k, svd_solver="krylov", **options).fit(X, sample_weight=weights)
    streamed = PCA(k, svd_solver="krylov", **options).fit(Rows(X), sample_weight=weights)
    for name in ("explained_variance_", "components_", "mean_"):
        assert getattr(model, name).tobytes() == getattr(streamed, name).tobytes(), name
    rows = dense(X)
    variances, axes = truth(rows, weights=weights, divisor=model.scale_, center=model.center)
    k = model.n_components_
    known = np.pad(variances, (0, max(0, k - len(variances))))[:k]
    found = model.explained_variance_
    # Products know a variance to the rounding of the first one, whatever its size.
    noise = 4 * max(rows.shape) * EPS * known[0]
    np.testing.assert_allclose(found, known, rtol=tol, atol=noise if tol < 1e-6 else tol * known[0])
    assert_orthonormal(model._fitted.spectrum.axes)
    assert residuals_of(model, X, weights).max() <= residual
    np.testing.assert_allclose(
        model.total_variance_, variances.sum(), rtol=max(rows.shape) * EPS if tol < 1e-6 else tol
    )
    assert (model.plan_.summary, model.plan_.solver) == ("columns", "krylov")
    return model, axes


# ---- against the SVD ----------------------------------------------------------------------------


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize(
    ("n", "p", "k"),
    [
        (300, 80, 5),
        (80, 300, 5),
        (80, 300, 79),
        (80, 300, 80),
        (300, 80, 80),
        (50, 50, 50),
        (50, 50, 49),
        (40, 200, 1),
        (33, 32, 7),
        (3, 2, 2),
        (2, 30, 2),
        (2, 2, 1),
        (5, 1, 1),
    ],
)
def test_variances_of_a_decaying_spectrum_are_those_of_the_svd(n, p, k, center, small_blocks, rng):
    rank = min(n - 1, p)
    X = with_singular_values(n, 10 * 0.8 ** np.arange(rank), rng, p=p)[0]
    X += rng.standard_normal(p)
    model, axes = check(X, k, center=center)
    # The angle of a single axis is at most its residual over the gap to the next variance.
    if k == 5 and center:
        gap = 0.8**8 * (1 - 0.64)
        assert sine(model.components_, axes[:5]) < 5 * RESIDUAL / gap


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5, 7, 9, 12])
def test_repeated_variances_are_all_found(k, small_blocks, rng):
    sigma = [5, 5, 5, 5, 2, 2, 2, 1, 1, 1, 0.5, 0.1]
    X = with_singular_values(300, sigma, rng, p=60)[0]
    model, axes = check(X, k)
    if k == 4:
        assert sine(model.components_, axes[:4]) < 100 * EPS


@pytest.mark.parametrize("copies", [20, 60])
def test_more_equal_variances_than_a_block_is_wide_are_found(copies, small_blocks, rng):
    sigma = np.concatenate([np.full(copies, 3.0), np.full(10, 1.0)])
    X = with_singular_values(400, sigma, rng, p=100)[0]
    check(X, 5)
    check(X, copies)
    check(X, copies + 5)


@pytest.mark.parametrize("k", [3, 4, 5, 10, 60])
def test_rows_of_lower_rank_than_components_wanted_get_zeros_beyond_it(k, small_blocks, rng):
    X = rng.standard_normal((200, 4)) @ rng.standard_normal((4, 60))
    model, _ = check(X, k)
    assert (model.explained_variance_[4:] <= 60 * EPS * model.explained_variance_[0]).all()
    again = PCA(k, svd_solver="full").fit(X)
    np.testing.assert_allclose(model.components_[4:], again.components_[4:], atol=1e-8)


def test_fewer_rows_than_components_allow_give_a_zero_at_the_end(small_blocks, rng):
    X = rng.standard_normal((10, 50))
    model, _ = check(X, 10)
    assert model.explained_variance_[9] == 0.0


def test_constant_columns_get_no_weight_and_constant_rows_no_variance(small_blocks, rng):
    X = with_singular_values(200, 2.0 ** -np.arange(12), rng, p=60)[0]
    X[:, ::3] = 7.0
    model, _ = check(X, 6)
    assert (model.components_[:, ::3] == 0).all()
    nothing = PCA(3, svd_solver="krylov").fit(Rows(np.full((20, 7), 3.0)))
    assert (nothing.explained_variance_ == 0).all()
    assert (nothing.total_variance_, nothing.plan_.passes) == (0.0, 1)
    assert_orthonormal(nothing.components_)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_the_memory_layout_of_the_rows_changes_no_bit(dtype, small_blocks, rng):
    X = rng.standard_normal((150, 90)).astype(dtype)
    wide = np.zeros((150, 180), dtype)
    wide[:, ::2] = X
    plain, *others = (
        PCA(5, svd_solver="krylov").fit(rows) for rows in (X, np.asfortranarray(X), wide[:, ::2])
    )
    for other in others:
        assert other.explained_variance_.tobytes() == plain.explained_variance_.tobytes()
        assert other.components_.tobytes() == plain.components_.tobytes()


def test_one_column_that_varies_beside_many_that_do_not(small_blocks, rng):
    X = np.zeros((50, 40))
    X[:, 39] = rng.standard_normal(50)
    model, _ = check(X, 3)
    assert np.abs(model.components_[0, 39]) == pytest.approx(1, abs=10 * EPS)


@pytest.mark.parametrize("scale", ["unit", "range", "pareto", "given"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("center", [True, False])
def test_scales_weights_and_the_origin_go_together(center, weighted, scale, small_blocks, rng):
    X = with_singular_values(300, 0.7 ** np.arange(20), rng, p=40)[0] * np.linspace(1, 9, 40) + 3
    X += 1e-3 * rng.standard_normal(X.shape)
    weights = rng.integers(0, 4, 300).astype(float) if weighted else None
    given = np.linspace(0.5, 2, 40) if scale == "given" else scale
    model, _ = check(X, 6, weights=weights, scale=given, center=center)
    used = np.repeat(X, weights.astype(int), axis=0) if weighted else X
    spread = {
        "unit": used.std(axis=0, ddof=1),
        "range": np.ptp(used, axis=0),
        "pareto": np.sqrt(used.std(axis=0, ddof=1)),
        "given": given,
    }[scale]
    if center:
        np.testing.assert_allclose(model.scale_, spread, rtol=300 * EPS)


@pytest.mark.parametrize("options", [{}, {"center": False}, {"scale": "unit"}], ids=str)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_sparse_rows_stay_sparse_and_are_multiplied_in_float64(options, dtype, small_blocks, rng):
    X = sp.random_array((400, 90), density=0.1, rng=rng, format="csr", dtype=dtype)
    weights = np.arange(400) % 3.0
    for each in (None, weights):
        check(X, 6, weights=each, **options)


def test_a_sparse_column_with_a_large_mean_does_not_cancel(small_blocks, rng):
    X = np.hstack(
        [
            sp.random_array((400, 50), density=0.1, rng=rng).toarray(),
            1e6 + rng.standard_normal((400, 3)),
        ]
    )
    check(sp.csr_array(X), 5)


def test_a_matrix_in_an_h5ad_file_is_that_matrix(tmp_path, small_blocks, rng):
    X = sp.random_array((500, 120), density=0.05, rng=rng, format="csr", dtype=np.float32)
    path = tmp_path / "cells.h5ad"
    with h5py.File(path, "w") as file:
        group = file.create_group("X")
        group.attrs.update({"encoding-type": "csr_matrix", "encoding-version": "0.1.0"})
        group.attrs["shape"] = X.shape
        for name in ("data", "indices", "indptr"):
            group[name] = getattr(X, name)
    model = PCA(5, svd_solver="krylov").fit(path)
    variances, _ = truth(dense(X))
    np.testing.assert_allclose(model.explained_variance_, variances[:5], rtol=1e-12)
    assert model.components_.dtype == np.float32
    assert model.plan_.facts.stored == X.nnz


@pytest.mark.parametrize("mean", [0.0, 1e3])
def test_float32_rows_keep_their_precision(mean, small_blocks, rng):
    X = with_singular_values(300, 10 * 0.8 ** np.arange(20), rng, p=60)[0] + mean
    # Products of float32 round to a unit each, and errors of n or p of them stand in a row.
    tol = 20 * EPS32
    model, _ = check(X.astype(np.float32), 6, tol=tol, residual=tol)
    assert model.components_.dtype == np.float32
    assert model.explained_variance_.dtype == np.float64


@pytest.mark.parametrize("power", [-140, -100, -60, -22, 22])
@pytest.mark.parametrize("constant", [0, 30])
def test_float32_rows_of_any_size_have_the_variances_of_the_same_rows_of_size_one(
    constant, power, rng
):
    """Squares of numbers below 2⁻⁷⁵ vanish in float32, though the numbers themselves do not."""
    X = with_singular_values(300, 10 * 0.8 ** np.arange(20), rng, p=60)[0].astype(np.float32)
    X[:, :constant] = 0.0
    sized = np.ldexp(X, power)
    model = PCA(4, svd_solver="krylov").fit(sized)
    variances, _ = truth(sized.astype(np.float64))
    assert variances[0] > 0
    np.testing.assert_allclose(model.explained_variance_, variances[:4], rtol=20 * EPS32)


def test_small_float32_rows_can_be_sketched(rng):
    X = with_singular_values(300, [4, 2, 1], rng, p=20)[0]
    sized = np.ldexp(X.astype(np.float32), -100)
    model = PCA(2, svd_solver="sketch").fit(sized)
    variances, _ = truth(sized.astype(np.float64))
    np.testing.assert_allclose(model.explained_variance_, variances[:2], rtol=1e-3)


@pytest.mark.parametrize("power", [70, 110])
def test_large_float32_rows_do_not_overflow(power, small_blocks, rng):
    X = with_singular_values(300, 10 * 0.8 ** np.arange(20), rng, p=60)[0]
    sized = np.ldexp(X.astype(np.float32), power)
    model = PCA(4, svd_solver="krylov").fit(sized)
    variances, _ = truth(sized.astype(np.float64))
    np.testing.assert_allclose(model.explained_variance_, variances[:4], rtol=20 * EPS32)


@pytest.mark.parametrize("power", [-400, -300, 300, 400])
def test_float64_rows_of_any_size_have_their_variances(power, small_blocks, rng):
    X = with_singular_values(200, 0.5 ** np.arange(10), rng, p=30)[0]
    sized = np.ldexp(X, power)
    plain, model = (PCA(4, svd_solver="krylov").fit(rows) for rows in (X, sized))
    np.testing.assert_allclose(
        np.ldexp(model.explained_variance_, -2 * power), plain.explained_variance_, rtol=1e-12
    )
    assert sine(model.components_, plain.components_) < RESIDUAL / 0.5**8


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_value_that_is_not_finite_is_named(value, small_blocks, rng):
    X = rng.standard_normal((200, 20))
    X[150, 3] = value
    for given in (X, Rows(X), sp.csr_array(X), Rows(sp.csr_array(X))):
        with pytest.raises(NotFiniteError) as caught:
            PCA(2, svd_solver="krylov").fit(given)
        assert caught.value.place["row"] in (150, 151)  # an index, or a row counted from 1
        assert caught.value.place["column"] == 3


# ---- when it stops ------------------------------------------------------------------------------


def test_a_larger_tol_takes_fewer_passes_and_every_tol_is_kept(small_blocks, rng):
    X = rng.standard_normal((400, 200))  # flat: the hardest there is
    passes = []
    for tol in (1e-12, 1e-9, 1e-6, 1e-3, 1e-1):
        model = PCA(6, svd_solver="krylov", tol=tol).fit(X)
        actual = residuals_of(model, X)
        assert actual.max() <= tol
        told = model.certificate_.residuals
        assert (told + 4 * EPS >= 0.5 * actual).all()  # what is measured here rounds, too
        assert told.max() <= tol
        passes.append(model.plan_.passes)
        assert passes[-1] == model.certificate_.passes
    assert passes == sorted(passes, reverse=True)
    assert len(set(passes)) == 5
    assert PCA(6, svd_solver="krylov").fit(X).plan_.passes == passes[1]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_residual_is_never_told_smaller_than_its_products_can_show(dtype, small_blocks, rng):
    X = with_singular_values(300, [5, 4, 3, 2, 1], rng, p=60)[0].astype(dtype)
    model = PCA(4, svd_solver="krylov").fit(X)
    assert (model.certificate_.residuals >= 0.5 * residuals_of(model, X)).all()
    assert (model.certificate_.residuals >= np.finfo(dtype).eps).all()


def test_the_passes_told_are_those_that_were_read(small_blocks, rng):
    source = Rows(rng.standard_normal((300, 100)))
    model = PCA(3, svd_solver="krylov").fit(source)
    assert source.passes == model.plan_.passes
    assert model.certificate_.bytes_read == source.passes * 300 * 100 * 8


def test_fast_decay_takes_few_passes(small_blocks, rng):
    X = with_singular_values(1000, np.arange(1.0, 151) ** -2, rng, p=150)[0]
    assert PCA(10, svd_solver="krylov").fit(X).plan_.passes <= 6


# ---- how many components ------------------------------------------------------------------------


@pytest.mark.parametrize("fraction", [0.001, 0.3, 0.5, 0.9, 0.99, 0.99999])
@pytest.mark.parametrize("shape", [(200, 90), (60, 130)])
def test_a_fraction_is_met_as_by_a_full_decomposition(shape, fraction, small_blocks, rng):
    X = rng.standard_normal(shape) * np.linspace(2, 0.1, shape[1])
    model, _ = check(X, fraction)
    assert model.n_components_ == PCA(fraction, svd_solver="full").fit(X).n_components_


@pytest.mark.parametrize("k", [None, "mle", 0])
def test_all_components_none_and_minkas_rule(k, small_blocks, rng):
    X = with_singular_values(200, [9, 5, 3, 0.1, 0.1, 0.1, 0.1, 0.1], rng, p=8)[0]
    model = PCA(k, svd_solver="krylov").fit(X)
    full = PCA(k, svd_solver="full").fit(X)
    assert model.n_components_ == full.n_components_
    np.testing.assert_allclose(model.explained_variance_, full.explained_variance_, rtol=1e-12)
    np.testing.assert_allclose(model.noise_variance_, full.noise_variance_, atol=100 * EPS)


@pytest.mark.parametrize("k", [9, 10**6])
def test_too_many_components_are_refused(k, rng):
    X = rng.standard_normal((200, 8))
    for given in (X, Rows(X)):
        with pytest.raises(ShapeError, match=f"n_components={k}"):
            PCA(k, svd_solver="krylov").fit(given)


def test_rows_that_can_be_read_once_are_refused_before_they_are_read(rng):
    source = Rows(rng.standard_normal((20, 5)))
    source.repeatable = False
    with pytest.raises(ParameterError, match="reads the rows several times") as caught:
        PCA(2, svd_solver="krylov").fit(source)
    assert source.passes == 0
    assert "sketch" in caught.value.hint


# ---- memory -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("k", "decay"), [(1, 0.0), (6, 0.0), (1, 0.5), (6, 1.0), (30, 0.5)])
def test_the_smallest_search_space_still_converges(k, decay, small_blocks, monkeypatch, rng):
    X = with_singular_values(300, np.arange(1.0, 151) ** -decay, rng, p=150)[0]
    if decay == 0.0:
        X = rng.standard_normal((300, 150))
    model, _ = check(X, k)
    monkeypatch.setattr(route, "krylov_room", lambda facts: 0)
    least, _ = check(X, k)
    assert least.plan_.passes >= model.plan_.passes
    np.testing.assert_allclose(
        least.explained_variance_, model.explained_variance_, rtol=1e-12, atol=300 * EPS
    )


def test_a_memory_limit_near_the_least_is_kept_and_converges(rng):
    X = with_singular_values(200, 0.8 ** np.arange(60), rng, p=6000)[0]
    source = Rows(X)
    with pytest.raises(MemoryLimitError) as caught:
        PCA(20, svd_solver="krylov", memory_limit="1MB").fit(source)
    assert source.passes == 0
    least = caught.value.place["needed"]
    with pytest.raises(MemoryLimitError):
        PCA(20, svd_solver="krylov", memory_limit=int(0.99 * least)).fit(source)
    tracemalloc.start()
    model = PCA(20, svd_solver="krylov", memory_limit=least).fit(source)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < least
    variances, _ = truth(X)
    np.testing.assert_allclose(model.explained_variance_, variances[:20], rtol=1e-12)


def test_the_room_follows_the_limit_and_never_falls_below_three_blocks():
    facts = Facts(1000, 20_000, 10, solver="krylov", held=False)
    assert krylov_room(facts) is None
    assert room_for(10, 20_000) == 8 * block_width(10, 20_000)
    rooms = [
        room_for(10, 20_000, krylov_room(facts._replace(limit=limit)))
        for limit in (1, 10**8, 3 * 10**8, 4 * 10**8, 10**9, 10**10)
    ]
    assert rooms == sorted(rooms)
    assert (rooms[0], rooms[-1]) == (3 * 18, 8 * 18)
    # Fewer columns than three blocks: all of them, and no more.
    assert room_for(10, 30, 0) == room_for(10, 30) == 30
    assert block_width(10, 12) == 12


def test_a_fraction_that_needs_more_memory_than_there_is_says_so(small_blocks, rng):
    X = rng.standard_normal((200, 1000))
    model = PCA(0.9, svd_solver="krylov", memory_limit="1GB").fit(Rows(X))
    assert model.n_components_ > 128
    with pytest.raises(MemoryLimitError, match=r"n_components=0\.9 is not reached") as caught:
        PCA(0.9, svd_solver="krylov", memory_limit="14MB").fit(Rows(X))
    assert "whole number" in caught.value.hint
    assert caught.value.place["needed"] > caught.value.place["limit"]
    allowed = int(1.05 * caught.value.place["needed"])
    assert allowed < 10**9


def test_p_squared_is_never_formed(rng):
    """30,000² numbers would be 7.2 GB."""
    p, k = 30_000, 5
    left = rng.standard_normal((100, 8)) * 2.0 ** -np.arange(8)
    right = rng.standard_normal((8, p))
    X = left @ right + 1e-3 * rng.standard_normal((100, p))
    given = Rows(X, step=20)
    tracemalloc.start()
    model = PCA(k, svd_solver="krylov", memory_limit="600MB").fit(given)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 600 * 10**6
    assert peak < model.plan_.memory
    variances, _ = truth(X)
    np.testing.assert_allclose(model.explained_variance_, variances[:k], rtol=1e-12)


# ---- the loop itself ----------------------------------------------------------------------------


def solved(scatter, k, **options):
    p = len(scatter)
    columns = Columns(11.0, 10**6, np.zeros(p), np.zeros(p), np.diagonal(scatter).copy())
    start = options.pop("start", None)
    if start is None:
        width = block_width(k, p)
        start = scatter @ np.random.default_rng(1).standard_normal((p, width))
    options = {"tol": 0.0, "unit": EPS, **options}
    return solve_blocks(lambda q: scatter @ q, columns, k, start, **options)


def test_eigenpairs_are_those_of_the_scatter_for_every_room(rng):
    turn = np.linalg.qr(rng.standard_normal((120, 120)))[0]
    values = np.concatenate([[8, 8, 8, 4], np.linspace(2, 1, 116)])
    scatter = (turn * values) @ turn.T
    for room in (None, 3 * block_width(6, 120), 50, 120):
        spectrum = solved(scatter, 6, room=room)
        np.testing.assert_allclose(spectrum.variances, values[:6] / 10, rtol=1e-12)
        assert_orthonormal(spectrum.axes)
        assert (spectrum.residuals <= RESIDUAL).all()


@pytest.mark.parametrize("start", ["zeros", "one direction", "an eigenvector", "the rest"])
def test_a_first_block_that_tells_nothing_is_made_up_for(start, rng):
    turn = np.linalg.qr(rng.standard_normal((60, 60)))[0]
    values = 2.0 ** -np.arange(60)
    scatter = (turn * values) @ turn.T
    width = block_width(4, 60)
    block = {
        "zeros": np.zeros((60, width)),
        "one direction": np.outer(rng.standard_normal(60), np.ones(width)),
        "an eigenvector": np.outer(turn[:, 0], np.arange(width)),
        "the rest": turn[:, -width:],
    }[start]
    spectrum = solved(scatter, 4, start=block)
    np.testing.assert_allclose(spectrum.variances, values[:4] / 10, rtol=1e-10)


def test_noise_in_the_products_ends_in_an_error_or_an_honest_residual(rng):
    turn = np.linalg.qr(rng.standard_normal((80, 80)))[0]
    scatter = (turn * np.linspace(2, 1, 80)) @ turn.T
    columns = Columns(11.0, 10**6, np.zeros(80), np.zeros(80), np.diagonal(scatter).copy())
    start = rng.standard_normal((80, 12))

    def noisy(size):
        noise = np.random.default_rng(2)
        return lambda q: scatter @ q + size * noise.standard_normal(q.shape)

    with pytest.raises(DataError, match="stays at a residual"):
        solve_blocks(noisy(0.1), columns, 4, start, tol=0.0, unit=EPS, room=36)
    spectrum = solve_blocks(noisy(1e-7), columns, 4, start, tol=0.0, unit=EPS, room=36)
    assert 1e-8 < spectrum.residuals.max() < 1e-4
