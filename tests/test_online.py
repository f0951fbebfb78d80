"""Rows that keep coming: whatever their cut into batches, the answer is that of one fit."""

from __future__ import annotations

import copy
import pickle
import tracemalloc
from dataclasses import fields

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import princomp
from helpers import EPS, EPS32, assert_orthonormal, sine, truth
from princomp import PCA, IncrementalPCA
from princomp.errors import (
    ColumnError,
    MemoryLimitError,
    NotAvailableError,
    NotFiniteError,
    NotNumericError,
    ParameterError,
    ShapeError,
)
from princomp.summaries import Moments, SketchOf, Triangle
from princomp.summaries.centred import Centred

quickly = settings(derandomize=True, deadline=None, max_examples=150, database=None)

# Where a kept scatter answers, and what each option asks of it.
OPTIONS = {
    "plain": {},
    "uncentred": {"center": False},
    "unit": {"scale": "unit"},
    "range": {"scale": "range"},
    "two": {"n_components": 2},
    "half": {"n_components": 0.5},
}
EXACT = ("auto", "covariance_eigh", "full")


def batches(X, size, weights=None):
    """The rows in batches, and their weights."""
    for start in range(0, X.shape[0], size):
        stop = start + size
        yield X[start:stop], None if weights is None else weights[start:stop]


def online(model, X, size, weights=None):
    for rows, each in batches(X, size, weights):
        assert model.partial_fit(rows, sample_weight=each) is model
    return model


def bits(model):
    """Everything that a model says and keeps of its rows, by name."""
    told = {
        name: getattr(model, name)
        for name in (
            "components_",
            "explained_variance_",
            "explained_variance_ratio_",
            "singular_values_",
            "mean_",
            "var_",
            "scale_",
            "total_variance_",
            "noise_variance_",
            "n_samples_",
            "n_dropped_",
        )
    }
    summary = model.summary_
    told["kind"] = type(summary).__name__
    for field in fields(summary):
        told[f"summary.{field.name}"] = getattr(summary, field.name)
    return {
        name: value.tobytes() if isinstance(value, np.ndarray) else repr(value)
        for name, value in told.items()
    }


def assert_same_bits(one, other):
    mine, theirs = bits(one), bits(other)
    assert [name for name in mine if mine[name] != theirs[name]] == []


def assert_true(model, X, *, weights=None, divisor=None, loose=1.0):
    """Against the SVD of the centred rows, to what sums of n rows of p columns lose.

    An entry of a scatter is off by a few (n + p)·eps of √(Sᵢᵢ Sⱼⱼ): all together by that
    multiple of its trace, and so is each variance (Weyl); an axis by that over its gap.
    """
    variances, axes = truth(X, weights=weights, divisor=divisor, center=model.center)
    k = model.n_components_
    mass = len(X) if weights is None else weights.sum()
    assert model.summary_.rows == pytest.approx(mass, rel=loose * len(X) * EPS)
    error = loose * 8 * sum(X.shape) * EPS * variances.sum()
    np.testing.assert_allclose(model.explained_variance_, variances[:k], rtol=0, atol=error)
    np.testing.assert_allclose(model.total_variance_, variances.sum(), rtol=0, atol=error)
    assert_orthonormal(model.components_, tol=8 * X.shape[1] * np.finfo(model.dtype).eps)
    for i in range(k):
        others = np.delete(variances, i)
        gap = np.abs(others - variances[i]).min(initial=np.inf)
        off = sine(model.components_[i : i + 1].astype(float), axes[i : i + 1])
        assert off <= error / gap + 8 * X.shape[1] * np.finfo(model.dtype).eps
    if model.center:
        mean = np.average(X, axis=0, weights=weights)
        size = np.abs(X).max()
        assert np.abs(model.mean_ - mean).max() <= loose * 4 * len(X) * EPS * size


class Checked(PCA):
    """With the precision of its axes at hand."""

    @property
    def dtype(self):
        return self.components_.dtype


@pytest.fixture
def table(rng):
    turn = np.linalg.qr(rng.standard_normal((5, 5)))[0]
    return rng.standard_normal((200, 5)) * [3, 2, 1, 0.5, 0.2] @ turn + 10


def _eight(columns, **_):
    return 8


