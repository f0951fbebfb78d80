"""Forks after fits and under way; run as a script, it prints how each child ended.

Usage: python forked_fits.py FOLDER

A child ends with 0 where all its numbers have the right bits, and with 3 where it is told that the
work under way cannot go on in it. One that waits for ever for a thread or a lock that its parent
had is killed by SIGALRM.
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
from princomp.linalg.threads import at_most

SECONDS = 60


def forked(work):
    """The number of a child that does the work."""
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


def ended(child):
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


class Fits:
    """Some fits and scores, and their bits before any fork."""

    def __init__(self, folder):
        np.save(folder / "x.npy", rows(1))
        delimited(folder / "x.csv", rows(1), ["a", "b", "c", "d"])
        self.folder, self.rows = folder, rows(1)
        self.right = self.all()

    def all(self):
        made = [PCA(2).fit(self.rows), PCA(2, svd_solver="krylov").fit(self.rows)]
        made += [PCA(2).fit(self.folder / name) for name in ("x.npy", "x.csv")]
        made += [PCA(2).partial_fit(self.rows[:500]).partial_fit(self.rows[500:])]
        return [bits(model) + model.transform(self.rows).tobytes() for model in made]

    def again(self):
        return self.all() == self.right


def after_a_fit(fits):
    return [ended(forked(fits.again)) for _ in range(3)]


def within_a_fit(fits):
    """At each report of a fit: a child that begins fits of its own."""
    codes = []

    def hear(progress):
        codes.append(ended(forked(fits.again)))

    PCA(2).fit(fits.folder / "x.npy", progress=hear)
    return codes


def going_on(fits, run):
    """At each place of a run that calls back: a child that goes on with it to its end.

    ``run(back)`` returns the bits of its end, and calls back at each place.
    """
    parent, codes = os.getpid(), []
    right = run(lambda: None)

    def back():
        if os.getpid() != parent:
            return
        child = os.fork()
        if child:
            codes.append(ended(child))
        else:
            signal.alarm(SECONDS)

    try:
        code = 0 if run(back) == right else 2
    except PrincompError as error:
        code = 3 if "forked while threads were at work" in error.message else 1
    except BaseException:
        code = 1
        traceback.print_exc()
    if os.getpid() != parent:
        os._exit(code)
    assert code == 0
    return codes


def rest_of_a_fit(name):
    def run(fits, back):
        model = PCA(2).fit(fits.folder / name, progress=lambda progress: back())
        return bits(model)

    return lambda fits: going_on(fits, lambda back: run(fits, back))


def rest_of_batches(fits):
    def run(back):
        def batches():
            for part in np.array_split(fits.rows, 5):
                back()
                yield part

        return bits(PCA(2).partial_fit(fits.rows[:300]).partial_fit(batches()))

    return going_on(fits, run)


def beside_a_fit(fits):
    """A thread fits again and again; children begin fits of their own."""
    done = threading.Event()

    def work():
        while not done.is_set():
            assert fits.again()

    other = threading.Thread(target=work)
    other.start()
    codes = [ended(forked(fits.again)) for _ in range(10)]
    done.set()
    other.join()
    return codes


def main(folder):
    found = {}
    for place in (
        after_a_fit,
        within_a_fit,
        rest_of_a_fit("x.npy"),
        rest_of_a_fit("x.csv"),
        rest_of_batches,
        beside_a_fit,
    ):
        with at_most(3):
            name = place.__qualname__.partition(".")[0]
            found.setdefault(name, []).extend(place(Fits(folder)))
    print(json.dumps(found))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    patch = pytest.MonkeyPatch()
    small_blocks(patch)
    small_chunks(patch)
    main(Path(sys.argv[1]))
