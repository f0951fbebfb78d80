"""Write and read model files, every byte checked; see :mod:`~princomp.io.checked_file`.

The field ``estimator`` of the document names the estimator, whose own module makes, checks and
reads the arrays and the document.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TypeVar

from princomp import __version__
from princomp.errors import ModelFileError
from princomp.io.atomic import PathLike, atomic_write
from princomp.io.checked_file import Kind, content_of, opened, read_content, refusal
from princomp.io.model_schema import Arrays, Document

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


def write(path: PathLike, arrays: Arrays, document: Document, *, overwrite: bool) -> None:
    """Write a fitted model, atomically: on failure an older file stays as it was.

    Parameters
    ----------
    path : path
    arrays : dict of str to array
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
    content = content_of(_MODEL, arrays, document)
    with atomic_write(path, force=overwrite) as stream:
        stream.write(content)


def read(path: PathLike, kinds: Mapping[str, Callable[[Arrays, Document], T]]) -> T:
    """Read a model file, after checking all of it.

    Parameters
    ----------
    path : path
    kinds : mapping of str to callable
        By the name of an estimator, a function that makes one of its arrays and document, and
        raises an error if they are not valid.

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
