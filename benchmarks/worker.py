"""A library in a process of its own: it gets the rows once and works when told."""

from __future__ import annotations

import ctypes
import gc
import sys
import time
import traceback
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from accuracy import SCORES
from cases import Case, rows_of
from libraries import LIBRARIES, Answer

TURN = 0.03  # seconds of a timing: short fits are repeated until it is full


def store(case: Case, folder: Path) -> int:
    """Write the rows of a case for the workers; how many entries they hold."""
    from cases import fill

    if not case.density:
        shape = (case.n, case.p)
        out = np.lib.format.open_memmap(folder / "rows.npy", "w+", case.dtype, shape)
        fill(case, out)
        return out.size
    rows = rows_of(case)
    for part in ("data", "indices", "indptr"):
        np.save(folder / f"{part}.npy", getattr(rows, part))
    return rows.nnz


def load(case: Case, folder: Path) -> Any:
    """The rows in this process's own memory, as a person has them."""
    if not case.density:
        return np.load(folder / "rows.npy")
    parts = tuple(np.load(folder / f"{part}.npy") for part in ("data", "indices", "indptr"))
    return sp.csr_array(parts, shape=(case.n, case.p))


def _grown(work: Any) -> tuple[Any, float, float | None]:
    """Result, seconds, and by how many bytes the process grew at its largest.

    Free memory is given back before, so that memory kept from other work hides nothing; then
    the kernel's mark of the largest resident size is set back to the present size. None where
    the system has no such mark.
    """
    gc.collect()
    before = None
    if sys.platform == "linux":
        if hasattr(libc := ctypes.CDLL(None), "malloc_trim"):
            libc.malloc_trim(0)
        Path("/proc/self/clear_refs").write_text("5")
        before = _resident("VmRSS")
    began = time.perf_counter()
    result = work()
    seconds = time.perf_counter() - began
    return result, seconds, None if before is None else _resident("VmHWM") - before


def _resident(which: str) -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(which):
            return 1024.0 * int(line.split()[1])
    raise LookupError(which)


def _plain(answer: Answer) -> Answer:
    """As arrays, to be sent: of the scores as many as are compared."""
    variances, axes, scores = answer
    scores = None if scores is None else np.asarray(scores[:SCORES])
    return Answer(np.asarray(variances), np.asarray(axes), scores)


class Bench:
    """What a worker holds: the calls of its library, and how long each took last."""

    def __init__(self, library: str, case: Case, folder: Path) -> None:
        small = case.reduced(60, 12)
        for call in LIBRARIES[library](small, rows_of(small)).values():
            if callable(call):
                call()  # what is imported at the first call is no part of its memory
        self.methods = LIBRARIES[library](case, load(case, folder))
        self.last: dict[str, float] = {}

    def offers(self) -> dict[str, str | None]:
        return {k: v if isinstance(v, str) else None for k, v in self.methods.items()}

    def first(self, name: str) -> tuple[Answer, float, float | None]:
        answer, self.last[name], grown = _grown(self.methods[name])
        return _plain(answer), self.last[name], grown

    def turn(self, name: str) -> float:
        """Seconds of one call: a mean of as many as fill a turn; short ones warm up first."""
        work = self.methods[name]
        if self.last[name] < TURN:
            began = time.perf_counter()
            work()
            self.last[name] = time.perf_counter() - began
        count = max(1, int(TURN / self.last[name]))
        began = time.perf_counter()
        for _ in range(count):
            work()
        self.last[name] = (time.perf_counter() - began) / count
        return self.last[name]


def serve(library: str, connection: Any) -> None:
    """Answer (what, arguments) with (True, result) or (False, the fault in words)."""
    warnings.simplefilter("ignore")
    bench: Any = None
    while True:
        what, *arguments = connection.recv()
        if what == "stop":
            return
        try:
            if what == "load":
                bench = Bench(library, *arguments)
                what, arguments = "offers", []
            connection.send((True, getattr(bench, what)(*arguments)))
        except Exception as fault:  # a peer's fault is a result
            where = traceback.extract_tb(fault.__traceback__)[-1]
            told = f"{type(fault).__name__}: {fault} ({where.name})"
            connection.send((False, told[:300]))
