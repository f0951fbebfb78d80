"""Weights of the rows of a Spark partition, collected while its batches are read."""

from __future__ import annotations

from threading import Lock

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from princomp.engines.weights import check_frequencies


class PartitionWeights:
    """Frequencies of the rows read so far; a fold takes those of its blocks in order.

    One thread may add while another takes: blocks are summed while the next rows are read.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._parts: list[NDArray[np.float64]] = []
        self._start = self._stop = 0

    def __len__(self) -> int:
        return self._stop

    def __getitem__(self, rows: slice) -> NDArray[np.float64]:
        with self._lock:
            if len(self._parts) > 1:
                self._parts = [np.concatenate(self._parts)]
            offset = rows.start - self._start
            weights = self._parts[0][offset : rows.stop - self._start]
            # Earlier weights were taken already.
            self._parts[0], self._start = self._parts[0][offset:], rows.start
        return weights

    def add(self, column: pa.Array, row: int) -> None:
        """Add the weights of the next rows, the first of which has number ``row``."""
        weights = column.to_numpy(zero_copy_only=False).astype(np.float64, copy=False)
        check_frequencies(weights, row)
        with self._lock:
            self._parts.append(weights)
            self._stop += len(weights)
