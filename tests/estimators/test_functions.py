"""``pca``, ``svd`` and ``plan``: results without an estimator."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import sklearn
from sklearn import decomposition

from command_line import ARRESTS
from helpers import EPS, aligned, assert_orthonormal, assert_sign_rule
from princomp import PCA, choose, pca, plan, read_table, svd
from princomp.errors import (
    ConstantColumnError,
    MemoryLimitError,
    NotFiniteError,
    NotNumericError,
    ParameterError,
    ShapeError,
)


def _standardised(X, ddof=1):
    return (X - X.mean(axis=0)) / X.std(axis=0, ddof=ddof)


# ---- pca --------------------------------------------------------------------------------


@pytest.mark.parametrize("threshold", [0.3, 0.8, 0.95, 1, 1.0])
def test_pca_keeps_the_fewest_components_reaching_the_threshold(arrests, threshold):
    s = np.linalg.svd(_standardised(arrests), compute_uv=False)
    accumulated = np.cumsum(s**2) / np.sum(s**2)
    scores = pca(arrests, threshold)
    k = scores.shape[1]
    assert accumulated[k - 1] >= threshold - 1e-12
    assert k == 1 or accumulated[k - 2] < threshold - 1e-12
    np.testing.assert_allclose(np.linalg.norm(scores, axis=0), s[:k])


def test_both_methods_agree(arrests, rng):
    wide = rng.standard_normal((12, 40))
    for X in (arrests, wide):
        np.testing.assert_allclose(pca(X, 0.9), pca(X, 0.9, "SVD"), atol=1e-11)


def test_a_threshold_met_exactly_needs_no_further_component():
    # Two uncorrelated columns: each holds exactly half.
    X = np.array([[1.0, 1], [1, -1], [-1, 1], [-1, -1]])
    assert pca(X, 0.5).shape == (4, 1)
    assert pca(X, 0.5 + 1e-9).shape == (4, 2)


def test_ddof_sets_the_divisor_of_the_standard_deviation(arrests):
    n = len(arrests)
    np.testing.assert_allclose(pca(arrests, ddof=0), pca(arrests) * np.sqrt(n / (n - 1)))
    scores = pca(arrests, 1.0, ddof=0)
    np.testing.assert_allclose(np.sum(scores**2), np.sum(_standardised(arrests, 0) ** 2))
    for ddof in (0, 1):
        assert pca(arrests.astype(np.float32), ddof=ddof).dtype == np.float32


def test_scores_are_an_array_where_transform_returns_frames(arrests):
    with sklearn.config_context(transform_output="pandas"):
        assert type(pca(arrests)) is np.ndarray


def test_every_kind_of_table_gives_the_same_scores(arrests):
    names = ["Murder", "Assault", "UrbanPop", "Rape"]
    expected = pca(arrests)
    for X in (
        arrests.tolist(),
        np.asfortranarray(arrests),
        pd.DataFrame(arrests, columns=names),
        pl.DataFrame(arrests, schema=names),
        sp.csr_array(arrests),
        ARRESTS,
        str(ARRESTS),
    ):
        np.testing.assert_allclose(pca(X), expected, atol=1e-12)


@pytest.mark.parametrize("threshold", [0, -0.5, 1.5, "0.8", None, np.nan])
def test_invalid_thresholds_are_refused(arrests, threshold):
    with pytest.raises(ParameterError, match=r"threshold=.* is not valid") as caught:
        pca(arrests, threshold)
    assert "(0, 1]" in caught.value.hint


def test_other_invalid_arguments_are_refused(arrests):
    with pytest.raises(ParameterError, match="method='ed' is not valid"):
        pca(arrests, method="ed")
    for ddof in (2, -1, 0.5, None):
        with pytest.raises(ParameterError, match="ddof"):
            pca(arrests, ddof=ddof)


def test_tables_that_cannot_be_standardised_are_refused(arrests):
    X = arrests.copy()
    X[:, 2] = 5
    with pytest.raises(ConstantColumnError, match="column 2") as caught:
        pca(X)
    assert "use PCA(scale='unit', constant='drop')" in caught.value.hint
    with pytest.raises(ConstantColumnError, match="column 'c'"):
        pca(pd.DataFrame({"a": [1.0, 2], "c": [3.0, 3]}))
    X[3, 1] = np.nan
    with pytest.raises(NotFiniteError, match=r"row 3, column 1") as caught:
        pca(X)
    assert "use PCA(scale='unit', missing='drop')" in caught.value.hint
    with pytest.raises(ShapeError, match="at least 2 rows"):
        pca(arrests[:1])
    with pytest.raises(NotNumericError, match="text column: s"):
        pca(read_table(pd.DataFrame({"a": [1.0, 2], "s": ["x", "y"]}), columns="all"))


def test_the_columns_are_those_of_a_fit(arrests):
    frame = pd.DataFrame(arrests, columns=list("abcd"))
    frame.insert(0, "id", range(50))
    frame = frame.assign(group=["x", "y"] * 25, flag=True)
    for call, expected in (
        (pca, pca(arrests)),
        (lambda X: svd(X, 2)[1], svd(arrests, 2)[1]),
        (lambda X: plan(X).to_dict()["columns"], 4),
    ):
        with pytest.warns(UserWarning, match="left out 'id', .* text column: group; .* flag") as w:
            np.testing.assert_allclose(call(frame), expected)
        assert {warning.filename for warning in w} == {__file__}


# ---- svd --------------------------------------------------------------------------------


def _check_svd(X, k, center=False, tol=200 * EPS):
    """Compare svd with NumPy's for dense or sparse X."""
    U, s, Vt = svd(X, k, center=center)
    dense = X.toarray() if sp.issparse(X) else np.asarray(X)
    dense = dense - dense.mean(axis=0) if center else dense
    _, sigma, vt = np.linalg.svd(dense.astype(float), full_matrices=False)
    assert (U.shape, s.shape, Vt.shape) == ((len(dense), k), (k,), (k, dense.shape[1]))
    np.testing.assert_allclose(s, sigma[:k], atol=tol * sigma[0])
    assert_orthonormal(U.T, tol)
    assert_orthonormal(Vt, tol)
    assert_sign_rule(Vt)
    # A·v = σ·u and Aᵀ·u = σ·v, which ties the signs of U to those of Vt.
    np.testing.assert_allclose(dense @ Vt.T, U * s, atol=tol * sigma[0])
    np.testing.assert_allclose(dense.T @ U, Vt.T * s, atol=tol * sigma[0])
    return U, s, Vt, vt


