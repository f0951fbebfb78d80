"""The memory limit of a fit: how it is given, the route it leads to, and that fits keep it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import textwrap
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from helpers import truth
from princomp import PCA, plan
from princomp.core import fit as fit_module
from princomp.core.missing.filled import fill_table
from princomp.core.plan import cost_of, select_route
from princomp.core.problem import Problem
from princomp.core.request import Request
from princomp.core.routes import base, row_gram
from princomp.errors import MemoryLimitError, ParameterError, ShapeError
from princomp.io.readers.source import Chunk, Source
from princomp.linalg import memory
from princomp.linalg.memory import byte_count, format_bytes, free_memory, memory_limit


@pytest.fixture(autouse=True)
def two_processors(monkeypatch):
    """Each thread needs memory of its own: plans must not depend on the machine."""
    for module in (base, row_gram):
        monkeypatch.setattr(module, "default_threads", lambda: 2)


# ---- sizes as text ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        ("2GB", 2 * 10**9),
        ("512MiB", 512 * 2**20),
        (1e9, 10**9),
        (" 1.5 g ", 1_500_000_000),
        ("1.5G", 1_500_000_000),
        ("1kB", 1000),
        ("1 KiB", 1024),
        ("1ki", 1024),
        ("3TiB", 3 * 2**40),
        (".5k", 500),
        ("0.001k", 1),
        ("7", 7),
        ("7 b", 7),
        (7, 7),
        (7.9, 7),
        (np.int64(10**10), 10**10),
        (np.float32(8), 8),
        (Fraction(5, 2), 2),
        ("\t2\u00a0GB\n", 2 * 10**9),
    ],
)
def test_memory_sizes_are_parsed(size, expected):
    assert byte_count(size) == expected
    assert memory_limit(size) == expected
    assert Request.of(PCA(memory_limit=size)).memory == expected


@pytest.mark.parametrize(
    "size",
    [
        *("", " ", "GB", "2 XB", "2GBs", "-2GB", "1,5GB", "2e9", "1.", "1.2.3", "0x10", "0", "0GB"),
        *("2 GB or so", "5iB", "5i", "nan", "inf", "²", "٣GB", "5\u212ab", "5m\u0131b"),
        *(0, -1, 0.5, 2.0**62, np.nan, np.inf, -np.inf, True, False, np.True_),
        *(b"2GB", [2], (1,), {}, object(), 1j, Decimal("1e9"), np.array([1, 2])),
        "9" * 400,
    ],
)
def test_invalid_memory_sizes_are_refused_with_an_example(size):
    with pytest.raises(ParameterError, match="is not a memory size") as caught:
        byte_count(size)
    assert caught.value.place == {"parameter": "memory_limit"}
    assert "'2GB'" in caught.value.hint
    with pytest.raises(ParameterError, match="memory_limit="):
        PCA(memory_limit=size).fit(np.eye(3))


@pytest.mark.parametrize(
    ("count", "text"),
    [
        *((0, "0 B"), (1, "1 B"), (999, "999 B"), (1000, "1 kB"), (1470, "1.5 kB")),
        *((10_400, "10 kB"), (1.44e6, "1.4 MB"), (999e6, "999 MB"), (1e9, "1.0 GB")),
        *((999.4, "999 B"), (999.6, "1 kB"), (999_600, "1 MB"), (5e12, "5,000.0 GB")),
    ],
)
def test_byte_counts_are_formatted(count, text):
    assert format_bytes(count) == text


def test_formatted_sizes_parse_back_within_five_percent():
    for count in np.geomspace(1, 1e12, 2000):
        parsed = byte_count(format_bytes(1.05 * count).replace(",", ""))
        assert parsed >= int(count), format_bytes(1.05 * count)
        assert parsed <= 1.11 * count + 1


# ---- free memory ---------------------------------------------------------------------------------


def test_the_default_limit_is_a_share_of_free_memory(monkeypatch):
    monkeypatch.setattr(memory, "free_memory", lambda: 10**9)
    assert memory_limit(None) == 600_000_000
    large = np.broadcast_to(0.0, (10_000, 1000))
    assert plan(large).problem.memory_limit == 600_000_000
    assert (
        plan(np.zeros((10, 5))).problem.memory_limit is None
    )  # too small to look up the free memory
    assert plan(np.zeros((10, 5)), memory_limit="1GB").problem.memory_limit == 10**9


def test_free_memory_is_limited_by_machine_and_container(monkeypatch):
    assert 0 < free_memory() < 2**60
    monkeypatch.setattr(memory, "_free_on_machine", lambda: 500)
    monkeypatch.setattr(memory, "memory_left", lambda: 300)
    assert free_memory() == 300
    monkeypatch.setattr(memory, "memory_left", lambda: 2**62)
    assert free_memory() == 500


# ---- the route -----------------------------------------------------------------------------------

GB = 10**9
READ_ONCE = {"repeatable": False}
ROUTES = [
    # rows (0: unknown), columns, components, other options → summary, solver
    (10**6, 100, 5, {}, "moments", "eigh"),
    (10**6, 100, None, READ_ONCE, "moments", "eigh"),
    (0, 100, 0.9, READ_ONCE, "moments", "eigh"),
    (0, 100, "mle", {}, "moments", "eigh"),
    (10**6, 3000, 5, {}, "moments", "lanczos"),
    (10**6, 3000, 500, {}, "moments", "eigh"),
    (10**6, 1500, 30, {}, "moments", "lanczos"),
    (10**6, 1500, 31, {}, "moments", "eigh"),
    # Wide rows of known number are read into memory where they fit, and take the routes of arrays.
    (50, 100, 5, {}, "hold", ""),
    (100, 20_000, 5, {"memory_limit": GB // 10}, "hold", ""),
    (100, 20_000, 5, {"memory_limit": GB // 10, **READ_ONCE}, "hold", ""),
    # Otherwise p × p is avoided: products with the rows, or a sketch of rows that are read once.
    (10**6, 20_000, 5, {"memory_limit": GB}, "columns", "krylov"),
    (10**6, 20_000, 0.9, {"memory_limit": GB}, "columns", "krylov"),
    (0, 20_000, 5, {}, "columns", "krylov"),
    (10**6, 20_000, 5, {"memory_limit": GB, **READ_ONCE}, "sketch", "nystrom"),
    (0, 10_001, 5, READ_ONCE, "sketch", "nystrom"),
    (0, 10_000, 5, READ_ONCE, "moments", "lanczos"),
    # A scatter that does not fit in memory is avoided, too.
    (10**6, 9000, 5, {"memory_limit": GB}, "columns", "krylov"),
    (10**6, 9000, 0.9, {"memory_limit": GB}, "columns", "krylov"),
    (10**6, 9000, 5, {"memory_limit": GB, **READ_ONCE}, "sketch", "nystrom"),
    (10**6, 9000, 5, {"memory_limit": 10 * GB}, "moments", "lanczos"),
    # Sparse rows: a scatter of few columns only.
    (10**6, 900, 5, {"stored": 10**7}, "moments", "eigh"),
    (10**6, 5000, 5, {"stored": 10**7, "memory_limit": GB}, "hold", ""),
    (10**6, 5000, 5, {"stored": 10**7, "memory_limit": GB // 10}, "columns", "krylov"),
    (0, 5000, 5, {"stored": 10**7, "memory_limit": GB, **READ_ONCE}, "sketch", "nystrom"),
    # A requested solver is used where possible.
    (10**4, 100, 5, {"solver": "lanczos"}, "hold", ""),
    (10**4, 100, 5, {"solver": "row_gram"}, "hold", ""),
    (10**4, 100, 5, {"solver": "randomized"}, "hold", ""),
    (10**6, 1000, 5, {"solver": "lanczos", "memory_limit": GB}, "columns", "krylov"),
    (0, 100, 5, {"solver": "arpack"}, "columns", "krylov"),
    (10**4, 100, 5, {"solver": "krylov"}, "columns", "krylov"),
    (10**4, 100, 5, {"solver": "sketch"}, "sketch", "nystrom"),
    (10**4, 100, 5, {"solver": "full", **READ_ONCE}, "triangle", "svd"),
    (10**4, 100, 5, {"solver": "covariance_eigh"}, "moments", "eigh"),
]


@pytest.mark.parametrize(("n", "p", "n_components", "options", "summary", "solver"), ROUTES)
def test_routes_of_rows_that_are_read(n, p, n_components, options, summary, solver):
    choice = select_route(Problem(n, p, n_components, in_memory=False, **options))
    assert (choice.summary, choice.solver) == (summary, solver)
    assert choice.reason


REFUSED = [
    (0, 20_000, None, {}),
    (0, 20_000, 0.9, READ_ONCE),
    (0, 20_000, "mle", {}),
    (10**6, 9000, None, {}),
    (10**6, 1000, 5, {"solver": "row_gram"}),
    (10**6, 1000, 5, {"solver": "randomized"}),
    (10**6, 1000, 5, {"solver": "lanczos", **READ_ONCE}),
    (10**6, 20_000, 5, {"solver": "covariance_eigh"}),
    (10**6, 20_000, 5, {"solver": "full"}),
    (10**6, 10**7, 100, {}),
    (10**6, 10**7, 100, READ_ONCE),
]


@pytest.mark.parametrize(("n", "p", "n_components", "options"), REFUSED)
def test_a_refusal_suggests_a_limit_that_is_enough(n, p, n_components, options):
    problem = Problem(n, p, n_components, in_memory=False, memory_limit=GB // 2, **options)
    with pytest.raises(MemoryLimitError) as caught:
        select_route(problem)
    error = caught.value
    assert error.place["limit"] == GB // 2 < error.place["needed"]
    assert "500 MB" in error.message
    assert (f"{n:,}" if n else "unknown") in error.message
    assert ("whole number" in error.hint) == (not isinstance(n_components, int))
    enough = byte_count(re.search(r"allow ([\d.,]+ [kMGT]?B)", error.hint)[1].replace(",", ""))
    choice = select_route(problem._replace(memory_limit=enough))
    assert cost_of(problem._replace(memory_limit=enough), choice).memory <= enough


@pytest.mark.parametrize("p", [1, 3, 10, 30, 100, 300])
@pytest.mark.parametrize("in_memory", [True, False])
def test_the_suggested_limit_is_enough_for_small_tables(in_memory, p):
    for n in (p, 3 * p, 1000):
        problem = Problem(n, p, min(n, p), in_memory=in_memory, memory_limit=1)
        with pytest.raises(MemoryLimitError) as caught:
            select_route(problem)
        enough = byte_count(re.search(r"allow ([\d.,]+ [kMGT]?B)", caught.value.hint)[1])
        select_route(problem._replace(memory_limit=enough))


# ---- refusals and their hints -------------------------------------------------------------------


class Unread(Source):
    """Rows that must not be read."""

    reader_bytes = 0
    was_read = False

    def chunks(self, start=0):
        self.was_read = True
        raise AssertionError("rows were read")

    def read(self, start, stop):
        return self.chunks()


@pytest.mark.parametrize("solver", ["auto", "full", "covariance_eigh", "krylov", "row_gram"])
@pytest.mark.parametrize("repeatable", [True, False])
def test_a_fit_beyond_the_limit_is_refused_before_reading(repeatable, solver):
    source = Unread(rows=10**6, p=3000, dtype=np.dtype(float), file="unread")
    source.repeatable = repeatable
    model = PCA(5, svd_solver=solver, memory_limit="20MB")
    error = ParameterError if solver == "krylov" and not repeatable else MemoryLimitError
    with pytest.raises(error):
        model.fit(source)
    with pytest.raises(error):
        plan(source, 5, svd_solver=solver, memory_limit="20MB")
    assert not source.was_read
    assert not [name for name in vars(model) if name.endswith("_")]


def test_a_refused_fit_leaves_the_earlier_one(rng):
    X = rng.standard_normal((3000, 800))
    model = PCA(2).fit(X[:50, :5])
    before = dict(vars(model))
    model.memory_limit = "1MB"
    with pytest.raises(MemoryLimitError):
        model.fit(X)
    assert {**vars(model), "memory_limit": None} == {**before, "memory_limit": None}


@pytest.mark.parametrize("k", [None, 0.9, 5, "mle"])
def test_the_limit_suggested_for_a_refused_array_works(k, rng):
    n, p = (3000, 800) if k == 5 else (1000, 200)
    X = rng.standard_normal((n, p)) * np.maximum(0.8 ** np.arange(p), 0.01)
    with pytest.raises(MemoryLimitError, match=f"{n:,} rows × {p} columns fits in 1 MB") as caught:
        PCA(k, memory_limit="1MB").fit(X)
    assert isinstance(caught.value, MemoryError)
    size = re.search(r"allow ([\d.]+ MB)", caught.value.hint)[1]
    model = PCA(k, memory_limit=size).fit(X)
    assert model.plan_.memory <= byte_count(size)
    if k == 5:
        expected = truth(X)[0][:5]
        np.testing.assert_allclose(model.explained_variance_, expected, rtol=1e-10)
        assert "does not fit" in model.plan_.reasons[0]


def test_a_small_wide_table_beyond_the_limit_of_one_route_takes_another(rng):
    X = rng.standard_normal((40, 5000))
    assert PCA(3, memory_limit="20 MB").fit(X).plan_.summary == "triangle"
    model = PCA(3, memory_limit="4 MB").fit(X)
    assert model.plan_.solver == "row_gram"
    np.testing.assert_allclose(model.explained_variance_, truth(X)[0][:3], rtol=1e-12)


def test_limits_apply_to_small_and_sparse_arrays(rng):
    with pytest.raises(MemoryLimitError):
        PCA(memory_limit=1).fit(rng.standard_normal((20, 3)))
    matrix = sp.random_array((5000, 3000), density=0.01, rng=rng, format="csr")
    with pytest.raises(MemoryLimitError):
        PCA(5, memory_limit="1MB").fit(matrix)
    assert PCA(3, memory_limit="1GB").fit(rng.standard_normal((20, 3))).n_components_ == 3


class Streamed(Source):
    """An array that is read as a stream and counts the rows it has yielded."""

    reader_bytes = 0

    def __init__(self, table, *, known=True, repeatable=True, step=10):
        n, p = table.shape
        super().__init__(rows=n if known else None, p=p, dtype=table.dtype, file="streamed")
        self.table, self.repeatable, self.step, self.rows_yielded = table, repeatable, step, 0

    def chunks(self, start=0):
        for first in range(start, len(self.table), self.step):
            self.rows_yielded += self.step
            yield Chunk(self.table[first : first + self.step])


def test_the_limit_suggested_for_a_refused_stream_works(rng):
    X = rng.standard_normal((400, 1500)) * np.linspace(3, 1, 1500)
    source = Streamed(X)
    with pytest.raises(MemoryLimitError) as caught:
        PCA(4, memory_limit="2MB").fit(source)
    size = re.search(r"allow ([\d.]+ MB)", caught.value.hint)[1]
    model = PCA(4, memory_limit=size).fit(source)
    np.testing.assert_allclose(model.explained_variance_, truth(X)[0][:4], rtol=1e-10)


def test_wide_rows_read_once_are_sketched_and_the_plan_says_so(monkeypatch, rng):
    monkeypatch.setattr(fit_module, "SMALL_TABLE_BYTES", 2**16)
    p = 10_050
    X = rng.standard_normal((60, 3)) @ rng.standard_normal((3, p))
    monkeypatch.setattr(fit_module, "bytes_to_avoid_sketch", lambda problem: 0)
    with pytest.warns(UserWarning, match="added to a sketch: components are approximate"):
        model = PCA(3).fit(X[i : i + 7] for i in range(0, 60, 7))
    assert (model.plan_.summary, model.plan_.solver, model.plan_.passes) == ("sketch", "nystrom", 1)
    assert "seen once" in model.plan_.reasons[0]
    largest = f"{model.certificate_.residuals.max():.0e}"
    assert f"estimated residual of the sketch: up to {largest} of" in model.plan_.reasons[1]
    # Rows of rank 3: nothing is lost but rounding.
    np.testing.assert_allclose(model.explained_variance_, truth(X)[0][:3], rtol=1e-9)
    for k in (0.9, None, "mle"):
        refused = PCA(k, memory_limit="500MB")
        with pytest.raises((ParameterError, MemoryLimitError), match="whole number"):
            refused.fit(X[i : i + 7] for i in range(0, 60, 7))
        with pytest.raises(ParameterError, match="whole number"):
            PCA(k, svd_solver="sketch").fit(X[i : i + 7] for i in range(0, 60, 7))


def test_streams_are_kept_in_memory_only_within_a_share_of_the_limit(rng):
    X = rng.standard_normal((40_000, 20))
    limit = 8 * X.nbytes
    held = PCA(3, memory_limit=limit).fit(Streamed(X, known=False, step=5000))
    streamed = PCA(3, memory_limit=limit - 8).fit(Streamed(X, known=False, step=5000))
    assert (held.plan_.problem.in_memory, streamed.plan_.problem.in_memory) == (True, False)
    known = PCA(3, memory_limit=limit).fit(Streamed(X, known=True, step=5000))
    assert not known.plan_.problem.in_memory  # a route is chosen for their number
    assert streamed.explained_variance_.tobytes() == held.explained_variance_.tobytes()


def test_rows_are_filled_within_the_limit(rng):
    X = rng.standard_normal((400, 20))
    X[3, 2] = np.nan
    request = Request(1, fill="em", memory=9 * X.nbytes)
    found = fill_table(Streamed(X, known=False), None, request)[0]
    np.testing.assert_array_equal(found, fill_table(X, None, Request(1, fill="em"))[0])
    with pytest.raises(MemoryLimitError):
        fill_table(Streamed(X, known=False), None, Request(1, fill="em", memory=4 * X.nbytes))
    with pytest.raises(ShapeError, match="weights"):
        fill_table(Streamed(X, known=False), np.ones(3), Request(1, fill="em"))
    large = np.broadcast_to(0.0, (10**6, 10))
    with pytest.raises(MemoryLimitError, match="1,000,000 × 10 numbers need 320 MB"):
        fill_table(large, None, Request(1, fill="em", memory=10**8))


@pytest.mark.parametrize("solver", ["row_gram", "randomized"])
def test_streams_are_not_kept_in_memory_beyond_the_limit(solver, rng):
    X = rng.standard_normal((20_000, 20))
    source = Streamed(X, known=False, repeatable=False, step=100)
    with pytest.raises(MemoryLimitError):
        PCA(3, svd_solver=solver, memory_limit="1MB", random_state=0).fit(source)
    assert source.rows_yielded * 20 * 8 <= 10**6


# ---- the limit is kept --------------------------------------------------------------------------

GROWTH = """
    import json, os, sys
    import numpy as np
    from princomp import PCA

    def resident(what):
        with open("/proc/self/status") as file:
            return next(int(line.split()[1]) for line in file if line.startswith(what)) * 1024

    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
    path, limit, options = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
    # A first fit loads all modules and libraries.
    small = np.random.default_rng(0).standard_normal((500, 20))
    PCA(2, svd_solver=options.get("svd_solver", "auto")).fit(small)
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # resets the peak
    before = resident("VmRSS")
    model = PCA(memory_limit=limit, **options).fit(path)
    grown = resident("VmHWM") - before
    print(json.dumps([grown, model.plan_.memory, model.plan_.solver, model.n_samples_]))