def _cut_small(patch, together=2):
    for kind in (Centred, SketchOf):
        patch.setattr(kind, "block_rows", staticmethod(_eight))
    patch.setattr(princomp.online, "_TOGETHER", together)


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks of eight rows, so that a short table has many and most cuts miss their ends."""
    _cut_small(monkeypatch)


# ---- the cut into batches does not matter -------------------------------------------------------


@pytest.fixture(scope="module")
def tall():
    """More than two logical blocks of 512 rows."""
    rng = np.random.default_rng(5)
    return rng.standard_normal((1100, 260)) * np.linspace(2, 1, 260) + 5


@pytest.mark.parametrize("solver", EXACT)
def test_batches_of_any_size_have_the_bits_of_one_fit(solver, tall, monkeypatch):
    whole = Checked(4, svd_solver=solver).fit(tall)
    assert_true(whole, tall)
    for size in (1, 7, 1000, len(tall)):
        assert_same_bits(online(PCA(4, svd_solver=solver), tall, size), whole)
    # However many blocks wait to be summed together.
    monkeypatch.setattr(princomp.online, "_TOGETHER", 1)
    assert_same_bits(online(PCA(4, svd_solver=solver), tall, 130), whole)


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("solver", EXACT)
@pytest.mark.usefixtures("small_blocks")
def test_every_option_has_the_bits_of_one_fit(solver, option, table, rng):
    weights = rng.integers(0, 4, len(table)) * 0.75
    holed = np.where(rng.random(table.shape) < 0.03, np.nan, table)
    make = {"svd_solver": solver, **OPTIONS[option]}
    for X, each, more in (
        (table, None, {}),
        (table, weights, {}),
        (np.asfortranarray(table), None, {}),
        (holed, None, {"missing": "drop"}),
        (holed, weights, {"missing": "drop"}),
    ):
        whole = PCA(**make, **more).fit(X, sample_weight=each)
        for size in (1, 3, 8, 37, 200):
            assert_same_bits(online(PCA(**make, **more), X, size, each), whole)


@given(data=st.data())
@quickly
def test_whatever_happens_between_batches_the_bits_are_those_of_one_fit(data):
    """Batches of any size, attributes read, batches refused, models copied and stored."""
    seed, solver = data.draw(st.integers(0, 99)), data.draw(st.sampled_from(EXACT))
    scale = data.draw(st.sampled_from([None, "range", "unit"]))
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((60, 3)) * [100, 1, 0.01] + [1e6, 0, 1]
    weighted = data.draw(st.booleans())
    weights = rng.random(60) if weighted else None
    with pytest.MonkeyPatch.context() as patch:
        _cut_small(patch, data.draw(st.integers(1, 3)))
        model = PCA(svd_solver=solver, scale=scale)
        at = 0
        while at < 60:
            stop = at + data.draw(st.integers(1, 60 - at))
            each = None if weights is None else weights[at:stop]
            model.partial_fit(X[at:stop], sample_weight=each)
            at = stop
            match data.draw(st.sampled_from(["", "read", "refused", "pickle", "deepcopy", "copy"])):
                case "read":
                    hasattr(model, "components_")
                case "refused":
                    bad = X[:11].copy()
                    bad[data.draw(st.integers(0, 10)), 1] = np.nan
                    with pytest.raises(NotFiniteError):
                        model.partial_fit(bad)
                case "pickle":
                    model = pickle.loads(pickle.dumps(model))
                case "deepcopy":
                    model = copy.deepcopy(model)
                case "copy":
                    copy.copy(model).partial_fit(X)
        assert_same_bits(model, PCA(svd_solver=solver, scale=scale).fit(X, sample_weight=weights))


@pytest.mark.usefixtures("small_blocks")
def test_reading_an_attribute_between_batches_changes_nothing_that_follows(table):
    whole = PCA(3).fit(table)
    model = PCA(3)
    for n, (rows, _) in enumerate(batches(table, 3), 1):
        model.partial_fit(rows)
        for name in ("mean_", "components_", "noise_variance_", "certificate_", "plan_"):
            getattr(model, name)
        assert model.n_samples_ == min(3 * n, 200)
        np.testing.assert_allclose(model.mean_, table[: 3 * n].mean(axis=0), rtol=1e-13)
    assert_same_bits(model, whole)


@pytest.mark.parametrize("solver", EXACT)
@pytest.mark.usefixtures("small_blocks")
def test_sparse_and_dense_batches_mix(solver, rng):
    dense = np.where(rng.random((120, 40)) < 0.06, rng.standard_normal((120, 40)), 0.0)
    dense[:, 3] += 1000
    spread = truth(dense)[0].sum()
    whole = PCA(3, svd_solver=solver).fit(dense)
    kinds = [np.asarray, sp.csr_array, sp.csc_matrix, sp.coo_array]
    for turn, size in ((1, 1), (1, 7), (4, 1), (4, 11)):
        model = PCA(3, svd_solver=solver)
        for i, (rows, _) in enumerate(batches(dense, size)):
            model.partial_fit(kinds[(i + 1) % turn if turn > 1 else 1](rows))
        # Rounding of a scatter of 120 rows, relative to its trace.
        error = 8 * 160 * EPS * spread
        np.testing.assert_allclose(
            model.explained_variance_, whole.explained_variance_, rtol=0, atol=error
        )
        np.testing.assert_allclose(model.components_, whole.components_, atol=1e-10)
        np.testing.assert_allclose(model.mean_, dense.mean(axis=0), rtol=1e-13, atol=1e-15)
        assert model.n_samples_ == 120


def test_float32_rows_have_float64_sums_and_float32_axes(table):
    """Rows that come once are multiplied in float64: float32 products are off by 1e-7."""
    X = (table + 1000).astype(np.float32)
    for solver in EXACT:
        model = online(Checked(svd_solver=solver), X, 7)
        assert model.components_.dtype == np.float32
        assert model.explained_variance_.dtype == model.mean_.dtype == np.float64
        assert model.transform(X).dtype == np.float32
        wide = X.astype(np.float64)
        assert_true(model, wide)
        assert model.summary_.unit == EPS < EPS32
        # One float64 batch makes it float64; integers are float64.
        assert model.partial_fit(table).components_.dtype == np.float64
    assert PCA().partial_fit(X[:9].astype(int)).components_.dtype == np.float64


@pytest.mark.usefixtures("small_blocks")
def test_frames_lists_and_iterators_are_batches_too(table):
    whole = PCA().fit(table)
    model = PCA().partial_fit(table[:20].tolist()).partial_fit(iter([table[20:29], table[29:80]]))
    assert_same_bits(model.partial_fit(lambda: iter([table[80:]])), whole)
    named = PCA().partial_fit(pd.DataFrame(table[:90])).partial_fit(pd.DataFrame(table[90:]))
    assert_same_bits(named, whole)


def test_the_rows_that_wait_are_a_copy(table):
    X, weights = table.copy(), np.ones(100)
    model = PCA().partial_fit(X[:100], sample_weight=weights)
    X[:], weights[:] = 1e9, 50
    model.partial_fit(table[100:])
    assert_true(Checked.from_summary(model.summary_), table)


@pytest.mark.usefixtures("small_blocks")
def test_scalar_and_zero_weights(table):
    twice = PCA().partial_fit(table[:150], sample_weight=2).partial_fit(table[150:], None, 2)
    assert_same_bits(twice, PCA().fit(table, sample_weight=2.0))
    # A first batch that weighs nothing is there and says nothing.
    model = PCA().partial_fit(table[:5] * 1e6, sample_weight=0)
    assert not hasattr(model, "mean_")
    model.partial_fit(table)
    np.testing.assert_allclose(model.mean_, table.mean(axis=0), rtol=1e-13)
    # Batches with weights and batches without: one each.
    mixed = PCA().partial_fit(table[:70]).partial_fit(table[70:], sample_weight=np.ones(130))
    assert_true(Checked.from_summary(mixed.summary_), table)


# ---- before there are enough rows ---------------------------------------------------------------


def test_components_grow_with_the_rows(table):
    model = PCA(4)
    for n in range(1, 8):
        model.partial_fit(table[n - 1 : n])
        if n > 1:
            assert model.n_components_ == min(n, 4)
            assert model.components_.shape == (min(n, 4), 5)
            error = 8 * (n + 5) * EPS * model.total_variance_
            true = truth(table[:n])[0]
            np.testing.assert_allclose(model.explained_variance_, true[:4], rtol=0, atol=error)
            # n rows have n − 1 directions: the last variance of a few is an exact zero.
            assert (model.explained_variance_[n - 1 :] == 0).all()
            assert model.transform(table).shape == (200, min(n, 4))
            assert len(model.get_feature_names_out()) == min(n, 4)


def test_one_row_has_no_variance_yet(table):
    """It is fitted, in scikit-learn's sense; what it cannot say yet is as if it were missing."""
    model = PCA(2).partial_fit(table[:1])
    assert model.__sklearn_is_fitted__()
    assert model.n_features_in_ == 5
    for name in ("components_", "mean_", "n_samples_", "n_components_", "plan_", "summary_"):
        assert not hasattr(model, name)
        with pytest.raises(NotAvailableError, match="at least 2 rows, and so far there are 1"):
            getattr(model, name)
    for call in (lambda: model.transform(table), lambda: model.save("nowhere.pca")):
        with pytest.raises(NotAvailableError, match="give more rows"):
            call()
    assert_same_bits(model.partial_fit(table[1:]), PCA(2).fit(table))
    with pytest.raises(NotFittedError):
        _ = PCA().components_


def test_rows_of_too_little_weight_are_too_few(table):
    model = PCA().partial_fit(table[:5], sample_weight=0.2)
    with pytest.raises(NotAvailableError, match="so far there are 1"):
        _ = model.mean_
    assert model.partial_fit(table[5:9], sample_weight=0.2).mean_.shape == (5,)


def test_more_components_than_columns_are_refused_at_once(table):
    with pytest.raises(ShapeError, match="n_components=6 and the rows have 5 columns"):
        PCA(6).partial_fit(table[:3])
    model = PCA(3).partial_fit(table)
    with pytest.raises(ShapeError, match="n_components=9"):
        model.set_params(n_components=9).partial_fit(table)
    assert model.set_params(n_components=2).partial_fit(table).n_components_ == 2
    assert model.n_samples_ == 400


