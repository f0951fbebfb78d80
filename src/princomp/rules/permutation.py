"""A permutation test of each component."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from princomp.linalg import FloatArray, binary_exponent
from princomp.rules import decision
from princomp.rules.decision import Decision, Known, check_share, check_whole

# A residual below this share of the table is a rounding error.
_ROUNDING = 1e-24


@dataclass(frozen=True)
class Permutation:
    """Keep the leading components that are significant in a permutation test.

    Components are tested in order (Dray 2008). The statistic is the share of the k-th variance
    in the variance that the first k − 1 components leave; it is compared with tables in which
    each column of these residuals is permuted. The same directions are removed from a permuted
    table as from the table itself, so that both have the same rank. The test of a component
    stops once it cannot become significant (Besag & Clifford 1991). With unit scale, the whole
    table is tested by Ψ = Σ(λ − 1)² and Φ = √((Σλ² − p) / (p(p − 1))) (Vieira 2012, Gleason &
    Staelin 1975).

    Parameters
    ----------
    draws : int, default=99
        Permuted tables for each component.
    level : float, default=0.05
        Significance level. It is not corrected for the number of tests, which end with the
        first component that is not significant.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from princomp import PCA, rules
    >>> print(PCA(rules.Permutation(draws=39), scale="unit").fit(load_wine().data).decision_)
    permutation: 7 components significant at 0.05; component 8 has p = 0.12
    """

    draws: int = 99
    level: float = 0.05
    name = "permutation"
    needs = "rows"

    def __post_init__(self) -> None:
        check_share("level", self.level, 0.05)
        # Fewer draws can never be significant.
        check_whole("draws", self.draws, int(np.ceil(1.0 / self.level - 1e-9)) - 1)

    def decide(self, known: Known) -> Decision | None:
        """Test the components in order."""
        assert known.table is not None
        rows = known.table()
        # A power of two does not change shares, and keeps the fourth powers below in range.
        rows = np.ldexp(rows, -binary_exponent(rows))
        max_components = min(len(rows) - known.centred, known.columns)
        left, singular_values, right = np.linalg.svd(rows, full_matrices=False)
        squares = singular_values**2
        total, varying = float(np.sum(squares)), int(np.count_nonzero(known.column_variances))
        rng, p_values = known.generator(), []
        details = _correlation_statistics(known, varying) if known.standardised else {}
        for k in range(1, max_components):
            tail = float(np.sum(squares[k - 1 :]))
            if tail <= _ROUNDING * total:
                break
            removed = left[:, : k - 1], right[: k - 1]
            share = singular_values[k - 1] ** 2 / tail
            p_value, psi_values = self._p_value(rows, removed, share, varying, rng)
            known.tell(self.name, k, max_components)
            if k == 1 and details:
                psi = details["psi"]
                if known.sampled:  # of these rows, which are fewer
                    psi = _psi(float(np.sum(squares**2)), total, varying)
                exceeding = np.sum(psi_values >= psi * (1 - 1e-12))
                details["psi_p"] = (float(exceeding) + 1.0) / (len(psi_values) + 1.0)
            p_values.append(p_value)
            if p_value > self.level:
                break
            rows = rows - singular_values[k - 1] * np.outer(left[:, k - 1], right[k - 1])
        known.tell(self.name, max_components, max_components)
        k = int(np.sum(np.array(p_values) <= self.level))
        left_over = float(squares[k:].sum()) > _ROUNDING * total
        reason, values = self._reason(k, p_values, left_over), decision.floats(p_values)
        return Decision(self.name, k, reason, "p-value", values, self.level, 1, details)

    def _p_value(
        self,
        rows: FloatArray,
        removed: tuple[FloatArray, FloatArray],
        share: float,
        varying: int,
        rng: np.random.Generator,
    ) -> tuple[float, FloatArray]:
        """The p-value of the first component of ``rows``, and Ψ of permuted tables if k is 1."""
        left, right = removed
        max_exceedances = int(self.level * (self.draws + 1) + 1e-9) - 1
        exceedances, psi_values = 0, []
        for draw in range(self.draws):
            permuted = rng.permuted(rows, axis=0)
            if len(right):
                permuted -= left @ (left.T @ permuted)
                permuted -= (permuted @ right.T) @ right
            n, p = permuted.shape
            products = permuted.T @ permuted if p <= n else permuted @ permuted.T
            total = float(np.trace(products))
            largest = float(np.linalg.eigvalsh(products)[-1])
            if not len(right):  # without a first component, a permuted table may have no variance
                psi_values.append(_psi(float(np.sum(products**2)), total, varying))
            exceedances += largest >= share * total * (1 - 1e-12)
            p_value = exceedances / (draw + 1)
            # The second of 50 draws that exceeds is one too many for a level of 0.05, but its share
            # of 45 draws would be below the level.
            if exceedances > max_exceedances and p_value > self.level and draw + 1 < self.draws:
                return p_value, np.array(psi_values)
        return (exceedances + 1) / (self.draws + 1), np.array(psi_values)

    def _reason(self, k: int, p_values: list[float], left_over: bool) -> str:
        if not p_values:
            return "there is only one component, and nothing to compare it with"
        kept = f"{decision.component_count(k)} significant at {self.level:g}"
        if k == len(p_values) and left_over:
            return f"{kept}; component {k + 1}, the last, has nothing to be compared with"
        if k == len(p_values):
            return f"{kept}; no variance is left after {'it' if k == 1 else 'them'}"
        return f"{kept}; component {k + 1} has p = {p_values[-1]:.2g}"


def _psi(squares: float, total: float, varying: int) -> float:
    """Ψ = Σ(λ − 1)² of p varying columns, for λ that are scaled to sum to p; from Σλ² and Σλ."""
    return varying * (varying * (squares / total**2) - 1.0)


def _correlation_statistics(known: Known, p: int) -> dict[str, float]:
    """Ψ and Φ of a table with unit scale and p varying columns; zero if no two correlate."""
    values = known.variances[:p]
    values = np.append(values, np.zeros(p - len(values)))
    psi = float(np.sum((values - 1.0) ** 2))
    phi = np.sqrt(max(float(np.sum(values**2)) - p, 0.0) / (p * (p - 1))) if p > 1 else 0.0
    return {"psi": psi, "phi": float(phi)}
