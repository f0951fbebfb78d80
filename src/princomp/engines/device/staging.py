"""Copies of blocks from the host to a device: on a GPU through two pinned buffers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from princomp.linalg import mark_unwritten
from princomp.summaries import Space


def copy_blocks(
    blocks: Iterable[NDArray[Any]], space: Space, step: int, p: int, dtype: np.dtype[Any]
) -> Iterator[Any]:
    """Yield host blocks as arrays on a device; each is valid until the next but one is taken.

    Parameters
    ----------
    blocks : iterable of ndarray
        Blocks of at most ``step`` rows.
    space : Space
    step, p, dtype
        Shape and precision of the blocks.
    """
    if getattr(space.device, "type", "") == "cuda":
        yield from _pinned(blocks, space.device, step, p, dtype)
        return
    for block in blocks:
        # A copy: the rows in memory are the user's.
        yield space.put(np.array(block, dtype=dtype, order="C"), dtype)


def _pinned(
    blocks: Iterable[NDArray[Any]], device: Any, step: int, p: int, dtype: np.dtype[Any]
) -> Iterator[Any]:
    """Copy through two pinned buffers, on a separate CUDA stream.

    While the device sums one block, the next is read, put into the other buffer and copied. Each
    step waits only until its own buffer is free.
    """
    import torch

    cuda: Any = torch.cuda
    tensor_dtype = torch.float32 if dtype.itemsize == 4 else torch.float64
    compute_stream, copy_stream = cuda.current_stream(device), cuda.Stream(device)
    buffers: list[Any] = []
    try:
        for number, block in enumerate(blocks):
            m = len(block)
            if not buffers:
                # A table may be shorter than a block, and no block is longer than the first.
                shape = (min(step, m), p)
                for _ in range(2):
                    host_buffer = torch.empty(shape, dtype=tensor_dtype, pin_memory=True)
                    device_buffer = torch.empty(shape, dtype=tensor_dtype, device=device)
                    buffers.append((host_buffer, device_buffer, cuda.Event(), cuda.Event()))
                # The memory may belong to arrays that the device still uses.
                copy_stream.wait_stream(compute_stream)
            host_buffer, device_buffer, copied, consumed = buffers[number % 2]
            if number >= 2:
                copied.synchronize()  # until then the pinned half is being read
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
