"""Checks shared by the tests in this folder."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from princomp.io.readers.columns import Selection
from princomp.io.readers.hdf5 import open_hdf5


def read_all(source, start=0):
    """All rows from ``start`` on; checks that each chunk keeps the contract of a source."""
    parts = list(source.chunks(start))
    for data, ids in parts:
        assert data.shape[1] == source.p
        assert len(data) if isinstance(data, np.ndarray) else data.shape[0]
        assert data.dtype == source.dtype
        assert data.dtype.isnative
        if isinstance(data, np.ndarray):
            assert data.flags.c_contiguous
            assert data.flags.owndata or data.base.nbytes == data.nbytes
        else:
            assert isinstance(data, sp.csr_array)
            assert data.has_canonical_format
        assert (ids is None) == (source.id_column is None)
    if not parts:
        return np.empty((0, source.p))
    return np.vstack([x if isinstance(x, np.ndarray) else x.toarray() for x, _ in parts])


def refused(error, opener, path, columns=None, exclude=(), id_column=None, **options):
    with pytest.raises(error) as caught:
        read_all(opener(path, Selection(columns, exclude, id_column), **options))
    assert type(caught.value) is error
    assert caught.value.place["file"] == str(path)
    assert caught.value.hint
    return caught.value


def opened(path, columns=None, exclude=(), id_column=None, inside=None):
    return open_hdf5(path, Selection(columns, exclude, id_column), inside)
