"""The identity of a run, so that a checkpoint is resumed by the same run or not at all."""

from __future__ import annotations

import hashlib
import json
import math
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from princomp import __version__
from princomp.core.request import Request
from princomp.engines import ProgressCallback, RunContext
from princomp.errors import ParameterError
from princomp.io import Checkpoint, PathLike, RowData, Rows, Source, checksum, stored_arrays
from princomp.linalg import memory_limit
from princomp.summaries import Weights

# The address of an object in a repr, which differs from process to process.
ADDRESS = re.compile(r"\bat 0x[0-9a-fA-F]+")


def run_context_of(
    rows: Rows,
    weights: Weights,
    request: Request,
    progress: ProgressCallback | None,
    checkpoint: PathLike | None,
    command: dict[str, Any] | None,
) -> RunContext:
    """Progress and checkpoint of a fit.

    Raises
    ------
    CheckpointError, InUseError
        See :class:`~princomp.io.checkpoint.Checkpoint`.
    """
    if checkpoint is None:
        return RunContext(progress=progress)
    data, columns, origin = rows
    run = {
        "princomp": __version__,
        "input": _describe_input(data, None if origin is None else origin.file),
        "columns": None if columns is None else list(map(str, columns)),
        "sample_weight": None if weights is None else _digest(weights),
        **_plain_parameters(request),
    }
    limit = memory_limit(request.memory)
    return RunContext(progress=progress, checkpoint=Checkpoint(checkpoint, run, command, limit))


def _plain_parameters(request: Request) -> dict[str, Any]:
    """Convert parameters to JSON values; those that do not affect the result are left out."""
    plain: dict[str, Any] = {}
    for name, value in request._asdict().items():
        if name == "memory":
            continue
        if isinstance(value, np.generic):
            value = value.item()
        if isinstance(value, float) and not math.isfinite(value):
            value = str(value)  # JSON has no such number
        elif isinstance(value, np.random.RandomState | np.random.Generator):
            value = f"a {type(value).__name__} of digest {_digest(_state_of(value))}"
        elif not isinstance(value, str | int | float | None):
            value = _describe(name, value)
        plain[name] = value
    return plain


def _describe(name: str, value: object) -> str:
    """Describe an array of divisors or a user-defined rule in the same words in any process.

    Raises
    ------
    ParameterError
        For a rule that another process could not recognise.
    """
    try:
        return f"digest {_digest(np.asarray(value, dtype=np.float64))}"
    except (TypeError, ValueError):
        pass
    text = _text_of(value)
    if ADDRESS.search(text):
        raise ParameterError(
            f"{name}={value!r} cannot be recognised when the run is resumed",
            place={"parameter": name},
            hint="give its class a __repr__ that shows its parameters (a dataclass has one), or "
            "leave checkpoint out",
        )
    return text


def _text_of(value: object) -> str:
    """The repr of a value; if its class defines none, its class and attributes."""
    kind: Any = type(value)
    if isinstance(value, np.ndarray) and value.dtype != object:
        return f"{value.dtype} {value.shape} of digest {_digest(value)}"
    if kind.__repr__ is not object.__repr__ or not hasattr(value, "__dict__"):
        return repr(value)
    attributes = ", ".join(f"{key}={_text_of(part)}" for key, part in vars(value).items())
    return f"{kind.__module__}.{kind.__qualname__}({attributes})"


def _state_of(random_state: np.random.RandomState | np.random.Generator) -> Any:
    """The state of a random generator, as numbers."""
    if isinstance(random_state, np.random.Generator):
        state: Any = random_state.bit_generator.state
        text = json.dumps(state, sort_keys=True, default=np.ndarray.tolist)
        return np.frombuffer(text.encode(), np.uint8)
    state = random_state.get_state(legacy=True)
    return [*state[1].tolist(), *state[2:]]


def _describe_input(data: RowData, file: str | None) -> Any:
    if isinstance(data, Source):
        files = [
            f"{one.file} of {one.size} bytes, changed at {one.modified_ns} ns"
            for one in data.file_states()
        ]
        known = [f"{data.p} columns of {data.dtype}", f"rows: {data.rows or 'unknown'}", *files]
        return [*known, *data.fingerprint()]
    what = "an array" if file is None else f"the table of {file},"
    return [f"{what} of shape {data.shape}, {data.dtype}, checksum {checksum(stored_arrays(data))}"]


def _digest(array: NDArray[Any]) -> str:
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()[:16]
