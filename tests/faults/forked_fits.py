"""Forks after and during fits; run as a script that prints the exit code of each child.

Usage: python forked_fits.py FOLDER

A child exits with 0 if all its numbers are bit-identical to the expected ones, and with 3 if an
error says that the current work cannot continue in it. A child that waits forever for a thread or
a lock of its parent is killed by SIGALRM.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import traceback
import warnings
from pathlib import Path

import numpy as np
import pytest

from faults.disk import bits, small_blocks
from faults.inputs import delimited, rows, small_chunks
from princomp import PCA
from princomp.errors import PrincompError
from princomp.linalg.threads import limit_threads

SECONDS = 60


def start_child(work):
    """Fork a child that does the work; return its process ID."""
    child = os.fork()
    if child:
        return child
    signal.alarm(SECONDS)
    code = 1
    try:
        code = 0 if work() else 2
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def exit_code(child):
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


class Fits:
    """Some fits and scores, with their bytes before any fork."""

    def __init__(self, folder):
        np.save(folder / "x.npy", rows(1))
        delimited(folder / "x.csv", rows(1), ["a", "b", "c", "d"])
        self.folder, self.rows = folder, rows(1)
        self.expected = self.all()

    def all(self):
        models = [PCA(2).fit(self.rows), PCA(2, svd_solver="krylov").fit(self.rows)]
        models += [PCA(2).fit(self.folder / name) for name in ("x.npy", "x.csv")]
        models += [PCA(2).partial_fit(self.rows[:500]).partial_fit(self.rows[500:])]
        return [bits(model) + model.transform(self.rows).tobytes() for model in models]

    def repeat_matches(self):
        return self.all() == self.expected


def after_a_fit(fits):
    return [exit_code(start_child(fits.repeat_matches)) for _ in range(3)]


def during_a_fit(fits):
    """At each progress report of a fit, fork a child that starts its own fits."""
    codes = []

    def callback(progress):
        codes.append(exit_code(start_child(fits.repeat_matches)))

    PCA(2).fit(fits.folder / "x.npy", progress=callback)
    return codes


def continue_in_children(fits, run):
    """At each callback of a run, fork a child that continues the run to its end.

    ``run(callback)`` calls ``callback`` at several points and returns the bytes of its result.
    """
    parent, codes = os.getpid(), []
    expected = run(lambda: None)

    def callback():
        if os.getpid() != parent:
            return
        child = os.fork()
        if child:
            codes.append(exit_code(child))
        else:
            signal.alarm(SECONDS)

    try:
        code = 0 if run(callback) == expected else 2
    except PrincompError as error:
        code = 3 if "forked while threads were at work" in error.message else 1
    except BaseException:
        code = 1
        traceback.print_exc()
    if os.getpid() != parent:
        os._exit(code)
    assert code == 0
    return codes


def rest_of_fit(name):
    def run(fits, callback):
        model = PCA(2).fit(fits.folder / name, progress=lambda progress: callback())
        return bits(model)

    return lambda fits: continue_in_children(fits, lambda callback: run(fits, callback))


def rest_of_batches(fits):
    def run(callback):
        def batches():
            for part in np.array_split(fits.rows, 5):
                callback()
                yield part

        return bits(PCA(2).partial_fit(fits.rows[:300]).partial_fit(batches()))

    return continue_in_children(fits, run)


def during_fits_in_a_thread(fits):
    """While a thread repeats fits, fork children that start their own fits."""
    done = threading.Event()

    def work():
        while not done.is_set():
            assert fits.repeat_matches()

    other = threading.Thread(target=work)
    other.start()
    codes = [exit_code(start_child(fits.repeat_matches)) for _ in range(10)]
    done.set()
    other.join()
    return codes


def main(folder):
    found = {}
    for place in (
        after_a_fit,
        during_a_fit,
        rest_of_fit("x.npy"),
        rest_of_fit("x.csv"),
        rest_of_batches,
        during_fits_in_a_thread,
    ):
        with limit_threads(3):
            name = place.__qualname__.partition(".")[0]
            found.setdefault(name, []).extend(place(Fits(folder)))
    print(json.dumps(found))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    patch = pytest.MonkeyPatch()
    small_blocks(patch)
    small_chunks(patch)
    main(Path(sys.argv[1]))
