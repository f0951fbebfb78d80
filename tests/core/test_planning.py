"""The plan: which route for which shape, why, and at what cost."""

from __future__ import annotations

import json
import tracemalloc
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from threading import Semaphore
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import decomposition

from engines import on_partitions
from kernels.instruction_sets import kernels_of
from princomp import PCA, plan
from princomp.core.plan import Plan, cost_of, select_route
from princomp.core.problem import SOLVERS, Problem, RouteChoice
from princomp.core.request import PCAParameters, Request
from princomp.core.routes.krylov import KRYLOV
from princomp.core.routes.lanczos import LANCZOS
from princomp.core.routes.moments import (
    ENGINE_COLUMNS,
    LANCZOS_COLUMNS,
    MOMENTS,
    SCATTER_COLUMNS,
    SCATTER_SEARCH,
    SEARCH_COLUMNS,
    SPARSE_SCATTER,
)
from princomp.core.routes.randomized import RANDOMIZED
from princomp.core.routes.row_gram import GRAM_ROWS, ROW_GRAM, SEARCH_ROWS, SPARSE_GRAM_ROWS
from princomp.core.routes.sketch import SKETCH
from princomp.core.routes.tiles import TILES
from princomp.core.routes.triangle import TRIANGLE
from princomp.errors import NotAvailableError, ParameterError, ShapeError
from princomp.linalg import limit_threads
from princomp.summaries import Moments, block_rows, stored_bytes, wide_block_rows

ROUTES = [
    # rows, columns, components, stored entries → summary, solver
    (100, 10, None, None, "moments", "eigh"),
    (100, 10, 3, None, "moments", "eigh"),
    (10**9, 10, 0.9, None, "moments", "eigh"),
    (10, 10, 3, None, "moments", "eigh"),
    (5000, 900, 3, None, "moments", "eigh"),
    (5000, 900, 18, None, "moments", "eigh"),
    (5000, 1400, 20, None, "moments", "lanczos"),
    (5000, 1400, 40, None, "moments", "eigh"),
    (5000, 2000, 20, None, "columns", "lanczos"),
    (5000, 2000, 200, None, "moments", "eigh"),
    (5000, 1400, 0.9, None, "moments", "eigh"),
    (5000, 2000, 0.9, None, "columns", "lanczos"),
    (2000, 2000, "mle", None, "moments", "eigh"),
    (5000, 2000, None, None, "moments", "eigh"),
    (5000, 2000, 0, None, "moments", "eigh"),
    (5000, 2000, "mle", None, "moments", "eigh"),
    (10**6, 20_000, 5, None, "columns", "lanczos"),
    (10, 11, 3, None, "triangle", "svd"),
    (200, 1000, None, None, "triangle", "svd"),
    (256, 1024, 3, None, "triangle", "svd"),
    (257, 1021, 3, None, "columns", "row_gram"),
    (300, 2000, 3, None, "columns", "row_gram"),
    (300, 10**6, 0.9, None, "columns", "row_gram"),
    (5000, 20_000, 3, None, "columns", "lanczos"),
    (600, 20_000, 3, None, "columns", "row_gram"),
    (1000, 20_000, 3, None, "columns", "lanczos"),
    (5000, 20_000, 500, None, "columns", "row_gram"),
    (5000, 20_000, 0.9, None, "columns", "row_gram"),
    (4000, 4000, 20, None, "columns", "lanczos"),
    (4000, 4000, 400, None, "moments", "eigh"),
    (4000, 4000, None, None, "moments", "eigh"),
    (20_000, 50_000, 10, None, "columns", "lanczos"),
    (10_000, 100, 3, 10**5, "moments", "eigh"),
    (1000, 10**5, 3, 10**6, "columns", "row_gram"),
    (10**5, 10**5, 3, 10**7, "columns", "lanczos"),
    (1000, 20_000, 40, None, "columns", "lanczos"),
    (1000, 20_000, 41, None, "columns", "row_gram"),
    (12_000, 20_000, 1200, None, "columns", "lanczos"),
    (12_000, 20_000, 1201, None, "columns", "row_gram"),
    (5000, 2000, 1, None, "columns", "lanczos"),
    (5000, 2000, 80, None, "columns", "lanczos"),
    (5000, 2000, 81, None, "moments", "eigh"),
    (1500, 1500, 3, 10**4, "moments", "eigh"),
    (1500, 1500, 0.9, None, "columns", "lanczos"),
    (20_000, SCATTER_COLUMNS, 401, None, "moments", "eigh"),
    (100, SCATTER_COLUMNS, "mle", None, "moments", "eigh"),
    (100, SCATTER_COLUMNS + 1, "mle", None, "columns", "row_gram"),
    (5000, 5000, "kaiser", 10**6, "moments", "eigh"),
    (20_000, SCATTER_COLUMNS, "kaiser", 10**6, "moments", "eigh"),
    (20_000, SCATTER_COLUMNS + 1, "kaiser", 10**6, "columns", "lanczos"),
]


