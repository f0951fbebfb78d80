"""No more threads, little memory, forks: the same bits or a clear error, and never a wait."""

from __future__ import annotations

import os

import pytest

SCRIPT = "under_few_resources.py"


@pytest.mark.parametrize("step", [2, pytest.param(1, marks=pytest.mark.soak)])
def test_threads_that_cannot_be_started(step, outcomes):
    found = outcomes(SCRIPT, "threads", str(step))
    assert len(found) == 9
    for name, seen in found.items():
        assert "right" in seen, name
    assert sum(map(len, found.values())) > 40 / step


@pytest.mark.soak
def test_address_space_that_ends(outcomes):
    found = outcomes(SCRIPT, "space", "4", timeout=1200)
    for name, seen in found.items():
        assert seen[-1] == "right", name
    assert any("refused" in seen for seen in found.values())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_forks_after_and_within_fits(outcomes):
    found = outcomes("forked_fits.py")
    refused = found.pop("rest_of_a_fit")
    # Where all blocks were summed before the fork, it goes on.
    assert set(refused) == {0, 3}
    for name, codes in found.items():
        assert set(codes) == {0}, name
