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
from princomp.io.readers.reader_errors import file_error

# Numbers in a chunk: 4 or 8 MB, large enough for cheap calls and small enough to hold several.
NUMBERS_PER_CHUNK = 2**20
# Largest band (row of tiles), in bytes, that is read at once. By default, libraries split both
# dimensions into tiles; in a table of 30,000 columns, such a band takes 30 to 240 MB. Reading it
# in pieces of 8 MB would decompress every tile up to thirty times.
MAX_BAND_BYTES = 2**28
# Bytes read at once where parts of tiles can be read. Each part still costs a call: with 1,000
# columns, this is 64 KB for each column.
PARTIAL_READ_BYTES = 2**26
# How often a tile may be read, at most. A table stored column by column that needs more (its
# bands exceed 64 × 256 MB) would take days.
_MAX_READS_PER_TILE = 64


class Tiling(NamedTuple):
    """Layout of an array in its store.

    Parameters
    ----------
    tile_rows, tile_columns : int
        Rows and columns of a tile; one row is a tile if the array is not split into tiles.
    whole_tiles : bool
        Reading a part of a tile costs as much as reading all of it, because of compression.
    separate_columns : bool
        Reading is fastest if no call spans two tiles that are side by side.
    """

    tile_rows: int
    tile_columns: int
    whole_tiles: bool = True
    separate_columns: bool = False


@dataclass(frozen=True, slots=True)
class ChunkPlan:
    """How many rows are read at once, and how many make a chunk.

    Parameters
    ----------
    boundary : int
        No read crosses a multiple of this row number.
    rows_per_read : int
        Largest number of rows read at once.
    rows_per_chunk : int
        Largest number of rows in a chunk.
    reads_per_tile : int
        How often each tile is read.
    """

    boundary: int
    rows_per_read: int
    rows_per_chunk: int
    reads_per_tile: int = 1

    @classmethod
    def of(cls, tiling: Tiling, width: int, row_bytes: int) -> ChunkPlan:
        """Make a plan for rows of ``width`` numbers, or ``row_bytes`` bytes, that are read."""
        rows_per_chunk, tile_rows = max(1, NUMBERS_PER_CHUNK // width), tiling.tile_rows
        if tile_rows <= rows_per_chunk:
            rows_per_chunk = rows_per_chunk // tile_rows * tile_rows
            return cls(rows_per_chunk, rows_per_chunk, rows_per_chunk)
        if tile_rows <= 2 * rows_per_chunk:
            return cls(tile_rows, tile_rows, tile_rows)
        if not tiling.whole_tiles:
            rows_per_read = max(rows_per_chunk, PARTIAL_READ_BYTES // row_bytes)
            return cls(tile_rows, min(tile_rows, rows_per_read), rows_per_chunk)
        reads_per_tile = -(-tile_rows // max(1, MAX_BAND_BYTES // row_bytes))
        return cls(tile_rows, -(-tile_rows // reads_per_tile), rows_per_chunk, reads_per_tile)

    def pieces(self, start: int, rows: int) -> Iterator[tuple[int, int]]:
        """Start and stop row of each read."""
        while start < rows:
            band = start - start % self.boundary
            end = band + ((start - band) // self.rows_per_read + 1) * self.rows_per_read
            stop = min(end, band + self.boundary, rows)
            yield start, stop
            start = stop

    def notes(self, path: Path) -> tuple[str, ...]:
        """Note for the user if tiles are read more than once.

        Raises
        ------
        ParameterError
            A tile would be read more than ``_MAX_READS_PER_TILE`` times.
        """
        if self.reads_per_tile == 1:
            return ()
        chunks = f"the array has compressed chunks of {self.boundary:,} rows"
        times = f"read {self.reads_per_tile} times"
        if self.reads_per_tile > _MAX_READS_PER_TILE:
            problem = f"{chunks}, so that each would be {times} to go through it row by row"
            hint = "Store it in chunks of fewer rows (chunks=(1000, …)), or name fewer columns."
            raise file_error(ParameterError, path, problem, hint)
        return (f"{chunks}, each of which is {times}; chunks of fewer rows would be read faster",)


def column_ranges(
    column_indices: NDArray[np.intp] | None, p: int, tiling: Tiling
) -> tuple[list[tuple[int, int]], NDArray[np.intp] | None]:
    """Ranges of columns to read, one per call, and the positions of the chosen columns in them.

    The positions are None if the columns read are exactly the chosen columns, in order.
    """
    tile_columns = tiling.tile_columns
    if column_indices is None:
        step = tile_columns if tiling.separate_columns else p
        return [(first, min(first + step, p)) for first in range(0, p, step)], None
    tiles = np.unique(column_indices // tile_columns)
    max_gap = 0 if tiling.separate_columns else 1
    ranges, positions, width = [], np.empty(len(column_indices), np.intp), 0
    for run in np.split(tiles, np.flatnonzero(np.diff(tiles) > max_gap) + 1):
        chosen = (column_indices >= run[0] * tile_columns) & (
            column_indices < (run[-1] + 1) * tile_columns
        )
        first, last = int(column_indices[chosen].min()), int(column_indices[chosen].max()) + 1
        ranges.append((first, last))
        positions[chosen] = column_indices[chosen] - first + width
        width += last - first
    return ranges, None if np.array_equal(positions, np.arange(width)) else positions
