"""partial_fit: the result does not depend on how rows are cut into batches."""

from __future__ import annotations

import copy
import pickle
import tracemalloc

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings, strategies as st
from online_cases import (
    EXACT,
    OPTIONS,
    PCAWithDtype,
    assert_close,
    assert_close_to_svd,
    assert_same_bits,
    batches,
    bits,
    fit_in_batches,
    use_small_blocks,
)
from sklearn.exceptions import NotFittedError

import princomp
from engines.on_partitions import Partitions
from helpers import EPS, EPS32, truth
from princomp import PCA, IncrementalPCA
from princomp.core.routes.moments import LANCZOS_COLUMNS
from princomp.core.row_buffer import RowBuffer
from princomp.errors import (
    NotAvailableError,
    NotFiniteError,
    ParameterError,
    PrincompError,
    ShapeError,
)
from princomp.summaries import Moments, Triangle

quickly = settings(derandomize=True, deadline=None, max_examples=150, database=None)


# ---- the cut into batches does not matter -------------------------------------------------------


@pytest.fixture(scope="module")
def tall():
    """More than two logical blocks of 512 rows."""
    rng = np.random.default_rng(5)
    return rng.standard_normal((1100, 260)) * np.linspace(2, 1, 260) + 5


@pytest.mark.parametrize("solver", EXACT)
def test_batches_of_any_size_have_the_bits_of_one_fit(solver, tall, monkeypatch):
    whole = PCAWithDtype(4, svd_solver=solver).fit(tall)
    assert_close_to_svd(whole, tall)
    for size in (1, 7, 1000, len(tall)):
        assert_same_bits(fit_in_batches(PCA(4, svd_solver=solver), tall, size), whole)
    # For any number of blocks that are summed together.
    monkeypatch.setattr(princomp.core.stream, "BLOCKS_AT_ONCE", 1)
    assert_same_bits(fit_in_batches(PCA(4, svd_solver=solver), tall, 130), whole)


def test_a_few_wide_rows_after_whole_blocks_have_the_bits_of_one_fit(rng):
    """From 1,024 columns on, rows are added to a scatter in place instead of merged."""
    X = rng.standard_normal((2050, 1030))
    model = PCA(2, svd_solver="covariance_eigh")
    whole = copy.copy(model).fit(X)
    for parts in ((2049, 2050), (2050,)):
        model = PCA(2, svd_solver="covariance_eigh")
        for start, stop in zip((0, *parts), parts, strict=False):
            model.partial_fit(X[start:stop])
        assert model.summary_.scatter.tobytes() == whole.summary_.scatter.tobytes()


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("solver", EXACT)
@pytest.mark.usefixtures("small_blocks")
def test_every_option_has_the_bits_of_one_fit(solver, option, table, rng):
    weights = rng.integers(0, 4, len(table)) * 0.75
    incomplete = np.where(rng.random(table.shape) < 0.03, np.nan, table)
    parameters = {"svd_solver": solver, **OPTIONS[option]}
    for X, row_weights, options in (
        (table, None, {}),
        (table, weights, {}),
        (np.asfortranarray(table), None, {}),
        (incomplete, None, {"missing": "drop"}),
        (incomplete, weights, {"missing": "drop"}),
    ):
        whole = PCA(**parameters, **options).fit(X, sample_weight=row_weights)
        for size in (1, 3, 8, 37, 200):
            assert_same_bits(
                fit_in_batches(PCA(**parameters, **options), X, size, row_weights), whole
            )


