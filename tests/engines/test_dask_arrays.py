"""Dask arrays: chunks of any kind, one compute per pass, lazy results, and weights."""

from __future__ import annotations

import threading

import numpy as np
import pytest
import scipy.sparse as sp
from on_dask import ROUTES, chunked, missing
from test_same_answer import compare, parts_of

from princomp import PCA, pca
from princomp.errors import (
    CheckpointError,
    NotFiniteError,
    NotNumericError,
    ParameterError,
    ShapeError,
)

if missing():
    pytest.skip(missing(), allow_module_level=True)

import cloudpickle
import dask
import dask.array as da
from dask._task_spec import Task

from princomp.engines.dask import rows as dask_rows
from princomp.solvers.krylov import ImagesOf
from princomp.summaries import Columns, Moments


@pytest.fixture
def rows(rng):
    return np.concatenate(parts_of(rng, [200], p=5))


@pytest.fixture
def weights(rng):
    return rng.integers(0, 4, 200).astype(float)


def with_unknown_chunks(x):
    """An array with chunk lengths that Dask does not know."""
    return x[da.ones(x.shape[0], chunks=(x.chunks[0],), dtype=bool)]


class Counted:
    """Records the sizes of the chunks that are computed."""

    def __init__(self):
        self.made, self.lock = [], threading.Lock()

    def __call__(self, block):
        if block.size:
            with self.lock:
                self.made.append(len(block))
        return block


# ---- chunks -------------------------------------------------------------------------------------


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("chunks", [(37, 5), (200, 2), (37, (1, 3, 1))])
def test_chunks_of_columns_are_joined(rows, chunks, route):
    parameters = {"n_components": 3, **ROUTES[route]}
    expected = PCA(**parameters).fit(rows)
    x = da.from_array(rows, chunks=chunks)
    compare(PCA(**parameters).fit(x), expected, 1e-12)
    scores = expected.transform(x)
    np.testing.assert_allclose(scores.compute(), expected.transform(rows), atol=1e-12)


@pytest.mark.parametrize("chunks", [(37, 5), (37, (2, 3))])
def test_lengths_of_chunks_need_not_be_known(rows, chunks):
    x = with_unknown_chunks(da.from_array(rows, chunks=chunks))
    model = PCA(n_components=3).fit(x)
    compare(model, PCA(n_components=3).fit(rows), 1e-12)
    scores = model.transform(x)
    assert np.isnan(scores.shape[0])
    assert scores.shape[1] == 3
    np.testing.assert_allclose(scores.compute(), model.transform(rows), atol=1e-12)
    np.testing.assert_allclose(pca(x, ddof=0).compute(), pca(rows, ddof=0), atol=1e-12)
    wide = rows[:4]
    np.testing.assert_allclose(pca(da.from_array(wide)).compute(), pca(wide), atol=1e-12)
    rows[150, 2] = np.nan
    with pytest.raises(NotFiniteError, match="row 150, column 2") as caught:
        PCA(n_components=3).fit(with_unknown_chunks(da.from_array(rows, chunks=chunks)))
    assert "missing='em'" not in caught.value.hint  # needs rows in memory


def test_sparse_chunks_of_rows_and_columns_stay_sparse(rng):
    rows = sp.random_array((200, 60), density=0.05, rng=rng, format="csr")
    x = da.from_array(rows.toarray(), chunks=(60, 25)).map_blocks(sp.csr_array)
    expected = PCA(n_components=3).fit(rows.toarray())
    for solver in ("auto", "krylov"):
        model = PCA(n_components=3, svd_solver=solver).fit(x)
        compare(model, expected, 1e-12 if solver == "auto" else 1e-9)
        assert model.plan_.to_dict()["stored"] is not None
    assert "(sparse)" in str(model.plan_)
    scores = model.transform(x)
    assert type(scores._meta) is np.ndarray
    np.testing.assert_allclose(scores.compute(), model.transform(rows), atol=1e-12)


@pytest.mark.filterwarnings("ignore:196 of 200 rows have missing values")
def test_numbers_of_other_types_become_float64_in_their_chunk(rows):
    whole = (rows * 1000).astype(np.int32)
    x = da.from_array(whole, chunks=(64, 5))
    compare(PCA().fit(x), PCA().fit(whole), 1e-12)
    assert PCA().fit(x).components_.dtype == np.float64
    masked = np.ma.masked_greater(rows, rows[3, 1] - 1e-9)
    expected = PCA(missing="drop").fit(masked.filled(np.nan))
    for columns in (5, 2):
        x = da.from_array(masked, chunks=(64, columns))
        compare(PCA(missing="drop").fit(x), expected, 1e-12)


