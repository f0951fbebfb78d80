"""decay: older rows count less; streams are saved, copied and continued."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from online_cases import (
    EXACT,
    PCAWithDtype,
    assert_close,
    assert_close_to_svd,
    assert_same_bits,
    batches,
    bits,
    fit_in_batches,
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
    NotAvailableError,
    ParameterError,
    ShapeError,
)

# ---- decay --------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", EXACT)
@pytest.mark.parametrize("decay", [0.999, 0.9, 0.4])
@pytest.mark.usefixtures("small_blocks")
@pytest.mark.filterwarnings("ignore:the weights of .* rows sum to")
def test_a_row_seen_r_rows_ago_has_weight_decay_to_the_r(solver, decay, table, rng):
    ages = np.arange(199, -1, -1)
    weights = decay**ages
    own_weights = rng.random(200) + 0.5
    for given_weights, all_weights in ((None, weights), (own_weights, own_weights * weights)):
        model = fit_in_batches(
            PCAWithDtype(svd_solver=solver, decay=decay), table, 7, given_weights
        )
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
            assert_close_to_svd(model, table, weights=all_weights, slack=8)
        # The size of batches changes no bit.
        for size in (1, 8, 61, 200):
            again = fit_in_batches(PCA(svd_solver=solver, decay=decay), table, size, given_weights)
            assert_same_bits(again, model)


@pytest.mark.usefixtures("small_blocks")
def test_a_row_that_is_dropped_still_ages_the_others(table, rng):
    X = np.where(rng.random(table.shape) < 0.04, np.nan, table)
    kept = ~np.isnan(X).any(axis=1)
    weights = 0.95 ** np.arange(199, -1, -1)
    first = None
    for size in (1, 7, 200):
        model = fit_in_batches(PCAWithDtype(missing="drop", decay=0.95), X, size)
        assert_close_to_svd(model, X[kept], weights=weights[kept], slack=8)
        assert (model.n_samples_, model.n_dropped_) == (kept.sum(), (~kept).sum())
        first = first or model
        assert_same_bits(model, first)


def test_no_decay_is_a_decay_of_one(table):
    for decay in (None, 1, 1.0, np.float64(1)):
        assert_same_bits(fit_in_batches(PCA(decay=decay), table, 7), PCA().fit(table))


@pytest.mark.filterwarnings("ignore:the weights of .* rows sum to")
def test_fit_warns_that_it_does_not_use_decay(table):
    with pytest.warns(UserWarning, match=r"decay=0\.5 applies to rows that .* add later") as caught:
        model = PCA(decay=0.5).fit(table)
    assert_same_bits(model, PCA().fit(table))
    # The hint does not suggest ``decay**age``: such weights would cause another warning.
    assert len(caught) == 1
    assert str(caught[0].message).endswith("pass them to partial_fit of a new model")


def test_more_rows_do_not_help_once_the_sum_of_weights_has_reached_its_limit(rng):
    model = PCA("mle", decay=0.9).partial_fit(rng.standard_normal((20, 11)))
    for start in (
        "give more rows to partial_fit first, or",
        "use a larger decay in a new model (with decay",
    ):
        with pytest.raises(NotAvailableError) as caught:
            _ = model.components_
        assert caught.value.hint.startswith(start)
        model.partial_fit(rng.standard_normal((980, 11)))
    assert "the 1,000 rows so far (their weights sum to 10) cannot" in caught.value.message
    constant = PCA(2, decay=0.9, scale="unit").partial_fit(np.eye(11)[np.arange(1000) % 3])
    with pytest.raises(NotAvailableError, match="constant column") as caught:
        _ = constant.components_
    assert caught.value.hint.startswith("give more rows")
    light = PCA(decay=1e-6).partial_fit(rng.standard_normal((100, 3)))
    with pytest.raises(NotAvailableError, match="sum of weights above 1") as caught:
        _ = light.components_
    assert caught.value.hint.startswith("use a larger decay")


@pytest.mark.parametrize("decay", [0, -0.5, 1.5, np.nan, np.inf, "0.5", True, [0.5], 1 + 1j])
def test_an_invalid_decay_is_refused(decay, table):
    with pytest.raises(ParameterError, match=r"decay=.* is not valid") as caught:
        PCA(decay=decay).partial_fit(table)
    assert caught.value.place == {"parameter": "decay"}
    assert "(0, 1]" in caught.value.hint


def test_decay_with_range_scaling_is_refused(table):
    with pytest.raises(ParameterError, match="range"):
        PCA(scale="range", decay=0.9).partial_fit(table)
    model = PCA(scale="range").fit(table).set_params(decay=0.9)
    with pytest.raises(ParameterError, match="cannot be combined with decay"):
        model.partial_fit(table)


@pytest.mark.parametrize("solver", [*EXACT, "sketch"])
def test_rows_of_vanished_weight_do_not_affect_the_model(solver, rng):
    """0.01⁴⁰⁰ underflows: what is left are the last rows, and no NaN or warning."""
    X = rng.standard_normal((6000, 2)) + 1e3
    model = fit_in_batches(PCA(1, svd_solver=solver, decay=0.01), X, 1500)
    weights = 0.01 ** np.arange(9, -1, -1.0)
    mean = np.average(X[-10:], axis=0, weights=weights)
    # Rows before the last ten have 1e-20 of the weight.
    np.testing.assert_allclose(model.mean_, mean, rtol=1e-15 * 16)
    assert model.summary_.rows == pytest.approx(1 / 0.99)
    rest = fit_in_batches(PCA(1, svd_solver=solver, decay=0.01), X[-30:], 7)
    np.testing.assert_allclose(rest.explained_variance_, model.explained_variance_, rtol=1e4 * EPS)


@pytest.mark.usefixtures("small_blocks")
def test_a_model_with_decay_continues_after_saving(table, tmp_path):
    whole = fit_in_batches(PCA(3, decay=0.97), table, 7)
    half = fit_in_batches(PCA(3, decay=0.97), table[:101], 7)
    half.save(tmp_path / "half.pca")
    loaded = princomp.load(tmp_path / "half.pca")
    assert loaded.decay == 0.97
    assert_same_bits(fit_in_batches(pickle.loads(pickle.dumps(half)), table[101:], 9), whole)
    assert_close(fit_in_batches(loaded, table[101:], 9), whole)
    # The rows of a fit decay, too.
    with pytest.warns(UserWarning, match="fit gives all rows weight 1"):
        model = PCA(3, decay=0.97).fit(table[:101])
    weights = np.r_[np.ones(101), np.ones(99)] * 0.97 ** np.r_[[99] * 101, np.arange(98, -1, -1)]
    fit_in_batches(model, table[101:], 10)
    np.testing.assert_allclose(model.mean_, np.average(table, axis=0, weights=weights), rtol=1e-13)


def test_a_model_remembers_that_its_rows_faded(table, tmp_path):
    """Also in a file or in a copy with fewer components, when ``decay`` is changed afterwards."""
    model = PCA(2, decay=0.97).partial_fit(table[:100])
    model.save(tmp_path / "model.pca")
    other = PCA(2).partial_fit(table[100:]).merge(model)
    other.save(tmp_path / "other.pca")
    loaded = [princomp.load(tmp_path / name) for name in ("model.pca", "other.pca")]
    copies = [model, loaded[0], model.truncated(1), model.rescaled("unit"), loaded[0].truncated(1)]
    for faded in copies:
        faded.set_params(decay=None)
        with pytest.raises(ParameterError, match="decay was changed between batches"):
            faded.partial_fit(table[:3])
        faded.set_params(decay=0.97).partial_fit(table[100:])
        np.testing.assert_allclose(
            faded.mean_, fit_in_batches(PCA(decay=0.97), table, 50).mean_, rtol=200 * EPS
        )
    for faded in (*copies, other, loaded[1]):
        with pytest.raises(NotAvailableError, match="weight of an old row"):
            faded.set_params(decay=None).forget(table[:3])
    # Rows that are added to faded ones of another fit do not fade.
    rows = loaded[1].partial_fit(table[:3]).summary_.rows
    assert rows == pytest.approx(other.summary_.rows + 3, rel=200 * EPS)
    # The rows of ``fit`` do not fade, until others are added.
    with pytest.warns(UserWarning, match="fit gives all rows weight 1"):
        model = PCA(2, decay=0.97).fit(table)
    model.set_params(decay=None).forget(table[:50])
    assert_close(model, PCA(2).fit(table[50:]))


@pytest.mark.parametrize("solver", EXACT)
@pytest.mark.usefixtures("small_blocks")
def test_rows_of_a_merged_model_follow_the_others(solver, table):
    parameters = {"svd_solver": solver, "decay": 0.97}
    model = fit_in_batches(PCA(**parameters), table[:101], 7)
    model.merge(fit_in_batches(PCA(**parameters), table[101:150], 7))
    whole = fit_in_batches(PCA(**parameters), table[:150], 7)
    assert_close(model, whole)
    assert model.summary_.rows == pytest.approx(whole.summary_.rows, rel=200 * EPS)
    # As when rows are added after a fit, the rows of a fit have equal weights.
    with pytest.warns(UserWarning, match="fit gives all rows weight 1"):
        model.merge(PCA(**parameters).fit(table[150:]))
    weights = np.r_[0.97 ** np.arange(199, 49, -1), np.ones(50)]
    np.testing.assert_allclose(model.mean_, np.average(table, axis=0, weights=weights), rtol=1e-13)


# ---- saved and copied ---------------------------------------------------------------------------


@pytest.mark.parametrize("solver", [*EXACT, "sketch"])
@pytest.mark.usefixtures("small_blocks")
def test_a_stream_continues_after_saving_or_copying(solver, table, tmp_path):
    parameters = {"n_components": 2, "svd_solver": solver}
    whole = fit_in_batches(PCA(**parameters), table, 7)
    half = fit_in_batches(PCA(**parameters), table[:101], 7)
    assert_same_bits(fit_in_batches(pickle.loads(pickle.dumps(half)), table[101:], 10), whole)
    assert_same_bits(fit_in_batches(copy.deepcopy(half), table[101:], 10), whole)
    assert_same_bits(fit_in_batches(copy.copy(half), table[101:], 10), whole)
    half.save(tmp_path / "half.pca")
    # Saving sums the buffered rows, which may change the last bit.
    assert_close(fit_in_batches(princomp.load(tmp_path / "half.pca"), table[101:], 10), whole)
    # Copying and saving did not change the original.
    assert half.n_samples_ == 101
    assert_same_bits(fit_in_batches(half, table[101:], 10), whole)
    new = clone(half)
    with pytest.raises(NotFittedError):
        new.transform(table)
    assert_same_bits(fit_in_batches(new, table, 50), whole)


@pytest.mark.parametrize("first", [np.asarray, sp.csr_array, np.float32])
@pytest.mark.parametrize("second", [np.asarray, sp.csr_array, np.float32])
def test_copies_of_a_stream_are_independent(first, second, table):
    """They share the buffered rows, but no rows that one of them is given later."""
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
    rows, row_weights = table[:14], np.r_[np.ones(9), weights, np.ones(2)]
    np.testing.assert_allclose(
        one.mean_, np.average(rows, axis=0, weights=row_weights), rtol=allowed
    )
    rows = np.vstack([table[:5], table[20:31]])
    np.testing.assert_allclose(other.mean_, rows.mean(axis=0), rtol=allowed)
    assert (one.n_samples_, other.n_samples_, model.n_samples_) == (14, 16, 5)
    np.testing.assert_allclose(model.mean_, table[:5].mean(axis=0), rtol=allowed)


def test_small_batches_do_not_make_a_large_pickle(rng):
    """Thousands of buffered rows are pickled as few arrays."""
    X = rng.standard_normal((3000, 2))
    model = fit_in_batches(PCA(), X, 1)
    assert len(pickle.dumps(model)) < 2 * X.nbytes
    copy.deepcopy(model)


# ---- scikit-learn's conventions -----------------------------------------------------------------


def test_the_first_batch_sets_the_column_names(table):
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
    # A new fit sets new names.
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
@pytest.mark.filterwarnings("ignore:fit gives all rows weight 1")
def test_scikit_learns_conventions(options):
    results = check_estimator(PCA(**options), on_fail=None, on_skip=None)
    failed = [r["check_name"] for r in results if r["status"] not in ("passed", "skipped")]
    assert failed == []


def test_plan_and_certificate_of_batches(table):
    model = fit_in_batches(PCA(3), table, 7)
    assert model.plan_.reasons == ("rows that came in batches, summed as one table",)
    assert (model.plan_.problem.rows, model.plan_.passes) == (200, 1)
    assert not model.plan_.problem.repeatable
    assert model.certificate_.bytes_read == table.nbytes
    assert model.certificate_.residuals.max() <= 8 * 5 * EPS
    assert model.truncated(1).n_components_ == 1
    assert_close(model.rescaled("unit"), PCA(3, scale="unit").fit(table))


# ---- weights of iterators -----------------------------------------------------------------------


@pytest.mark.parametrize("count", [49, 90])
def test_an_iterator_needs_one_weight_per_row(count, table):
    model = PCA().partial_fit(table)
    with pytest.raises(ShapeError, match="weights"):
        model.partial_fit(iter([table[:20], table[20:50]]), sample_weight=np.ones(count))


@pytest.mark.parametrize(
    ("rows", "weight"), [(np.full((100, 2), np.nan), None), (np.eye(100)[:, :2], 0.05)]
)
def test_more_rows_help_if_the_sum_of_weights_is_far_from_its_limit(rows, weight):
    model = PCA(2, decay=0.9, missing="drop")
    model.partial_fit(rows, sample_weight=None if weight is None else np.full(100, weight))
    with pytest.raises(NotAvailableError) as caught:
        _ = model.components_
    assert caught.value.hint.startswith("give more rows to partial_fit first")


def test_a_larger_decay_does_not_help_constant_columns():
    with pytest.raises(NotAvailableError) as caught:
        _ = PCA("kaiser", decay=0.9).partial_fit(np.ones((100, 30))).components_
    assert "decay" not in caught.value.hint
