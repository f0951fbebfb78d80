"""Fixed pieces of work on a few threads, their results in order.

The pieces never depend on the number of threads, and BLAS is held to one thread while
they run, so that sums over their results have the same bits on any machine of a kind.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

__all__ = ["default_threads", "in_order"]

T = TypeVar("T")
R = TypeVar("R")


def default_threads() -> int:
    """Processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def in_order(
    work: Callable[[T], R],
    pieces: Iterable[T],
    threads: int | None = None,
    *,
    ahead: bool = False,
) -> Iterator[R]:
    """Results of the pieces in their order, a few of them computed ahead.

    Parameters
    ----------
    work : callable
        Of one piece.
    pieces : iterable
    threads : int, optional
        All processors by default; one works in this thread.
    ahead : bool
        One works beside this thread instead: the next piece is made while it works.
    """
    threads = threads or default_threads()
    if threads == 1 and not ahead:
        yield from map(work, pieces)
        return
    waiting: list[Future[R]] = []
    with ThreadPoolExecutor(threads) as pool:
        try:
            for piece in pieces:
                waiting.append(pool.submit(work, piece))
                if len(waiting) >= (threads + 2 if threads > 1 else 1):
                    yield waiting.pop(0).result()
            while waiting:
                yield waiting.pop(0).result()
        finally:
            for future in waiting:
                future.cancel()