# ---- after a fit --------------------------------------------------------------------------------


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("solver", EXACT)
def test_rows_go_on_after_a_fit_and_after_loading(solver, option, table, tmp_path, rng):
    make = {"svd_solver": solver, **OPTIONS[option]}
    holed = np.where(rng.random(table.shape) < 0.03, np.nan, table)
    for X, more in ((table, {}), (holed, {"missing": "drop"})):
        whole = PCA(**make, **more).fit(X)
        first = PCA(**make, **more).fit(X[:77])
        first.save(tmp_path / "first.pca")
        for model in (first, princomp.load(tmp_path / "first.pca")):
            online(model, X[77:], 50)
            assert_close(model, whole)
            assert (model.n_samples_, model.n_dropped_) == (whole.n_samples_, whole.n_dropped_)


def assert_close(model, whole):
    """Two ways to the same rows: equal to rounding, relative to the trace."""
    error = 16 * (whole.n_samples_ + whole.n_features_in_) * EPS
    total = whole.total_variance_
    for name in ("explained_variance_", "noise_variance_", "total_variance_"):
        np.testing.assert_allclose(
            getattr(model, name), getattr(whole, name), rtol=0, atol=error * total, err_msg=name
        )
    for name in ("mean_", "var_", "scale_"):
        if getattr(whole, name) is not None:
            np.testing.assert_allclose(getattr(model, name), getattr(whole, name), rtol=error)
    # The tables here have gaps of a hundredth of the trace and more.
    np.testing.assert_allclose(model.components_, whole.components_, rtol=0, atol=1e3 * error)


@pytest.mark.parametrize("solver", ["row_gram", "arpack", "lanczos", "randomized"])
def test_a_fit_without_a_scatter_takes_no_rows(solver, table):
    model = PCA(2, svd_solver=solver, random_state=0).fit(table)
    before = bits(model)
    for call in (model.partial_fit, model.forget):
        with pytest.raises(NotAvailableError, match="kept no scatter") as caught:
            call(table)
        assert "covariance_eigh" in caught.value.hint
    with pytest.raises(NotAvailableError, match="kept no scatter"):
        PCA(2).fit(table).merge(model)
    assert bits(model) == before
    # And a stream cannot begin with such a solver.
    with pytest.raises(ParameterError, match="needs all rows at once") as caught:
        PCA(2, svd_solver=solver).partial_fit(table)
    assert caught.value.place == {"parameter": "svd_solver"}


def test_a_covariance_without_mean_or_number_of_rows_takes_no_rows(table):
    """Nobody knows how much it weighs against a row."""
    C, mean = np.cov(table.T), table.mean(axis=0)
    for known in ({}, {"mean": mean}, {"n_samples": 200}):
        with pytest.raises(NotAvailableError, match="without a mean or a number of rows") as caught:
            PCA.from_covariance(C, **known).partial_fit(table)
        assert "n_samples" in caught.value.hint
    model = PCA.from_covariance(np.cov(table[:90].T), mean=table[:90].mean(axis=0), n_samples=90)
    assert_close(model.partial_fit(table[90:]), PCA().fit(table))
    assert model.n_samples_ == 200


def test_a_fit_begins_anew(table):
    model = PCA().partial_fit(table).fit(table[:50])
    assert_same_bits(model, PCA().fit(table[:50]))
    model = PCA().partial_fit(table)
    with pytest.raises(NotFiniteError):
        model.fit(table * np.nan)
    assert_same_bits(model, PCA().fit(table))
    assert model.fit(table[:, :2]).n_features_in_ == 2


def test_a_summary_goes_on(table):
    for kind in (Moments, Triangle):
        model = PCA.from_summary(kind.of(table[:60])).partial_fit(table[60:])
        assert_close(model, PCA().fit(table))
        assert type(model.summary_) is kind


# ---- batches that fail --------------------------------------------------------------------------


def _with(X, row, value):
    X = X.copy()
    X[row, 1] = value
    return X


def _refused(X):
    """Arguments of a call that fails, and its error."""
    return {
        "nan": ((_with(X, 30, np.nan),), NotFiniteError),
        "infinity": ((_with(X, 0, np.inf),), NotFiniteError),
        "sparse nan": ((sp.csr_array(_with(X, 3, np.nan)),), NotFiniteError),
        "squares overflow": ((_with(X, 3, 1e200),), NotFiniteError),
        "wrong columns": ((X[:, :4],), ShapeError),
        "one dimension": ((X[0],), ValueError),
        "text": (([["a"] * 5],), NotNumericError),
        "complex": ((X * 1j,), NotNumericError),
        "nan in a later chunk": ((iter([X[:20], X[20:30], _with(X, 3, np.nan)]),), NotFiniteError),
        "wrong columns in a later chunk": ((iter([X, X[:, :3]]),), ValueError),
        "negative weight": ((X, None, np.r_[1, -1, np.ones(38)]), ParameterError),
        "nan weight": ((X, None, np.full(40, np.nan)), ParameterError),
        "too few weights": ((X, None, np.ones(39)), ShapeError),
        "weights of two dimensions": ((X, None, np.ones((40, 1))), ShapeError),
        "no such file": (("nothing.csv",), FileNotFoundError),
        "nothing": ((None,), ValueError),
    }


@pytest.mark.parametrize("name", _refused(np.ones((40, 5))))
@pytest.mark.usefixtures("small_blocks")
def test_a_batch_that_is_refused_adds_nothing(name, table):
    """The bits that follow are as if it had never been; even where a part of it was good."""
    arguments, error = _refused(table[:40])[name]
    model = PCA().partial_fit(table[:83])
    before = pickle.loads(pickle.dumps(model))
    with pytest.raises(error):
        model.partial_fit(*arguments)
    assert_same_bits(model, before)
    assert_same_bits(model.partial_fit(table[83:]), PCA().fit(table))


EMPTY = {
    "array": lambda X: X[:0],
    "sparse": lambda X: sp.csr_array(X[:0]),
    "frame": lambda X: pd.DataFrame(X[:0]),
    "integers": lambda X: X[:0].astype(int),
}


@pytest.mark.parametrize("kind", EMPTY)
@pytest.mark.parametrize("model", [PCA(2), IncrementalPCA(2), PCA(2, decay=0.9)], ids=str)
def test_a_batch_without_rows_adds_nothing(model, kind, table):
    """At any time: what follows has the bits of the rows alone."""
    empty = EMPTY[kind](table)
    once = clone(model).partial_fit(table)
    model = clone(model).partial_fit(empty)
    with pytest.raises(NotAvailableError, match="so far there are 0"):
        _ = model.mean_
    for rows in (table[:70], empty, table[70:]):
        assert model.partial_fit(rows) is model
    assert_same_bits(model, once)
    assert_same_bits(model.partial_fit(empty, sample_weight=[]), once)
    if model.get_params().get("decay", 1.0) == 1.0:
        assert_same_bits(model.forget(empty), once)
    with pytest.raises(ShapeError, match="4 features"):
        model.partial_fit(table[:0, :4])
    with pytest.raises(ShapeError, match="weights"):
        model.partial_fit(empty, sample_weight=[1.0])
    assert_same_bits(model, once)


