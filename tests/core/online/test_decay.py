"""decay: older rows count less; streams are stored, copied and continued."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from online_cases import (
    EXACT,
    Checked,
    assert_close,
    assert_same_bits,
    assert_true,
    batches,
    bits,
    online,
)
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import princomp
from helpers import EPS, EPS32
from princomp import PCA
from princomp.errors import (
    ColumnError,
    ParameterError,
    ShapeError,
)

# ---- decay --------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", EXACT)
@pytest.mark.parametrize("decay", [0.999, 0.9, 0.4])
@pytest.mark.usefixtures("small_blocks")
def test_a_row_seen_r_rows_ago_has_weight_decay_to_the_r(solver, decay, table, rng):
    ages = np.arange(199, -1, -1)
    weights = decay**ages
    own = rng.random(200) + 0.5
    for each, all_weights in ((None, weights), (own, own * weights)):
        model = online(Checked(svd_solver=solver, decay=decay), table, 7, each)
        whole = PCA(svd_solver=solver).fit(table, sample_weight=all_weights)
        assert model.n_components_ == whole.n_components_
        assert model.summary_.rows == pytest.approx(all_weights.sum(), rel=200 * EPS)
        # A power of a decay is off by its exponent in units of rounding.
        error = 32 * 205 * EPS
        np.testing.assert_allclose(
            model.explained_variance_,
            whole.explained_variance_,
            rtol=0,
            atol=error * whole.total_variance_ / (1 - 1 / all_weights.sum()),
        )
        np.testing.assert_allclose(model.mean_, whole.mean_, rtol=error)
        if decay > 0.5:
            assert_true(model, table, weights=all_weights, loose=8)
        # The cut does not matter, not to a bit.
        for size in (1, 8, 61, 200):
            again = online(PCA(svd_solver=solver, decay=decay), table, size, each)
            assert_same_bits(again, model)


@pytest.mark.usefixtures("small_blocks")
def test_a_row_that_is_dropped_still_ages_the_others(table, rng):
    X = np.where(rng.random(table.shape) < 0.04, np.nan, table)
    kept = ~np.isnan(X).any(axis=1)
    weights = 0.95 ** np.arange(199, -1, -1)
    first = None
    for size in (1, 7, 200):
        model = online(Checked(missing="drop", decay=0.95), X, size)
        assert_true(model, X[kept], weights=weights[kept], loose=8)
        assert (model.n_samples_, model.n_dropped_) == (kept.sum(), (~kept).sum())
        first = first or model
        assert_same_bits(model, first)


def test_no_decay_is_a_decay_of_one(table):
    for decay in (None, 1, 1.0, np.float64(1)):
        assert_same_bits(online(PCA(decay=decay), table, 7), PCA().fit(table))
    assert_same_bits(PCA(decay=0.5).fit(table), PCA().fit(table))


@pytest.mark.parametrize("decay", [0, -0.5, 1.5, np.nan, np.inf, "0.5", True, [0.5], 1 + 1j])
def test_an_invalid_decay_is_refused(decay, table):
    with pytest.raises(ParameterError, match=r"decay=.* is not valid") as caught:
        PCA(decay=decay).partial_fit(table)
    assert caught.value.place == {"parameter": "decay"}
    assert "(0, 1]" in caught.value.hint


def test_decay_goes_with_no_range(table):
    with pytest.raises(ParameterError, match="range"):
        PCA(scale="range", decay=0.9).partial_fit(table)


@pytest.mark.parametrize("solver", [*EXACT, "sketch"])
def test_rows_that_have_faded_to_nothing_do_no_harm(solver, rng):
    """0.01⁴⁰⁰ underflows: what is left are the last rows, and no NaN or warning."""
    X = rng.standard_normal((6000, 2)) + 1e3
    model = online(PCA(1, svd_solver=solver, decay=0.01), X, 1500)
    weights = 0.01 ** np.arange(9, -1, -1.0)
    mean = np.average(X[-10:], axis=0, weights=weights)
    # Beyond ten rows 1e-20 of what is there is left.
    np.testing.assert_allclose(model.mean_, mean, rtol=1e-15 * 16)
    assert model.summary_.rows == pytest.approx(1 / 0.99)
    rest = online(PCA(1, svd_solver=solver, decay=0.01), X[-30:], 7)
    np.testing.assert_allclose(rest.explained_variance_, model.explained_variance_, rtol=1e4 * EPS)


@pytest.mark.usefixtures("small_blocks")
def test_a_fading_model_continues_after_it_was_stored(table, tmp_path):
    whole = online(PCA(3, decay=0.97), table, 7)
    half = online(PCA(3, decay=0.97), table[:101], 7)
    half.save(tmp_path / "half.pca")
    loaded = princomp.load(tmp_path / "half.pca")
    assert loaded.decay == 0.97
    assert_same_bits(online(pickle.loads(pickle.dumps(half)), table[101:], 9), whole)
    assert_close(online(loaded, table[101:], 9), whole)
    # A fit goes on fading.
    began = PCA(3, decay=0.97).fit(table[:101])
    weights = np.r_[np.ones(101), np.ones(99)] * 0.97 ** np.r_[[99] * 101, np.arange(98, -1, -1)]
    online(began, table[101:], 10)
    np.testing.assert_allclose(began.mean_, np.average(table, axis=0, weights=weights), rtol=1e-13)


# ---- stored and copied --------------------------------------------------------------------------


@pytest.mark.parametrize("solver", [*EXACT, "sketch"])
@pytest.mark.usefixtures("small_blocks")
def test_a_stored_stream_continues(solver, table, tmp_path):
    make = {"n_components": 2, "svd_solver": solver}
    whole = online(PCA(**make), table, 7)
    half = online(PCA(**make), table[:101], 7)
    assert_same_bits(online(pickle.loads(pickle.dumps(half)), table[101:], 10), whole)
    assert_same_bits(online(copy.deepcopy(half), table[101:], 10), whole)
    assert_same_bits(online(copy.copy(half), table[101:], 10), whole)
    half.save(tmp_path / "half.pca")
    # Rows that wait are summed for a file; that may change a last bit.
    assert_close(online(princomp.load(tmp_path / "half.pca"), table[101:], 10), whole)
    # Neither copies nor files changed the one that they were made of.
    assert half.n_samples_ == 101
    assert_same_bits(online(half, table[101:], 10), whole)
    new = clone(half)
    with pytest.raises(NotFittedError):
        new.transform(table)
    assert_same_bits(online(new, table, 50), whole)


@pytest.mark.parametrize("first", [np.asarray, sp.csr_array, np.float32])
@pytest.mark.parametrize("second", [np.asarray, sp.csr_array, np.float32])
def test_copies_of_a_stream_go_their_own_ways(first, second, table):
    """They share the rows that wait, and neither sees what the other was given after."""
    weights = np.linspace(1, 2, 3)
    model = PCA().partial_fit(first(table[:3])).partial_fit(first(table[3:5]))
    before = pickle.loads(pickle.dumps(model))
    one, other = copy.copy(model), copy.copy(model)
    one.partial_fit(second(table[5:9])).partial_fit(table[9:12], sample_weight=weights)
    other.partial_fit(second(table[20:22])).partial_fit(table[22:31])
    one.partial_fit(table[12:14])
    assert_same_bits(model, before)
    rounded = {np.float32: EPS32}.get(first, 0) + {np.float32: EPS32}.get(second, 0)
    allowed = 16 * EPS + rounded
    rows, each = table[:14], np.r_[np.ones(9), weights, np.ones(2)]
    np.testing.assert_allclose(one.mean_, np.average(rows, axis=0, weights=each), rtol=allowed)
    rows = np.vstack([table[:5], table[20:31]])
    np.testing.assert_allclose(other.mean_, rows.mean(axis=0), rtol=allowed)
    assert (one.n_samples_, other.n_samples_, model.n_samples_) == (14, 16, 5)
    np.testing.assert_allclose(model.mean_, table[:5].mean(axis=0), rtol=allowed)


def test_small_batches_do_not_make_a_large_pickle(rng):
    """Ten thousand rows that wait one by one are few arrays."""
    X = rng.standard_normal((3000, 2))
    model = online(PCA(), X, 1)
    assert len(pickle.dumps(model)) < 2 * X.nbytes
    copy.deepcopy(model)


# ---- as scikit-learn has it ---------------------------------------------------------------------


def test_names_of_columns_are_bound_by_the_first_batch(table):
    frame = pd.DataFrame(table, columns=list("abcde"))
    model = PCA(2).partial_fit(frame[:50])
    assert list(model.feature_names_in_) == list("abcde")
    model.partial_fit(frame[50:])
    assert list(model.get_feature_names_out()) == ["PC1", "PC2"]
    before = bits(model)
    for wrong in (frame[list("abcd")], frame[list("abced")], frame.rename(columns={"e": "z"})):
        for call in (model.partial_fit, model.forget):
            with pytest.raises(ColumnError, match="feature names"):
                call(wrong)
    assert bits(model) == before
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.partial_fit(table)
    with pytest.warns(UserWarning, match="has feature names, but PCA was fitted without"):
        PCA().partial_fit(table).partial_fit(frame)
    # A new fit binds new names.
    assert list(model.fit(frame[list("ab")]).feature_names_in_) == ["a", "b"]


def test_set_output_and_pipelines(table):
    frame = pd.DataFrame(table, columns=list("abcde"))
    model = PCA(2).set_output(transform="pandas")
    scores = model.partial_fit(frame[:50]).partial_fit(frame[50:]).transform(frame)
    assert list(scores.columns) == ["PC1", "PC2"]
    np.testing.assert_array_equal(scores, PCA(2).fit(table).transform(table))
    pipe = make_pipeline(StandardScaler(), PCA(2))
    for rows, _ in batches(table, 20):
        scaled = pipe[0].partial_fit(rows)
    for rows, _ in batches(table, 20):
        pipe[1].partial_fit(scaled.transform(rows))
    # The scaler's mean of batches rounds differently: compared, not equal.
    np.testing.assert_allclose(
        pipe.transform(table),
        make_pipeline(StandardScaler(), PCA(2)).fit_transform(table),
        atol=1e-10,
    )


@pytest.mark.parametrize("options", [{"decay": 0.99}, {"n_components": 1, "svd_solver": "sketch"}])
def test_scikit_learns_conventions(options):
    results = check_estimator(PCA(**options), on_fail=None, on_skip=None)
    failed = [r["check_name"] for r in results if r["status"] not in ("passed", "skipped")]
    assert failed == []


def test_the_plan_and_the_certificate_speak_of_batches(table):
    model = online(PCA(3), table, 7)
    assert model.plan_.reasons == ("rows that came in batches, summed as one table",)
    assert (model.plan_.problem.rows, model.plan_.passes) == (200, 1)
    assert not model.plan_.problem.repeatable
    assert model.certificate_.bytes_read == table.nbytes
    assert model.certificate_.residuals.max() <= 8 * 5 * EPS
    assert model.truncated(1).n_components_ == 1
    assert_close(model.rescaled("unit"), PCA(3, scale="unit").fit(table))


# ---- weights of rows that come from elsewhere ---------------------------------------------------


@pytest.mark.parametrize("count", [49, 90])
def test_weights_of_an_iterator_are_one_a_row(count, table):
    model = PCA().partial_fit(table)
    with pytest.raises(ShapeError, match="weights"):
        model.partial_fit(iter([table[:20], table[20:50]]), sample_weight=np.ones(count))
