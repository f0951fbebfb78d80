"""How many rows of a tiled array are read at once, so that few tiles are read twice."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from princomp.errors import ParameterError

__all__ = ["ChunkPlan", "Tiling", "runs_of"]

# Numbers handed on at once: 4 or 8 MB, enough to make calls cheap and few enough to hold several.
_NUMBERS = 2**20
# Bytes of a band of tiles that is read at once. Libraries choose tiles of both dimensions
# by default; in a table of 30,000 columns such a band takes 30 to 240 MB. Reading it in
# pieces of 8 MB would decompress every tile up to thirty times.
_BAND = 2**28
# Where parts of tiles can be read, each still costs a call: of 1,000 columns, 64 KB of each.
_LOOSE = 2**26
# A table stored column by column in bands beyond this (64 × 256 MB) would take days.
_MOST_TIMES = 64


class Tiling(NamedTuple):
    """Layout of an array in its store.

    Parameters
    ----------
    tall, wide : int
        Rows and columns of a tile. No rows where the array lies there in one piece.
    whole : bool
        A part of a tile costs as much as all of it, as it is compressed.
    strips : bool
        Reading is fastest where no call crosses from one tile to the one at its side.
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
        No piece that is read crosses a multiple of it.
    read : int
        Rows read at once, at most.
    step : int
        Rows handed on at once, at most.
    times : int
        How often each tile is read.
    """

    border: int
    read: int
    step: int
    times: int

    @classmethod
    def of(cls, tiling: Tiling, width: int, row_bytes: int) -> ChunkPlan:
        """Plan for rows of which ``width`` numbers are read, in ``row_bytes`` bytes."""
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
        """First row, and the row after the last, of each piece to read."""
        while start < rows:
            band = start - start % self.border
            end = band + ((start - band) // self.read + 1) * self.read
            stop = min(end, band + self.border, rows)
            yield start, stop
            start = stop

    def note(self) -> str:
        """Note for the user where tiles are read more than once."""
        return (
            f"the array has compressed chunks of {self.border:,} rows, each of which is read "
            f"{self.times} times; chunks of fewer rows would be read faster"
        )

    def refuse_many(self, path: Path) -> None:
        """Raise ParameterError where each tile would be read very often."""
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
    """Ranges of columns to read, one a call, and where in them the columns taken are.

    The second is None where all columns read are taken, in their order.
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
