"""What some rows came to, wherever they lie: shares join in the order of the rows."""

from __future__ import annotations

from copy import copy
from typing import Any, NamedTuple

from princomp.errors import PrincompError

__all__ = ["Folded", "Share", "joined"]


class Folded(NamedTuple):
    """The summary of all rows, how many were left out, and how many there were."""

    summary: Any
    dropped: int
    seen: int


class Share(NamedTuple):
    """What the rows of a partition came to, or those of several, one after the other.

    A fault in the rows is a value, not an exception: whoever holds all shares raises the
    first one, with its row counted over all of them, so the message is the same on any
    engine.

    Parameters
    ----------
    summary : summary or None
        None where there is a fault.
    dropped : int
        Rows left out for missing values.
    rows : int
    fault : PrincompError, optional
        The first; ``place["row"]`` counts from the first row of this share.
    """

    summary: Any
    dropped: int
    rows: int
    fault: PrincompError | None = None

    def folded(self) -> Folded:
        """What a fold answers.

        Raises
        ------
        PrincompError
            The fault.
        """
        if self.fault is not None:
            raise self.fault
        return Folded(self.summary, self.dropped, self.rows)


def joined(one: Share, other: Share) -> Share:
    """The share of the rows of ``one`` and then those of ``other``."""
    rows = one.rows + other.rows
    if one.fault is not None:
        return one._replace(rows=rows)
    if other.fault is not None:
        # A copy: an engine may join the same share again.
        fault = copy(other.fault)
        fault.place = dict(fault.place)
        if "row" in fault.place:
            fault.place["row"] += one.rows
        return Share(None, 0, rows, fault)
    summary = one.summary.merge(other.summary)
    return Share(summary, one.dropped + other.dropped, rows)
