"""The buffer of rows that do not fill a block yet."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from princomp.core.row_buffer import RowBuffer


@pytest.mark.parametrize(
    "kinds", [(np.asarray,) * 3, (sp.csr_array,) * 3, (np.asarray, sp.csr_array, np.asarray)]
)
def test_rows_without_weights_count_once_among_others(kinds, rng):
    X, buffer = rng.standard_normal((6, 3)), RowBuffer()
    for start, kind, weights in zip(
        (0, 2, 4), kinds, (None, np.array([2.0, 3.0]), None), strict=True
    ):
        buffer = buffer.appended(kind(X[start : start + 2]), weights, 6)
    rows, weights = buffer.table()
    assert buffer.count == 6
    assert buffer.is_sparse == (sp.csr_array in kinds)
    assert sp.issparse(rows) == (np.asarray not in kinds)
    np.testing.assert_array_equal(rows.toarray() if sp.issparse(rows) else rows, X)
    assert weights.tolist() == [1.0, 1.0, 2.0, 3.0, 1.0, 1.0]
    assert buffer.appended(kinds[0](X[:0]), None, 6) is buffer


def test_only_the_first_of_two_longer_buffers_shares_the_memory(rng):
    """So each row is copied once, and buffered rows never change."""
    X = rng.standard_normal((8, 3))
    buffer = RowBuffer().appended(X[:4], None, 8)
    one = buffer.appended(X[4:], None, 8)
    other = buffer.appended(-X[4:], None, 8)
    wider = RowBuffer().appended(X[:4].astype(np.float32), None, 8).appended(X[4:], None, 8)
    rows = buffer.table()[0]
    assert np.shares_memory(rows, one.table()[0])
    assert not np.shares_memory(rows, other.table()[0])
    np.testing.assert_array_equal(one.table()[0], X)
    np.testing.assert_array_equal(other.table()[0], np.r_[X[:4], -X[4:]])
    assert wider.table()[0].dtype == np.float64