"""


def growth_of(path, limit, **options):
    """Bytes by which a fit makes a new process grow, its planned memory, solver and rows."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(GROWTH), str(path), limit, json.dumps(options)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(Path(memory.__file__).parents[2])},
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def save_large(path, n, p, *, fortran=False, dtype="f8"):
    """A matrix of n × p numbers, written in chunks."""
    stored = np.lib.format.open_memmap(path, "w+", dtype, (n, p), fortran)
    rng = np.random.default_rng(3)
    step = 10**6 // p
    for first in range(0, n, step):
        stored[first : first + step] = rng.standard_normal((min(step, n - first), p))
    stored.flush()
    return path


needs_proc = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="needs /proc/self/status of Linux"
)


@needs_proc
@pytest.mark.parametrize(
    ("dtype", "p", "limit", "options", "solver"),
    [
        ("f8", 100, "60MB", {"n_components": 5}, "eigh"),
        ("f8", 100, "60MB", {"svd_solver": "full"}, "svd"),
        ("f4", 1000, "105MB", {"n_components": 4, "svd_solver": "krylov", "tol": 0.3}, "krylov"),
    ],
)
def test_a_file_larger_than_the_limit_is_fitted_within_it(
    dtype, p, limit, options, solver, tmp_path
):
    n = byte_count("110MB") // np.dtype(dtype).itemsize // p
    path = save_large(tmp_path / "large.npy", n, p, dtype=dtype)
    assert path.stat().st_size > byte_count(limit)
    grown, planned, solver_used, rows = growth_of(path, limit, **options)
    path.unlink()
    assert (solver_used, rows) == (solver, n)
    assert grown < byte_count(limit)
    assert planned <= byte_count(limit)


def test_a_numpy_file_needs_no_memory_for_a_library(tmp_path, rng):
    path = tmp_path / "x.npy"
    np.save(path, rng.standard_normal((100, 5)))
    assert PCA(2, memory_limit="100MB").fit(path).n_samples_ == 100


@pytest.mark.soak
@needs_proc
def test_a_large_file_of_columns_is_fitted_within_the_limit(tmp_path):
    n, p = 400_000, 125
    path = save_large(tmp_path / "large.npy", n, p, fortran=True)
    grown, _, _, rows = growth_of(path, "100MB", n_components=5)
    path.unlink()
    assert rows == n
    assert grown < 100 * 10**6
