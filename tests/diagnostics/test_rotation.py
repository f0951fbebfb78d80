"""Rotations: known answers, answers of R, and general properties."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize_scalar

from princomp import PCA, rotate
from princomp.errors import NotAvailableError, NotNumericError, ParameterError, ShapeError

# R 4.2.2: prcomp(scale. = TRUE), varimax(eps = 1e-16), and the steps of promax (m = 4) on that;
# the columns one after the other. R stops where the criterion rises by less than a unit of
# rounding, which leaves loadings good to about 1e-8.
R_DIGITS = 1e-7
ARRESTS = {
    "varimax": "-0.9389894316, -0.9199628053, -0.0717247746, -0.7266197793, -0.0606670755, "
    "0.1793970959, 0.9699462334, 0.4818648786",
    "promax": "-0.9994999224, -0.9303878102, 0.1230267617, -0.6652638201, -0.2379180331, "
    "0.0188272761, 1.0098195053, 0.3736843504",
    "plain": "-0.9395008612, -0.9182985420, -0.0629280794, -0.7222212222, -0.0521514960, "
    "0.1877303094, 0.9705566422, 0.4884327703",
    "correlations": [0.3579144547],
}
SWISS = {
    "varimax": "-0.6283360389, -0.7833570039, 0.7813405022, 0.9527731360, -0.1678362665, "
    "0.0286408093, 0.5911813078, -0.2159764803, -0.1053154328, -0.1606543949, 0.1432605318, "
    "0.9322803026, 0.2697256433, 0.3435179256, -0.4852096530, 0.0720097781, 0.9594533788, "
    "0.0729942741",
    "promax": "-0.5895531449, -0.7712359396, 0.7025171648, 1.1049478893, 0.1756786052, "
    "0.0981599332, 0.5091629195, -0.3307838688, 0.0142496597, -0.0577273898, 0.0643894591, "
    "0.9427309125, 0.1059061466, 0.1864173839, -0.3356694844, 0.3612675049, 1.0572684832, "
    "0.0477146349",
    "plain": "-0.6360125291, -0.7578124613, 0.7608139679, 0.9603405555, -0.1273382384, "
    "-0.0019699557, 0.5643938251, -0.2487390327, -0.0707807559, -0.1260383426, 0.1260612127, "
    "0.9318143079, 0.3065960080, 0.3770248902, -0.5226518143, 0.0251444827, 0.9680583258, "
    "0.0837450739",
    "correlations": [0.1891833169, 0.5427173387, 0.1638280573],
}


@pytest.fixture(scope="module")
def swiss():
    path = Path(__file__).parents[1] / "references" / "swiss.csv"
    return pd.read_csv(path).select_dtypes("number").to_numpy()


@pytest.fixture
def model(arrests):
    return PCA(2, scale="unit").fit(arrests)


def matched(found, listed):
    """R's loadings with the order and signs of those found."""
    expected = np.array([float(word) for word in listed.split(",")]).reshape(found.shape[::-1]).T
    order = np.abs(found.T @ expected).argmax(axis=1)
    assert sorted(order) == list(range(found.shape[1]))
    expected = expected[:, order]
    return expected * np.sign(np.sum(expected * found, axis=0))


def test_varimax_of_usarrests(model):
    found = rotate(model, "varimax")
    np.testing.assert_allclose(np.abs(found.loadings[0]), [0.93899, 0.06067], atol=5e-6)
    np.testing.assert_allclose(found.sums_of_squares, [2.261153, 1.208853], atol=5e-7)
    np.testing.assert_allclose(found.variances, found.sums_of_squares, rtol=1e-14)
    np.testing.assert_allclose(found.rates, found.variances / 4, rtol=1e-14)


@pytest.mark.parametrize("name", ["arrests", "swiss"])
def test_loadings_are_those_of_r(name, request):
    rows, recorded = request.getfixturevalue(name), {"arrests": ARRESTS, "swiss": SWISS}[name]
    model = PCA(2 if name == "arrests" else 3, scale="unit").fit(rows)
    for kaiser, listed in ((True, "varimax"), (False, "plain")):
        found = rotate(model, "varimax", kaiser=kaiser).loadings
        np.testing.assert_allclose(found, matched(found, recorded[listed]), atol=R_DIGITS)
    oblique = rotate(model, "promax")
    found = oblique.loadings
    np.testing.assert_allclose(found, matched(found, recorded["promax"]), atol=R_DIGITS)
    off = oblique.factor_correlations[np.triu_indices(len(oblique.matrix), 1)]
    np.testing.assert_allclose(
        np.sort(np.abs(off)), np.sort(recorded["correlations"]), atol=R_DIGITS
    )


def criterion(loadings):
    return float(np.sum(np.var(loadings**2, axis=0)))


