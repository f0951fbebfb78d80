"""RobustPCA and principal component pursuit: resistance to outliers."""

from __future__ import annotations

import decimal
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.stats import chi2, norm
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

from princomp import PCA, RobustPCA, principal_component_pursuit
from princomp.errors import (
    ConstantColumnError,
    DataError,
    NotFiniteError,
    NotNumericError,
    ParameterError,
    ShapeError,
)
from princomp.estimators.robust.mcd import consistency, fast_mcd, mcd_of_columns


def contaminated(rng, n, p, share, *, off=60.0):
    """Rows that vary along the first two columns, and some that lie along the last."""
    X = rng.standard_normal((n, p)) * np.r_[10.0, 3.0, np.full(p - 2, 0.3)]
    bad = np.arange(n) < round(share * n)
    X[bad] = rng.standard_normal((bad.sum(), p))
    X[bad, -1] += off
    return X, bad


def degrees(one, other):
    return np.degrees(np.arccos(min(1.0, abs(float(one @ other)))))


@parametrize_with_checks([RobustPCA(), RobustPCA(1, scale=None, support=0.5)])
def test_scikit_learns_conventions(estimator, check):
    check(estimator)


def test_check_estimator_has_no_expected_failures():
    results = check_estimator(RobustPCA(), on_fail=None, on_skip=None)
    assert {r["status"] for r in results} <= {"passed", "skipped"}


@pytest.mark.parametrize("shape", [(200, 6), (400, 25), (80, 150)])
@pytest.mark.parametrize(("share", "support"), [(0.2, 0.75), (0.3, 0.6), (0.4, 0.5)])
def test_outliers_turn_the_first_axis_of_pca_only(shape, share, support, rng):
    X, bad = contaminated(rng, *shape, share)
    first = np.eye(shape[1])[0]
    assert degrees(PCA(2).fit(X).components_[0], first) > 45
    model = RobustPCA(2, support=support).fit(X)
    assert degrees(model.components_[0], first) < 5
    assert model.outliers_[bad].all()
    assert model.outliers_[~bad].mean() < 0.12
    # Variances are those of the good rows, up to the sampling error of so few rows.
    assert 0.5 < model.explained_variance_[0] / 100 < 2


def test_normal_rows_give_the_model_of_plain_pca(rng):
    X = rng.standard_normal((4000, 5)) * [8, 4, 2, 1, 0.5] + 7
    model, plain = RobustPCA(3).fit(X), PCA(3).fit(X)
    # Standard error of a variance is √(2/n); that of the MCD is not twice as large.
    np.testing.assert_allclose(model.explained_variance_, [64, 16, 4], rtol=6 * np.sqrt(2 / 4000))
    np.testing.assert_allclose(model.mean_, plain.mean_, atol=0.5)
    np.testing.assert_allclose(np.abs(model.components_ @ plain.components_.T), np.eye(3), atol=0.1)
    np.testing.assert_allclose(
        model.explained_variance_ratio_, plain.explained_variance_ratio_, atol=0.03
    )
    assert 0.02 < model.outliers_.mean() < 0.08


def test_cutoffs_and_distances_match_their_formulas(rng):
    X, _ = contaminated(rng, 150, 6, 0.1)
    model = RobustPCA(2).fit(X)
    scores = model.transform(X)
    np.testing.assert_allclose(
        model.score_distances_, np.sqrt(np.sum(scores**2 / model.explained_variance_, axis=1))
    )
    off = np.linalg.norm(X - model.inverse_transform(scores), axis=1)
    np.testing.assert_allclose(model.orthogonal_distances_, off, rtol=1e-9)
    powers = off ** (2 / 3)
    spread = np.median(np.abs(powers - np.median(powers))) * 1.482602218505602
    assert model.score_cutoff_ == pytest.approx(np.sqrt(chi2.ppf(0.975, 2)))
    assert model.orthogonal_cutoff_ == pytest.approx(
        (np.median(powers) + norm.ppf(0.975) * spread) ** 1.5
    )
    where = model.outlier_map(X)
    assert (where.outliers == model.outliers_).all()
    assert set(where.kinds[~where.outliers]) == {"regular"}
    assert set(where.kinds[where.outliers]) <= {"good leverage", "orthogonal", "bad leverage"}
    far = model.outlier_map(model.mean_ + 100 * model.components_[:1])
    assert far.kinds.tolist() == ["good leverage"]
    off_it = np.eye(6)[-1] - model.components_.T @ model.components_[:, -1]
    assert model.outlier_map((model.mean_ + 50 * off_it)[None]).kinds.tolist() == ["orthogonal"]


