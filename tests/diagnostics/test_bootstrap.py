"""Bootstrap intervals: against resampling by hand, and theory for normal rows."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn import decomposition

from helpers import with_singular_values
from princomp import PCA, bootstrap
from princomp.diagnostics import rows
from princomp.errors import (
    ConstantColumnError,
    NotAvailableError,
    NotFiniteError,
    ParameterError,
    ShapeError,
)


@pytest.fixture(scope="module")
def normal():
    return np.random.default_rng(3).standard_normal((500, 4)) * [4, 3, 2, 1] + 10


def by_hand(X, n, seed, **parameters):
    """The same resamples with copied rows, each fitted by PCA."""
    counts = np.random.default_rng(seed).multinomial(len(X), np.full(len(X), 1 / len(X)), size=n)
    return [PCA(**parameters).fit(np.repeat(X, count, axis=0)) for count in counts]


# Resamples of up to 256 columns are analysed together, others one by one.
@pytest.mark.parametrize("shape", [(40, 4), (25, 40), (25, 260), (280, 260)])
@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("scale", [None, "unit", "pareto", "range", "given"])
def test_each_resample_is_the_fit_of_the_repeated_rows(shape, center, scale, rng):
    X = rng.standard_normal(shape) * np.linspace(3, 1, shape[1]) + 5
    scale = np.linspace(1, 2, shape[1]) if scale == "given" else scale
    check_resamples(X, 12, n_components=2, scale=scale, center=center)


@pytest.mark.parametrize("columns", [3, 260])
@pytest.mark.parametrize("weights", [None, np.full(40, 0.91)])
def test_variances_that_squares_of_the_rows_lose_cause_a_warning(columns, weights, rng):
    """Those of columns in other units are not lost: products of columns keep them."""
    X = rng.standard_normal((40, columns)) * np.linspace(2, 1, columns)
    X[:, 0] *= 1e9
    model = PCA(3, svd_solver="full").fit(X, sample_weight=weights)
    if columns == 3:
        bootstrap(model, X, n=2, sample_weight=weights)  # no warning
        X[:, 1] += X[:, 0]
        model.fit(X, sample_weight=weights)
    with pytest.warns(UserWarning, match="rounding hides the variance of PC"):
        bootstrap(model, X, n=2, sample_weight=weights)


def test_many_columns_are_resampled_in_several_batches(rng):
    """33 resamples are analysed at a time, from 66 rows at a time."""
    check_resamples(rng.standard_normal((80, 250)) * np.linspace(3, 1, 250), 40, n_components=2)


@pytest.mark.parametrize("far", [1e8, 1e20])
@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("scale", [None, "unit", "pareto", "range"])
@pytest.mark.parametrize("columns", [3, 260])
def test_resamples_without_a_far_row_keep_their_digits(far, center, scale, columns, rng):
    """They looked constant, or had variances of rounding errors."""
    X = rng.standard_normal((20, columns)) * 3 + 5
    X[0, 1] = far
    found = bootstrap(X, n=12, level=0.9, n_components=1, scale=scale, center=center)
    models = by_hand(X, 12, 0, n_components=1, scale=scale, center=center)
    variances = np.array([model.explained_variance_ for model in models])
    ends = np.quantile(variances, [0.05, 0.95], axis=0)
    np.testing.assert_allclose(found.variance_interval, ends, rtol=1e-9)


@pytest.mark.parametrize("divisor", [None, 7.1])
@pytest.mark.parametrize("columns", [1, 260])
def test_resamples_of_rows_that_differ_in_their_last_digits(columns, divisor):
    """The rounding error of their mean is as large as their differences."""
    value = 1.9e11
    steps = np.array([-3.0, -2, 0, 5e7, 6e7])
    X = np.zeros((5, columns))
    X[:, 0] = value + steps * np.spacing(value)
    scale = None if divisor is None else np.full(columns, divisor)
    found = bootstrap(X, n=60, level=0.9, n_components=1, scale=scale)
    counts = np.random.default_rng(0).multinomial(5, np.full(5, 0.2), size=60)
    exact = np.array([np.repeat(steps, count).var(ddof=1) for count in counts])
    assert 0 < np.sort(exact)[3] < 5  # of the first three rows alone
    ends = np.quantile(exact, [0.05, 0.95])
    found_steps = found.variance_interval[:, 0] * ((divisor or 1.0) / np.spacing(value)) ** 2
    np.testing.assert_allclose(found_steps, ends, rtol=1e-9)


def check_resamples(X, n, **parameters):
    """Compare a bootstrap with the fits of the repeated rows."""
    found = bootstrap(X, n=n, random_state=7, level=0.5, **parameters)
    models = by_hand(X, n, 7, **parameters)
    ends = [0.25, 0.75]
    variances = np.array([model.explained_variance_ for model in models])
    rates = np.array([model.explained_variance_ratio_ for model in models])
    np.testing.assert_allclose(found.variance_interval, np.quantile(variances, ends, axis=0))
    np.testing.assert_allclose(found.rate_interval, np.quantile(rates, ends, axis=0))
    np.testing.assert_allclose(found.variance_error, variances.std(axis=0, ddof=1))
    axes = PCA(**parameters).fit(X).components_
    cosines = np.array([np.abs(np.sum(model.components_ * axes, axis=1)) for model in models])
    np.testing.assert_allclose(np.cos(np.radians(found.angles)), cosines, atol=1e-10)
    least = [np.linalg.svd(model.components_ @ axes.T)[1].min() for model in models]
    np.testing.assert_allclose(np.cos(np.radians(found.space_angles)), least, atol=1e-10)
    signs = np.array([np.sign(np.sum(model.components_ * axes, axis=1)) for model in models])
    loadings = np.array([model.loadings_ for model in models]) * signs[:, None, :]
    np.testing.assert_allclose(
        found.loading_interval, np.quantile(loadings, ends, axis=0), atol=1e-9
    )


def test_intervals_of_normal_rows_agree_with_theory(normal):
    """λ ± zλ√(2/(n−1)): a bootstrap of 500 rows agrees to a sixth of the width."""
    found = bootstrap(normal, n=4000)
    half = 1.959964 * found.variances * np.sqrt(2 / 499)
    low, high = found.variance_interval
    np.testing.assert_allclose(found.variances - low, half, rtol=0.17)
    np.testing.assert_allclose(high - found.variances, half, rtol=0.17)
    np.testing.assert_allclose(found.variance_error, half / 1.959964, rtol=0.1)
    # Girshick (1939): an axis moves by λaλb/(n (λa − λb)²) towards each of the others.
    lam = found.variances
    moved = [
        sum(lam[a] * lam[b] / (499 * (lam[a] - lam[b]) ** 2) for b in range(4) if b != a)
        for a in range(4)
    ]
    root = np.radians(np.sqrt(np.mean(found.angles**2, axis=0)))
    np.testing.assert_allclose(root, np.sqrt(moved), rtol=0.2)
    assert (found.space_angles < 1e-6).all()  # four components span the whole space


def test_alignments_differ_where_components_are_exchanged(rng):
    X, _ = with_singular_values(150, [30, 29.9, 10, 5, 5], rng)
    signs = bootstrap(X, n=400, n_components=2)
    procrustes = bootstrap(X, n=400, n_components=2, align="procrustes")
    assert (procrustes.loading_error[:2] < 0.6 * signs.loading_error[:2]).any()
    assert (procrustes.angles == signs.angles).all()
    assert (procrustes.variance_interval == signs.variance_interval).all()
    # Single axes rotate freely within their plane, which is stable.
    assert signs.angle_quantiles()[1].min() > 40
    assert signs.space_quantiles()[1] < 20


def test_weights_are_frequencies(rng):
    X = rng.standard_normal((60, 3)) * [3, 2, 1]
    weights = rng.integers(0, 5, 60)
    weighted = bootstrap(X, n=3000, sample_weight=weights)
    repeated = bootstrap(np.repeat(X, weights, axis=0), n=3000)
    np.testing.assert_allclose(weighted.variances, repeated.variances, rtol=1e-12)
    np.testing.assert_allclose(weighted.variance_interval, repeated.variance_interval, rtol=0.04)


def test_seeds_and_progress(normal):
    events = []
    one = bootstrap(normal, n=300, random_state=5, progress=events.append)
    assert (events[-1].step, events[-1].rows, events[-1].done) == ("bootstrap", 300, True)
    other = bootstrap(normal, n=300, random_state=5)
    np.testing.assert_allclose(other.angles, one.angles, atol=1e-6)
    assert not np.allclose(bootstrap(normal, n=300, random_state=6).angles, one.angles)
    assert not np.allclose(
        bootstrap(normal, n=50, random_state=None).angles,
        bootstrap(normal, n=50, random_state=None).angles,
    )


def test_a_model_frames_files_and_dropped_rows(normal, tmp_path):
    frame = pd.DataFrame(normal, columns=list("abcd"))
    model = PCA(2, scale="unit").fit(frame)
    found = bootstrap(model, frame, n=50)
    assert found.columns == tuple("abcd")
    assert (found.variances == model.explained_variance_).all()
    frame.to_csv(tmp_path / "x.csv", index=False)
    np.testing.assert_allclose(bootstrap(model, tmp_path / "x.csv", n=50).angles, found.angles)
    table = found.to_frame()
    assert list(table["component"]) == ["PC1", "PC2"]
    assert (table["variance_low"] < table["variance_high"]).all()
    every = found.to_frame("intervals")
    assert list(every.quantity) == ["variance"] * 2 + ["rate"] * 2 + ["loading"] * len(every[4:])
    np.testing.assert_array_equal(every.low[:2], found.variance_interval[0])
    np.testing.assert_array_equal(every.high[2:4], found.rate_interval[1])
    np.testing.assert_array_equal(every.value[4:], found.loadings.ravel())
    np.testing.assert_array_equal(every.error[4:], found.loading_error.ravel())
    assert every.variable[:4].isna().all()
    loadings = found.to_frame("loadings")
    assert len(loadings) == 8
    assert loadings.loc[2, ["variable", "component"]].tolist() == ["b", "PC1"]
    assert loadings.loc[2, "loading"] == model.loadings_[1, 0]
    document = json.loads(json.dumps(found.to_dict()))
    assert document["n"] == 50
    assert "PC2" in str(found)
    assert "95%" in str(found)
    with_nan = normal.copy()
    with_nan[3, 2] = np.nan
    dropped = bootstrap(with_nan, n=50, n_components=2, missing="drop", scale="unit")
    rest = bootstrap(np.delete(normal, 3, axis=0), n=50, n_components=2, scale="unit")
    np.testing.assert_allclose(dropped.angles, rest.angles, atol=1e-6)
    with pytest.raises(NotAvailableError, match="too narrow"):
        bootstrap(with_nan, n=50, n_components=2, missing="em")


def test_invalid_arguments_are_refused(normal):
    for change, word in (
        ({"n": 1}, "n"),
        ({"n": 10.5}, "n"),
        ({"random_state": -1}, "random_state"),
        ({"level": 1}, "level"),
        ({"align": "sign"}, "align"),
        ({"model": 3}, "model"),
    ):
        with pytest.raises(ParameterError) as caught:
            bootstrap(**{"X": normal, "model": None, **change})
        assert caught.value.place == {"parameter": word}
        assert caught.value.hint
    model = PCA(2).fit(normal)
    with pytest.raises(ParameterError, match="cannot be combined"):
        bootstrap(model, normal, scale="unit")
    with pytest.raises(ParameterError, match="are not the 500"):
        bootstrap(model, normal[:400])
    with pytest.raises(ParameterError, match="are not the 500"):
        bootstrap(model, normal + 1)
    faded = PCA(2, decay=0.98).partial_fit(normal)
    with pytest.raises(ParameterError, match=r"are not the 49\.9979 rows") as caught:
        bootstrap(faded, normal)
    assert caught.value.hint.startswith("with decay, give sample_weight=decay**age")
    ages = np.arange(len(normal) - 1, -1, -1)
    assert bootstrap(faded, normal, sample_weight=0.98**ages, n=20).n == 20
    with pytest.raises(ParameterError, match=r"(?s)dense rows.*X\.compute"):
        bootstrap(sp.csr_array(normal), n=10)
    with pytest.raises(ParameterError, match="more than"):
        bootstrap(normal, n=10**8)
    with pytest.raises(ParameterError, match="what='axes' is not valid"):
        bootstrap(normal, n=10).to_frame("axes")
    few = np.array([[1.0, 2], [1, 3], [1, 5], [2, 9]])
    with pytest.raises(ConstantColumnError, match="in a resample") as caught:
        bootstrap(few, n=200, scale="unit")
    assert "fit with constant='zero', or with the fixed divisors" in caught.value.hint
    assert bootstrap(few, n=200, scale="unit", constant="zero").n == 200


def test_a_far_row_of_small_weight_makes_no_column_constant(rng):
    X, weights = rng.standard_normal((40, 3)), np.ones(40)
    X[0, 1], weights[0] = 1e9, 1e-20
    model = PCA(2, scale="unit").fit(X, sample_weight=weights)
    found = bootstrap(model, X, sample_weight=weights, n=20)
    # The far row is never drawn, and the variances of three standardised columns sum to 3.
    assert (found.variance_interval > 0).all()
    assert (found.variance_interval < 3).all()


@pytest.mark.parametrize("p", [4, 300], ids=["few columns", "many columns"])
def test_a_bootstrap_of_no_components_is_empty(p, rng):
    X = rng.standard_normal((30, p))
    assert bootstrap(PCA(0).fit(X), X, n=5).variance_interval.shape == (2, 0)


@pytest.mark.parametrize("p", [4, 260], ids=["few columns", "many columns"])
def test_sums_of_squares_that_overflow_in_a_resample_are_refused(p, rng):
    """The sum of squares of each column is in range, but not the sum over all columns."""
    X, weights = 4e150 * rng.choice([-1.0, 1.0], (8, p)), np.full(8, 1e6)
    model = PCA(2, svd_solver="lanczos").fit(X, sample_weight=weights)
    with pytest.raises(NotFiniteError, match=r"in a resample.*overflow float64"):
        bootstrap(model, X, sample_weight=weights, n=20)


def test_the_old_order_of_arguments_warns(normal):
    model = PCA(2).fit(normal)
    with pytest.warns(FutureWarning, match=r"now bootstrap\(model, X\)"):
        old = bootstrap(normal, model, n=20)
    np.testing.assert_array_equal(old.angles, bootstrap(model, normal, n=20).angles)
    with pytest.raises(ParameterError, match="none are given"):
        bootstrap(model)


def test_rows_without_weight_are_refused():
    X = np.random.default_rng(0).standard_normal((10, 3))
    with pytest.raises(ShapeError, match="at least 2 rows, and there are 0"):
        bootstrap(PCA(1).fit(X), X, sample_weight=np.zeros(10))


@pytest.mark.parametrize("weight", [1e15, 1e80])
def test_weights_too_large_to_count_are_refused(weight):
    X = np.random.default_rng(0).standard_normal((10, 3))
    with pytest.raises(ParameterError, match="cannot be counted") as caught:
        bootstrap(X, sample_weight=np.full(10, weight))
    assert caught.value.place == {"parameter": "sample_weight"}
    assert bootstrap(X, n=200, sample_weight=np.full(10, 1e12)).n == 200


@pytest.mark.parametrize("scales", [(None, "unit"), ("unit", None)])
def test_a_scale_that_was_set_after_the_fit_is_refused(scales, normal):
    model = PCA(2, scale=scales[0]).fit(normal).set_params(scale=scales[1])
    with pytest.raises(ParameterError, match="was set since"):
        bootstrap(model, normal, n=20)
    assert bootstrap(model.set_params(scale=scales[0]), normal, n=20).n == 20


def test_a_model_of_scikit_learn(normal):
    sklearn_pca = decomposition.PCA(2).fit(normal)
    found = bootstrap(PCA.from_sklearn(sklearn_pca), normal, n=20)
    expected = bootstrap(PCA(2).fit(normal), normal, n=20)
    np.testing.assert_allclose(found.variance_interval, expected.variance_interval, rtol=1e-12)
    with pytest.raises(ParameterError, match="are not the"):
        bootstrap(PCA.from_sklearn(sklearn_pca), normal + 1.0)


def test_old_names_of_arguments_warn(normal):
    model = PCA(2).fit(normal)
    with pytest.warns(FutureWarning, match=r"seed= was renamed to random_state=.*0\.4"):
        old = bootstrap(model, normal, n=20, seed=3)
    new = bootstrap(model, normal, n=20, random_state=3)
    np.testing.assert_array_equal(old.angles, new.angles)
    with pytest.raises(ParameterError, match="are the same argument"):
        bootstrap(model, normal, seed=3, random_state=4)
    weights = np.arange(1.0, len(normal) + 1)
    with pytest.warns(FutureWarning, match="weights= was renamed to sample_weight="):
        old = rows(model, normal, weights=weights, frame="listing")
    new = rows(model, normal, sample_weight=weights, frame="listing")
    np.testing.assert_array_equal(old["contribution_PC1"], new["contribution_PC1"])


def test_rows_that_can_be_read_once_and_covariances_of_unknown_rows_are_refused(normal):
    with pytest.raises(ParameterError, match="a bootstrap reads the rows several times"):
        bootstrap(iter([normal[:100], normal[100:]]), n=5)
    covariance = np.cov(normal.T)
    with pytest.raises(NotAvailableError, match="resamples need the number of rows"):
        bootstrap(PCA.from_covariance(covariance), normal, n=5)
    with pytest.raises(NotAvailableError, match="without a mean"):
        bootstrap(PCA.from_covariance(covariance, n_samples=500), normal, n=5)
    assert "99.5% intervals" in str(bootstrap(normal, n=5, level=0.995))


def test_invalid_arguments_of_a_result_are_refused(normal):
    found = bootstrap(normal, n=5)
    assert found.angle_quantiles(0.5).shape == (4,)
    for call in (lambda: found.to_frame(["a"]), lambda: found.angle_quantiles(2)):
        with pytest.raises(ParameterError):
            call()


@pytest.mark.parametrize("p", [4, 300])
def test_resamples_without_variance_have_no_axis(p):
    two_rows = np.random.default_rng(3).standard_normal((2, p))
    angles = bootstrap(PCA(1).fit(two_rows), two_rows, n=100).angles
    # Half of the resamples have one row, twice.
    assert set(np.round(angles.ravel(), 5)) == {0.0, 90.0}
    assert 25 <= np.count_nonzero(angles > 45.0) <= 75
