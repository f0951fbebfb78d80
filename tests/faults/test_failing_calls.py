"""Calls of the C library that fail: the right answer or a clear error, and nothing half-written."""

from __future__ import annotations


def test_every_allocation_may_fail(outcomes):
    found = outcomes("under_failing_calls.py", "memory")
    for name, seen in found.items():
        assert set(seen) <= {"MemoryError", "NoneType"}, name
    # Something did fail: else the test looks at nothing.
    assert sum(seen.count("MemoryError") for seen in found.values()) > 20


def test_every_write_sync_and_rename_may_fail(outcomes):
    found = outcomes("under_failing_calls.py", "files")
    assert set(found.pop("save")) <= {"OutputError", "NoneType"}
    for name, seen in found.items():
        # A folder that cannot be synced loses nothing.
        assert set(seen) == {"OSError", "NoneType"}, name