@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array, sp.csc_array])
@pytest.mark.parametrize("shape", [(80, 12), (12, 80), (30, 30)])
def test_small_tables_agree_with_numpy(rng, shape, kind, center):
    X = rng.standard_normal(shape) * np.linspace(2, 0.1, shape[1]) + 1
    for k in (1, 5):
        _, _, Vt, vt = _check_svd(kind(X), k, center)
        np.testing.assert_allclose(Vt, aligned(Vt, vt[:k]), atol=1e-10)
    _check_svd(kind(X), 12 - center * (min(shape) == shape[0]))


@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("shape", [(2000, 150), (150, 2000)])
@pytest.mark.parametrize("k", [3, 40])
def test_larger_dense_tables_agree_with_numpy(rng, shape, k, center):
    left, right = rng.standard_normal((shape[0], 80)), rng.standard_normal((80, shape[1]))
    _check_svd(left * 0.9 ** np.arange(80) @ right + 3, k, center, tol=1e-10)


def test_a_document_term_matrix_stays_sparse(monkeypatch):
    counts = sp.random_array((2000, 5000), density=0.004, rng=np.random.default_rng(2))
    X = counts.tocsr()
    X.data = np.ceil(5 * X.data)
    for kind in (sp.csr_array, sp.csc_array, sp.coo_array):
        monkeypatch.setattr(kind, "toarray", _refuse)
    for center in (False, True):
        U, s, Vt = svd(X, 4, center=center)
        mean = np.asarray(X.mean(axis=0)).ravel() if center else np.zeros(5000)
        images = X @ Vt.T - mean @ Vt.T
        np.testing.assert_allclose(images, U * s, atol=1e-9 * s[0])
        back = X.T @ U - np.outer(mean, U.sum(axis=0))
        np.testing.assert_allclose(back, Vt.T * s, atol=1e-9 * s[0])
        assert_orthonormal(U.T, 1e-10)
        assert_orthonormal(Vt, 1e-10)
        if not center:
            expected = sp.linalg.svds(X, 4, random_state=0)[1][::-1]
            np.testing.assert_allclose(s, expected, rtol=1e-10)


