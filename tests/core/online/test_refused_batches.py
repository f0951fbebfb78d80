"""partial_fit: batches that are refused or interrupted change nothing."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from online_cases import assert_close, assert_same_bits, fit_in_batches, with_value
from sklearn.base import clone

from helpers import EPS, truth
from princomp import PCA, IncrementalPCA
from princomp.errors import (
    ColumnError,
    NotAvailableError,
    NotFiniteError,
    NotNumericError,
    ParameterError,
    ShapeError,
)
from princomp.summaries import Moments

# ---- batches that fail --------------------------------------------------------------------------


def _refused_calls(X):
    """Arguments of a call that fails, and its error."""
    return {
        "nan": ((with_value(X, 30, np.nan),), NotFiniteError),
        "infinity": ((with_value(X, 0, np.inf),), NotFiniteError),
        "sparse nan": ((sp.csr_array(with_value(X, 3, np.nan)),), NotFiniteError),
        "squares overflow": ((with_value(X, 3, 1e200),), NotFiniteError),
        "wrong columns": ((X[:, :4],), ShapeError),
        "one dimension": ((X[0],), ValueError),
        "text": (([["a"] * 5],), NotNumericError),
        "complex": ((X * 1j,), NotNumericError),
        "nan in a later chunk": (
            (iter([X[:20], X[20:30], with_value(X, 3, np.nan)]),),
            NotFiniteError,
        ),
        "wrong columns in a later chunk": ((iter([X, X[:, :3]]),), ValueError),
        "negative weight": ((X, None, np.r_[1, -1, np.ones(38)]), ParameterError),
        "nan weight": ((X, None, np.full(40, np.nan)), ParameterError),
        "too few weights": ((X, None, np.ones(39)), ShapeError),
        "weights of two dimensions": ((X, None, np.ones((40, 1))), ShapeError),
        "no such file": (("nothing.csv",), FileNotFoundError),
        "nothing": ((None,), ValueError),
    }


@pytest.mark.parametrize("name", _refused_calls(np.ones((40, 5))))
@pytest.mark.usefixtures("small_blocks")
def test_a_batch_that_is_refused_adds_nothing(name, table):
    """Later bits are as if it had never been given, even if a part of it was valid."""
    arguments, error = _refused_calls(table[:40])[name]
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
    """At any time: the result has the bits of the rows alone."""
    empty = EMPTY[kind](table)
    once = clone(model).partial_fit(table)
    model = clone(model).partial_fit(empty)
    with pytest.raises(NotAvailableError, match="got 0 so far"):
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


def test_any_fit_accepts_a_batch_without_rows(table):
    model = PCA(2, svd_solver="row_gram").fit(table)
    assert model.partial_fit(table[:0]) is model
    with pytest.raises(ShapeError, match="0 sample"):
        IncrementalPCA(2).fit(table[:0])
    named = PCA().partial_fit(pd.DataFrame(table, columns=list("abcde")))
    with pytest.raises(ColumnError, match="feature names"):
        named.partial_fit(pd.DataFrame(table[:0], columns=list("abcdz")))


@pytest.mark.parametrize("library", [pd.DataFrame, pl.from_pandas])
def test_a_frame_without_rows_may_have_columns_that_a_fit_leaves_out(library, table):
    frame = pd.DataFrame(table, columns=list("abcde")).assign(name="x")
    frame.insert(0, "id", range(len(frame)))
    rows, empty = library(frame), library(frame[:0])
    for first, second in ((rows, empty), (empty, rows)):
        model = PCA(2)
        with pytest.warns(UserWarning, match="left out .*id.* name") as caught:
            model.partial_fit(first)
        assert {warning.filename for warning in caught} == {__file__}
        model.partial_fit(second)
        assert model.forget(empty).feature_names_in_.tolist() == list("abcde")
        np.testing.assert_array_equal(model.components_, PCA(2).partial_fit(table).components_)
    untyped = pd.DataFrame(columns=list("abcde"))
    assert PCA(2).partial_fit(untyped).n_features_in_ == 5


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
    original, calls = Moments.of, []

    def interrupted(*arguments, **options):
        calls.append(1)
        if len(calls) > after:
            raise KeyboardInterrupt
        return original(*arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(Moments, "of", interrupted)
        rows = other if call == "merge" else iter([table[:30], table[30:80]])
        with pytest.raises(KeyboardInterrupt):
            getattr(model, call)(rows)
    assert_same_bits(model, before)
    assert_same_bits(model.partial_fit(table[93:]), PCA(2).fit(table))


@pytest.mark.parametrize("solver", ["covariance_eigh", "sketch"])
def test_values_whose_squares_overflow_are_refused_at_once(solver, table):
    """Later it would be unknown which of the buffered rows they are in."""
    model = PCA(2, svd_solver=solver).partial_fit(table)
    row = with_value(table, 7, 1e170)[7:8]
    for batch in (row, sp.csr_array(row), table * 1e160, np.vstack([row, -row])):
        with pytest.raises(NotFiniteError, match="overflow"):
            model.partial_fit(batch)
    # Rows that are valid one by one may not add up to an overflow.
    model = PCA(2, svd_solver=solver).partial_fit(row)
    with pytest.raises(NotFiniteError, match="squares of column 1 overflow"):
        model.partial_fit(-row)
    # A constant column of a large value is valid, and float32 has no such values.
    constant = np.c_[np.full(200, 1e200), table]
    model = fit_in_batches(PCA(2, svd_solver=solver), constant, 9)
    np.testing.assert_allclose(
        model.explained_variance_, truth(table)[0][:2], rtol=8 * 206 * EPS * 5
    )
    large = (table * 1e30).astype(np.float32)
    assert fit_in_batches(PCA(2, svd_solver=solver), large, 9).n_samples_ == 200


def test_batches_may_contain_nan_in_unused_rows(table):
    """Rows of weight zero, and dropped rows, whatever else they contain."""
    weights = np.ones(200)
    weights[3] = 0
    for value in (np.nan, np.inf):
        X = with_value(table, 3, value)
        whole = PCA().fit(X, sample_weight=weights)
        assert_same_bits(fit_in_batches(PCA(), X, 7, weights), whole)
    X = table.copy()
    X[3, :2] = np.nan, np.inf
    for kind in (np.asarray, sp.csr_array):
        model = PCA(missing="drop").partial_fit(kind(X))
        assert (model.n_samples_, model.n_dropped_) == (199, 1)
    with pytest.raises(NotFiniteError, match="infin"):
        model.partial_fit(with_value(table, 5, -np.inf))


def test_parameters_changed_between_batches(table):
    """Parameters that shape the sums cannot change; those that only read them can."""
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
    with pytest.raises(ParameterError, match="not valid"):
        model.set_params(scale="wide").partial_fit(table)
    # A fit that kept ranges continues without them where they cannot be kept.
    model = PCA(scale="range").fit(table[:100]).set_params(scale=None, decay=0.9)
    assert model.partial_fit(table[100:]).summary_.rows < 11
    model = PCA(scale="range").fit(table[:100]).rescaled(None).partial_fit(table[100:])
    assert_close(model.rescaled("range"), PCA(scale="range").fit(table))
