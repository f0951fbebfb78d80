"""What ranks say to each other, through whatever connects them: MPI or ``torch.distributed``.

A library here gives three things: who I am, an object to another rank, an object from
another rank. Whatever all ranks do together is a binomial tree of those, the same for both,
so that a sum is added in one order and each wait can be patient.
"""

from __future__ import annotations

import pickle
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any, TypeVar

import numpy as np

from princomp.arrays import empty
from princomp.errors import ParameterError

__all__ = ["Communicator", "communicator"]

T = TypeVar("T")

# How often a rank looks for a message: at once, then ever more seldom. Ranks that share a
# processor would otherwise take it from each other by asking.
_SHORTEST, _LONGEST = 1e-5, 2e-3
# Of a large array, so many bytes are on their way to a device at a time.
_PIECE = 2**26


class Communicator:
    """Some ranks, numbered from 0, and this one among them.

    A subclass gives ``send`` and ``receive``.

    Parameters
    ----------
    name : str
        What plans and messages call the ranks.
    rank, size : int
    """

    def __init__(self, name: str, rank: int, size: int) -> None:
        self.name, self.rank, self.size = name, rank, size
        # A Ctrl-C is raised where it can be told to the others, and waits elsewhere.
        self._may_stop = False
        self._stop: KeyboardInterrupt | None = None

    def send(self, value: Any, to: int) -> None:
        """Give an object to a rank, which receives it."""
        raise NotImplementedError

    def receive(self, source: int) -> Any:
        """The next object from a rank."""
        raise NotImplementedError

    @contextmanager
    def working(self) -> Iterator[None]:
        """In this block, whatever is raised will be told to the other ranks."""
        with self._stopped_only(here=True):
            self.heard()
            yield

    @contextmanager
    def _stopped_only(self, *, here: bool) -> Iterator[None]:
        before, self._may_stop = self._may_stop, here
        try:
            yield
        finally:
            self._may_stop = before

    def interrupt(self, *_: Any) -> None:
        """Answer a Ctrl-C, at once or when it is asked for; who asks twice means it."""
        stop = KeyboardInterrupt()
        if self._may_stop or self._stop is not None:
            raise stop
        self._stop = stop

    def heard(self) -> None:
        """Answer a Ctrl-C that came while this rank was busy with the others.

        Raises
        ------
        KeyboardInterrupt
        """
        stop, self._stop = self._stop, None
        if stop is not None:
            raise stop

    @property
    def _below(self) -> list[int]:
        """The ranks whose sums come to this one, in order: each stands for those behind it."""
        steps = (1 << i for i in range(self.size.bit_length()))
        lowest = self.rank & -self.rank or self.size
        return [self.rank + s for s in steps if s < lowest and self.rank + s < self.size]

    @property
    def _above(self) -> int:
        """The rank that this one's sum goes to."""
        return self.rank & (self.rank - 1)

    def reduced(self, value: T, join: Callable[[T, T], T]) -> T:
        """On rank 0 the values of all ranks, joined in their order; elsewhere a part of them.

        ``join`` must not raise: the other ranks would wait for an answer.
        """
        with self._stopped_only(here=False):
            for other in self._below:
                value = join(value, self.receive(other))
            if self.rank:
                self.send(value, self._above)
        return value

    def gathered(self, value: T) -> list[T]:
        """On rank 0 the values of all ranks in their order; elsewhere some of them."""
        return self.reduced([value], lambda one, other: one + other)

    def broadcast(self, value: Any = None) -> Any:
        """What rank 0 says, on every rank."""
        with self._stopped_only(here=False):
            if self.rank:
                value = self.receive(self._above)
            for other in reversed(self._below):
                self.send(value, other)
        return value


class _Mpi(Communicator):
    """Ranks of an mpi4py communicator; arrays travel as they lie in memory."""

    def __init__(self, comm: Any) -> None:
        from mpi4py.util.pkl5 import Intracomm

        super().__init__("MPI ranks", comm.rank, comm.size)
        self._comm = Intracomm(comm)

    # A send that waits for its receiver takes a whole processor from it, and neither of them
    # hears Ctrl-C. So a rank asks for what it wants, and those who wait look now and then.

    def send(self, value: Any, to: int) -> None:
        self._message(to).recv()
        # All parts at once: who receives looks for the next one before it takes the one before.
        self._comm.isend(value, to).wait()

    def receive(self, source: int) -> Any:
        self._comm.send(None, source)
        return self._message(source).recv()

    def _message(self, source: int) -> Any:
        pause = _SHORTEST
        while True:
            message = self._comm.improbe(source, 0)
            if message is not None:
                return message
            time.sleep(pause)
            pause = min(1.5 * pause, _LONGEST)


