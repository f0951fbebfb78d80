"""Weights of the rows of a Spark partition, collected while its batches are read."""

from __future__ import annotations

from collections import deque

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from princomp.summaries import check_frequencies


class PartitionWeights:
    """Frequencies of the rows read so far; a fold takes those of its blocks, in order.

    Slices must follow one another without gaps: weights that were taken are forgotten.

    One thread may add while another takes: blocks are summed while the next rows are read.
    """

    def __init__(self) -> None:
        self._parts: deque[NDArray[np.float64]] = deque()
        self._rest: NDArray[np.float64] = np.empty(0)
        self._count = self._taken = 0

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, rows: slice) -> NDArray[np.float64]:
        assert rows.start == self._taken
        self._taken = rows.stop
        count, parts = rows.stop - rows.start, [self._rest]
        while sum(map(len, parts)) < count:
            parts.append(self._parts.popleft())
        weights = np.concatenate(parts)
        self._rest = weights[count:]
        return weights[:count]

    def add(self, column: pa.Array, row: int) -> None:
        """Add the weights of the next rows, the first of which has number ``row``."""
        weights = column.to_numpy(zero_copy_only=False).astype(np.float64, copy=False)
        check_frequencies(weights, row)
        self._parts.append(weights)
        self._count += len(weights)