def _refuse(*_, **__):
    raise AssertionError("made dense")


@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("shape", [(1600, 250), (300, 1400)])
def test_singular_values_far_below_the_first_keep_their_digits(rng, shape, kind, center):
    X = rng.standard_normal((shape[0], 200)) * 10.0 ** -(np.arange(200) / 3)
    X = X @ np.linalg.qr(rng.standard_normal((shape[1], 200)))[0].T
    _check_svd(kind(X), 30, center)
    tol = 200 * np.finfo(np.float32).eps
    _check_svd(kind(X.astype(np.float32)), 12, center, tol)


def test_a_table_without_memory_for_small_singular_values_gives_a_warning(rng, monkeypatch):
    X = rng.standard_normal((1600, 200)) * 10.0 ** -(np.arange(200) / 3)
    monkeypatch.setattr("princomp.estimators.functions.PCA", _without_memory)
    with pytest.warns(UserWarning, match="singular values below .* of the first"):
        s = svd(X, 30)[1]
    sigma = np.linalg.svd(X, compute_uv=False)[:30]
    np.testing.assert_allclose(s, sigma, atol=1e-7 * sigma[0])


def _without_memory(*_, **__):
    raise MemoryLimitError("")


def test_one_row_and_one_column():
    U, s, Vt = svd(np.array([[3.0, -4.0]]), 1)
    np.testing.assert_allclose(U, [[-1.0]])
    np.testing.assert_allclose(s, [5.0])
    np.testing.assert_allclose(Vt, [[-0.6, 0.8]])
    U, s, Vt = svd(np.array([[3.0], [-4.0]]), 1)
    np.testing.assert_allclose(U, [[0.6], [-0.8]])
    np.testing.assert_allclose(s, [5.0])
    np.testing.assert_allclose(Vt, [[1.0]])


def test_tables_without_full_rank_still_have_orthonormal_factors(rng):
    X = np.outer(rng.standard_normal(40), rng.standard_normal(9))
    _check_svd(X, 5)
    _check_svd(np.zeros((6, 4)), 3)
    _check_svd(np.ones((6, 4)), 2, center=True)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("exponent", [-1000, -560, 520, 1010])
@pytest.mark.parametrize("center", [False, True])
def test_the_unit_of_a_large_table_does_not_matter(rng, kind, exponent, center):
    X = rng.integers(-8, 9, (1500, 200)) * 0.9 ** np.arange(200)
    U, s, Vt = svd(kind(X), 3, center=center)
    found_u, found_s, found_vt = svd(kind(np.ldexp(X, exponent)), 3, center=center)
    np.testing.assert_allclose(np.ldexp(found_s, -exponent), s, rtol=1e-10)
    assert np.abs(found_u - U).max() < 1e-8
    assert np.abs(found_vt - Vt).max() < 1e-8


def test_float32_stays_float32(rng):
    X = rng.standard_normal((600, 700)).astype(np.float32)
    for k in (2, 400):
        assert {part.dtype for part in svd(X, k)} == {np.dtype(np.float32)}


def test_files_and_frames_have_singular_values_too(arrests):
    expected = svd(arrests, 2, center=True)
    for X in (ARRESTS, pd.DataFrame(arrests)):
        for part, other in zip(expected, svd(X, 2, center=True), strict=True):
            np.testing.assert_allclose(other, part, atol=1e-11)


def test_the_input_is_not_written(rng):
    X = rng.standard_normal((30, 8))
    X.flags.writeable = False
    svd(X, 2, center=True)
    pca(X)


