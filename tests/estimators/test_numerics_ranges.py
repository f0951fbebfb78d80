"""Extreme input: no spread, few rows, every dtype, very large and very small numbers."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from helpers import EPS, EPS32, aligned, assert_orthonormal, centred, truth
from princomp import PCA
from princomp.errors import ConstantColumnError, NotFiniteError
from princomp.summaries import Columns, Moments, SketchOf

EXACT = ["auto", "full", "covariance_eigh", "row_gram", "lanczos"]
FULL_SPECTRUM = ["auto", "full", "covariance_eigh", "row_gram"]


# ---- no spread --------------------------------------------------------------------------


@pytest.mark.parametrize("solver", [*EXACT, "arpack", "randomized"])
def test_zeros_have_zero_variance_and_orthonormal_axes(solver):
    k = 5 if solver == "arpack" else 6
    model = PCA(k, svd_solver=solver).fit(np.zeros((6, 6)))
    assert (model.explained_variance_ == 0).all()
    assert (model.explained_variance_ratio_ == 0).all()
    assert (model.accumulated_rate_ == 0).all()
    assert model.noise_variance_ == 0
    assert_orthonormal(model.components_)
    assert np.isfinite(model.certificate_.residuals).all()
    assert (model.transform(np.zeros((6, 6))) == 0).all()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", [2, 100, 50_000])
def test_constant_columns_have_variance_zero_exactly(n, dtype, rng):
    constants = np.array([0.1, 1e8 + 0.1, -1 / 3], dtype=dtype)
    X = np.tile(constants, (n, 1))
    for solver in EXACT[:3]:
        model = PCA(min(n, 3), svd_solver=solver).fit(X)
        assert (model.explained_variance_ == 0).all()
        assert (model.mean_ == constants).all()
    mixed = np.column_stack([X, rng.standard_normal((n, 2))]).astype(dtype)
    model = PCA(2).fit(mixed)
    assert (model.var_[:3] == 0).all()
    assert np.abs(model.components_[0, :3]).max() <= EPS


@pytest.mark.parametrize("solver", EXACT)
def test_unit_scale_refuses_a_constant_column_by_name(solver, rng):
    X = rng.standard_normal((30, 4))
    X[:, 2] = 1e8 + 0.1
    with pytest.raises(ValueError, match=r"column 2") as caught:
        PCA(2, scale="unit", svd_solver=solver).fit(X)
    assert caught.value.place == {"column": 2}


# ---- few rows, few columns, few components ---------------------------------------------


@pytest.mark.parametrize("solver", EXACT)
def test_zero_or_one_row_is_refused(solver):
    with pytest.raises(ValueError, match="0 sample"):
        PCA(svd_solver=solver).fit(np.zeros((0, 3)))
    with pytest.raises(ValueError, match="at least 2 rows"):
        PCA(svd_solver=solver).fit(np.ones((1, 3)))
    with pytest.raises(ValueError, match="0 feature"):
        PCA(svd_solver=solver).fit(np.zeros((3, 0)))


@pytest.mark.parametrize("solver", EXACT)
def test_two_rows_have_one_component_with_variance(solver):
    model = PCA(svd_solver=solver).fit([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]])
    assert model.n_components_ == 2
    np.testing.assert_allclose(model.explained_variance_, [4.0, 0.0], rtol=4 * EPS)
    axis = np.array([[0.5**0.5, 0, -(0.5**0.5)]])
    np.testing.assert_allclose(aligned(axis, model.components_[:1]), axis, atol=4 * EPS)
    assert_orthonormal(model.components_)


@pytest.mark.parametrize("solver", EXACT)
def test_one_column_has_one_component(solver, rng):
    X = rng.standard_normal((40, 1)) + 5
    model = PCA(svd_solver=solver).fit(X)
    assert model.components_.tolist() == [[1.0]]
    np.testing.assert_allclose(model.explained_variance_, X.var(ddof=1), rtol=30 * EPS)
    np.testing.assert_allclose(model.transform(X), X - X.mean(), atol=30 * EPS * 5)


@pytest.mark.parametrize("solver", FULL_SPECTRUM)
def test_zero_components_are_accepted(solver, rng):
    X = rng.standard_normal((20, 4)) + 1
    model = PCA(0, svd_solver=solver).fit(X)
    assert model.components_.shape == (0, 4)
    assert model.transform(X).shape == (20, 0)
    np.testing.assert_allclose(model.inverse_transform(np.zeros((3, 0))), [model.mean_] * 3)
    np.testing.assert_allclose(model.noise_variance_, model.total_variance_ / 4)
    np.testing.assert_allclose(model.get_covariance(), np.eye(4) * model.noise_variance_)


@pytest.mark.parametrize("factor", [1e-22, 1e22])
def test_covariances_of_float32_rows_may_leave_their_range(factor, rng):
    X = (rng.standard_normal((50, 3)) * factor).astype(np.float32)
    model = PCA().fit(X)
    covariance, precision = model.get_covariance(), model.get_precision()
    np.testing.assert_allclose(covariance, np.cov(X.T.astype(float)), rtol=1e-4)
    np.testing.assert_allclose(covariance @ precision, np.eye(3), atol=1e-4)


@pytest.mark.parametrize("solver", EXACT)
@pytest.mark.parametrize("shape", [(20, 4), (4, 20)])
def test_too_many_components_are_refused_with_the_range(solver, shape, rng):
    with pytest.raises(ValueError, match=r"n_components=5.*between [01] and .*4") as caught:
        PCA(5, svd_solver=solver).fit(rng.standard_normal(shape))
    assert caught.value.place == {"parameter": "n_components"}
    assert caught.value.hint


# ---- kinds of numbers -------------------------------------------------------------------


KINDS = [np.uint8, np.int8, np.bool_, np.int16, np.uint32, np.int64, np.float16, ">f8", ">f4"]
KINDS += [">i4", np.longdouble]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: str(np.dtype(kind)))
def test_every_numeric_dtype_is_read_exactly(kind, rng):
    whole = rng.integers(0, 2, (60, 4)) if kind is np.bool_ else rng.integers(0, 127, (60, 4))
    X = (whole + 128 if kind is np.uint8 else whole).astype(kind)
    copy = X.copy()
    model = PCA().fit(X)
    wide = X.astype(np.float64)
    tol = 30 * 4 * (EPS32 if kind == ">f4" else EPS)
    np.testing.assert_allclose(model.explained_variance_, truth(wide)[0], rtol=tol)
    scores = model.transform(X)
    assert scores.dtype == model.components_.dtype == ("f4" if kind == ">f4" else "f8")
    wanted = centred(wide) @ model.components_.T
    np.testing.assert_allclose(scores, wanted, atol=tol * 200)
    np.testing.assert_array_equal(X, copy)
    assert X.dtype == kind


@pytest.mark.parametrize("value", [2**53 + 1, -(2**53) - 1, 2**63 - 1])
def test_integers_that_a_double_cannot_hold_are_refused(value):
    X = np.zeros((5, 3), dtype=np.int64)
    X[3, 1] = value
    with pytest.raises(ValueError, match=str(value)) as caught:
        PCA().fit(X)
    assert caught.value.place == {"row": 3, "column": 1}
    X[3, 1] = 2**53 * (1 if value > 0 else -1)
    assert np.isfinite(PCA().fit(X).explained_variance_).all()
    unsigned = np.zeros((5, 3), dtype=np.uint64)
    unsigned[2, 2] = 2**64 - 1
    with pytest.raises(ValueError, match=str(2**64 - 1)):
        PCA().fit(unsigned)


# ---- very large and very small numbers --------------------------------------------------


@pytest.mark.parametrize("factor", [2.0**500, 2.0**-500, 1e150, 1e-150])
@pytest.mark.parametrize("solver", [*EXACT, "randomized"])
@pytest.mark.parametrize("shape", [(50, 6), (6, 50)])
def test_variances_scale_with_the_rows(factor, solver, shape, rng):
    X = rng.standard_normal(shape) * np.linspace(1, 0.2, shape[1])
    plain = PCA(3, svd_solver=solver, random_state=0).fit(X)
    model = PCA(3, svd_solver=solver, random_state=0).fit(X * factor)
    tol = 1e-6 if solver == "randomized" else 1e-12
    scaled = model.explained_variance_ / factor / factor
    np.testing.assert_allclose(scaled, plain.explained_variance_, rtol=tol)
    axes = aligned(plain.components_, model.components_)
    np.testing.assert_allclose(axes, plain.components_, atol=tol)
    scores = model.transform(X * factor) / factor
    np.testing.assert_allclose(np.abs(scores), np.abs(plain.transform(X)), atol=20 * tol)
    np.testing.assert_allclose(model.explained_variance_ratio_, plain.explained_variance_ratio_)
    assert (model.certificate_.residuals < 1e-6).all()
    back = model.inverse_transform(model.transform(X * factor))
    assert np.isfinite(back).all()


@pytest.mark.parametrize(
    ("factor", "weight"),
    [
        (2.0**127, None),
        (3.3e38, 2.0),
        (2.0**-110, None),
        (1.0, 1e80),
        (1.0, 1e200),
        (1e37, 1e74),
    ],
)
@pytest.mark.parametrize("scale", [None, "pareto"])
@pytest.mark.parametrize("solver", [*EXACT, "krylov", "randomized"])
def test_divisors_and_weights_beyond_float32(factor, weight, scale, solver, rng):
    X = rng.standard_normal((400, 20)) * np.geomspace(1, 30, 20)
    X[:, -3:] *= [4, 16, 64]  # separated, so that "randomized" finds them
    X /= np.abs(X).max()
    weights = None if weight is None else np.full(400, weight)
    rows = (X * factor).astype(np.float32)
    model = PCA(3, svd_solver=solver, scale=scale, random_state=0).fit(rows, sample_weight=weights)
    expected = PCA(3, scale=scale).fit(rows.astype(float), sample_weight=weights)
    np.testing.assert_allclose(model.explained_variance_, expected.explained_variance_, rtol=1e-4)


@pytest.mark.parametrize("factor", [1e20, 1e-25])
@pytest.mark.parametrize("solver", [*EXACT, "randomized"])
@pytest.mark.parametrize("shape", [(200, 5), (5, 200)])
def test_float32_squares_neither_overflow_nor_vanish(factor, solver, shape, rng):
    X = (factor * rng.standard_normal(shape)).astype(np.float32)
    model = PCA(3, svd_solver=solver, random_state=0).fit(X)
    np.testing.assert_allclose(model.explained_variance_, truth(X)[0][:3], rtol=1e-4)
    assert (model.certificate_.residuals < 1e-4).all()


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("solver", [*EXACT, "krylov", "randomized", "sketch"])
@pytest.mark.parametrize("shape", [(50, 6), (6, 50)])
def test_sums_of_squares_may_be_as_large_as_float64_allows(shape, solver, center, rng):
    """The total is between 2¹⁰²³ and 2¹⁰²⁴, so the next power of two overflows."""
    X = rng.standard_normal(shape) * np.linspace(1, 0.2, shape[1])
    parameters = {"svd_solver": solver, "center": center, "random_state": 0}
    plain = PCA(3, **parameters).fit(X)
    total = plain.total_variance_ * (shape[0] - 1)
    factor = np.sqrt(0.75 / total) * 2.0**512
    model = PCA(3, **parameters).fit(X * factor)
    scaled = model.explained_variance_ / factor / factor
    tolerance = {"randomized": 1e-6, "sketch": 1e-10}.get(solver, 1e-12)
    np.testing.assert_allclose(scaled, plain.explained_variance_, rtol=tolerance)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("solver", ["lanczos", "krylov"])
def test_products_with_roots_of_weights_beyond_float32(solver, rng):
    """The rows spread over seven decades, so that some of them are far from those that count."""
    X = rng.standard_normal((10, 66)).astype("f4")
    X[rng.integers(0, 10, 4), [13, 15, 44, 57]] = [7e5, 8e6, 2e7, 4e5]
    weights = rng.uniform(1, 4, 10)
    plain, heavy = (
        PCA(svd_solver=solver).fit(X, sample_weight=size * weights) for size in (1.0, 2.0**224)
    )
    assert heavy.certificate_.residuals.max() <= 4 * plain.certificate_.residuals.max()
    share = 1 - 1 / weights.sum()  # variances are divided by the sum of weights minus 1
    first = plain.explained_variance_[0]
    np.testing.assert_allclose(
        heavy.explained_variance_[:9],
        plain.explained_variance_[:9] * share,
        rtol=0,
        atol=1e-5 * first,
    )


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", [Moments, SketchOf(6), Columns])
def test_the_mean_of_heavy_rows_is_accurate_if_light_ones_are_far_away(kind, seed):
    """The shift is between them, very many standard deviations away from the mean."""
    rng = np.random.default_rng(seed)
    light = rng.standard_normal((80, 44)) * 7e3
    weights = np.r_[rng.uniform(1, 4, 400) * 1e82, np.ones(80)]
    found = kind.of(np.vstack([np.zeros((400, 44)), light]), weights)
    expected = light.sum(axis=0) / weights.sum()
    spread = np.sqrt((light**2).sum(axis=0) / weights.sum())
    assert (np.abs(found.mean + found.mean_low - expected) <= 480 * EPS * spread).all()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("small", [1e-157, 1e-170])
@pytest.mark.parametrize("first", [1e-135, 1e-139, 1e-143, 1e-155])
def test_a_small_table_is_refused_where_a_large_one_is(first, small):
    """Squares of 1e-157 lose digits, and those of 1e-170 all; next to 1e-135 none of them count."""
    rows = np.c_[np.tile([1.0, -1.0], 6), np.repeat([3.0, 1.0], 6)] * [first, small]
    if first == 1e-135:
        variances = PCA().fit(rows).explained_variance_
        assert variances[0] == pytest.approx(first**2 * 12 / 11, rel=64 * EPS)
    else:
        with pytest.raises(NotFiniteError, match=r"spread of column [01] is too small"):
            PCA().fit(rows)


def test_squares_beyond_float64_are_refused_with_the_next_step(rng):
    with pytest.raises(ValueError, match=r"overflow float64[\s\S]*divide"):
        PCA().fit(rng.standard_normal((50, 3)) * 1e200)
    with pytest.raises(NotFiniteError, match="overflow float64"):
        PCA.from_covariance(np.eye(2) * 1e300, n_samples=10**10)


@pytest.mark.parametrize("size", [1e-155, 1e-160, 1e-170, 1e-310])
@pytest.mark.parametrize("solver", EXACT)
@pytest.mark.parametrize("shape", [(50, 3), (3, 50), (1400, 100)])
def test_underflowing_squares_are_not_taken_for_constant_columns(size, solver, shape, rng):
    X = rng.standard_normal(shape)
    for scale in (None, "unit"):
        model = PCA(2, svd_solver=solver, scale=scale)
        which = "all columns" if scale is None else "the column"
        with pytest.raises(NotFiniteError, match="column 0 is too small") as caught:
            model.fit(size * X)
        assert f"multiply {which} by" in caught.value.hint
        factor = float(caught.value.hint.rpartition(" ")[2])
        assert model.fit(size * X * factor).explained_variance_.min() > 0.0
    # A small column among others takes part as far as it counts.
    X[:, 1] *= size
    model = PCA(2, svd_solver=solver).fit(X)
    X[:, 1] = 0.0
    expected = PCA(2, svd_solver=solver).fit(X).explained_variance_
    np.testing.assert_allclose(model.explained_variance_, expected, rtol=1e-12)
    with pytest.raises(ConstantColumnError, match="column 1"):
        PCA(2, svd_solver=solver, scale="unit").fit(X)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("size", [1e-163, 5e-163, 1e-162, 2e-162])
@pytest.mark.parametrize("mean", [0.0, 1e-148])
def test_squares_that_all_underflow_are_refused(mean, size, form):
    """Some of them round to zero, and others to the smallest double."""
    for seed in range(20):
        X = mean + size * np.random.default_rng(seed).standard_normal((3, 4))
        for fit in (
            lambda X: PCA().fit(X),
            lambda X: PCA(svd_solver="covariance_eigh").fit(X),
            lambda X: PCA().partial_fit(X),
            lambda X: PCA().partial_fit(X[:1]).partial_fit(X[1:2]).partial_fit(X[2:]),
        ):
            with pytest.raises(NotFiniteError, match="is too small"):
                fit(form(X)).explained_variance_  # noqa: B018 - online models are solved here


@pytest.mark.parametrize("solver", EXACT)
@pytest.mark.parametrize("size", [1e-150, 1e-145])
def test_columns_whose_squares_underflow_are_refused_among_small_ones(size, solver, rng):
    """Their entries in the axes, 1e-12 of the largest, would be zero."""
    row = size * np.array([1.0, 0.3, 1.0, 1e-12])
    X = 1e-160 + np.outer([1.0, -1.0, 0.5, -0.5], row)
    with pytest.raises(NotFiniteError, match=r"column 3 is too small[\s\S]*multiply"):
        PCA(2, svd_solver=solver).fit(X)
    with pytest.raises(NotFiniteError, match="column 3 is too small"):
        _ = PCA(2).partial_fit(X[:1]).partial_fit(X[1:]).components_
    model = PCA(1, svd_solver=solver).fit(np.ldexp(X, 500))
    np.testing.assert_allclose(model.components_[0], row / np.linalg.norm(row), atol=64 * EPS)


@pytest.mark.parametrize(
    "form",
    ["array", "large array", "sparse", pytest.param("tensor", marks=pytest.mark.engines)],
)
def test_scores_are_correct_where_axes_over_scale_overflow_float32(form, rng):
    # Threads share the rows of a large array.
    X = (rng.standard_normal((2**18 if form == "large array" else 300, 3)) * 1e-39).astype("f4")
    model = PCA(3, scale="unit").fit(X)
    if form == "sparse":
        given = sp.csr_array(X)
    elif form == "tensor":
        given = pytest.importorskip("torch").from_numpy(X)
    else:
        given = X
    scores = np.asarray(model.transform(given))
    assert scores.dtype == np.float32
    Z = X.astype("f8")
    expected = (Z - model.mean_) / Z.std(axis=0, ddof=1) @ model.components_.T.astype("f8")
    # The components have float32 precision, as the scores have.
    np.testing.assert_allclose(scores, expected, atol=16 * np.finfo("f4").eps)


def test_scores_that_overflow_are_refused_with_their_row(rng):
    X = (rng.standard_normal((300, 3)) * 1e-39).astype("f4")
    model = PCA(3, scale="unit").fit(X)
    X[7] = 1e3
    with pytest.raises(NotFiniteError, match=r"scores of row 7 overflow float32[\s\S]*float64"):
        model.transform(X)
    assert np.isfinite(model.transform(X.astype("f8"))).all()


def test_rows_with_subnormal_squares_can_be_forgotten(rng):
    """Rounding of such squares is not mistaken for removing rows that were never added."""
    rows, extra = 1e-163 * rng.standard_normal((60, 20)), 3e-161 * rng.standard_normal((60, 20))
    model = PCA(svd_solver="covariance_eigh").partial_fit(rows).partial_fit(extra)
    with pytest.raises(NotFiniteError, match="the spread of column 0 is too small"):
        _ = model.forget(extra).explained_variance_
