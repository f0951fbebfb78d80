"""Checkpoints: the state of a fit in a file, from which an interrupted run resumes.

A checkpoint holds the summaries of the finished passes over the rows, the summary of the current
pass so far, and the number of the next row. The rest of a fit depends only on these, so a resumed
run gives bit-identical results to one that was never interrupted. A lock prevents two runs from
writing the same checkpoint.
"""

from __future__ import annotations

import errno
import json
import os
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from princomp.errors import CheckpointError, InUseError, OutputError
from princomp.io.atomic import (
    PathLike,
    atomic_write,
    check_writable,
    remove_leftovers,
    resolved_target,
)
from princomp.io.model_file import (
    MAX_HEADER_BYTES,
    Kind,
    encode_content,
    read_content,
    refuse_malformed,
)
from princomp.io.readers.reader_errors import file_error
from princomp.solvers import Images
from princomp.summaries import KINDS, pack, unpack

_CHECKPOINT = Kind(
    "checkpoint",
    "1.0",
    CheckpointError,
    "princomp fit … --checkpoint PATH writes one",
    "delete it and start again",
)
_SUMMARY_KINDS = {**KINDS, "images": Images}
# Seconds between two saves, at most; less where saving takes no more than this share of the time.
SAVE_INTERVAL, _SAVE_SHARE = 30.0, 0.02


class State(NamedTuple):
    """A pass so far: its next row, the summary of the rows before it, and how many were dropped."""

    row: int
    summary: Any
    dropped: int
    done: bool = False


class Checkpoint:
    """The checkpoint file of one run, locked while it is open.

    Parameters
    ----------
    path : path
    run : dict
        Inputs, columns and parameters of the run, as plain values. The checkpoint of another
        run is refused with a message that names the first difference.
    command : dict
        The command that resumes the run; stored as it is.
    limit : int
        Bytes of memory that the run may use. The plan of a fit depends on it, so a resumed run
        keeps the limit of the first run.

    Raises
    ------
    InUseError
        Another run uses the checkpoint.
    CheckpointError
        The checkpoint is damaged, or belongs to another run.
    OutputError
        The checkpoint cannot be written at this path.
    """

    def __init__(
        self, path: PathLike, run: dict[str, Any], command: dict[str, Any] | None, limit: int
    ) -> None:
        # The absolute path without links: the working directory may change before the run ends,
        # and renaming would replace a link instead of its target.
        self.path = resolved_target(path)
        self._run = json.loads(json.dumps(run))  # tuples become lists, as they will in the file
        self._command, self.limit = command, limit
        self._states: list[State] = []  # one a pass: the finished ones, then the current one
        self._passes_begun = 0  # since the file was opened
        self._save_seconds, self._saved_at = 0.0, time.monotonic()
        self._file_is_valid = False  # if the file exists and is valid, it is kept as ``PATH~``
        check_writable(Checkpoint.files(self.path), force=True)
        with ExitStack() as stack:
            if stack.enter_context(_locked(self.path)):
                stack.callback(self._remove_unused_lock)  # before the lock is released
            remove_leftovers(self.path)
            self._load()
            self._lock = stack.pop_all()

    # ---- the passes ---------------------------------------------------------------------

    def begin(self) -> State | None:
        """Start the next pass, and return its stored state if there is one."""
        self._passes_begun += 1
        stored = self._states[self._passes_begun - 1 :]
        return stored[0] if stored else None

    def advance(self, state: State) -> None:
        """Record that rows were added, and save if the last save was long ago."""
        self._states[self._passes_begun - 1 :] = [state]
        since = time.monotonic() - self._saved_at
        interval = max(self._save_seconds / _SAVE_SHARE, SAVE_INTERVAL / 30)
        # Save also if the clock went back.
        if not 0 <= since < min(SAVE_INTERVAL, interval):
            self.save()

    def finish(self, state: State) -> None:
        """Record that the pass is done."""
        self._states[self._passes_begun - 1 :] = [state._replace(done=True)]
        self.save()

    def save(self) -> None:
        """Write the file now, and keep the previous one as ``PATH~``."""
        began = time.monotonic()
        arrays: dict[str, Any] = {}
        passes = []
        for i, state in enumerate(self._states):
            packed, metadata = pack(state.summary, f"{i}.", _SUMMARY_KINDS)
            arrays |= packed
            passes.append({**state._asdict(), "summary": metadata})
        document = {
            "run": self._run,
            "command": self._command,
            "limit": self.limit,
            "passes": passes,
        }
        content = encode_content(_CHECKPOINT, arrays, document)
        with atomic_write(self.path, force=True) as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
            # Rename the previous file only now, so that a full disk leaves both files unchanged.
            # A damaged file must not replace the valid ``PATH~`` that the run resumed from.
            if self._file_is_valid:
                with suppress(FileNotFoundError):  # someone deleted it, or it was renamed before
                    os.replace(self.path, _previous_path(self.path))
        self._file_is_valid = True
        self._saved_at = time.monotonic()
        self._save_seconds = self._saved_at - began

    def close(self) -> None:
        """Release the lock; the file is kept."""
        self._lock.close()

    def _remove_unused_lock(self) -> None:
        """Delete the lock file of a run that saved nothing; runs that wait for it notice this."""
        lock = _lock_path(self.path)
        with suppress(OSError):
            # A file of the user may have this name.
            if not _existing(self.path) and lock.stat().st_size == 0:
                lock.unlink()

    @staticmethod
    def files(path: PathLike) -> tuple[Path, Path, Path]:
        """Paths of the checkpoint, the previous checkpoint, and the lock."""
        path = resolved_target(path)
        return path, _previous_path(path), _lock_path(path)

    @staticmethod
    def locked(path: PathLike) -> AbstractContextManager[bool]:
        """Lock the checkpoint of a finished fit while the results are written.

        Raises
        ------
        InUseError
        """
        return _locked(resolved_target(path))

    @staticmethod
    def remove(path: PathLike) -> None:
        """Delete a checkpoint, the previous checkpoint and the lock, after the run is finished."""
        for name in Checkpoint.files(path):
            if not _is_model(name):  # the model may be saved under the name of the checkpoint
                name.unlink(missing_ok=True)

    # ---- the file -----------------------------------------------------------------------

    @staticmethod
    def command_in(path: PathLike) -> dict[str, Any]:
        """The command that resumes the run.

        Raises
        ------
        CheckpointError
            When the checkpoint was not written by the command line.
        """
        _, _, document = _newest(Path(path))
        with refuse_malformed(_CHECKPOINT, path):
            command = document["command"]
        if not isinstance(command, dict):
            problem = "was written by a program, not by the command line"
            hint = "resume it in Python: PCA(…).fit(X, checkpoint=…) with the same arguments"
            raise file_error(CheckpointError, path, problem, hint)
        return command

    def _load(self) -> None:
        if not _existing(self.path):
            return
        found, arrays, document = _newest(self.path)
        with refuse_malformed(_CHECKPOINT, self.path):
            self._refuse_other_run(document["run"])
            self.limit = int(document["limit"])
            if self._command is None:  # a Python program resumes a run of the command line
                self._command = document["command"]
            self._states = [
                State(
                    int(entry["row"]),
                    unpack(arrays, entry["summary"], f"{i}.", _SUMMARY_KINDS),
                    int(entry["dropped"]),
                    bool(entry["done"]),
                )
                for i, entry in enumerate(document["passes"])
            ]
        self._file_is_valid = found == self.path

    def _refuse_other_run(self, run: dict[str, Any]) -> None:
        for key in dict.fromkeys([*self._run, *run]):
            if self._run.get(key) != run.get(key):
                was, now = _difference(run.get(key), self._run.get(key))
                # Differences in these two are names of files and columns, not parameters.
                place = {} if key in ("input", "columns") else {"parameter": key}
                raise CheckpointError(
                    f"it belongs to another run: {key} was {was} and is {now}",
                    place=place,
                    hint="give the same input and parameters, or another checkpoint; delete this "
                    "one if it is of no more use",
                )


