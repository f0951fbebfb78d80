"""Partitions as the chunks of rows of a Dask array."""

from __future__ import annotations

from importlib.util import find_spec
from uuid import uuid4

from princomp import PCA

ROUTES = {
    "auto": {},
    "full": {"svd_solver": "full"},
    "unit": {"scale": "unit"},
    "range": {"scale": "range"},
    "dropped": {"missing": "drop"},
}


def missing():
    return None if find_spec("dask") else "Dask is not installed: pip install 'princomp[dask]'"


def chunked(parts):
    """A Dask array with these chunks of rows, the empty ones too."""
    import dask.array as da

    name = f"parts-{uuid4().hex}"
    graph = {(name, i, 0): part for i, part in enumerate(parts)}
    chunks = (tuple(part.shape[0] for part in parts), (parts[0].shape[1],))
    return da.Array(graph, name, chunks, meta=parts[0][:0])


def fit(parts, **parameters):
    return PCA(**parameters).fit(chunked(parts))


def transform(model, parts):
    return model.transform(chunked(parts)).compute()
