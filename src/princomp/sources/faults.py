"""What the libraries that read files say, said as princomp's errors."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from princomp.errors import (
    InputNotFoundError,
    MalformedFileError,
    MissingLibraryError,
    PrincompError,
)

__all__ = ["need_pyarrow", "reading"]


def need_pyarrow(module: str, path: Path) -> Any:
    """Import a module of pyarrow, here because it is optional and slow to load."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingLibraryError(
            f"{path}: reading this kind of file needs pyarrow, which is not installed",
            place={"file": str(path)},
            hint="pip install 'princomp[cli]'",
        ) from error


@contextmanager
def reading(path: Path, kind: str) -> Iterator[None]:
    """Turn whatever a library raises while it reads ``path`` into our errors.

    Only calls into a library may stand inside: damaged bytes make these raise
    nearly every class of exception, so all are caught.
    """
    place = {"file": str(path)}
    try:
        yield
    except PrincompError:
        raise
    except FileNotFoundError as error:
        raise InputNotFoundError(f"{path}: no such file", place=place) from error
    except PermissionError as error:
        raise InputNotFoundError(
            f"{path}: may not be read ({error.strerror})",
            place=place,
            hint="Ask for permission to read it, or copy it to a folder of your own.",
        ) from error
    except MemoryError as error:
        raise MalformedFileError(
            f"{path}: reading it as {kind} asks for more memory than there is; "
            "the file is too large or damaged",
            place=place,
            hint="Read fewer columns; if the file is small, make it anew.",
        ) from error
    except Exception as error:
        reason = next(iter(str(error).splitlines()), "") or type(error).__name__
        raise MalformedFileError(
            f"{path}: cannot be read as {kind}: {reason}",
            place=place,
            hint="The file may be cut short, damaged, or of another kind than its name says: "
            "make or fetch it anew.",
        ) from error
