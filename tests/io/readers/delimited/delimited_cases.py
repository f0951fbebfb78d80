"""Files and checks shared by the tests in this folder."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv

from princomp.io.readers.columns import Selection
from princomp.io.readers.delimited import read_delimited
from princomp.io.readers.delimited_stream import open_delimited
from princomp.io.readers.read_options import DETECT

EXAMPLE = Path(__file__).parents[4] / "examples" / "usarrests.csv"


def compressed(text, name):
    if name.lower().endswith(".gz"):
        return gzip.compress(text, mtime=0)
    if name.lower().endswith(".zst"):
        return pa.compress(text, "zstd", asbytes=True)
    return text


def opened(path, columns=None, exclude=(), id_column=None, options=DETECT):
    name = path.name.lower()
    return open_delimited(
        path,
        Selection(columns, exclude, id_column, options=options),
        delimiter="\t" if ".tsv" in name else ",",
        compression={".gz": "gzip", ".zst": "zstd"}.get(path.suffix.lower()),
    )


def whole(path, columns=None, exclude=(), id_column=None, options=DETECT):
    name = path.name.lower()
    return read_delimited(
        path,
        Selection(columns, exclude, id_column, options=options),
        delimiter="\t" if ".tsv" in name else ",",
        compression={".gz": "gzip", ".zst": "zstd"}.get(path.suffix.lower()),
    )


def read_all(source, start=0):
    """All rows and ids; checks each chunk."""
    data, ids = [], []
    for chunk in source.chunks(start):
        assert chunk.data.flags.c_contiguous
        assert chunk.data.dtype == source.dtype == np.float64
        assert len(chunk.data) >= 1
        assert chunk.data.shape[1] == source.p
        assert (chunk.ids is None) == (source.id_column is None)
        data.append(chunk.data)
        if chunk.ids is not None:
            assert chunk.ids.dtype == object
            assert len(chunk.ids) == len(chunk.data)
            ids.extend(chunk.ids.tolist())
    return np.concatenate(data) if data else np.empty((0, source.p)), ids


def assert_same_as_whole(path, **options):
    table, source = whole(path, **options), opened(path, **options)
    data, ids = read_all(source)
    np.testing.assert_array_equal(data, table.data)
    assert ids == ([] if table.ids is None else table.ids.tolist())
    assert source.columns == table.columns
    assert source.notes == table.notes
    assert source.unused == table.unused
    assert source.file == table.file == str(path)
    assert source.shape == (None, table.data.shape[1])
    assert source.id_column == table.id_column
    return source


class CountingStream:
    """A stream that counts the bytes read from it."""

    def __init__(self, file):
        self.file = file
        self.bytes_read = 0

    def read(self, size):
        content = self.file.read(size)
        self.bytes_read += len(content)
        return content
