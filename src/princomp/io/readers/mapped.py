"""Mapped: a source that applies a map to rows chunk by chunk and yields their images."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from princomp.errors import NotFiniteError, ShapeError
from princomp.io.readers.columns import Origin, RowPlace
from princomp.io.readers.not_finite import not_finite_error, not_finite_error_in_source
from princomp.io.readers.source import Chunk, FileState, RowArray, Source, TableSource
from princomp.io.readers.table_input import rows_of
from princomp.linalg import FloatArray, default_threads, map_in_order, scratch
from princomp.summaries import first_not_finite, rows_without_nan, stored_bytes, stored_values

# Numbers in a chunk of images (2 MB of float64, as threads compute several chunks ahead), and
# the fewest rows in a chunk; larger chunks have a multiple of that many rows.
_NUMBERS, _MIN_ROWS = 2**18, 192


class RowMap(Protocol):
    """A map that is applied to each row separately; it must be thread-safe."""

    @property
    def p(self) -> int:
        """Number of columns of the rows."""

    @property
    def width(self) -> int:
        """Number of columns of the images, D."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the images, float32 or float64."""

    @property
    def bytes_per_thread(self) -> int:
        """Bytes of working memory per thread, in addition to rows and images."""

    def images(self, rows: RowArray, out: FloatArray | None = None) -> FloatArray:
        """Images (m, D) of finite rows (m, p), written to ``out`` if it is given."""


