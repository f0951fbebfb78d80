"""Weights that are no frequencies: what depends on the number of rows warns."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

from engines.on_partitions import Partitions
from princomp import PCA, Moments, bootstrap, choose, diagnostics, load, report
from princomp.core import are_frequencies, attach_weights, row_total, total_in_words
from princomp.core.weights import checked_weights, warn_of_sum_of_weights
from princomp.errors import ParameterError, ShapeError

N = 420
X = np.random.default_rng(3).standard_normal((N, 14))
EXPANSION = np.random.default_rng(0).uniform(300.0, 1700.0, N)
NORMALISED = EXPANSION / EXPANSION.mean()
EFFECTIVE = EXPANSION * EXPANSION.sum() / (EXPANSION**2).sum()
MODEL = PCA(3, scale="unit").fit(X, sample_weight=EXPANSION)  # warnings are errors here


def warned(call, *args):
    """The warnings of a call that are about weights."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        call(*args)
    return [str(one.message) for one in found if "weights" in str(one.message)]


def test_weights_whose_rows_count_as_more_than_their_effective_number_are_no_frequencies():
    assert EFFECTIVE.sum() == pytest.approx(EXPANSION.sum() ** 2 / (EXPANSION**2).sum())
    faded = 0.98 ** np.arange(N)
    for weights in (None, np.ones(N), np.full(N, 1000.0), EFFECTIVE, faded, np.zeros(N)):
        assert are_frequencies(weights)
    assert are_frequencies(EFFECTIVE.astype(np.float32))
    assert are_frequencies(np.full(N, 0.1) * 30)
    for weights in (EXPANSION, NORMALISED):
        assert not are_frequencies(weights)


@pytest.mark.parametrize("weights", [EXPANSION, NORMALISED], ids=["expansion", "normalised"])
@pytest.mark.parametrize(
    "call",
    [
        lambda w: PCA("parallel").fit(X, sample_weight=w),
        lambda w: choose(X, sample_weight=w),
        lambda w: bootstrap(PCA(2).fit(X, sample_weight=w), X, n=2, sample_weight=w),
        lambda w: diagnostics.metadata(MODEL, X, {"a": X[:, 0]}, w),
        lambda w: diagnostics.categories(MODEL, X, {"a": list("abcdef") * 70}, w),
        lambda w: report(PCA(2).fit(X, sample_weight=w), X, sample_weight=w, bootstrap=2),
    ],
    ids=["rule", "choose", "bootstrap", "metadata", "categories", "report"],
)
def test_results_for_the_sum_of_the_weights_warn_once(call, weights, draw_only):
    draw_only()
    (message,) = warned(call, weights)
    assert f"420 rows count as {total_in_words(weights.sum())}." in message
    assert "give w * w.sum() / (w**2).sum()" in message
    for right in (EFFECTIVE, np.full(N, 1000.0)):
        assert not warned(call, right)


class Weighing(Partitions):
    """Rows of an engine to which weights can be attached."""

    def weighted(self, sample_weight):
        return "weighted", sample_weight


class Resident(Weighing):
    """Such rows that are not brought here in chunks."""

    has_chunks = False


def test_weights_are_attached_to_the_rows_of_an_engine():
    options = {"engine": "partitions", "rows": 3, "p": 3, "dtype": np.dtype(float)}
    rows, resident = (kind(**options, parts=[np.eye(3)]) for kind in (Weighing, Resident))
    weights = np.ones(3)
    assert attach_weights(rows, None) == (rows, None)
    assert attach_weights(rows, weights) == (("weighted", weights), None)
    # Chunks of an array of weights go with chunks of rows.
    assert attach_weights(rows, weights, by_chunks=True) == (rows, weights)
    assert attach_weights(rows, "w", by_chunks=True) == (("weighted", "w"), None)
    assert attach_weights(resident, weights, by_chunks=True) == (("weighted", weights), None)


