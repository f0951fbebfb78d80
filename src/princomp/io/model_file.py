"""Write and read model files with a checksum; see :mod:`~princomp.io.checked_file`.

The field ``estimator`` of the document names the estimator. The module of that estimator makes,
checks and reads the arrays and the document.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from princomp import __version__
from princomp.errors import ModelFileError
from princomp.io.atomic import PathLike, atomic_write
from princomp.io.checked_file import Kind, encode_content, read_content, refuse_malformed
from princomp.io.model_schema import Arrays, Document

T = TypeVar("T")

# Readers refuse another major version; a new minor version only adds fields they may ignore.
_MODEL = Kind(
    "model",
    "1.2",
    ModelFileError,
    "princomp fit … -m MODEL writes one",
    "copy or save the model again",
)


def write(path: PathLike, arrays: Arrays, document: Document, *, overwrite: bool) -> None:
    """Write a fitted model atomically: on failure, an existing file is unchanged.

    Parameters
    ----------
    path : path
    arrays : dict of str to array
    document : dict
        Plain values, including ``estimator``.
    overwrite : bool

    Raises
    ------
    OutputExistsError
        When the file exists and ``overwrite`` is false.
    OutputError
        When it cannot be written.
    """
    content = encode_content(_MODEL, arrays, document)
    with atomic_write(path, force=overwrite) as stream:
        stream.write(content)


def read(path: PathLike, kinds: Mapping[str, Callable[[Arrays, Document], T]]) -> T:
    """Check a model file and read it.

    Parameters
    ----------
    path : path
    kinds : mapping of str to callable
        For each estimator name, a function that makes the estimator from the arrays and the
        document, and raises an error if they are not valid.

    Raises
    ------
    InputNotFoundError
        When there is no such file.
    ModelFileError
        When the file is cut short, was changed, is not a model, has another major version, or
        holds an unknown estimator.
    """
    tensors, document = read_content(_MODEL, path)
    with refuse_malformed(_MODEL, path):
        # Files of formats 1.0 and 1.1 always hold a PCA and have no field "estimator".
        kind = document.get("estimator", "PCA")
        if kind not in kinds:
            raise ModelFileError(
                f"it holds a model of the kind {kind!r}, which this princomp ({__version__}) does "
                "not know",
                place={"estimator": kind},
                hint="install a newer princomp",
            )
        return kinds[kind](tensors, document)
