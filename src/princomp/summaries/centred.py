"""What all summaries about a mean share: their sizes, and the arithmetic of a merge."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from princomp.arrays import EPS, FloatArray
from princomp.errors import ShapeError
from princomp.summaries.blocks import block_rows, check_mergeable, merged_mean

__all__ = ["Centred", "Joined", "check_left_scatter", "left_count", "left_rows"]


class Joined(NamedTuple):
    """Rows and mean of two summaries together, and how far apart their means are."""

    rows: float
    added: int
    mean: FloatArray
    mean_low: FloatArray
    delta: FloatArray
    between: float  # n₁n₂/(n₁+n₂), the weight of δδᵀ in the joint scatter


class Centred:
    """Base of the summaries that keep a mean; see :class:`~princomp.summaries.Moments`."""

    __slots__ = ()

    # A kind says how its blocks are cut, and whether incomplete rows must go before they
    # are seen or show in its own sums.
    block_rows = staticmethod(block_rows)
    complete_only = False

    rows: float
    count: int
    mean: FloatArray
    mean_low: FloatArray
    centred: bool

    @property
    def p(self) -> int:
        """Number of columns."""
        return len(self.mean)

    @property
    def rank_limit(self) -> int:
        """The rank of the scatter is at most this."""
        return max(0, min(self.p, self.count - self.centred))

    @property
    def kind(self) -> str:
        """What messages call it, wherever its numbers are."""
        return type(self).__name__

    def held(self) -> Any:
        """The same summary with its numbers in this process's memory."""
        return self

    def _joined(self, other: Centred) -> Joined | None:
        """What a merge needs, or None where one of the two has no rows."""
        check_mergeable(self, other)
        if not (self.rows and other.rows):
            return None
        rows = self.rows + other.rows
        delta = (other.mean - self.mean) + (other.mean_low - self.mean_low)
        share = other.rows / rows
        mean, low = merged_mean(self.mean, self.mean_low, delta, share)
        return Joined(rows, self.count + other.count, mean, low, delta, self.rows * share)


# ---- what removing rows leaves: shared by the summaries that are groups ------------------


def left_rows(whole: Any, part: Any) -> float:
    """Rows left when those of ``part`` are taken out of ``whole``.

    Raises
    ------
    ShapeError
        When more is removed than was there.
    """
    rows: float = whole.rows - part.rows
    if rows < -whole.rows * EPS or (part.rows and not whole.rows):
        raise ShapeError(
            f"cannot remove {part.rows:g} rows from {whole.rows:g}",
            hint="remove only rows that were added before",
        )
    return rows


def left_count(whole: Any, part: Any) -> int:
    """Rows counted once each; where weights are in play a row may be left in part."""
    plain = whole.rows == whole.count and part.rows == part.count
    return int(whole.count - part.count if plain else whole.count)


def check_left_scatter(whole: Any, part: Any, left: FloatArray) -> NDArray[np.bool_]:
    """Columns (p,) of which nothing but rounding is left.

    Raises
    ------
    ShapeError
        When the rows to remove spread further than all rows do.
    """
    slack = 64 * whole.p * max(whole.unit, part.unit) * whole.column_scatter
    if (left < -slack).any():
        column = int(np.argmin(left + slack))
        raise ShapeError(
            f"the rows to remove spread further in column {column} than all rows do",
            place={"column": column},
            hint="remove only rows that were added before",
        )
    spent: NDArray[np.bool_] = left <= slack
    return spent
