"""Rules based on the spectrum of pure noise: the Marchenko–Pastur law (1967).

The squared singular values of an N × p matrix of independent entries of variance σ², divided by
L σ² where L is the larger side, fill the interval (1 ± √β)², where β ≤ 1 is the ratio of the sides.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from princomp.errors import invalid_value
from princomp.rules.decision import Decision, Known, is_real, threshold_decision

# Below this ratio the law is symmetric about 1 to machine precision.
_SMALL_BETA = 1e-7


@lru_cache(maxsize=64)
def law_median(beta: float) -> float:
    """Return the median of the law for sides of ratio ``beta`` in (0, 1], to 1e-9.

    With x = 1 + β + 2√β cos φ the law is (2/π) sin²φ / x dφ, whose integral is elementary.
    """
    if beta < _SMALL_BETA:
        return 1.0
    root = float(np.sqrt(beta))
    centre, half_width = 1.0 + beta, 2.0 * root

    def probability_above(angle: float) -> float:
        """Probability above the point of this angle."""
        angle_term = np.arctan2((1.0 - root) * np.sin(angle / 2), (1.0 + root) * np.cos(angle / 2))
        integral = centre * angle - half_width * np.sin(angle) - 2.0 * (1.0 - beta) * angle_term
        return float(2.0 / np.pi * integral / half_width**2)

    low, high = 0.0, float(np.pi)
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if probability_above(middle) < 0.5 else (low, middle)
    return float(centre + half_width * np.cos(low))


def optimal_threshold(beta: float) -> float:
    """Optimal threshold λ(β) in units of √L σ: 4/√3 if square (Gavish & Donoho 2014, eq. 11)."""
    root = np.sqrt(beta**2 + 14 * beta + 1)
    return float(np.sqrt(2 * (beta + 1) + 8 * beta / (beta + 1 + root)))


def optimal_median_factor(beta: float) -> float:
    """Optimal threshold ω(β) in units of the median singular value: λ(β)/√(median of the law)."""
    return optimal_threshold(beta) / float(np.sqrt(law_median(beta)))


@dataclass(frozen=True)
class _NoiseRule:
    """Base class of rules that know the standard deviation of the noise, or estimate it."""

    noise: float | None = None
    needs = "all"

    def __post_init__(self) -> None:
        if self.noise is not None and not (is_real(self.noise) and 0 < self.noise < np.inf):
            hint = "give the standard deviation of the noise, or None to estimate it"
            raise invalid_value("noise", self.noise, "a positive number", hint)


@dataclass(frozen=True)
class GavishDonoho(_NoiseRule):
    """Keep singular values above the optimal hard threshold (Gavish & Donoho 2014).

    Parameters
    ----------
    noise : float, optional
        Standard deviation of the noise, in units of the analysed columns. By default it is
        estimated from the median singular value, so fewer than half of the components may be
        signal.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from princomp import PCA, rules
    >>> print(PCA(rules.GavishDonoho(), scale="unit").fit(load_wine().data).decision_)
    gavish-donoho: 3 singular values exceed 15.43, 1.5627 times their median
    """

    name = "gavish-donoho"

    def decide(self, known: Known) -> Decision | None:
        """Count the singular values above the threshold."""
        if known.whole_freedom < 1:
            return Decision.none(self.name, "there are too few rows")
        longer_side, beta = _longer_side_and_ratio(known)
        values = np.sqrt(known.possible[: known.dimensions] * known.divisor)
        if self.noise is not None:
            threshold = optimal_threshold(beta) * np.sqrt(longer_side) * self.noise
            origin = f"for noise of deviation {self.noise:.4g}"
        else:
            median = float(np.median(values))
            if median**2 <= known.resolution * known.divisor:
                return Decision.none(
                    self.name, "the median singular value is zero or rounding error"
                )
            factor = optimal_median_factor(beta)
            threshold, origin = factor * median, f"{factor:.4f} times their median"
        description, name = f"{threshold:.4g}, {origin}", "singular value"
        return threshold_decision(
            self.name, known, values, threshold, description, measure=name, details={"beta": beta}
        )


@dataclass(frozen=True)
class MarchenkoPastur(_NoiseRule):
    """Keep variances above the upper edge of noise, σ²(1 + √β)² L/(n − 1).

    Parameters
    ----------
    noise : float, optional
        Standard deviation of the noise, in units of the analysed columns. By default it is
        estimated from the median variance and the median of the law.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from princomp import PCA, rules
    >>> print(PCA(rules.MarchenkoPastur(), scale="unit").fit(load_wine().data).decision_)
    marchenko-pastur: 4 variances exceed 0.9126, the upper edge of noise of the median variance
    """

    name = "marchenko-pastur"

    def decide(self, known: Known) -> Decision | None:
        """Count the variances above the edge."""
        if known.whole_freedom < 1:
            return Decision.none(self.name, "there are too few rows")
        longer_side, beta = _longer_side_and_ratio(known)
        values = known.possible[: known.dimensions]
        if self.noise is not None:
            noise_variance, origin = float(np.float64(self.noise) ** 2), "noise"
        else:
            median, origin = float(np.median(values)), "noise of the median variance"
            noise_variance = median * known.divisor / (longer_side * law_median(beta))
            if noise_variance * longer_side <= known.resolution * known.divisor:
                return Decision.none(self.name, "the median variance is zero or rounding error")
        edge = noise_variance * (1.0 + np.sqrt(beta)) ** 2 * longer_side / known.divisor
        description = f"{edge:.4g}, the upper edge of {origin}"
        details = {"beta": beta, "noise_variance": noise_variance}
        return threshold_decision(self.name, known, values, edge, description, details=details)


def _longer_side_and_ratio(known: Known) -> tuple[float, float]:
    """Larger side of the centred table, and the ratio of the sides, without dependent ones."""
    shorter, longer = sorted((known.freedom, float(known.columns)))
    if known.dimensions < int(shorter + 1e-9):
        shorter = float(known.dimensions)
    return longer, shorter / longer
