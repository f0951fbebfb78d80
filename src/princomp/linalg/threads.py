"""Worker threads, and the threads of BLAS.

Work is cut into pieces that do not depend on the number of threads, and BLAS is held to one thread
meanwhile, so that sums over the results have the same bits for any number of threads.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeVar

from princomp.errors import PrincompError

T = TypeVar("T")
R = TypeVar("R")

_allowed = threading.local()


@contextmanager
def at_most(threads: int | None) -> Iterator[None]:
    """Limit the threads that this thread's work may use; None leaves the limit as it is."""
    before = getattr(_allowed, "threads", None)
    _allowed.threads = threads or before
    try:
        yield
    finally:
        _allowed.threads = before


def default_threads() -> int:
    """Number of processors that this process may use, or the limit of this thread."""
    held: int | None = getattr(_allowed, "threads", None)
    if held is not None:
        return held
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class _Pool:
    """Worker threads that know which pool they belong to."""

    def __init__(self, threads: int) -> None:
        self.executor = ThreadPoolExecutor(threads, initializer=self._enter)
        self._process = os.getpid()

    def _enter(self) -> None:
        _of_thread.pool = self

    def start(self, work: Callable[..., R], *arguments: Any) -> Future[R]:
        """Start the work in a worker thread, or do it here where no thread can be started."""
        self._refuse_fork()
        future: Future[R] = Future()
        claims = [future]

        def run() -> None:
            try:
                claimed = claims.pop()  # atomic
            except IndexError:
                return
            if not claimed.set_running_or_notify_cancel():
                return
            try:
                result = work(*arguments)
            except BaseException as error:
                claimed.set_exception(error)
                # The error's traceback has this frame: no cycle may keep what the work refers to.
                del claimed
            else:
                claimed.set_result(result)

        try:
            self.executor.submit(run)
        except RuntimeError:
            # The system allows no more threads. The executor has queued the call all the same, so
            # that a thread it has already may take it first.
            run()
        except BaseException:
            # A signal while a thread was started: the executor may not know of the thread, which
            # would wait for work forever, and the interpreter for the thread when it exits.
            if self in _all:
                _all.remove(self)
            self.executor.shutdown(wait=False, cancel_futures=True)
            raise
        return future

    def result(self, future: Future[R]) -> R:
        """Wait for the result of work that was started."""
        self._refuse_fork()
        try:
            return future.result()
        finally:
            # Its exception would hold this frame, which would hold the exception.
            del future

    def _refuse_fork(self) -> None:
        """Raise in a process forked since, which has no threads and whose locks may be held."""
        if self.is_elsewhere:
            raise PrincompError(
                "the process was forked while threads were at work, which the child does not have",
                hint="start again in the child process, where a new fit starts its own threads",
            )

    @property
    def is_elsewhere(self) -> bool:
        """Whether its threads are those of the process that this one is a fork of."""
        return self._process != os.getpid()

    @property
    def works_here(self) -> bool:
        """Whether the current thread is one of its workers."""
        return getattr(_of_thread, "pool", None) is self


_of_thread = threading.local()
# Idle pools by their number of threads. They keep the memory that they have touched, which costs as
# much to allocate anew as a block costs to sum.
_idle: dict[int, list[_Pool]] = {}
# All pools. Without this a pool could be garbage, with a generator that an error's traceback keeps
# in a cycle: its threads would end, and then the generator would put it back.
_all: list[_Pool] = []


def _forget() -> None:
    _idle.clear()
    _all.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)  # threads do not survive a fork


@contextmanager
def _workers(threads: int) -> Iterator[_Pool]:
    """A pool for one caller alone, so that its work may use threads itself."""
    # Each step is atomic. A lock could be requested again by the thread that holds it, when an
    # abandoned generator is collected meanwhile.
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
    """Yield the results of the pieces in order, computing a few of them ahead.

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
                waiting.append(pool.start(work, piece))
                if len(waiting) >= (threads + 2 if threads > 1 else 2):
                    yield pool.result(waiting.pop(0))
            while waiting:
                yield pool.result(waiting.pop(0))
        finally:
            if pool.is_elsewhere:
                waiting.clear()
            for future in waiting:
                future.cancel()
            # An abandoned generator is collected in any thread, also in one of these, which would
            # wait for itself.
            if not pool.works_here:
                wait(waiting)


def uninterrupted(
    work: Callable[[], R], meanwhile: Callable[[], T]
) -> tuple[R, T | None, BaseException | None]:
    """Run ``work`` to its end in another thread, and ``meanwhile`` in this one.

    Returns
    -------
    made : result of ``work``
    found : result of ``meanwhile``, or None if it raised an exception
    stop : exception, optional
        An exception of ``meanwhile`` or of a signal. Python delivers signals to the main thread
        only, so neither interrupts the work.
    """
    held: int | None = getattr(_allowed, "threads", None)

    def as_here() -> R:
        with at_most(held):
            return work()

    found: T | None = None
    stop: BaseException | None = None
    with _workers(1) as pool:
        future = pool.start(as_here)
        try:
            found = meanwhile()
            if not pool.is_elsewhere:
                wait([future])
        except BaseException as error:
            stop = error
        return pool.result(future), found, stop


# How many fits hold BLAS to one thread, in this process and (``_own``) in this thread, and the
# numbers of threads to restore.
_holding = threading.Lock()
_holders = 0
_before: list[int] = []
_own = threading.local()


@cache
def _blas_libraries() -> list[Any]:
    # NumPy and SciPy may have one each, which must be loaded to be found.
    import scipy.linalg  # noqa: F401
    from threadpoolctl import ThreadpoolController

    return list(ThreadpoolController().select(user_api="blas").lib_controllers)


def _set_threads(numbers: Iterable[int]) -> None:
    """Set the threads of each BLAS library in this process."""
    for library, number in zip(_blas_libraries(), numbers, strict=True):
        # threadpoolctl lets one thread set limits and ignores the others; the one that
        # holds the lock here speaks for all fits, so it takes that role for the moment.
        take_over = getattr(library, "clear_controlling_thread", None)
        if take_over is not None:
            take_over(force=True)
        library.set_num_threads(number)
        if take_over is not None:
            take_over(force=True)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Hold BLAS to one thread, so that its sums do not depend on the number of threads.

    The limit is the process's: fits that overlap share it, and the last restores it.
    """
    global _holders, _before
    with _holding:
        if not _holders:
            _before = [library.get_num_threads() for library in _blas_libraries()]
            _set_threads(1 for _ in _before)
        _holders += 1
        _own.holders = getattr(_own, "holders", 0) + 1
    try:
        yield
    finally:
        with _holding:
            _holders -= 1
            _own.holders -= 1
            if not _holders:
                _set_threads(_before)


def _after_fork() -> None:
    """Forget the fits of other threads, which a forked process does not have."""
    global _holding, _holders
    _holding = threading.Lock()  # another thread may have held it
    others, _holders = _holders, getattr(_own, "holders", 0)
    if others and not _holders:
        _set_threads(_before)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
