"""Rows a second of an online PCA: princomp, scikit-learn and (if installed) oneDAL.

    python benchmarks/online.py [rows]

100 columns, 10 components, batches of 1,000, float64; accuracy against the SVD of all rows.
"""

import sys
import time

import numpy as np
import sklearn.decomposition

import princomp

P, K, BATCH = 100, 10, 1_000


def run(model, X):
    began = time.perf_counter()
    for start in range(0, len(X), BATCH):
        model.partial_fit(X[start : start + BATCH])
    variances = model.explained_variance_
    return time.perf_counter() - began, np.asarray(variances)


def main():
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, P)) * np.linspace(1, 0.5, P) + 3
    truth = np.linalg.eigvalsh(np.cov(X.T))[::-1][:K]
    makers = {
        "princomp.PCA": lambda: princomp.PCA(K),
        "princomp.IncrementalPCA": lambda: princomp.IncrementalPCA(K),
        "scikit-learn": lambda: sklearn.decomposition.IncrementalPCA(K),
    }
    try:
        from sklearnex.preview.decomposition import IncrementalPCA

        makers["scikit-learn-intelex"] = lambda: IncrementalPCA(K)
    except ImportError:
        print("scikit-learn-intelex is not installed")
    seconds = {}
    for name, make in makers.items():
        run(make(), X[:10_000])
        times, found = zip(*(run(make(), X) for _ in range(3)), strict=True)
        seconds[name] = np.median(times)
        error = np.abs(found[0] / truth - 1).max()
        print(f"{name:26} {n / seconds[name]:12,.0f} rows/s   worst variance {error:.1e}")
    for name in list(makers)[2:]:
        print(f"princomp.PCA is {seconds[name] / seconds['princomp.PCA']:.1f} times {name}")


if __name__ == "__main__":
    main()
