"""A library in its own process: it receives the rows once and runs tasks on request."""

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
from accuracy import N_SCORES
from cases import Case, rows_of
from libraries import LIBRARIES, Answer

MIN_SECONDS = 0.03  # seconds of a timing: short fits are repeated until it is full


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


def _run_measured(call: Any) -> tuple[Any, float, float | None]:
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
    start = time.perf_counter()
    result = call()
    seconds = time.perf_counter() - start
    return result, seconds, None if before is None else _resident("VmHWM") - before


def _resident(which: str) -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(which):
            return 1024.0 * int(line.split()[1])
    raise LookupError(which)


def _to_arrays(answer: Answer) -> Answer:
    """As arrays, to be sent: of the scores as many as are compared."""
    variances, axes, scores = answer
    scores = None if scores is None else np.asarray(scores[:N_SCORES])
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
        answer, self.last[name], grown = _run_measured(self.methods[name])
        return _to_arrays(answer), self.last[name], grown

    def turn(self, name: str) -> float:
        """Seconds of one call: a mean of as many as fill a turn; short ones warm up first."""
        call = self.methods[name]
        if self.last[name] < MIN_SECONDS:
            start = time.perf_counter()
            call()
            self.last[name] = time.perf_counter() - start
        count = max(1, int(MIN_SECONDS / self.last[name]))
        start = time.perf_counter()
        for _ in range(count):
            call()
        self.last[name] = (time.perf_counter() - start) / count
        return self.last[name]


def serve(library: str, connection: Any) -> None:
    """Answer (command, arguments) with (True, result) or (False, the error in words)."""
    warnings.simplefilter("ignore")
    bench: Any = None
    while True:
        command, *arguments = connection.recv()
        if command == "stop":
            return
        try:
            if command == "load":
                bench = Bench(library, *arguments)
                command, arguments = "offers", []
            connection.send((True, getattr(bench, command)(*arguments)))
        except Exception as error:  # a peer's error is a result
            frame = traceback.extract_tb(error.__traceback__)[-1]
            message = f"{type(error).__name__}: {error} ({frame.name})"
            connection.send((False, message[:300]))
