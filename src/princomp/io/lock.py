"""Locks, so that two runs never write the same checkpoint."""

from __future__ import annotations

import contextlib
import errno
import os
from pathlib import Path

from princomp.errors import InUseError, OutputError


def lock_of(path: Path) -> Path:
    """Path of the lock file of a checkpoint."""
    return path.with_name(path.name + ".lock")


class Lock:
    """A lock on a checkpoint; the system frees it when the process ends, for any reason.

    Raises
    ------
    InUseError
        Another process holds the lock.
    OutputError
        The lock file cannot be created.
    """

    def __init__(self, path: Path) -> None:
        self._handle: int | None = None
        try:
            import fcntl
        except ImportError:  # Windows: without a lock, two runs would overwrite each other's file
            return
        lock_file = lock_of(path)
        while self._handle is None:
            try:
                lock_file.parent.mkdir(parents=True, exist_ok=True)
                handle = os.open(lock_file, os.O_RDWR | os.O_CREAT, 0o666)
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
            # A run that ended may have deleted the file between opening and locking.
            if _is_same_file(lock_file, handle):
                self._handle = handle
            else:
                os.close(handle)

    @property
    def held(self) -> bool:
        """Whether this run holds the lock; False where the system supports no locks."""
        return self._handle is not None

    def release(self) -> None:
        """Free the lock."""
        if self._handle is not None:
            with contextlib.suppress(OSError):
                os.close(self._handle)
            self._handle = None


def _is_same_file(path: Path, handle: int) -> bool:
    try:
        return os.path.samestat(os.stat(path), os.fstat(handle))
    except FileNotFoundError:
        return False
