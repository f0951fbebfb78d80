"""Messages between ranks, by MPI or ``torch.distributed``.

A library only provides the number of this rank, and functions that send an object to another rank
or receive one. Collective operations are binomial trees of such messages, the same for both
libraries, so that sums are added in one order and ranks can wait without keeping a processor busy.
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
from numpy.typing import NDArray

from princomp.errors import ParameterError
from princomp.linalg import empty

T = TypeVar("T")

# Seconds between two checks for a message. They grow from _MIN_PAUSE to _MAX_PAUSE: otherwise ranks
# that share a processor would take it from each other by polling.
_MIN_PAUSE, _MAX_PAUSE = 1e-5, 2e-3
# Bytes of a large array that are sent at a time.
_PIECE_BYTES = 2**26


class Communicator:
    """A group of ranks, numbered from 0, that this process belongs to.

    A subclass implements ``send`` and ``receive``.

    Parameters
    ----------
    name : str
        Name of the ranks in plans and messages.
    rank, size : int
    """

    def __init__(self, name: str, rank: int, size: int) -> None:
        self.name, self.rank, self.size = name, rank, size
        # Ctrl-C is raised where the other ranks can be informed, and delayed elsewhere.
        self._may_raise = False
        self._interrupt: KeyboardInterrupt | None = None

    def send(self, value: object, to: int) -> None:
        """Send an object to a rank, which must call ``receive``."""
        raise NotImplementedError

    def receive(self, source: int) -> Any:
        """Receive the next object from a rank."""
        raise NotImplementedError

    def close(self) -> None:
        """Release what belongs to this group alone."""

    @contextmanager
    def interrupts(self, *, allowed: bool) -> Iterator[None]:
        """Raise Ctrl-C in this block if ``allowed``, otherwise delay it.

        It is allowed in a block whose errors are sent to the other ranks.
        """
        previous, self._may_raise = self._may_raise, allowed
        try:
            if allowed:
                self.raise_interrupt()
            yield
        finally:
            self._may_raise = previous

    def on_interrupt(self, *_: object) -> None:
        """Handle Ctrl-C: raise it now or at the next chance; a second one is raised now."""
        interrupt = KeyboardInterrupt()
        if self._may_raise or self._interrupt is not None:
            raise interrupt
        self._interrupt = interrupt

    def raise_interrupt(self) -> None:
        """Raise a Ctrl-C that came during a collective operation.

        Raises
        ------
        KeyboardInterrupt
        """
        interrupt, self._interrupt = self._interrupt, None
        if interrupt is not None:
            raise interrupt

    @property
    def _children(self) -> list[int]:
        """The ranks that send their sums to this one, in order; each sums a subtree."""
        steps = (1 << i for i in range(self.size.bit_length()))
        lowest = self.rank & -self.rank or self.size
        return [self.rank + s for s in steps if s < lowest and self.rank + s < self.size]

    @property
    def _parent(self) -> int:
        """The rank that gets this one's sum."""
        return self.rank & (self.rank - 1)

    def reduce(self, value: T, join: Callable[[T, T], T]) -> T:
        """Join the values of all ranks in their order on rank 0, those of a subtree elsewhere.

        ``join`` must not raise: the other ranks would wait for an answer.
        """
        with self.interrupts(allowed=False):
            for other in self._children:
                value = join(value, self.receive(other))
            if self.rank:
                self.send(value, self._parent)
        return value

    def gather(self, value: T) -> list[T]:
        """Return the values of all ranks in their order on rank 0; elsewhere some of them."""
        return self.reduce([value], lambda one, other: one + other)

    def broadcast(self, value: object = None) -> Any:
        """Return the value of rank 0 on every rank."""
        with self.interrupts(allowed=False):
            if self.rank:
                value = self.receive(self._parent)
            for other in reversed(self._children):
                self.send(value, other)
        return value


