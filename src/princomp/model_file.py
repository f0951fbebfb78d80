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
from typing import Any, NamedTuple

import numpy as np
import safetensors.numpy
from safetensors import SafetensorError

from princomp._version import __version__
from princomp.atomic import atomic_write
from princomp.errors import (
    DataError,
    InputNotFoundError,
    ModelFileError,
    ParameterError,
    PrincompError,
)
from princomp.fitted import Fitted
from princomp.planning import Choice, Facts
from princomp.spectrum import Spectrum
from princomp.summaries import Columns, Extremes, Moments, Triangle

__all__ = ["Saved", "read", "write"]

# A reader refuses another major version; a minor one only adds what may be ignored.
_MAJOR, _MINOR = 1, 0
_FORMAT = "princomp.model"
_KINDS: dict[str, Any] = {"moments": Moments, "triangle": Triangle, "columns": Columns}
_BODIES = {"moments": "scatter", "triangle": "factor", "columns": "column_scatter"}
_CHECKSUM = re.compile(rb'"sha256":"([0-9a-f]{64})"')
_ZEROS = b"0" * 64
# The header holds names and plain values only; a longer one is not ours.
_LONGEST_HEADER = 64 * 2**20
# Axes of a float64 solver are orthonormal to far less than this.
_ORTHONORMAL = 1e-6


class Saved(NamedTuple):
    """What a model file holds: the fit, and what the estimator adds to it."""

    fitted: Fitted
    parameters: dict[str, Any]
    columns: tuple[str, ...] | None
    id_column: str | None


def write(path: Any, saved: Saved, *, overwrite: bool) -> None:
    """Write a fitted model, atomically: on failure an older file stays as it was.

    Raises
    ------
    OutputExistsError
        When the file exists and ``overwrite`` is false.
    OutputError
        When it cannot be written.
    """
    tensors, document = _described(saved)
    plain = {name: np.ascontiguousarray(array, dtype="<f8") for name, array in tensors.items()}
    metadata = {
        "format": _FORMAT,
        "version": f"{_MAJOR}.{_MINOR}",
        "document": json.dumps(document, ensure_ascii=True, allow_nan=False),
        "sha256": _ZEROS.decode(),
    }
    content = bytearray(safetensors.numpy.save(plain, metadata))
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
    try:
        content = Path(path).read_bytes()
    except FileNotFoundError:
        raise InputNotFoundError(
            f"no model file {name!r}",
            place={"file": name},
            hint="princomp fit … -m MODEL writes one",
        ) from None
    except OSError as error:
        raise InputNotFoundError(
            f"cannot read {name!r}: {error.strerror}", place={"file": name}
        ) from None
    try:
        tensors, metadata = _opened(content)
        return _restored(tensors, metadata)
    except ModelFileError as error:
        raise ModelFileError(
            f"{name}: {error.message}", place={"file": name}, hint=error.hint
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
    ) as error:
        raise ModelFileError(
            f"{name}: the contents are not those of a model ({error})",
            place={"file": name},
            hint="save the model again",
        ) from None


# ---- writing --------------------------------------------------------------------------


def _described(saved: Saved) -> tuple[dict[str, Any], dict[str, Any]]:
    """Arrays by name, and a document of plain values."""
    fitted = saved.fitted
    summary, spectrum = fitted.summary, fitted.spectrum
    kind = type(summary).__name__.lower()
    tensors = {
        "mean": summary.mean,
        "mean_low": summary.mean_low,
        "summary": getattr(summary, _BODIES[kind]),
        "variances": spectrum.variances,
        "axes": spectrum.axes,
    }
    if spectrum.residuals is not None:
        tensors["residuals"] = spectrum.residuals
    if fitted.scale is not None:
        tensors["scale"] = fitted.scale
    if fitted.extremes is not None:
        tensors["low"], tensors["high"] = fitted.extremes.low, fitted.extremes.high
    parameters = dict(saved.parameters)
    if not isinstance(parameters["scale"], str | None):
        parameters["scale"] = {"array": True}  # it is the tensor of that name
    if not isinstance(parameters["random_state"], int | None):
        parameters["random_state"] = None  # a generator's state is not part of a fit
    document = {
        "princomp": __version__,
        "parameters": {name: _plain(value) for name, value in parameters.items()},
        "columns": None if saved.columns is None else list(saved.columns),
        "id_column": saved.id_column,
        "summary": kind,
        "rows": summary.rows,
        "count": summary.count,
        "unit": summary.unit,
        "total": spectrum.total,
        "roundoff": spectrum.roundoff,
        "squared": spectrum.squared,
        "k": fitted.k,
        "centred": fitted.centred,
        "dtype": fitted.dtype.name,
        "n_samples": fitted.n_samples,
        "facts": list(fitted.facts),
        "choice": list(fitted.choice),
        "fallbacks": list(fitted.fallbacks),
        "passes": fitted.passes,
        "bytes_read": fitted.bytes_read,
        "dropped": fitted.dropped,
        "mean_known": fitted.mean_known,
    }
    return tensors, document


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if value is None or isinstance(value, str | int | float | dict):
        return value
    raise ParameterError(f"a parameter of value {value!r} cannot be saved")


