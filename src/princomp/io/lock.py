"""Locks, so that two runs never write the same checkpoint."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from princomp.errors import InUseError, OutputError


def lock_of(path: Path) -> Path:
    """Path of the lock file of a checkpoint."""
    return path.with_name(path.name + ".lock")


@contextmanager
def locked(path: Path) -> Iterator[bool]:
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
            with suppress(OSError):
                if os.getpid() == process:
                    _release(handle)
                os.close(handle)


def _release(handle: int) -> None:
    """Free the lock, which closing does not while a forked process has the file open."""
    import fcntl

    fcntl.flock(handle, fcntl.LOCK_UN)


def _acquire(path: Path) -> int | None:
    try:
        import fcntl
    except ImportError:  # Windows: without a lock, two runs would overwrite each other's file
        return None
    lock_file = lock_of(path)
    while True:
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
                return None  # a file system without locks
            raise InUseError(
                f"{path}: another run works on this checkpoint",
                place={"file": str(path)},
                hint="wait for it, or give this run a checkpoint of its own",
            ) from None
        # A run that ended may have deleted the file between opening and locking.
        with suppress(FileNotFoundError):
            if os.path.samestat(os.stat(lock_file), os.fstat(handle)):
                return handle
        os.close(handle)
