"""Progress reports and the checkpoint of a fit, for all of its passes over the rows."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import NamedTuple

from princomp.errors import OutputError, invalid_value
from princomp.io import Checkpoint, State

# Seconds between two reports: frequent enough to watch, and rare enough to cost nothing.
REPORT_INTERVAL = 0.1


class Progress(NamedTuple):
    """Progress of one pass over the rows.

    Attributes
    ----------
    step : str
        Purpose of this pass: "moments", "triangle", "sketch", "krylov", "transform", …
    number : int
        Number of the pass, from 1.
    rows : int
        Rows of this pass that are done.
    total_rows : int or None
        Rows of the whole pass, or None where their number is not known yet.
    fraction : float or None
        Part of this pass that is done.
    bytes : int
        Bytes of rows that are done in this pass.
    seconds : float
        Seconds since this pass began.
    bytes_per_second : float
        Rate of this pass.
    seconds_left : float or None
        Estimated time left for this pass.
    done : bool
        Whether the pass is finished.
    unit : str
        What ``rows`` counts: "rows"; "draws" of a rule for the number of components; "resamples";
        "fits" that are compared.

    Examples
    --------
    >>> import numpy as np
    >>> from princomp import PCA
    >>> seen = []
    >>> model = PCA(1).fit(np.eye(300), progress=seen.append)
    >>> seen[-1].done
    True
    """

    step: str
    number: int
    rows: int
    total_rows: int | None
    fraction: float | None
    bytes: int
    seconds: float
    bytes_per_second: float
    seconds_left: float | None
    done: bool
    unit: str = "rows"


ProgressCallback = Callable[[Progress], object]


class ProgressReporter:
    """Counts the rows of a pass and calls back with its progress, at most ten times a second."""

    def __init__(self, callback: ProgressCallback | None) -> None:
        _check_callback(callback)
        self._callback, self._number = callback, 0

    def begin(
        self, step: str, total: int | None, row_bytes: float, start: int = 0, unit: str = "rows"
    ) -> None:
        """Begin a pass at row ``start``."""
        self._number += 1
        self._step, self._total, self._row_bytes, self._unit = step, total, row_bytes, unit
        self._first = self._rows = start
        self._began = self._last = time.monotonic()

    def report_start(self) -> None:
        """Report that a pass has begun whose next report is its last."""
        if self._callback is not None:
            self._callback(self._progress(0.0, False))

    def advance(self, rows: int, *, done: bool = False) -> None:
        """Count ``rows`` rows of this pass as done."""
        self._rows = rows
        if self._callback is None:
            return
        now = time.monotonic()
        # Some clocks go back.
        if not done and 0 <= now - self._last < REPORT_INTERVAL:
            return
        self._last = now
        self._callback(self._progress(now - self._began, done))

    def _progress(self, seconds: float, done: bool) -> Progress:
        rows, total = self._rows, self._rows if done else self._total
        rows_read = rows - self._first  # a resumed pass did not read the earlier rows
        rate = rows_read / seconds if seconds > 0 else 0.0
        return Progress(
            step=self._step,
            number=self._number,
            rows=rows,
            total_rows=total,
            fraction=min(rows / total, 1.0) if total else None,
            bytes=int(rows * self._row_bytes),
            seconds=max(seconds, 0.0),
            bytes_per_second=rate * self._row_bytes,
            seconds_left=None if total is None or rate == 0 else max(total - rows, 0) / rate,
            done=done,
            unit=self._unit,
        )


def _check_callback(callback: object) -> None:
    if callback is not None and not callable(callback):
        hint = "it is called with a princomp.Progress: progress=print shows it"
        raise invalid_value("progress", callback, "a function", hint)


class RunContext:
    """Progress reports and checkpoint of a fit, from its first pass to its last.

    Parameters
    ----------
    progress : callable, optional
        Called repeatedly with a :class:`Progress`.
    checkpoint : Checkpoint, optional
    """

    def __init__(
        self, *, progress: ProgressCallback | None = None, checkpoint: Checkpoint | None = None
    ) -> None:
        self.checkpoint = checkpoint
        self.reporter = ProgressReporter(progress)
        self._draws_step = ""  # step of the current rule that draws at random

    def begin(self, step: str, total: int | None, row_bytes: float) -> State | None:
        """Begin a pass; return the state that an interrupted run had reached, if any."""
        saved = None if self.checkpoint is None else self.checkpoint.begin()
        self.reporter.begin(step, total, row_bytes, 0 if saved is None else saved.row)
        return saved

    def report_draws(self, step: str, done: int, total: int) -> None:
        """Report the random draws of a rule for the number of components; it reads no row."""
        if self._draws_step != step:
            self.reporter.begin(step, total, 0.0, unit="draws")
        self._draws_step = "" if done >= total else step
        self.reporter.advance(done, done=done >= total)

    def record_states(self, states: Iterator[State], *, in_place: bool) -> Iterator[State]:
        """Yield the states of a pass, and record each one; save the last if an exception ends it.

        States that are changed in place are not saved while the next one is computed.
        """
        may_save = False
        try:
            for state in states:
                may_save = True
                self.advance(state)
                yield state
                may_save = not in_place
        except BaseException:
            if self.checkpoint is not None and may_save:
                # Raise the first error instead; if the disk is full, the old file is still there.
                with suppress(OutputError):
                    self.checkpoint.save()
            raise

    def advance(self, state: State) -> None:
        """Record that the rows before ``state.row`` are summed."""
        if self.checkpoint is not None:
            self.checkpoint.advance(state)
        # Last, since a callback may raise: by then, the rows are recorded as summed.
        self.reporter.advance(state.row)

    def finish(self, state: State) -> None:
        """Record that the pass is done."""
        if self.checkpoint is not None:
            try:
                self.checkpoint.finish(state)
            except (KeyboardInterrupt, SystemExit):
                with suppress(OutputError):
                    self.checkpoint.save()
                raise
        self.reporter.advance(state.row, done=True)

    def close(self) -> None:
        """Release the checkpoint when the fit ends or fails; its file stays."""
        if self.checkpoint is not None:
            self.checkpoint.close()
