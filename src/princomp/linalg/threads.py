"""Worker threads, and the threads of BLAS.

Work is divided into pieces that do not depend on the number of threads, and BLAS is limited to one
thread meanwhile, so that sums over the results have the same bits for any number of threads. A
process may be forked at any time.
"""

from __future__ import annotations

import functools
import os
import sys
import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from princomp.errors import PrincompError
from princomp.linalg.control_groups import processor_quota

if TYPE_CHECKING or sys.version_info >= (3, 12):
    from functools import cached_property as cached_property
else:

    class cached_property(functools.cached_property):  # noqa: N801
        """``functools.cached_property`` of Python 3.12, which takes no lock.

        Python 3.11 holds a lock of all instances while it computes a value. A child process that
        is forked meanwhile would wait for it forever.
        """

        def __get__(self, instance: Any, owner: type | None = None) -> Any:
            if instance is None:
                return self
            values = vars(instance)
            if self.attrname not in values:
                values[self.attrname] = self.func(instance)
            return values[self.attrname]


def stored_fields(instance: Any) -> dict[str, Any]:
    """Return the fields of a dataclass without its cached properties, as ``__getstate__``."""
    return {name: vars(instance)[name] for name in instance.__dataclass_fields__}


T = TypeVar("T")
R = TypeVar("R")


class _ThisThread(threading.local):
    """State of each thread.

    Attributes
    ----------
    limit : int, optional
        Number of threads that its work may use.
    pool : _Pool, optional
        The pool that it is a worker of.
    fits : int
        Number of its fits that limit BLAS to one thread.
    """

    limit: int | None = None
    pool: _Pool | None = None
    fits = 0


_this_thread = _ThisThread()


@contextmanager
def limit_threads(threads: int | None) -> Iterator[None]:
    """Limit the number of threads that the current thread's work may use; None keeps the limit."""
    previous = _this_thread.limit
    _this_thread.limit = threads or previous
    try:
        yield
    finally:
        _this_thread.limit = previous


def default_threads() -> int:
    """The current thread's limit (:func:`limit_threads`), or the number of available processors.

    ``OMP_NUM_THREADS``, read when princomp is imported, may lower it, and so may a container's
    quota of processor time.
    """
    if _this_thread.limit is not None:
        return _this_thread.limit
    return min(len(processors()), OPENMP_THREADS, processor_quota())


