"""What goes along with the passes of one fit: threads, progress, and a checkpoint."""

from __future__ import annotations

from contextlib import suppress

from princomp.checkpoint import Checkpoint, State
from princomp.errors import OutputError
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
        self._step = ""  # of a rule that draws

    def begin(self, step: str, total: int | None, row_bytes: float) -> State | None:
        """A pass begins; what an earlier run did of it."""
        known = None if self.checkpoint is None else self.checkpoint.begin()
        self._state = None
        self._teller.begin(step, total, row_bytes, 0 if known is None else known.row)
        return known

    def drawn(self, step: str, done: int, total: int) -> None:
        """A rule that counts components has drawn so often; no row is read for it."""
        if self._step != step:
            self._teller.begin(step, total, 0.0, unit="draws")
        self._step = "" if done >= total else step
        self._teller.advance(done, done=done >= total)

    def waiting(self) -> None:
        """Rows are summed elsewhere: say that they are before nothing is heard for long."""
        self._teller.waiting()

    def changing(self) -> None:
        """The state is being worked on: what is interrupted now must not be kept."""
        self._state = None

    def advance(self, state: State) -> None:
        """The rows before ``state.row`` are summed."""
        self._state = state
        if self.checkpoint is not None:
            self.checkpoint.advance(state)
        # Last, since whoever is told may raise: the rows are summed all the same.
        self._teller.advance(state.row)

    def finish(self, state: State) -> None:
        """The pass is done."""
        self._state = None
        if self.checkpoint is not None:
            try:
                self.checkpoint.finish(state)
            except (KeyboardInterrupt, SystemExit):
                with suppress(OutputError):
                    self.checkpoint.save()
                raise
        self._teller.advance(state.row, done=True)

    def interrupted(self) -> None:
        """Something ends the pass before its end: keep what was summed."""
        if self.checkpoint is not None and self._state is not None:
            # What ends the pass is what is told; a full disk leaves the file as it was.
            with suppress(OutputError):
                self.checkpoint.save()

    def close(self) -> None:
        """The fit is over, well or not: let go of the checkpoint, which stays."""
        if self.checkpoint is not None:
            self.checkpoint.close()
