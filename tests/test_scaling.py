"""benchmarks/scaling.py: limits of its formulas, and that what it says of routes is what is."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np
import pytest

from command_line import ENVIRONMENT
from princomp import PCA
from princomp.solvers.krylov import block_width

HERE = Path(__file__).parents[1] / "benchmarks"

pytestmark = pytest.mark.skipif(not HERE.exists(), reason="an archive without benchmarks/")


@pytest.fixture(scope="module", autouse=True)
def on_path():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(HERE)
        yield


@pytest.fixture
def model():
    import scaling

    return scaling


RATES = (1e10, 1e9, 1e9, 1e10)


def time(model, work, m, engine="Dask", workers=10, cores=4):
    on = model.Cluster(engine, workers, cores, 1e9, 1e9, 1e-3, 1e-2)
    return model.seconds(work, model.Rates(*RATES), on, m)


def test_a_covariance_sends_p_squared_and_krylov_p_times_b_from_each_partition(model):
    rows = model.Rows(10**6, 500)
    assert model.covariance(rows, 64).up == 64 * 8 * 500**2
    many = model.krylov(rows, 64, 7, k=10)
    assert many.up == 7 * 64 * 8 * 500 * block_width(10, 500)
    assert many.read == 7 * model.covariance(rows, 64).read
    assert many.down == 6 * many.state  # the first pass draws its vectors from a seed


def test_twice_the_workers_take_half_the_time_of_the_sum_and_of_reading(model):
    work = model.covariance(model.Rows(10**7, 300), 1_000)
    few, many = (time(model, work, 1_000, workers=workers) for workers in (10, 20))
    assert few.sum == pytest.approx(2 * many.sum)
    assert few.read == pytest.approx(2 * many.read)
    assert few.solve == many.solve


def test_workers_beyond_the_partitions_have_nothing_to_do(model):
    work = model.covariance(model.Rows(10**7, 300), 40)
    assert time(model, work, 40, workers=10).sum == time(model, work, 40, workers=1_000).sum


def test_twice_the_rows_are_twice_the_work_and_no_more_to_send(model):
    for route in (model.covariance, model.tsqr, model.sketch):
        one, two = (route(model.Rows(n, 200), 32) for n in (2**20, 2**21))
        assert two.flops == pytest.approx(2 * one.flops, rel=0.01), route
        assert two.read == 2 * one.read
        assert two.up == one.up


def test_tiles_never_hold_p_squared_and_read_and_multiply_more(model):
    rows = model.Rows(10**6, 12_000)
    whole, parts = model.covariance(rows, 16), model.tiles(rows, 16, passes=10)
    assert parts.state < whole.state / 10
    assert parts.driver < whole.driver / 10
    assert parts.read == 8 * whole.read
    assert 1.5 * whole.flops < parts.flops < 2 * whole.flops


def test_qr_costs_more_than_products_and_less_than_twice_the_panels_of_two_squares(model):
    work = model.tsqr(model.Rows(10**6, 256), 1)
    assert 1.0 < work.flops / model.covariance(model.Rows(10**6, 256), 1).flops < 2.0
    assert 0.0 < work.adds < work.flops


@pytest.mark.parametrize(("engine", "fan"), [("Dask", 8), ("MPI", 2)])
def test_a_tree_has_as_many_levels_as_its_logarithm(model, engine, fan):
    for m in (2, 63, 64, 65, 5_000):
        assert len(model.received_states(engine, m, 8e6)) == math.ceil(round(math.log(m, fan), 9))
    assert model.received_states(engine, 1, 8e6) == ()


def test_the_last_task_of_spark_joins_a_sixteenth_of_the_partitions(model):
    assert model.received_states("Spark", 32_000, 8e6) == (15, 1_999)
    assert model.received_states("Spark", 100, 8 * 100**2) == (99,)  # small states go there at once


def test_the_engines_own_numbers_are_those_of_the_formulas(model):
    spark = (HERE.parent / "src/princomp/engines/spark/tasks.py").read_text()
    dask = (HERE.parent / "src/princomp/engines/dask/rows.py").read_text()
    tiles = (HERE.parent / "src/princomp/engines/spark/tiles.py").read_text()
    assert f"\nSPLIT_EVERY = {model.DASK_FAN}\n" in dask
    assert f"\n_MERGE_WIDTH = {model.SPARK_FAN}\n" in spark
    assert "\n_SMALL_STATE_BYTES = 2**20\n" in spark
    assert model.SPARK_SMALL == 2**20
    assert f"\nGROUP_COLUMNS = {model.TILE_COLUMNS:_}\n" in tiles


def test_a_krylov_fit_reads_the_rows_as_often_as_it_multiplies_them(model, monkeypatch):
    from princomp.solvers.krylov import ImagesOf

    seen = []
    add = ImagesOf.add

    def counted(self, images, block, weights=None, **options):
        seen.append((block.shape[0], images.image.nbytes))
        return add(self, images, block, weights, **options)

    monkeypatch.setattr(ImagesOf, "add", counted)
    X = np.random.default_rng(0).standard_normal((300, 40)) * 0.8 ** np.arange(40)
    passes = PCA(3, svd_solver="krylov", tol=1e-6).fit(X).plan_.passes
    work = model.krylov(model.Rows(300, 40), 1, passes, k=3)
    assert sum(rows for rows, _ in seen) == 300 * (passes - 1)
    assert {size for _, size in seen} == {work.state}


def test_the_plans_of_the_large_tables_are_princomps(model):
    import scaling_large

    routes = {
        (case.name, engine): scaling_large.plan_case(case, engine)[0][:2]
        for case in scaling_large.CASES
        for engine in case.partitions
    }
    assert len(routes) == 16
    for (name, engine), route in routes.items():
        if name.startswith("10⁹"):
            assert route == ("moments", "lanczos"), engine
        elif engine == "one machine" and "sparse" in name:
            assert route == ("columns", "lanczos"), name  # the rows fit in memory
        else:
            assert route == ("columns", "krylov"), (name, engine)


def test_the_program_runs_on_small_tables(model, monkeypatch, capfd):
    monkeypatch.setenv("PYTHONPATH", ENVIRONMENT["PYTHONPATH"])  # of the processes that it starts
    monkeypatch.setattr(sys, "argv", ["scaling.py", "--tiny", "--rounds", "1"])
    model.main()
    printed = capfd.readouterr()
    assert printed.err == ""
    assert "measured ÷ predicted" in printed.out
    assert printed.out.count("most of it") == 16
