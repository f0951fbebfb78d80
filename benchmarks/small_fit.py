"""Small fits side by side with scikit-learn, interleaved in one process.

Prints the median time of each and the ratio scikit-learn ÷ princomp, which is the
figure to quote: absolute times are the machine's.
"""

from __future__ import annotations

import time
from statistics import median
from typing import Any

import numpy as np
from sklearn.decomposition import PCA as Theirs  # noqa: N811 (two classes of one name)

from princomp import PCA as Ours  # noqa: N811

SHAPES = ((6, 6), (100, 10), (1000, 50))
ROUNDS, REPEATS = 15, 100


def seconds(fit: Any) -> float:
    start = time.perf_counter()
    for _ in range(REPEATS):
        fit()
    return (time.perf_counter() - start) / REPEATS


def main() -> None:
    print(f"{'shape':>10}  {'princomp µs':>12}  {'scikit-learn µs':>16}  {'ratio':>6}")
    for n, p in SHAPES:
        X = np.random.default_rng(0).standard_normal((n, p))
        pairs = [
            (seconds(lambda: Ours(2).fit(X)), seconds(lambda: Theirs(2).fit(X)))  # noqa: B023
            for _ in range(ROUNDS)
        ]
        ours, theirs = median(a for a, _ in pairs), median(b for _, b in pairs)
        ratio = median(b / a for a, b in pairs)
        print(f"{n:>5} × {p:<3} {ours * 1e6:>12.0f}  {theirs * 1e6:>16.0f}  {ratio:>6.2f}")


if __name__ == "__main__":
    main()
