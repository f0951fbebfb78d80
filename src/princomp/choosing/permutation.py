"""A test of each component against tables whose columns are permuted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from princomp.arrays import FloatArray
from princomp.choosing.decision import Decision, Known
from princomp.choosing.parallel import check_draws
from princomp.choosing.rule import components, plain
from princomp.errors import ParameterError

__all__ = ["Permutation", "correlation_statistics"]

# What is left of a table that its first components make up is rounding below this share.
_NOTHING = 1e-24


@dataclass(frozen=True)
class Permutation:
    """The leading components whose share of what those before leave is more than chance.

    Component by component (Dray 2008): the share of the k-th variance in the variance that the
    first k − 1 leave is held against that of tables where each column of what they leave is
    permuted. From a permuted table the same directions are taken out as from the table itself,
    so that both have the same rank. The test of a component ends early once it cannot become
    significant (Besag & Clifford 1991). With unit scale the table as a whole is tested by
    Ψ = Σ(λ − 1)² and Φ = √((Σλ² − p) / (p(p − 1))) (Vieira 2012, Gleason & Staelin 1975).

    Parameters
    ----------
    draws : int, default=99
        Permuted tables a component.
    level : float, default=0.05
        Significance level, not corrected for the number of components: the tests end with
        the first that fails.
    """

    draws: int = 99
    level: float = 0.05
    name: ClassVar[str] = "permutation"
    needs: ClassVar[str] = "rows"

    def __post_init__(self) -> None:
        if not 0 < self.level < 1:
            raise ParameterError(
                f"level={self.level!r} is not lawful",
                place={"parameter": "level"},
                hint="give a number in (0, 1), such as 0.05",
            )
        # So few draws could never be significant.
        check_draws(self.draws, int(np.ceil(1.0 / self.level - 1e-9)) - 1)

    def decide(self, known: Known) -> Decision | None:
        """Test one component after the other."""
        assert known.table is not None
        rows = known.table()
        # Shares have no unit: the fourth powers below shall stay in range.
        rows = np.ldexp(rows, -int(np.frexp(np.abs(rows).max(initial=0.0))[1]))
        most = min(len(rows) - known.centred, known.columns)
        left, lengths, right = np.linalg.svd(rows, full_matrices=False)
        rng, p_values = known.generator(), []
        details = correlation_statistics(known) if known.standardised else {}
        for k in range(1, most):
            tail = float(np.sum(lengths[k - 1 :] ** 2))
            if tail <= _NOTHING * float(np.sum(lengths**2)):
                break
            before = left[:, : k - 1], right[: k - 1]
            p_value, sums = self._tested(rows, before, lengths[k - 1] ** 2 / tail, rng)
            known.tell(self.name, k, most)
            if k == 1 and details:
                details["psi_p"] = _share(sums >= details["psi"] * (1 - 1e-12))
            p_values.append(p_value)
            if p_value > self.level:
                break
            rows = rows - lengths[k - 1] * np.outer(left[:, k - 1], right[k - 1])
        known.tell(self.name, most, most)
        k = int(np.sum(np.array(p_values) <= self.level))
        told, values = self._told(k, p_values), plain(p_values)
        return Decision(self.name, k, told, "p-value", values, self.level, 1, details)

    def _tested(
        self,
        rows: FloatArray,
        before: tuple[FloatArray, FloatArray],
        share: float,
        rng: np.random.Generator,
    ) -> tuple[float, FloatArray]:
        """The p-value of the first component of ``rows``, and Ψ of the permuted tables."""
        left, right = before
        allowed = int(self.level * (self.draws + 1) + 1e-9) - 1
        above, sums = 0, []
        for draw in range(self.draws):
            drawn = rng.permuted(rows, axis=0)
            if len(right):
                drawn -= left @ (left.T @ drawn)
                drawn -= (drawn @ right.T) @ right
            n, p = drawn.shape
            products = drawn.T @ drawn if p <= n else drawn @ drawn.T
            total = float(np.trace(products))
            top = float(np.linalg.eigvalsh(products)[-1])
            # Σ(λ − 1)² is Σλ² − p, where the variances sum to p.
            sums.append(p * (p * float(np.sum(products**2)) / total**2 - 1.0))
            above += top >= share * total * (1 - 1e-12)
            if above > allowed and draw + 1 < self.draws:
                return above / (draw + 1), np.array(sums)
        return (above + 1) / (self.draws + 1), np.array(sums)

    def _told(self, k: int, p_values: list[float]) -> str:
        if not p_values:
            return "there is one component, and nothing to hold it against"
        kept = f"{components(k)} significant at {self.level:g}"
        if k == len(p_values):
            return f"{kept}, and nothing is left after {'it' if k == 1 else 'them'}"
        return f"{kept}; component {k + 1} has p = {p_values[-1]:.2g}"


def correlation_statistics(known: Known) -> dict[str, float]:
    """Ψ and Φ of a table of unit scale: zero where no two columns correlate."""
    p = known.columns
    values = np.append(known.variances, np.zeros(p - len(known.variances)))
    psi = float(np.sum((values - 1.0) ** 2))
    phi = np.sqrt(max(float(np.sum(values**2)) - p, 0.0) / (p * (p - 1))) if p > 1 else 0.0
    return {"psi": psi, "phi": float(phi)}


def _share(above: FloatArray) -> float:
    return (float(np.sum(above)) + 1.0) / (len(above) + 1.0)