def _checksum_span(content: bytes | bytearray) -> tuple[int, int]:
    found = _CHECKSUM.search(content, 8, 8 + _header_length(content))
    if found is None:
        raise ModelFileError("it carries no checksum", hint="is this a model of princomp?")
    return found.span(1)


# ---- reading --------------------------------------------------------------------------


def _header_length(content: bytes | bytearray) -> int:
    length = int.from_bytes(content[:8], "little")
    if len(content) < 10 or content[8:9] != b"{" or length > _LONGEST_HEADER:
        raise ModelFileError("it is not a model file", hint="princomp fit … -m MODEL writes one")
    if 8 + length > len(content):
        raise ModelFileError("it is cut short", hint="copy or save the model again")
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
            raise ModelFileError("it is cut short", hint="copy or save the model again")
    if digest != content[start:stop].decode() or not isinstance(header, dict):
        raise ModelFileError(
            "its contents have changed since it was written (the checksum differs)",
            hint="copy or save the model again",
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


def _restored(tensors: dict[str, Any], metadata: dict[str, str]) -> Saved:
    document = json.loads(metadata["document"])
    for name, array in tensors.items():
        if not np.isfinite(array).all():
            raise ModelFileError(f"array {name!r} holds values that are not finite")
        array.flags.writeable = False
    p = len(tensors["mean"])
    _check_shapes(tensors, document, p)
    variances = tensors["variances"]
    if (variances < 0).any():
        raise ModelFileError("a variance is negative")
    spectrum = Spectrum(
        variances,
        tensors["axes"],
        float(document["total"]),
        float(document["roundoff"]),
        bool(document["squared"]),
        tensors.get("residuals"),
    )
    if spectrum.orthogonality > _ORTHONORMAL:
        raise DataError("the axes are not orthonormal")
    kind = document["summary"]
    known: dict[str, Any] = {"unit": float(document["unit"])} if kind == "moments" else {}
    summary = _KINDS[kind](
        float(document["rows"]),
        int(document["count"]),
        tensors["mean"],
        tensors["mean_low"],
        tensors["summary"],
        **known,
    )
    extremes = None
    if "low" in tensors:
        extremes = Extremes(summary.rows, tensors["low"], tensors["high"])
    fitted = Fitted(
        summary,
        spectrum,
        int(document["k"]),
        tensors.get("scale"),
        bool(document["centred"]),
        np.dtype(document["dtype"]),
        document["n_samples"],
        Facts(*document["facts"]),
        Choice(*document["choice"]),
        tuple(document["fallbacks"]),
        document["passes"],
        int(document["bytes_read"]),
        int(document["dropped"]),
        extremes,
        bool(document["mean_known"]),
    )
    parameters = document["parameters"]
    if isinstance(parameters["scale"], dict):
        parameters["scale"] = fitted.scale
    columns = document["columns"]
    return Saved(
        fitted,
        parameters,
        None if columns is None else tuple(columns),
        document["id_column"],
    )


def _check_shapes(tensors: dict[str, Any], document: dict[str, Any], p: int) -> None:
    """Exact names and shapes, before any of them is used."""
    k, kind = document["k"], document["summary"]
    body = tensors["summary"].shape
    lawful = {"moments": (p, p), "columns": (p,), "triangle": (body[0], p)}
    shapes: dict[str, Any] = {
        "mean": (p,),
        "mean_low": (p,),
        "summary": lawful[kind],
        "variances": (len(tensors["variances"]),),
        "axes": (k, p),
    }
    optional = {"residuals": (k,), "scale": (p,), "low": (p,), "high": (p,)}
    shapes |= {name: shape for name, shape in optional.items() if name in tensors}
    if set(tensors) != set(shapes) or ("low" in tensors) != ("high" in tensors):
        raise ModelFileError(f"it holds arrays {sorted(tensors)}, not {sorted(shapes)}")
    for name, shape in shapes.items():
        if tensors[name].shape != shape:
            raise ModelFileError(f"array {name!r} has shape {tensors[name].shape}, not {shape}")
    columns = document["columns"]
    if len(tensors["variances"]) < k or (columns is not None and len(columns) != p):
        raise ModelFileError("its document and its arrays differ in size")
