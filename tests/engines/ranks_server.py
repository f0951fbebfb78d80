"""A server of ranks, started once, because a launch takes longer than most tests.

This file has both sides. Tests use ``Server``. Run as a script, the file is one rank: for each
job it calls a function of ``ranks_cases`` together with the other ranks, and rank 0 writes the
outcomes of all ranks.
"""

from __future__ import annotations

import atexit
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

# Every wait has a timeout, because these tests are about hangs.
SECONDS = 40.0


def mpiexec():
    """The launcher in the folder of this Python, or the one on the PATH."""
    folder = str(Path(sys.executable).parent)
    return shutil.which("mpiexec", path=folder) or shutil.which("mpiexec")


class Server:
    """Ranks of one kind, for one test session."""

    def __init__(self, kind, size):
        self.kind, self.size, self.jobs = kind, size, 0
        self._running = []

    def _start(self):
        self.folder = Path(tempfile.mkdtemp(prefix="princomp-ranks-"))
        threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
        path = os.pathsep.join(filter(None, [*sys.path, os.environ.get("PYTHONPATH")]))
        environment = {**os.environ, **threads, "PYTHONPATH": path}
        rank = [sys.executable, __file__, self.kind, str(self.folder)]
        if self.kind == "mpi":
            commands = [[mpiexec(), "-n", str(self.size), *rank]]
        else:
            commands = [[*rank, str(i), str(self.size)] for i in range(self.size)]
        with open(self.folder / "log", "ab") as log:
            self._running = [
                subprocess.Popen(
                    command,
                    stdin=subprocess.PIPE if command is commands[0] else subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    env=environment,
                )
                for command in commands
            ]
        atexit.register(self.stop)

    def stop(self):
        """End the ranks, which exit by themselves when their input is closed."""
        running, self._running = self._running, []
        for process in running:
            if process.stdin is not None:
                process.stdin.close()
        for process in running:
            try:
                process.wait(5.0)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        if running:
            atexit.unregister(self.stop)
            shutil.rmtree(self.folder, ignore_errors=True)

    def outcomes(self, case, *args, **kwargs):
        """The value or exception of the case on each rank, within a timeout."""
        if not self._running:
            self._start()
        self.jobs += 1
        job = self.folder / f"job{self.jobs}"
        job.write_bytes(pickle.dumps((case, args, kwargs)))
        self._running[0].stdin.write(f"{job}\n".encode())
        self._running[0].stdin.flush()
        answer, until = job.with_suffix(".out"), time.monotonic() + SECONDS
        while not answer.exists():
            ended = [one for one in self._running if one.poll() is not None]
            if ended or time.monotonic() > until:
                log = (self.folder / "log").read_text()[-2000:]
                for process in self._running:
                    process.kill()
                self.stop()
                what = "ended" if ended else f"were silent for {SECONDS:.0f} s"
                pytest.fail(f"the {self.kind} ranks {what} in {case}\n{log}", pytrace=False)
            time.sleep(0.002)
        return pickle.loads(answer.read_bytes())

    def call(self, case, *args, **kwargs):
        """The values of all ranks; the first exception of any rank is raised."""
        outcomes = self.outcomes(case, *args, **kwargs)
        for outcome in outcomes:
            if isinstance(outcome, BaseException):
                raise outcome
        return outcomes


def serve(comm):
    """Run jobs on all ranks together until the input of rank 0 ends."""
    import ranks_cases

    from princomp.engines.mpi.communicators import communicator

    while True:
        with communicator(comm) as line:
            job = line.broadcast(None if line.rank else sys.stdin.readline().strip())
        if not job:
            return
        case, args, kwargs = pickle.loads(Path(job).read_bytes())
        try:
            outcome = getattr(ranks_cases, case)(comm, *args, **kwargs)
        except BaseException as error:
            outcome = error
            # Not every exception keeps its notes when pickled.
            outcome.place = {**getattr(error, "place", {}), "notes": notes_of(error)}
        with communicator(comm) as line:
            outcomes = line.gather(outcome)
        if line.rank == 0:
            part = Path(f"{job}.part")
            part.write_bytes(pickle.dumps(outcomes))
            part.rename(f"{job}.out")


def notes_of(error):
    return getattr(error, "__notes__", [])


def main():
    kind, folder = sys.argv[1:3]
    if kind == "mpi":
        from mpi4py import MPI

        serve(MPI.COMM_WORLD)
        return
    from torch import distributed

    rank, size = map(int, sys.argv[3:])
    distributed.init_process_group(
        "gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=size
    )
    serve(distributed.group.WORLD)
    distributed.destroy_process_group()


if __name__ == "__main__":
    main()
