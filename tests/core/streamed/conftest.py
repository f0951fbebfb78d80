"""Fixtures of the tests in this folder."""

from __future__ import annotations

import numpy as np
import pytest
from streamed_cases import COLUMNS, ROWS

from princomp.core import fit as fit_module
from princomp.io.readers import (
    batches,
    chunk_plan,
    columnar_stream,
    delimited_stream,
    files,
    numpy_file,
)
from princomp.summaries import blocks as blocks_module


@pytest.fixture
def streamed(monkeypatch):
    """No file is read whole, chunks are small, and a block has fewer rows than a table."""
    monkeypatch.setattr(files, "SMALL_FILE_BYTES", 0)
    monkeypatch.setattr(files, "SMALL_COMPRESSED_FILE_BYTES", 0)
    monkeypatch.setattr(fit_module, "SMALL_TABLE_BYTES", 0)
    for module in (numpy_file, columnar_stream, batches, chunk_plan):
        monkeypatch.setattr(module, "NUMBERS_PER_CHUNK", 200)
    monkeypatch.setattr(numpy_file, "NUMBERS_PER_FORTRAN_CHUNK", 200)
    monkeypatch.setattr(delimited_stream, "MIN_PIECE_BYTES", 500)
    monkeypatch.setattr(blocks_module, "NUMBERS_PER_BLOCK", 1)
    monkeypatch.setattr(blocks_module, "NUMBERS_PER_PANEL", 1)
    assert blocks_module.block_rows(COLUMNS) == 256


@pytest.fixture
def table():
    rows = np.random.default_rng(11).standard_normal((ROWS, COLUMNS))
    return rows * [5, 3, 2, 1, 0.5, 0.2] + [100, 0, -3, 0, 1e3, 1]