class _Torch(Communicator):
    """Ranks of a ``torch.distributed`` group; everything travels as tensors of bytes."""

    def __init__(self, group: Any) -> None:
        import torch
        from torch import distributed

        super().__init__(
            "torch.distributed ranks",
            distributed.get_rank(group),
            distributed.get_world_size(group),
        )
        on_device = "nccl" in distributed.get_backend(group)
        self._device = f"cuda:{torch.cuda.current_device()}" if on_device else "cpu"
        self._torch, self._distributed, self._group = torch, distributed, group

    def send(self, value: Any, to: int) -> None:
        buffers: list[pickle.PickleBuffer] = []
        body = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
        parts: list[Any] = [buffer.raw() for buffer in buffers]
        head = pickle.dumps((body, [part.nbytes for part in parts]))
        self._send_bytes(np.array([len(head)], dtype=np.int64).view(np.uint8), to)
        for part in (head, *parts):
            self._send_bytes(np.frombuffer(part, dtype=np.uint8), to)

    def receive(self, source: int) -> Any:
        size = int(self._receive_bytes(8, source).view(np.int64)[0])
        body, sizes = pickle.loads(self._receive_bytes(size, source).data)
        return pickle.loads(body, buffers=[self._receive_bytes(n, source) for n in sizes])

    def _send_bytes(self, array: np.ndarray[Any, Any], to: int) -> None:
        to = self._distributed.get_global_rank(self._group, to)
        for first in range(0, len(array), _PIECE):
            piece = array[first : first + _PIECE]
            # A copy: torch takes no array that may not be written to.
            tensor = self._torch.from_numpy(piece.copy()).to(self._device)
            self._distributed.send(tensor, to, group=self._group)

    def _receive_bytes(self, size: int, source: int) -> np.ndarray[Any, Any]:
        source = self._distributed.get_global_rank(self._group, source)
        array = empty(size, dtype=np.uint8)
        for first in range(0, size, _PIECE):
            piece = array[first : first + _PIECE]
            tensor = self._torch.empty(len(piece), dtype=self._torch.uint8, device=self._device)
            self._distributed.recv(tensor, source, group=self._group)
            piece[:] = tensor.cpu().numpy()
        return array


@contextmanager
def communicator(comm: Any) -> Iterator[Communicator]:
    """The ranks behind what a person calls ``comm``.

    Parameters
    ----------
    comm : mpi4py communicator, torch.distributed group, or the module torch.distributed

    Raises
    ------
    ParameterError
        For anything else, and on a process that is no rank of it.
    """
    named = comm.__name__ if isinstance(comm, ModuleType) else type(comm).__module__
    library = named.partition(".")[0]
    if library == "mpi4py":
        with _own_channel(comm) as own, _interrupted(_Mpi(own)) as line:
            yield line
    elif library == "torch":
        with _interrupted(_Torch(_torch_group(comm))) as line:
            yield line
    else:
        raise _no_communicator(comm)


@contextmanager
def _interrupted(line: Communicator) -> Iterator[Communicator]:
    """The ranks, among which a Ctrl-C makes no rank leave the others waiting."""
    before = signal.getsignal(signal.SIGINT)
    if (
        threading.current_thread() is not threading.main_thread()
        or before is not signal.default_int_handler
    ):
        yield line  # a program that has its own way with signals keeps it
        return
    signal.signal(signal.SIGINT, line.interrupt)
    try:
        yield line
    finally:
        signal.signal(signal.SIGINT, before)
    line.heard()


@contextmanager
def _own_channel(comm: Any) -> Iterator[Any]:
    """The same ranks on a channel of their own: no message of the program's is taken for ours."""
    from mpi4py import MPI

    if not isinstance(comm, MPI.Intracomm) or comm == MPI.COMM_NULL:
        raise _no_communicator(comm)
    own = MPI.Intracomm.Dup(comm)
    try:
        yield own
    finally:
        own.Free()


def _torch_group(comm: Any) -> Any:
    from torch import distributed

    if not distributed.is_initialized():
        raise ParameterError(
            "comm is torch.distributed, and its ranks do not know of each other yet",
            place={"parameter": "comm"},
            hint="call torch.distributed.init_process_group(…) first",
        )
    group = distributed.group.WORLD if comm is distributed else comm
    if not isinstance(group, distributed.ProcessGroup):
        raise _no_communicator(comm)
    return group


def _no_communicator(comm: Any) -> ParameterError:
    shown = comm.__name__ if isinstance(comm, ModuleType) else type(comm).__name__
    return ParameterError(
        f"comm={shown} is no group of ranks that this process belongs to",
        place={"parameter": "comm"},
        hint="give an mpi4py communicator such as MPI.COMM_WORLD, torch.distributed, or one of "
        "its groups",
    )