def test_a_fit_takes_a_batch_without_rows_whatever_it_kept(table):
    model = PCA(2, svd_solver="row_gram").fit(table)
    assert model.partial_fit(table[:0]) is model
    with pytest.raises(ShapeError, match="0 sample"):
        IncrementalPCA(2).fit(table[:0])
    named = PCA().partial_fit(pd.DataFrame(table, columns=list("abcde")))
    with pytest.raises(ColumnError, match="feature names"):
        named.partial_fit(pd.DataFrame(table[:0], columns=list("abcdz")))


def test_a_first_batch_that_is_refused_leaves_an_unfitted_model(table):
    model = PCA()
    with pytest.raises(NotFiniteError):
        model.partial_fit(pd.DataFrame(table * np.nan))
    assert set(vars(model)) == set(vars(PCA()))
    assert_same_bits(model.partial_fit(table[:, :3]), PCA().fit(table[:, :3]))


@pytest.mark.parametrize("after", [0, 1, 2])
@pytest.mark.parametrize("call", ["partial_fit", "forget", "merge"])
@pytest.mark.usefixtures("small_blocks")
def test_an_interrupted_call_changes_nothing(call, after, table, monkeypatch):
    model = PCA(2).partial_fit(table[:93])
    before = pickle.loads(pickle.dumps(model))
    other = PCA(2).partial_fit(table[:13])
    of, calls = Moments.of, []

    def interrupted(*arguments, **named):
        calls.append(1)
        if len(calls) > after:
            raise KeyboardInterrupt
        return of(*arguments, **named)

    with monkeypatch.context() as patch:
        patch.setattr(Moments, "of", interrupted)
        rows = other if call == "merge" else iter([table[:30], table[30:80]])
        with pytest.raises(KeyboardInterrupt):
            getattr(model, call)(rows)
    assert_same_bits(model, before)
    assert_same_bits(model.partial_fit(table[93:]), PCA(2).fit(table))


@pytest.mark.parametrize("solver", ["covariance_eigh", "sketch"])
def test_values_whose_squares_overflow_are_refused_when_they_come(solver, table):
    """Later would be too late: the rows that wait cannot be told apart any more."""
    model = PCA(2, svd_solver=solver).partial_fit(table)
    one = _with(table, 7, 1e170)[7:8]
    for batch in (one, sp.csr_array(one), table * 1e160, np.vstack([one, -one])):
        with pytest.raises(NotFiniteError, match="overflow"):
            model.partial_fit(batch)
    # Nor may rows add up to it that are lawful one by one.
    model = PCA(2, svd_solver=solver).partial_fit(one)
    with pytest.raises(NotFiniteError, match="squares of column 1 overflow"):
        model.partial_fit(-one)
    # A column of a large value that does not vary is lawful, and float32 has no such values.
    constant = np.c_[np.full(200, 1e200), table]
    model = online(PCA(2, svd_solver=solver), constant, 9)
    np.testing.assert_allclose(
        model.explained_variance_, truth(table)[0][:2], rtol=8 * 206 * EPS * 5
    )
    large = (table * 1e30).astype(np.float32)
    assert online(PCA(2, svd_solver=solver), large, 9).n_samples_ == 200


def test_what_a_fit_never_looks_at_a_batch_may_hold_too(table):
    """Rows of no weight, and rows that are dropped, whatever stands beside their NaN."""
    weights = np.ones(200)
    weights[3] = 0
    for value in (np.nan, np.inf):
        X = _with(table, 3, value)
        whole = PCA().fit(X, sample_weight=weights)
        assert_same_bits(online(PCA(), X, 7, weights), whole)
    X = table.copy()
    X[3, :2] = np.nan, np.inf
    for kind in (np.asarray, sp.csr_array):
        model = PCA(missing="drop").partial_fit(kind(X))
        assert (model.n_samples_, model.n_dropped_) == (199, 1)
    with pytest.raises(NotFiniteError, match="infin"):
        model.partial_fit(_with(table, 5, -np.inf))


def test_other_parameters_between_batches(table):
    """What shapes the sums cannot change under way; what only reads them can."""
    for changed in ({"decay": 0.5}, {"missing": "drop"}):
        model = PCA().partial_fit(table[:100])
        (name,) = changed
        with pytest.raises(ParameterError, match=f"{name} was changed between batches") as caught:
            model.set_params(**changed).partial_fit(table[100:])
        assert caught.value.place == {"parameter": name}
        model.set_params(**{name: getattr(PCA(), name)}).partial_fit(table[100:])
        assert_same_bits(model, PCA().fit(table))
    for changed in ({"scale": "unit"}, {"center": False}, {"n_components": 2}, {"whiten": True}):
        model = PCA().partial_fit(table[:100]).set_params(**changed).partial_fit(table[100:])
        assert_same_bits(model, PCA(**changed).fit(table))
    model = PCA().partial_fit(table[:100]).set_params(scale="range").partial_fit(table[100:])
    with pytest.raises(NotAvailableError, match="range"):
        _ = model.components_
    with pytest.raises(NotAvailableError, match="range"):
        PCA().fit(table).set_params(scale="range").partial_fit(table)
    with pytest.raises(ParameterError, match="not lawful"):
        model.set_params(scale="wide").partial_fit(table)
    # A fit that kept ranges goes on without them where they would stand in the way.
    model = PCA(scale="range").fit(table[:100]).set_params(scale=None, decay=0.9)
    assert model.partial_fit(table[100:]).summary_.rows < 11
    model = PCA(scale="range").fit(table[:100]).rescaled(None).partial_fit(table[100:])
    assert_close(model.rescaled("range"), PCA(scale="range").fit(table))


# ---- merge --------------------------------------------------------------------------------------


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("solver", EXACT)
@pytest.mark.usefixtures("small_blocks")
def test_fits_merge_in_any_order(solver, option, table, tmp_path):
    """Fits, streams in mid-block and loaded models are all sums of their rows."""
    make = {"svd_solver": solver, **OPTIONS[option]}
    PCA(**make).fit(table[110:150]).save(tmp_path / "third.pca")

    def parts():
        return [
            PCA(**make).fit(table[:37]),
            online(PCA(**make), table[37:110], 5),
            princomp.load(tmp_path / "third.pca"),
            PCA(**make).partial_fit(table[150:151]),
            online(PCA(**make), table[151:], 11),
        ]

    whole = PCA(**make).fit(table)
    for order in ([0, 1, 2, 3, 4], [4, 2, 0, 3, 1], [3, 4, 1, 0, 2]):
        first, *others = (parts()[i] for i in order)
        befores = [pickle.loads(pickle.dumps(other)) for other in others]
        for other in others:
            assert first.merge(other) is first
        for other, before in zip(others, befores, strict=True):
            rest = table[:2] + 1.0
            assert_same_bits(other.partial_fit(rest), before.partial_fit(rest))
        assert_close(first, whole)
        assert first.n_samples_ == 200
    a, b, c, d, e = parts()
    assert_close(a.merge(b.merge(c)).merge(d.merge(e)), whole)


# ---- fits by different routes merge -------------------------------------------------------------


