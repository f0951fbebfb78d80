"""What identifies a run, so that a checkpoint goes on with the same one or not at all."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from princomp._version import __version__
from princomp.checkpoint import Checkpoint
from princomp.memory import memory_limit
from princomp.parameters import Request
from princomp.passes import Passes
from princomp.progress import Tell
from princomp.scaling import Names
from princomp.sources.source import Source
from princomp.summaries.blocks import Weights, is_sparse

__all__ = ["passes_of"]

# Rows of a table in memory that are looked at to tell it from another.
_SAMPLED = 256


def passes_of(
    data: Any,
    weights: Weights,
    request: Request,
    columns: Names,
    progress: Tell | None,
    checkpoint: Any,
    command: dict[str, Any] | None = None,
) -> Passes | None:
    """The companion of a fit, if somebody watches it or it is to be resumable.

    Raises
    ------
    CheckpointError, InUseError
        See :class:`~princomp.checkpoint.Checkpoint`.
    """
    if checkpoint is None:
        return None if progress is None else Passes(tell=progress)
    run = {
        "princomp": __version__,
        "input": _input(data),
        "columns": None if columns is None else list(map(str, columns)),
        "sample_weight": None if weights is None else _digest(weights),
        **_plain(request),
    }
    limit = memory_limit(request.memory)
    return Passes(tell=progress, checkpoint=Checkpoint(checkpoint, run, command, limit))


def _plain(request: Request) -> dict[str, Any]:
    """Parameters as JSON keeps them; those that change no result are left out."""
    plain: dict[str, Any] = {}
    for name, value in request._asdict().items():
        if isinstance(value, np.ndarray):
            plain[name] = _digest(value)
        elif name != "memory":
            plain[name] = value if isinstance(value, str | int | float | None) else repr(value)
    return plain


def _input(data: Any) -> Any:
    if isinstance(data, Source):
        files = [
            f"{one.file} of {one.size} bytes, changed at {one.modified_ns} ns"
            for one in data.identities()
        ]
        return [f"{data.p} columns of {data.dtype}", f"rows: {data.rows or 'unknown'}", *files]
    n = data.shape[0]
    rows = data[:: max(1, n // _SAMPLED)]
    sampled = rows.toarray() if is_sparse(rows) else rows
    return [f"an array of shape {data.shape}, {data.dtype}", f"digest {_digest(sampled)}"]


def _digest(array: Any) -> str:
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()[:16]
