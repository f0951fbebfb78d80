"""Killed or slow workers, and rows that change: the fit is right or fails clearly."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import on_dask
import on_mpi
import on_spark
import pytest
from ranks_server import mpiexec

import princomp
from princomp import PCA
from princomp.errors import InputChangedError

FOLDER = Path(__file__).parent
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

on_ranks = pytest.mark.skipif(on_mpi.missing() is not None, reason=str(on_mpi.missing()))


def run_ranks(what, path):
    command = [mpiexec(), "-n", "3", sys.executable, FOLDER / "lost_rank.py", what, path]
    return subprocess.run(command, env=ENVIRONMENT, capture_output=True, timeout=60, check=False)


def spread_rows(seeds, n, p):
    scale = np.linspace(3, 1, p)
    return np.concatenate(
        [np.random.default_rng(seed).standard_normal((n, p)) * scale for seed in seeds]
    )


@on_ranks
def test_a_rank_that_is_killed_ends_all_and_leaves_no_model(tmp_path):
    done = run_ranks("killed", tmp_path / "model.pca")
    assert done.returncode != 0
    assert [path.name for path in tmp_path.iterdir()] == ["killed"]


@on_ranks
def test_a_slow_rank_changes_nothing(tmp_path):
    assert run_ranks("slow", tmp_path / "model.pca").returncode == 0
    model = princomp.load(tmp_path / "model.pca")
    expected = PCA(3, svd_solver="covariance_eigh").fit(spread_rows(range(3), 30_000, 20))
    assert model.n_samples_ == 90_000
    np.testing.assert_allclose(model.explained_variance_, expected.explained_variance_, rtol=1e-12)


@pytest.mark.skipif(on_spark.missing() is not None, reason=str(on_spark.missing()))
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds the executor in /proc")
@pytest.mark.parametrize("route", ["covariance_eigh", "krylov"])
def test_an_executor_that_is_killed_counts_its_rows_once(tmp_path, route):
    done = subprocess.run(
        [sys.executable, FOLDER / "lost_executor.py", tmp_path, route],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert (tmp_path / "killed").exists()
    variances, n = json.loads(done.stdout.splitlines()[-1])
    expected = PCA(2).fit(spread_rows(range(8), 200, 5))
    assert n == 1600
    np.testing.assert_allclose(variances, expected.explained_variance_, rtol=1e-9)


@pytest.mark.skipif(on_dask.missing() is not None, reason=str(on_dask.missing()))
@pytest.mark.parametrize("p", [10, 60, 400])  # a space filled by one product, and two slower ones
def test_rows_that_change_between_passes_are_refused(p):
    import dask
    import dask.array as da

    calls = iter(range(10**6))

    @dask.delayed(pure=False)
    def part():
        return spread_rows([next(calls)], 500, p)

    with dask.config.set(scheduler="sync"):
        x = da.concatenate([da.from_delayed(part(), (500, p), float) for _ in range(4)])
        with pytest.raises(InputChangedError, match="not the same in every pass"):
            PCA(3, svd_solver="krylov").fit(x)
        # A fit of one pass accepts such rows.
        assert PCA(3).fit(x).plan_.passes == 1
