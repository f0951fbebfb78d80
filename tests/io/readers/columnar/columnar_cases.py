"""Tables and checks shared by the tests in this folder."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from princomp.io.readers.columnar_files import (
    ArrowSource,
    ParquetSource,
    read_arrow,
    read_parquet,
)
from princomp.io.readers.columns import Selection

FILES = ["t.parquet", "t.arrow", "stream.arrow"]


def save(table, path, rows=50):
    """Save in the format of the file name, in row groups or batches of ``rows``."""
    if path.suffix == ".parquet":
        pa.parquet.write_table(table, path, row_group_size=rows)
    else:
        new = pa.ipc.new_stream if path.stem == "stream" else pa.ipc.new_file
        with new(path, table.schema) as writer:
            writer.write_table(table, max_chunksize=rows)
    return path


def opened(path, columns=None, exclude=(), id_column=None, find_ids=False):
    opener = ParquetSource if path.suffix == ".parquet" else ArrowSource
    return opener(path, Selection(columns, exclude, id_column, find_ids))


def whole(path, columns=None, exclude=(), id_column=None, find_ids=False):
    reader = read_parquet if path.suffix == ".parquet" else read_arrow
    return reader(path, Selection(columns, exclude, id_column, find_ids))


def read_all(source, start=0):
    """Rows and ids of all chunks; checks each chunk."""
    chunks = list(source.chunks(start))
    for data, ids in chunks:
        assert data.flags.c_contiguous
        assert data.dtype == source.dtype
        assert data.shape[0] > 0
        assert data.shape[1] == source.p
        assert (ids is None) == (source.id_column is None)
        assert ids is None or (ids.dtype == object and ids.shape == (len(data),))
    if not chunks:
        return np.empty((0, source.p)), None
    ids = None if source.id_column is None else np.concatenate([c.ids for c in chunks])
    return np.vstack([chunk.data for chunk in chunks]), ids


def assert_same(path, **selection):
    """Assert that chunks equal the whole file; return the source."""
    table, source = whole(path, **selection), opened(path, **selection)
    data, ids = read_all(source)
    np.testing.assert_array_equal(data, table.data)
    assert source.dtype == table.data.dtype
    assert source.rows in (None, len(data))
    assert source.p == data.shape[1]
    for attribute in ("columns", "file", "unused", "id_column"):
        assert getattr(source, attribute) == getattr(table, attribute)
    # Only whole files are searched for columns after the first that count the rows.
    counters = [f"{name!r} counts the rows" for name in table.columns]
    notes = tuple(note for note in table.notes if not note.startswith(tuple(counters)))
    assert source.notes == notes
    assert (ids is None) == (table.ids is None)
    if ids is not None:
        assert repr(ids.tolist()) == repr(table.ids.tolist())  # NaN differs from itself
    return source


def refused(error, call, path):
    with pytest.raises(error) as caught:
        call()
    assert type(caught.value) is error
    assert caught.value.place["file"] == str(path)
    return caught.value


def numbers(n=300, p=4, nulls=True):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((n, p))
    mask = (rng.random((n, p)) < 0.1) & nulls
    return pa.table({f"c{j}": pa.array(x[:, j], mask=mask[:, j]) for j in range(p)})
