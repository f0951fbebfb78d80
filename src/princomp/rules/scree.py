"""Rules that look at the decrease of the variances alone: Kaiser, broken stick, elbow."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from princomp.linalg import EPS, FloatArray
from princomp.rules.decision import Decision, Known, component_count, floats, threshold_decision


@dataclass(frozen=True)
class Kaiser:
    """Keep the variances above the mean variance, which is 1 with unit scale (Kaiser 1960).

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from princomp import PCA, rules
    >>> print(PCA(rules.Kaiser(), scale="unit").fit(load_wine().data).decision_)
    kaiser: 3 variances exceed the mean, 1
    """

    name = "kaiser"
    needs = "leading"
    counts_rows = False

    def decide(self, known: Known) -> Decision | None:
        """Count the variances above the mean."""
        mean = known.total / known.columns
        # Equal variances differ by rounding; none of them is above their mean.
        slack = 1 + 16 * known.columns * EPS
        description = f"the mean, {mean:.4g}"
        return threshold_decision(self.name, known, known.possible, mean, description, slack=slack)


def broken_stick(pieces: int) -> FloatArray:
    """Expected lengths (pieces,) of a stick of length 1 broken at random, descending.

    b_k = (1/p) Σ_{i ≥ k} 1/i (MacArthur 1957, Frontier 1976).
    """
    return np.cumsum(1.0 / np.arange(pieces, 0, -1))[::-1] / pieces


@dataclass(frozen=True)
class BrokenStick:
    """Keep the contribution rates above the pieces of a broken stick (Jackson 1993).

    There are as many pieces as variances that can be above zero.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from princomp import PCA, rules
    >>> print(PCA(rules.BrokenStick(), scale="unit").fit(load_wine().data).decision_)
    broken-stick: 2 leading rates exceed the pieces of a stick broken at random
    """

    name = "broken-stick"
    needs = "leading"
    counts_rows = False

    def decide(self, known: Known) -> Decision | None:
        """Count the leading rates above the expected pieces."""
        return threshold_decision(
            self.name,
            known,
            known.possible / known.total,
            broken_stick(known.most),
            "the pieces of a stick broken at random",
            measure="contribution rate",
            noun="rate",
            slack=1 + 16 * known.columns * EPS,
        )


@dataclass(frozen=True)
class Elbow:
    """Keep the components before the elbow of the scree plot (Cattell 1966).

    The elbow is the variance farthest below the chord that joins the first and the last one.
    When all variances are equal, no component is kept. When no variance lies below the chord,
    there is no elbow and the rule does not apply.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from princomp import PCA, rules
    >>> print(PCA(rules.Elbow(), scale="unit").fit(load_wine().data).decision_)
    elbow: variance 4 is farthest below the chord, after 3 components
    """

    name = "elbow"
    needs = "all"
    counts_rows = False

    def decide(self, known: Known) -> Decision | None:
        """Find the variance farthest below the chord."""
        values, measure = known.possible, "distance below the chord"
        if len(values) < 3:
            few = "1 variance has" if len(values) == 1 else f"{len(values)} variances have"
            return Decision.none(self.name, f"{few} no elbow")
        drop = values[0] - values[-1]
        if not drop > 16 * len(values) * EPS * values[0]:
            reason = "all variances are equal, so no component is kept"
            return Decision(self.name, 0, reason, measure, floats(np.zeros(len(values))))
        # Perpendicular distances to the chord are proportional to vertical ones.
        chord = np.linspace(1.0, 0.0, len(values))
        below = chord - (values - values[-1]) / drop
        if below.max() <= 16 * EPS:
            why = "no variance lies below the chord from the first to the last, so there is no bend"
            return Decision.none(self.name, why)
        k = int(np.argmax(below))
        reason = f"variance {k + 1} is farthest below the chord, after {component_count(k)}"
        return Decision(self.name, k, reason, measure, floats(below))
