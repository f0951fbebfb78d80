"""Two summaries of the same rows, folded in one pass."""

from __future__ import annotations

from typing import Any

from princomp.summaries.blocks import Weights, added_in_place

__all__ = ["Pair", "PairOf"]


class Pair:
    """What two kinds keep of the same rows."""

    __slots__ = ("first", "second")

    def __init__(self, first: Any, second: Any) -> None:
        self.first, self.second = first, second

    @property
    def rows(self) -> float:
        """Sum of the weights."""
        return float(self.first.rows)

    def held(self) -> Pair:
        """The same with its numbers in this process's memory."""
        return Pair(self.first.held(), self.second)

    def merge(self, other: Pair) -> Pair:
        """Both of the rows of both."""
        return Pair(self.first.merge(other.first), self.second.merge(other.second))


class PairOf:
    """Makes pairs of two kinds of summary."""

    complete_only = True

    def __init__(self, first: Any, second: Any) -> None:
        self.first, self.second = first, second
        self.block_rows = first.block_rows

    def adds(self, p: int, *, sparse: bool = False) -> bool:
        """Whether blocks of so many columns are better added in place: as the first's are."""
        return added_in_place(self.first, p, sparse=sparse)

    def empty(self, p: int) -> Pair:
        """A pair of no rows."""
        return Pair(self.first.empty(p), self.second.empty(p))

    def add(
        self, pair: Pair, block: Any, weights: Weights = None, *, precise: bool = False
    ) -> Pair:
        """The pair of the rows of both; the first of ``pair`` is used up."""
        second = pair.second.merge(self.second.of(block, weights, precise=precise))
        return Pair(self.first.add(pair.first, block, weights, precise=precise), second)

    def of(self, block: Any, weights: Weights = None, *, precise: bool = False) -> Pair:
        """Both of a block."""
        return Pair(
            self.first.of(block, weights, precise=precise),
            self.second.of(block, weights, precise=precise),
        )
