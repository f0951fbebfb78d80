"""Pre-images by iteration and by distances."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings, strategies as st
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from spaces import expansion_of

from princomp import KernelPCA
from princomp.errors import DataError, ParameterError
from princomp.kernel_pca.functions import KernelFunction
from princomp.kernel_pca.median import median_gamma
from princomp.kernel_pca.parameters import KernelParameters
from princomp.kernel_pca.pre_images.distances import Distances
from princomp.kernel_pca.pre_images.fixed_point import FixedPoint, objective_for
from princomp.kernel_pca.pre_images.linear import Linear
from princomp.kernel_pca.pre_images.methods import METHODS, check_method, pre_images
from princomp.kernel_pca.pre_images.pre_image import Nearest

BOTH_METHODS = pytest.mark.parametrize("method", [FixedPoint, Distances])


def table(n=120, p=5, offset=3.0, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, p)) * np.linspace(2, 0.5, p) + offset


def inverse_by(method, space, **options):
    return pre_images(space, KernelParameters.of(KernelPCA(pre_image=method, **options)))


def squared_distances(space, scores, rows):
    """‖φ(z) − P‖² (n,)."""
    own = space.scores(rows)
    return ((scores - own) ** 2).sum(axis=1) + space.squared_norms(rows) - (own**2).sum(axis=1)


# ---- known answers -------------------------------------------------------------------------


@BOTH_METHODS
@pytest.mark.parametrize("offset", [0.0, 1e4])
@pytest.mark.parametrize("gamma", [0.02, 0.3])
def test_rbf_with_all_components_recovers_the_rows(method, gamma, offset):
    rows = table(offset=offset)
    space = expansion_of(KernelFunction("rbf", gamma), rows)
    back = method(space).rows(space.scores(rows))
    # Squared distances are good to some units, those of rows to as many over γ.
    assert np.abs(back - rows).max() <= 1e-7 + 1e-15 * offset


@BOTH_METHODS
@pytest.mark.parametrize(("degree", "coef0"), [(3, 1.0), (3, 0.0), (1, 2.0)])
def test_polynomial_with_all_components_recovers_the_rows(method, degree, coef0):
    rows = table(offset=1.0)
    space = expansion_of(KernelFunction("poly", 0.2, degree, coef0), rows)
    back = method(space).rows(space.scores(rows))
    assert np.abs(back - rows).max() <= 1e-7


def test_even_degrees_are_inverted_by_iteration():
    rows = table(offset=1.0)
    space = expansion_of(KernelFunction("poly", 0.2, 2, 1.0), rows)
    assert np.abs(FixedPoint(space).rows(space.scores(rows)) - rows).max() <= 1e-7


@BOTH_METHODS
def test_new_rows_are_recovered_where_the_space_is_full(method):
    # Degree 1 has p axes and no more: every row's image lies in their span.
    rows, new = table(), table(20, seed=7)
    space = expansion_of(KernelFunction("poly", 0.5, 1, 1.0), rows)
    assert np.abs(method(space, 20).rows(space.scores(new)) - new).max() <= 1e-4


@pytest.mark.parametrize("method", METHODS)
def test_the_linear_kernel_is_inverted_exactly_by_every_method(method):
    rows = table(60, 8)
    space = expansion_of(KernelFunction("linear"), rows, 3)
    back = inverse_by(method, space).rows(space.scores(rows))
    pca = PCA(3).fit(rows)
    assert np.abs(back - pca.inverse_transform(pca.transform(rows))).max() <= 1e-10


@pytest.mark.parametrize("jitter", [0.0, 1e-16, 1e-12])
@pytest.mark.parametrize("kernel", ["rbf", "poly"])
def test_pre_images_between_equal_neighbours_are_their_mean(kernel, jitter):
    # All ten neighbours are copies of one row, up to rounding: no direction is known.
    rng = np.random.default_rng(0)
    distinct = rng.standard_normal((30, 4))
    rows = np.repeat(distinct, 11, axis=0)
    rows += jitter * rng.standard_normal(rows.shape)
    space = expansion_of(KernelFunction(kernel, 0.2), rows, 5)
    back = Distances(space).rows(space.scores(rng.standard_normal((20, 4))))
    gaps = np.linalg.norm(back[:, None] - distinct, axis=2).min(axis=1)
    assert gaps.max() <= 1e-15 + 10 * jitter


@pytest.mark.parametrize("gamma", [1e-6, 0.08])
def test_pre_images_are_within_the_largest_distance_of_the_mean(gamma):
    # Columns in units 1 to 10⁴: the distances to neighbours fit no point of their span.
    rows = table(100, 8, 0.0) * np.logspace(0, 4, 8)
    space = expansion_of(KernelFunction("rbf", gamma), rows, 2)
    finder, scores = Distances(space), space.scores(rows)
    means = rows[finder.find(scores)[0]].mean(axis=1)
    # The smallest similarity that is inverted is ε.
    farthest = np.sqrt(-np.log(np.finfo(float).eps) / gamma)
    assert np.linalg.norm(finder.rows(scores) - means, axis=1).max() <= farthest * (1 + 1e-9)


def test_one_iteration_matches_the_formula():
    rows = table(40, 3, 0.0)
    space = expansion_of(KernelFunction("rbf", 0.2), rows, 2)
    scores = space.scores(rows[:5])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        start = FixedPoint(space, 1, max_iter=0).rows(scores)
        after = FixedPoint(space, 1, max_iter=1, tol=0).rows(scores)
    shares = space.coefficients(scores)
    weights = shares * np.exp(-0.2 * ((start[:, None] - rows) ** 2).sum(axis=2))
    mean = weights @ rows / weights.sum(axis=1)[:, None]
    # A step that would increase the distance is rejected; here all steps are accepted.
    assert np.abs(after - mean).max() < 1e-12


def test_the_distance_is_stationary_at_the_result():
    rows = table(80, 3)
    space = expansion_of(KernelFunction("rbf", 0.1), rows, 3)
    scores = space.scores(rows)
    back = FixedPoint(space, tol=1e-7, max_iter=2000).rows(scores)
    h = 1e-4
    for column in range(3):
        up, down = back.copy(), back.copy()
        up[:, column] += h
        down[:, column] -= h
        rise = squared_distances(space, scores, up) - squared_distances(space, scores, down)
        assert np.abs(rise / (2 * h)).max() < 1e-6
        # No saddle, but for rounding, and a minimum for nearly all.
        middle = squared_distances(space, scores, back)
        both = (squared_distances(space, scores, up) + squared_distances(space, scores, down)) / 2
        assert (both > middle - 1e-12).all()


def test_nearest_points_are_those_of_the_feature_space():
    rows = table(50, 3)
    rows[30:33] = rows[0]
    space = expansion_of(KernelFunction("rbf", 0.3), rows, 4)
    scores = np.concatenate([space.scores(table(20, 3, seed=3)), space.scores(rows[:1])])
    shares = space.coefficients(scores)
    matrix = np.exp(-0.3 * ((rows[:, None] - rows) ** 2).sum(axis=2))
    own = np.einsum("ni,ij,nj->n", shares, matrix, shares)
    direct = own[:, None] + 1.0 - 2 * shares @ matrix
    found, squares = Nearest(space, 6).find(scores)
    assert np.abs(squares - np.sort(direct, axis=1)[:, :6]).max() < 1e-12
    assert np.abs(squares - np.take_along_axis(direct, found, 1)).max() < 1e-12
    # Four rows are equally far: the first of them comes first.
    at = found[-1].tolist()
    assert [row for row in at if row in (0, 30, 31, 32)] == [0, 30, 31, 32]


def test_the_start_is_not_a_mean_of_distant_points():
    # Nothing lies between the two clusters: the start is a point of one of them.
    rng = np.random.default_rng(0)
    rows = np.concatenate([rng.standard_normal((10, 2)), 50 + rng.standard_normal((3, 2))])
    space = expansion_of(KernelFunction("rbf", 0.5), rows, 2)
    scores = space.scores(rows)
    start = FixedPoint(space, 13, max_iter=0)
    with pytest.warns(ConvergenceWarning):
        begun = start.rows(scores)
    first = Nearest(space, 1).find(scores)[0][:, 0]
    assert (
        squared_distances(space, scores, begun)
        <= squared_distances(space, scores, rows[first]) + 1e-12
    ).all()
    assert np.abs(FixedPoint(space, 13).rows(scores[10:]) - rows[10:]).max() < 3


@pytest.mark.parametrize(("kernel", "degree"), [("rbf", 3), ("poly", 2), ("poly", 3)])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_direction_is_downhill_for_any_weights(kernel, degree, sign):
    rng = np.random.default_rng(5)
    points, at = rng.standard_normal((20, 3)), rng.standard_normal((50, 3))
    shares = sign * rng.random((50, 20))
    objective = objective_for(KernelFunction(kernel, 0.2, degree), points)
    value, direction, _ = objective(shares, at)
    assert (objective(shares, at + 1e-5 * direction)[0] < value).all()
    # Steps stay below twenty times the size of the points, even if weights nearly cancel.
    if kernel == "rbf":
        balanced = rng.standard_normal((2000, 20))
        _, direction, _ = objective(balanced, np.zeros((2000, 3)))
        assert np.linalg.norm(direction, axis=1).max() < 20 * np.linalg.norm(points, axis=1).max()


# ---- properties ----------------------------------------------------------------------------


@settings(max_examples=25)
@given(
    seed=st.integers(0, 2**16),
    gamma=st.sampled_from([1e-3, 0.1, 1.0, 30.0]),
    kernel=st.sampled_from(["rbf", "poly"]),
    degree=st.sampled_from([1, 2, 3, 4]),
    k=st.integers(1, 6),
    size=st.sampled_from([0.1, 1.0, 5.0]),
)
def test_the_distance_never_rises_and_nothing_is_nan(seed, gamma, kernel, degree, k, size):
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((25, 3)) * [2, 1, 0.5]
    rows[20:] = rows[0]
    space = expansion_of(KernelFunction(kernel, gamma, degree), rows, k)
    # Scores of rows, and such as no row has: larger ones, and at random.
    scores = np.concatenate([space.scores(rows[:8]) * size, rng.standard_normal((5, space.k))])
    before = np.full(len(scores), np.inf)
    unit = 1e-13 * (1 + (scores**2).sum(axis=1) + np.abs(space.function.diagonal(rows)).max())
    for steps in (0, 1, 2, 5, 20):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            back = FixedPoint(space, 3, max_iter=steps).rows(scores)
        assert np.isfinite(back).all()
        now = squared_distances(space, scores, back)
        assert (now <= before + unit + 1e-9 * np.abs(now)).all()
        before = now
    if kernel == "rbf" or degree % 2:
        assert np.isfinite(Distances(space, 4).rows(scores)).all()


@BOTH_METHODS
def test_each_row_is_inverted_independently(method):
    rows = table(700, 4)
    space = expansion_of(KernelFunction("rbf", 0.1), rows, 4)
    scores = space.scores(rows)
    whole = method(space).rows(scores)
    for row in (0, 333, 699):
        # Products of other shapes differ in rounding, and steps by the tolerance with it.
        assert np.abs(method(space).rows(scores[row : row + 1]) - whole[row]).max() < 1e-3


@BOTH_METHODS
def test_float32_is_kept(method):
    rows = table().astype(np.float32)
    space = expansion_of(KernelFunction("rbf", 0.1), rows, 10)
    back = method(space).rows(space.scores(rows))
    assert back.dtype == np.float32
    wide = expansion_of(KernelFunction("rbf", 0.1), rows.astype(np.float64), 10)
    apart = back - method(wide).rows(wide.scores(rows.astype(np.float64)))
    assert np.sqrt((apart**2).mean()) < 1e-3


@pytest.mark.parametrize("method", METHODS)
def test_whole_numbers_as_scores_give_float64(method):
    model = KernelPCA(2, kernel="rbf", pre_image=method).fit(table(30).astype(np.float32))
    assert model.inverse_transform(np.array([[0, 1]])).dtype == np.float64


@BOTH_METHODS
def test_duplicates_and_few_points_are_harmless(method):
    rows = np.repeat(table(4, 3), 5, axis=0)
    space = expansion_of(KernelFunction("rbf", 0.3), rows)
    for count in (1, 3, 5, 20, 1000):
        back = method(space, count).rows(space.scores(rows))
        assert np.abs(back - rows).max() < 1e-6


def test_the_share_that_did_not_converge_is_reported():
    rows = table()
    space = expansion_of(KernelFunction("rbf", 0.05), rows, 2)
    scores = space.scores(rows)
    with pytest.warns(ConvergenceWarning, match=r"of 120 pre-images \(\d+\.\d%\) still moved"):
        FixedPoint(space, max_iter=1).rows(scores)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        FixedPoint(space).rows(scores)


# ---- refusals ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "kernel", "degree", "others"),
    [
        ("distance", "poly", 2, "'ridge' or 'fixed_point'"),
        ("distance", "poly", 2.5, "fixed_point"),
        ("distance", "cosine", 3, "'ridge'"),
        ("fixed_point", "cosine", 3, "'ridge'"),
        ("fixed_point", "sigmoid", 3, "'ridge'"),
        ("fixed_point", "laplacian", 3, "'ridge'"),
        ("fixed_point", "callable", 3, "'ridge'"),
        ("ridge", "precomputed", 3, "leave pre_image out"),
        *((method, "chi2", 3, "leave pre_image out") for method in METHODS),
        *((method, "additive_chi2", 3, "leave pre_image out") for method in METHODS),
    ],
)
def test_methods_unsupported_by_a_kernel_are_refused(method, kernel, degree, others):
    with pytest.raises(ParameterError, match="it works for") as caught:
        check_method(method, KernelFunction(kernel, 1.0, degree))
    assert others in caught.value.hint
    assert caught.value.place == {"parameter": "pre_image"}


@pytest.mark.parametrize("kernel", ["rbf", "poly"])
def test_distances_need_a_gamma_above_zero(kernel):
    with pytest.raises(ParameterError, match="gamma above zero"):
        check_method("distance", KernelFunction(kernel, 0.0, 3))


@pytest.mark.parametrize("method", METHODS)
def test_sparse_rows_are_refused(method):
    rows = table(30)
    space = expansion_of(KernelFunction("rbf", 0.1), sp.csr_array(rows), 2)
    with pytest.raises(DataError, match="dense rows"):
        inverse_by(method, space)


def test_every_method_name_selects_its_class():
    space = expansion_of(KernelFunction("rbf", median_gamma(table())), table(), 2)
    made = [inverse_by(method, space, n_neighbors=7) for method in METHODS]
    assert [type(each).__name__ for each in made] == ["Ridge", "FixedPoint", "Distances"]
    assert made[1].n_neighbors == made[2].n_neighbors == 7
    linear = expansion_of(KernelFunction("linear"), table(), 2)
    assert isinstance(inverse_by("distance", linear), Linear)
