"""How far a fit has come, told to whoever asked."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

__all__ = ["Progress", "Tell", "Teller"]

# Seconds between two words: often enough for an eye, seldom enough to cost nothing.
_EVERY = 0.1


class Progress(NamedTuple):
    """One word on the way.

    Attributes
    ----------
    step : str
        What this pass is for: "moments", "triangle", "sketch", "krylov", "transform", …
    number : int
        Of the pass, from 1.
    rows : int
        Rows of this pass that are done.
    total_rows : int or None
        None where the end is not known.
    fraction : float or None
        Of this pass, by rows or by bytes, whichever is known.
    bytes : int
        Bytes of rows that are done in this pass.
    seconds : float
        Since this pass began.
    bytes_per_second : float
        Rate of this pass.
    seconds_left : float or None
        Of this pass, at its rate.
    done : bool
        Whether the pass is finished.
    unit : str
        What ``rows`` counts: "rows"; "draws" of a rule for the number of components; "resamples";
        "fits" that are compared.
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


Tell = Callable[[Progress], object]


class Teller:
    """Counts the rows of a pass and passes a word on, at most ten times a second."""

    def __init__(self, tell: Tell | None) -> None:
        self._tell, self._number = tell, 0
        self._step, self._row_bytes = "", 0.0
        self._total: int | None = None
        self._first = self._rows = 0
        self._began = self._last = 0.0
        self._unit = "rows"

    def begin(
        self, step: str, total: int | None, row_bytes: float, at: int = 0, unit: str = "rows"
    ) -> None:
        """A pass begins, at row ``at``."""
        self._unit = unit
        self._number += 1
        self._step, self._total, self._row_bytes = step, total, row_bytes
        self._first = self._rows = at
        self._began = self._last = time.monotonic()

    def waiting(self) -> None:
        """Somebody else does the work now, and the next word is that it is done."""
        if self._tell is not None:
            self._tell(self._word(0.0, False))

    def advance(self, rows: int, *, done: bool = False) -> None:
        """So many rows of this pass are done."""
        self._rows = rows
        if self._tell is None:
            return
        now = time.monotonic()
        if not done and now - self._last < _EVERY:
            return
        self._last = now
        self._tell(self._word(now - self._began, done))

    def _word(self, seconds: float, done: bool) -> Progress:
        rows, total = self._rows, self._rows if done else self._total
        fraction = None if not total else min(rows / total, 1.0)
        fresh = rows - self._first  # after a resume, the rows before were not read now
        rate = fresh / seconds if seconds > 0 else 0.0
        left = None if total is None or rate == 0 else max(total - rows, 0) / rate
        return Progress(
            self._step,
            self._number,
            rows,
            total,
            fraction,
            int(rows * self._row_bytes),
            seconds,
            rate * self._row_bytes,
            left,
            done,
            self._unit,
        )
