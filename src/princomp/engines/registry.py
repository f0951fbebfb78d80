"""The engine of a table, found by the type of the table, without importing engines."""

from __future__ import annotations

from importlib import import_module

from princomp.engines.distributed import DistributedRows

# The package of a type, and the module whose ``rows_of`` understands the type.
_ENGINES = {
    "array_api_strict": "princomp.engines.device.tables",
    "cupy": "princomp.engines.device.tables",
    "dask": "princomp.engines.dask.tables",
    "pyspark": "princomp.engines.spark.tables",
    "torch": "princomp.engines.device.tables",
}


def as_distributed(X: object) -> DistributedRows | None:
    """Return X as rows on an engine (X itself if it already is that); None for other tables."""
    if isinstance(X, DistributedRows):
        return X
    module = _ENGINES.get(type(X).__module__.partition(".")[0])
    return None if module is None else import_module(module).rows_of(X)