def _loaded(model, path):
    model.save(path / "kept.pca", overwrite=True)
    return princomp.load(path / "kept.pca")


# Every way to a fit of some rows with the same parameters; None where they have no such way.
ROUTES = {
    "fit": lambda make, X, w, path: make().fit(X, sample_weight=w),
    "partial_fit": lambda make, X, w, path: make().partial_fit(X, sample_weight=w),
    "both": lambda make, X, w, path: (
        make().fit(X[:9], sample_weight=w[:9]).partial_fit(X[9:], sample_weight=w[9:])
    ),
    "forget": lambda make, X, w, path: (
        make()
        .fit(sp.vstack([X[:5], X]) if sp.issparse(X) else np.vstack([X[:5], X]),
             sample_weight=np.r_[w[:5], w])
        .forget(X[:5], sample_weight=w[:5])
    ),
    "file": lambda make, X, w, path: _loaded(make().fit(X, sample_weight=w), path),
}  # fmt: skip
# Rows and columns of the two parts: what 'auto' keeps of each is said beside it.
SHAPES = {
    "Triangle and Moments": (30, 170, 40),
    "Triangle and Triangle": (30, 35, 80),
    "Columns and Columns": (30, 35, 90),
    "Triangle and Columns": (9, 35, 90),
}
ROWS = {
    "plain": {},
    "weighted": {},
    "float32": {},
    "sparse": {},
    "unit": {"scale": "unit"},
    "range": {"scale": "range"},
    "uncentred": {"center": False},
    "dropped": {"missing": "drop"},
}


def _of_routes(shape, rows):
    """Two parts of a table with their weights, and the same as dense rows without holes."""
    n, m, p = SHAPES[shape]
    rng = np.random.default_rng(17)
    X = rng.standard_normal((n + m, p)) * np.linspace(3, 1, p) + 2
    w = np.ones(n + m)
    if rows == "weighted":
        w = rng.integers(0, 4, n + m) * 1.0
    if rows == "float32":
        X = X.astype(np.float32)
    if rows == "sparse":
        X[rng.random(X.shape) < 0.7] = 0.0
    known, used = X, w
    if rows == "dropped":
        X = X.copy()
        X[[3, n + 7], [1, 2]] = np.nan
        whole = ~np.isnan(X).any(axis=1)
        known, used = X[whole], w[whole]
    X = sp.csr_array(X) if rows == "sparse" else X
    return (X[:n], w[:n]), (X[n:], w[n:]), (known, used)


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("shape", SHAPES)
def test_fits_with_equal_parameters_merge_whatever_route_they_took(
    shape, rows, tmp_path, monkeypatch
):
    """Against the SVD of all rows, to the precision of the coarser of both routes.

    An entry of a scatter is off by a few (n + p) units of √(Sᵢᵢ Sⱼⱼ), so a variance by that of
    the trace: float32 rows are multiplied in float32 by a fit, and a product of rows or of
    columns adds min(n, p) roundings. Forgetting five rows of 25 loses less than a bit, twice.
    """
    (one, w1), (other, w2), (X, w) = _of_routes(shape, rows)
    options = ROWS[rows]
    if "Columns" in shape:  # as tables of 2¹⁸ numbers are
        monkeypatch.setattr(princomp.planning.routes, "SMALL", 900)
        assert PCA(**options).fit(other, sample_weight=w2).plan_.summary == "columns"

    def make():
        return PCA(**options)

    center = options.get("center", True)
    scale = {
        "unit": lambda: np.sqrt(truth_of_columns(X, w)),
        "range": lambda: np.ptp(X[w > 0], axis=0),
    }.get(rows, lambda: None)()
    variances, _ = truth(X, weights=w, divisor=scale, center=center)
    unit = EPS32 if rows == "float32" else EPS
    error = 8 * min(sum(X.shape), 2 * len(X)) * unit * variances.sum()
    # A weighted row is a fraction of one, and so are the products that centre it.
    cases = [(r, s) for r in ROUTES for s in ROUTES if r in ("fit", "file") or s == "fit"]
    for first, second in cases:
        if "forget" in (first, second) and rows == "range":
            continue  # refused
        mine = ROUTES[first](make, one, w1, tmp_path)
        theirs = ROUTES[second](make, other, w2, tmp_path)
        for model, added in ((mine, theirs), (theirs, copy.copy(mine))):
            merged = copy.copy(model).merge(added)
            k = min(merged.n_components_, len(variances))
            np.testing.assert_allclose(
                merged.explained_variance_[:k], variances[:k], rtol=0, atol=error,
                err_msg=f"{first}, {second}",
            )  # fmt: skip
            assert (merged.explained_variance_[k:] <= error).all()
            assert merged.n_samples_ == len(X)
            np.testing.assert_allclose(merged.total_variance_, variances.sum(), rtol=0, atol=error)
            # The certificate allows for what was lost.
            spectrum = merged._state.spectrum
            claim = spectrum.roundoff * (1 if spectrum.squared else 2) * variances.sum()
            off = np.abs(merged.explained_variance_[:k] - variances[:k]).max()
            assert off <= 4 * claim


def truth_of_columns(X, w):
    moved = X - np.average(X.astype(np.longdouble), axis=0, weights=w)
    return np.asarray(w @ moved**2 / (w.sum() - 1), dtype=np.float64)


def test_the_plan_says_what_a_merge_of_two_kinds_keeps():
    Z = np.random.default_rng(0).standard_normal((200, 40))
    few, many = PCA().fit(Z[:30]), PCA().fit(Z[30:])
    assert [type(m.summary_) for m in (few, many)] == [Triangle, Moments]
    told = "merged fits kept Moments and Triangle: a scatter is kept"
    for one, other in ((few, many), (many, few)):
        merged = copy.copy(one).merge(other)
        assert type(merged.summary_) is Moments
        assert merged.plan_.reasons[1].startswith(told)
    # Two of one kind need no word; rows that follow do not take it back.
    assert copy.copy(few).merge(few).plan_.reasons[1:] == ()
    assert merged.partial_fit(Z[:3]).plan_.reasons[1].startswith(told)


def test_a_triangle_forgets_by_way_of_its_scatter():
    Z = np.random.default_rng(0).standard_normal((30, 40))
    model = PCA().fit(Z)
    assert type(model.summary_) is Triangle
    model.forget(Z[:5])
    # 25 rows left of 30: the roundings of both are six fifths of those of the rest.
    error = 16 * 70 * EPS * truth(Z)[0].sum()
    np.testing.assert_allclose(model.explained_variance_[:25], truth(Z[5:])[0], rtol=0, atol=error)
    assert type(model.summary_) is Moments
    assert "squared to a scatter" in model.plan_.reasons[1]
    # A scatter that does not fit is refused, and nothing is changed.
    wide = PCA(memory_limit="20MB").fit(np.random.default_rng(0).standard_normal((20, 2000)))
    with pytest.raises(MemoryLimitError, match="a scatter of 2,000 columns"):
        wide.forget(np.zeros((1, 2000)))
    assert type(wide.summary_) is Triangle


