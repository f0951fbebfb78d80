"""Atomic files: written completely or not at all, and never over an existing file by default."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from pathlib import Path
from typing import BinaryIO, NamedTuple, TypeAlias

from princomp.errors import OutputError, OutputExistsError, ParameterError, PrincompError
from princomp.io.readers.reader_errors import file_error
from princomp.linalg import run_uninterrupted

try:
    import fcntl

    HAS_LOCKS = True
except ImportError:  # Windows
    HAS_LOCKS = False

PathLike: TypeAlias = str | os.PathLike[str]


class _Written(NamedTuple):
    """A temporary file, which gets the name ``target`` when it is complete.

    ``lock`` keeps it locked, where the system has locks. ``folders`` lists the folders that did not
    exist before, the innermost first.
    """

    temporary: Path
    target: Path
    force: bool
    lock: int | None
    folders: Sequence[Path]

    def clean_up(self) -> None:
        """Delete the temporary file, then new folders if they are empty."""
        with contextlib.suppress(OSError):
            self.temporary.unlink()
        for folder in self.folders:
            with contextlib.suppress(OSError):
                folder.rmdir()
        if self.lock is not None:
            with contextlib.suppress(OSError):
                os.close(self.lock)


# Complete files of an all_or_none block that are not renamed yet.
_pending: ContextVar[list[_Written] | None] = ContextVar("_pending", default=None)

_REPEATED_LENGTH = 200  # bytes of a file's name that the name of its temporary file repeats
_O_BINARY: int = getattr(os, "O_BINARY", 0)  # without it, Windows would translate line ends


def check_writable(paths: Iterable[PathLike], *, force: bool) -> None:
    """Check, before any work, that every output can be created now.

    Nothing is created. The disk may still fill up later, and another program may still create
    a file of that name, so ``atomic_write`` checks again.

    Parameters
    ----------
    paths : iterable of path
        The outputs of one run.
    force : bool
        Existing files may be replaced.

    Raises
    ------
    OutputExistsError
        Some files exist and ``force`` is false; the message names all of them.
    OutputError
        A path is a folder or a device, or its folder cannot be created or written to.
    ParameterError
        Two outputs have the same path.
    """
    targets = [resolved_target(path) for path in paths]
    for i, target in enumerate(targets):
        if target in targets[:i]:
            problem = "two outputs would be written to the same file"
            raise file_error(ParameterError, target, problem, "give each output a different name")
        folder = next((folder for folder in target.parents if folder.exists()), Path(target.anchor))
        if not folder.exists():  # a drive of Windows
            why = "does not exist"
        elif not folder.is_dir():
            why = "is a file, not a folder"
        elif not os.access(folder, os.W_OK | os.X_OK):
            why = "is write-protected"
        else:
            continue
        problem = f"cannot be created, because {folder} {why}"
        raise file_error(OutputError, target, problem, "choose another folder")
    existing = [target for target in targets if target.exists()]
    if existing and not force:
        raise _exists_error(existing)


@contextmanager
def all_or_none() -> Iterator[None]:
    """Rename the files written in the block to their final names, after all are complete.

    If writing fails, no new file appears and existing files are unchanged. An interrupt during
    the renaming takes effect after it. Only an error in the renaming itself, which needs no disk
    space, can leave some of the files in place; the error lists them.

    Raises
    ------
    OutputError, OutputExistsError
        As for :func:`atomic_write`.
    """
    pending: list[_Written] = []
    token = _pending.set(pending)
    try:
        yield
        _, _, interrupt = run_uninterrupted(partial(_publish_all, pending), lambda: None)
        if interrupt is not None:
            raise interrupt
    finally:
        _pending.reset(token)
        for written in reversed(pending):  # the first one may have created their folder
            written.clean_up()


@contextmanager
def atomic_write(path: PathLike, *, force: bool = False) -> Iterator[BinaryIO]:
    """Write a file that appears under its name only when it is complete.

    The bytes go to a temporary file in the same folder and are flushed to disk;
    only then is that file renamed. After an error or an interrupt, the temporary
    file is deleted and an existing file is unchanged. (A power cut or a signal
    that ends the process without an exception, such as ``kill -9``, leaves the
    temporary file behind, named ``.NAME.….tmp``; the next write of the same file
    deletes it, where the system has locks.) Missing folders are created. The target
    of a symbolic link is replaced, not the link; the permissions of an existing file
    are kept.

    Without ``force``, a file that another program creates in the meantime is not
    replaced either, because ``os.link`` fails if the name exists. File systems
    without hard links get a check right before the renaming instead; a file
    created between that check and the renaming would be replaced.

    Parameters
    ----------
    path : path
        The file to write.
    force : bool
        An existing file may be replaced.

    Yields
    ------
    binary file
        The file to write to.

    Raises
    ------
    OutputExistsError
        The file exists and ``force`` is false.
    OutputError
        The file could not be written: disk full, no permission, …
    """
    target = resolved_target(path)
    if not force and target.exists():
        raise _exists_error([target])
    # The name is set before the file exists, so that an interrupt right after its creation
    # still deletes it.
    temporary = target.with_name(f"{_prefix(target)}{secrets.token_hex(6)}.tmp")
    pending, complete = _pending.get(), False
    folders = [folder for folder in target.parents if not os.path.exists(folder)]
    written = _Written(temporary, target, force, None, folders)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        remove_leftovers(target)
        # tempfile is not used, because its files are private (0600): an output follows the umask.
        handle = _open_locked(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _O_BINARY)
        if HAS_LOCKS:  # keep the lock until the file is renamed, after it is closed
            written = written._replace(lock=os.dup(handle))
        with contextlib.suppress(OSError):
            # It keeps the permissions of the file it replaces.
            temporary.chmod(stat.S_IMODE(target.stat().st_mode))
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        complete = True
        if pending is None:
            _publish(written)
        else:
            pending.append(written)
    except PrincompError:
        raise
    except OSError as error:
        raise write_error(target, error) from error
    finally:
        if pending is None or not complete:
            written.clean_up()


def _open_locked(path: Path, flags: int) -> int:
    """Open a file and wait for its lock, where the system has locks."""
    while True:
        handle = os.open(path, flags, 0o666)
        if not HAS_LOCKS:
            return handle
        with contextlib.suppress(OSError):  # a file system without locks
            fcntl.flock(handle, fcntl.LOCK_EX)
        # Before it was locked, another process may have replaced it, or deleted it as a leftover.
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.stat(path), os.fstat(handle)):
                return handle
        os.close(handle)


@contextmanager
def locked_for_update(path: PathLike) -> Iterator[None]:
    """Lock a file that the block reads and replaces; other processes wait until the block ends.

    There is no lock if the file does not exist, or where the system has none.
    """
    target, handle = resolved_target(path), None
    if HAS_LOCKS:
        with contextlib.suppress(OSError):
            handle = _open_locked(target, os.O_RDWR)
    try:
        yield
    finally:
        if handle is not None:
            os.close(handle)


def remove_leftovers(path: PathLike) -> None:
    """Delete the temporary files that killed writers of ``path`` left behind.

    The system frees the lock of a file when its writer ends, for any reason. Nothing is deleted
    where there are no locks, nor where the name of ``path`` is too long for temporary files to
    repeat it in full.
    """
    if not HAS_LOCKS:
        return
    target = resolved_target(path)
    if len(os.fsencode(target.name)) > _REPEATED_LENGTH:
        return
    pattern = re.compile(re.escape(_prefix(target)) + r"[0-9a-f]{12}\.tmp")
    with contextlib.suppress(OSError):
        for other in target.parent.iterdir():
            if pattern.fullmatch(other.name):
                _remove_if_unlocked(other)


def _remove_if_unlocked(path: Path) -> None:
    with contextlib.suppress(OSError):  # its writer has locked it, or another process was faster
        handle = os.open(path, os.O_RDWR)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink()
        finally:
            os.close(handle)


def _prefix(target: Path) -> str:
    name = os.fsencode(target.name)
    if len(name) <= _REPEATED_LENGTH:
        return f".{target.name}."
    # The name may be cut within a letter of several bytes.
    return f".{name[:_REPEATED_LENGTH].decode(errors='ignore')}."


def resolved_target(path: PathLike) -> Path:
    """Return the path that links lead to, because renaming would replace the link itself.

    A leading "~" stands for the user's home folder.

    Raises
    ------
    OutputError
        It is a folder or a device.
    ParameterError
        No file can have this name.
    """
    path = os.path.expanduser(path)
    try:
        mode = os.stat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        mode = stat.S_IFREG  # problems with the folder are reported later, with a better message
    except OSError as error:
        raise write_error(Path(path), error) from error
    except ValueError as error:  # a zero byte
        raise ParameterError(
            f"no file can have the name {os.fspath(path)!r}: {error}",
            place={"file": os.fspath(path)},
            hint="give the name of a file",
        ) from None
    if not stat.S_ISREG(mode):
        what = "a folder" if stat.S_ISDIR(mode) else "not a regular file"
        problem = f"is {what}, so it cannot be replaced by an output"
        raise file_error(OutputError, Path(path), problem, "give the name of a file")
    try:
        return Path(os.path.realpath(path))
    except OSError as error:  # the current folder was deleted
        raise write_error(Path(path), error) from error


def _exists_error(targets: Sequence[Path]) -> OutputExistsError:
    names = ", ".join(map(str, targets))
    return OutputExistsError(
        f"{names}: {'already exists' if len(targets) == 1 else 'already exist'}",
        place={"file": str(targets[0])},
        hint="choose another name, or replace what exists (overwrite=True)",
    )


def write_error(target: Path, error: OSError, replaced: Sequence[str] = ()) -> OutputError:
    """Describe why a file could not be written, and which others were already replaced."""
    disk_full = error.errno in (errno.ENOSPC, errno.EDQUOT, None)
    advice = "Free some space or choose" if disk_full else "Choose"
    outcome = f"Already written: {', '.join(replaced)}." if replaced else "Nothing was changed."
    problem = f"could not be written: {error.strerror or error}"
    hint = f"{outcome} {advice} another folder, then run it again."
    return file_error(OutputError, target, problem, hint)


def _publish_all(pending: Sequence[_Written]) -> None:
    published: list[str] = []
    for written in pending:
        if not written.force and written.target.exists():
            raise _exists_error([written.target])
    for written in pending:
        try:
            _publish(written)
        except OutputExistsError:
            raise
        except OSError as error:
            raise write_error(written.target, error, published) from error
        published.append(written.target.name)


def _publish(written: _Written) -> None:
    temporary, target = written.temporary, written.target
    if written.force:
        os.replace(temporary, target)
    else:
        try:
            os.link(temporary, target)
        except OSError as error:
            if isinstance(error, FileExistsError) or target.exists():
                raise _exists_error([target]) from error
            # A file system without hard links: the error code depends on the system.
            os.replace(temporary, target)
    # The folder holds the name, so the folder is flushed too. Where the system cannot do that
    # (Windows, some network drives), the file's contents are on disk all the same.
    with contextlib.suppress(OSError):
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
