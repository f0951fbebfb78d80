"""SIGINT at each read, write, flush and rename of a run; runs under failing_calls.c.

Usage: LD_PRELOAD=failing_calls.so python under_interrupts.py STEP FOLDER

SIGINT is sent at calls number 1, 1 + STEP, ….
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
from pathlib import Path

import numpy as np

from faults.inputs import delimited, rows, set_up_script
from faults.shim import Folder, answer, failing, watch
from princomp import PCA
from princomp.cli import run

FAMILIES = ("read", "write", "sync", "rename")
NAMES = ["a", "b", "c", "d"]


def command(*arguments):
    """Run a princomp command and return its exit status."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        return run(list(arguments))


def cases():
    """Runs by name; each returns 0 when it succeeds."""
    flags = ("-k", "2", "--memory", "2GB", "--force")

    def fit(*arguments):
        return lambda: command("fit", *arguments, *flags, "-o", "out")

    return {
        "fit of npy": fit("x.npy"),
        "fit of csv": fit("x.csv"),
        "fit with a checkpoint": fit("x.npy", "--checkpoint", "ck"),
        "transform": lambda: command("transform", "m.pca", "x.csv", "-o", "out/s.csv", "--force"),
    }


def command_outcomes(step):
    """Old outputs stay until the new ones are complete; a second run always completes them."""
    kept = Folder(Path())
    old = kept.contents("out")
    for name, case in cases().items():
        kept.restore()
        assert case() == 0
        new, seen = kept.contents("out"), []
        for family in FAMILIES:
            runs = failing(case, family, event="interrupt", before=kept.restore, step=step)
            for n, code, raised in runs:
                context = (name, family, n, raised)
                found = kept.contents("out")
                assert found in (old, new), context
                left = set(kept.contents()) - set(kept.files) - set(new)
                assert left <= {Path(f"ck{end}") for end in ("", "~", ".lock")}, (context, left)
                assert raised is not None or code in (0, 130), (context, code)
                assert case() == 0, context
                assert kept.contents("out") == new, context
                seen.append("done" if found == new else "as before")
        yield name, seen


def model_outcomes(step):
    """A model is unchanged or completely updated; rows are never added twice or in part."""

    def refit(model):
        return lambda: model.fit("x.npy")

    def continue_fit(model):
        return lambda: model.partial_fit("x.csv")

    for name, begin in {"fit": refit, "partial_fit": continue_fit}.items():
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
    set_up_script()
    step = int(sys.argv[1])
    with contextlib.chdir(sys.argv[2]):
        watch(".")
        np.save("x.npy", rows(1))
        delimited(Path("x.csv"), rows(1), NAMES)
        delimited(Path("y.csv"), rows(2), NAMES)
        PCA(2).fit("y.csv").save("m.pca")
        for words in (("fit", "y.csv", "-k", "2"), ("transform", "m.pca", "y.csv")):
            assert command(*words, "-o", "out" if words[0] == "fit" else "out/s.csv") == 0
        print(json.dumps(dict([*command_outcomes(step), *model_outcomes(step)])))
