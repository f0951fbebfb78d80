"""Fixed pieces of work on a few threads, their results in order.

The pieces never depend on the number of threads, and BLAS is held to one thread while
they run, so that sums over their results have the same bits on any machine of a kind.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import TypeVar

__all__ = ["at_most", "default_threads", "in_order", "uninterrupted"]

T = TypeVar("T")
R = TypeVar("R")


_allowed = threading.local()


@contextmanager
def at_most(threads: int | None) -> Iterator[None]:
    """In this block, work of this thread has so many threads; None for all processors."""
    before = getattr(_allowed, "threads", None)
    _allowed.threads = threads or before
    try:
        yield
    finally:
        _allowed.threads = before


def default_threads() -> int:
    """Processors that this process may use, or what this thread was held to."""
    held: int | None = getattr(_allowed, "threads", None)
    if held is not None:
        return held
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class _Pool:
    """Some threads, which know that they are its own."""

    def __init__(self, threads: int) -> None:
        self.executor = ThreadPoolExecutor(threads, initializer=self._enter)

    def _enter(self) -> None:
        _of_thread.pool = self

    @property
    def works_here(self) -> bool:
        """Whether this thread is one of them."""
        return getattr(_of_thread, "pool", None) is self


_of_thread = threading.local()
# Threads that wait for their next work, by how many belong together. They keep what memory
# they have touched, which costs as much to get anew as a block costs to sum.
_idle: dict[int, list[_Pool]] = {}
# All there are. Without this a pool could be garbage, with a generator that an error's traceback
# keeps in a cycle: its threads would end, and then the generator would put it back.
_all: list[_Pool] = []


def _forget() -> None:
    _idle.clear()
    _all.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)  # threads do not survive a fork


@contextmanager
def _workers(threads: int) -> Iterator[_Pool]:
    """Some threads for one caller alone, so that work which uses threads itself can do so."""
    # Each step on its own is one of Python's atomic ones. A lock could be asked for again by
    # the thread that has it, when a generator that was left behind is collected meanwhile.
    try:
        pool = _idle[threads].pop()
    except (KeyError, IndexError):
        pool = _Pool(threads)
        _all.append(pool)
    try:
        yield pool
    finally:
        if pool in _all:  # not in a fork of the process that it belongs to
            _idle.setdefault(threads, []).append(pool)


def in_order(
    work: Callable[[T], R],
    pieces: Iterable[T],
    threads: int | None = None,
    *,
    ahead: bool = False,
) -> Generator[R, None, None]:
    """Results of the pieces in their order, a few of them computed ahead.

    The pieces are always made in the calling thread.

    Parameters
    ----------
    work : callable
        Of one piece.
    pieces : iterable
    threads : int, optional
        All processors by default. With one, the work is done in the calling thread.
    ahead : bool
        With one thread, work in a second thread instead. It is one piece ahead of the caller:
        while the caller makes the next piece or uses the last result, it works.
    """
    threads = threads or default_threads()
    if threads == 1 and not ahead:
        yield from map(work, pieces)
        return
    waiting: list[Future[R]] = []
    with _workers(threads) as pool:
        try:
            for piece in pieces:
                waiting.append(pool.executor.submit(work, piece))
                if len(waiting) >= (threads + 2 if threads > 1 else 2):
                    yield waiting.pop(0).result()
            while waiting:
                yield waiting.pop(0).result()
        finally:
            for future in waiting:
                future.cancel()
            # Whoever left this may never have closed it: then it is collected wherever memory is
            # looked through, also in one of these threads, which would wait for itself.
            if not pool.works_here:
                wait(waiting)


def uninterrupted(
    work: Callable[[], R], meanwhile: Callable[[], T]
) -> tuple[R, T | None, BaseException | None]:
    """Run some work to its end in another thread, and ``meanwhile`` in this one.

    Returns
    -------
    made : result of ``work``
    found : result of ``meanwhile``, or None if it raised an exception
    stop : exception, optional
        What ``meanwhile`` raised, or a signal that arrived. Python delivers signals to the main
        thread only, so neither interrupts the work.
    """
    held: int | None = getattr(_allowed, "threads", None)

    def as_here() -> R:
        with at_most(held):
            return work()

    found: T | None = None
    stop: BaseException | None = None
    with _workers(1) as pool:
        future = pool.executor.submit(as_here)
        try:
            found = meanwhile()
            wait([future])
        except BaseException as error:
            stop = error
        return future.result(), found, stop