@pytest.mark.parametrize(
    ("options", "p", "hint"),
    [
        ({"memory_limit": "50MB"}, 300, "svd_solver='covariance_eigh'"),
        ({"memory_limit": "5MB"}, 400, "n_components=None"),
    ],
)
def test_what_is_advised_where_components_are_missing_works(options, p, hint, monkeypatch):
    """A fit of a few components without a scatter is no sum of its rows: the hint keeps one."""
    monkeypatch.setattr(princomp.planning.routes, "SMALL", 900)
    X = np.random.default_rng(3).standard_normal((200, p)) * np.r_[9, 7, 5, np.ones(p - 3)]
    make = {"n_components": 2, **options}
    with pytest.raises(NotAvailableError, match="kept no scatter, and 2 of 89 comp") as caught:
        PCA(**make).fit(X[:90]).merge(PCA(**make).fit(X[90:]))
    assert hint in caught.value.hint
    make |= {"svd_solver": "covariance_eigh"} if "eigh" in hint else {"n_components": None}
    merged = PCA(**make).fit(X[:90]).merge(PCA(**make).fit(X[90:])).truncated(2)
    variances = truth(X)[0]
    error = 8 * 400 * EPS * variances.sum()
    np.testing.assert_allclose(merged.explained_variance_, variances[:2], rtol=0, atol=error)


def test_ranges_that_nobody_asks_for_any_more_do_no_harm(table):
    ranged = PCA(scale="range").fit(table)
    assert ranged.rescaled(None).merge(PCA().fit(table)).n_samples_ == 400
    model = ranged.rescaled(None).forget(table[:70])
    assert_close(model, PCA().fit(table[70:]))


def test_a_merged_model_goes_on_and_the_other_too(table):
    a, b = PCA().partial_fit(table[:60]), PCA().partial_fit(table[60:150])
    a.merge(b).partial_fit(table[150:])
    b.partial_fit(table[150:]).forget(table[150:])
    assert_close(a, PCA().fit(table))
    assert_close(b, PCA().fit(table[60:150]))
    a.merge(a)
    np.testing.assert_allclose(a.mean_, table.mean(axis=0), rtol=1e-13)
    assert a.n_samples_ == 400


def test_merging_takes_the_wider_precision(table):
    single = table.astype(np.float32)
    one = PCA().partial_fit(single[:50])
    assert one.merge(PCA().partial_fit(single[50:])).components_.dtype == np.float32
    assert one.merge(PCA().partial_fit(table)).components_.dtype == np.float64


def test_fits_that_do_not_go_together_are_not_merged(table):
    model = PCA().partial_fit(table)
    before = bits(model)
    for other, error, match in (
        (PCA().fit(table[:, :4]), ShapeError, "4 features"),
        (table, ParameterError, "merge takes a fitted PCA, got ndarray"),
        (PCA(2, svd_solver="arpack").fit(table), NotAvailableError, "no scatter"),
    ):
        with pytest.raises(error, match=match):
            model.merge(other)
    assert bits(model) == before
    ranged = PCA(scale="range").fit(table)
    with pytest.raises(NotAvailableError, match="range"):
        ranged.merge(model)
    assert model.merge(ranged).n_samples_ == 400
    named = [PCA().fit(pd.DataFrame(table, columns=list(order))) for order in ("abcde", "abced")]
    with pytest.raises(ColumnError, match="their order"):
        named[0].merge(named[1])
    with pytest.raises(ColumnError, match="missing: e; new: z"):
        named[0].merge(PCA().fit(pd.DataFrame(table, columns=list("abcdz"))))
    two, three = (PCA(k, svd_solver="sketch").partial_fit(table) for k in (0, 3))
    if two.summary_.width != three.summary_.width:
        with pytest.raises(ShapeError, match="directions"):
            two.merge(three)


@pytest.mark.parametrize("turn", [1, -1])
def test_an_unfitted_model_cannot_be_merged(turn, table):
    one, other = [PCA().fit(table), PCA()][::turn]
    with pytest.raises(NotFittedError):
        one.merge(other)


# ---- forget -------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["auto", "covariance_eigh"])
@pytest.mark.parametrize("weighted", [False, True])
def test_forgetting_is_the_inverse_of_adding(solver, weighted, table, rng):
    weights = rng.integers(1, 4, 200) * 1.0 if weighted else None
    each = (None, None) if weights is None else (weights[:70], weights[70:])
    for kind in (np.asarray, sp.csr_array):
        model = PCA(svd_solver=solver).fit(kind(table), sample_weight=weights)
        assert model.forget(kind(table[:70]), sample_weight=each[0]) is model
        rest = Checked(svd_solver=solver).fit(table[70:], sample_weight=each[1])
        assert_true(rest, table[70:], weights=each[1])
        # What is left has the rounding of all: about 200/130 of its own.
        assert_close(model, rest)
        assert model.n_samples_ == 130
        # And back again.
        model.partial_fit(kind(table[:70]), sample_weight=each[0])
        assert_close(model, PCA(svd_solver=solver).fit(table, sample_weight=weights))


def test_what_is_left_has_the_rounding_of_what_was_there(table):
    """The error is u times the larger scatter: a loud part that goes leaves its rounding."""
    for loud in (1.0, 1e3, 1e6):
        model = PCA().fit(np.vstack([loud * table[:100], table[100:]]))
        model.forget(loud * table[:100])
        true = truth(table[100:])[0]
        # The scatter that was there about the mean of all rows, and the sums that moved it.
        was = truth(np.vstack([loud * table[:100], table[100:]]))[0].sum() * 199
        error = 16 * 205 * EPS * was / 99
        np.testing.assert_allclose(model.explained_variance_, true, rtol=0, atol=error)


def test_a_window_stays_accurate_over_thousands_of_steps(rng):
    """One row in and one row out, 3,000 times.

    A step rounds each entry of the scatter a few times (subtract, move to the mean; add, move),
    by eps/2 of √(Sᵢᵢ Sⱼⱼ) each. Roundings have no favourite side, so m steps come to √m of one;
    16 of them are allowed for, and a bias, which would come to m, would be 50 times that.
    """
    steps, window, p = 3000, 100, 4
    X = rng.standard_normal((steps + window, p)) * [3, 1, 0.5, 0.1] + [100, 0, -10, 1]
    model = PCA().partial_fit(X[:window])
    for at in range(steps):
        model.forget(X[at : at + 1]).partial_fit(X[at + window : at + window + 1])
        if at == 0:
            assert model.n_samples_ == window
    left = X[steps:]
    moved = left - left.mean(axis=0)
    true = moved.T @ moved
    size = np.sqrt(true.diagonal())
    allowed = 16 * (np.sqrt(steps) + window) * EPS
    assert (np.abs(model.summary_.scatter - true) <= allowed * np.outer(size, size)).all()
    np.testing.assert_allclose(model.mean_, left.mean(axis=0), rtol=0, atol=allowed * 100)
    variances, axes = truth(left)
    error = allowed * variances.sum()
    np.testing.assert_allclose(model.explained_variance_, variances, rtol=0, atol=error)
    gaps = -np.diff(variances)
    assert sine(model.components_[:1], axes[:1]) <= error / gaps[0]
    assert model.n_samples_ == window
    assert model.summary_.count == window


