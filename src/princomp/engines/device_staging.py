"""Blocks from the host's memory to a device's: on a GPU pinned, and two at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from princomp.arrays import unwritten
from princomp.summaries.space import Space

__all__ = ["copied"]


def copied(
    blocks: Iterable[Any], space: Space, step: int, p: int, dtype: np.dtype[Any]
) -> Iterator[Any]:
    """Host blocks as arrays there, each lawful until the next but one is asked for.

    Parameters
    ----------
    blocks : iterable of ndarray
        Of at most ``step`` rows.
    space : Space
    step, p, dtype
        Of the blocks.
    """
    if getattr(space.device, "type", "") == "cuda":
        yield from _pinned(blocks, space.device, step, p, dtype)
        return
    for block in blocks:
        # A copy: rows in memory are those of whoever gave them.
        yield space.put(np.array(block, dtype=dtype, order="C"), dtype)


def _pinned(
    blocks: Iterable[Any], device: Any, step: int, p: int, dtype: np.dtype[Any]
) -> Iterator[Any]:
    """By way of two pinned buffers and a stream of copies beside that of the sums.

    Nothing waits but for its own buffer: while the device sums one block, the next is read,
    put into the other buffer and copied.
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
                # The memory may have been that of arrays which are still in use over there.
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
        # The buffers go now: nothing may still write to them or read them.
        copies.synchronize()
        sums.synchronize()