@pytest.mark.parametrize(("n", "p", "n_components", "stored", "summary", "solver"), ROUTES)
def test_the_route_follows_from_the_shape(n, p, n_components, stored, summary, solver):
    choice = select_route(Problem(n, p, n_components, stored=stored))
    assert (choice.summary, choice.solver) == (summary, solver)
    assert choice.reason


def test_the_columns_of_a_scatter_in_a_task_of_spark_are_limited():
    problem = Problem(10**6, 4000, 5, in_memory=False, engine="Spark")
    assert select_route(problem).summary == "moments"
    choice = select_route(problem._replace(columns=4001))
    assert choice.solver == "krylov"
    assert choice.reason.startswith("p² = 4,001² is too much for a task of Spark: block Krylov")
    for other in ({"stored": 10**7}, {"engine": "", "memory_limit": 10**9}):
        choice = select_route(problem._replace(columns=20_000, **other))
        assert choice.reason.startswith("block Krylov search")


def test_a_table_of_unknown_length_is_not_small():
    known = Problem(10, 200, 3, in_memory=False, engine="Dask")
    assert TRIANGLE.applies(known)
    assert TRIANGLE.applies(known._replace(rows=0)) == ""


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_plan_has_the_precision_of_the_rows(dtype, rng):
    X = rng.standard_normal((20, 3)).astype(dtype)
    assert PCA().fit(X).plan_.problem.dtype == plan(X).problem.dtype == dtype


def test_a_square_table_is_read_in_one_pass():
    """It need not be held in memory: its scatter is as large as its rows."""
    choice = select_route(Problem(500, 500, 3, in_memory=False))
    assert (choice.summary, choice.solver) == ("moments", "eigh")


@pytest.mark.parametrize("in_memory", [True, False])
@pytest.mark.parametrize("stored", [None, 10**5])
@pytest.mark.parametrize("n_components", [None, 3, 500, 0.9, "mle", "kaiser"])
def test_there_is_a_route_for_every_shape(n_components, stored, in_memory):
    """Also where two routes meet, and next to it."""
    meeting = (
        SEARCH_ROWS, SPARSE_GRAM_ROWS, GRAM_ROWS,
        LANCZOS_COLUMNS, SEARCH_COLUMNS, SPARSE_SCATTER, SCATTER_COLUMNS,
    )  # fmt: skip
    sizes = sorted({size + more for size in meeting for more in (-1, 0, 1)} | {50, 10**6})
    for n, p in product(sizes, sizes):
        problem = Problem(n, p, n_components, stored=stored, in_memory=in_memory)
        assert select_route(problem).reason