@pytest.mark.parametrize("k", [0, -1, 5, 2.0, "2", None])
def test_k_out_of_range_is_refused_with_the_range(arrests, k):
    with pytest.raises(ShapeError, match=r"from 1 to min\(n, p\) = 4") as caught:
        svd(arrests, k)
    assert caught.value.place == {"parameter": "k"}
    assert "50 rows and 4 columns" in caught.value.hint


def test_values_that_are_not_finite_are_refused(arrests):
    X = arrests.copy()
    X[7, 2] = np.inf
    with pytest.raises(NotFiniteError, match=r"row 7, column 2"):
        svd(X, 2)
    X[7, 2] = np.nan
    with pytest.raises(NotFiniteError, match=r"row 7, column 2"):
        svd(sp.csr_array(X), 2)


# ---- plan -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("X", "parameters"),
    [
        (np.ones((500, 6)) * np.arange(6), {}),
        (np.eye(40, 400), {"n_components": 3}),
        (np.eye(300, 2000), {"n_components": 3}),
        (np.eye(50).astype(np.float32), {"n_components": 2, "svd_solver": "randomized"}),
        (np.eye(50), {"scale": "range", "svd_solver": "row_gram"}),
        (sp.random_array((300, 50), rng=1, format="csr"), {"n_components": 2}),
        (sp.random_array((50, 300), rng=1, format="csc"), {"n_components": 2}),
        (ARRESTS, {"n_components": 0.9, "scale": "unit"}),
    ],
)
def test_a_fit_does_what_was_planned(X, parameters):
    planned = plan(X, **parameters)
    fitted = PCA(**parameters).fit(X).plan_
    assert planned.problem == fitted.problem
    assert (planned.summary, planned.memory) == (fitted.summary, fitted.memory)
    assert planned.solver == fitted.solver
    assert planned.reasons == fitted.reasons[:1]
    assert planned.passes in (fitted.passes, None)


def test_a_plan_prints_and_turns_into_json(arrests):
    planned = plan(arrests, 2, scale="range")
    document = json.loads(planned.to_json())
    assert document == planned.to_dict()
    wanted = {"rows": 50, "columns": 4, "n_components": 2, "dtype": "float64", "passes": 1}
    assert wanted.items() <= document.items()
    assert document["memory"] > 0
    text = str(planned)
    for reason in planned.reasons:
        assert reason in text
    for word in ("50 × 4 float64", planned.summary, planned.solver, "passes   1", "kB"):
        assert word in text


def test_plan_reads_no_rows():
    class Untouched(np.ndarray):
        def __array_ufunc__(self, *_, **__):
            raise AssertionError("computed with")

    X = np.empty((10**7, 20)).view(Untouched)
    assert plan(X, 3).passes == 1


def test_plan_refuses_the_parameters_that_fit_refuses(arrests):
    with pytest.raises(ParameterError, match="svd_solver='magic'"):
        plan(arrests, svd_solver="magic")
    with pytest.raises(ParameterError, match=r"n_components=1\.5"):
        plan(arrests, 1.5)


def test_choose_says_what_to_give_instead(rng):
    rows = rng.standard_normal((30, 4))
    for call in (
        lambda: choose(rows, svd_solver="sketch"),
        lambda: choose(PCA(2, svd_solver="sketch").fit(rows)),
    ):
        with pytest.raises(ParameterError, match="rules do not apply to a sketch"):
            call()
    with pytest.raises(ParameterError, match=r"scikit-learn's PCA[\s\S]*PCA.from_sklearn\(model"):
        choose(decomposition.PCA(2).fit(rows))
    with pytest.raises(ParameterError, match="is not a rule"):
        choose(PCA(scale="unit"), rows)


def test_arrays_with_named_fields_are_refused():
    rows = np.zeros(3, dtype=[("a", "f8"), ("b", "f8")])
    for X in (rows, rows.reshape(-1, 1)):
        with pytest.raises(ShapeError, match=r"named fields[\s\S]*pandas.DataFrame\(X\)"):
            PCA(1).fit(X)