def test_fits_are_reproducible_and_stable_under_row_order(rng):
    X, bad = contaminated(rng, 200, 6, 0.2)
    one, other = RobustPCA(2).fit(X), RobustPCA(2).fit(X)
    assert (one.components_ == other.components_).all()
    order = rng.permutation(200)
    turned = RobustPCA(2, n_directions=2000).fit(X[order])
    # Other directions and starting subsets select nearly the same rows.
    assert degrees(turned.components_[0], one.components_[0]) < 3
    assert turned.outliers_[np.argsort(order)][bad].all()
    assert RobustPCA(2, random_state=None).fit(X).n_components_ == 2


@pytest.mark.parametrize("k", [2, 5])
def test_the_model_is_equivariant_under_shift_scale_and_rotation(k, rng):
    X, _ = contaminated(rng, 120, 5, 0.2)
    turn = np.linalg.qr(rng.standard_normal((5, 5)))[0]
    model, moved = RobustPCA(k).fit(X), RobustPCA(k).fit(3 * X @ turn + 100)
    np.testing.assert_allclose(moved.explained_variance_, 9 * model.explained_variance_, rtol=1e-6)
    np.testing.assert_allclose(moved.mean_, 3 * model.mean_ @ turn + 100, atol=1e-6)
    np.testing.assert_allclose(
        np.abs(moved.components_ @ turn.T @ model.components_.T), np.eye(k), atol=1e-6
    )


def test_number_of_components(rng):
    X, _ = contaminated(rng, 200, 8, 0.2)
    assert RobustPCA().fit(X).n_components_ == 1  # 100 of 110 is more than 80%
    assert RobustPCA(0.97).fit(X).n_components_ == 2
    assert RobustPCA(8).fit(X).n_components_ == 8
    full = RobustPCA(8).fit(X)
    np.testing.assert_allclose(full.inverse_transform(full.transform(X)), X, atol=1e-9)
    assert full.explained_variance_ratio_.sum() == pytest.approx(1)


def test_a_share_is_held_to_the_limit_of_a_number(rng):
    X = rng.standard_normal((40, 60))
    assert RobustPCA(0.6).fit(X).n_components_ <= 19
    with pytest.raises(ShapeError, match=r"n_components=0.99 needs \d+ components, .* at most 19"):
        RobustPCA(0.99).fit(X)


def test_columns_may_be_scaled_robustly(rng):
    X, bad = contaminated(rng, 200, 5, 0.2)
    X = X * [1000, 1, 1, 1, 1]
    model = RobustPCA(2, scale="mad").fit(X)
    assert model.outliers_[bad].all()
    mad = np.median(np.abs(X - np.median(X, axis=0)), axis=0) * 1.4826022185056018
    np.testing.assert_allclose(model.scale_, mad)
    given = RobustPCA(2, scale=mad).fit(X)
    np.testing.assert_allclose(given.components_, model.components_, atol=1e-12)
    np.testing.assert_allclose(model.inverse_transform(model.transform(X)).shape, X.shape)
    X[:150, 2] = 4
    X[:160, 4] = 1
    with pytest.raises(
        ConstantColumnError, match="column 2 and 1 more: half of its values"
    ) as caught:
        RobustPCA(2, scale="mad").fit(X)
    assert "exclude=[2, 4]" in caught.value.hint


def test_frames_float32_and_names(rng):
    X, _ = contaminated(rng, 100, 4, 0.2)
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = RobustPCA(2).fit(frame)
    assert list(model.feature_names_in_) == list("abcd")
    assert list(model.get_feature_names_out()) == ["PC1", "PC2"]
    single = clone(model).fit(X.astype(np.float32))
    assert single.components_.dtype == single.transform(X.astype(np.float32)).dtype == np.float32
    assert clone(model).set_output(transform="pandas").fit_transform(frame).shape == (100, 2)


