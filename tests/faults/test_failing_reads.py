"""Input files whose reads fail or that change during a fit: the right result or a clear error."""

from __future__ import annotations

import pytest

FAILED = {"MalformedFileError", "InputNotFoundError", "ModelFileError", "CheckpointError"}


@pytest.mark.parametrize("step", [5, pytest.param(1, marks=pytest.mark.soak)])
def test_every_read_may_fail_find_the_end_of_the_file_or_return_fewer_bytes(step, outcomes):
    found = outcomes("under_failing_reads.py", "errors,ends,halves", str(step), timeout=900)
    for what, files, reads in (("errors", 17, 250), ("ends", 13, 150)):
        assert len(found[what]) == files
        for name, seen in found[what].items():
            assert seen, (what, name)
            assert set(seen) <= FAILED | {"right"}, (what, name)
        assert sum(map(len, found[what].values())) > reads / step
    assert len(found["halves"]) == 17
    assert {outcome for seen in found["halves"].values() for outcome in seen} == {"right"}


@pytest.mark.parametrize(
    "step", [11, pytest.param(1, marks=pytest.mark.soak)], ids=["some", "every read"]
)
def test_a_file_may_change_at_every_read(step, outcomes):
    """The result is that of the old rows or of the new ones, never of a mixture."""
    found = outcomes("under_failing_reads.py", "changes", str(step), timeout=1200)["changes"]
    assert len(found) == 15
    for name, seen in found.items():
        assert set(seen) <= FAILED | {"right", "InputChangedError"}, name
        assert "InputChangedError" in seen, name
    assert sum(map(len, found.values())) > 1000 / step
