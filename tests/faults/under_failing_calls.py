"""Fail each call of a family in turn and print the outcomes; runs under failing_calls.c.

Usage: LD_PRELOAD=failing_calls.so python under_failing_calls.py memory|files FOLDER
"""

from __future__ import annotations

import contextlib
import errno
import io
import json
import sys
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from faults.shim import failing
from princomp import PCA, KernelPCA
from princomp.__main__ import main
from princomp.reports import page


def memory():
    """Fits by every route, with each large allocation and each kernel allocation failing."""
    rng = np.random.default_rng(0)
    rows, wide = rng.standard_normal((3000, 40)), rng.standard_normal((30, 3000))
    sparse = sp.random_array((300, 400), density=0.2, format="csr", rng=rng)
    cases = {
        "moments": lambda: PCA(3).fit(rows).transform(rows),
        "float32": lambda: PCA(3).fit(rows.astype("f4")).transform(rows),
        "triangle": lambda: PCA(3, svd_solver="full").fit(rows).components_,
        "wide": lambda: PCA(3).fit(wide).components_,
        "lanczos": lambda: PCA(3, svd_solver="lanczos").fit(wide).components_,
        "randomized": lambda: PCA(3, svd_solver="randomized", random_state=0).fit(rows).components_,
        "sparse": lambda: PCA(3).fit(sparse).transform(sparse),
        "online": lambda: PCA(3).partial_fit(rows[:1000]).partial_fit(rows[1000:]).components_,
        "kernel": lambda: KernelPCA(3, kernel="rbf").fit(rows[:400]).transform(rows[:400]),
    }
    for name, case in cases.items():
        expected, seen = case(), []
        for family in ("large", "kernels"):
            for _, result, raised in failing(case, family):
                if raised is None:
                    # Not bit-identical: scipy.linalg.lu, which only keeps the randomized solver's
                    # blocks in range, returns its input if it runs out of memory.
                    np.testing.assert_allclose(result, expected, atol=1e-12, err_msg=name)
                seen.append(type(raised).__name__)
        assert np.array_equal(case(), expected), name
        yield name, seen


def command(*arguments):
    """Run a princomp command; raise OSError with its exit status and standard error if it fails."""
    stderr = io.StringIO()
    before, sys.argv = sys.argv, ["princomp", *arguments]
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(stderr):
            try:
                status = main()
            except SystemExit as leaving:
                status = leaving.code
    finally:
        sys.argv = before
    if status:
        raise OSError(status, stderr.getvalue())


def contents(folder):
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def files():
    """Files that replace others, with each write, sync and rename failing."""
    rng = np.random.default_rng(0)
    for name, scale in (("old", 1.0), ("new", 2.0)):
        lines = scale * rng.standard_normal((60, 4))
        np.savetxt(f"{name}.csv", lines, delimiter=",", header="a,b,c,d", comments="")
    old, new = (PCA(2).fit(f"{name}.csv") for name in ("old", "new"))
    # Only the writing is tested, so a text of the size of a page stands for it.
    page.render_page = lambda request: f"{request.data}\n" * 100_000
    commands = {
        "fit": ("fit", "{}.csv", "-o", "out", "--force"),
        "npy": ("transform", "model.pca", "{}.csv", "-o", "out/s.npy", "--force"),
        "parquet": ("transform", "model.pca", "{}.csv", "-o", "out/s.parquet", "--force"),
        "report": ("report", "model.pca", "{}.csv", "-o", "out/r.html", "--force"),
    }
    out = Path("out")
    old.save("model.pca")
    cases = {"save": (lambda: old.save("out/m.pca"), lambda: new.save("out/m.pca"))}
    for name, arguments in commands.items():
        cases[name] = [
            lambda arguments=arguments, which=which: command(*(a.format(which) for a in arguments))
            for which in ("old", "new")
        ]
    out.mkdir()
    for name, (first, second) in cases.items():
        first()
        before, seen = contents(out), []
        for family in ("write", "sync", "rename"):
            for error in (errno.ENOSPC, errno.EIO):
                for n, _, raised in failing(second, family, error):
                    if raised is None:
                        first()
                    else:
                        assert "could not be written" in str(raised), (name, family, n, raised)
                    if "Already written" not in str(raised):
                        assert contents(out) == before, (name, family, n)
                    else:
                        assert family == "rename"
                        first()
                    seen.append(type(raised).__name__)
                first()
        yield name, seen


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    with contextlib.chdir(sys.argv[2]):
        found = dict({"memory": memory, "files": files}[sys.argv[1]]())
    print(json.dumps(found))
