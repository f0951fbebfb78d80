"""Runs under failing_calls.c: fits without new threads, and in little address space.

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

from faults.inputs import as_a_script, delimited, parquet, rows
from faults.shim import answer, failing
from princomp import PCA, KernelPCA
from princomp.errors import PrincompError
from princomp.linalg import threads

# Exit codes of forks, besides 0.
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
    """One thread cannot be started, or none from then on: the same bits."""
    for name, case in cases(folder).items():
        with threads.at_most(3):
            right, seen = case(), []
            for family in ("thread", "threads"):
                # Idle threads end, so that each run starts its own.
                for n, result, raised in failing(
                    case, family, errno.EAGAIN, before=threads._forget, step=step
                ):
                    if raised is None:
                        assert result == right, (name, family, n)
                    else:  # pyarrow needs a thread of its own
                        assert name in ("csv", "parquet"), (name, family, n, raised)
                        assert isinstance(raised, PrincompError), (name, family, n, raised)
                        assert "thread" in raised.message, (name, family, n, raised)
                    seen.append("right" if raised is None else "refused")
        yield name, seen


def in_little_space(folder, step):
    """A process may take some kilobytes more than it has: the right answer or a clear error.

    Not where LAPACK needs memory of its own: OpenBLAS waits for ever for it.
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
        seen, right = [], folder / "right"
        # In a fork, since memory that was freed is taken again.
        assert in_a_fork(lambda n, case=case, right=right: right.write_bytes(case(n))) == WRONG
        for more in range(0, 1000, step):
            ended = in_a_fork(case, right.read_bytes(), more * 2**16)
            assert ended in ("right", "refused"), (name, more, ended)
            seen.append(ended)
            if seen[-3:] == ["right"] * 3:
                break
        yield name, seen


def in_a_fork(case, right, more=None):
    child = os.fork()
    if not child:
        signal.alarm(60)
        code = WRONG
        try:
            # Threads are started before: Python itself hangs for one without memory.
            case(600)
            if more is not None:
                more += int(Path("/proc/self/statm").read_text().split()[0]) * 4096
                resource.setrlimit(resource.RLIMIT_AS, (more, more))
            code = 0 if case(6000) == right else WRONG
        except (MemoryError, PrincompError):
            code = REFUSED
        finally:
            os._exit(code)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return {0: "right", REFUSED: "refused"}.get(status, status)


if __name__ == "__main__":
    as_a_script()
    what = {"threads": without_threads, "space": in_little_space}[sys.argv[1]]
    print(json.dumps(dict(what(Path(sys.argv[3]), int(sys.argv[2])))))
