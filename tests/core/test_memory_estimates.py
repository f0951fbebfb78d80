"""Estimates of the memory of a route, part by part."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest

from kernels.instruction_sets import kernels_of
from princomp.core.missing.filled import memory_to_fill
from princomp.core.plan import select_route
from princomp.core.problem import Problem
from princomp.core.routes import base
from princomp.core.routes.base import panels_in_flight, rows_in_flight
from princomp.core.routes.krylov import _BYTES_PER_STORED_NUMBER, search_memory, wide_blocks
from princomp.core.routes.lanczos import _successor
from princomp.core.routes.moments import MOMENTS, SCATTER_SEARCH
from princomp.core.routes.row_gram import ROW_GRAM
from princomp.core.routes.sketch import SKETCH
from princomp.core.routes.triangle import TRIANGLE
from princomp.errors import MemoryLimitError
from princomp.kernels import chunk_bytes, instruction_set_in_use
from princomp.summaries import block_rows, blocks_per_task, panel_rows, wide_block_rows


@pytest.fixture(autouse=True)
def two_threads(monkeypatch):
    monkeypatch.setattr(base, "default_threads", lambda: 2)


def test_a_table_of_one_block_is_summed_by_one_thread():
    for n in (1, 255, 256):
        assert rows_in_flight(Problem(n, 10, 3), 256) == (n, 1, 0, 1)
    sums = 4 * blocks_per_task(256, 10)
    for n in (257, 10**6, 0):
        assert rows_in_flight(Problem(n, 10, 3), 256) == (256, 2, 0, sums)
        assert rows_in_flight(Problem(n, 10, 3, in_memory=False), 256) == (256, 2, 5, sums)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rows_that_are_read_take_memory_for_the_blocks_that_wait(dtype):
    itemsize = np.dtype(dtype).itemsize
    for route, p, step, waiting in (
        (MOMENTS, 100, block_rows(100), 5),
        (MOMENTS, 5000, block_rows(5000), 2),  # one block at a time is added by all threads
        (TRIANGLE, 100, panel_rows(100), 5),
    ):
        held = Problem(10**6, p, 3, dtype)
        read = route.cost(held._replace(in_memory=False)).memory
        assert read - route.cost(held).memory == waiting * step * p * itemsize
    # Each thread adds up sparse rows.
    sparse = MOMENTS.cost(Problem(10**6, 5000, 3, dtype, stored=10**7)).memory
    assert sparse >= (4 + 4) * 5000**2 * 8 > MOMENTS.cost(Problem(10**6, 5000, 3, dtype)).memory


@pytest.mark.parametrize("kernel", ["numpy", "compiled"])
def test_a_block_takes_two_copies_in_float64_or_the_chunk_of_the_kernel(kernel):
    n, p = 100, 10
    with kernels_of("numpy") if kernel == "numpy" else nullcontext():
        found = MOMENTS.cost(Problem(n, p, 3, "float32")).memory
        compiled = instruction_set_in_use() != "numpy"
    blocks = chunk_bytes(n, p) if compiled else 2 * 8 * n * p
    assert found == blocks + 5 * 8 * p**2


@pytest.mark.parametrize(("n", "p", "rows"), [(10, 30, 10), (100, 30, 60), (0, 30, 60)])
def test_a_triangle_has_at_most_twice_as_many_rows_as_columns(n, p, rows):
    problem = Problem(n, p, 3, reader_bytes=10**6)
    block, threads, _, waiting = rows_in_flight(problem, panel_rows(p))
    blocks = 3 * 8 * threads * block * p
    assert TRIANGLE.cost(problem).memory == 10**6 + blocks + (waiting + 4) * rows * p * 8


def test_a_route_fits_a_limit_that_it_reaches():
    problem = Problem(100, 10, None)
    needed = MOMENTS.cost(problem).memory
    assert select_route(problem._replace(memory_limit=needed)).solver == "eigh"
    with pytest.raises(MemoryLimitError):
        select_route(problem._replace(memory_limit=needed - 1))


@pytest.mark.parametrize(
    ("n", "p", "route"), [(1000, 20_000, ROW_GRAM), (20_000, 2000, SCATTER_SEARCH)]
)
def test_a_search_is_given_up_only_for_a_route_that_fits_the_limit(n, p, route):
    problem, summary = Problem(n, p, 3), object()
    centred = SimpleNamespace(
        summary=summary,
        count=SimpleNamespace(exact=3),
        rows=SimpleNamespace(lowest_dtype=np.float32),
    )
    rule, abandoned = _successor(problem, centred)
    assert rule is not None
    assert abandoned.successor == (route.summary, route.solver)
    assert (abandoned.summary is summary) == (route is ROW_GRAM)
    for other in (
        {"memory_limit": 10**6},
        {"solver": "lanczos"},
        {"stored": 10**5},
        {"rows": 20_000, "columns": 20_001},
    ):
        assert _successor(problem._replace(**other), centred) == (None, None)


def test_a_search_by_passes_uses_the_memory_limit():
    problem = Problem(10**6, 5000, 10, "float32", in_memory=False, reader_bytes=10**6)
    most = search_memory(problem)
    assert search_memory(problem._replace(memory_limit=2 * most)) == most
    least = search_memory(problem._replace(memory_limit=1))
    assert wide_blocks(problem) == 6 * wide_block_rows(5000, sparse=False) * 5000 * 4
    assert least > wide_blocks(problem) + 10**6 + 3 * 8 * 5000 * 10  # and three times the axes
    for limit in range(least, most, (most - least) // 7):
        taken = search_memory(problem._replace(memory_limit=limit))
        assert limit - 8 * problem.columns < taken <= limit


def test_a_table_is_held_four_times_in_float64_while_it_is_filled():
    assert memory_to_fill(1000, 7) == 4 * np.zeros((1000, 7)).nbytes


def test_each_thread_takes_a_panel_of_rows_that_are_multiplied(monkeypatch):
    large, small = Problem(10**6, 1000, 3), Problem(100, 20, 3, "float32")
    assert panels_in_flight(small) == 100 * 20 * 4  # all of it is less
    two = panels_in_flight(large)
    monkeypatch.setattr(base, "default_threads", lambda: 4)
    assert panels_in_flight(large) == 2 * two == 4 * 2**24
    assert panels_in_flight(large._replace(stored=10**5)) == 10**5 * (8 + 4)


@pytest.mark.parametrize(
    ("n_components", "limit", "wanted"),
    [(0, 5, False), (1, 5, True), (5, 5, True), (6, 5, False), (0.5, 5, False), ("mle", 5, False)],
)
def test_a_whole_number_of_components_is_wanted(n_components, limit, wanted):
    assert Problem(20, 10, n_components).wants_at_most(limit) == wanted


def test_a_block_of_sparse_rows_takes_memory_for_its_share_of_the_numbers():
    rows = wide_block_rows(2000, sparse=True)
    problem = Problem(4 * rows, 2000, 3, stored=10**6)
    assert wide_blocks(problem) == _BYTES_PER_STORED_NUMBER * 10**6 / 4
    assert wide_blocks(problem._replace(rows=rows // 2)) == _BYTES_PER_STORED_NUMBER * 10**6
    unknown = problem._replace(rows=0)
    assert wide_blocks(unknown) == wide_blocks(unknown._replace(stored=None))


def test_a_sketch_is_for_rows_that_are_read_once_and_a_number_of_components():
    problem = Problem(0, 10**5, 5, in_memory=False, repeatable=False)
    assert SKETCH.applies(problem)
    for other in ({"in_memory": True}, {"repeatable": True}, {"n_components": 0.5}):
        assert SKETCH.applies(problem._replace(**other)) == ""
