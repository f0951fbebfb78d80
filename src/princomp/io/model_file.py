"""Model files, and their layout, which checkpoints share: arrays and one document, without pickle.

The layout is that of safetensors, with the document as JSON in its metadata. The checksum
is the SHA-256 of the whole file with the checksum's own digits set to zero, so any
changed byte is found.

The field ``estimator`` of the document of a model names the estimator. The module of that
estimator makes, checks and reads the arrays and the document.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar

import numpy as np
import safetensors.numpy
from numpy.typing import NDArray
from safetensors import SafetensorError

from princomp import __version__
from princomp.errors import (
    DataError,
    InputNotFoundError,
    ModelFileError,
    OutputError,
    ParameterError,
    PrincompError,
    class_words,
)
from princomp.io.atomic import PathLike, atomic_write
from princomp.io.model_schema import Arrays, Document
from princomp.io.readers.reader_errors import file_error
from princomp.linalg import format_bytes

T = TypeVar("T")

_CHECKSUM = re.compile(rb'"sha256":"([0-9a-f]{64})"')
_ZEROS = b"0" * 64
# The header holds only names and plain values; a longer one is not from princomp.
MAX_HEADER_BYTES = 64 * 2**20


class Kind(NamedTuple):
    """A kind of file: its name, its version, and the error class and hints for messages.

    The format in the file is ``princomp.NAME``. Readers compare only the major part of the version.
    """

    name: str
    version: str
    error: type[DataError]
    creation_hint: str
    repair_hint: str


def encode_content(
    kind: Kind, arrays: Mapping[str, NDArray[np.generic]], document: Mapping[str, Any]
) -> bytes:
    """Return the bytes of a file that holds the arrays and the document."""
    # safetensors copies an array's memory as it is, so arrays in Fortran order are converted.
    converted = {name: np.ascontiguousarray(array, dtype="<f8") for name, array in arrays.items()}
    metadata = {
        "format": f"princomp.{kind.name}",
        "version": kind.version,
        "document": json.dumps(document, allow_nan=False),
        "sha256": _ZEROS.decode(),
    }
    content = memoryview(safetensors.numpy.save(converted, metadata))
    stop = 8 + int.from_bytes(content[:8], "little")
    # The header is sorted, because safetensors writes metadata in arbitrary order.
    text = json.dumps(json.loads(bytes(content[8:stop])), sort_keys=True, separators=(",", ":"))
    if len(text) > MAX_HEADER_BYTES:
        raise OutputError(
            f"the column names and settings take {format_bytes(len(text))}, and a {kind.name} file "
            f"holds at most {format_bytes(MAX_HEADER_BYTES)} of them",
            hint="shorten the column names, or fit an array, whose columns have no names",
        )
    text += " " * (-len(text) % 8)  # arrays start on a multiple of eight
    header = len(text).to_bytes(8, "little") + text.encode()
    digest = hashlib.sha256(header)
    digest.update(content[stop:])
    prefix = b'"sha256":"'
    return header.replace(prefix + _ZEROS, prefix + digest.hexdigest().encode()) + content[stop:]


def read_content(kind: Kind, path: PathLike) -> tuple[dict[str, Any], dict[str, Any]]:
    """Read a file, verify its checksum, and return the arrays and the document.

    Raises
    ------
    InputNotFoundError
        When there is no such file, or it cannot be read.
    DataError
        The error class of the kind, when the file is damaged or of another kind.
    """
    content = _read_bytes(kind, os.path.expanduser(path))
    with refuse_malformed(kind, path):
        return _decode(kind, content)


def _read_bytes(kind: Kind, name: str) -> bytes:
    """Read a file if it starts as a file of this kind; otherwise return its first nine bytes."""
    place = {"file": name}
    if os.path.exists(name) and not os.path.isfile(name):
        what = "is a folder" if os.path.isdir(name) else "is not a regular file"
        inside = os.path.join(name, f"{kind.name}.pca")  # results of a fit hold model.pca
        hint = f"Give the file in it: {inside}" if os.path.isfile(inside) else kind.creation_hint
        raise InputNotFoundError(f"{name}: {what}, so no {kind.name}", place=place, hint=hint)
    try:
        with open(name, "rb") as stream:
            start = stream.read(9)
            # Files of other kinds may be large, so they are not read in full.
            return start + (stream.read() if start[8:] == b"{" else b"")
    except (FileNotFoundError, NotADirectoryError, ValueError):  # a zero byte in the name
        raise InputNotFoundError(
            f"no {kind.name} file {name!r}", place=place, hint=kind.creation_hint
        ) from None
    except OSError as error:
        hint = "ask for permission to read it, or copy it to a folder of your own"
        if not isinstance(error, PermissionError):
            hint = "the disk or the network may have failed: try again, or copy it to another disk"
        raise InputNotFoundError(
            f"cannot read {name!r}: {error.strerror}", place=place, hint=hint
        ) from None


def _decode(kind: Kind, content: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    length = int.from_bytes(content[:8], "little")
    if len(content) < 10 or content[8:9] != b"{" or length > MAX_HEADER_BYTES:
        raise kind.error(
            f"it is not a {kind.name} file", hint=f"give another path; {kind.creation_hint}"
        )
    if 8 + length > len(content):
        raise kind.error("it is cut short", hint=kind.repair_hint)
    checksum = _CHECKSUM.search(content, 8, 8 + length)
    if checksum is None:
        raise kind.error("it has no checksum", hint=kind.creation_hint)
    start, stop = checksum.span(1)
    digest = hashlib.sha256(content[:start] + _ZEROS + content[stop:]).hexdigest()
    try:
        header = json.loads(content[8 : 8 + length])
    except ValueError:
        header = None
    if isinstance(header, dict):
        metadata = header.pop("__metadata__", {})
        ends = [entry["data_offsets"][1] for entry in header.values()]
        if max(ends, default=0) > len(content) - 8 - length:
            raise kind.error("it is cut short", hint=kind.repair_hint)
    if digest != checksum[1].decode() or not isinstance(header, dict):
        raise kind.error(
            "its contents have changed since it was written (the checksum differs)",
            hint=kind.repair_hint,
        )
    if metadata.get("format") != f"princomp.{kind.name}":
        raise kind.error(
            f"it is not a {kind.name} of princomp", hint=f"give another path; {kind.creation_hint}"
        )
    version, major = metadata.get("version", ""), kind.version.partition(".")[0]
    if version.partition(".")[0] != major:
        raise kind.error(
            f"it has format version {version}, and this princomp ({__version__}) reads {major}",
            place={"version": version},
            hint="install a newer princomp",
        )
    if any(entry["dtype"] != "F64" for entry in header.values()):
        raise kind.error("it holds arrays that are not float64")
    return safetensors.numpy.load(content), json.loads(metadata["document"])


# Errors that Python and safetensors raise for malformed contents.
_MALFORMED_ERRORS = (
    PrincompError,
    SafetensorError,
    AttributeError,
    LookupError,
    OverflowError,
    RecursionError,
    TypeError,
    ValueError,
)


@contextmanager
def refuse_malformed(kind: Kind, path: PathLike) -> Iterator[None]:
    """Turn any error that malformed contents cause into the kind's error with the file's name."""
    name = os.fspath(path)
    try:
        yield
    except kind.error as error:
        raise kind.error(
            f"{name}: {error.message}",
            place={**error.place, "file": name},
            hint=error.hint or kind.repair_hint,
        ) from None
    except _MALFORMED_ERRORS as error:
        cause = error.message if isinstance(error, PrincompError) else error
        problem = f"the contents are not those of a {kind.name} ({cause})"
        raise file_error(kind.error, name, problem, kind.repair_hint) from None


# ---- models -------------------------------------------------------------------------------

# Readers refuse another major version; a new minor version only adds fields they may ignore.
_MODEL = Kind(
    "model",
    "1.2",
    ModelFileError,
    "princomp fit … -m MODEL or model.save(path) writes one",
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
    _check_path(path)
    content = encode_content(_MODEL, arrays, document)
    with atomic_write(path, force=overwrite) as stream:
        stream.write(content)


def _check_path(path: object) -> None:
    if not isinstance(path, str | os.PathLike):
        raise ParameterError(
            f"a model file is given by its path, got {class_words(path)}",
            place={"parameter": "path"},
            hint="for bytes in memory, write or read a temporary file",
        )


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
    ParameterError
        If ``path`` is not a path.
    InputNotFoundError
        When there is no such file.
    ModelFileError
        When the file is cut short, was changed, is not a model, has another major version, or
        holds an unknown estimator.
    """
    _check_path(path)
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
