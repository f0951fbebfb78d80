"""Failing C library calls: the right result or a clear error, and no half-written files."""

from __future__ import annotations


def test_every_allocation_may_fail(outcomes):
    found = outcomes("under_failing_calls.py", "memory")
    for name, seen in found.items():
        assert set(seen) <= {"MemoryError", "NoneType"}, name
    # Without any failure the test would check nothing.
    assert sum(seen.count("MemoryError") for seen in found.values()) > 20


def test_every_write_sync_and_rename_may_fail(outcomes):
    found = outcomes("under_failing_calls.py", "files")
    assert set(found.pop("save")) <= {"OutputError", "NoneType"}
    for name, seen in found.items():
        # No error is needed if only the folder cannot be synced: nothing is lost.
        assert set(seen) == {"OSError", "NoneType"}, name
