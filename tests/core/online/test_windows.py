"""A window that slides over a stream: its model is that of its rows, and memory does not grow."""

from __future__ import annotations

import ctypes
import gc
import os
from collections import deque
from pathlib import Path

import numpy as np
import pytest

from princomp import PCA

# Rows of all streams together.
ROWS = int(float(os.environ.get("PRINCOMP_SOAK_ROWS", "1e8")))
BATCH, BATCHES = 1_000, 10
# Columns, precision, whether rows have weights.
STREAMS = ((6, "f8", False), (6, "f4", True), (80, "f8", True), (80, "f4", False))
DRIFT = 1e-10
GROWTH = 4e6


class Window:
    """The rows of the last batches, and the model that they were added to and removed from."""

    def __init__(self, p, dtype, weighted):
        self.rng = np.random.default_rng(p)
        self.spread = np.geomspace(1, 0.05, p).astype(dtype)
        self.dtype, self.weighted = dtype, weighted
        self.model, self.batches, self.number = PCA(), deque(), 0

    def slide(self):
        """One batch in; the oldest out, cut anywhere into two."""
        self.number += 1
        rows = self.rng.standard_normal((BATCH, len(self.spread)), dtype=self.dtype)
        rows *= self.spread
        rows += rows.dtype.type(5 + 3 * np.sin(self.number / 50))  # the mean moves
        weights = self.rng.integers(0, 4, BATCH) / 2 if self.weighted else None
        self.batches.append((rows, weights))
        self.model.partial_fit(rows, sample_weight=weights)
        if len(self.batches) > BATCHES:
            rows, weights = self.batches.popleft()
            cut = self.rng.integers(BATCH)
            for part in (slice(cut), slice(cut, None)):
                part_weights = None if weights is None else weights[part]
                self.model.forget(rows[part], sample_weight=part_weights)

    def drift(self):
        """How far its variances are from those of a new fit, relative to each."""
        rows = np.concatenate([rows for rows, _ in self.batches], dtype=np.float64)
        weights = (
            np.concatenate([part_weights for _, part_weights in self.batches])
            if self.weighted
            else None
        )
        new = PCA().fit(rows, sample_weight=weights)
        assert self.model.n_samples_ == new.n_samples_ == len(rows)
        return np.abs(self.model.explained_variance_ / new.explained_variance_ - 1).max()


def resident_bytes():
    """Resident bytes of this process, without free memory of the heap."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def slide_over(stream, rows):
    """The largest drift, how often it was measured, and by how much the process grew."""
    batches = rows // BATCH
    every = max(min(1_000, batches // 10), 1)
    warm_up = max(batches // 20, min(500, batches // 2))  # loads all modules and libraries
    window, drifts, before = Window(*stream), [], 0
    for number in range(1, batches + 1):
        window.slide()
        if number % every == 0 or number in (warm_up, batches):
            drifts.append(window.drift())
        if number == warm_up:
            before = resident_bytes()
    return max(drifts), len(drifts), resident_bytes() - before


@pytest.mark.soak
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc/self/statm of Linux")
@pytest.mark.parametrize("stream", STREAMS, ids=str)
def test_a_window_over_a_long_stream_neither_drifts_nor_grows(stream, capsys):
    rows = ROWS // len(STREAMS)
    drift, measured, grown = slide_over(stream, rows)
    with capsys.disabled():
        print(f"\n{rows:,} rows, {stream}: drift {drift:.1e} ({measured}×), {grown / 1e6:+.1f} MB")
    assert drift <= DRIFT
    assert grown <= GROWTH