@given(data=st.data())
@quickly
def test_calls_between_batches_change_no_bit(data):
    """Batches of any size, attributes read, batches refused, models copied and stored."""
    seed, solver = data.draw(st.integers(0, 99)), data.draw(st.sampled_from(EXACT))
    scale = data.draw(st.sampled_from([None, "range", "unit"]))
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((60, 3)) * [100, 1, 0.01] + [1e6, 0, 1]
    weighted = data.draw(st.booleans())
    weights = rng.random(60) if weighted else None
    with pytest.MonkeyPatch.context() as patch:
        use_small_blocks(patch, data.draw(st.integers(1, 3)))
        model = PCA(svd_solver=solver, scale=scale)
        at = 0
        while at < 60:
            stop = at + data.draw(st.integers(1, 60 - at))
            batch_weights = None if weights is None else weights[at:stop]
            model.partial_fit(X[at:stop], sample_weight=batch_weights)
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
def test_reading_attributes_between_batches_changes_nothing(table):
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
    for n_kinds, size in ((1, 1), (1, 7), (4, 1), (4, 11)):
        model = PCA(3, svd_solver=solver)
        for i, (rows, _) in enumerate(batches(dense, size)):
            model.partial_fit(kinds[(i + 1) % n_kinds if n_kinds > 1 else 1](rows))
        # Rounding of a scatter of 120 rows, relative to its trace.
        error = 8 * 160 * EPS * spread
        np.testing.assert_allclose(
            model.explained_variance_, whole.explained_variance_, rtol=0, atol=error
        )
        np.testing.assert_allclose(model.components_, whole.components_, atol=1e-10)
        np.testing.assert_allclose(model.mean_, dense.mean(axis=0), rtol=1e-13, atol=1e-15)
        assert model.n_samples_ == 120


def test_float32_rows_have_float64_sums_and_float32_axes(table):
    """Rows read once are multiplied in float64: float32 products are off by 1e-7."""
    X = (table + 1000).astype(np.float32)
    for solver in EXACT:
        model = fit_in_batches(PCAWithDtype(svd_solver=solver), X, 7)
        assert model.components_.dtype == np.float32
        assert model.explained_variance_.dtype == model.mean_.dtype == np.float64
        assert model.transform(X).dtype == np.float32
        wide = X.astype(np.float64)
        assert_close_to_svd(model, wide)
        assert model.summary_.unit == EPS < EPS32
        faded = PCA(svd_solver=solver, decay=0.9).partial_fit(X)
        assert faded.summary_.unit == EPS
        # One float64 batch makes it float64; integers are float64.
        assert model.partial_fit(table).components_.dtype == np.float64
    assert PCA().partial_fit(X[:9].astype(int)).components_.dtype == np.float64
    assert PCA().partial_fit(X).forget(X[:50]).summary_.unit == EPS


@pytest.mark.usefixtures("small_blocks")
def test_rows_are_left_out_of_the_buffer_and_of_whole_blocks(table):
    table[[2, 9, 11, 13], 1] = np.nan
    model, read = PCA(missing="drop"), 0
    for stop in (5, 100, 103, 200):  # buffered, the rest of a block and others, buffered, …
        model.partial_fit(table[read:stop])
        read = stop
        assert model.n_dropped_ == np.isnan(table[:stop, 1]).sum()
        assert model.n_samples_ == stop - model.n_dropped_
        assert model.certificate_.bytes_read == table[:stop].nbytes


class Resident(Partitions):
    """Rows that are not brought here."""

    has_chunks = False


def test_rows_on_an_engine_are_added_to_sums_in_float64(table):
    X = (table + 1000).astype(np.float32)
    X[[3, 150], 1] = np.nan
    model = PCA(missing="drop")
    for part in (X[:120], X[120:]):
        options = {"engine": "partitions", "rows": len(part), "p": 5, "dtype": X.dtype}
        rows = Resident(**options, parts=[part[:40], part[40:]])
        model.partial_fit(rows)
    expected = PCA(missing="drop").fit(X.astype(np.float64)).summary_.scatter
    error = 16 * 205 * EPS * expected.trace()
    np.testing.assert_allclose(model.summary_.scatter, expected, rtol=0, atol=error)
    assert (model.n_samples_, model.n_dropped_) == (198, 2)
    assert model.certificate_.bytes_read == X.nbytes
    assert not model._result.weighted
    weighted = Resident(**options, parts=[np.eye(5)], weights="a column")
    assert model.partial_fit(weighted)._result.weighted
    with pytest.raises(NotAvailableError, match="decay gives each row a weight of its own"):
        PCA(missing="drop", decay=0.9).partial_fit(rows)