@pytest.mark.parametrize("solver", ["auto", "sketch"])
@pytest.mark.parametrize("scale", [None, "unit"])
def test_the_certificate_says_what_forgetting_lost(solver, scale):
    """Rows that are 10⁶ times larger leave their rounding, which the certificate allows for."""
    rng = np.random.default_rng(1)
    quiet = rng.standard_normal((300, 5)) * [3, 2, 1, 0.5, 0.2]
    # Beyond 10⁵ nothing is left of the last column, and scale='unit' refuses it as constant.
    for loud in (1.0, 1e3, 1e5 if scale else 1e6):
        for column in (slice(None), slice(1, 2)):
            gone = rng.standard_normal((1000, 5))
            gone[:, column] *= loud
            model = PCA(5, svd_solver=solver, scale=scale).partial_fit(np.vstack([quiet, gone]))
            model.forget(gone)
            variances = truth(quiet, divisor=quiet.std(axis=0, ddof=1) if scale else None)[0]
            spectrum = model._state.spectrum
            off = np.abs(model.explained_variance_ - variances).max() / variances[0]
            # It counts units of the products; the sum of 1,300 of them loses √n at most, and a
            # sketch divides by its core.
            assert off <= np.sqrt(1300) * spectrum.roundoff
            # And it claims no more than what was there allows: 40 + 2p units (`dense.py`).
            was = (np.vstack([quiet, gone]).var(axis=0) / quiet.var(axis=0)).max() * 1300 / 300
            assert spectrum.roundoff <= 50 * 2 * EPS * (1 + 2 * was)
    # Rows that come dilute the loss.
    before = spectrum.roundoff
    assert model.partial_fit(quiet)._state.spectrum.roundoff < before


def test_what_forgetting_lost_is_stored(table, tmp_path):
    model = PCA().partial_fit(np.vstack([table, 1e4 * table])).forget(1e4 * table)
    model.save(tmp_path / "left.pca")
    loaded = princomp.load(tmp_path / "left.pca")
    assert_same_bits(loaded, model)
    assert loaded._state.spectrum.roundoff == model._state.spectrum.roundoff > 1e-8
    assert loaded.partial_fit(table[:9]).summary_.lost.tobytes() == model.summary_.lost.tobytes()


def test_more_than_was_there_cannot_be_forgotten(table, rng):
    for model in (PCA().fit(table), PCA().partial_fit(table), PCA(missing="drop").fit(table)):
        before = bits(model)
        for rows, weights, match in (
            (np.vstack([table, table[:1]]), None, "cannot remove 201 rows from 200"),
            (table, 1.5, "cannot remove 300 rows"),
            (table[:20] * [1, 1, 50, 1, 1], None, "spread further in column 2"),
        ):
            with pytest.raises(ShapeError, match=match):
                model.forget(rows, sample_weight=weights)
            assert bits(model) == before
        with pytest.raises(ShapeError, match="4 features"):
            model.forget(table[:, :4])
        assert bits(model) == before
    # A row with a gap that never came.
    with pytest.raises(ShapeError, match="1 of the rows to remove have missing values, and 0"):
        model.forget(_with(table, 4, np.nan)[:9])
    assert bits(model) == before
    with pytest.raises(NotFiniteError):
        PCA().fit(table).forget(_with(table, 4, np.nan)[:9])


def test_rows_that_were_dropped_can_be_forgotten(table):
    X = _with(_with(table, 3, np.nan), 120, np.nan)
    model = PCA(missing="drop").partial_fit(X)
    assert (model.n_samples_, model.n_dropped_) == (198, 2)
    model.forget(X[:100])
    assert (model.n_samples_, model.n_dropped_) == (99, 1)
    assert_close(model, PCA(missing="drop").fit(X[100:]))


@pytest.mark.usefixtures("small_blocks")
def test_all_rows_forgotten_is_a_beginning(table):
    model = online(PCA(), table, 9).forget(table)
    assert not hasattr(model, "mean_")
    assert model.n_features_in_ == 5
    assert_same_bits(online(model, table, 13), PCA().fit(table))
    # By parts, as they did not come.
    model = PCA().partial_fit(table)
    for start in (150, 0, 50, 100):
        model.forget(table[start : start + 50])
    with pytest.raises(NotAvailableError, match="so far there are 0"):
        _ = model.mean_
    assert_same_bits(model.partial_fit(table), PCA().fit(table))


def test_where_rows_cannot_be_given_back(table):
    for options, match in (
        ({"svd_solver": "full"}, "triangle"),
        ({"scale": "range"}, "smallest and largest"),
        ({"decay": 0.9}, "weight of an old row"),
    ):
        model = PCA(**options).partial_fit(table)
        before = bits(model)
        with pytest.raises(NotAvailableError, match=match) as caught:
            model.forget(table[:3])
        assert caught.value.hint
        assert bits(model) == before
    with pytest.raises(NotFittedError):
        PCA().forget(table)


def test_a_single_row_can_be_forgotten(table):
    model = PCA().partial_fit(table[:1]).forget(table[:1])
    assert_same_bits(model.partial_fit(table), PCA().fit(table))


def test_nothing_can_be_forgotten_of_nothing(table):
    model = PCA().partial_fit(table).forget(table)
    with pytest.raises(ShapeError, match="cannot remove"):
        model.forget(table[:1])


def test_a_column_that_varies_no_more_can_be_saved(tmp_path):
    """A scatter of exactly nothing, not of minus a few roundings, which no file may hold."""
    for seed in range(20):
        X = np.random.default_rng(seed).standard_normal((50, 3))
        X[10:, 1] = 0.1
        model = PCA().partial_fit(X).forget(X[:10])
        assert model.var_[1] >= 0
        model.save(tmp_path / "left.pca")
        princomp.load(tmp_path / "left.pca")


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
def test_an_unlawful_decay_is_refused(decay, table):
    with pytest.raises(ParameterError, match=r"decay=.* is not lawful") as caught:
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
def test_a_fading_model_goes_on_after_it_was_stored(table, tmp_path):
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
def test_a_stored_stream_goes_on(solver, table, tmp_path):
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
    assert list(model.get_feature_names_out()) == ["pca0", "pca1"]
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
    assert list(scores.columns) == ["pca0", "pca1"]
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
    assert (model.plan_.facts.rows, model.plan_.passes) == (200, 1)
    assert not model.plan_.facts.repeatable
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


# ---- a sketch, where p × p is too much ----------------------------------------------------------


def wide(n, p, spectrum, seed=11):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, p)) * np.sqrt(spectrum) + 3


def sketching(k, **options):
    return PCA(k, svd_solver="sketch", **options)


@pytest.mark.parametrize("k", [1, 5, 20])
@pytest.mark.parametrize("spectrum", ["i**-2", "flat"])
def test_a_sketch_knows_its_error(spectrum, k):
    """The estimate has ten directions: beyond a factor of three once in thousands of times."""
    p = 600
    X = wide(900, p, np.arange(1, p + 1.0) ** -2 if spectrum == "i**-2" else np.ones(p))
    model = online(sketching(k), X, 77)
    assert model.plan_.summary == "sketch"
    moved = X - X.mean(axis=0)
    C = moved.T @ moved / 899
    axes, variances = model.components_, model.explained_variance_
    residuals = np.linalg.norm(axes @ C - variances[:, None] * axes, axis=1) / variances[0]
    estimates = model.certificate_.residuals
    assert (estimates >= residuals / 3).all()
    assert (estimates <= residuals * 3).all()
    true = truth(X)[0]
    # Nyström never exceeds the scatter; its total is exact.
    assert (variances <= true[:k] * (1 + 8 * (900 + p) * EPS)).all()
    np.testing.assert_allclose(model.total_variance_, true.sum(), rtol=8 * (900 + p) * EPS)
    if spectrum == "i**-2":
        assert (variances >= 0.85 * true[:k]).all()
        assert variances[0] >= 0.95 * true[0]


