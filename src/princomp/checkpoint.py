"""A run on disk: what its passes have summed so far, so that it can go on where it was.

Every pass over the rows folds them into a state that merges. A checkpoint holds the states
of the passes that are done, the state of the one that runs, and the number of the next
row. The rest of a fit is a function of these, so a resumed run has the bits of one that
was never interrupted.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from pathlib import Path
from typing import Any, NamedTuple

from princomp.atomic import atomic_write
from princomp.checked_file import Kind, content_of, opened, read_content, refusal
from princomp.errors import CheckpointError, InputNotFoundError, InUseError
from princomp.solvers.krylov import Images
from princomp.summaries.stored import KINDS, pack, unpack

__all__ = ["Checkpoint", "State"]

_CHECKPOINT = Kind(
    "princomp.checkpoint",
    1,
    0,
    "checkpoint",
    CheckpointError,
    "princomp fit … --checkpoint PATH writes one",
    "delete it and start again",
)
_STATES = {**KINDS, "images": Images}
# Written at most this many seconds apart; sooner where writing takes no more than a share.
_EVERY, _SHARE = 30.0, 0.02


class State(NamedTuple):
    """A pass so far: the next row, what the rows before it came to, and how many were left out."""

    row: int
    summary: Any
    dropped: int
    done: bool = False


class Checkpoint:
    """The file of one run. Opening it takes it: a second run on it is refused.

    Parameters
    ----------
    path : path
    run : dict
        What the run is: inputs, columns, parameters; plain values. A file of another run
        is refused, and the first difference is named.
    command : dict
        What resumes it, kept as it is.
    limit : int
        Bytes of memory that the run may take. It shapes a plan, so a resumed run keeps
        the limit of the first.

    Raises
    ------
    InUseError
        Another run holds it.
    CheckpointError
        It is damaged, or of another run.
    """

    def __init__(
        self, path: Any, run: dict[str, Any], command: dict[str, Any] | None, limit: int
    ) -> None:
        self.path = Path(path)
        self._run = json.loads(json.dumps(run))  # tuples become lists, as they will in the file
        self._command, self.limit = command, limit
        self._done: list[State] = []
        self._open: State | None = None
        self._read = 0  # passes that were asked for again since the file was opened
        self._cost, self._saved = 0.0, time.monotonic()
        self._lock = _Lock(self.path)
        try:
            self._load()
        except BaseException:
            self._lock.release()
            raise

    @property
    def resumed(self) -> bool:
        """Whether there was something to go on from."""
        return bool(self._done or self._open)

    # ---- the passes ---------------------------------------------------------------------

    def begin(self) -> State | None:
        """What is known of the next pass."""
        self._read += 1
        if self._read <= len(self._done):
            return self._done[self._read - 1]
        return self._open

    def advance(self, state: State) -> None:
        """Rows were added; write the file when it is time."""
        self._open = state
        now = time.monotonic() - self._saved
        if now >= min(_EVERY, max(self._cost / _SHARE, _EVERY / 30)):
            self.save()

    def finish(self, state: State) -> None:
        """The pass is done."""
        self._done.append(state._replace(done=True))
        self._open = None
        self.save()

    def save(self) -> None:
        """Write the file now; the one before stays beside it as ``PATH~``."""
        began = time.monotonic()
        arrays: dict[str, Any] = {}
        passes = []
        for i, state in enumerate((*self._done, *([self._open] if self._open else []))):
            packed, words = pack(state.summary, f"{i}.", _STATES)
            arrays |= packed
            passes.append({**state._asdict(), "summary": words})
        document = {
            "run": self._run,
            "command": self._command,
            "limit": self.limit,
            "passes": passes,
        }
        content = content_of(_CHECKPOINT, arrays, document)
        if self.path.exists():
            os.replace(self.path, _older(self.path))
        with atomic_write(self.path, force=True) as file:
            file.write(content)
        self._saved = time.monotonic()
        self._cost = self._saved - began

    def close(self) -> None:
        """Let go of the file; it stays."""
        self._lock.release()

    @staticmethod
    def remove(path: Any) -> None:
        """Delete a checkpoint and what lies beside it: the run is finished."""
        path = Path(path)
        for name in (path, _older(path), _lock_of(path)):
            name.unlink(missing_ok=True)

    # ---- the file -----------------------------------------------------------------------

    @staticmethod
    def command_in(path: Any) -> dict[str, Any]:
        """What resumes the run.

        Raises
        ------
        CheckpointError
            When it was not written by the command line.
        """
        _, document = _newest(Path(path))
        command = document["command"]
        if not isinstance(command, dict):
            raise CheckpointError(
                f"{path}: was written by a program, not by the command line",
                place={"file": str(path)},
                hint="resume it in Python: PCA(…).fit(X, checkpoint=…) with the same arguments",
            )
        return command

    def _load(self) -> None:
        try:
            arrays, document = _newest(self.path)
        except InputNotFoundError:
            return
        with refusal(_CHECKPOINT, str(self.path)):
            self._refuse_another(document["run"])
            self.limit = int(document["limit"])
            states = [
                State(
                    int(one["row"]),
                    unpack(arrays, one["summary"], f"{i}.", _STATES),
                    int(one["dropped"]),
                    bool(one["done"]),
                )
                for i, one in enumerate(document["passes"])
            ]
        self._done = [state for state in states if state.done]
        self._open = next((state for state in states if not state.done), None)

    def _refuse_another(self, run: dict[str, Any]) -> None:
        for word in dict.fromkeys([*self._run, *run]):
            if self._run.get(word) != run.get(word):
                was, now = _difference(run.get(word), self._run.get(word))
                raise CheckpointError(
                    f"it belongs to another run: {word} was {was} and is {now}",
                    hint="give the same input and parameters, or another checkpoint; delete this "
                    "one if it is of no more use",
                )


def _difference(was: Any, now: Any) -> tuple[str, str]:
    """The first entry that differs, in short."""
    if isinstance(was, list) and isinstance(now, list) and len(was) == len(now):
        was, now = next((a, b) for a, b in zip(was, now, strict=True) if a != b)
    shown = [
        str(value) if len(str(value)) <= 200 else f"{str(value)[:200]}…" for value in (was, now)
    ]
    return shown[0], shown[1]


def _older(path: Path) -> Path:
    return path.with_name(path.name + "~")


def _lock_of(path: Path) -> Path:
    return path.with_name(path.name + ".lock")


def _newest(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Contents of the file, or of the generation before where it is missing or damaged."""
    try:
        return _contents(path)
    except (CheckpointError, InputNotFoundError):
        try:
            return _contents(_older(path))
        except (CheckpointError, InputNotFoundError):
            pass
        raise


def _contents(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    content = read_content(_CHECKPOINT, str(path))
    with refusal(_CHECKPOINT, str(path)):
        return opened(_CHECKPOINT, content)
    raise AssertionError("refusal raises")  # for the type checker


class _Lock:
    """Held by one process; the system frees it when the process ends, however it ends."""

    def __init__(self, path: Path) -> None:
        self._handle: int | None = None
        try:
            import fcntl
        except ImportError:  # Windows: without a lock, two runs would overwrite each other's file
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(_lock_of(path), os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(handle)
            raise InUseError(
                f"{path}: another run works on this checkpoint",
                place={"file": str(path)},
                hint="wait for it, or give this run a checkpoint of its own",
            ) from None
        self._handle = handle

    def release(self) -> None:
        if self._handle is not None:
            with contextlib.suppress(OSError):
                os.close(self._handle)
            self._handle = None