@pytest.mark.usefixtures("small_blocks")
def test_frames_lists_and_iterators_are_accepted_as_batches(table):
    whole = PCA().fit(table)
    model = PCA().partial_fit(table[:20].tolist()).partial_fit(iter([table[20:29], table[29:80]]))
    assert_same_bits(model.partial_fit(lambda: iter([table[80:]])), whole)
    named = PCA().partial_fit(pd.DataFrame(table[:90])).partial_fit(pd.DataFrame(table[90:]))
    assert_same_bits(named, whole)


def test_buffered_rows_are_copies(table):
    X, weights = table.copy(), np.ones(100)
    model = PCA().partial_fit(X[:100], sample_weight=weights)
    X[:], weights[:] = 1e9, 50
    model.partial_fit(table[100:])
    assert_close_to_svd(PCAWithDtype.from_summary(model.summary_), table)


@pytest.mark.usefixtures("small_blocks")
def test_scalar_and_zero_weights(table):
    twice = PCA().partial_fit(table[:150], sample_weight=2).partial_fit(table[150:], None, 2)
    assert_same_bits(twice, PCA().fit(table, sample_weight=2.0))
    # A first batch of weight zero does not count.
    model = PCA().partial_fit(table[:5] * 1e6, sample_weight=0)
    assert not hasattr(model, "mean_")
    model.partial_fit(table)
    np.testing.assert_allclose(model.mean_, table.mean(axis=0), rtol=1e-13)
    # Rows of batches without weights have weight one.
    mixed = PCA().partial_fit(table[:70]).partial_fit(table[70:], sample_weight=np.ones(130))
    assert_close_to_svd(PCAWithDtype.from_summary(mixed.summary_), table)


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
    """It is fitted in scikit-learn's sense; attributes that need more rows are missing."""
    model = PCA(2).partial_fit(table[:1])
    assert model.__sklearn_is_fitted__()
    assert model.n_features_in_ == 5
    for name in ("components_", "mean_", "n_samples_", "n_components_", "plan_", "summary_"):
        assert not hasattr(model, name)
        with pytest.raises(NotAvailableError, match="at least 2 rows, got 1 so far"):
            getattr(model, name)
    for call in (lambda: model.transform(table), lambda: model.save("nowhere.pca")):
        with pytest.raises(NotAvailableError, match="give more rows"):
            call()
    assert_same_bits(model.partial_fit(table[1:]), PCA(2).fit(table))
    with pytest.raises(NotFittedError):
        _ = PCA().components_


@pytest.mark.parametrize(
    ("rule", "rows"),
    [
        ("elbow", [[1.0, 2.0], [4.0, 3.0]]),
        ("gcv", [[1.0, 2.0], [4.0, 3.0]]),
        (0.9, np.ones((5, 2))),
    ],
)
def test_a_rule_that_does_not_apply_yet_needs_more_rows(rule, rows, rng):
    model = PCA(rule).partial_fit(rows)
    assert not hasattr(model, "components_")
    with pytest.raises(NotAvailableError) as caught:
        _ = model.components_
    assert caught.value.hint.startswith("give more rows to partial_fit first")
    more = rng.standard_normal((50, 2)) * [9.0, 1.0]
    assert hasattr(model.partial_fit(more), "components_") is (rule != "elbow")


@pytest.mark.filterwarnings("ignore:the weights of .* rows sum to")
def test_rows_of_too_little_weight_are_too_few(table):
    model = PCA().partial_fit(table[:5], sample_weight=0.2)
    with pytest.raises(NotAvailableError, match="got 1 so far"):
        _ = model.mean_
    assert model.partial_fit(table[5:9], sample_weight=0.2).mean_.shape == (5,)


def test_more_components_than_columns_are_refused_at_once(table):
    with pytest.raises(ShapeError, match="n_components=6 and the rows have 5 columns"):
        PCA(6).partial_fit(table[:3] * np.inf)
    model = PCA(3).partial_fit(table)
    with pytest.raises(ShapeError, match="n_components=9"):
        model.set_params(n_components=9).partial_fit(table)
    assert model.set_params(n_components=2).partial_fit(table).n_components_ == 2
    assert model.n_samples_ == 400