class _Mpi(Communicator):
    """Ranks of an mpi4py communicator; arrays are sent without a copy."""

    def __init__(self, comm: Any) -> None:
        from mpi4py import MPI
        from mpi4py.util.pkl5 import Intracomm

        if not isinstance(comm, MPI.Intracomm) or comm == MPI.COMM_NULL:
            raise _not_a_communicator(comm)
        super().__init__("MPI ranks", comm.rank, comm.size)
        # A duplicate, so that messages of the program do not mix with ours.
        self._comm = Intracomm(MPI.Intracomm.Dup(comm))

    def close(self) -> None:
        self._comm.Free()

    # A blocking send to a receiver that is not ready keeps a processor busy, and neither rank
    # handles Ctrl-C. So the receiver asks first, and ranks poll while they wait.

    def send(self, value: Any, to: int) -> None:
        self._await_message(to).recv()
        # Send all parts at once: the receiver looks for the next one before it takes the previous.
        self._comm.isend(value, to).wait()

    def receive(self, source: int) -> Any:
        self._comm.send(None, source)
        return self._await_message(source).recv()

    def _await_message(self, source: int) -> Any:
        pause = _MIN_PAUSE
        while True:
            message = self._comm.improbe(source, 0)
            if message is not None:
                return message
            time.sleep(pause)
            pause = min(1.5 * pause, _MAX_PAUSE)


class _Torch(Communicator):
    """Ranks of a ``torch.distributed`` group; everything is sent as tensors of bytes."""

    def __init__(self, comm: Any) -> None:
        import torch
        from torch import distributed

        if not distributed.is_initialized():
            raise ParameterError(
                "comm is torch.distributed, which is not initialized",
                place={"parameter": "comm"},
                hint="call torch.distributed.init_process_group(…) first",
            )
        group = distributed.group.WORLD if comm is distributed else comm
        if not isinstance(group, distributed.ProcessGroup):
            raise _not_a_communicator(comm)
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

    def _send_bytes(self, array: NDArray[np.uint8], to: int) -> None:
        to = self._distributed.get_global_rank(self._group, to)
        for first in range(0, len(array), _PIECE_BYTES):
            piece = array[first : first + _PIECE_BYTES]
            # A copy: torch takes no read-only arrays.
            tensor = self._torch.from_numpy(piece.copy()).to(self._device)
            self._distributed.send(tensor, to, group=self._group)

    def _receive_bytes(self, size: int, source: int) -> NDArray[np.uint8]:
        source = self._distributed.get_global_rank(self._group, source)
        array = empty(size, dtype=np.uint8)
        for first in range(0, size, _PIECE_BYTES):
            piece = array[first : first + _PIECE_BYTES]
            tensor = self._torch.empty(len(piece), dtype=self._torch.uint8, device=self._device)
            self._distributed.recv(tensor, source, group=self._group)
            piece[:] = tensor.cpu().numpy()
        return array


@contextmanager
def communicator(comm: object) -> Iterator[Communicator]:
    """Open the group of ranks behind a user's ``comm``.

    Parameters
    ----------
    comm : mpi4py communicator, torch.distributed group, or the module torch.distributed

    Raises
    ------
    ParameterError
        For anything else, and on a process that does not belong to it.
    """
    module_name = comm.__name__ if isinstance(comm, ModuleType) else type(comm).__module__
    libraries: dict[str, Callable[[Any], Communicator]] = {"mpi4py": _Mpi, "torch": _Torch}
    library = libraries.get(module_name.partition(".")[0])
    if library is None:
        raise _not_a_communicator(comm)
    group = library(comm)
    handler = signal.getsignal(signal.SIGINT)
    # So that Ctrl-C leaves no rank waiting. A program that handles signals itself keeps doing so.
    in_main_thread = threading.current_thread() is threading.main_thread()
    handles_interrupts = in_main_thread and handler is signal.default_int_handler
    if handles_interrupts:
        signal.signal(signal.SIGINT, group.on_interrupt)
    try:
        yield group
    finally:
        if handles_interrupts:
            signal.signal(signal.SIGINT, handler)
        group.close()
    group.raise_interrupt()


def _not_a_communicator(comm: object) -> ParameterError:
    name = comm.__name__ if isinstance(comm, ModuleType) else type(comm).__name__
    return ParameterError(
        f"comm={name} is not a group of ranks that this process belongs to",
        place={"parameter": "comm"},
        hint="give an mpi4py communicator such as MPI.COMM_WORLD, torch.distributed, or one of "
        "its groups",
    )
