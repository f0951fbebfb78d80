"""Runs under failing_calls.c: input files that fail or change at each read of them.

Usage: LD_PRELOAD=failing_calls.so python under_failing_reads.py WHAT STEP FOLDER

For n = 1, 1 + STEP, … a fit is run whose n-th read fails (errors), finds the end of the file
(ends), returns half of the bytes (halves), or whose file is changed just before its n-th read
(changes).
"""

from __future__ import annotations

import contextlib
import errno
import json
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from faults.disk import Stopped, stop_after
from faults.inputs import INPUTS, READ_WHOLE, as_a_script, rows
from faults.shim import Folder, answer, failing, watch
from princomp import PCA, load
from princomp.errors import PrincompError
from princomp.io.readers import files

# Names of columns before a file changes, and after it.
NAMES, OTHERS = ["a", "b", "c", "d"], ["d", "c", "b", "a"]
# Where a file ends early, HDF5 reads zeros, and pyarrow what the memory held: no reader can know.
ENDS_UNSEEN = ("arrow", "h5", "h5ad")


def fitted(path):
    return answer(PCA(2).fit(path))


def outcome(place, result, raised, right):
    """The right answer, or an error of princomp that names the file and says what to do."""
    if raised is None:
        assert result in right, f"{place}: a wrong answer"
        return "right"
    assert isinstance(raised, PrincompError), (place, repr(raised))
    assert place[1] in raised.message, (place, raised)
    assert raised.hint, (place, raised)
    return type(raised).__name__


def readers(folder):
    """Each reader and its file, which is read in chunks where it can be, and whole where it can."""
    for name, (write, part) in INPUTS.items():
        for whole in (False, True) if name in READ_WHOLE else (False,):
            place = folder / f"{name}-{whole}"
            place.mkdir()
            path = place / f"x.{name}"
            write(path, rows(1), NAMES)
            files._SMALL = files._SMALL_PACKED = 2**25 if whole else 0
            watch(place)
            yield f"{name}, whole" if whole else name, path, path / part


def errors(folder, step, event="fail"):
    """Each read fails with EIO, or as ``event`` says."""
    for name, path, _ in readers(folder):
        if event == "end" and name.startswith(ENDS_UNSEEN):
            continue
        right, seen = {fitted(path)}, []
        run = partial(fitted, path)
        for n, *found in failing(run, "read", errno.EIO, event=event, step=step):
            seen.append(outcome((name, path.name, n), *found, right))
        yield name, seen
    yield from own_files(folder / "own", step, event)


def own_files(place, step, event):
    """Model files and checkpoints, each of whose reads fails."""
    place.mkdir()
    np.save(place / "x.npy", rows(1))
    Folder(place).restore()  # sets old modification times
    model = PCA(2).fit(place / "x.npy")
    model.save(place / "x.pca")
    with pytest.raises(Stopped):
        PCA(2).fit(place / "x.npy", progress=stop_after(3)[1], checkpoint=place / "x.ckpt")
    made = Folder(place)
    watch(place)
    for name, run in {
        "model": lambda: answer(load(place / "x.pca")),
        "checkpoint": lambda: answer(PCA(2).fit(place / "x.npy", checkpoint=place / "x.ckpt")),
    }.items():
        seen = []
        options = {"event": event, "before": made.restore, "step": step}
        for n, *found in failing(run, "read", errno.EIO, **options):
            seen.append(outcome((name, "x.", n), *found, {answer(model)}))
            assert event != "fail" or found[1] is None or "disk" in found[1].hint, (name, n, found)
        yield name, seen


def changes(folder, step):
    """At each read the file is removed, replaced, overwritten, cut or longer."""
    for name, path, target in readers(folder):
        seen = []
        for what, event, changed in changed_files(name, path, target):
            seen += around(name, path, target, what, event, changed, step)
        yield name, seen


def changed_files(name, path, target):
    """What happens, by which event of failing_calls.c, and what is in the file after it."""
    content, made = target.read_bytes(), path.parent / f"other.{path.name}"
    INPUTS[name.partition(",")[0]][0](made, rows(2), OTHERS)
    other = (made / target.relative_to(path)).read_bytes()
    return (
        ("removed", "remove", None),
        ("replaced", "replace", other),
        ("overwritten", "copy", other),
        ("cut", "copy", content[: len(content) * 2 // 3]),
        ("longer", "copy", content + content[-len(content) // 3 :]),
    )


def around(name, path, target, what, event, changed, step):
    """The outcomes of fits whose file changes at one read: of the old rows, or of the new."""
    old, spare = Folder(path.parent), path.parent.parent / "spare"
    old.restore()
    right = {fitted(path)}
    target.unlink()
    if changed is not None:
        target.write_bytes(changed)
    with contextlib.suppress(PrincompError):
        right.add(fitted(path))

    def prepare():
        old.restore()
        spare.write_bytes(changed or b"")

    found = failing(
        lambda: fitted(path),
        "read",
        event=event,
        file=target,
        other=spare,
        before=prepare,
        step=step,
    )
    seen = [outcome((name, path.name, what, n), *how, right) for n, *how in found]
    old.restore()
    return seen


if __name__ == "__main__":
    as_a_script()
    what = {
        "errors": errors,
        "ends": partial(errors, event="end"),
        "halves": partial(errors, event="half"),
        "changes": changes,
    }[sys.argv[1]]
    print(json.dumps(dict(what(Path(sys.argv[3]), int(sys.argv[2])))))
