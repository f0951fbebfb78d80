"""Two summaries of the same rows, computed in one pass."""

from __future__ import annotations

from typing import Any, NamedTuple

from princomp.summaries.blocks import Block, Weights, is_added_in_place


class Pair(NamedTuple):
    """Two summaries of the same rows."""

    first: Any
    second: Any

    @property
    def rows(self) -> float:
        """Sum of the weights."""
        return float(self.first.rows)

    def to_host(self) -> Pair:
        """Return the pair with the first summary on the host, where the second one always is."""
        return Pair(self.first.to_host(), self.second)

    def merge(self, other: Pair) -> Pair:
        """Pair of the rows of both."""
        return Pair(self.first.merge(other.first), self.second.merge(other.second))


class PairOf:
    """A kind of summary that computes a :class:`Pair` of two other kinds.

    Parameters
    ----------
    first : summary kind
        It determines the blocks, and whether they are added in place.
    second : summary kind
        A small summary, such as Extremes.
    """

    complete_only = True

    def __init__(self, first: Any, second: Any) -> None:
        self.first, self.second = first, second
        self.block_rows = first.block_rows

    def adds_in_place(self, p: int, *, sparse: bool) -> bool:
        """Whether blocks are added in place, which depends on the first kind."""
        return is_added_in_place(self.first, p, sparse=sparse)

    def empty(self, p: int) -> Pair:
        """A pair of no rows."""
        return Pair(self.first.empty(p), self.second.empty(p))

    def add(
        self, pair: Pair, block: Block, weights: Weights = None, *, precise: bool = False
    ) -> Pair:
        """Add the rows of a block to ``pair``, whose first summary is overwritten."""
        second = pair.second.merge(self.second.of(block, weights, precise=precise))
        return Pair(self.first.add(pair.first, block, weights, precise=precise), second)

    def of(self, block: Block, weights: Weights = None, *, precise: bool = False) -> Pair:
        """Pair of a block."""
        return Pair(
            self.first.of(block, weights, precise=precise),
            self.second.of(block, weights, precise=precise),
        )