@pytest.mark.parametrize("stored", [None, 10**5])
@pytest.mark.parametrize("n_components", [None, 3, 500, 0.9, "mle", "kaiser"])
def test_a_route_that_does_not_apply_has_an_empty_reason(n_components, stored):
    routes = (
        KRYLOV, LANCZOS, MOMENTS, RANDOMIZED, ROW_GRAM, SCATTER_SEARCH, SKETCH, TILES, TRIANGLE,
    )  # fmt: skip
    sizes, reasons = (100, SEARCH_ROWS, SPARSE_SCATTER, GRAM_ROWS + 1), set()
    for n, p, in_memory, once in product(sizes, sizes, (True, False), (True, False)):
        problem = Problem(
            n, p, n_components, stored=stored, in_memory=in_memory, repeatable=in_memory or not once
        )
        reasons |= {route.applies(problem) for route in routes}
    assert all(isinstance(reason, str) for reason in reasons)
    assert "" in reasons


@pytest.mark.parametrize("solver", [name for name in SOLVERS if name != "auto"])
@pytest.mark.parametrize("shape", [(100, 5), (5, 100), (10**6, 10**4)])
def test_a_requested_solver_is_used(solver, shape):
    choice = select_route(Problem(*shape, 2, solver=solver))
    assert (choice.summary, choice.solver) == SOLVERS[solver]
    assert repr(solver) in choice.reason


@pytest.mark.parametrize("n_components", [2, 0.9])
@pytest.mark.parametrize("solver", [name for name in SOLVERS if name != "auto"])
def test_the_passes_of_a_fit_are_those_of_its_certificate(rng, solver, n_components):
    X = rng.standard_normal((60, 8)) * np.arange(1, 9)
    model = PCA(n_components, svd_solver=solver, scale="range", random_state=0)
    if solver == "sketch" and n_components == 0.9:
        with pytest.raises(ParameterError, match="whole number"):
            model.fit(X)
        return
    model.fit(X)
    # The ranges of the columns need no pass of their own.
    fewest = 1 if solver in ("full", "covariance_eigh", "sketch") else 2
    assert model.plan_.passes == model.certificate_.passes >= fewest
    assert model.certificate_.bytes_read == model.plan_.passes * X.nbytes


@pytest.mark.parametrize("shape", [(20, 5), (5, 20)])
def test_one_pass_shows_that_equal_rows_have_no_variance(shape):
    X = np.ones(shape)
    found = PCA(2, svd_solver="lanczos").fit(X).certificate_
    assert (found.passes, found.bytes_read) == (1, X.nbytes)


def test_a_fit_of_a_matrix_reads_no_rows():
    model = PCA.from_covariance(np.diag([3.0, 1.0]))
    assert (model.certificate_.passes, model.certificate_.bytes_read) == (0, 0)
    assert str(model.plan_).startswith("Plan for unknown × 2")


def test_the_bytes_of_sparse_rows_are_those_of_their_three_arrays(rng):
    X = sp.random_array((60, 8), density=0.2, rng=rng, format="csr")
    model = PCA(2, svd_solver="lanczos").fit(X)
    nbytes = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    assert model.certificate_.bytes_read == model.plan_.passes * nbytes > 0


def test_a_fallback_adds_its_reason(rng):
    X = rng.standard_normal((100, 4)) * [1, 1, 1, 1e-9]
    problem = Problem(100, 4, None)
    planned, fitted = Plan.of(problem, select_route(problem)), PCA().fit(X).plan_
    assert (planned.solver, fitted.solver) == ("eigh", "svd")
    assert len(fitted.reasons) == 2
    assert "below what squaring can resolve" in fitted.reasons[1]
    assert fitted.reasons[1] in str(fitted)
    assert "then" in str(fitted)
    assert PCA(2).fit(X).plan_.reasons == planned.reasons
    assert PCA().fit(2.0**20 * X).plan_.reasons == fitted.reasons  # in any unit
    asked = PCA(svd_solver="covariance_eigh").fit(X).plan_
    assert (asked.solver, len(asked.reasons)) == ("eigh", 1)


