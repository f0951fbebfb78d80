"""Published numbers: of R's prcomp, of examples of pca(), and of scikit-learn's documentation."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris

from helpers import aligned
from princomp import PCA, pca

ROUTES = ["auto", "full", "covariance_eigh", "row_gram", "lanczos"]
every_route = pytest.mark.parametrize("solver", ROUTES)

# R 4.2.2: prcomp(swiss, scale. = TRUE)
SWISS = """80.2 17 15 12 9.96 22.2;83.1 45.1 6 9 84.84 22.2;92.5 39.7 5 5 93.4 20.2
85.8 36.5 12 7 33.77 20.3;76.9 43.5 17 15 5.16 20.6;76.1 35.3 9 7 90.57 26.6
83.8 70.2 16 7 92.85 23.6;92.4 67.8 14 8 97.16 24.9;82.4 53.3 12 7 97.67 21
82.9 45.2 16 13 91.38 24.4;87.1 64.5 14 6 98.61 24.5;64.1 62 21 12 8.52 16.5
66.9 67.5 14 7 2.27 19.1;68.9 60.7 19 12 4.43 22.7;61.7 69.3 22 5 2.82 18.7
68.3 72.6 18 2 24.2 21.2;71.7 34 17 8 3.3 20;55.7 19.4 26 28 12.11 20.2
54.3 15.2 31 20 2.15 10.8;65.1 73 19 9 2.84 20;65.5 59.8 22 10 5.23 18
65 55.1 14 3 4.52 22.4;56.6 50.9 22 12 15.14 16.7;57.4 54.1 20 6 4.2 15.3
72.5 71.2 12 1 2.4 21;74.2 58.1 14 8 5.23 23.8;72 63.5 6 3 2.56 18
60.5 60.8 16 10 7.72 16.3;58.3 26.8 25 19 18.46 20.9;65.4 49.5 15 8 6.1 22.5
75.5 85.9 3 2 99.71 15.1;69.3 84.9 7 6 99.68 19.8;77.3 89.7 5 2 100 18.3
70.5 78.2 12 6 98.96 19.4;79.4 64.9 7 3 98.22 20.2;65 75.9 9 9 99.06 17.8
92.2 84.6 3 3 99.46 16.3;79.3 63.1 13 13 96.83 18.1;70.4 38.4 26 12 5.62 20.3
65.7 7.7 29 11 13.79 20.5;72.7 16.7 22 13 11.22 18.9;64.4 17.6 35 32 16.92 23
77.6 37.6 15 7 4.97 20;67.6 18.7 25 7 8.65 19.5;35 1.2 37 53 42.34 18
44.7 46.6 16 29 50.43 18.2;42.8 27.7 22 29 58.33 19.3"""
SWISS_VARIANCES = [3.199756999, 1.188308249, 0.8476098128, 0.4389286811, 0.2045337035, 0.1208625548]
SWISS_AXES = [
    [0.4569876094, 0.4242140776, 0.5097327484, 0.4543119039, 0.3501111412, 0.1496667940],
    [0.3220283590, 0.4115131881, 0.1250167332, 0.1790494896, 0.1458730214, 0.8111644657],
]
# R 4.2.2: prcomp(longley), nearly collinear columns
LONGLEY = """83 234.289 235.6 159 107.608 1947 60.323;88.5 259.426 232.5 145.6 108.632 1948 61.122
88.2 258.054 368.2 161.6 109.773 1949 60.171;89.5 284.599 335.1 165 110.929 1950 61.187
96.2 328.975 209.9 309.9 112.075 1951 63.221;98.1 346.999 193.2 359.4 113.27 1952 63.639
99 365.385 187 354.7 115.094 1953 64.989;100 363.112 357.8 335 116.219 1954 63.761
101.2 397.469 290.4 304.8 117.388 1955 66.019;104.6 419.18 282.2 285.7 118.734 1956 67.857
108.4 442.769 293.6 279.8 120.445 1957 68.169;110.8 444.546 468.1 263.7 121.95 1958 66.513
112.6 482.704 381.3 255.2 123.366 1959 68.655;114.2 502.601 393.1 251.4 125.368 1960 69.564
115.7 518.173 480.6 257.2 127.852 1961 69.331;116.9 554.894 400.7 282.7 130.081 1962 70.551"""
LONGLEY_VARIANCES = [15368.19476, 7078.799471, 1205.491588, 1.645779728, 0.2352773939]
LONGLEY_VARIANCES += [0.09817097722, 0.009428973923]


def table(text):
    return np.array([row.split() for row in text.replace("\n", ";").split(";")], dtype=float)


@every_route
def test_usarrests_of_unit_scale(solver, arrests):
    model = PCA(4, scale="unit", svd_solver=solver).fit(arrests)
    sdev = [1.5748783, 0.9948694, 0.5971291, 0.4164494]
    np.testing.assert_allclose(np.sqrt(model.explained_variance_), sdev, atol=5e-8)
    variances = [2.4802416, 0.9897652, 0.3565632, 0.1734301]
    np.testing.assert_allclose(model.explained_variance_, variances, atol=5e-8)
    ratios = [0.62006039, 0.24744129, 0.08914080, 0.04335752]
    np.testing.assert_allclose(model.explained_variance_ratio_, ratios, atol=5e-9)
    columns = [
        [0.5358995, 0.4181809, 0.3412327, 0.6492278],
        [0.5831836, 0.1879856, 0.2681484, 0.7434075],
        [0.2781909, 0.8728062, 0.3780158, 0.1338777],
        [0.5434321, 0.1673186, 0.8177779, 0.0890243],
    ]
    np.testing.assert_allclose(np.abs(model.components_.T), columns, atol=5e-8)
    scores = [  # R 4.2.2: Alabama, Alaska, Arizona
        [0.9756604483, 1.1220012104, 0.4398036613, 0.1546965810],
        [1.9305378785, 1.0624269195, 2.0195002665, 0.4341754543],
        [1.7454428534, 0.7384595373, 0.0542302493, 0.8262642398],
    ]
    np.testing.assert_allclose(np.abs(model.transform(arrests)[:3]), scores, atol=5e-10)


@every_route
def test_the_variances_of_unscaled_usarrests_are_the_published_ones(solver, arrests):
    model = PCA(4, svd_solver=solver).fit(arrests)
    variances = [7011.114851, 201.992366, 42.112651, 6.164246]
    np.testing.assert_allclose(model.explained_variance_, variances, atol=5e-7)


def test_a_fraction_of_0_8_keeps_two_components_of_usarrests(arrests):
    assert PCA(0.8, scale="unit").fit(arrests).n_components_ == 2


@every_route
def test_the_variances_and_first_axis_of_iris_are_the_published_ones(solver):
    model = PCA(4, svd_solver=solver).fit(load_iris().data)
    variances = [4.228241706, 0.242670748, 0.078209500, 0.023835093]
    np.testing.assert_allclose(model.explained_variance_, variances, atol=5e-10)
    axis = [0.361386592, -0.084522514, 0.856670606, 0.358289197]
    np.testing.assert_allclose(model.components_[0], axis, atol=5e-10)


@every_route
def test_the_variances_and_axes_of_swiss_are_the_published_ones(solver):
    model = PCA(6, scale="unit", svd_solver=solver).fit(table(SWISS))
    np.testing.assert_allclose(model.explained_variance_, SWISS_VARIANCES, rtol=2e-9)
    np.testing.assert_allclose(np.abs(model.components_[:2]), SWISS_AXES, atol=5e-10)


@every_route
def test_the_variances_of_longley_are_the_published_ones(solver):
    model = PCA(7, svd_solver=solver).fit(table(LONGLEY))
    np.testing.assert_allclose(model.explained_variance_, LONGLEY_VARIANCES, rtol=1e-9)


@every_route
def test_the_example_of_scikit_learn(solver):
    X = np.array([[-1, -1], [-2, -1], [-3, -2], [1, 1], [2, 1], [3, 2]])
    model = PCA(2, svd_solver=solver).fit(X)
    ratios = [0.99244289, 0.00755711]
    np.testing.assert_allclose(model.explained_variance_ratio_, ratios, atol=5e-9)
    np.testing.assert_allclose(model.singular_values_, [6.30061232, 0.54980396], atol=5e-9)


# ---- published examples of pca(X, threshold, method) -----------------------------------------

ED_ROWS = table("""\
0.1554 0.3073 0.3519 0.2276 0.2996 0.1606;0.2149 0.3548 0.3439 0.1938 0.2613 0.2359
0.1155 0.2791 0.3253 0.1484 0.3288 0.2993;0.1271 0.1632 0.1582 0.1536 0.3300 0.3363
0.2251 0.2352 0.2583 0.2269 0.3116 0.2623;0.1196 0.0923 0.0868 0.1283 0.1301 0.3860""")
ED_SCORES = table(
    "-1.9590 0.1846;-1.6189 -0.5739;0.0392 1.4935;1.3452 0.7089;-1.1598 -0.9971;3.3532 -0.8160"
)
SVD_ROWS = table("""\
0.0558 0.1853 0.2894 0.1098 0.2582 0.1973;0.2614 0.3549 0.2800 0.2684 0.4145 0.2685
0.1207 0.1504 0.1334 0.3646 0.1669 0.2846;0.1669 0.2703 0.1184 0.3008 0.3767 0.1762
0.2044 0.2599 0.3797 0.1571 0.3134 0.3169;0.3228 0.2217 0.1313 0.2107 0.2329 0.2079""")
SVD_SCORES = table("""-0.7686 -1.6490 1.4424 -0.1720;2.1614 0.6757 -0.4007 -0.3613
-2.1953 0.1447 -1.3954 -0.5224;-0.0138 1.5043 0.9937 -0.7263;1.2768 -1.5546 -0.7885 0.1798
-0.4604 0.8790 0.1485 1.6022""")
PYTHON_ROWS = table("""2.5 3.1 1.2 0.7 4.5 3.3;3.5 4.2 1.8 1.1 5.1 4.0;2.8 3.6 1.5 0.9 4.8 3.7
3.2 4.0 1.7 1.0 5.0 3.9;2.9 3.4 1.3 0.8 4.6 3.5;3.0 3.8 1.6 0.9 4.9 3.8""")
PYTHON_SCORES = [3.81991318, -3.48484904, 0.38930715, -2.00373791, 1.92783747, -0.64847085]

every_method = pytest.mark.parametrize("method", ["ED", "SVD"])
# Tables of rows are printed to four decimals, and deviations are about 0.07.
PRINTED = 3e-3


@every_method
def test_the_published_scores_of_ed(method):
    Z = pca(ED_ROWS, 0.8, method)
    assert Z.shape == (6, 2)
    np.testing.assert_allclose(aligned(ED_SCORES.T, Z.T).T, ED_SCORES, atol=PRINTED)


@every_method
def test_three_of_the_four_published_components_of_svd_suffice(method):
    """The published run accumulated singular values, not their squares."""
    Z = pca(SVD_ROWS, 0.8, method)
    assert Z.shape == (6, 3)
    printed = SVD_SCORES[:, :3]
    np.testing.assert_allclose(aligned(printed.T, Z.T).T, printed, atol=PRINTED)


@every_method
def test_the_published_scores_divided_by_n(method):
    printed = np.array(PYTHON_SCORES)[:, None]
    Z = pca(PYTHON_ROWS, 0.8, method, ddof=0)
    assert Z.shape == (6, 1)
    np.testing.assert_allclose(aligned(printed.T, Z.T).T, printed, atol=1e-8)
    Z = pca(PYTHON_ROWS, threshold=0.8, method=method)
    expected = printed * np.sqrt(5 / 6)
    np.testing.assert_allclose(aligned(expected.T, Z.T).T, expected, atol=1e-8)
    assert abs(Z[0, 0]) == pytest.approx(3.4871, abs=1e-4)


def test_both_methods_agree_and_reach_the_threshold(arrests):
    for threshold in (0.5, 0.62, 0.8, 0.867, 0.96, 0.9999, 1.0):
        ed, svd = (pca(arrests, threshold, method) for method in ("ED", "SVD"))
        np.testing.assert_allclose(ed, svd, atol=1e-13 * np.abs(ed).max() * 50)
        rates = PCA(scale="unit").fit(arrests).accumulated_rate_
        k = ed.shape[1]
        assert rates[k - 1] >= threshold - 1e-15
        assert k == 1 or rates[k - 2] < threshold


def test_a_threshold_met_exactly_is_reached():
    """PCA(0.5) must exceed the threshold, as in scikit-learn, and keeps one more."""
    X = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
    assert pca(X, 0.5).shape == (4, 1)
    assert PCA(0.5, scale="unit").fit(X).n_components_ == 2


@pytest.mark.parametrize(
    ("arguments", "value"),
    [
        ({"threshold": 0}, "0"),
        ({"threshold": 1.5}, "1.5"),
        ({"method": "EVD"}, "EVD"),
        ({"ddof": 2}, "2"),
    ],
)
def test_invalid_arguments_of_pca_are_named(arguments, value, arrests):
    with pytest.raises(ValueError, match=value) as caught:
        pca(arrests, **arguments)
    assert caught.value.place == {"parameter": next(iter(arguments))}
    assert caught.value.hint
