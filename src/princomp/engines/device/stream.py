"""Rows of any origin, copied to a device block by block and summed there.

Blocks go to a GPU through two pinned buffers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from princomp import io, summaries
from princomp.engines.device.rows import AbstractDeviceRows
from princomp.engines.device.spaces import space_named
from princomp.engines.distributed import PartialResult, SummaryKind
from princomp.engines.local import iter_blocks
from princomp.errors import MemoryLimitError, ParameterError
from princomp.io import RowData, Source
from princomp.linalg import DEFAULT_SHARE, byte_count, format_bytes, map_in_order, mark_unwritten
from princomp.solvers import ImagesOf
from princomp.summaries import DeviceBlock, Space, Triangle, as_dense

# Bytes on the device for each number of a block: two buffers that are copied into, the centred
# rows, and their squares in float64.
_BYTES_PER_NUMBER = 48
# The fewest rows of a block that are worth p × p sums.
_MIN_BLOCK_ROWS = 32
# p × p matrices of float64 that are in memory at once during the sums and their solution.
_SCATTER_MATRICES, _TRIANGLE_MATRICES = 4, 14


@dataclass(kw_only=True, eq=False)
class DeviceStream(AbstractDeviceRows):
    """Rows that are read on the host and summed on a device.

    Parameters
    ----------
    data : ndarray, CSR array or Source
        The rows; sparse blocks are made dense before they are copied.
    limit : int, optional
        Bytes that the fit may take on the device.
    """

    data: RowData
    limit: int | None = None
    # Rows that the current pass has read, and bytes of the summary that it computes.
    rows_read: int = 0
    summary_bytes: int = 0

    def place_of(self, row: int) -> io.RowPlace:
        """Return the place of a row."""
        return self.data.place_of(row) if isinstance(self.data, Source) else super().place_of(row)

    def file_states(self) -> tuple[io.FileState, ...]:
        """Return the files that the rows are read from."""
        return self.data.file_states() if isinstance(self.data, Source) else ()

    def fingerprint(self) -> tuple[str, ...]:
        """Return checksums of the weights, and of rows in memory or the first batch."""
        names = super().fingerprint()
        if isinstance(self.data, Source):
            return (*names, *self.data.fingerprint())
        return (*names, f"rows with checksum {io.checksum(io.stored_arrays(self.data))}")

    def weighted(self, weights: Any) -> Self:
        """Return the same rows with frequencies, where their number is known.

        Raises
        ------
        ShapeError, ParameterError
        """
        if self.rows is None:
            raise ParameterError(
                "sample_weight needs the number of rows, which is not known before they are read",
                place={"parameter": "sample_weight"},
                hint="leave it out, or give an array or a file whose number of rows is known",
            )
        return super().weighted(weights)

    def blocks(self, step: int) -> Iterator[DeviceBlock]:
        """Yield blocks of at most ``step`` rows: one is read and copied while another is summed."""
        step = min(step, self._max_block_rows())
        self.rows_read = start = 0
        # A thread loads the next block while this thread copies the previous one to the device.
        blocks = iter_blocks(self.data, step)
        loaded = map_in_order(lambda block: as_dense(block.load()), blocks, 1, prefetch=True)
        with closing(loaded):
            for rows in _copy_blocks(loaded, self.space):
                block = self._block(start, rows)
                self.rows_read = start = start + rows.shape[0]
                yield block

    def reduce(self, kind: SummaryKind, *, drop: bool, precise: bool) -> PartialResult:
        """Summarise all rows in one pass, unless the sums do not fit on the device."""
        self.summary_bytes = _summary_bytes(kind, self.p)
        try:
            self._max_block_rows()  # raises before the pass begins
            result = super().reduce(kind, drop=drop, precise=precise)
        finally:
            self.summary_bytes = 0
        return result._replace(rows=self.rows_read if self.rows is None else self.rows)

    def _max_block_rows(self) -> int:
        """Return the maximum number of rows of a block in the memory that sums leave.

        Raises
        ------
        MemoryLimitError
            If there is room for too few rows.
        """
        if self.limit is None:
            return 2**40  # no limit
        rows = (self.limit - self.summary_bytes) // (_BYTES_PER_NUMBER * self.p)
        if rows < _MIN_BLOCK_ROWS:
            needed = self.summary_bytes + _MIN_BLOCK_ROWS * _BYTES_PER_NUMBER * self.p
            raise MemoryLimitError(
                f"sums of {self.p:,} columns take {format_bytes(needed)} on {self.space.name}, and "
                f"the memory limit is {format_bytes(self.limit)}",
                place={"parameter": "memory_limit", "limit": self.limit, "needed": needed},
                hint=f"allow {format_bytes(1.05 * needed)}, or use svd_solver='krylov' with a "
                "whole number of components, which forms no p × p matrix",
            )
        return int(rows)


def on_device(X: Any, device: object = "cuda", *, memory_limit: int | str | None = None) -> Any:
    """Prepare rows of any origin to be fitted or transformed on a device by a ``PCA``.

    Parameters
    ----------
    X : as for :meth:`princomp.PCA.fit`
        Arrays, frames, files or iterators. Blocks are copied while earlier ones are summed.
    device : str or device, default="cuda"
        A device of torch: ``"cuda:0"``, ``"cpu"``.
    memory_limit : str or int, optional
        Memory on the device for blocks and sums; 60% of its free memory by default.

    Returns
    -------
    rows
        For ``fit``, ``fit_transform``, ``partial_fit``, ``forget`` and ``transform``. Scores
        are arrays on the device.

    Raises
    ------
    MissingLibraryError
        Without torch.
    ParameterError
        If the device is not available.

    Examples
    --------
    >>> import princomp
    >>> rows = princomp.on_device("rows.npy", "cuda:0", memory_limit="4GB")  # doctest: +SKIP
    >>> model = princomp.PCA(n_components=10).fit(rows)  # doctest: +SKIP
    """
    space = space_named(device)
    limit = None if memory_limit is None else byte_count(memory_limit)
    if limit is None and (free := space.free_memory()) is not None:
        limit = int(free * DEFAULT_SHARE)
    if io.is_file(X):
        X = io.file_rows(X)
    elif io.is_frame(X):
        # Columns that a fit of the frame would leave out are left out here as well.
        labels = io.labels_of_float_frame(X)
        if labels is None or (labels and io.has_index_name(labels[0])):
            X = io.from_frame(X, find_ids=True, text="leave out")
    data, columns, origin = io.rows_of(X)
    is_source = isinstance(data, Source)
    source = data if is_source else X
    return DeviceStream(
        engine=space.name,
        rows=data.shape[0],
        p=data.shape[1],
        dtype=np.dtype(data.dtype),
        columns=columns,
        notes=source.notes if isinstance(source, Source) else (),
        file=None if origin is None else origin.file,
        nbytes=data.nbytes if is_source else summaries.stored_bytes(data),
        space=space,
        data=data,
        limit=limit,
        repeatable=data.repeatable if is_source else True,
    )


def _copy_blocks(blocks: Iterable[NDArray[Any]], space: Space) -> Iterator[Any]:
    """Yield host blocks as arrays on a device; each is valid until the next but one is taken.

    No block may be longer than the first.
    """
    if getattr(space.device, "type", "") == "cuda":
        yield from _pinned(blocks, space.device)
        return
    for block in blocks:
        # A copy: the rows in memory are the user's.
        yield space.put(np.array(block, order="C"), block.dtype)


def _pinned(blocks: Iterable[NDArray[Any]], device: Any) -> Iterator[Any]:
    """Copy through two pinned buffers, on a separate CUDA stream.

    While the device sums one block, the next is read, put into the other buffer and copied. Each
    step waits only until its own buffer is free.
    """
    import torch

    cuda: Any = torch.cuda
    compute_stream, copy_stream = cuda.current_stream(device), cuda.Stream(device)
    buffers: list[Any] = []
    try:
        for number, block in enumerate(blocks):
            m = len(block)
            if not buffers:
                dtype = torch.float32 if block.itemsize == 4 else torch.float64
                for _ in range(2):
                    host_buffer = torch.empty(block.shape, dtype=dtype, pin_memory=True)
                    device_buffer = torch.empty(block.shape, dtype=dtype, device=device)
                    buffers.append((host_buffer, device_buffer, cuda.Event(), cuda.Event()))
                # The new memory may have belonged to arrays that the device still uses.
                copy_stream.wait_stream(compute_stream)
            host_buffer, device_buffer, copied, consumed = buffers[number % 2]
            if number >= 2:
                copied.synchronize()  # until then its last copy reads this buffer
            mark_unwritten(host_buffer.numpy())[:m] = block
            with cuda.stream(copy_stream):
                if number >= 2:
                    copy_stream.wait_event(consumed)
                device_buffer[:m].copy_(host_buffer[:m], non_blocking=True)
                copied.record(copy_stream)
            compute_stream.wait_event(copied)
            yield device_buffer[:m]
            consumed.record(compute_stream)
    finally:
        # The buffers are freed now: nothing may still use them.
        copy_stream.synchronize()
        compute_stream.synchronize()


def _summary_bytes(kind: SummaryKind, p: int) -> int:
    """Return the bytes of the sums on the device, without blocks."""
    if isinstance(kind, summaries.PairOf):
        return _summary_bytes(kind.first, p)
    if isinstance(kind, summaries.SketchOf):
        return 3 * 8 * p * kind.width
    if isinstance(kind, ImagesOf):
        return int(3 * 8 * kind.vectors.size)
    if not isinstance(kind, type):
        return 0  # ``reduce`` refuses it
    if issubclass(kind, summaries.Columns):
        return 8 * 8 * p
    return (_TRIANGLE_MATRICES if issubclass(kind, Triangle) else _SCATTER_MATRICES) * 8 * p * p