@pytest.mark.parametrize(
    ("parameters", "k", "stands"),
    [
        ({"svd_solver": "arpack"}, None, False),
        ({"n_components": 2, "svd_solver": "krylov"}, None, False),
        ({"svd_solver": "row_gram"}, 2, False),
        ({"svd_solver": "row_gram"}, None, True),
        ({"n_components": 4, "svd_solver": "krylov"}, None, True),
        ({"n_components": 4, "svd_solver": "krylov"}, 3, False),
        ({"scale": "unit", "constant": "drop", "svd_solver": "krylov"}, None, True),
        ({"n_components": 2}, 1, True),
    ],
)
def test_a_plan_says_truly_whether_a_fit_stands_for_its_rows(parameters, k, stands, rng):
    X = rng.standard_normal((30, 4))
    if "constant" in parameters:
        X = np.c_[X, np.ones(30)]
    model = PCA(**parameters).fit(X)
    if k is None:
        assert plan(X, **parameters).stands_for_rows == stands
    else:
        model = model.truncated(k)
    assert model.plan_.stands_for_rows == stands
    assert ("components alone" not in str(model.plan_)) == stands
    if stands:
        variance = model.rescaled("pareto").total_variance_
        np.testing.assert_allclose(variance, np.sqrt(X.var(axis=0, ddof=1)).sum())
    else:
        with pytest.raises(NotAvailableError, match="components"):
            model.rescaled("pareto")


def test_any_plan_converts_to_json():
    for problem in (
        Problem(100, 10, None),
        Problem(100, 10, 0.5, "float32", None, "full", True),
        Problem(100, 10, "mle"),
        Problem(10**5, 10**5, 3, "float64", 10**7),
    ):
        planned = Plan.of(problem, select_route(problem), ("because ‖x‖ > 0",))
        document = json.loads(planned.to_json())
        assert document == planned.to_dict()
        assert "because ‖x‖ > 0" in planned.to_json()  # people read it, too
        assert document["reasons"][-1] == "because ‖x‖ > 0"
        # The passes of an iterative solver are not known in advance.
        assert (document["passes"] is None) == (planned.solver in ("lanczos", "randomized"))
        assert document["memory"] > 0


def test_the_text_of_a_plan():
    problem = Problem(10**5, 10**5, 3, "float32", 10**7)
    text = str(Plan.of(problem, select_route(problem)))
    assert "Plan for 100,000 × 100,000 float32 (sparse, 10,000,000 stored)" in text
    assert "until the residual is met" in text
    assert " MB beyond the data" in text or " GB beyond the data" in text


@pytest.mark.parametrize(
    ("rows", "k", "reason"),
    [
        (1000, 3, "few components: a search is faster than n² = 1,000² products"),
        (12_000, 1000, "many rows and columns: a search by products with the rows"),
    ],
)
def test_the_plan_says_why_wide_rows_are_searched(rows, k, reason):
    problem = Problem(rows, 20_000, k)
    assert reason in str(Plan.of(problem, select_route(problem)))


def test_a_route_of_a_newer_version_has_no_known_cost():
    """Model files name the route of their fit."""
    problem, choice = Problem(100, 3, 2), RouteChoice("moments", "quantum", "it is new")
    made = Plan.of(problem, choice, (), 4)
    assert (made.passes, made.memory) == (4, 0)
    assert "solver   quantum" in str(made)
    assert Plan.of(problem, choice).passes == 0
    plain = Plan(problem, "moments", "quantum", ("it is new",), 4)
    assert (plain.memory, plain.stands_for_rows) == (0, True)


def test_a_plan_has_the_defaults_of_a_fit():
    assert PCAParameters()._asdict() == PCA().get_params()
    assert Request.of(PCAParameters()) == Request()


def test_a_plan_of_one_row_is_refused_as_a_fit_is():
    for refused in (plan, PCA().fit):
        with pytest.raises(ShapeError, match="needs at least 2 rows, and there is 1 sample"):
            refused([[1.0, 2.0]])


