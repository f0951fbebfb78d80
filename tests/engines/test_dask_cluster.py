"""Dask on two worker processes: the model of the threads, errors, and a worker that dies."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import Counter

import numpy as np
import pytest
from on_dask import ROUTES, chunked, missing
from test_same_answer import compare, parts_of

from princomp import PCA
from princomp.errors import NotFiniteError

if missing():
    pytest.skip(missing(), allow_module_level=True)

import dask
import dask.array as da


@pytest.fixture(scope="module")
def client():
    distributed = pytest.importorskip("distributed")
    settings = {"distributed.worker.daemon": True, "distributed.scheduler.allowed-failures": 9}
    with (
        dask.config.set(settings),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


# Earlier versions of Dask warn when a fit is compared with another scheduler.
IGNORE_SCHEDULER_WARNING = pytest.mark.filterwarnings(
    "ignore:Running on a single-machine scheduler"
)


@IGNORE_SCHEDULER_WARNING
@pytest.mark.parametrize("route", [*ROUTES, "krylov", "sketch"])
def test_a_cluster_gives_the_local_model(client, route, rng):
    parts = parts_of(rng, [40, 0, 1, 70, 9], p=40 if route in ("krylov", "sketch") else 7)
    parameters = {"n_components": 3, **ROUTES.get(route, {"svd_solver": route})}
    x = chunked(parts)
    model = PCA(**parameters).fit(x)
    with dask.config.set(scheduler="sync"):
        expected = PCA(**parameters).fit(x)
    compare(model, expected, 1e-12)
    np.testing.assert_allclose(
        model.transform(x).compute(), expected.transform(np.concatenate(parts)), atol=1e-9
    )


def test_errors_are_raised_from_a_cluster(client, rng):
    parts = parts_of(rng, [40, 30, 20])
    parts[1][12, 5] = np.nan
    with pytest.raises(NotFiniteError, match="row 52, column 5"):
        PCA().fit(chunked(parts))


def test_large_vectors_go_to_the_workers_without_a_warning(client, monkeypatch):
    p = 40_000  # the vectors take more than 4 MB
    x = da.random.default_rng(1).random((60, p), chunks=(10, p))
    sent = []
    scatter = type(client).scatter
    monkeypatch.setattr(
        type(client), "scatter", lambda self, *a, **k: sent.append(1) or scatter(self, *a, **k)
    )
    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1MB"}):
        model = PCA(n_components=3, svd_solver="krylov").fit(x)
    assert sent
    compare(model, PCA(n_components=3).fit(x.compute()), 1e-9)


class Slow:
    """Records each computed chunk as a file in a folder, and delays the first ones."""

    def __init__(self, folder):
        self.folder = folder

    def __call__(self, block):
        if block.size:
            if len(list(self.folder.iterdir())) < 16:
                time.sleep(0.1)
            (self.folder / f"{os.getpid()}-{time.monotonic_ns()}").touch()
        return block


@IGNORE_SCHEDULER_WARNING
@pytest.mark.parametrize("route", ["auto", "full", "krylov"])
def test_a_worker_that_is_killed_in_mid_fit_changes_nothing(client, route, rng, tmp_path):
    rows = np.concatenate(parts_of(rng, [600], p=30))
    parameters = {"n_components": 3, "svd_solver": route}
    x = da.from_array(rows, chunks=(25, 30))
    with dask.config.set(scheduler="sync"):
        expected = PCA(**parameters).fit(x)
    slow = x.map_blocks(Slow(tmp_path), dtype=float, meta=rows[:0])
    client.wait_for_workers(2)
    workers = set(client.run(os.getpid).values())
    killed = []

    def kill():
        done = Counter()
        while max(done.values(), default=0) < 3:
            time.sleep(0.01)
            done = Counter(int(path.name.partition("-")[0]) for path in tmp_path.iterdir())
        victim = done.most_common(1)[0][0]
        os.kill(victim, signal.SIGKILL)
        killed.extend((victim, done.total()))

    killer = threading.Thread(target=kill)
    killer.start()
    model = PCA(**parameters).fit(slow)
    killer.join()
    # It had computed some chunks of the first pass, and others were still to come.
    victim, made = killed
    assert victim in workers
    assert made < 24 <= len(list(tmp_path.iterdir()))
    assert model.n_samples_ == model.summary_.rows == 600
    compare(model, expected, 1e-12)
