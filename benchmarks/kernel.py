"""Kernel PCA compared with scikit-learn's: time and peak memory, each fit in its own process.

    python benchmarks/kernel.py [--rounds 3] [exact|nystrom|large …]

exact    10,000 × 50, rbf, k = 10: KernelPCA with arpack and randomized
nystrom  1,000,000 × 50, rbf, 1,000 landmarks, k = 10: Nystroem and PCA in a pipeline
large    50,000 × 50, rbf, k = 10 within 2 GB: scikit-learn would need 20 GB, and is not run

Processes take turns; the output has the median of the rounds, and the memory beyond what was in use
before the fit.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
import time

import numpy as np

K = 10
# scikit-learn's pipeline holds the images of all rows, 8 GB of float64.
CASES = {
    "exact": (10_000, ("princomp", "princomp 200 MB", "arpack", "randomized")),
    "nystrom": (1_000_000, ("princomp nystrom", "Nystroem + PCA")),
    "large": (50_000, ("princomp 2 GB",)),
}
GAMMA = 0.002


def rows_of(n):
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((n, 50))
    rows[:, :10] *= 4
    rows += 3  # in place: the peak of making them would hide that of the fit
    return rows


def model_of(name):
    if name.startswith("princomp"):
        from princomp import KernelPCA

        options = {"kernel": "rbf", "gamma": GAMMA}
        if "nystrom" in name:
            return KernelPCA(K, **options, approximation="nystrom", n_landmarks=1_000)
        limit = {"princomp 200 MB": "200MB", "princomp 2 GB": "2GB"}.get(name)
        return KernelPCA(K, **options, memory_limit=limit)
    from sklearn.decomposition import PCA, KernelPCA
    from sklearn.kernel_approximation import Nystroem
    from sklearn.pipeline import make_pipeline

    if name.startswith("Nystroem"):
        nystroem = Nystroem(gamma=GAMMA, n_components=1_000, random_state=0)
        return make_pipeline(nystroem, PCA(K))
    return KernelPCA(K, kernel="rbf", gamma=GAMMA, eigen_solver=name, random_state=0)


def peak_memory_mb():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


def run_one(name, n):
    """One fit; prints seconds, MB and the variances."""
    model, rows = model_of(name), rows_of(n)
    model_of(name).fit(rows_of(1_500))  # libraries loaded, threads started
    before, start = peak_memory_mb(), time.perf_counter()
    model.fit(rows)
    seconds = time.perf_counter() - start
    pca = model[-1] if hasattr(model, "steps") else model
    variances = getattr(pca, "explained_variance_", None)
    if variances is None:
        variances = pca.eigenvalues_ / (n - 1)
    print(seconds, peak_memory_mb() - before, *variances)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", choices=[*CASES, []], default=[])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--alone", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.alone:
        run_one(options.alone[0], int(options.alone[1]))
        return
    for case in options.cases or CASES:
        n, names = CASES[case]
        results = {name: [] for name in names}
        for _ in range(options.rounds):
            for name in names:
                command = [sys.executable, __file__, "--alone", name, str(n)]
                completed = subprocess.run(command, capture_output=True, text=True, check=False)
                if completed.returncode:
                    print(f"{name}: failed: {completed.stderr.strip().splitlines()[-1:]}")
                    continue
                results[name].append([float(word) for word in completed.stdout.split()])
        ours = np.array(results[names[0]])
        print(f"\n{case}: {n:,} × 50, k = {K}")
        for name, runs in results.items():
            if not runs:
                continue
            seconds = statistics.median(run[0] for run in runs)
            memory = statistics.median(run[1] for run in runs)
            difference = np.abs(np.array(runs[0][2:]) / ours[0, 2:] - 1).max()
            ratio = statistics.median(run[0] / own[0] for run, own in zip(runs, ours, strict=False))
            print(
                f"  {name:18} {seconds:8.2f} s  {ratio:5.2f} × ours  {memory:8.0f} MB  "
                f"{memory / np.median(ours[:, 1]):5.2f} × ours  variances within {difference:.0e}"
            )


if __name__ == "__main__":
    main()