def _difference(was: object, now: object) -> list[str]:
    """The first entry that differs, before and now, shortened."""
    if isinstance(was, list) and isinstance(now, list) and len(was) == len(now):
        was, now = next((a, b) for a, b in zip(was, now, strict=True) if a != b)
    texts = str(was), str(now)
    return [text if len(text) <= 200 else f"{text[:200]}…" for text in texts]


def _previous_path(path: Path) -> Path:
    return path.with_name(path.name + "~")


def _existing(path: Path) -> list[Path]:
    """The checkpoint and the previous one, if they exist."""
    return [name for name in (path, _previous_path(path)) if os.path.lexists(name)]


def _newest(path: Path) -> tuple[Path, dict[str, Any], dict[str, Any]]:
    """Path and contents of the checkpoint, or of the previous one if it cannot be read."""
    # The checkpoint is missing if a run was killed between the two renamings of a save.
    errors = []
    for name in _existing(path) or [path]:
        try:
            return (name, *read_content(_CHECKPOINT, name))
        except CheckpointError as error:
            if "version" in error.place:
                raise  # written by a newer princomp, so not damaged
            errors.append(error)
    raise errors[0]


def _is_model(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            length = min(int.from_bytes(file.read(8), "little"), MAX_HEADER_BYTES)
            return b'"format":"princomp.model"' in file.read(length)
    except OSError:
        return False


# ---- the lock -----------------------------------------------------------------------------


def _lock_path(path: Path) -> Path:
    return path.with_name(path.name + ".lock")


@contextmanager
def _locked(path: Path) -> Iterator[bool]:
    """Lock a checkpoint; the system frees the lock when the process ends, for any reason.

    Yields
    ------
    bool
        Whether there is a lock: False where the system supports none.

    Raises
    ------
    InUseError
        Another process holds the lock.
    OutputError
        The lock file cannot be created.
    """
    handle, process = _acquire(path), os.getpid()
    try:
        yield handle is not None
    finally:
        if handle is not None:
            import fcntl

            with suppress(OSError):
                # Closing does not free the lock while a forked process has the file open.
                if os.getpid() == process:
                    fcntl.flock(handle, fcntl.LOCK_UN)
                os.close(handle)


def _acquire(path: Path) -> int | None:
    try:
        import fcntl
    except ImportError:  # Windows: without a lock, two runs would overwrite each other's file
        return None
    lock_file = _lock_path(path)
    while True:
        try:
            lock_file.parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(lock_file, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            problem = f"could not be written: {error.strerror or error}"
            hint = "give the checkpoint a name in another folder"
            raise file_error(OutputError, path, problem, hint) from error
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(handle)
            if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
                return None  # a file system without locks
            problem = "another run works on this checkpoint"
            hint = "wait for it, or give this run a checkpoint of its own"
            raise file_error(InUseError, path, problem, hint) from None
        # A run that ended may have deleted the file between opening and locking.
        with suppress(FileNotFoundError):
            if os.path.samestat(os.stat(lock_file), os.fstat(handle)):
                return handle
        os.close(handle)
