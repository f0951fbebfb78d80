"""A run on disk: what its passes have summed so far, so that it can go on where it was.

Every pass over the rows folds them into a state that merges. A checkpoint holds the states
of the passes that are done, the state of the one that runs, and the number of the next
row. The rest of a fit is a function of these, so a resumed run has the bits of one that
was never interrupted.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from princomp.atomic import atomic_write, check_writable
from princomp.checked_file import Kind, content_of, opened, read_content, refusal
from princomp.errors import CheckpointError, InUseError, OutputError
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
    OutputError
        It cannot be written there.
    """

    def __init__(
        self, path: Any, run: dict[str, Any], command: dict[str, Any] | None, limit: int
    ) -> None:
        # Where it is now: the folder may be changed before the run is over, and renaming
        # would replace a link instead of what it points to.
        self.path = _real(path)
        self._run = json.loads(json.dumps(run))  # tuples become lists, as they will in the file
        self._command, self.limit = command, limit
        self._done: list[State] = []
        self._open: State | None = None
        self._read = 0  # passes that were asked for again since the file was opened
        self._cost, self._saved = 0.0, time.monotonic()
        self._whole = False  # whether the file is there and good, worth keeping beside the next
        check_writable(Checkpoint.files(self.path), force=True)
        self._lock = _Lock(self.path)
        try:
            self._load()
        except BaseException:
            self._lock.release()
            raise

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
        with atomic_write(self.path, force=True) as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
            # Only now, so that a full disk leaves both generations as they are; and never a
            # damaged file over the good one that the run went on from.
            if self._whole:
                self._whole = False
                os.replace(self.path, _older(self.path))
        self._whole = True
        self._saved = time.monotonic()
        self._cost = self._saved - began

    def close(self) -> None:
        """Let go of the file; it stays."""
        self._lock.release()

    @staticmethod
    def files(path: Any) -> tuple[Path, Path, Path]:
        """What a run writes: the file, the generation before, and the lock."""
        path = _real(path)
        return path, _older(path), _lock_of(path)

    @staticmethod
    @contextmanager
    def held(path: Any) -> Iterator[None]:
        """Keep others from a checkpoint whose fit is done, while the results are written.

        Raises
        ------
        InUseError
        """
        lock = _Lock(_real(path))
        try:
            yield
        finally:
            lock.release()

    @staticmethod
    def remove(path: Any) -> None:
        """Delete a checkpoint and what lies beside it: the run is finished."""
        for name in Checkpoint.files(path):
            if not _is_model(name):  # somebody gave the model the name of the checkpoint
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
        _, _, document = _newest(Path(path))
        command = document["command"]
        if not isinstance(command, dict):
            raise CheckpointError(
                f"{path}: was written by a program, not by the command line",
                place={"file": str(path)},
                hint="resume it in Python: PCA(…).fit(X, checkpoint=…) with the same arguments",
            )
        return command

    def _load(self) -> None:
        if not any(map(os.path.lexists, (self.path, _older(self.path)))):
            return
        found, arrays, document = _newest(self.path)
        with refusal(_CHECKPOINT, str(self.path)):
            self._refuse_another(document["run"])
            self.limit = int(document["limit"])
            if self._command is None:  # a program goes on with a run of the command line
                self._command = document["command"]
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
        self._whole = found == self.path

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


def _real(path: Any) -> Path:
    return Path(os.path.realpath(path))


def _newest(path: Path) -> tuple[Path, dict[str, Any], dict[str, Any]]:
    """The newest good generation: which file it is, and its contents."""
    # Without the file itself, a run was killed between two renamings.
    names = [name for name in (path, _older(path)) if os.path.lexists(name)]
    errors = []
    for name in names or [path]:
        try:
            return (name, *_contents(name))
        except CheckpointError as error:
            if "version" in error.place:
                raise  # what a newer princomp wrote is not damaged, and not gone back from
            errors.append(error)
    raise errors[0]


def _contents(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    content = read_content(_CHECKPOINT, str(path))
    with refusal(_CHECKPOINT, str(path)):
        return opened(_CHECKPOINT, content)


def _is_model(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            length = min(int.from_bytes(file.read(8), "little"), 2**20)
            return b'"format":"princomp.model"' in file.read(length)
    except OSError:
        return False


class _Lock:
    """Held by one process; the system frees it when the process ends, however it ends."""

    def __init__(self, path: Path) -> None:
        self._handle: int | None = None
        try:
            import fcntl
        except ImportError:  # Windows: without a lock, two runs would overwrite each other's file
            return
        name = _lock_of(path)
        while self._handle is None:
            try:
                name.parent.mkdir(parents=True, exist_ok=True)
                handle = os.open(name, os.O_RDWR | os.O_CREAT, 0o666)
            except OSError as error:
                raise OutputError(
                    f"{path}: could not be written: {error.strerror or error}",
                    place={"file": str(path)},
                    hint="give the checkpoint a name in another folder",
                ) from error
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                os.close(handle)
                if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
                    return  # a file system without locks
                raise InUseError(
                    f"{path}: another run works on this checkpoint",
                    place={"file": str(path)},
                    hint="wait for it, or give this run a checkpoint of its own",
                ) from None
            # A run that ended may have deleted the file between the two calls.
            if _is_still(name, handle):
                self._handle = handle
            else:
                os.close(handle)

    def release(self) -> None:
        if self._handle is not None:
            with contextlib.suppress(OSError):
                os.close(self._handle)
            self._handle = None


def _is_still(name: Path, handle: int) -> bool:
    try:
        return os.path.samestat(os.stat(name), os.fstat(handle))
    except FileNotFoundError:
        return False
