"""Fits in separate processes that are slow, killed, or short of disk space; run as a script.

``cli SPEC ARGUMENT...``  the command line with a checkpoint and a pause after each block
``kills SPEC``            a fit that is killed after random delays and resumed until it finishes
``gaps SPEC``             a fit that kills itself at each system call of a save in turn

SPEC is a JSON object. The last two fork, because starting Python takes longer than these fits,
and print their outcomes as JSON.
"""

from __future__ import annotations

import json
import os
import random
import resource
import signal
import sys
import time
import warnings
from contextlib import suppress
from functools import partial
from itertools import count
from pathlib import Path

import pytest

from faults.disk import bits, save_every_block, small_blocks
from princomp.engines.run_context import RunContext
from princomp.io import checkpoint as checkpoint_module
from princomp.io.checkpoint import Checkpoint


def cli(spec, arguments):
    from princomp.__main__ import main

    if "largest" in spec:  # bytes of any file, as if the disk were full
        resource.setrlimit(resource.RLIMIT_FSIZE, (spec["largest"], spec["largest"]))
    sys.argv[1:] = arguments
    main()


def _pause_after_blocks(pause, first=1):
    """Make fits pause after each block from the first one on, once its checkpoint is written."""
    original, blocks = RunContext.advance, count(1)

    def advance(self, state):
        original(self, state)
        if next(blocks) >= first:
            time.sleep(pause)

    RunContext.advance = advance


def _report_blocks(pipe):
    """Write a byte to a pipe after each block of the fits of this process."""
    original = RunContext.advance

    def advance(self, state):
        original(self, state)
        with suppress(BrokenPipeError):
            os.write(pipe, b".")

    RunContext.advance = advance


def _fit(spec, before=lambda: None):
    """Fit in a forked process, which exits with code 0 on success; return its process ID."""
    from princomp import PCA  # a command of a plain PCA does not import all that this imports

    child = os.fork()
    if child:
        return child
    try:
        before()
        model = PCA(**spec["options"])
        model.fit(spec["file"], sample_weight=spec.get("weights"), checkpoint=spec["checkpoint"])
        Path(spec["out"]).write_bytes(bits(model))
        os._exit(0)
    except BaseException:
        sys.excepthook(*sys.exc_info())
        os._exit(1)


def _was_killed(child):
    """Whether the process was killed; otherwise it must have succeeded."""
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return True
    assert os.WEXITSTATUS(status) == 0
    return False


def _progress_in(path):
    """The number of finished passes in a checkpoint and the next row; zeros without one."""
    if not any(name.exists() for name in Checkpoint.files(path)[:2]):
        return [0, 0]
    passes = checkpoint_module._newest(Path(path))[2]["passes"]
    done = sum(one["done"] for one in passes)
    return [done, 0 if done == len(passes) else passes[-1]["row"]]


def kills(spec):
    generator = random.Random(spec["seed"])
    reached = []
    while True:
        read, write = os.pipe()
        child = _fit(spec, partial(_report_blocks, write))
        os.close(write)
        if len(reached) < spec["kills"]:
            for _ in range(generator.randrange(6)):
                os.read(read, 1)
            time.sleep(generator.uniform(0, spec["pause"]))
            os.kill(child, signal.SIGKILL)
        os.close(read)
        if not _was_killed(child):
            break
        reached.append(_progress_in(spec["checkpoint"]))
    print(json.dumps({"reached": reached}))


def gaps(spec):
    """Kill the fit before each system call of its saves, then resume it."""
    outcomes = []
    for number in range(1, spec["calls"] + 1):
        Checkpoint.remove(spec["checkpoint"])
        killed = _was_killed(_fit(spec, partial(_kill_before, number)))
        reached = _progress_in(spec["checkpoint"])
        whole = not _was_killed(_fit(spec))
        same = Path(spec["out"]).read_bytes().hex() == spec["bits"]
        outcomes.append([number, killed, reached, whole and same])
    # One run that is killed repeatedly: each process gets one or two saves further.
    Checkpoint.remove(spec["checkpoint"])
    chain = 0
    while chain < 60 and _was_killed(_fit(spec, partial(_kill_before, 5 + chain % 7))):
        chain += 1
    same = chain < 60 and Path(spec["out"]).read_bytes().hex() == spec["bits"]
    print(json.dumps({"outcomes": outcomes, "chain": chain, "same": same}))


def _kill_before(number):
    calls = [0]

    def counted(original):
        def call(*arguments):
            calls[0] += 1
            if calls[0] == number:
                os.kill(os.getpid(), signal.SIGKILL)
            original(*arguments)

        return call

    os.fsync, os.replace = counted(os.fsync), counted(os.replace)


if __name__ == "__main__":
    task, spec, *arguments = sys.argv[1:]
    spec = json.loads(spec)
    patch = pytest.MonkeyPatch()
    save_every_block(patch)
    small_blocks(patch, **spec.get("blocks", {}))
    _pause_after_blocks(spec.get("pause", 0.0), spec.get("first", 1))
    if task == "cli":
        cli(spec, arguments)
    else:
        # Python 3.12 and newer warn when a process with threads forks; those of BLAS are idle here.
        warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)
        {"kills": kills, "gaps": gaps}[task](spec)
