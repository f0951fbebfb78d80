"""Pieces of work on threads: their order, abandoned iterations and threads that do not start."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from command_line import ENVIRONMENT
from princomp.linalg import threads as threads_module
from princomp.linalg.threads import (
    default_threads,
    map_in_order,
    openmp_threads,
    run_uninterrupted,
)


def put_in_a_cycle(iteration):
    """Make an iteration part of a cycle, which only the garbage collector can free."""
    cycle = [iteration]
    cycle.append(cycle)


@pytest.fixture
def _no_collection():
    """No garbage collection except where a test calls it."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_results_come_in_the_order_of_their_pieces(threads):
    assert list(map_in_order(lambda i: i * i, range(50), threads)) == [i * i for i in range(50)]


def test_one_thread_ahead_works_while_the_next_piece_is_made():
    making = threading.Event()

    def pieces():
        yield 0
        making.set()
        yield 1

    def work(piece):
        return making.wait(20)

    assert list(map_in_order(work, pieces(), 1, prefetch=True)) == [True, True]


def test_one_thread_ahead_works_while_the_last_result_is_used():
    begun = [threading.Event() for _ in range(3)]

    def work(piece):
        begun[piece].set()

    for piece, _ in enumerate(map_in_order(work, range(3), 1, prefetch=True)):
        assert begun[min(piece + 1, 2)].wait(20)


@pytest.mark.usefixtures("_no_collection")
def test_threads_work_after_an_abandoned_iteration_is_collected():
    """A fit once waited for ever: its pool had been collected, and the threads had ended."""
    iteration = map_in_order(str, range(20), 3)
    next(iteration)
    put_in_a_cycle(iteration)
    del iteration
    gc.collect()
    results = []
    worker = threading.Thread(
        target=lambda: results.extend(map_in_order(str, range(8), 3)), daemon=True
    )
    worker.start()
    worker.join(20)
    assert results == list("01234567")


@pytest.mark.usefixtures("_no_collection")
def test_a_thread_that_collects_its_own_work_does_not_wait_for_itself():
    begun, abandoned, collected = (threading.Event() for _ in range(3))

    def work(piece):
        if piece == 1:
            begun.set()
            assert abandoned.wait(20)
            gc.collect()
            collected.set()
        return piece

    iteration = map_in_order(work, range(20), 3)
    assert next(iteration) == 0
    assert begun.wait(20)
    put_in_a_cycle(iteration)
    del iteration
    abandoned.set()
    assert collected.wait(20)


@pytest.mark.parametrize("allowed", [0, 1, 3])
def test_work_continues_if_no_more_threads_can_be_started(allowed, monkeypatch):
    """Each piece is computed once, by the threads that have started or by the caller."""
    start, startable, done = threading.Thread.start, [None] * allowed, []

    def start_or_fail(thread):
        if not startable:
            raise RuntimeError("can't start new thread")
        startable.pop()
        start(thread)

    def work(i):
        done.append(i)
        return i * i

    monkeypatch.setattr(threading.Thread, "start", start_or_fail)
    # A number of threads that no other test uses: a pool keeps the threads it has started.
    assert list(map_in_order(work, range(50), 30 + allowed)) == [i * i for i in range(50)]
    assert sorted(done) == list(range(50))


def test_an_error_of_work_in_the_calling_thread_is_raised(monkeypatch):
    def fail(thread):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", fail)
    with pytest.raises(ZeroDivisionError):
        list(map_in_order(lambda i: 1 // i, range(3), 40))


def test_an_interrupt_does_not_wait_for_work_that_has_not_begun(monkeypatch):
    """Work that is queued is dropped, and running work is finished."""
    submit, shutdown = ThreadPoolExecutor.submit, ThreadPoolExecutor.shutdown
    submitted, begun, interrupted = [], [], threading.Event()

    def submit_or_raise(executor, run):
        if len(submitted) == 3:
            raise KeyboardInterrupt
        submitted.append(run)
        return submit(executor, run)

    def shut_down(executor, **options):
        shutdown(executor, **options)  # drops queued work before a thread is free
        interrupted.set()

    def work(piece):
        begun.append(piece)
        assert interrupted.wait(20)
        return piece

    def pieces():
        yield from range(3)
        while len(begun) < 2:
            time.sleep(0.001)
        yield 3

    monkeypatch.setattr(ThreadPoolExecutor, "submit", submit_or_raise)
    monkeypatch.setattr(ThreadPoolExecutor, "shutdown", shut_down)
    with pytest.raises(KeyboardInterrupt):
        list(map_in_order(work, pieces(), 2))
    assert sorted(begun) == [0, 1]


@pytest.mark.parametrize("place", ["before", "after"])
def test_uninterrupted_work_is_finished_or_never_begins(place, monkeypatch):
    submit, done = ThreadPoolExecutor.submit, []

    def interrupted_submit(executor, run):
        if place == "after":
            submit(executor, run).result()
        raise KeyboardInterrupt

    def meanwhile():
        raise AssertionError("not reached")

    monkeypatch.setattr(ThreadPoolExecutor, "submit", interrupted_submit)
    if place == "before":
        with pytest.raises(KeyboardInterrupt):
            run_uninterrupted(lambda: done.append(1), meanwhile)
        assert done == []
    else:
        _, found, raised = run_uninterrupted(lambda: done.append(1), meanwhile)
        assert (done, found, type(raised)) == ([1], None, KeyboardInterrupt)


@pytest.mark.parametrize(
    "call", ["list(map_in_order(str, range(9), 2))", "raise run_uninterrupted(int, int)[2]"]
)
def test_ctrl_c_while_a_thread_starts_lets_the_process_end(call):
    code = f"""
import threading
from princomp.linalg import map_in_order, run_uninterrupted

start = threading.Thread.start

def interrupted(thread):
    threading.Thread.start = start
    start(thread)
    raise KeyboardInterrupt

threading.Thread.start = interrupted
try:
    {call}
except KeyboardInterrupt:
    assert list(map_in_order(str, range(3), 2)) == ["0", "1", "2"]  # other threads work
    print("interrupted")
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, env=ENVIRONMENT
    )
    assert (done.returncode, done.stdout) == (0, "interrupted\n"), done.stderr


def test_threads_are_limited_by_the_quota_of_a_container(monkeypatch):
    monkeypatch.setattr(threads_module, "processor_quota", lambda: 1)
    assert default_threads() == 1
    monkeypatch.setattr(threads_module, "processor_quota", lambda: sys.maxsize)
    assert 1 <= default_threads() < 2**20


@pytest.mark.parametrize("value", ["2", "2,4", " 2 "])
def test_openmps_variable_is_the_first_number_of_a_list(value):
    assert openmp_threads(value) == 2


@pytest.mark.parametrize("value", ["", "0", "-1", "many"])
def test_numbers_that_limit_nothing_are_ignored(value):
    assert openmp_threads(value) == sys.maxsize


@pytest.mark.parametrize("value", ["1", "100000"])
def test_openmps_variable_limits_threads_only_if_it_is_set_at_the_start(value):
    """joblib, Dask and Spark set it before they start their worker processes.

    Dask also leaves it in the process that starts a local cluster, where it must limit nothing.
    """
    code = """
import os
from princomp.linalg import default_threads
before = default_threads()
os.environ["OMP_NUM_THREADS"] = "1"
print(before, default_threads())
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        env={**ENVIRONMENT, "OMP_NUM_THREADS": value},
    )
    available = min(len(os.sched_getaffinity(0)), threads_module.processor_quota())
    threads = str(min(available, int(value)))
    assert done.stdout.split() == [threads, threads], done.stderr
