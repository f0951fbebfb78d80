"""Runs under failing_calls.c: SIGINT at each read, write, flush and rename of a run.

Usage: LD_PRELOAD=failing_calls.so python under_interrupts.py STEP FOLDER

SIGINT comes at calls number 1, 1 + STEP, ….
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
from pathlib import Path

import numpy as np

from faults.inputs import as_a_script, delimited, rows
from faults.shim import Folder, answer, failing, watch
from princomp import PCA
from princomp.cli import run

FAMILIES = ("read", "write", "sync", "rename")
NAMES = ["a", "b", "c", "d"]


def command(*arguments):
    """The exit status of a command of princomp."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        return run(list(arguments))


def cases():
    """By name: a run, and what must hold of its files and models after it and after one more.

    A run returns the number 0 when it is done.
    """
    flags = ("-k", "2", "--memory", "2GB", "--force")

    def fit(*words):
        return lambda: command("fit", *words, *flags, "-o", "out")

    return {
        "fit of npy": fit("x.npy"),
        "fit of csv": fit("x.csv"),
        "fit with a checkpoint": fit("x.npy", "--checkpoint", "ck"),
        "transform": lambda: command("transform", "m.pca", "x.csv", "-o", "out/s.csv", "--force"),
    }


def of_commands(step):
    """Old outputs stay whole until the new ones are whole; a second run makes these."""
    kept = Folder(Path())
    old = kept.now("out")
    for name, case in cases().items():
        kept.restore()
        assert case() == 0
        new, seen = kept.now("out"), []
        for family in FAMILIES:
            runs = failing(case, family, event="interrupt", before=kept.restore, step=step)
            for n, code, raised in runs:
                place = (name, family, n, raised)
                found = kept.now("out")
                assert found in (old, new), place
                left = set(kept.now()) - set(kept.files) - set(new)
                assert left <= {Path(f"ck{end}") for end in ("", "~", ".lock")}, (place, left)
                assert raised is not None or code in (0, 130), (place, code)
                assert case() == 0, place
                assert kept.now("out") == new, place
                seen.append("done" if found == new else "as before")
        yield name, seen


def of_models(step):
    """A model is what it was, or what the rows make it; rows are never added twice or in part."""

    def refit(model):
        return lambda: model.fit("x.npy")

    def go_on(model):
        return lambda: model.partial_fit("x.csv")

    for name, begin in {"fit": refit, "partial_fit": go_on}.items():
        model = PCA(2).partial_fit(rows(3)[:700])
        before = answer(model)
        begin(model)()
        after, seen = answer(model), []
        assert after != before
        for n in range(1, 1000, step):
            model = PCA(2).partial_fit(rows(3)[:700])
            outcome = next(failing(begin(model), "read", event="interrupt", first=n), None)
            found = answer(model)
            assert found in (before, after), (name, n, outcome)
            if found == before:
                begin(model)()
                assert answer(model) == after, (name, n)
            if outcome is None:
                break
            seen.append("done" if found == after else "as before")
        yield name, seen


if __name__ == "__main__":
    as_a_script()
    step = int(sys.argv[1])
    with contextlib.chdir(sys.argv[2]):
        watch(".")
        np.save("x.npy", rows(1))
        delimited(Path("x.csv"), rows(1), NAMES)
        delimited(Path("y.csv"), rows(2), NAMES)
        PCA(2).fit("y.csv").save("m.pca")
        for words in (("fit", "y.csv", "-k", "2"), ("transform", "m.pca", "y.csv")):
            assert command(*words, "-o", "out" if words[0] == "fit" else "out/s.csv") == 0
        print(json.dumps(dict([*of_commands(step), *of_models(step)])))