# ---- after a fit --------------------------------------------------------------------------------


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("solver", EXACT)
def test_rows_are_added_after_a_fit_and_after_loading(solver, option, table, tmp_path, rng):
    parameters = {"svd_solver": solver, **OPTIONS[option]}
    incomplete = np.where(rng.random(table.shape) < 0.03, np.nan, table)
    for X, options in ((table, {}), (incomplete, {"missing": "drop"})):
        whole = PCA(**parameters, **options).fit(X)
        first = PCA(**parameters, **options).fit(X[:77])
        first.save(tmp_path / "first.pca")
        for model in (first, princomp.load(tmp_path / "first.pca")):
            fit_in_batches(model, X[77:], 50)
            assert_close(model, whole)
            assert (model.n_samples_, model.n_dropped_) == (whole.n_samples_, whole.n_dropped_)


@pytest.mark.parametrize("solver", ["row_gram", "arpack", "lanczos", "randomized"])
def test_a_fit_without_a_scatter_accepts_no_more_rows(solver, table):
    model = PCA(2, svd_solver=solver, random_state=0).fit(table)
    before = bits(model)
    for call in (model.partial_fit, model.forget):
        with pytest.raises(NotAvailableError, match="kept no scatter") as caught:
            call(table)
        assert "covariance_eigh" in caught.value.hint
    with pytest.raises(NotAvailableError, match="kept no scatter"):
        PCA(2).fit(table).merge(model)
    assert bits(model) == before
    # Nor can a stream begin with such a solver.
    with pytest.raises(ParameterError, match="needs all rows at once") as caught:
        PCA(2, svd_solver=solver).partial_fit(table)
    assert caught.value.place == {"parameter": "svd_solver"}


def test_a_covariance_without_mean_or_count_accepts_no_rows(table):
    """Its weight relative to a row is unknown."""
    C, mean = np.cov(table.T), table.mean(axis=0)
    for known in ({}, {"mean": mean}, {"n_samples": 200}):
        with pytest.raises(NotAvailableError, match="without a mean or a number of rows") as caught:
            PCA.from_covariance(C, **known).partial_fit(table)
        assert "n_samples" in caught.value.hint
    model = PCA.from_covariance(np.cov(table[:90].T), mean=table[:90].mean(axis=0), n_samples=90)
    assert_close(model.partial_fit(table[90:]), PCA().fit(table))
    assert model.n_samples_ == 200


def test_fit_starts_over(table):
    model = PCA().partial_fit(table).fit(table[:50])
    assert_same_bits(model, PCA().fit(table[:50]))
    model = PCA().partial_fit(table)
    with pytest.raises(NotFiniteError):
        model.fit(table * np.nan)
    assert_same_bits(model, PCA().fit(table))
    assert model.fit(table[:, :2]).n_features_in_ == 2


def test_partial_fit_continues_from_a_summary(table):
    for kind in (Moments, Triangle):
        model = PCA.from_summary(kind.of(table[:60])).partial_fit(table[60:])
        assert_close(model, PCA().fit(table))
        assert type(model.summary_) is kind


@pytest.mark.parametrize("update", ["partial_fit", "forget"])
def test_a_fault_in_a_later_batch_is_named_by_its_row_and_file(update, rng, tmp_path):
    X = rng.standard_normal((60, 4))
    model = PCA(2).fit(X)
    X[33, 1] = np.nan
    paths = [str(tmp_path / "one.npy"), str(tmp_path / "two.npy")]
    for path, part in zip(paths, (X[:25], X[25:]), strict=True):
        np.save(path, part)
    with pytest.raises(NotFiniteError, match="row 33, column 1") as caught:
        getattr(model, update)(iter([X[:25], X[25:]]))
    assert caught.value.place == {"row": 33, "column": 1}
    assert "missing='em'" not in caught.value.hint  # needs all rows at once
    with pytest.raises(NotFiniteError, match=r"row 8, column 1 of .*two\.npy") as caught:
        getattr(model, update)(paths)
    assert caught.value.place == {"file": paths[1], "row": 8, "column": 1}


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_rows_that_are_left_out_count_in_the_place_of_a_fault(method, rng, tmp_path):
    X, weights = rng.standard_normal((60, 4)), np.ones(60)
    X[:10], X[15], X[33, 1] = np.nan, np.nan, np.inf
    weights[:10] = 0
    np.save(tmp_path / "rows.npy", X)
    for solver in ("full", "sketch"):
        model = PCA(2, svd_solver=solver, missing="drop")
        for rows in (X, tmp_path / "rows.npy", iter([X[:25], X[25:]])):
            with pytest.raises(NotFiniteError, match="infinity: the first at row 33, column 1"):
                getattr(model, method)(rows, sample_weight=weights)


