"""Plan how many rows of a tiled array to read at once, so that few tiles are read twice.

A tile is what HDF5 and Zarr call a chunk; a chunk here is a block of rows that a source yields.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from princomp.errors import ParameterError

__all__ = ["ChunkPlan", "Tiling", "runs_of"]

# Numbers in a chunk: 4 or 8 MB, large enough for cheap calls and small enough to hold several.
_NUMBERS = 2**20
# Largest band (row of tiles), in bytes, that is read at once. By default, libraries split both
# dimensions into tiles; in a table of 30,000 columns, such a band takes 30 to 240 MB. Reading it
# in pieces of 8 MB would decompress every tile up to thirty times.
_BAND = 2**28
# Bytes read at once where parts of tiles can be read. Each part still costs a call: with 1,000
# columns, this is 64 KB for each column.
_LOOSE = 2**26
# How often a tile may be read, at most. A table stored column by column that needs more (its
# bands exceed 64 × 256 MB) would take days.
_MOST_TIMES = 64


class Tiling(NamedTuple):
    """Layout of an array in its store.

    Parameters
    ----------
    tall, wide : int
        Rows and columns of a tile. ``tall`` is None if the array is not split into tiles.
    whole : bool
        Reading a part of a tile costs as much as reading all of it, because of compression.
    strips : bool
        Reading is fastest if no call spans two tiles that are side by side.
    """

    tall: int | None
    wide: int
    whole: bool = True
    strips: bool = False


@dataclass(frozen=True, slots=True)
class ChunkPlan:
    """How many rows are read at once, and how many make a chunk.

    Parameters
    ----------
    border : int
        No read crosses a multiple of this row number.
    read : int
        Largest number of rows read at once.
    step : int
        Largest number of rows in a chunk.
    times : int
        How often each tile is read.
    """

    border: int
    read: int
    step: int
    times: int

    @classmethod
    def of(cls, tiling: Tiling, width: int, row_bytes: int) -> ChunkPlan:
        """Make a plan for rows of ``width`` numbers, or ``row_bytes`` bytes, that are read."""
        step, tall = max(1, _NUMBERS // width), tiling.tall
        if tall is None:
            return cls(step, step, step, 1)
        if tall <= step:
            step = step // tall * tall
            return cls(step, step, step, 1)
        if tall <= 2 * step:
            return cls(tall, tall, tall, 1)
        if not tiling.whole:
            return cls(tall, min(tall, max(step, _LOOSE // row_bytes)), step, 1)
        times = -(-tall // max(1, _BAND // row_bytes))
        return cls(tall, -(-tall // times), step, times)

    def pieces(self, start: int, rows: int) -> Iterator[tuple[int, int]]:
        """Start and stop row of each read."""
        while start < rows:
            band = start - start % self.border
            end = band + ((start - band) // self.read + 1) * self.read
            stop = min(end, band + self.border, rows)
            yield start, stop
            start = stop

    def note(self) -> str:
        """Note for the user if tiles are read more than once."""
        return (
            f"the array has compressed chunks of {self.border:,} rows, each of which is read "
            f"{self.times} times; chunks of fewer rows would be read faster"
        )

    def refuse_many(self, path: Path) -> None:
        """Raise ParameterError if each tile would be read more than ``_MOST_TIMES`` times."""
        if self.times > _MOST_TIMES:
            raise ParameterError(
                f"{path}: the array has compressed chunks of {self.border:,} rows, so that "
                f"each would be read {self.times} times to go through it row by row",
                place={"file": str(path)},
                hint="Store it in chunks of fewer rows (chunks=(1000, …)), or name fewer columns.",
            )


def runs_of(
    taken: NDArray[np.intp] | None, p: int, tiling: Tiling
) -> tuple[list[tuple[int, int]], NDArray[np.intp] | None]:
    """Ranges of columns to read, one per call, and the positions of the taken columns in them.

    The positions are None if the columns read are exactly the taken columns, in order.
    """
    wide = tiling.wide
    if taken is None:
        step = wide if tiling.strips else p
        return [(first, min(first + step, p)) for first in range(0, p, step)], None
    tiles = np.unique(taken // wide)
    apart = 0 if tiling.strips else 1
    runs, positions, width = [], np.empty(len(taken), np.intp), 0
    for run in np.split(tiles, np.flatnonzero(np.diff(tiles) > apart) + 1):
        within = (taken >= run[0] * wide) & (taken < (run[-1] + 1) * wide)
        first, last = int(taken[within].min()), int(taken[within].max()) + 1
        runs.append((first, last))
        positions[within] = taken[within] - first + width
        width += last - first
    return runs, None if np.array_equal(positions, np.arange(width)) else positions
