"""Rules that look at the fall of the variances alone: Kaiser, broken stick, elbow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from princomp.arrays import EPS, FloatArray
from princomp.choosing.decision import Decision, Known
from princomp.choosing.rule import components, in_words, leading_run, plain

__all__ = ["BrokenStick", "Elbow", "Kaiser", "broken_stick"]


@dataclass(frozen=True)
class Kaiser:
    """Variances above the mean variance, which is 1 with unit scale (Kaiser 1960)."""

    name: ClassVar[str] = "kaiser"
    needs: ClassVar[str] = "leading"
    counts_rows: ClassVar[bool] = False

    def decide(self, known: Known) -> Decision | None:
        """Count them."""
        mean = known.total / known.columns
        # Equal variances differ by rounding, and none of them is above their mean.
        k = leading_run(known.possible, mean * (1 + 16 * known.columns * EPS), known)
        if k is None:
            return None
        reason = f"{in_words(k, 'variance', 'exceed')} the mean, {mean:.4g}"
        return Decision(self.name, k, reason, "variance", plain(known.possible), mean)


def broken_stick(pieces: int) -> FloatArray:
    """Expected lengths (pieces,) of a stick of length 1 broken at random, descending.

    b_k = (1/p) Σ_{i ≥ k} 1/i (MacArthur 1957, Frontier 1976).
    """
    return np.cumsum(1.0 / np.arange(pieces, 0, -1))[::-1] / pieces


@dataclass(frozen=True)
class BrokenStick:
    """Contribution rates above the expected pieces of a broken stick (Jackson 1993).

    There are as many pieces as variances that can be above zero.
    """

    name: ClassVar[str] = "broken-stick"
    needs: ClassVar[str] = "leading"
    counts_rows: ClassVar[bool] = False

    def decide(self, known: Known) -> Decision | None:
        """Count the leading ones."""
        pieces = broken_stick(known.most)
        rates = known.possible / known.total
        k = leading_run(rates, pieces * (1 + 16 * known.columns * EPS), known)
        if k is None:
            return None
        reason = f"{in_words(k, 'rate', 'exceed')} the pieces of a stick broken at random"
        return Decision(self.name, k, reason, "contribution rate", plain(rates), plain(pieces))


@dataclass(frozen=True)
class Elbow:
    """Components before the variance that lies farthest below the chord from first to last.

    The chord joins the first and the last variance of the scree plot; the farthest point below
    it begins the scree, and what goes before is kept (Cattell 1966). Equal variances are scree
    from the first on: no component is kept. Variances that fall along a straight line, or above
    it, have no bend: the rule does not apply.
    """

    name: ClassVar[str] = "elbow"
    needs: ClassVar[str] = "all"
    counts_rows: ClassVar[bool] = False

    def decide(self, known: Known) -> Decision | None:
        """Find it."""
        values = known.possible
        if len(values) < 3:
            few = "1 variance has" if len(values) == 1 else f"{len(values)} variances have"
            return Decision.none(self.name, f"{few} no elbow")
        fall = values[0] - values[-1]
        if not fall > 16 * len(values) * EPS * values[0]:
            reason = "all variances are equal, so the scree begins at the first: no component"
            below = np.zeros(len(values))
            return Decision(self.name, 0, reason, "distance below the chord", plain(below))
        # Distances to one line are all the same multiple of those along the axis.
        chord = np.linspace(1.0, 0.0, len(values))
        below = chord - (values - values[-1]) / fall
        if below.max() <= 16 * EPS:
            why = "no variance lies below the chord from the first to the last, so there is no bend"
            return Decision.none(self.name, why)
        k = int(np.argmax(below))
        reason = f"variance {k + 1} lies farthest below the chord, so {components(k)} before it"
        return Decision(self.name, k, reason, "distance below the chord", plain(below))
