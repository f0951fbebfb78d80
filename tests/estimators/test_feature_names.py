"""Names of columns that are not those of the fit."""

from __future__ import annotations

import warnings
from contextlib import nullcontext

import numpy as np
import pandas as pd
import pytest
from sklearn import decomposition

from engines.on_partitions import Partitions
from princomp import PCA
from princomp.errors import ColumnError


@pytest.fixture
def frame(rng):
    return pd.DataFrame(rng.standard_normal((20, 7)), columns=list("abcdefg"))


@pytest.mark.parametrize("changed", ["a", "abcde", "abcdef", "abcdefg"])
def test_other_names_are_refused_in_the_words_of_scikit_learn(changed, frame):
    other = frame.rename(columns={name: name.upper() for name in changed})
    with pytest.raises(ValueError, match="unseen at fit time") as theirs:
        decomposition.PCA(2).fit(frame).transform(other)
    with pytest.raises(ColumnError, match="unseen at fit time") as ours:
        PCA(2).fit(frame).transform(other)
    assert ours.value.message == str(theirs.value).strip()
    assert ours.value.place == {"missing": list(changed), "new": list(changed.upper())}


def test_names_in_another_order_are_refused_with_a_hint_that_works(frame):
    other, model = frame[list("gfedcba")], PCA(2).fit(frame)
    with pytest.raises(ValueError, match="same order") as theirs:
        decomposition.PCA(2).fit(frame).transform(other)
    with pytest.raises(ColumnError, match="same order") as ours:
        model.transform(other)
    assert ours.value.message == str(theirs.value).strip()
    code = ours.value.hint.partition("in their order: ")[2]
    np.testing.assert_array_equal(
        model.transform(eval(code, {"X": other, "model": model})), model.transform(frame)
    )


def test_a_row_index_of_pyarrow_is_used_if_it_is_a_column_of_the_fit(frame):
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.Table.from_pandas(frame.set_index("a")).select(list(frame))
    model = PCA(2).fit(frame)
    np.testing.assert_array_equal(model.transform(table), model.transform(frame))
    assert model.partial_fit(table[:0]).n_samples_ == 20
    # Otherwise it is no column.
    others = frame.drop(columns="a")
    model = PCA(2).fit(others)
    np.testing.assert_array_equal(model.transform(table), model.transform(others))


def test_names_of_columns_on_an_engine_are_compared_with_those_of_the_fit(frame):
    model, X = PCA(2).fit(frame), frame.to_numpy()
    options = {"engine": "partitions", "rows": 20, "p": 7, "dtype": X.dtype, "parts": [X]}
    for names in (tuple("abcdefg"), None):
        context = warns_without_names() if names is None else nullcontext()
        with context:
            scores = model.transform(Partitions(**options, columns=names))
        np.testing.assert_array_equal(np.vstack(scores), model.transform(frame))
    with pytest.raises(ColumnError, match="feature names are not those of the fit") as caught:
        model.transform(Partitions(**options, columns=tuple("abcdefz")))
    assert caught.value.place == {"missing": ["g"], "new": ["z"]}
    with pytest.warns(UserWarning, match="X has feature names, but PCA was fitted without"):
        PCA(2).fit(X).transform(Partitions(**options, columns=tuple("abcdefg")))


def warns_without_names():
    return pytest.warns(UserWarning, match="X does not have valid feature names")


@pytest.mark.parametrize("p", [1, 2, 3])
def test_a_column_of_times_causes_a_warning_unless_it_is_the_only_one(p, frame):
    table = frame.iloc[:, :p].abs().cumsum().set_axis(["time", "b", "c"][:p], axis=1)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        PCA(1).fit(table)
    found = [str(one.message).partition(" only")[0] for one in caught]
    assert found == (["'time', the first column,"] if p > 1 else [])


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_the_id_column_of_a_fit_may_be_in_new_frames(library):
    """The command line sets it; the id can be a number."""
    frame = pytest.importorskip(library).DataFrame
    rows = {name: np.arange(12.0) ** k % 7 for k, name in enumerate("abc", start=1)}
    model = PCA(2).fit(frame(rows))
    model.id_column_ = "uid"
    scores = model.transform(frame(rows))
    with_ids = frame({"uid": np.arange(12) + 1000, **rows})
    np.testing.assert_array_equal(model.transform(with_ids), scores)
    with pytest.raises(ColumnError, match="'other'") as caught:
        model.transform(frame({"other": np.arange(12), **rows}))
    advice = "X[model.feature_names_in_]" if library == "pandas" else "X.select(list("
    assert advice in caught.value.hint
    assert model.partial_fit(with_ids).n_samples_ == 24
