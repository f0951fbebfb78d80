"""A fit to a file and back, every byte checked; see :mod:`~princomp.checked_file`.

The word ``estimator`` of the document says whose fit it is. Each kind of estimator makes the
arrays and the document of its own file, and checks and reads them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from princomp._version import __version__
from princomp.atomic import atomic_write
from princomp.checked_file import Kind, content_of, opened, read_content, refusal
from princomp.errors import ModelFileError

__all__ = ["read", "write"]

T = TypeVar("T")

# A reader refuses another major version; a minor one only adds what may be ignored.
_MODEL = Kind(
    "princomp.model",
    1,
    2,
    "model",
    ModelFileError,
    "princomp fit … -m MODEL writes one",
    "copy or save the model again",
)


def write(path: Any, tensors: dict[str, Any], document: dict[str, Any], *, overwrite: bool) -> None:
    """Write a fitted model, atomically: on failure an older file stays as it was.

    Parameters
    ----------
    path : path
    tensors : dict of str to array
    document : dict
        Plain values; ``estimator`` among them.
    overwrite : bool

    Raises
    ------
    OutputExistsError
        When the file exists and ``overwrite`` is false.
    OutputError
        When it cannot be written.
    """
    content = content_of(_MODEL, tensors, document)
    with atomic_write(path, force=overwrite) as stream:
        stream.write(content)


def read(path: Any, kinds: Mapping[str, Callable[[dict[str, Any], dict[str, Any]], T]]) -> T:
    """Read a model file, after checking all of it.

    Parameters
    ----------
    path : path
    kinds : mapping of str to callable
        By the name of an estimator, what makes one of its arrays and its document; whatever
        it raises over what they hold refuses the file.

    Raises
    ------
    InputNotFoundError
        When there is no such file.
    ModelFileError
        When the file is cut short, changed, of a newer major version or an estimator that is
        not known, or no model.
    """
    name = os.fspath(path)
    content = read_content(_MODEL, name)
    with refusal(_MODEL, name):
        tensors, document = opened(_MODEL, content)
        # Files of formats 1.0 and 1.1 hold a PCA and do not say so.
        kind = document.get("estimator", "PCA")
        if kind not in kinds:
            raise ModelFileError(
                f"it holds a model of the kind {kind!r}, which this princomp ({__version__}) does "
                "not know",
                place={"estimator": kind},
                hint="install a newer princomp",
            )
        return kinds[kind](tensors, document)
