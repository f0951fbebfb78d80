"""Access to ``failing_calls.c``, and helpers of the scripts that run under it."""

from __future__ import annotations

import ctypes
import errno
import os
from pathlib import Path

from faults.disk import bits

FAMILIES = {
    "large": 1,
    "kernels": 2,
    "write": 3,
    "sync": 4,
    "rename": 5,
    "thread": 6,
    "threads": 7,
    "read": 8,
}
EVENTS = {"fail": 0, "remove": 1, "replace": 2, "copy": 3, "interrupt": 4, "end": 5, "half": 6}
MOST = 1000

library = ctypes.CDLL(None)
library.fault_disarm.restype = ctypes.c_long


def watch(folder):
    """Count only reads of files in this folder."""
    library.fault_watch(str(Path(folder).resolve()).encode())


def failing(
    run,
    family,
    error=errno.ENOMEM,
    *,
    event="fail",
    file="",
    other="",
    before=lambda: None,
    first=1,
    step=1,
):
    """Yield the outcome of ``run`` with call ``first``, ``first + step``, … of a family failing.

    With an ``event``, the call instead succeeds after ``file`` was removed, ``other`` was moved or
    copied to it, or SIGINT was sent; or it finds the ``end`` of the file, or returns ``half`` of
    the bytes. ``before`` is called before each run.
    """
    library.fault_event(EVENTS[event], str(file).encode(), str(other).encode())
    for n in range(first, MOST, step):
        before()
        library.fault_arm(FAMILIES[family], ctypes.c_long(n), error)
        result, raised = None, None
        try:
            result = run()
        except (Exception, KeyboardInterrupt) as caught:
            raised = caught
        if library.fault_disarm() < n:
            assert raised is None, raised
            return
        yield n, result, raised
    raise AssertionError(f"more than {MOST} calls")


def answer(model):
    """The bytes of a fit's results, column names included."""
    return bits(model) + str(list(getattr(model, "feature_names_in_", ()))).encode()


class Folder:
    """Files that are restored before each run, with old modification times."""

    def __init__(self, folder):
        self.folder = folder
        self.files = self.contents()

    def contents(self, part=""):
        """The bytes of all files in the folder, or in a part of it."""
        found = sorted((self.folder / part).rglob("*"))
        return {path: path.read_bytes() for path in found if path.is_file()}

    def restore(self):
        """Restore the files and delete all others."""
        for path in self.contents():
            path.unlink()
        for path, content in self.files.items():
            path.write_bytes(content)
            os.utime(path, (10**9, 10**9))
