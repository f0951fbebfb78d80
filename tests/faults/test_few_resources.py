"""Few threads, little memory and forks: bit-identical results or a clear error, never a hang."""

from __future__ import annotations

import os

import pytest

SCRIPT = "under_few_resources.py"


@pytest.mark.parametrize("step", [2, pytest.param(1, marks=pytest.mark.soak)])
def test_fits_without_new_threads_succeed_or_raise(step, outcomes):
    found = outcomes(SCRIPT, "threads", str(step))
    assert len(found) == 9
    for name, seen in found.items():
        assert "right" in seen, name
    assert sum(map(len, found.values())) > 40 / step


@pytest.mark.soak
def test_fits_in_little_address_space_succeed_or_raise(outcomes):
    found = outcomes(SCRIPT, "space", "4", timeout=1200)
    for name, seen in found.items():
        assert seen[-1] == "right", name
    assert any("refused" in seen for seen in found.values())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_forks_after_and_during_fits(outcomes):
    found = outcomes("forked_fits.py")
    refused = found.pop("rest_of_fit")
    # If all blocks were summed before the fork, the child can continue.
    assert set(refused) == {0, 3}
    for name, codes in found.items():
        assert set(codes) == {0}, name