def test_rows_on_a_plane_and_identical_rows(rng):
    X = rng.standard_normal((50, 2)) @ rng.standard_normal((2, 6))
    X[:5] += rng.standard_normal((5, 6))
    model = RobustPCA(2).fit(X)
    assert model.outliers_[:5].all()
    assert np.abs(model.orthogonal_distances_[5:]).max() < 1e-9
    same = np.ones((40, 3))
    with pytest.raises(DataError, match="all rows are the same"):
        RobustPCA(1).fit(same)
    same[:4] = rng.standard_normal((4, 3))
    with pytest.raises(DataError, match="of 40 rows are the same"):
        RobustPCA(1).fit(same)


@pytest.mark.parametrize("seed", [2, 3, 5, 6])
def test_rows_on_the_plane_of_a_singular_covariance_are_not_outliers(seed):
    X = 1000 + 10.0 * (np.random.default_rng(seed).random((100, 3)) < [0.5, 0.5, 0.3])
    model = RobustPCA(3, support=0.5).fit(X)
    assert model.explained_variance_[2] < 1e-12
    np.testing.assert_array_equal(model.outliers_, X[:, 2] > 1000)
    np.testing.assert_array_equal(model.outlier_map(X).outliers, model.outliers_)


@pytest.mark.parametrize("size", [1e10, 1e15, 1e20, 1e100])
@pytest.mark.parametrize("scale", [None, "mad"])
def test_outliers_of_any_size_change_nothing(size, scale, rng):
    X = rng.standard_normal((100, 4)) * [5, 3, 1, 0.5]
    X[:5, 2] = 1e7
    expected = RobustPCA(2, scale=scale).fit(X)
    X[:5, 2] = size
    model = RobustPCA(2, scale=scale).fit(X)
    np.testing.assert_allclose(model.explained_variance_, expected.explained_variance_, rtol=1e-6)
    np.testing.assert_allclose(model.loadings_, expected.loadings_, atol=1e-6)
    assert model.orthogonal_cutoff_ == pytest.approx(expected.orthogonal_cutoff_, rel=1e-6)
    np.testing.assert_array_equal(model.outliers_, expected.outliers_)
    np.testing.assert_allclose(
        model.orthogonal_distances_[:5],
        expected.orthogonal_distances_[:5] * (size / 1e7),
        rtol=1e-6,
    )


def test_distant_rows_in_the_space_of_the_components_are_good_leverage(rng):
    X = rng.standard_normal((60, 5))
    far = X[:20] * np.logspace(3, 9, 20)[:, None]
    assert set(RobustPCA(5).fit(X).outlier_map(far).kinds) == {"good leverage"}
    for rows in (X, far):
        rows[:, 4] = rows[:, 0]
    model = RobustPCA(4).fit(X)
    assert set(model.outlier_map(far).kinds) == {"good leverage"}
    far[:, 4] *= 1.001
    assert set(model.outlier_map(far).kinds) == {"bad leverage"}


@pytest.mark.parametrize("scale", [None, "mad"])
@pytest.mark.parametrize("mean", [0.0, 1e5, 1e8, 1e9])
def test_rows_on_a_plane_far_from_the_origin_are_not_outliers(mean, scale, rng):
    parts = mean + np.round(10 * rng.standard_normal((100, 2)))
    X = np.c_[parts, parts.sum(axis=1)]
    X[:3, 2] += 1
    model = RobustPCA(2, scale=scale).fit(X)
    beyond = model.orthogonal_distances_ > model.orthogonal_cutoff_
    assert np.flatnonzero(beyond).tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"n_components": 0}, "n_components"),
        ({"n_components": 1.5}, "n_components"),
        ({"n_components": "mle"}, "n_components"),
        ({"support": 0.4}, "support"),
        ({"support": 1.1}, "support"),
        ({"n_directions": 0}, "n_directions"),
        ({"scale": "unit"}, "scale"),
        ({"random_state": "a"}, "random_state"),
    ],
)
def test_invalid_parameters_are_refused(change, word, rng):
    with pytest.raises(ParameterError) as caught:
        RobustPCA(**change).fit(rng.standard_normal((30, 3)))
    assert caught.value.place == {"parameter": word}
    assert caught.value.hint