@pytest.mark.parametrize("kaiser", [True, False])
def test_varimax_finds_the_best_angle(model, kaiser):
    """A rotation of two components is one angle, so the best one can be searched for."""
    found = rotate(model, "varimax", kaiser=kaiser)
    start = model.loadings_
    if kaiser:
        start = start / np.linalg.norm(start, axis=1, keepdims=True)

    def negative_criterion(angle):
        c, s = np.cos(angle), np.sin(angle)
        return -criterion(start @ np.array([[c, -s], [s, c]]))

    best = min(
        minimize_scalar(
            negative_criterion, bounds=(a, a + 0.5), method="bounded", options={"xatol": 1e-12}
        ).fun
        for a in np.arange(0, np.pi / 2, 0.4)
    )
    assert criterion(start @ found.matrix) == pytest.approx(-best, rel=1e-12)


@pytest.mark.parametrize("method", ["varimax", "promax"])
@pytest.mark.parametrize("whiten", [False, True])
@pytest.mark.parametrize("scale", [None, "unit"])
def test_scores_and_loadings_belong_together(method, whiten, scale, rng):
    X = rng.standard_normal((300, 3)) @ rng.standard_normal((3, 7)) + rng.standard_normal((300, 7))
    model = PCA(3, scale=scale, whiten=whiten).fit(X)
    found = rotate(model, method)
    scores = found.transform(X)
    np.testing.assert_allclose(np.corrcoef(scores.T), found.factor_correlations, atol=1e-12)
    np.testing.assert_allclose(np.cov(scores.T), found.factor_correlations, atol=1e-12)
    np.testing.assert_allclose(model.loadings_ @ found.matrix, found.loadings, atol=1e-13)
    # A rotation does not change the fitted rows.
    fit = model.inverse_transform(model.transform(X))
    np.testing.assert_allclose(found.inverse_transform(scores), fit, atol=1e-10)
    masked = np.ma.array(scores, mask=np.eye(*scores.shape))
    rows = found.inverse_transform(masked)
    np.testing.assert_array_equal(np.isnan(rows[:, 0]), masked.mask.any(axis=1))
    s = 1.0 if scale is None else model.scale_
    np.testing.assert_allclose(scores @ found.loadings.T * s + model.mean_, fit, atol=1e-10)
    assert found.variances.sum() == pytest.approx(model.explained_variance_.sum(), rel=1e-12)
    assert (np.diff(found.variances) <= 0).all()
    structure = (X - X.mean(axis=0)).T / np.reshape(s, (-1, 1)) @ scores / 299
    np.testing.assert_allclose(found.structure, structure, atol=1e-10)
    if method == "varimax":
        np.testing.assert_allclose(found.matrix @ found.matrix.T, np.eye(3), atol=1e-12)
    assert (found.loadings.sum(axis=0) > 0).all()


def test_signs_and_order_do_not_depend_on_those_of_the_model(arrests):
    one = rotate(PCA(3, scale="unit").fit(arrests))
    other = rotate(PCA(3, scale="unit").fit(arrests[::-1, ::-1]))
    np.testing.assert_allclose(one.loadings, other.loadings[::-1], atol=1e-9)
    again = rotate(PCA(3, scale="unit").fit(arrests))
    assert (again.loadings == one.loadings).all()


@pytest.mark.parametrize("seed", range(12))
def test_varimax_and_promax_have_equal_signs_although_some_columns_are_reversed(seed):
    rng = np.random.default_rng(seed)
    pattern = np.zeros((4, 14))
    for j in range(14):
        pattern[j % 4, j] = rng.uniform(0.6, 0.8) * (-1 if j in (3, 6, 9) else 1)
    X = rng.standard_normal((200, 4)) @ pattern + 0.7 * rng.standard_normal((200, 14))
    model = PCA(4, scale="unit").fit(X)
    found, oblique = rotate(model, "varimax"), rotate(model, "promax")
    inner = found.loadings.T @ oblique.loadings
    nearest = np.abs(inner).argmax(axis=1)
    assert (inner[np.arange(4), nearest] > 0).all()


def test_a_sum_of_loadings_that_is_zero_leaves_the_sign_to_the_largest_entry():
    x = np.random.default_rng(0).standard_normal(50)
    for signs in ([1.0, -1.0], [-1.0, 1.0]):
        assert rotate(PCA(1).fit(np.outer(x, signs))).loadings[0, 0] > 0


def test_rotating_all_components_causes_a_warning(arrests):
    with pytest.warns(UserWarning, match=r"all 4 components .* single column: fit with a smaller"):
        found = rotate(PCA(scale="unit").fit(arrests))
    assert sorted(np.abs(found.loadings).argmax(axis=1)) == [0, 1, 2, 3]
    rotate(PCA(3, scale="unit").fit(arrests))  # no warning


def test_rotations_of_an_uncentred_fit_are_about_zero_which_a_warning_says(arrests):
    model = PCA(2, center=False).fit(arrests)
    with pytest.warns(UserWarning, match="center=False: rotated scores have mean squares of 1"):
        found = rotate(model)
    scores = found.transform(arrests)
    products = scores.T @ scores / (len(arrests) - 1.0)
    np.testing.assert_allclose(products, found.factor_correlations, atol=1e-12)
    assert abs(np.corrcoef(scores.T)[0, 1]) > 0.3


