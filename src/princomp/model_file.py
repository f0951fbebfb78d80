"""The model file: arrays in the safetensors layout, one document, one checksum; no pickle.

The document is JSON in the file's metadata. The checksum is the SHA-256 of the whole
file with the checksum's own digits set to zero, so that no byte can change unseen.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy
from safetensors import SafetensorError

from princomp._version import __version__
from princomp.atomic import atomic_write
from princomp.errors import (
    InputNotFoundError,
    ModelFileError,
    PrincompError,
)
from princomp.model_contents import Saved, described, restored

__all__ = ["read", "write"]

# A reader refuses another major version; a minor one only adds what may be ignored.
_MAJOR, _MINOR = 1, 0
_FORMAT = "princomp.model"
_CHECKSUM = re.compile(rb'"sha256":"([0-9a-f]{64})"')
_ZEROS = b"0" * 64
# The header holds names and plain values only; a longer one is not ours.
_LONGEST_HEADER = 64 * 2**20
_AGAIN = "copy or save the model again"


def write(path: Any, saved: Saved, *, overwrite: bool) -> None:
    """Write a fitted model, atomically: on failure an older file stays as it was.

    Raises
    ------
    OutputExistsError
        When the file exists and ``overwrite`` is false.
    OutputError
        When it cannot be written.
    """
    tensors, document = described(saved)
    plain = {name: np.ascontiguousarray(array, dtype="<f8") for name, array in tensors.items()}
    metadata = {
        "format": _FORMAT,
        "version": f"{_MAJOR}.{_MINOR}",
        "document": json.dumps(document, ensure_ascii=True, allow_nan=False),
        "sha256": _ZEROS.decode(),
    }
    content = _ordered(safetensors.numpy.save(plain, metadata))
    start, stop = _checksum_span(content)
    content[start:stop] = hashlib.sha256(content).hexdigest().encode()
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
    content = _content(name)
    try:
        tensors, metadata = _opened(content)
        return restored(tensors, metadata)
    except ModelFileError as error:
        raise ModelFileError(
            f"{name}: {error.message}", place={"file": name}, hint=error.hint or _AGAIN
        ) from None
    except (
        PrincompError,
        SafetensorError,
        KeyError,
        TypeError,
        ValueError,
        AttributeError,
        IndexError,
        OverflowError,
        RecursionError,
    ) as error:
        raise ModelFileError(
            f"{name}: the contents are not those of a model ({error})",
            place={"file": name},
            hint=_AGAIN,
        ) from None


def _content(name: str) -> bytes:
    """All bytes of a file that begins as a model does."""
    path, place = Path(name), {"file": name}
    hint = "princomp fit … -m MODEL writes one"
    try:
        if path.exists() and not path.is_file():
            what = "is a folder" if path.is_dir() else "is not a regular file"
            raise InputNotFoundError(f"{name}: {what}, so no model", place=place, hint=hint)
        with path.open("rb") as stream:
            start = stream.read(9)
            # Whatever else it is, and however large, is not read to its end.
            return start + (stream.read() if start[8:] == b"{" else b"")
    except PrincompError:
        raise
    except (FileNotFoundError, NotADirectoryError):
        raise InputNotFoundError(f"no model file {name!r}", place=place, hint=hint) from None
    except OSError as error:
        raise InputNotFoundError(
            f"cannot read {name!r}: {error.strerror}",
            place=place,
            hint="ask for permission to read it, or copy it to a folder of your own",
        ) from None


def _ordered(content: bytes) -> bytearray:
    """The same file with its header sorted: safetensors writes metadata in any order."""
    stop = 8 + _header_length(content)
    header = json.dumps(json.loads(content[8:stop]), sort_keys=True, separators=(",", ":"))
    header += " " * (-len(header) % 8)  # arrays start on a multiple of eight
    return bytearray(len(header).to_bytes(8, "little") + header.encode() + content[stop:])


def _checksum_span(content: bytes | bytearray) -> tuple[int, int]:
    found = _CHECKSUM.search(content, 8, 8 + _header_length(content))
    if found is None:
        raise ModelFileError(
            "it carries no checksum", hint="princomp fit … -m MODEL writes a model"
        )
    return found.span(1)


# ---- reading --------------------------------------------------------------------------


def _header_length(content: bytes | bytearray) -> int:
    length = int.from_bytes(content[:8], "little")
    if len(content) < 10 or content[8:9] != b"{" or length > _LONGEST_HEADER:
        raise ModelFileError("it is not a model file", hint="princomp fit … -m MODEL writes one")
    if 8 + length > len(content):
        raise ModelFileError("it is cut short", hint=_AGAIN)
    return length


def _opened(content: bytes) -> tuple[dict[str, Any], dict[str, str]]:
    """Arrays and metadata of a file whose every byte is as it was written."""
    length = _header_length(content)
    start, stop = _checksum_span(content)
    digest = hashlib.sha256(content[:start] + _ZEROS + content[stop:]).hexdigest()
    try:
        header = json.loads(content[8 : 8 + length])
    except ValueError:
        header = None
    if isinstance(header, dict):
        metadata = header.pop("__metadata__", {})
        ends = [entry["data_offsets"][1] for entry in header.values()]
        if max(ends, default=0) > len(content) - 8 - length:
            raise ModelFileError("it is cut short", hint=_AGAIN)
    if digest != content[start:stop].decode() or not isinstance(header, dict):
        raise ModelFileError(
            "its contents have changed since it was written (the checksum differs)",
            hint=_AGAIN,
        )
    _check_version(metadata)
    if any(entry["dtype"] != "F64" for entry in header.values()):
        raise ModelFileError("it holds arrays that are not float64")
    return safetensors.numpy.load(content), metadata


def _check_version(metadata: dict[str, str]) -> None:
    if metadata.get("format") != _FORMAT:
        raise ModelFileError("it is not a model of princomp")
    version = metadata.get("version", "")
    if version.partition(".")[0] != str(_MAJOR):
        raise ModelFileError(
            f"it has format version {version}, and this princomp ({__version__}) reads {_MAJOR}",
            hint="install a newer princomp",
        )