def test_an_integer_that_float64_cannot_hold_is_reported_with_its_place(rows):
    whole = np.ones((100, 3), dtype=np.int64)
    whole[70, 1] = 2**60 + 1
    with pytest.raises(NotNumericError, match=r"row 70 of all: .*1152921504606846977") as caught:
        PCA().fit(da.from_array(whole, chunks=(30, 3)))
    assert caught.value.place == {"row": 70, "column": 1}


@pytest.mark.parametrize(
    ("x", "error", "message"),
    [
        (lambda: da.ones(9), ShapeError, "1D array"),
        (lambda: da.ones((2, 3, 4)), ShapeError, "3D array"),
        (lambda: da.ones((4, 0)), ShapeError, "0 feature"),
        (lambda: da.ones((4, 2), dtype=complex), NotNumericError, "Complex"),
        (lambda: da.ones((4, 2)).astype("U3"), NotNumericError, "is not numeric"),
        (lambda: da.ones((1, 2)), ShapeError, "at least 2 rows"),
        (lambda: dask.delayed(np.ones)((4, 2)), ParameterError, "Delayed"),
    ],
)
def test_invalid_collections_are_refused(x, error, message):
    with pytest.raises(error, match=message):
        PCA().fit(x())


def test_chunks_of_unexpected_shape_are_refused(rows):
    x = da.from_array(rows, chunks=(50, 5)).map_blocks(lambda b: b[:40], dtype=float)
    with pytest.raises(ShapeError, match="X has 160 rows, but its chunks promise 200"):
        PCA().fit(x)
    x = da.from_array(rows, chunks=(50, 5)).map_blocks(lambda b: b[:, :4], dtype=float)
    with pytest.raises(ShapeError, match=r"\(50, 4\)"):
        PCA().fit(x)


# ---- one pass -----------------------------------------------------------------------------------


@pytest.mark.parametrize("chunks", [(20, 5), (20, 2)])
def test_a_fit_computes_each_chunk_once(rows, chunks):
    counted = Counted()
    x = da.from_array(rows, chunks=chunks).map_blocks(counted, dtype=float, meta=rows[:0])
    model = PCA(n_components=2).fit(x)
    assert len(counted.made) == x.npartitions
    assert model.n_samples_ == model.summary_.rows == 200
    compare(model, PCA(n_components=2).fit(rows), 1e-12)
    counted.made.clear()
    scores = model.transform(x)
    assert not counted.made  # lazily
    scores.compute()
    assert len(counted.made) == x.npartitions


def test_a_pass_is_one_compute_with_progress(rows):
    begun, events = [], []
    with dask.callbacks.Callback(start=lambda _: begun.append(1)):
        x = da.from_array(rows, chunks=(20, 5))
        model = PCA(n_components=2, svd_solver="krylov").fit(x, progress=events.append)
    passes = model.certificate_ and model._fitted.passes
    assert passes > 1
    assert len(begun) == passes
    assert [event.number for event in events if event.done] == list(range(1, passes + 1))
    assert {event.rows for event in events if not event.done} == {0}
    assert {event.rows for event in events if event.done} == {200}
    assert [event.number for event in events if not event.done] == list(range(1, passes + 1))


def graph_of_pass(x, kind):
    """The graph that a pass computes."""
    graphs = []
    with dask.callbacks.Callback(start=graphs.append), dask.config.set(scheduler="sync"):
        dask_rows.rows_of(x).reduce(kind, drop=False, precise=False)
    assert len(graphs) == 1
    return graphs[0]


def test_graphs_hold_vectors_once_and_merge_in_shallow_trees(rng):
    p, n = 400, 640
    x = da.random.default_rng(1).random((n, p), chunks=(10, p))
    vectors = ImagesOf(rng.random((p, 20)), Columns.of(np.ones((2, p))), None)
    graph = graph_of_pass(x, vectors)
    sizes = sorted(len(cloudpickle.dumps(node)) for node in graph.values())
    assert sizes[-1] > vectors.vectors.nbytes
    assert sizes[-2] < 10_000
    # 64 chunks are joined 8 by 8; with a kind of few bytes, one task makes a chunk and sums it.
    assert sum(str(key).startswith("merge_results") for key in graph) == 8 + 1
    tasks = [node for node in graph_of_pass(x, Moments).values() if type(node) is Task]
    assert len(tasks) == 64 + 8 + 1


def stop_at(number):
    def interrupt(event):
        if event.done and event.number == number:
            raise KeyboardInterrupt

    return interrupt


