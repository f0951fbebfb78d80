"""Input files that fail or change at each of their reads; runs under failing_calls.c.

Usage: LD_PRELOAD=failing_calls.so python under_failing_reads.py WHAT,… STEP FOLDER

For each WHAT and n = 1, 1 + STEP, … a fit is run whose n-th read fails (errors), finds the end of
the file (ends), returns half of the bytes (halves), or whose file is changed just before its n-th
read (changes).
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
from faults.inputs import INPUTS, READ_WHOLE, rows, set_up_script
from faults.shim import Folder, answer, failing, watch
from princomp import PCA, load
from princomp.errors import PrincompError
from princomp.io.readers import files

# Column names before and after a file changes.
NAMES, OTHER_NAMES = ["a", "b", "c", "d"], ["d", "c", "b", "a"]
# If a file ends early, HDF5 reads zeros and pyarrow uninitialized memory: no reader can notice.
ENDS_UNSEEN = ("arrow", "h5", "h5ad")


def fitted(path):
    return answer(PCA(2).fit(path))


def outcome(context, result, raised, expected):
    """Check for the expected result, or a princomp error that names the file and has a hint."""
    if raised is None:
        assert result in expected, f"{context}: a wrong answer"
        return "right"
    assert isinstance(raised, PrincompError), (context, repr(raised))
    assert context[1] in raised.message, (context, raised)
    assert raised.hint, (context, raised)
    return type(raised).__name__


def readers(folder):
    """Each format with its file, read in chunks and, where supported, also whole."""
    for name, (write, part) in INPUTS.items():
        for whole in (False, True) if name in READ_WHOLE else (False,):
            place = folder / f"{name}-{whole}"
            place.mkdir()
            path = place / f"x.{name}"
            write(path, rows(1), NAMES)
            files.SMALL_FILE_BYTES = files.SMALL_COMPRESSED_FILE_BYTES = 2**25 if whole else 0
            watch(place)
            yield f"{name}, whole" if whole else name, path, path / part


def errors(folder, step, event="fail"):
    """Fail each read with EIO, or trigger ``event`` at it."""
    for name, path, _ in readers(folder):
        if event == "end" and name.startswith(ENDS_UNSEEN):
            continue
        expected, seen = {fitted(path)}, []
        run = partial(fitted, path)
        for n, *found in failing(run, "read", errno.EIO, event=event, step=step):
            seen.append(outcome((name, path.name, n), *found, expected))
        yield name, seen
    yield from own_files(folder / "own", step, event)


def own_files(place, step, event):
    """Model files and checkpoints, with each of their reads failing."""
    place.mkdir()
    np.save(place / "x.npy", rows(1))
    Folder(place).restore()  # sets old modification times
    model = PCA(2).fit(place / "x.npy")
    model.save(place / "x.pca")
    with pytest.raises(Stopped):
        PCA(2).fit(place / "x.npy", progress=stop_after(3)[1], checkpoint=place / "x.ckpt")
    stored = Folder(place)
    watch(place)
    for name, run in {
        "model": lambda: answer(load(place / "x.pca")),
        "checkpoint": lambda: answer(PCA(2).fit(place / "x.npy", checkpoint=place / "x.ckpt")),
    }.items():
        seen = []
        options = {"event": event, "before": stored.restore, "step": step}
        for n, *found in failing(run, "read", errno.EIO, **options):
            seen.append(outcome((name, "x.", n), *found, {answer(model)}))
            assert event != "fail" or found[1] is None or "disk" in found[1].hint, (name, n, found)
        yield name, seen


def changes(folder, step):
    """Remove, replace, overwrite, truncate or extend the file at each read."""
    for name, path, target in readers(folder):
        seen = []
        for what, event, changed in changed_files(name, path, target):
            seen += outcomes_of_change(name, path, target, what, event, changed, step)
        yield name, seen


def changed_files(name, path, target):
    """For each change: its name, its event in failing_calls.c, and the new content of the file."""
    content, other_path = target.read_bytes(), path.parent / f"other.{path.name}"
    INPUTS[name.partition(",")[0]][0](other_path, rows(2), OTHER_NAMES)
    other = (other_path / target.relative_to(path)).read_bytes()
    return (
        ("removed", "remove", None),
        ("replaced", "replace", other),
        ("overwritten", "copy", other),
        ("cut", "copy", content[: len(content) * 2 // 3]),
        ("longer", "copy", content + content[-len(content) // 3 :]),
    )


def outcomes_of_change(name, path, target, what, event, changed, step):
    """Outcomes of fits whose file changes at one read; results of old or of new rows are right."""
    old, spare = Folder(path.parent), path.parent.parent / "spare"
    old.restore()
    expected = {fitted(path)}
    target.unlink()
    if changed is not None:
        target.write_bytes(changed)
    with contextlib.suppress(PrincompError):
        expected.add(fitted(path))

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
    seen = [outcome((name, path.name, what, n), *result, expected) for n, *result in found]
    old.restore()
    return seen


if __name__ == "__main__":
    set_up_script()
    checks = {
        "errors": errors,
        "ends": partial(errors, event="end"),
        "halves": partial(errors, event="half"),
        "changes": changes,
    }
    found = {}
    for what in sys.argv[1].split(","):
        folder = Path(sys.argv[3]) / what
        folder.mkdir()
        found[what] = dict(checks[what](folder, int(sys.argv[2])))
    print(json.dumps(found))
