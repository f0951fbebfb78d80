"""How much memory is free, where the system tells it in another way than Linux."""

import ctypes
import os
from types import SimpleNamespace

from princomp.linalg import memory


class MemoryStatus(ctypes.Structure):
    """MEMORYSTATUSEX of Windows."""

    _fields_ = (
        *((name, ctypes.c_uint32) for name in ("length", "load")),
        *((name, ctypes.c_uint64) for name in ("total", "free", *"abcde")),
    )


def test_free_memory_on_windows(monkeypatch):
    answers = [1, 0]

    def fill(reference):
        status = ctypes.cast(reference, ctypes.POINTER(MemoryStatus)).contents
        assert status.length == ctypes.sizeof(MemoryStatus)
        status.total, status.free = 64 * 10**9, 50 * 10**9
        return answers.pop(0)

    windll = SimpleNamespace(kernel32=SimpleNamespace(GlobalMemoryStatusEx=fill))
    monkeypatch.setattr(ctypes, "windll", windll, raising=False)
    monkeypatch.setattr(memory, "named_number", lambda *_: None)
    monkeypatch.delattr(os, "sysconf")
    assert memory._free_on_machine() == 50 * 10**9
    assert memory._free_on_machine() == 4 * 10**9
