"""What goes along with the passes of one fit: threads, progress, and a checkpoint."""

from __future__ import annotations

from princomp.checkpoint import Checkpoint, State
from princomp.progress import Tell, Teller

__all__ = ["Passes"]


class Passes:
    """Companion of a fit from its first pass to its last.

    Parameters
    ----------
    threads : int, optional
        That sum blocks; all processors by default.
    tell : callable, optional
        Gets a :class:`~princomp.progress.Progress` now and then.
    checkpoint : Checkpoint, optional
    """

    def __init__(
        self,
        *,
        threads: int | None = None,
        tell: Tell | None = None,
        checkpoint: Checkpoint | None = None,
    ) -> None:
        self.threads = threads
        self.checkpoint = checkpoint
        self._teller = Teller(tell)
        self._state: State | None = None

    def begin(self, step: str, total: int | None, row_bytes: float) -> State | None:
        """A pass begins; what an earlier run did of it."""
        known = None if self.checkpoint is None else self.checkpoint.begin()
        self._state = None
        self._teller.begin(step, total, row_bytes, 0 if known is None else known.row)
        return known

    def advance(self, state: State) -> None:
        """The rows before ``state.row`` are summed."""
        self._state = state
        self._teller.advance(state.row)
        if self.checkpoint is not None:
            self.checkpoint.advance(state)

    def finish(self, state: State) -> None:
        """The pass is done."""
        self._teller.advance(state.row, done=True)
        if self.checkpoint is not None:
            self.checkpoint.finish(state)

    def interrupted(self) -> None:
        """Something ends the pass before its end: keep what was summed."""
        if self.checkpoint is not None and self._state is not None:
            self.checkpoint.save()

    def close(self) -> None:
        """The fit is over, well or not: let go of the checkpoint, which stays."""
        if self.checkpoint is not None:
            self.checkpoint.close()
