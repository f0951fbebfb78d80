"""A fit to a file and back, every byte checked; see :mod:`~princomp.checked_file`."""

from __future__ import annotations

import os
from typing import Any

from princomp.atomic import atomic_write
from princomp.checked_file import Kind, content_of, opened, read_content, refusal
from princomp.errors import ModelFileError
from princomp.model_contents import Saved, described, restored

__all__ = ["read", "write"]

# A reader refuses another major version; a minor one only adds what may be ignored.
_MODEL = Kind(
    "princomp.model",
    1,
    1,
    "model",
    ModelFileError,
    "princomp fit … -m MODEL writes one",
    "copy or save the model again",
)


def write(path: Any, saved: Saved, *, overwrite: bool) -> None:
    """Write a fitted model, atomically: on failure an older file stays as it was.

    Raises
    ------
    OutputExistsError
        When the file exists and ``overwrite`` is false.
    OutputError
        When it cannot be written.
    """
    content = content_of(_MODEL, *described(saved))
    with atomic_write(path, force=overwrite) as stream:
        stream.write(content)


def read(path: Any) -> Saved:
    """Read a model file, after checking all of it.

    Raises
    ------
    InputNotFoundError
        When there is no such file.
    ModelFileError
        When the file is cut short, changed, of a newer major version, or no model.
    """
    name = os.fspath(path)
    content = read_content(_MODEL, name)
    with refusal(_MODEL, name):
        return restored(*opened(_MODEL, content))