class Labelled(Weighing):
    """Such rows of a frame, whose index only the engine knows."""

    index = ("a", "b", "c")


def test_weights_with_labels_are_matched_by_the_engine():
    options = {"engine": "partitions", "rows": 3, "p": 3, "dtype": np.dtype(float)}
    labelled, rows = (kind(**options, parts=[np.eye(3)]) for kind in (Labelled, Weighing))
    series = pd.Series(np.ones(3), list("abc"))
    (_, matched), left = attach_weights(labelled, series, by_chunks=True)
    assert matched is series
    assert left is None
    assert attach_weights(rows, series, by_chunks=True) == (rows, series)  # by position
    for by_position in (np.ones(3), [1.0, 1.0, 1.0]):
        found = attach_weights(labelled, by_position, by_chunks=True)
        assert found[0] is labelled
        assert found[1] is by_position


def test_weights_of_other_tables_stay_as_they_are():
    frame = pd.DataFrame(np.eye(3), index=list("abc"))
    weights = pd.Series(np.ones(3), frame.index)
    found = attach_weights(frame, weights)
    assert found[0] is frame
    assert found[1] is weights
    with pytest.raises(ParameterError, match="is that of X in another order"):
        attach_weights(frame, weights[::-1])


def test_one_weight_for_rows_of_unknown_number_is_refused():
    with pytest.raises(ShapeError, match="one number, and the number of rows is not known"):
        checked_weights(2.0, None)
    assert checked_weights(2.0, 3).tolist() == [2.0] * 3
    for n in (2, None):
        with pytest.raises(ParameterError, match=r"sample_weight\[1\] is -1"):
            checked_weights([1.0, -1.0], n)


def test_a_whole_sum_of_weights_may_exceed_the_number_of_rows():
    assert not warned(warn_of_sum_of_weights, 10, 15.0)
    assert not warned(warn_of_sum_of_weights, None, 15.5)
    assert warned(warn_of_sum_of_weights, 10, 15.5)


def test_sums_of_weights_are_shown_with_commas():
    totals = (0.5, 999.96, 1000.4, 9999.6, 1e15 - 1, 1e15)
    shown = ["0.5", "1,000", "1,000", "10,000", "999,999,999,999,999", "1e+15"]
    assert list(map(total_in_words, totals)) == shown


@pytest.mark.parametrize(
    "call",
    [
        lambda w: PCA("parallel").partial_fit(X, sample_weight=w).n_components_,
        lambda w: PCA().fit(X, sample_weight=w).truncated("parallel"),
        lambda w: choose(PCA().fit(X, sample_weight=w), ["kaiser", "gcv"]),
        lambda w: choose(Moments.of(X, w), ["gcv"]),
        lambda w: PCA("gcv").fit(X).merge(PCA().fit(X, sample_weight=w)).n_components_,
    ],
    ids=["partial_fit", "truncated", "model", "summary", "merge"],
)
def test_rules_for_a_summary_warn_of_the_sum_of_the_weights(call):
    (message,) = warned(call, EXPANSION)
    assert "rows count as 440," in message
    for right in (EFFECTIVE, NORMALISED, np.full(N, 1000.0)):  # the sum of NORMALISED is N
        assert not warned(call, right)


def test_no_warning_for_faded_rows_or_rules_that_do_not_count_rows():
    model = PCA("parallel", decay=0.999).partial_fit(X, sample_weight=np.full(N, 3.0))
    assert not warned(lambda: model.n_components_)
    assert not warned(lambda: MODEL.truncated("kaiser"))