def test_sparse_rows_are_refused_with_what_makes_them_dense(tmp_path, rng):
    X = rng.standard_normal((30, 3))
    model, stored = RobustPCA(1).fit(X), tmp_path / "rows.npz"
    sp.save_npz(stored, sp.csr_array(X))
    for call in (RobustPCA(1).fit, model.transform, model.outlier_map, principal_component_pursuit):
        for rows in (sp.csr_array(X), stored):
            with pytest.raises(ParameterError, match="Sparse data was passed: ") as caught:
                call(rows)
            assert "X.toarray()" in caught.value.hint
            assert "stores the matrix dense, such as .npy" in caught.value.hint


def test_rows_on_an_engine_are_refused_by_its_name(rng):
    rows = pytest.importorskip("dask.array").from_array(rng.standard_normal((30, 3)))
    with pytest.raises(ParameterError, match="on Dask: RobustPCA takes dense rows") as caught:
        RobustPCA(1).fit(rows)
    assert caught.value.hint == "pass them, or a sample of them, as an array in memory"
    RobustPCA(1).fit(rows.compute())


def test_invalid_rows_are_refused(rng):
    X = rng.standard_normal((30, 3))
    with pytest.raises(ShapeError, match="must be at most 3"):
        RobustPCA(4).fit(X)
    for empty in (X[:0], [[], []]):
        with pytest.raises(ShapeError, match=r"Found array with 0 .*a minimum of 1 is required\."):
            RobustPCA(1).fit(empty)
    holed = X.copy()
    holed[3, 1] = np.nan
    with pytest.raises(NotFiniteError, match=r"row 3, column 1"):
        RobustPCA(1).fit(holed)
    with pytest.raises(NotFittedError):
        RobustPCA(1).transform(X)
    model = RobustPCA(2).fit(X)
    before = model.components_
    with pytest.raises(NotFiniteError):
        model.fit(holed)
    assert model.components_ is before
    with pytest.raises(ShapeError, match="2 components"):
        model.inverse_transform(np.ones((2, 3)))
    with pytest.raises(NotFiniteError, match="score 1 of row 0 is -inf"):
        model.inverse_transform([[1.0, -np.inf]])


def test_scores_to_invert_are_checked_as_rows_are(rng):
    X = rng.standard_normal((40, 4))
    model = RobustPCA(2).fit(X)
    scores = model.transform(X)
    rows = model.inverse_transform(scores)
    frame = pd.DataFrame(scores, columns=["PC1", "PC2"])
    for given in (
        scores.tolist(),
        scores.astype(object),
        frame,
        frame.astype("Float64"),
        frame.map(lambda value: decimal.Decimal(repr(value))),
    ):
        np.testing.assert_array_equal(model.inverse_transform(given), rows)
    holed = model.inverse_transform(frame.astype("Float64").mask(frame > 1.0))
    assert holed.dtype == np.float64
    np.testing.assert_array_equal(np.isnan(holed[:, 0]), (scores > 1.0).any(axis=1))
    masked = np.ma.array(scores, mask=scores > 1.0)
    np.testing.assert_array_equal(model.inverse_transform(masked), holed)
    assert model.inverse_transform(scores[:0]).shape == (0, 4)
    for wrong in (scores + 1j, scores.astype("M8[s]"), frame.assign(PC1=list("xy") * 20)):
        with pytest.raises(NotNumericError):
            model.inverse_transform(wrong)
    with pytest.raises(ParameterError, match="Sparse"):
        model.inverse_transform(sp.csr_array(scores))


# ---- the parts ----------------------------------------------------------------------------------


def test_attributes_cannot_be_changed_in_place(rng):
    model = RobustPCA(2, scale=[1.0, 2, 3, 4]).fit(rng.standard_normal((40, 4)))
    for name in dir(RobustPCA):
        value = getattr(model, name, None) if name.endswith("_") else None
        if isinstance(value, np.ndarray):
            assert not value.flags.writeable, name


def test_scores_beyond_float32_are_refused(rng):
    X = (3e38 * rng.choice([-1, 1], (20, 10))).astype(np.float32)
    X[0] = 3e38
    model = RobustPCA(2).fit(X)
    with pytest.raises(NotFiniteError, match="overflow float32") as caught:
        model.transform(X)
    scores = model.transform(X.astype(np.float64))
    assert np.isfinite(scores).all()
    too_large = (np.abs(scores) > np.finfo(np.float32).max).any(axis=1)
    assert caught.value.place["row"] == too_large.argmax()


