"""What all summaries about a mean share: their sizes, and the arithmetic of a merge."""

from __future__ import annotations

from typing import NamedTuple

from princomp.arrays import FloatArray
from princomp.summaries.blocks import check_mergeable, merged_mean

__all__ = ["Centred", "Joined"]


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