def test_checkpoints_keep_finished_passes_of_the_same_rows(rows, weights, tmp_path):
    x, path = da.from_array(rows, chunks=(50, 5)), tmp_path / "run"
    parameters = {"n_components": 2, "svd_solver": "krylov"}
    with pytest.raises(KeyboardInterrupt):
        PCA(**parameters).fit(x, checkpoint=path, progress=stop_at(2))
    for other in (x + 1, x[:, ::-1]):
        with pytest.raises(CheckpointError):
            PCA(**parameters).fit(other, checkpoint=path)
    with pytest.raises(CheckpointError):
        PCA(**parameters).fit(x, sample_weight=weights, checkpoint=path)
    begun = []
    with dask.callbacks.Callback(start=begun.append):
        model = PCA(**parameters).fit(x, checkpoint=path)
    expected = PCA(**parameters).fit(x)
    assert len(begun) == expected._fitted.passes - 2
    assert (model.components_ == expected.components_).all()


# ---- lazily -------------------------------------------------------------------------------------


def test_scores_and_rows_are_lazy_arrays(rows):
    x = da.from_array(rows.astype(np.float32), chunks=(37, 5))
    model = PCA(n_components=3)
    scores = model.fit_transform(x)
    assert isinstance(scores, da.Array)
    assert scores.chunks == (x.chunks[0], (3,))
    assert scores.dtype == np.float32
    back = model.inverse_transform(scores)
    assert back.chunks == (x.chunks[0], (5,))
    expected = model.inverse_transform(model.transform(rows.astype(np.float32)))
    np.testing.assert_allclose(back.compute(), expected, atol=1e-5)
    with pytest.raises(ShapeError, match="3 components"):
        model.inverse_transform(x)
    with pytest.raises(ShapeError, match="4 features"):
        model.transform(x[:, :4])


def test_missing_values_in_scores_are_reported_with_their_chunk(rows):
    model = PCA(n_components=2).fit(rows)
    rows[150, 2] = np.nan
    with pytest.raises(NotFiniteError, match=r"row 2, column 2.*counted in chunk 4"):
        model.transform(da.from_array(rows, chunks=(37, 5))).compute()


def test_score_and_partial_fit_read_chunk_by_chunk(rows):
    x = chunked(np.split(rows, [30, 30, 120]))
    model = PCA(n_components=2).fit(rows)
    assert model.score(x) == pytest.approx(model.score(rows), rel=1e-12)
    online = PCA(n_components=2).partial_fit(x[:100]).partial_fit(x[100:])
    compare(online, model, 1e-12)
    sizes = [len(chunk.data) for chunk in dask_rows.rows_of(x).chunks(45)]
    assert sizes == [75, 80]


# ---- weights ------------------------------------------------------------------------------------


def test_weights_line_up_with_chunks(rows, weights):
    expected = PCA(n_components=3).fit(rows, sample_weight=weights)
    x = da.from_array(rows, chunks=(37, 5))
    for given in (weights, da.from_array(weights, chunks=50), da.from_array(weights, chunks=37)):
        compare(PCA(n_components=3).fit(x, sample_weight=given), expected, 1e-12)
    known = da.from_array(weights, chunks=37)
    compare(
        PCA(n_components=3).fit(with_unknown_chunks(x), sample_weight=with_unknown_chunks(known)),
        expected,
        1e-12,
    )
    twice = PCA(n_components=3).fit(rows, sample_weight=2.0)
    compare(PCA(n_components=3).fit(with_unknown_chunks(x), sample_weight=2.0), twice, 1e-12)


def test_weights_that_do_not_line_up_are_refused_with_both_lengths(rows, weights):
    x = da.from_array(rows, chunks=(50, 5))
    with pytest.raises(ShapeError, match="1D array or scalar"):
        PCA().fit(x, sample_weight=da.from_array(np.array(2.0)))
    for short in (weights[:150], da.from_array(weights[:150], chunks=50)):
        with pytest.raises(ShapeError, match=r"150.* 200 rows"):
            PCA().fit(x, sample_weight=short)
    with pytest.raises(ShapeError, match="has 2 and X has 4 chunks"):
        PCA().fit(
            with_unknown_chunks(x),
            sample_weight=with_unknown_chunks(da.from_array(weights, chunks=100)),
        )
    uneven = da.from_array(weights, chunks=((50, 60, 40, 50),))
    with pytest.raises(ShapeError, match="has 60 and X has 50 rows in the same chunk"):
        PCA().fit(with_unknown_chunks(x), sample_weight=with_unknown_chunks(uneven))
    for wrong in (weights + 1j, da.from_array(weights + 1j, chunks=50)):
        with pytest.raises(ParameterError, match="real numbers, got complex128"):
            PCA().fit(x, sample_weight=wrong)
    weights[120] = -1
    with pytest.raises(ParameterError, match=r"row 120 of all: .*one is -1") as caught:
        PCA().fit(x, sample_weight=weights)
    assert caught.value.place["row"] == 120
