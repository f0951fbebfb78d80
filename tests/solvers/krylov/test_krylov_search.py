"""When a block Krylov search stops, its memory, and its loop."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from krylov_cases import RESIDUAL, Rows, check, residuals_of

from helpers import EPS, assert_orthonormal, truth, with_singular_values
from princomp import PCA
from princomp.core.problem import Problem
from princomp.core.routes import krylov as route
from princomp.core.routes.krylov import search_memory, vectors_within_limit
from princomp.errors import (
    InputChangedError,
    MemoryLimitError,
    ParameterError,
    ShapeError,
)
from princomp.solvers.krylov import SteadyRows, block_width, max_krylov_vectors, solve_blocks
from princomp.summaries import Columns

# ---- when it stops ------------------------------------------------------------------------------


def test_a_larger_tol_takes_fewer_passes_and_every_tol_is_met(small_blocks, rng):
    X = rng.standard_normal((400, 200))  # flat: the hardest case
    passes = []
    for tol in (1e-12, 1e-9, 1e-6, 1e-3, 1e-1):
        model = PCA(6, svd_solver="krylov", tol=tol).fit(X)
        actual = residuals_of(model, X)
        assert actual.max() <= tol
        residuals = model.certificate_.residuals
        assert (residuals + 4 * EPS >= 0.5 * actual).all()  # the actual ones are rounded, too
        assert residuals.max() <= tol
        passes.append(model.plan_.passes)
        assert passes[-1] == model.certificate_.passes
    assert passes == sorted(passes, reverse=True)
    assert len(set(passes)) == 5
    assert PCA(6, svd_solver="krylov").fit(X).plan_.passes == passes[1]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_reported_residuals_include_the_rounding_of_products(dtype, small_blocks, rng):
    X = with_singular_values(300, [5, 4, 3, 2, 1], rng, p=60)[0].astype(dtype)
    model = PCA(4, svd_solver="krylov").fit(X)
    assert (model.certificate_.residuals >= 0.5 * residuals_of(model, X)).all()
    assert (model.certificate_.residuals >= np.finfo(dtype).eps).all()


def test_reported_passes_are_those_that_were_read(small_blocks, rng):
    source = Rows(rng.standard_normal((300, 100)))
    model = PCA(3, svd_solver="krylov").fit(source)
    assert source.passes == model.plan_.passes
    assert model.certificate_.bytes_read == source.passes * 300 * 100 * 8


def test_fast_decay_takes_few_passes(small_blocks, rng):
    X = with_singular_values(1000, np.arange(1.0, 151) ** -2, rng, p=150)[0]
    assert PCA(10, svd_solver="krylov").fit(X).plan_.passes <= 6


def test_a_search_for_one_component_does_not_wait_for_a_second(small_blocks, rng):
    X = with_singular_values(400, np.r_[10.0, np.linspace(1, 0.9, 199)], rng, p=200)[0]
    one, two = (PCA(k, svd_solver="krylov").fit(X).plan_.passes for k in (1, 2))
    assert one < two


# ---- how many components ------------------------------------------------------------------------


@pytest.mark.parametrize("fraction", [0.001, 0.3, 0.5, 0.9, 0.99, 0.99999])
@pytest.mark.parametrize("shape", [(200, 90), (60, 130)])
def test_a_fraction_is_met_as_by_a_full_decomposition(shape, fraction, small_blocks, rng):
    X = rng.standard_normal(shape) * np.linspace(2, 0.1, shape[1])
    model, _ = check(X, fraction)
    assert model.n_components_ == PCA(fraction, svd_solver="full").fit(X).n_components_


@pytest.mark.parametrize("k", [None, "mle", 0])
def test_all_components_no_components_and_minkas_rule(k, small_blocks, rng):
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


def test_rows_that_can_be_read_only_once_are_refused_unread(rng):
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
    monkeypatch.setattr(route, "vectors_within_limit", lambda facts: 0)
    smallest, _ = check(X, k)
    assert smallest.plan_.passes >= model.plan_.passes
    np.testing.assert_allclose(
        smallest.explained_variance_, model.explained_variance_, rtol=1e-12, atol=300 * EPS
    )


def test_a_search_in_the_smallest_memory_limit_converges(rng):
    X = with_singular_values(200, 0.8 ** np.arange(60), rng, p=6000)[0]
    source = Rows(X)
    with pytest.raises(MemoryLimitError) as caught:
        PCA(20, svd_solver="krylov", memory_limit="1MB").fit(source)
    assert source.passes == 0
    needed = caught.value.place["needed"]
    with pytest.raises(MemoryLimitError):
        PCA(20, svd_solver="krylov", memory_limit=int(0.99 * needed)).fit(source)
    tracemalloc.start()
    model = PCA(20, svd_solver="krylov", memory_limit=needed).fit(source)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < needed
    variances, _ = truth(X)
    np.testing.assert_allclose(model.explained_variance_, variances[:20], rtol=1e-12)


def test_the_search_space_follows_the_limit_from_three_blocks_on():
    problem = Problem(1000, 20_000, 10, solver="krylov", in_memory=False)
    assert vectors_within_limit(problem) is None
    assert max_krylov_vectors(10, 20_000) == 8 * block_width(10, 20_000)
    sizes = [
        max_krylov_vectors(10, 20_000, vectors_within_limit(problem._replace(memory_limit=limit)))
        for limit in (1, 10**8, 3 * 10**8, 4 * 10**8, 10**9, 10**10)
    ]
    assert sizes == sorted(sizes)
    assert (sizes[0], sizes[-1]) == (3 * 18, 8 * 18)
    # Fewer columns than three blocks: all of them, and no more.
    assert max_krylov_vectors(10, 30, 0) == max_krylov_vectors(10, 30) == 30
    assert block_width(10, 12) == 12


def test_the_memory_of_a_search_is_the_smallest_limit_that_does_not_narrow_it():
    problem = Problem(1000, 20_000, 10, solver="krylov", in_memory=False)
    needed = search_memory(problem)
    sizes = [
        max_krylov_vectors(10, 20_000, vectors_within_limit(problem._replace(memory_limit=limit)))
        for limit in (needed - 1, needed)
    ]
    assert sizes[0] < sizes[1] == max_krylov_vectors(10, 20_000)


def test_a_fraction_that_needs_too_much_memory_is_refused(small_blocks, rng):
    X = rng.standard_normal((200, 1000))
    model = PCA(0.9, svd_solver="krylov", memory_limit="1GB").fit(Rows(X))
    assert model.n_components_ > 128
    with pytest.raises(MemoryLimitError, match=r"n_components=0\.9 is not reached") as caught:
        PCA(0.9, svd_solver="krylov", memory_limit="14MB").fit(Rows(X))
    assert "whole number" in caught.value.hint
    assert caught.value.place["needed"] > caught.value.place["limit"]
    allowed = int(1.05 * caught.value.place["needed"])
    assert allowed < 10**9


def test_no_matrix_of_p_by_p_is_formed(rng):
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


def solve(scatter, k, **options):
    p = len(scatter)
    columns = Columns(11.0, 10**6, np.zeros(p), np.zeros(p), np.diagonal(scatter).copy())
    start = options.pop("start", None)
    if start is None:
        width = block_width(k, p)
        start = scatter @ np.random.default_rng(1).standard_normal((p, width))
    options = {"tol": 0.0, "unit": EPS, **options}
    return solve_blocks(lambda q: scatter @ q, columns, k, start, **options)


def test_eigenpairs_are_those_of_the_scatter_for_every_space(rng):
    basis = np.linalg.qr(rng.standard_normal((120, 120)))[0]
    values = np.concatenate([[8, 8, 8, 4], np.linspace(2, 1, 116)])
    scatter = (basis * values) @ basis.T
    for max_vectors in (None, 3 * block_width(6, 120), 50, 120):
        spectrum = solve(scatter, 6, max_vectors=max_vectors)
        np.testing.assert_allclose(spectrum.variances, values[:6] / 10, rtol=1e-12)
        assert_orthonormal(spectrum.axes)
        assert (spectrum.residuals <= RESIDUAL).all()


@pytest.mark.parametrize("start", ["zeros", "one direction", "an eigenvector", "the rest"])
def test_a_first_block_without_information_is_compensated(start, rng):
    basis = np.linalg.qr(rng.standard_normal((60, 60)))[0]
    values = 2.0 ** -np.arange(60)
    scatter = (basis * values) @ basis.T
    width = block_width(4, 60)
    block = {
        "zeros": np.zeros((60, width)),
        "one direction": np.outer(rng.standard_normal(60), np.ones(width)),
        "an eigenvector": np.outer(basis[:, 0], np.arange(width)),
        "the rest": basis[:, -width:],
    }[start]
    spectrum = solve(scatter, 4, start=block)
    np.testing.assert_allclose(spectrum.variances, values[:4] / 10, rtol=1e-10)


def test_noisy_products_raise_or_show_in_the_residuals(rng):
    basis = np.linalg.qr(rng.standard_normal((80, 80)))[0]
    scatter = (basis * np.linspace(2, 1, 80)) @ basis.T
    columns = Columns(11.0, 10**6, np.zeros(80), np.zeros(80), np.diagonal(scatter).copy())
    start = rng.standard_normal((80, 12))

    def noisy(size):
        noise = np.random.default_rng(2)
        return lambda q: scatter @ q + size * noise.standard_normal(q.shape)

    with pytest.raises(InputChangedError, match="contradict each other by"):
        solve_blocks(noisy(0.1), columns, 4, start, tol=0.0, unit=EPS, max_vectors=36)
    spectrum = solve_blocks(noisy(1e-7), columns, 4, start, tol=0.0, unit=EPS, max_vectors=36)
    assert 1e-8 < spectrum.residuals.max() < 1e-4


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_of_two_passes_agree_to_rounding_unless_the_rows_changed(rng, dtype):
    unit = np.finfo(dtype).eps
    rows, other = (
        (rng.standard_normal((300, 200)) * np.linspace(3, 1, 200)).astype(dtype) for _ in range(2)
    )
    passes = iter([rows, rows, rows, other])

    def products(data):
        return lambda q: (data.T @ (data @ q.astype(dtype))).astype(np.float64)

    first, second = (np.linalg.qr(rng.standard_normal((200, 8)))[0] for _ in range(2))
    steady = SteadyRows(products(rows), known=(first, products(rows)(first)))
    changing = SteadyRows(lambda q: products(next(passes))(q))
    for vectors in (second, first, second):
        steady(vectors)
        changing(vectors)
    assert 0.0 < steady.difference <= 30 * unit
    with pytest.raises(InputChangedError, match="not the same in every pass"):
        changing(first)


@pytest.mark.parametrize("power", [-100, 0, 100])
def test_changed_rows_of_any_magnitude_are_refused(power, rng):
    one, other = (np.ldexp(rng.standard_normal((300, 50)), power) for _ in range(2))
    first, second = (np.linalg.qr(rng.standard_normal((50, 4)))[0] for _ in range(2))
    changed = SteadyRows(lambda q: other.T @ (other @ q), known=(first, one.T @ (one @ first)))
    with pytest.raises(InputChangedError, match="not the same in every pass"):
        changed(second)


def test_the_difference_of_two_passes_does_not_depend_on_the_lengths_of_vectors(rng):
    one = rng.standard_normal((300, 50))
    other = one + 1e-6 * rng.standard_normal(one.shape)
    first, second = rng.standard_normal((2, 50, 4))
    found = []
    for power in (-3, 0, 3):
        known, vectors = np.ldexp(first, power), np.ldexp(second, 2 * power)
        steady = SteadyRows(lambda q: other.T @ (other @ q), known=(known, one.T @ (one @ known)))
        steady(vectors)
        found.append(steady.difference)
    assert found[0] == found[1] == found[2] > 0.0


def test_rows_that_changed_little_after_the_first_pass_are_refused(rng):
    """No residual shows it, since the products of the other passes agree with each other."""
    scatter = np.diag(2.0 ** -np.arange(60))
    vectors = np.linalg.qr(rng.standard_normal((60, block_width(4, 60))))[0]
    first = scatter @ vectors
    assert solve(scatter, 4, known=(vectors, first)).residuals.max() <= RESIDUAL
    changed = first + 1e-6 * rng.standard_normal(first.shape)
    with pytest.raises(InputChangedError, match="not the same in every pass"):
        solve(scatter, 4, known=(vectors, changed))


def test_the_difference_of_two_passes_may_be_as_large_as_is_allowed():
    steady = SteadyRows(np.negative, difference=0.5)
    steady.check(0.5)
    with pytest.raises(InputChangedError, match=r"contradict each other by 5\.0e-01"):
        steady.check(0.499)


def test_products_without_any_variance_do_not_differ(rng):
    steady = SteadyRows(np.zeros_like)
    for _ in range(2):
        assert not steady(rng.standard_normal((50, 4))).any()
    assert steady.difference == 0.0


def test_a_larger_variance_may_be_missing_unless_the_others_are_smaller_together():
    values = np.r_[5, 4, 3, np.linspace(1, 0.9, 117)]
    flat, steep = np.diag(values), np.diag(0.1 ** np.arange(120.0))
    assert 0.0 < solve(flat, 3).missed < 1e-3
    assert solve(steep, 3).missed == 0.0