@pytest.mark.parametrize(
    "weights",
    [EXPANSION * (N / EXPANSION.sum()), NORMALISED, np.tile([0.0, 2.0], N // 2)],
    ids=["normalised", "by mean", "0 and 2"],
)
@pytest.mark.parametrize("fit", [PCA.fit, PCA.partial_fit])
def test_weights_that_sum_to_the_number_of_rows_are_weights(fit, weights, tmp_path):
    model = fit(PCA(2), X, sample_weight=weights)
    model.save(tmp_path / "model.pca")
    for one in (
        model,
        load(tmp_path / "model.pca"),
        model.truncated(1),
        PCA(2).fit(X).merge(model),
    ):
        for call in (diagnostics.rows, diagnostics.reconstruction_error):
            (message,) = warned(call, one, X)
            assert "the fit used weights, and none are given" in message
    assert warned(diagnostics.supplementary_columns, model, X, {"a": X[:, 0]})
    assert not warned(lambda: diagnostics.rows(model, X, weights))


def test_weights_of_one_and_removed_weights_are_none():
    for model in (
        PCA(2).fit(X, sample_weight=np.ones(N)),
        PCA(2)
        .partial_fit(X, sample_weight=NORMALISED)
        .forget(X, sample_weight=NORMALISED)
        .partial_fit(X),
    ):
        assert not warned(diagnostics.rows, model, X)


def test_results_that_do_not_depend_on_the_number_of_rows_do_not_warn():
    for n_components in (3, 0.5, "kaiser", None):
        assert not warned(PCA(n_components).fit, X, None, EXPANSION)
    assert not warned(lambda: MODEL.transform(X))
    assert not warned(lambda: diagnostics.rows(MODEL, X, EXPANSION))
    assert not warned(lambda: diagnostics.supplementary_columns(MODEL, X, X[:, :1], EXPANSION))


def test_parallel_analysis_says_how_many_rows_its_tables_have():
    found = PCA("parallel").fit(X, sample_weight=np.full(N, 1000.0)).decision_
    assert "100 normal tables of 420,000 rows" in found.reason
    assert "normal tables of the same shape" in PCA("parallel").fit(X).decision_.reason


def test_bartlett_warns_of_a_sum_of_weights_that_is_no_number_of_rows():
    with pytest.warns(UserWarning, match="420 rows count as 440,143"):
        diagnostics.bartlett(MODEL)
    assert diagnostics.bartlett(PCA(3).fit(X, sample_weight=EFFECTIVE)).p_value > 0.01
    with pytest.raises(ShapeError) as caught:
        diagnostics.bartlett(PCA(1, decay=0.5).partial_fit(X))
    assert caught.value.hint.endswith("with decay, the number of rows is the sum of their weights")


def test_a_report_says_what_the_rows_count_as(draw_only):
    draw_only()
    thousand = np.full(N, 1000.0)
    page = report(PCA(3).fit(X, sample_weight=thousand), X, sample_weight=thousand, bootstrap=0)
    assert "420 rows × 14 columns; the rows count as 420,000; 3 components explain" in page
    assert "of the variation among 420 rows that count as 420,000." in page
    assert "verdicts, intervals, limits and tests are those of 420,000 rows." in page
    assert "not all whole numbers" not in page
    with pytest.warns(UserWarning, match="the weights are not all whole numbers"):
        page = report(MODEL, X, sample_weight=EXPANSION, bootstrap=0)
    assert page.count("The weights are not all whole numbers. If they are sampling weights") == 2
    assert "count as" not in report(PCA(3).fit(X), X, bootstrap=0)
    weights = np.tile([0.0, 2.0], N // 2)
    model = PCA(3).fit(X, sample_weight=weights)
    page = report(model, X, sample_weight=weights, bootstrap=0)
    assert "Rows have weights, which are used as frequencies" in page
    assert "count as" not in page
    assert "The fit used weights, and none were given" in report(model, X, bootstrap=0)


def test_a_sum_of_weights_near_the_number_of_rows_is_not_printed():
    weights = NORMALISED * (1 + 1e-15)
    assert row_total(weights.sum(), N) == row_total(1e5 + 0.2, 100_000) == ""
    assert row_total(327.4321, N) == "327.4"
    assert row_total(327.4321, None) == ""  # the number of rows is not known
