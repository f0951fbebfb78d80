"""Errors of readers: missing libraries, errors that libraries raise, and malformed files."""

from __future__ import annotations

import errno
import importlib
import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from princomp.errors import (
    InputChangedError,
    InputNotFoundError,
    MalformedFileError,
    MissingLibraryError,
    NoRowsError,
    PrincompError,
    counted,
)
from princomp.io.readers.columns import Error, Origin

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer


DAMAGED_HINT = "It may be cut short or damaged: create or download it again."
# Libraries repeat the system's error text in their own messages, but not always its number.
_DISK_FAILED = os.strerror(errno.EIO)


def import_optional(module: str, path: Path) -> Any:
    """Import a module of an optional library; the error message names the file ``path``."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        library = module.partition(".")[0]
        problem = f"reading this kind of file needs {library}, which is not installed"
        hint = f"pip install 'princomp[{'cli' if library == 'pyarrow' else 'files'}]'"
        raise file_error(MissingLibraryError, path, problem, hint) from error


def file_error(
    kind: type[Error], path: str | os.PathLike[str], problem: str, hint: str, **place: object
) -> Error:
    """Make an error about a file: its message and its place begin with the file."""
    return Origin(str(path)).error(kind, problem, hint, **place)


def malformed(
    path: Path | str, problem: str, hint: str = DAMAGED_HINT, **place: object
) -> MalformedFileError:
    """Make the error for a file that is not valid in its format."""
    return file_error(MalformedFileError, path, problem, hint, **place)


NO_ROWS_HINT = "Give at least one row of numbers (two for a fit)."


def no_rows_error(file: Path | str | None, detail: str = "") -> NoRowsError:
    """Make the error for a table without rows."""
    problem = f"{'the input' if file is None else file}: no rows{detail}"
    place = {} if file is None else {"file": str(file)}
    return NoRowsError(problem, place=place, hint=NO_ROWS_HINT)


def folder_hint() -> str:
    """Say what the current folder is."""
    try:
        return f"The current folder is {Path.cwd()}."
    except OSError:
        return "The current folder was deleted."


def fewer_rows_error(missing: int) -> InputChangedError:
    """Make the error for rows that end before the row from which a fit resumes."""
    return InputChangedError(
        f"the rows end {counted(missing, 'row')} before the row that the checkpoint has reached",
        place={"missing": missing},
        hint="Give the same rows again, or delete the checkpoint to begin with these.",
    )


@contextmanager
def reading(path: Path, kind: str) -> Iterator[None]:
    """Turn the errors of a library that reads ``path`` into errors of princomp.

    The body must hold only calls into the library: on damaged files, libraries
    raise nearly every class of exception, so all exceptions are converted.
    """
    try:
        yield
    except PrincompError:
        raise
    except FileNotFoundError as error:
        raise file_error(InputNotFoundError, path, "no such file", folder_hint()) from error
    except PermissionError as error:
        problem = f"no permission to read it ({error.strerror})"
        hint = "Ask for permission to read it, or copy it to a folder of your own."
        raise file_error(InputNotFoundError, path, problem, hint) from error
    except MemoryError as error:
        raise malformed(
            path,
            f"reading it as {kind} needs more memory than there is; it is too large or damaged",
            "Read fewer columns; if the file is small, create it again.",
        ) from error
    except Exception as error:
        reason = next(iter(str(error).splitlines()), "") or type(error).__name__
        hint = (
            "The disk or the network failed: try again, or copy the file to another disk."
            if _DISK_FAILED in str(error)
            else "The file may be cut short, damaged, or of another kind than its name says: "
            "create or download it again."
        )
        raise malformed(path, f"cannot be read as {kind}: {reason}", hint) from error


def open_complete(path: Path) -> io.BufferedReader:
    """Open a file; reading raises OSError if it ends before its size, as when a network fails."""
    return io.BufferedReader(_CompleteFile(path))


class _CompleteFile(io.FileIO):
    def readinto(self, buffer: WriteableBuffer) -> int:
        count = super().readinto(buffer)
        if not count and memoryview(buffer).nbytes:
            self._refuse_early_end()
        return count

    def readall(self) -> bytes:
        text = super().readall()
        self._refuse_early_end()
        return text

    def _refuse_early_end(self) -> None:
        if self.seekable() and self.tell() < os.fstat(self.fileno()).st_size:
            raise OSError(errno.EIO, f"{os.strerror(errno.EIO)} after {self.tell():,} bytes")