def test_a_scatter_of_low_rank_is_sketched_exactly(rng):
    """Fewer directions of variance than the sketch has: nothing is lost but rounding."""
    p = 300
    X = (rng.standard_normal((400, 6)) * [9, 5, 3, 2, 1, 0.5]) @ np.linalg.qr(
        rng.standard_normal((p, 6))
    )[0].T + 7
    true, axes = truth(X)
    for scale, center in ((None, True), (np.full(p, 2.0), True), (None, False)):
        model = online(sketching(6, scale=scale, center=center), X, 31)
        if center:
            divisor = 1.0 if scale is None else 4.0
            # Nyström squares nothing but what it is given: the condition of six variances, 324.
            np.testing.assert_allclose(model.explained_variance_, true[:6] / divisor, rtol=1e-10)
            assert sine(model.components_, axes[:6]) <= 1e-7
        else:
            np.testing.assert_allclose(
                model.explained_variance_, truth(X, center=False)[0][:6], rtol=1e-9
            )


@pytest.mark.usefixtures("small_blocks")
def test_sketches_merge_fade_forget_and_are_stored(tmp_path, rng):
    p = 120
    X = wide(300, p, np.arange(1, p + 1.0) ** -2)
    weights = rng.random(300) + 0.5
    whole = sketching(3).partial_fit(X, sample_weight=weights)

    def near(model, other, loose=1.0):
        # The solver divides by the core of the sketch: its condition, i² of a few hundreds,
        # stands before the rounding of the sums.
        error = loose * 1e4 * 420 * EPS
        total = other.total_variance_
        np.testing.assert_allclose(model.total_variance_, total, rtol=error)
        np.testing.assert_allclose(model.mean_, other.mean_, rtol=error)
        np.testing.assert_allclose(
            model.explained_variance_, other.explained_variance_, rtol=0, atol=error * total
        )
        assert sine(model.components_, other.components_) <= 10 * error
        assert model.n_samples_ == other.n_samples_

    near(online(sketching(3), X, 7, weights), whole)
    near(online(sketching(3), sp.csr_array(X), 70, weights), whole)
    a = sketching(3).partial_fit(X[:100], sample_weight=weights[:100])
    b = sketching(3).partial_fit(X[100:], sample_weight=weights[100:])
    before = pickle.loads(pickle.dumps(b))
    near(a.merge(b), whole)
    assert_same_bits(b, before)
    near(a.forget(X[:100], sample_weight=weights[:100]), b)
    near(a.partial_fit(X[:100], sample_weight=weights[:100]), whole)
    with pytest.raises(ShapeError, match="spread further"):
        a.forget(X[:50] * 1000)
    with pytest.raises(ShapeError, match="cannot remove"):
        b.forget(X)
    a.save(tmp_path / "a.pca")
    loaded = princomp.load(tmp_path / "a.pca")
    assert_same_bits(loaded, a)
    near(loaded.forget(X[:100], sample_weight=weights[:100]), b)
    fading = online(sketching(3, decay=0.99), X, 7)
    ages = 0.99 ** np.arange(299, -1, -1.0)
    near(fading, sketching(3).partial_fit(X, sample_weight=ages))
    near(online(sketching(3, decay=0.99), X, 64), fading)


@pytest.mark.parametrize("k", [None, 0.9, "mle"])
def test_a_sketch_needs_a_whole_number_of_components(k, table):
    with pytest.raises(ParameterError, match="n_components") as caught:
        PCA(k, svd_solver="sketch").partial_fit(table)
    assert caught.value.place == {"parameter": "n_components"}
    # So does "auto" where p × p is too much.
    with pytest.raises(ParameterError, match="n_components"):
        PCA(k).partial_fit(sp.csr_array((1, 20_000)))
    assert PCA(0, svd_solver="sketch").partial_fit(table).components_.shape == (0, 5)


def test_twenty_thousand_columns_are_kept_in_p_times_l_numbers(rng):
    p, k = 20_000, 5
    width = 4 * k + 20
    model = PCA(k)
    tracemalloc.start()
    try:
        for _ in range(6):
            model.partial_fit(
                rng.standard_normal((50, p)) * np.r_[np.arange(9, 0, -1), np.ones(p - 9)]
            )
        assert model.components_.shape == (k, p)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert type(model.summary_).__name__ == "Sketch"
    assert model.summary_.product.shape == (p, width)
    assert len(pickle.dumps(PCA.from_summary(model.summary_, n_components=k))) < 3 * p * width * 8
    # Two blocks of rows that wait (128 × p) and some p × l: a twentieth of p × p numbers.
    assert peak < 8 * (8 * p * width + 5 * 128 * p) < p * p * 8 / 20


def test_a_sketch_of_few_rows(table):
    """Fewer rows than components, fewer columns than directions, columns without spread."""
    model = sketching(4).partial_fit(table[:1])
    assert not hasattr(model, "components_")
    model.partial_fit(table[1:3])
    assert model.n_components_ == 3
    np.testing.assert_allclose(model.explained_variance_[:2], truth(table[:3])[0][:2], rtol=1e-12)
    assert model.explained_variance_[2] == 0
    constant = sketching(2).partial_fit(np.ones((30, 4)))
    assert (constant.explained_variance_ == 0).all()
    assert_orthonormal(constant.components_)
    full = sketching(5).partial_fit(table)
    np.testing.assert_allclose(full.explained_variance_, truth(table)[0], rtol=1e-11)


def test_a_sketch_does_not_invent_components(rng):
    """A sketch for two has eighteen directions; a thirtieth component is not in it."""
    X = rng.standard_normal((300, 200))
    model = sketching(2).partial_fit(X)
    with pytest.raises(NotAvailableError, match="component"):
        model.truncated(30)
    model.set_params(n_components=30).partial_fit(X)
    with pytest.raises(NotAvailableError, match="component"):
        _ = model.explained_variance_


# ---- memory -------------------------------------------------------------------------------------


def test_a_scatter_that_does_not_fit_gives_way_to_a_sketch_or_is_refused(rng):
    X = rng.standard_normal((30, 1200))
    limit = "20MB"  # a scatter of 1,200 columns is 12 MB, and several are held at once
    model = PCA(3, memory_limit=limit).partial_fit(X)
    assert model.plan_.summary == "sketch"
    for parameters in ({"n_components": 0.9}, {"n_components": 3, "svd_solver": "covariance_eigh"}):
        with pytest.raises(MemoryLimitError, match=r"1,200 columns takes about .* MB"):
            PCA(memory_limit=limit, **parameters).partial_fit(X)
    assert PCA(3, memory_limit="1GB").partial_fit(X).plan_.summary == "moments"
