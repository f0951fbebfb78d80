"""The summary of some of the rows of a table, and the protocol of kinds of summaries."""

from __future__ import annotations

from copy import copy
from typing import Any, NamedTuple, Protocol

from princomp.errors import PrincompError, row_words
from princomp.summaries import Weights


class SummaryKind(Protocol):
    """Makes summaries of rows: a class such as Moments, or an object such as ``SketchOf(…)``."""

    @property
    def complete_only(self) -> bool:
        """Whether rows with missing values must be left out before."""

    def block_rows(self, columns: int, /, *, sparse: bool = False) -> int:
        """Number of rows of a block, which depends on the columns only."""

    def empty(self, p: int, /) -> Any:
        """Return the summary of no rows."""

    def of(self, block: Any, /, weights: Weights = None, *, precise: bool = False) -> Any:
        """Return the summary of one block of rows."""


def reworded(error: PrincompError, message: str) -> PrincompError:
    """Return an error with another message."""
    return type(error)(message, place=error.place, hint=error.hint)


class PartialResult(NamedTuple):
    """The summary of the rows of a partition, or of several that follow each other.

    A fault in the rows is stored here instead of raised: the process that has all partial results
    raises the first fault, with its row counted over the whole table. So the message is the same
    on every engine.

    Parameters
    ----------
    summary : summary or None
        None where there is a fault.
    dropped : int
        Rows left out for missing values.
    rows : int
        Number of all rows, including those left out.
    fault : PrincompError, optional
        The first fault; ``place["row"]`` counts from the first row of this result.
    """

    summary: Any
    dropped: int
    rows: int
    fault: PrincompError | None = None

    def checked(self) -> PartialResult:
        """Return this result, or raise its fault."""
        if self.fault is not None:
            raise self.fault
        return self

    def with_row_in_message(self, words: str = "") -> PartialResult:
        """Put the row of a fault, counted over the table, and ``words`` before its message.

        A message about a value that is not finite gets its place later, from the table.
        """
        fault = self.fault
        if fault is None or "row" not in fault.place or getattr(fault, "value", None) is not None:
            return self
        row = row_words(fault.place["row"])
        return self._replace(fault=reworded(fault, f"{row}{words}: {fault.message}"))

    def merge(self, other: PartialResult) -> PartialResult:
        """Return the result of these rows followed by those of ``other``."""
        rows = self.rows + other.rows
        if self.fault is not None:
            return self._replace(rows=rows)
        if other.fault is not None:
            # A copy: an engine may merge the same result again.
            fault = copy(other.fault)
            fault.place = dict(fault.place)
            if "row" in fault.place:
                fault.place["row"] += self.rows
            return PartialResult(None, 0, rows, fault)
        summary = self.summary.merge(other.summary)
        return PartialResult(summary, self.dropped + other.dropped, rows)