def test_rows_added_while_others_are_added_are_refused(rng):
    X = rng.standard_normal((60, 4))
    model = PCA(2).partial_fit(X[:20])

    def batches():
        yield X[40:50]
        model.partial_fit(X[20:40])
        yield X[50:]

    with pytest.raises(PrincompError, match="changed while rows were added"):
        model.partial_fit(batches())
    assert model.n_samples_ == 40


def test_a_sparse_batch_takes_the_same_memory_however_many_are_buffered():
    """A copy of the list of batches, for each batch, would take quadratic time."""
    row, buffer, peaks = sp.csr_array(np.eye(8)[:1]), RowBuffer(), []
    for _ in range(2):
        tracemalloc.start()
        try:
            before, _ = tracemalloc.get_traced_memory()
            buffer = buffer.appended(row, None, 10**6)
            peaks.append(tracemalloc.get_traced_memory()[1] - before)
        finally:
            tracemalloc.stop()
        for _ in range(4000):
            buffer = buffer.appended(row, None, 10**6)
    assert peaks[1] < peaks[0] + 8 * 4000 / 4
    assert buffer.table()[0].shape == (8002, 8)


@pytest.mark.parametrize("make", [lambda k: PCA(k), IncrementalPCA])
def test_few_components_of_many_columns_are_searched_in_the_scatter(make):
    """As ``fit`` does for rows in files, instead of computing all variances."""
    rng, n, p, k = np.random.default_rng(0), 400, LANCZOS_COLUMNS, 5
    X = (rng.standard_normal((n, 40)) / np.arange(1, 41)) @ rng.standard_normal((40, p))
    X += 0.01 * rng.standard_normal((n, p))
    model = make(k).partial_fit(X[:250]).partial_fit(X[250:])
    whole = PCA(k, svd_solver="covariance_eigh").partial_fit(X)
    assert (model.plan_.solver, whole.plan_.solver) == ("lanczos", "eigh")
    for name in ("explained_variance_", "noise_variance_", "explained_variance_ratio_"):
        found, expected = getattr(model, name), getattr(whole, name)
        np.testing.assert_allclose(found, expected, rtol=p * EPS, err_msg=name)
    assert model.certificate_.residuals.max() < p * EPS


@pytest.mark.parametrize("kind", [PCA, IncrementalPCA])
def test_only_a_pickle_contains_rows_that_wait(kind, rng, tmp_path):
    """It continues with the same bits; files, and what is made from a summary, have no rows."""
    X = rng.standard_normal((60, 5))
    model = kind(2).partial_fit(X)
    model.finalize()
    model.save(tmp_path / "m.pca")
    row = X[7].tobytes()
    assert row in pickle.dumps(model)
    assert row not in (tmp_path / "m.pca").read_bytes()
    for other in (princomp.load(tmp_path / "m.pca"), model.truncated(2), model.summary_):
        assert row not in pickle.dumps(other)


def test_rows_left_out_are_not_counted_before_the_fit_is_solved(rng):
    X = rng.standard_normal((30, 3))
    X[[3, 20], 1] = np.nan
    model = PCA(2, missing="drop").partial_fit(X[:10]).partial_fit(X[10:])
    assert model._fitted.n_samples == 28
    assert (model.n_samples_, model.n_dropped_) == (28, 2)
