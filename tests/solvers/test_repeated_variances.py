"""Searches find every copy of a repeated variance; certificates tell if one may be missing."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from engines import on_strict
from helpers import EPS, with_singular_values
from princomp import PCA, KernelPCA, load
from princomp.engines.device.tables import rows_of
from princomp.solvers.device import solve_on_device
from princomp.solvers.lanczos import lanczos
from princomp.solvers.missed import may_hide_copies, miss_probability, rest_is_smaller
from princomp.solvers.row_search import find_warm_start, search_block_width, search_rows
from princomp.summaries import Columns
from princomp.summaries.centred_rows import centre_rows
from princomp.summaries.device_summaries import moments_on

# An eigenvalue of a search in float64 is off by a few hundred roundings at these sizes.
_UNITS = 1000


def rows_with_variances(n, variances, rng, *, p=None, dtype=np.float64):
    """Rows (n, p) with these variances."""
    sigma = np.sqrt(np.asarray(variances, dtype=float) * (n - 1))
    return with_singular_values(n, sigma, rng, p=p)[0].astype(dtype)


CLUSTERS = [100.0] * 40 + [99.0] * 40 + [1.0] * 560


@pytest.mark.parametrize(
    ("shape", "solver"),
    [
        ((700, 1600), "auto"),
        ((700, 1600), "lanczos"),
        ((900, 650), "arpack"),
        ((700, 1600), "full"),
    ],
)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_all_copies_of_a_repeated_variance_are_found(shape, solver, dtype, rng):
    X = rows_with_variances(shape[0], CLUSTERS, rng, p=shape[1], dtype=dtype)
    model = PCA(45, svd_solver=solver).fit(X)
    # The rows are rounded: their variances move by a few units of λ₁.
    error = _UNITS * np.finfo(dtype).eps * 100
    np.testing.assert_allclose(model.explained_variance_, CLUSTERS[:45], rtol=0, atol=error)


def test_sparse_rows_with_repeated_variances_lose_no_copy():
    # Each column holds m and −m in two rows of its own: equal variances, no correlation.
    p, m = 2000, np.r_[np.full(30, 3.0), np.full(1970, 1.0)]
    rows = np.arange(2 * p)
    values = np.stack([m, -m], axis=1).ravel()
    X = sp.csr_array((values, (rows, np.repeat(np.arange(p), 2))), shape=(2 * p, p))
    model = PCA(35, svd_solver="lanczos").fit(X)
    expected = 2 * m[:35] ** 2 / (2 * p - 1)
    np.testing.assert_allclose(model.explained_variance_, expected, rtol=_UNITS * EPS)


@pytest.mark.parametrize("k", [20, 60, None])
def test_a_krylov_search_finds_copies_smaller_than_its_tolerance(k, rng):
    # All variances but the first are below 1e-9 of the first: any vector has such a residual.
    variances = np.r_[1e9, np.full(30, 1.0), np.full(68, 0.01), 0.008]
    X = rows_with_variances(101, variances, rng, p=300)
    model = PCA(k, svd_solver="krylov").fit(X)
    k = min(model.n_components_, 100)
    found, error = model.explained_variance_[:k], _UNITS * EPS * 1e9
    np.testing.assert_allclose(found, variances[:k], rtol=0, atol=error)
    assert model.certificate_.residuals.max() * 1e9 <= error


@pytest.mark.parametrize("first", [1e4, 1e7, 1e10])
def test_copies_much_smaller_than_the_first_variance_are_found(first, rng):
    # The next pair after those wanted ends the check for more copies: its residual is compared
    # with the last variance, because 1e-6 of the first one exceeds all others.
    variances = np.r_[first, np.full(23, 2.5), 1.4, np.full(15, 1.0), np.full(260, 0.025)]
    X = rows_with_variances(400, variances, rng, p=300)
    model = PCA(32, svd_solver="lanczos").fit(X)
    error = _UNITS * EPS * first
    np.testing.assert_allclose(model.explained_variance_, variances[:32], rtol=0, atol=error)


def test_variances_that_differ_by_less_than_the_tolerance_count_as_copies(rng):
    # A search to a residual of 1e-12 · λ₁ = 0.01 does not separate these.
    variances = np.r_[1e10, np.linspace(2.5, 2.49, 40), np.full(259, 0.025)]
    X = rows_with_variances(400, variances, rng, p=300)
    model = PCA(38, svd_solver="lanczos", tol=1e-12).fit(X)
    np.testing.assert_allclose(model.explained_variance_, variances[:38], rtol=0, atol=0.01)


def test_a_search_does_not_promise_copies_within_its_tolerance():
    values = np.r_[1.0, np.full(30, 1e-6), np.full(169, 5e-7)]

    def missed(tol):
        rng = np.random.default_rng(0)
        return lanczos(lambda block: values[:, None] * block, 200, 25, tol=tol, rng=rng).missed

    # The last vector wanted has an error of about 1e-12 / 1e-6; see miss_probability.
    assert missed(1e-12) < 1e-4
    assert missed(1e-7) == 1.0


def test_a_search_on_a_device_finds_all_copies(rng):
    variances = np.r_[np.full(12, 100.0), np.full(8, 99.0), np.ones(80)]
    rows = rows_of(on_strict.to_device(rows_with_variances(200, variances, rng)))
    moments = moments_on(rows, drop=False, precise=True)[0]
    found = solve_on_device(moments, 16, few=True, tol=0.0)
    np.testing.assert_allclose(found.variances, variances[:16], rtol=0, atol=_UNITS * EPS * 100)
    assert 0 < found.missed <= miss_probability(100, 4, 1e-12)


def test_kernel_pca_finds_all_copies(rng):
    sigma = np.array([10.0] * 40 + [7.0] * 40 + [1.0] * 560)
    X = with_singular_values(1200, sigma, rng)[0]
    model = KernelPCA(35, kernel="linear").fit(X)
    assert model.plan_.solver == "lanczos"
    np.testing.assert_allclose(model.eigenvalues_, 100.0, rtol=_UNITS * EPS)


@pytest.mark.parametrize("shape", [(1100, 1023), (3200, 1600)])
def test_a_share_of_repeated_variances_has_the_fewest_components(shape, rng):
    n, p = shape
    variances = [100.0] * 40 + [99.0] * 40 + [1.0] * (p - 80)
    X = rows_with_variances(n, variances, rng)
    share = (4000 + 20 * 99.5) / np.sum(variances)
    model = PCA(share).fit(X)
    assert model.n_components_ == 61
    expected = variances[:61]
    np.testing.assert_allclose(model.explained_variance_, expected, rtol=_UNITS * EPS)


def clustered(seed):
    """An operator with groups of equal eigenvalues, the pairs to find, and the width of blocks."""
    rng = np.random.default_rng(seed)
    size, groups, value = int(rng.integers(150, 900)), [], 100.0
    for _ in range(rng.integers(1, 5)):
        groups += [value] * int(rng.choice([1, 3, 5, 8, 9, 16, 20, 40, 70]))
        value *= float(rng.choice([0.99, 0.999, 0.9, 0.5, 0.99999]))
    rest = size - len(groups)
    tails = (
        lambda: np.full(rest, 0.01 * value),
        lambda: rng.random(rest) * 0.9 * value,
        lambda: 0.95 * value / np.arange(1, rest + 1),
    )
    values = np.sort(np.r_[groups, tails[rng.integers(3)]()])[::-1]
    k, width = int(rng.integers(1, min(60, size // 3))), int(rng.choice([2, 4, 8, 16]))
    basis = np.linalg.qr(rng.standard_normal((size, size)))[0]
    return values, basis, k, width


# A search that trusted its residuals returned smaller eigenvalues for these.
@pytest.mark.parametrize("seed", [22, 24, 27, 52, 60, 63, 96, 98, 134, 149])
def test_narrow_blocks_find_all_copies(seed):
    values, basis, k, width = clustered(seed)
    start = np.random.default_rng(1).standard_normal((len(values), width))

    def apply(block):
        return basis @ (values[:, None] * (basis.T @ block))

    max_vectors, rng = max(k + 3 * width, 256), np.random.default_rng(0)
    pairs = lanczos(
        apply, len(values), k, tol=4 * EPS, rng=rng, start=start, max_vectors=max_vectors
    )
    np.testing.assert_allclose(pairs.values, values[:k], rtol=0, atol=_UNITS * EPS * 100)
    errors = np.linalg.norm(apply(pairs.vectors) - pairs.vectors * pairs.values, axis=0)
    # Residuals of the recurrence do not include the rounding of its products.
    assert (errors <= pairs.residuals + _UNITS * EPS * values[0]).all()


@pytest.mark.parametrize("power", [-60, 60])
@pytest.mark.parametrize("seed", [22, 24, 27])
def test_a_search_for_copies_does_not_depend_on_the_unit(seed, power):
    """It takes about as many products: decompositions may round other digits in another range."""
    values, basis, k, width = clustered(seed)
    start = np.random.default_rng(1).standard_normal((len(values), width))
    found = []
    for exponent in (0, power):
        scaled = np.ldexp(values, exponent)
        options = {"rng": np.random.default_rng(0), "max_vectors": max(k + 3 * width, 256)}
        options |= {"tol": 1e-13, "trace": scaled.sum(), "start": start}
        found.append(
            lanczos(
                lambda v, d=scaled: basis @ (d[:, None] * (basis.T @ v)), len(values), k, **options
            )
        )
    one, other = found
    assert abs(other.products - one.products) <= one.products / 4
    atol = _UNITS * EPS * values[0]
    np.testing.assert_allclose(np.ldexp(other.values, -power), one.values, rtol=0, atol=atol)
    assert other.missed == pytest.approx(one.missed, rel=0.5, abs=0)


@pytest.mark.parametrize("power", [-30, 0, 30])
def test_only_copies_above_the_last_value_are_searched_for(power):
    one = 2.0**power
    tied = one * np.r_[np.full(8, 2.0), 1.0]
    assert may_hide_copies(tied, 8, EPS)
    assert not may_hide_copies(tied, 9, EPS)  # the start block has room for all
    assert not may_hide_copies(np.full(30, 2.0 * one), 8, EPS)  # missing copies are not larger
    assert not may_hide_copies(one * np.linspace(2.0, 1.0, 30), 8, EPS)
    assert may_hide_copies(one * np.r_[5.0, np.linspace(2.0, 2.0 - 1e-6, 8), 1.5], 8, EPS)


def test_copies_within_the_tolerance_count_on_request_only():
    values = np.r_[1.0, np.full(8, 1e-6), 5e-7]
    assert not may_hide_copies(values, 8, 1e-6)
    assert may_hide_copies(values, 8, 1e-6, within_tol=True)


def test_the_rounding_of_a_trace_does_not_exclude_another_copy():
    values = np.ones(2)
    assert not rest_is_smaller(3.0 * (1 - 1e-9), values)
    assert rest_is_smaller(2.9, values)


@pytest.mark.parametrize("k", [5, 10])  # fewer than the vectors in a block, and more
def test_the_start_has_directions_that_the_sample_lacks(k, rng):
    X = rng.standard_normal((200, 50))
    X[:, 7] = 0.0  # as if every sampled row had the same value
    columns = Columns.of(X)
    rows = centre_rows(X, columns.mean, columns.mean_low, columns.column_scatter, None, None)
    _, start = find_warm_start(rows, k, tol=EPS, rng=rng)
    assert start.shape == (50, search_block_width(k, rows.lowest_dtype))
    share = np.linalg.norm(start[7]) / np.linalg.norm(start)
    # A tenth of what a random block has.
    assert share > 0.01 * np.sqrt(1 / 50)


def test_a_start_that_is_random_in_part_misses_a_larger_variance_more_easily(rng):
    X = rng.standard_normal((400, 300))
    columns = Columns.of(X)
    rows = centre_rows(X, columns.mean, columns.mean_low, columns.column_scatter, None, None)
    _, start = find_warm_start(rows, 5, tol=EPS, rng=rng)
    found, _ = search_rows(rows, columns, 5, tol=0.0, rng=rng, start=start)
    assert found.missed >= 10 * miss_probability(300, start.shape[1], 4 * EPS)
    rough, _ = search_rows(rows, columns, 5, tol=1e-2, rng=rng, start=start)
    assert rough.missed == 1.0


@pytest.mark.parametrize(
    ("model", "missed"),
    [
        (PCA(), 0.0),
        (PCA(3, svd_solver="full"), 0.0),
        (PCA(3, svd_solver="row_gram"), 0.0),
        (PCA(20, svd_solver="row_gram"), 0.0),
        (PCA(3, svd_solver="randomized", random_state=0), None),
        (PCA(3, svd_solver="sketch"), None),
    ],
)
def test_the_certificate_says_whether_a_larger_variance_may_be_missing(
    model, missed, rng, tmp_path
):
    X = rng.standard_normal((100, 60))
    certificate = model.fit(X).certificate_
    assert certificate.missed == missed
    assert certificate.to_dict()["missed"] == missed
    model.save(tmp_path / "a.pca")
    assert load(tmp_path / "a.pca").certificate_.missed == missed


def test_a_search_says_how_likely_it_missed_a_larger_variance(rng):
    X = rng.standard_normal((400, 300))
    found = PCA(20, svd_solver="lanczos").fit(X).certificate_
    assert 0 < found.missed <= miss_probability(300, 16, 1e-12)
    assert "probability at most" in str(found)
    loose = PCA(20, svd_solver="lanczos", tol=1e-3).fit(X).certificate_
    assert loose.missed > found.missed
    # If the sum of the others is less than the last one kept, none can be larger.
    strong = rows_with_variances(400, np.r_[np.full(5, 1000.0), np.full(295, 1.0)], rng)
    assert PCA(5, svd_solver="lanczos").fit(strong).certificate_.missed == 0.0


def test_copies_are_searched_for_when_one_direction_is_left():
    values = np.array([2.0] * 7 + [1.0] * 2)
    rng = np.random.default_rng(0)
    pairs = lanczos(lambda block: values[:, None] * block, 9, 8, tol=1e-12, rng=rng)
    np.testing.assert_allclose(pairs.values, values[:8], rtol=1e-12)
    assert pairs.missed == 0.0  # nothing is left in which a larger value could hide
