"""Fits without new threads and in little address space; runs under failing_calls.c.

Usage: LD_PRELOAD=failing_calls.so python under_few_resources.py threads|space STEP FOLDER
"""

from __future__ import annotations

import errno
import json
import os
import resource
import signal
import sys
from pathlib import Path

import numpy as np

from faults.inputs import delimited, parquet, rows, set_up_script
from faults.shim import answer, failing
from princomp import PCA, KernelPCA
from princomp.errors import PrincompError
from princomp.linalg import threads

# Exit codes of forked processes, besides 0.
REFUSED, WRONG = 1, 2


def cases(folder):
    X, wide = rows(1), np.random.default_rng(2).standard_normal((40, 3000))
    np.save(folder / "x.npy", X)
    delimited(folder / "x.csv", X, ["a", "b", "c", "d"])
    parquet(folder / "x.parquet", X, ["a", "b", "c", "d"])
    return {
        "array": lambda: answer(PCA(2).fit(X)),
        "npy": lambda: answer(PCA(2).fit(folder / "x.npy")),
        "csv": lambda: answer(PCA(2).fit(folder / "x.csv")),
        "parquet": lambda: answer(PCA(2).fit(folder / "x.parquet")),
        "triangle": lambda: answer(PCA(2, svd_solver="full").fit(X)),
        "krylov": lambda: answer(PCA(2, svd_solver="krylov").fit(X)),
        "wide": lambda: answer(PCA(2).fit(wide)),
        "batches": lambda: answer(PCA(2).partial_fit(X[:500]).partial_fit(iter([X[500:]]))),
        "kernel": lambda: KernelPCA(2, kernel="rbf").fit(X[:300]).eigenvalues_.tobytes(),
    }


def without_threads(folder, step):
    """If one thread or all later ones cannot be started, results are bit-identical."""
    for name, case in cases(folder).items():
        with threads.limit_threads(3):
            expected, seen = case(), []
            for family in ("thread", "threads"):
                # Idle threads end, so that each run starts its own.
                for n, result, raised in failing(
                    case, family, errno.EAGAIN, before=threads._forget_pools, step=step
                ):
                    if raised is None:
                        assert result == expected, (name, family, n)
                    else:  # pyarrow needs its own thread
                        assert name in ("csv", "parquet"), (name, family, n, raised)
                        assert isinstance(raised, PrincompError), (name, family, n, raised)
                        assert "thread" in raised.message, (name, family, n, raised)
                    seen.append("right" if raised is None else "refused")
        yield name, seen


def in_little_space(folder, step):
    """If a process can get little more memory, the result is right or the error is clear.

    Cases in which LAPACK allocates memory are left out: OpenBLAS waits for it forever.
    """
    X = np.random.default_rng(4).standard_normal((6000, 60))
    np.save(folder / "x.npy", X)
    for name, case in {
        "array": lambda n: answer(PCA(2).fit(X[:n])),
        "npy": lambda n: answer(PCA(2).fit(folder / "x.npy")),
        "float32": lambda n: answer(PCA(2).fit(X[:n].astype("f4"))),
        "triangle": lambda n: answer(PCA(2, svd_solver="full").fit(X[:n])),
        "batches": lambda n: answer(PCA(2).partial_fit(X[:n]).partial_fit(X[:n])),
    }.items():
        seen, expected = [], folder / "right"
        # In a fork, because freed memory would be reused.
        write = lambda n, case=case, expected=expected: expected.write_bytes(case(n))  # noqa: E731
        assert in_a_fork(write, None) == WRONG  # it returns a number of bytes
        for extra in range(0, 1000, step):
            outcome = in_a_fork(case, expected.read_bytes(), extra * 2**16)
            assert outcome in ("right", "refused"), (name, extra, outcome)
            seen.append(outcome)
            if seen[-3:] == ["right"] * 3:
                break
        yield name, seen


def in_a_fork(case, expected, extra=None):
    child = os.fork()
    if not child:
        signal.alarm(60)
        code = WRONG
        try:
            # Start threads first: without memory, Python itself hangs when it starts one.
            case(600)
            if extra is not None:
                extra += int(Path("/proc/self/statm").read_text().split()[0]) * 4096
                resource.setrlimit(resource.RLIMIT_AS, (extra, extra))
            code = 0 if case(6000) == expected else WRONG
        except (MemoryError, PrincompError):
            code = REFUSED
        finally:
            os._exit(code)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return {0: "right", REFUSED: "refused"}.get(status, status)


if __name__ == "__main__":
    set_up_script()
    what = {"threads": without_threads, "space": in_little_space}[sys.argv[1]]
    print(json.dumps(dict(what(Path(sys.argv[3]), int(sys.argv[2])))))