def test_a_plan_of_too_many_components_is_refused_as_a_fit_is(tmp_path, rng):
    X = rng.standard_normal((3, 2))
    np.save(tmp_path / "x.npy", X)
    for rows in (X, tmp_path / "x.npy"):
        for refused in (PCA(3).fit, lambda X: plan(X, 3)):
            with pytest.raises(ShapeError, match="n_components=3 must be between 0 and"):
                refused(rows)


def test_the_defaults_are_those_of_scikit_learn():
    theirs, ours = decomposition.PCA().get_params(), PCA().get_params()
    assert {name: ours[name] for name in theirs} == theirs


@pytest.mark.parametrize(
    ("shape", "parameters"),
    [
        ((20_000, 100), {}),
        ((20_000, 100), {"svd_solver": "full"}),
        ((200, 2000), {"n_components": 5}),
        ((2000, 200), {"n_components": 5, "svd_solver": "arpack"}),
    ],
)
def test_planned_memory_is_close_to_the_measured_peak(rng, shape, parameters):
    X = rng.standard_normal(shape)
    PCA(**parameters).fit(X)  # loads all modules and libraries
    tracemalloc.start()
    plan = PCA(**parameters).fit(X).plan_
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # Threads keep memory that they have touched, and that of the first fit is not traced.
    assert 0.5 * peak < plan.memory < 12 * peak


@pytest.mark.parametrize(
    ("shape", "sparse", "parameters"),
    [
        ((60, 12_000), False, {"n_components": 50, "svd_solver": "sketch", "scale": "unit"}),
        ((6000, 6000), True, {"n_components": 20, "svd_solver": "sketch"}),
        ((400, 4000), False, {"svd_solver": "row_gram"}),
        ((1000, 1000), False, {"n_components": 2, "svd_solver": "row_gram"}),
        ((50, 20_000), False, {"n_components": 40, "svd_solver": "randomized"}),
        ((3000, 500), False, {"n_components": 100, "svd_solver": "arpack"}),
        ((600, 600), False, {"n_components": 300, "svd_solver": "arpack"}),
        ((1000, 1000), False, {"n_components": 200, "svd_solver": "arpack"}),
    ],
)
def test_planned_memory_is_enough(rng, shape, sparse, parameters):
    if sparse:
        X = sp.random_array(shape, density=0.01, rng=rng, format="csr", dtype=np.float32)
    else:
        X = rng.standard_normal(shape, dtype=np.float32)
    tracemalloc.start()
    try:
        planned = PCA(**parameters).fit(X).plan_.memory
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < planned


def test_planned_memory_is_enough_without_compiled_kernels(rng):
    X = rng.standard_normal((20_000, 100))
    with kernels_of("numpy"):
        tracemalloc.start()
        try:
            planned = PCA(3).fit(X).plan_.memory
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert peak < planned


def test_empty_rows_take_no_memory_in_a_block_of_sparse_rows(rng):
    half = wide_block_rows(2000, sparse=True) // 2
    X = sp.random_array((half, 2000), density=0.01, rng=rng, format="csr")
    filled_up = sp.vstack([X, sp.csr_array((half, 2000))], format="csr")
    one, other = (plan(rows, n_components=3, svd_solver="sketch") for rows in (X, filled_up))
    assert one.memory == other.memory


def test_planned_memory_is_enough_while_other_sums_wait_for_the_first(rng, monkeypatch):
    """Sums of blocks are merged in the order of the rows."""
    X = rng.standard_normal((12 * block_rows(390), 390), dtype=np.float32)
    of, others = Moments.of, Semaphore(0)

    def the_first_is_late(block, weights=None, *, precise=False):
        first = block[0, 0] == X[0, 0]
        summary = of(block, weights, precise=precise)
        for _ in range(6) if first else ():
            assert others.acquire(timeout=30)
        if not first:
            others.release()
        return summary

    monkeypatch.setattr(Moments, "of", the_first_is_late)
    tracemalloc.start()
    try:
        with limit_threads(2):
            planned = PCA(3).fit(X).plan_.memory
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < planned


