"""Copies of blocks from the host to a device: on a GPU through two pinned buffers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from princomp.linalg import unwritten
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
    kind = torch.float32 if dtype.itemsize == 4 else torch.float64
    sums, copies = cuda.current_stream(device), cuda.Stream(device)
    buffers: list[Any] = []
    try:
        for number, block in enumerate(blocks):
            m = len(block)
            if not buffers:
                # A table may be shorter than a block, and no block is longer than the first.
                shape = (min(step, m), p)
                for _ in range(2):
                    pinned = torch.empty(shape, dtype=kind, pin_memory=True)
                    there = torch.empty(shape, dtype=kind, device=device)
                    buffers.append((pinned, there, cuda.Event(), cuda.Event()))
                # The memory may belong to arrays that the device still uses.
                copies.wait_stream(sums)
            pinned, there, arrived, summed = buffers[number % 2]
            if number >= 2:
                arrived.synchronize()  # until then the pinned half is being read
            unwritten(pinned.numpy())[:m] = block
            with cuda.stream(copies):
                if number >= 2:
                    copies.wait_event(summed)
                there[:m].copy_(pinned[:m], non_blocking=True)
                arrived.record(copies)
            sums.wait_event(arrived)
            yield there[:m]
            summed.record(sums)
    finally:
        # The buffers are freed now: nothing may still use them.
        copies.synchronize()
        sums.synchronize()
