"""Input files whose reads fail or that change during a fit: the right result or a clear error."""

from __future__ import annotations

import pytest

FAILED = {"MalformedFileError", "InputNotFoundError", "ModelFileError", "CheckpointError"}


@pytest.mark.parametrize("step", [5, pytest.param(1, marks=pytest.mark.soak)])
@pytest.mark.parametrize(("what", "files", "reads"), [("errors", 17, 250), ("ends", 13, 150)])
def test_every_read_may_fail_or_find_the_end_of_the_file(what, files, reads, step, outcomes):
    found = outcomes("under_failing_reads.py", what, str(step))
    assert len(found) == files
    for name, seen in found.items():
        assert seen, name
        assert set(seen) <= FAILED | {"right"}, name
    assert sum(map(len, found.values())) > reads / step


@pytest.mark.parametrize("step", [5, pytest.param(1, marks=pytest.mark.soak)])
def test_every_read_may_return_fewer_bytes(step, outcomes):
    found = outcomes("under_failing_reads.py", "halves", str(step))
    assert len(found) == 17
    assert {outcome for seen in found.values() for outcome in seen} == {"right"}


@pytest.mark.parametrize(
    "step", [11, pytest.param(1, marks=pytest.mark.soak)], ids=["some", "every read"]
)
def test_a_file_may_change_at_every_read(step, outcomes):
    """The result is that of the old rows or of the new ones, never of a mixture."""
    found = outcomes("under_failing_reads.py", "changes", str(step), timeout=1200)
    assert len(found) == 15
    for name, seen in found.items():
        assert set(seen) <= FAILED | {"right", "InputChangedError"}, name
        assert "InputChangedError" in seen, name
    assert sum(map(len, found.values())) > 1000 / step