def test_a_search_of_wide_sparse_rows_needs_little_room_per_column():
    """Its vectors have one entry per row; only the axes have one per column."""
    n, p, k = 5000, 10**6, 10
    problem = Problem(n, p, k, stored=10**6)
    assert select_route(problem).solver == "lanczos"
    assert Plan.of(problem, select_route(problem)).memory < 10 * 8 * k * p


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_that_are_read_whole_need_memory_for_themselves_at_least(dtype, rng):
    X = sp.random_array((3000, 4000), density=0.02, rng=rng, format="csr", dtype=dtype)
    few = sp.random_array((30_000, 40), density=1e-4, rng=rng, format="csr", dtype=dtype)
    for rows, stored in ((X, X.nnz), (few, few.nnz), (X.toarray(), None)):
        problem = Problem(*rows.shape, 3, np.dtype(dtype).name, stored=stored, in_memory=False)
        choice = RouteChoice("hold", "", "")
        in_memory = problem._replace(in_memory=True)
        then = cost_of(in_memory, select_route(in_memory)).memory
        assert problem.itemsize == rows.dtype.itemsize
        assert cost_of(problem, choice).memory >= stored_bytes(rows) + then


def test_rows_are_read_whole_only_if_the_route_afterwards_fits():
    """A search for a share needs room for the scatter that may take over from it."""
    problem = Problem(5000, 5000, 0.9, in_memory=False, memory_limit=75 * 10**7)
    assert select_route(problem).solver == "krylov"


def test_the_triangle_takes_over_only_if_it_fits_in_the_memory_limit(rng):
    X = rng.standard_normal((300, 100)) * np.geomspace(1, 1e-12, 100)
    model = PCA(memory_limit="1MB").fit(X)
    assert model.plan_.solver == "eigh"
    assert model.plan_.memory < 1e6
    assert "does not fit the memory limit" in model.plan_.reasons[1]
    assert model.certificate_.below_resolution.any()
    assert PCA(memory_limit="100MB").fit(X).plan_.solver == "svd"


@pytest.mark.parametrize("k", [0.9, "kaiser"])
def test_a_scatter_in_tiles_refuses_shares_and_rules_before_rows_are_read(k):
    fit = SimpleNamespace(request=Request.of(PCAParameters(n_components=k)), summarise=None)
    with pytest.raises(ParameterError, match="needs a whole number of components"):
        TILES.solve(fit)


@dataclass(kw_only=True, eq=False)
class InTiles(on_partitions.Partitions):
    """Rows of an engine that keeps a scatter, summed in three passes."""

    @contextmanager
    def tiles(self, *, complete):
        rows = np.concatenate(self.parts)
        rows = rows[~np.isnan(rows).any(axis=1)] if complete else rows
        scatter = np.cov(rows, rowvar=False) * (len(rows) - 1)
        yield SimpleNamespace(passes=3, product=lambda vectors: scatter @ vectors)


@pytest.mark.parametrize("parameters", [{}, {"center": False}, {"scale": "unit"}])
def test_the_passes_of_a_scatter_in_tiles_are_counted(parameters, rng, monkeypatch):
    monkeypatch.setitem(ENGINE_COLUMNS, "partitions", 1000)
    X = rng.standard_normal((60, 10)) * 2.0 ** -np.arange(10) + 3.0
    rows = InTiles(engine="partitions", rows=60, p=10, dtype=X.dtype, parts=[X[:20], X[20:]])
    model = PCA(3, svd_solver="lanczos", **parameters).fit(rows)
    assert model.plan_.solver == "tiles"
    assert model.plan_.passes == model.certificate_.passes == 1 + 3
    expected = PCA(3, **parameters).fit(X)
    largest = expected.explained_variance_[0]
    np.testing.assert_allclose(
        model.explained_variance_, expected.explained_variance_, rtol=0, atol=1e-12 * largest
    )
    np.testing.assert_allclose(model.components_, expected.components_, rtol=0, atol=1e-10)
