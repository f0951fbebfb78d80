"""How often each rule finds the rank: simulated tables of known rank, for docs/howto/components.md.

    python benchmarks/choosing_rules.py [--tables 200] [--seed 20] [--only NAME]

200 rows, 50 columns, five components of variance 25, 16, 9, 6 and 4 along random orthonormal
axes, and noise. A component stands out from independent noise of deviation σ if its variance is
above σ²√(p/n) = σ²/2 (Baik, Ben Arous & Péché 2005): with σ = 2.5 that is 3.1, close to the
weakest. Prints a table in Markdown: the share of tables where a rule keeps five, and the
smallest and largest number that it keeps in nine tables of ten.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from princomp import choose
from princomp.rules import RULES

N, P, VARIANCES = 200, 50, (25.0, 16.0, 9.0, 6.0, 4.0)


def normal(rng, deviation):
    return deviation * rng.standard_normal((N, P))


def heavy(rng, deviation):
    """Student's t with 3 degrees of freedom, of this deviation."""
    return deviation * rng.standard_t(3, (N, P)) / np.sqrt(3)


def unequal(rng, deviation):
    """Columns whose noise has deviations from a half to one and a half of this."""
    return normal(rng, deviation) * np.linspace(0.5, 1.5, P)


def correlated(rng, deviation):
    """Each column correlated with the one before: 0.3."""
    noise = normal(rng, deviation)
    for j in range(1, P):
        noise[:, j] = 0.3 * noise[:, j - 1] + np.sqrt(1 - 0.3**2) * noise[:, j]
    return noise


CASES = {
    "σ = 0.5": (normal, 0.5, {}),
    "σ = 1": (normal, 1.0, {}),
    "σ = 1.5": (normal, 1.5, {}),
    "σ = 2": (normal, 2.0, {}),
    "σ = 2.5": (normal, 2.5, {}),
    "t₃, σ = 1": (heavy, 1.0, {}),
    "unequal, σ = 1": (unequal, 1.0, {}),
    "correlated, σ = 1": (correlated, 1.0, {}),
    "unit scale, σ = 1": (normal, 1.0, {"scale": "unit"}),
}


def table(rng, noise, deviation):
    axes = np.linalg.qr(rng.standard_normal((P, len(VARIANCES))))[0]
    scores = rng.standard_normal((N, len(VARIANCES))) * np.sqrt(VARIANCES)
    return scores @ axes.T + noise(rng, deviation)


def component_counts(case, tables, seed):
    """Numbers of components (tables,) by rule."""
    noise, deviation, parameters = CASES[case]
    counts = {name: [] for name in RULES}
    for number in range(tables):
        # Tables of the same number differ by their noise only.
        rng = np.random.default_rng([seed, number])
        choices = choose(table(rng, noise, deviation), random_state=number, **parameters)
        for name, k in choices.k.items():
            counts[name].append(k)
    return {name: np.array(values) for name, values in counts.items()}


def cell(counts):
    share_correct = np.mean(counts == len(VARIANCES))
    low, high = np.quantile(counts, [0.05, 0.95], method="nearest")
    interval = f"{low}" if low == high else f"{low} to {high}"
    return f"{share_correct:.0%} ({interval})"


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tables", type=int, default=200)
    parser.add_argument("--seed", type=int, default=20)
    parser.add_argument("--only", choices=list(CASES))
    options = parser.parse_args()
    cases = [options.only] if options.only else list(CASES)
    start = time.perf_counter()
    counts = {case: component_counts(case, options.tables, options.seed) for case in cases}
    print("| rule |", " | ".join(cases), "|")
    print("| --- |", " | ".join("---" for _ in cases), "|")
    for name in RULES:
        print(f"| {name} |", " | ".join(cell(counts[case][name]) for case in cases), "|")
    seconds = time.perf_counter() - start
    print(f"\n{options.tables} tables a case, seed {options.seed}, {seconds:.0f} s")


if __name__ == "__main__":
    main()