def test_an_iterator_is_not_read_twice(rng):
    with pytest.raises(ParameterError, match="fit_transform reads the rows twice"):
        RobustPCA(2).fit_transform(iter([rng.standard_normal((40, 4))]))


@pytest.mark.parametrize("distance", [50, -1e7, -1e10, -1e14])
def test_the_mcd_of_a_column_is_the_best_of_all_its_windows(rng, distance):
    values = rng.standard_normal((31, 4)) + 1e6
    values[:9] += distance
    centre, deviation = mcd_of_columns(values, 20)
    for column in range(4):
        ordered = np.sort(values[:, column])
        best = min((ordered[i : i + 20] for i in range(12)), key=np.var)
        assert centre[column] == pytest.approx(best.mean(), abs=1e-9)
        share = consistency(20 / 31, 1)
        assert deviation[column] == pytest.approx(best.std() * np.sqrt(share), rel=1e-6)


def test_fast_mcd_finds_the_main_cluster(rng):
    rows = rng.standard_normal((100, 2)) * [3, 1]
    rows[:30] = [20, 20] + 0.1 * rng.standard_normal((30, 2))
    centre, covariance = fast_mcd(rows, 65, rng, np.arange(65))
    assert np.abs(centre).max() < 1.5
    away = rows[:30] - centre
    distances = np.sum(away @ np.linalg.inv(covariance) * away, axis=1)
    assert (distances > chi2.ppf(0.999, 2)).all()
    # Of normal rows the covariance is right to a few of its standard errors, √(2/n).
    whole = rng.standard_normal((8000, 2))
    for h in (4500, 8000):
        _, covariance = fast_mcd(whole, h, rng, np.arange(h))
        np.testing.assert_allclose(covariance, np.eye(2), atol=4 * np.sqrt(2 / 8000))
    assert consistency(1.0, 3) == 1.0
    # A chi-square with k + 2 degrees of freedom, by simulation.
    z = rng.standard_normal((200_000, 2))
    inner = z[np.argsort((z**2).sum(axis=1))[:100_000]]
    assert inner.var() * consistency(0.5, 2) == pytest.approx(1, rel=0.02)


def test_support_is_a_share_of_the_rows(rng):
    X = rng.standard_normal((100, 3))
    for support in (0.55, 0.57, 0.58, 0.7, 1.0):
        assert RobustPCA(1, support=support).fit(X).n_support_ == round(100 * support)


# ---- pursuit -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "p", "rank"), [(100, 80, 4), (200, 80, 2), (80, 200, 2)])
def test_pursuit_separates_planted_low_rank_and_sparse_parts(n, p, rank, rng):
    low = rng.standard_normal((n, rank)) @ rng.standard_normal((rank, p))
    cells = rng.random((n, p)) < 0.05
    sparse = np.where(cells, rng.choice([-10.0, 10.0], (n, p)), 0.0)
    found = principal_component_pursuit(low + sparse)
    assert found.converged
    assert (found.rank, found.cells) == (rank, cells.sum())
    np.testing.assert_allclose(found.low_rank, low, atol=1e-6)
    np.testing.assert_allclose(found.sparse, sparse, atol=1e-6)
    assert found.penalty == 1 / np.sqrt(max(n, p))
    assert found.residual <= 1e-9
    assert f"rank {rank}" in str(found)
    # Scattered wrong cells are beyond RobustPCA, which judges whole rows.
    truth = PCA(rank).fit(low).explained_variance_
    np.testing.assert_allclose(PCA(rank).fit(found.low_rank).explained_variance_, truth, rtol=1e-5)


