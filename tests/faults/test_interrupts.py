"""SIGINT at any point: models and outputs stay as they were or are complete, with no leftovers."""

from __future__ import annotations

import gc
import itertools
import signal
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import princomp
from faults.disk import bits, small_blocks
from princomp import PCA, IncrementalPCA
from princomp.engines import local


@pytest.mark.parametrize(
    "step", [13, pytest.param(1, marks=pytest.mark.soak)], ids=["some", "every call"]
)
def test_sigint_at_every_read_write_flush_and_rename(step, outcomes):
    found = outcomes("under_interrupts.py", str(step), timeout=1200)
    assert len(found) == 6
    for name, seen in found.items():
        assert "as before" in seen, name
    assert sum(map(len, found.values())) > 180 / step


@pytest.fixture
def interrupted(monkeypatch):
    """Send SIGINT after a number of blocks; return whether the call was interrupted."""
    small_blocks(monkeypatch)
    # Programs that a shell starts in the background ignore SIGINT.
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    original, blocks_left = local.map_in_order, []

    def map_in_order(*arguments, **options):
        for result in original(*arguments, **options):
            if blocks_left:
                blocks_left[0] -= len(result)
                if blocks_left[0] <= 0:
                    blocks_left.clear()
                    signal.raise_signal(signal.SIGINT)
            yield result

    def run(call, count):
        blocks_left[:] = [count]
        try:
            call()
        except KeyboardInterrupt:
            return True
        finally:
            blocks_left.clear()
        return False

    monkeypatch.setattr(local, "map_in_order", map_in_order)
    yield run
    signal.signal(signal.SIGINT, handler)


CALLS = {
    "fit": lambda model, X: model.fit(X),
    "fit, full": lambda model, X: model.set_params(svd_solver="full").fit(X),
    "partial_fit": lambda model, X: model.partial_fit(iter(np.split(X, 3))),
    "forget": lambda model, X: model.forget(X),
}


@pytest.mark.parametrize("name", CALLS)
def test_sigint_between_any_two_blocks_in_memory(name, interrupted):
    X = np.random.default_rng(7).standard_normal((2400, 5))
    call = CALLS[name]

    def make_model():
        return PCA(2).partial_fit(X).partial_fit(X[:900] + 1)

    before, after = bits(make_model()), bits(call(make_model(), X))
    for count in itertools.count(1):
        model = make_model()
        if not interrupted(lambda model=model: call(model, X), count):
            break
        model.set_params(svd_solver="auto")
        assert bits(model) == before, count
        assert bits(call(model, X)) == after, count
    assert bits(model) == after
    assert count > 5


SOURCE = str(Path(princomp.__file__).parent)


def run_until_line(call, last=None):
    """Run a call, but raise KeyboardInterrupt before line ``last`` of princomp in this thread.

    Returns
    -------
    lines : int
        Number of lines before the end or the interrupt.
    """
    lines, previous = 0, sys.gettrace()

    def trace_lines(frame, event, argument):
        nonlocal lines
        if event == "line":
            lines += 1
            if lines == last:
                sys.settrace(previous)
                raise KeyboardInterrupt
        return trace_lines

    def trace_calls(frame, event, argument):
        return trace_lines if frame.f_code.co_filename.startswith(SOURCE) else None

    # Generators of an earlier interrupted call may be garbage. If they were collected during this
    # call, their lines would count, and Python ignores an interrupt there.
    gc.disable()
    sys.settrace(trace_calls)
    try:
        call()
    except KeyboardInterrupt:
        pass
    finally:
        sys.settrace(previous)
        gc.enable()
    return lines


X = np.random.default_rng(0).standard_normal((400, 6)) * [6, 5, 4, 3, 2, 1]
OTHER = X[:150] + 1
CASES = {
    "fit": (PCA(2), lambda model: model.fit(X)),
    "partial_fit": (PCA(2), lambda model: model.partial_fit(X)),
    "sparse": (PCA(2), lambda model: model.partial_fit(sp.csr_array(X * (X > 1)))),
    "weights": (PCA(2), lambda model: model.partial_fit(X, sample_weight=np.arange(400.0))),
    "iterator": (PCA(2), lambda model: model.partial_fit(iter([X[:100], X[100:]]))),
    "full": (PCA(2, svd_solver="full"), lambda model: model.partial_fit(X)),
    "forget": (PCA(2), lambda model: model.forget(OTHER[:50])),
    "merge": (PCA(2), lambda model: model.merge(PCA(2).partial_fit(X))),
    "IncrementalPCA": (IncrementalPCA(2), lambda model: model.partial_fit(X)),
}


@pytest.mark.parametrize("step", [7, pytest.param(1, marks=pytest.mark.soak)])
@pytest.mark.parametrize("name", CASES)
def test_an_interrupt_at_any_line_leaves_a_valid_model(name, step):
    """The model is as before or complete, and the call can be repeated."""
    model, call = CASES[name]

    def fitted():
        return clone(model).partial_fit(OTHER)

    before, after = bits(fitted()), bits(call(fitted()))
    complete = fitted()
    total = run_until_line(lambda: call(complete))
    assert total > 200
    for last in range(1, total + 1, step):
        interrupted = fitted()
        run_until_line(lambda model=interrupted: call(model), last)
        found = bits(interrupted)
        assert found in (before, after), last
        if found == before:
            assert bits(call(interrupted)) == after, last
