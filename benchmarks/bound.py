"""What the machine can do, and the least time that a case can take on it."""

from __future__ import annotations

import os
import platform
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from cases import Case
from threadpoolctl import threadpool_limits

KRYLOV_SIDE = 1_000  # with more rows and columns than this, no product of all of one side


@dataclass(frozen=True)
class Machine:
    """Measured at the start of the run, with all cores."""

    cpu: str
    cores: int
    read_bytes_s: float
    flops_s: dict[str, float]


def cores() -> int:
    """Those that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def measure_machine() -> Machine:
    """Bandwidth: an array of 512 MB is read by a dot product with itself, a thread a core.
    Peak: products of 2,000 × 2,000. Both the best of several."""
    return Machine(
        cpu(), cores(), _bandwidth(), {kind: _peak(kind) for kind in ("float32", "float64")}
    )


def cpu() -> str:
    """The processor's name."""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def _best(call, rounds: int) -> float:
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def _bandwidth() -> float:
    numbers = np.ones(2**26)
    # Pieces by thread in turn, small enough that neither waits long for the other's last.
    pieces = np.array_split(numbers, 32 * cores())
    with ThreadPoolExecutor(cores()) as pool, threadpool_limits(1):
        seconds = _best(lambda: list(pool.map(lambda x: float(x @ x), pieces)), 7)
    return numbers.nbytes / seconds


def _peak(kind: str) -> float:
    size = 2_000
    a = np.random.default_rng(0).standard_normal((size, size)).astype(kind)
    b, out = a.T.copy(), np.empty_like(a)
    return 2 * size**3 / _best(lambda: np.dot(a, b, out=out), 7)


def required_work(case: Case, stored: int) -> tuple[float, float, str]:
    """Bytes that must be read, flops that must be done, and the method they are of.

    `stored` is the number of entries: n·p, or the non-zeros. Only what no exact method known
    avoids is counted; eigenvalues are not.
    """
    n, p, k, size = case.n, case.p, case.components, case.dtype.itemsize
    read = stored * (size + 4) if case.density else stored * size
    if case.task in ("transform", "row"):
        rows = 1 if case.task == "row" else n
        return rows * (p + k) * size, 2.0 * rows * p * k, "product with k axes"
    if case.density or (min(n, p) > KRYLOV_SIDE and case.k >= 1 and max(n, p) < 4 * min(n, p)):
        return 2.0 * read, 8.0 * stored * k, "two passes with k vectors, both ways"
    if n < p:
        return read, float(p) * n * (n + 1), "half the products of rows"
    flops = float(n) * p * (p + 1)
    if case.task == "fit_transform":
        return 2.0 * read + n * k * size, flops + 2.0 * n * p * k, "half the Gram, and scores"
    return read, flops, "half the Gram"


def bound(case: Case, stored: int, machine: Machine) -> dict[str, float | str]:
    """Seconds that the reading and the arithmetic take at least; the larger is the bound."""
    n_bytes, flops, method = required_work(case, stored)
    by_bytes = n_bytes / machine.read_bytes_s
    by_flops = flops / machine.flops_s[case.dtype.name]
    return {
        "seconds": max(by_bytes, by_flops),
        "bytes_s": by_bytes,
        "flops_s": by_flops,
        "of": method,
    }


def memory_limit(case: Case) -> float:
    """Bytes a fit may grow by: 64 MB, and what p² or p·k needs.

    That is a Gram of the shorter side and its eigenvectors in float64 where one is formed (up
    to 5,000), four blocks of k + 10 vectors as long as the columns are many, and the scores
    where they are asked for.
    """
    shorter_side = min(case.n, case.p)
    gram_entries = 2 * shorter_side**2 if shorter_side <= 5_000 else 0
    k = case.components
    scores = case.n * k * case.dtype.itemsize if case.task in ("transform", "fit_transform") else 0
    return 64 * 2**20 + 8 * (gram_entries + 4 * case.p * (min(k, shorter_side) + 10)) + scores
