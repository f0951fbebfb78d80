"""Fits in processes of their own that are slow, killed, or short of disk; run as a script.

``cli SPEC WORD...``    the command line with checkpoints after each block, as slow as asked for
``kills SPEC``          a fit that is killed after random delays and begun again, until it is done
``gaps SPEC``           a fit that kills itself at one system call of a save after the other

SPEC is a JSON object. The last two fork, since starting Python takes longer than these fits,
and print what came of it as JSON.
"""

from __future__ import annotations

import json
import os
import random
import resource
import signal
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from faults.disk import bits, often, small_blocks
from princomp import PCA
from princomp.engines.run_context import RunContext
from princomp.io import checkpoint as module
from princomp.io.checkpoint import Checkpoint


def cli(spec, words):
    from princomp.__main__ import main

    if "largest" in spec:  # bytes of any file: a disk that is full
        resource.setrlimit(resource.RLIMIT_FSIZE, (spec["largest"], spec["largest"]))
    sys.argv[1:] = words
    main()


def _slow(pause):
    """Let a fit rest after each block, when its checkpoint is written."""
    own = RunContext.advance

    def advance(self, state):
        own(self, state)
        time.sleep(pause)

    RunContext.advance = advance


def _fit(spec, before=lambda: None):
    """A process that fits, its number; with exit code 0 when it is done."""
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


def _ended(child):
    """Whether it was killed; else it must have finished well."""
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return True
    assert os.WEXITSTATUS(status) == 0
    return False


def _reached(path):
    """RunContext done, and the row of the next, as the checkpoint has them; nothing without one."""
    if not any(name.exists() for name in Checkpoint.files(path)[:2]):
        return [0, 0]
    passes = module._newest(Path(path))[2]["passes"]
    done = sum(one["done"] for one in passes)
    return [done, 0 if done == len(passes) else passes[-1]["row"]]


def kills(spec):
    draw = random.Random(spec["seed"])
    reached = []
    while True:
        child = _fit(spec)
        if len(reached) < spec["kills"]:
            time.sleep(draw.uniform(0, spec["longest"]))
            os.kill(child, signal.SIGKILL)
        if not _ended(child):
            break
        reached.append(_reached(spec["checkpoint"]))
    print(json.dumps({"reached": reached}))


def gaps(spec):
    """Kill before each of the calls that saves are made of; the fit then goes on."""
    message = []
    for number in range(1, spec["calls"] + 1):
        Checkpoint.remove(spec["checkpoint"])
        killed = _ended(_fit(spec, partial(_kill_before, number)))
        reached = _reached(spec["checkpoint"])
        whole = not _ended(_fit(spec))
        same = Path(spec["out"]).read_bytes().hex() == spec["bits"]
        message.append([number, killed, reached, whole and same])
    # One run through all: each process gets a save or two further.
    Checkpoint.remove(spec["checkpoint"])
    chain = 0
    while chain < 60 and _ended(_fit(spec, partial(_kill_before, 5 + chain % 7))):
        chain += 1
    same = chain < 60 and Path(spec["out"]).read_bytes().hex() == spec["bits"]
    print(json.dumps({"message": message, "chain": chain, "same": same}))


def _kill_before(number):
    calls = [0]

    def counted(own):
        def call(*words):
            calls[0] += 1
            if calls[0] == number:
                os.kill(os.getpid(), signal.SIGKILL)
            own(*words)

        return call

    os.fsync, os.replace = counted(os.fsync), counted(os.replace)


if __name__ == "__main__":
    what, spec, *words = sys.argv[1:]
    spec = json.loads(spec)
    patch = pytest.MonkeyPatch()
    often(patch)
    small_blocks(patch, **spec.get("blocks", {}))
    _slow(spec.get("pause", 0.0))
    if what == "cli":
        cli(spec, words)
    else:
        {"kills": kills, "gaps": gaps}[what](spec)