def test_the_pursuit_solution_minimises_the_objective(rng):
    """The objective ‖L‖₊ + λ‖S‖₁ is convex, and no nearby pair of the same sum has a lower one."""
    X = rng.standard_normal((30, 20)) + 3
    found = principal_component_pursuit(X, tol=1e-10, max_iter=20_000)
    s = np.linalg.svd(found.low_rank, compute_uv=False)
    r = found.rank
    assert s[r:].max(initial=0) < 1e-6
    np.testing.assert_allclose(found.low_rank + found.sparse, X, atol=1e-7)
    value = s.sum() + found.penalty * np.abs(found.sparse).sum()
    for _ in range(20):
        step = 1e-3 * rng.standard_normal(X.shape)
        low, sparse = found.low_rank + step, found.sparse - step
        other = np.linalg.svd(low, compute_uv=False).sum() + found.penalty * np.abs(sparse).sum()
        assert other >= value - 1e-8


def test_divisors_of_columns_far_from_the_origin(rng):
    """Subtracting the medians is exact for such rows; dividing first would round them."""
    X = np.round(contaminated(rng, 60, 4, 0.1)[0] * 2**10) / 2**10
    near, far = (RobustPCA(2, scale="mad").fit(rows) for rows in (X, X + 2.0**30))
    np.testing.assert_array_equal(far.explained_variance_, near.explained_variance_)
    np.testing.assert_array_equal(far.components_, near.components_)
    np.testing.assert_allclose(far.mean_ - 2.0**30, near.mean_, atol=1e-6)


@pytest.mark.parametrize("exponent", [-500, -40, 3, 505])
def test_rows_times_a_power_of_two_give_identical_fits(exponent, rng):
    X, _ = contaminated(rng, 60, 5, 0.1)
    fit, scaled = (RobustPCA(2, random_state=0).fit(rows) for rows in (X, np.ldexp(X, exponent)))
    np.testing.assert_array_equal(scaled.components_, fit.components_)
    variances = np.ldexp(fit.explained_variance_, 2 * exponent)
    np.testing.assert_array_equal(scaled.explained_variance_, variances)
    np.testing.assert_array_equal(scaled.score_distances_, fit.score_distances_)
    np.testing.assert_array_equal(scaled.outliers_, fit.outliers_)


@pytest.mark.parametrize("exponent", [-1000, -540, 520, 1000])
def test_variances_beyond_the_range_are_refused(exponent, rng):
    X, _ = contaminated(rng, 60, 5, 0.1)
    scaled = np.ldexp(X, exponent)
    size, change = ("little", "multiply") if exponent < 0 else ("much", "divide")
    with pytest.raises(NotFiniteError, match=f"too {size}") as caught:
        RobustPCA(2).fit(scaled)
    assert caught.value.hint.startswith(f"{change} the rows by a power of ten")
    RobustPCA(2).fit(scaled * 10.0 ** round(-0.3 * exponent))  # as the hint says


@pytest.mark.parametrize("exponent", [-1000, 1000])
def test_pursuit_of_rows_of_any_size(exponent, rng):
    X = np.outer(rng.standard_normal(20), rng.standard_normal(10))
    X[3, 4] += 10
    found, scaled = (principal_component_pursuit(rows) for rows in (X, np.ldexp(X, exponent)))
    assert found.rank == 1
    assert (scaled.rank, scaled.cells) == (found.rank, found.cells)
    np.testing.assert_array_equal(scaled.low_rank, np.ldexp(found.low_rank, exponent))


def test_pursuit_of_edge_cases_and_invalid_arguments(rng):
    nothing = principal_component_pursuit(np.zeros((4, 3)))
    assert (nothing.rank, nothing.cells, nothing.converged) == (0, 0, True)
    X = rng.standard_normal((20, 10))
    before = X.copy()
    with pytest.warns(ConvergenceWarning, match="max_iter=2"):
        assert not principal_component_pursuit(X, max_iter=2).converged
    np.testing.assert_array_equal(X, before)
    for change in ({"penalty": 0}, {"tol": -1}, {"max_iter": 0}):
        with pytest.raises(ParameterError):
            principal_component_pursuit(X, **change)
    X[2, 3] = np.nan
    with pytest.raises(NotFiniteError, match=r"row 2, column 3"):
        principal_component_pursuit(X)
    with pytest.raises(ParameterError, match="dense"):
        principal_component_pursuit(sp.csr_array(before))
    with pytest.raises(ParameterError, match="dense"):
        principal_component_pursuit(lambda: iter([sp.csr_array(before)]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert principal_component_pursuit(pd.DataFrame(before)).converged