def test_one_component_stays_and_a_column_without_loadings_too(arrests):
    one = rotate(PCA(1).fit(arrests), "promax")
    np.testing.assert_allclose(one.loadings, PCA(1).fit(arrests).loadings_, rtol=1e-12)
    assert one.factor_correlations.tolist() == [[1.0]]
    with_constant = np.column_stack([arrests, np.ones(50)])
    found = rotate(PCA(2).fit(with_constant))
    assert found.loadings[4].tolist() == [0, 0]
    assert np.isfinite(found.loadings).all()


@pytest.mark.parametrize("shape", [(40, 6), (40, 60)])
def test_rounding_in_a_constant_column_does_not_rotate(shape, rng):
    X = rng.standard_normal((40, 2)) @ rng.standard_normal((2, shape[1]))
    X += 0.3 * rng.standard_normal(shape)
    X[:, 2] = 0.1
    found = rotate(PCA(2, svd_solver="full").fit(X)).loadings
    loadings = PCA(2, svd_solver="covariance_eigh").fit(X).loadings_  # zero in that column
    assert not loadings[2].any()
    model = PCA.from_summary(PCA(svd_solver="covariance_eigh").fit(X).summary_, n_components=2)
    np.testing.assert_allclose(found, rotate(model).loadings, atol=1e-9)


@pytest.mark.parametrize("method", ["varimax", "promax"])
@pytest.mark.parametrize("kaiser", [True, False])
def test_a_dropped_column_does_not_rotate(method, kaiser, arrests):
    X = np.column_stack([np.ones(len(arrests)), arrests])
    dropped = rotate(PCA(2, scale="unit", constant="drop").fit(X), method, kaiser=kaiser)
    without = rotate(PCA(2, scale="unit").fit(arrests), method, kaiser=kaiser)
    np.testing.assert_allclose(dropped.loadings[1:], without.loadings, atol=1e-12)


def test_a_rotation_keeps_the_fit_that_was_rotated(arrests):
    model = PCA(2).fit(arrests[:25])
    found = rotate(model)
    scores = found.transform(arrests)
    model.partial_fit(arrests[25:]).set_params(whiten=True)
    np.testing.assert_array_equal(found.transform(arrests), scores)
    assert found.n_samples_ == 25


def test_frames_and_dicts_of_a_rotation(arrests):
    frame = pd.DataFrame(arrests, columns=["Murder", "Assault", "UrbanPop", "Rape"])
    found = rotate(PCA(2, scale="unit").fit(frame), "promax")
    assert list(found.to_frame().index) == list(frame.columns)
    assert list(found.to_frame().columns) == ["RC1", "RC2"]
    document = json.loads(json.dumps(found.to_dict()))
    assert document["columns"] == list(frame.columns)
    np.testing.assert_array_equal(document["loadings"], found.loadings)
    assert "promax" in str(found)
    assert found.transform(frame).shape == (50, 2)


def test_varimax_ignores_the_power_with_a_warning(model):
    with pytest.warns(UserWarning, match="power=3 has no effect with method='varimax'") as caught:
        found = rotate(model, "varimax", power=3)
    assert caught[0].filename == __file__
    np.testing.assert_array_equal(found.loadings, rotate(model, "varimax").loadings)


def test_invalid_arguments_are_refused(model, arrests):
    for change, word in (
        ({"method": "quartimax"}, "method"),
        ({"kaiser": 1}, "kaiser"),
        ({"method": "promax", "power": 1}, "power"),
    ):
        with pytest.raises(ParameterError) as caught:
            rotate(model, **change)
        assert caught.value.place == {"parameter": word}
        assert caught.value.hint
    for rows in (arrests, pd.DataFrame(arrests), [1]):
        with pytest.raises(ParameterError, match="method must be 'varimax' or 'promax'"):
            rotate(model, rows)
    with pytest.raises(ParameterError, match="PCA is needed, got ndarray"):
        rotate(arrests)
    with pytest.raises(ShapeError, match="no components"):
        rotate(PCA(0).fit(arrests))
    flat = np.column_stack([arrests, arrests[:, 0]])
    with pytest.raises(NotAvailableError, match="component 5 has no variance") as caught:
        rotate(PCA(5).fit(flat))
    assert caught.value.place == {"parameter": "model", "component": 5}
    assert caught.value.hint == "use model.truncated(4), or fit with n_components=4"
    with pytest.raises(ShapeError, match="2 components"):
        rotate(model).inverse_transform(np.ones((3, 3)))


def test_promax_of_a_large_power_is_finite(arrests):
    for model in (PCA(2, scale="unit").fit(arrests), PCA(2).fit(1e3 * arrests)):
        found = rotate(model, "promax", power=1e4)
        assert np.isfinite(found.loadings).all()
    with pytest.raises(NotNumericError, match="not numbers"):
        found.inverse_transform([["a", "b"]])