def processors() -> frozenset[int]:
    """The numbers of the processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return frozenset(os.sched_getaffinity(0))
    return frozenset(range(os.cpu_count() or 1))


def openmp_threads(setting: str) -> int:
    """The first number of a list of numbers of threads; ``sys.maxsize`` if there is none."""
    first = setting.partition(",")[0].strip()
    return int(first) if first.isdecimal() and int(first) else sys.maxsize


# Read once, as BLAS does: a Dask cluster that starts later sets the variable to 1 in this process,
# although it is meant for the cluster's workers.
OPENMP_THREADS = openmp_threads(os.environ.get("OMP_NUM_THREADS", ""))


class _Pool:
    """A pool of worker threads, each of which knows its pool."""

    def __init__(self, threads: int) -> None:
        # Each worker begins by noting its pool.
        note_pool = (_this_thread, "pool", self)
        self.executor = ThreadPoolExecutor(threads, initializer=setattr, initargs=note_pool)
        self._process = os.getpid()

    def start(self, future: Future[R], work: Callable[..., R], *arguments: object) -> None:
        """Run the work in a worker thread, or in the current thread if none can be started.

        ``future`` gets the result. After an exception, such as one that a signal handler
        raises, the work may have begun: the caller has to cancel the future or wait for it.
        """
        self._refuse_fork()
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
                # The error's traceback refers to this frame: break the reference cycle, which
                # would keep the objects that the work refers to.
                del claimed
            else:
                claimed.set_result(result)

        try:
            self.executor.submit(run)
        except RuntimeError:
            # The system allows no more threads. The executor has queued the call nevertheless, so
            # one of its existing threads may run it first.
            run()
        except BaseException:
            # A signal arrived while a thread was starting. The executor may not know the thread,
            # which would wait for work forever, and the interpreter would wait for it at exit.
            # The shutdown drops all work that has not begun.
            if self in _all_pools:
                _all_pools.remove(self)
            self.executor.shutdown(wait=False, cancel_futures=True)
            raise

    def result(self, future: Future[R]) -> R:
        """Wait for the result of work that :meth:`start` has started."""
        self._refuse_fork()
        try:
            return future.result()
        finally:
            # Break a reference cycle: the exception refers to this frame, and the frame to it.
            del future

    def _refuse_fork(self) -> None:
        """Raise an error in a forked child, which has no threads and whose locks may be held."""
        if self.belongs_to_parent:
            raise PrincompError(
                "the process was forked while threads were at work, which the child does not have",
                hint="start again in the child process, where a new fit starts its own threads",
            )

    @property
    def belongs_to_parent(self) -> bool:
        """Whether the threads belong to the parent process that this process was forked from."""
        return self._process != os.getpid()


# Idle pools by number of threads. Their threads keep scratch memory: allocating it again would take
# as long as summing a block.
_idle_pools: dict[int, list[_Pool]] = {}
# All pools, so that none is garbage-collected. Otherwise a pool could be collected together with a
# generator that is in a reference cycle with an error's traceback: the pool's threads would end,
# and then the generator would return the pool to the idle ones.
_all_pools: list[_Pool] = []


def _forget_pools() -> None:
    _idle_pools.clear()
    _all_pools.clear()


@contextmanager
def _workers(threads: int) -> Iterator[_Pool]:
    """Lend a pool to one caller exclusively, so that its work may itself use threads."""
    # Each step is atomic, without a lock: the thread that holds a lock could request it again, if
    # an abandoned generator is garbage-collected meanwhile.
    try:
        pool = _idle_pools[threads].pop()
    except (KeyError, IndexError):
        pool = _Pool(threads)
        _all_pools.append(pool)
    try:
        yield pool
    finally:
        if pool in _all_pools:  # false in a forked child process
            _idle_pools.setdefault(threads, []).append(pool)


def map_in_order(
    work: Callable[[T], R],
    pieces: Iterable[T],
    threads: int | None = None,
    *,
    prefetch: bool = False,
) -> Generator[R, None, None]:
    """Yield ``work(piece)`` for each piece, in order, computing a few results ahead.

    ``pieces`` is always iterated in the calling thread.

    Parameters
    ----------
    work : callable
        Takes one piece, and returns its result.
    pieces : iterable
    threads : int, optional
        All processors by default. If 1, the work is done in the calling thread.
    prefetch : bool
        If ``threads`` is 1, work in a second thread instead, one piece ahead of the caller: it
        works while the caller makes the next piece or uses the last result.
    """
    threads = threads or default_threads()
    if threads == 1 and not prefetch:
        yield from map(work, pieces)
        return
    waiting: list[Future[R]] = []
    with _workers(threads) as pool:
        try:
            for piece in pieces:
                waiting.append(Future())
                pool.start(waiting[-1], work, piece)
                if len(waiting) >= (threads + 2 if threads > 1 else 2):
                    yield pool.result(waiting.pop(0))
            while waiting:
                yield pool.result(waiting.pop(0))
        finally:
            if pool.belongs_to_parent:
                waiting.clear()
            # Cancelled work may have been dropped: wait for running work only.
            running = [future for future in waiting if not future.cancel()]
            # An abandoned generator may be garbage-collected in any thread, including a worker of
            # this pool, which would then wait for itself.
            if _this_thread.pool is not pool:
                wait(running)


def for_each(work: Callable[[T], object], pieces: Iterable[T], threads: int | None = None) -> None:
    """Do ``work(piece)`` for each piece, as :func:`map_in_order` does, without results."""
    for _ in map_in_order(work, pieces, threads):
        pass


def run_uninterrupted(
    work: Callable[[], R], meanwhile: Callable[[], T]
) -> tuple[R, T | None, BaseException | None]:
    """Run ``work`` to its end in another thread, and ``meanwhile`` in this one.

    Returns
    -------
    made : result of ``work``
    found : result of ``meanwhile``, or None if it raised an exception
    raised : exception, optional
        An exception raised by ``meanwhile`` or a signal handler. Python runs signal handlers in
        the main thread only, so neither interrupts the work.

    Raises
    ------
    BaseException
        If a signal handler raised it before the work began, which then never begins.
    """
    limit = _this_thread.limit

    def as_here() -> R:
        with limit_threads(limit):
            return work()

    found: T | None = None
    raised: BaseException | None = None
    future: Future[R] = Future()
    started = False
    with _workers(1) as pool:
        try:
            pool.start(future, as_here)
            started = True
            found = meanwhile()
            if not pool.belongs_to_parent:
                wait([future])
        except BaseException as error:
            if not started and future.cancel():
                raise
            raised = error
        return pool.result(future), found, raised


# Number of fits that limit BLAS to one thread in this process, and the number of threads of each
# BLAS library to restore afterwards. The lock is reentrant: while a thread holds it, an abandoned
# generator that limits BLAS may be garbage-collected, or a signal handler may fork.
_blas_lock = threading.RLock()
_limiting_fits = 0
_threads_before: list[int] = []


@cache
def _blas_libraries() -> list[Any]:
    # NumPy and SciPy may each have their own BLAS, which is found only once it is loaded.
    import scipy.linalg  # noqa: F401
    from threadpoolctl import ThreadpoolController

    return list(ThreadpoolController().select(user_api="blas").lib_controllers)


def _set_threads(numbers: Iterable[int]) -> None:
    """Set the number of threads of each BLAS library in this process."""
    for library, number in zip(_blas_libraries(), numbers, strict=True):
        # threadpoolctl lets only one thread set limits and ignores the others. The thread that
        # holds the lock acts for all fits, so it takes that role temporarily.
        take_over = getattr(library, "clear_controlling_thread", None)
        if take_over is not None:
            take_over(force=True)
        library.set_num_threads(number)
        if take_over is not None:
            take_over(force=True)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread, so that its sums do not depend on the number of threads.

    The limit applies to the whole process: overlapping fits share it, and the last one to end
    restores the previous numbers.
    """
    global _limiting_fits, _threads_before
    with _blas_lock:
        if not _limiting_fits:
            _threads_before = [library.get_num_threads() for library in _blas_libraries()]
            _set_threads(1 for _ in _threads_before)
        _limiting_fits += 1
        _this_thread.fits += 1
    try:
        yield
    finally:
        with _blas_lock:
            _limiting_fits -= 1
            _this_thread.fits -= 1
            if not _limiting_fits:
                _set_threads(_threads_before)


def _after_fork() -> None:
    """Forget other threads and their fits, which do not exist in a forked process."""
    global _limiting_fits
    _blas_lock.release()
    _forget_pools()
    others, _limiting_fits = _limiting_fits, _this_thread.fits
    if others and not _limiting_fits:
        _set_threads(_threads_before)


if hasattr(os, "register_at_fork"):
    # No thread sets the number of BLAS threads during a fork: OpenBLAS holds a lock meanwhile,
    # which the child would wait for forever.
    os.register_at_fork(
        before=_blas_lock.acquire, after_in_parent=_blas_lock.release, after_in_child=_after_fork
    )
