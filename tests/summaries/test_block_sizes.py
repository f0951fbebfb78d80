"""How many rows a block has: it depends on the columns only, as the order of sums does."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from princomp.kernels import wide
from princomp.summaries import (
    Columns,
    Extremes,
    Moments,
    PairOf,
    SketchOf,
    block_rows,
    blocks,
    is_sparse,
    panel_rows,
    sketch,
    wide_block_rows,
)
from princomp.summaries.blocks import blocks_per_task, is_added_in_place, stored_bytes
from princomp.summaries.space import Space

SPACE = Space(np, None, "host", np.asarray, block_size=2**20)


@pytest.mark.parametrize("columns", [1, 3, 100, 399, 400, 1000])
def test_blocks_and_panels_of_narrow_rows_are_as_long_as_their_numbers_allow(columns):
    numbers = blocks.NUMBERS_PER_BLOCK * (2 if columns >= blocks._WIDE_COLUMNS else 1)
    for rows, most in (
        (block_rows(columns), numbers),
        (wide_block_rows(columns), sketch.NUMBERS_PER_WIDE_BLOCK),
        (panel_rows(columns), max(blocks.NUMBERS_PER_PANEL, 2 * columns**2)),
    ):
        assert most // 2 < rows * columns <= most
        assert rows == 2 ** (rows.bit_length() - 1)


def test_blocks_of_wide_rows_have_a_least_length():
    columns = 10**6
    assert block_rows(columns) == panel_rows(columns) == blocks._MAX_PANEL_ROWS
    assert wide_block_rows(columns) == sketch._FEWEST_ROWS
    assert wide_block_rows(10**5, sparse=True) == sketch.MIN_ROWS_PER_SPARSE_BLOCK
    rows = wide_block_rows(columns, sparse=True)
    assert rows <= columns // sketch._COLUMNS_PER_ROW < 2 * rows
    assert wide_block_rows(10 * columns, sparse=True) == sketch._MOST_ROWS


def test_the_sums_of_wide_sparse_columns_are_merged_rarely():
    columns = 10**6
    rows = Columns.block_rows(columns, sparse=True)
    assert Columns.block_rows(columns) == block_rows(columns) < rows
    assert rows <= columns // 16 < rows + block_rows(columns)
    assert Columns.block_rows(100, sparse=True) == block_rows(100)


def test_a_task_is_at_least_one_block_and_has_no_more_numbers_than_allowed():
    most = blocks._TASK_NUMBERS
    for rows, columns in ((most // 8, 1), (most // 800, 100), (64, 99)):
        tasks = blocks_per_task(rows, columns)
        assert tasks * rows * columns <= most < (tasks + 1) * rows * columns
    assert blocks_per_task(most, 3) == 1
    assert blocks_per_task(most // 8, 0) == 8


def test_rows_without_columns_are_cut_as_those_of_one():
    """Such as scores of no components."""
    for rows in (block_rows, panel_rows, wide_block_rows, SPACE.rows_at_a_time):
        assert rows(0) == rows(1)


def test_rows_on_a_device_are_as_many_as_the_size_of_a_block_allows():
    assert SPACE.rows_at_a_time(1) == 2**20
    assert SPACE.rows_at_a_time(100) == 2**20 // 100
    assert SPACE.rows_at_a_time(2000) == 2000  # products of p × p numbers take the most time


def test_large_summaries_of_many_columns_are_added_to_in_place():
    for kind, columns, sparse, expected in (
        (Moments, wide.MIN_COLUMNS - 1, False, False),
        (Moments, 2 * wide.MIN_COLUMNS, False, True),
        (Moments, 2 * wide.MIN_COLUMNS, True, False),
        (SketchOf(2), 3, True, True),
        (PairOf(SketchOf(2), Extremes), 3, False, True),
        (PairOf(Moments, Extremes), 3, False, False),
        (Columns, 10**6, False, False),
    ):
        assert is_added_in_place(kind, columns, sparse=sparse) is expected


def test_the_bytes_of_sparse_rows_are_those_of_their_three_arrays():
    rows = sp.csr_array(np.eye(5, 7))
    assert stored_bytes(rows) == 5 * 8 + 5 * rows.indices.itemsize + 6 * rows.indptr.itemsize
    assert stored_bytes(np.eye(5, 7)) == 5 * 7 * 8


def test_only_arrays_of_scipy_are_sparse():
    assert is_sparse(sp.coo_matrix((2, 3)))
    for other in (np.eye(2), [[1.0]], None, object()):
        assert not is_sparse(other)
