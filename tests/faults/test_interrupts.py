"""SIGINT at any place: models and outputs are as before or complete, and nothing is left over."""

from __future__ import annotations

import itertools
import signal

import numpy as np
import pytest

from faults.disk import bits, small_blocks
from princomp import PCA
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
    """Sends SIGINT when so many blocks are summed; says whether there were so many."""
    small_blocks(monkeypatch)
    own, left = local.in_order, []

    def in_order(*words, **options):
        for result in own(*words, **options):
            if left:
                left[0] -= len(result)
                if left[0] <= 0:
                    left.clear()
                    signal.raise_signal(signal.SIGINT)
            yield result

    def run(call, count):
        left[:] = [count]
        try:
            call()
        except KeyboardInterrupt:
            return True
        finally:
            left.clear()
        return False

    monkeypatch.setattr(local, "in_order", in_order)
    return run


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

    def begun():
        return PCA(2).partial_fit(X).partial_fit(X[:900] + 1)

    before, after = bits(begun()), bits(call(begun(), X))
    for count in itertools.count(1):
        model = begun()
        if not interrupted(lambda model=model: call(model, X), count):
            break
        model.set_params(svd_solver="auto")
        assert bits(model) == before, count
        assert bits(call(model, X)) == after, count
    assert bits(model) == after
    assert count > 5
