"""Whose rows these are: an engine is recognised by the type it gave, and never imported for it."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from princomp.engines.distributed import Distributed

__all__ = ["distributed"]

# The package that a type comes from, and the module here that knows it; each has ``rows_of``.
_ENGINES: dict[str, str] = {
    "array_api_strict": "princomp.engines.device",
    "cupy": "princomp.engines.device",
    "dask": "princomp.engines.dask",
    "pyspark": "princomp.engines.spark",
    "torch": "princomp.engines.device",
}


def distributed(X: Any) -> Distributed | None:
    """The rows behind an engine's table, or X itself; None where X is of no engine."""
    if isinstance(X, Distributed):
        return X
    module = _ENGINES.get(type(X).__module__.partition(".")[0])
    if module is None:
        return None
    rows: Distributed | None = import_module(module).rows_of(X)
    return rows