class Mapped(Source):
    """A source of the images of rows, computed chunk by chunk as the rows are read.

    Error messages give the row and the column of the original rows, not of the images. If the
    rows have random access (in memory, npy), threads both read and map them; rows of a stream
    are read sequentially and mapped by threads.

    Parameters
    ----------
    rows : array, sparse array, frame, path, list of paths, iterator, callable or Source
        Rows of shape (n, p).
    map : RowMap
        For example, one of ``princomp.kernel_pca.feature_maps``.
    allow_missing : bool
        Whether to map a row with a missing cell to a row of NaN, which ``missing="drop"``
        leaves out. If false, such rows are refused. Infinite values are always refused.

    Raises
    ------
    ShapeError
        The rows have another number of columns than the map expects.
    """

    def __init__(self, rows: Any, map: RowMap, *, allow_missing: bool = False) -> None:
        is_empty = isinstance(rows, np.ndarray) and rows.shape[:1] == (0,)
        data, names, origin = (rows, None, None) if is_empty else rows_of(rows)
        origin = origin or Origin()
        source = data if isinstance(data, Source) else TableSource(data, origin=origin)
        self.source = source
        if data.shape[1] != map.p:
            problem = f"rows have {data.shape[1]} columns, and the map was made of {map.p}"
            hint = "give the columns that the map was made of, in their order"
            raise ShapeError(problem, place=origin.place(), hint=hint)
        images = {"p": map.width, "dtype": np.dtype(map.dtype), "columns": None, "stored": None}
        super().__init__(**{**source.properties(), **images})
        self.nbytes = source.nbytes if source is data else stored_bytes(data)
        self.map, self.allow_missing = map, allow_missing
        self.data, self.input_columns = data, names
        self.repeatable, self.random_access = source.repeatable, source.random_access
        self._step = max(1, _NUMBERS // self.p // _MIN_ROWS) * _MIN_ROWS
        threads = default_threads()
        ahead_bytes = (
            0 if self.random_access else (threads + 2) * self._step * self.p * self.dtype.itemsize
        )
        self.reader_bytes = source.reader_bytes + threads * map.bytes_per_thread + ahead_bytes

    def read(self, start: int, stop: int) -> Chunk:
        """Images of rows ``start`` to ``stop``, callable from any thread."""
        return self._map_block((start, self.source.read(start, stop)))

    def load(self, start: int, stop: int, empty: Callable[..., NDArray[Any]]) -> Any:
        """Images of rows ``start`` to ``stop``, in an array made by ``empty``."""
        rows = self.source.load(start, stop, partial(scratch, "rows to be mapped"))
        return self._images(rows, start, empty((rows.shape[0], self.p), self.dtype))

    def chunks(self, start: int = 0) -> Iterator[Chunk]:
        """Images from row number ``start`` on; threads compute a few chunks ahead."""
        with closing(map_in_order(self._map_block, self._row_blocks(start))) as chunks:
            yield from chunks

    def _row_blocks(self, start: int) -> Iterator[tuple[int, Chunk]]:
        """Yield rows that give one chunk of images, after the number of their first row."""
        step = self._step
        if isinstance(self.source, TableSource):
            for first in range(start, self.data.shape[0], step):
                yield first, self.source.read(first, first + step)
            return
        for chunk in self.source.chunks(start):
            n = chunk.data.shape[0]
            for first in range(0, n, step):
                yield start + first, chunk.part(first, min(first + step, n))
            start += n

    def _map_block(self, block: tuple[int, Chunk]) -> Chunk:
        start, rows = block
        return Chunk(self._images(rows.data, start, None), rows.ids)

    def _images(self, rows: RowArray, start: int, out: FloatArray | None) -> FloatArray:
        try:
            return images_of(self.map, rows, allow_missing=self.allow_missing, out=out)
        except NotFiniteError as error:
            if "row" not in error.place:
                raise
            error.place["row"] += start
            if error.value is None:
                raise self._overflow(error) from None
            if self.allow_missing:
                raise not_finite_error_in_source(self, error, columns=self.input_columns) from None
            names, origin = self.input_columns, self.source.row_origin
            raise not_finite_error(self.data, error, columns=names, origin=origin) from None

    def _overflow(self, error: NotFiniteError) -> NotFiniteError:
        """Add the place of the row to an error about its image."""
        place = self.place_of(error.place["row"])
        message = f"{error.message}: the first is {place.description}"
        if place.file:
            message += f" of {place.file}"
        return NotFiniteError(message, place=place.as_dict(), hint=error.hint)

    def place_of(self, row: int) -> RowPlace:
        """Place of row number ``row``."""
        return self.source.place_of(row)

    def file_states(self) -> tuple[FileState, ...]:
        """Current states of the files that hold the rows."""
        return self.source.file_states()


def images_of(
    map: RowMap, rows: RowArray, *, allow_missing: bool = False, out: FloatArray | None = None
) -> FloatArray:
    """Check rows for missing and infinite values, and compute their images.

    Parameters
    ----------
    map : RowMap
    rows : ndarray or CSR array of shape (m, p)
    allow_missing : bool
        Whether to map rows with a missing cell to rows of NaN, instead of refusing them.
    out : ndarray of shape (m, D), optional

    Raises
    ------
    NotFiniteError
        With the first place, counted within these rows.
    """
    values = stored_values(rows)
    with np.errstate(all="ignore"):
        finite = np.isfinite(values.sum()) or np.isfinite(values).all()
    if finite:
        return _checked_images(map, rows, out)
    if not allow_missing:
        raise first_not_finite(rows)
    filled = rows.copy()
    cells = stored_values(filled)
    cells[np.isnan(cells)] = 0
    if not np.isfinite(cells).all():
        raise first_not_finite(filled)
    images = _checked_images(map, filled, out)
    images[~rows_without_nan(rows)] = np.nan
    return images


def _checked_images(map: RowMap, rows: RowArray, out: FloatArray | None) -> FloatArray:
    """Compute images of finite rows; raise NotFiniteError if an image overflows."""
    with np.errstate(over="ignore", invalid="ignore"):
        images = map.images(rows, out)
        if np.isfinite(images.sum()) or np.isfinite(images).all():
            return images
    row = int(np.argmin(np.isfinite(images).all(axis=1)))
    problem = f"the image of a row overflows {map.dtype}"
    hint = "scale the columns, or choose other parameters of the kernel"
    raise NotFiniteError(problem, place={"row": row}, hint=hint)
