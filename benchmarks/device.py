"""Fits on a torch device compared with torch and scikit-learn, and the limits of the device.

    python benchmarks/device.py              # on the first GPU, else on the processor
    python benchmarks/device.py --smoke      # small shapes, to see that it runs

One process; methods take turns and the median of the rounds counts, from a synchronised device
to a synchronised device. Ratios are their time over ours: above 1 ours is quicker. Every fit
starts from the same tensor on the device, which is not centred; TF32 is off for all.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

# scikit-learn asks for it, before SciPy is imported, to take tensors.
os.environ.setdefault("SCIPY_ARRAY_API", "1")

import torch

from princomp import PCA

# Rows, columns, components.
SHAPES = [
    (4_000_000, 100, 10),
    (1_000_000, 500, 20),
    (200_000, 2_000, 20),
    (50_000, 8_000, 20),
    (20_000, 20_000, 10),
]
SMALL_SHAPES = [(3_000, 20, 4), (200, 300, 3)]
# A decomposition of all rows, or of p × p, that would take longer than all the rest.
MAX_SVD_WORK, MAX_EIGH_COLUMNS = 2e13, 10_000


class Result(NamedTuple):
    """What a method found, for a look whether it is the same."""

    variances: Any


def rows_of(n: int, p: int, k: int, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    """k directions that stand out of noise, about a mean that is not zero."""
    torch.manual_seed(0)
    rows = torch.randn(n, p, dtype=dtype, device=device)
    strength = torch.linspace(8, 3, k, dtype=dtype, device=device)
    step = max(1, 2**26 // p)
    axes = torch.linalg.qr(torch.randn(p, k, dtype=torch.float64, device=device)).Q.to(dtype)
    for start in range(0, n, step):
        part = rows[start : start + step]
        part += (torch.randn(len(part), k, dtype=dtype, device=device) * strength) @ axes.T
        part += 0.5
    return rows


def methods(X: torch.Tensor, k: int) -> dict[str, Callable[[], Result]]:
    n, p = X.shape

    def princomp() -> Result:
        return Result(PCA(k).fit(X).explained_variance_.copy())

    def gram() -> Result:
        centred = X - X.mean(dim=0)
        values = torch.linalg.eigh(centred.T @ centred / (n - 1)).eigenvalues
        return Result(values[-k:].flip(0))

    def lowrank() -> Result:
        torch.manual_seed(0)
        return Result(torch.pca_lowrank(X, q=k, niter=2)[1] ** 2 / (n - 1))

    def full() -> Result:
        values = torch.linalg.svd(X - X.mean(dim=0), full_matrices=False).S
        return Result(values[:k] ** 2 / (n - 1))

    def sklearn() -> Result:
        from sklearn import config_context
        from sklearn.decomposition import PCA as Theirs  # noqa: N811

        with config_context(array_api_dispatch=True):
            return Result(Theirs(k, svd_solver="covariance_eigh").fit(X).explained_variance_)

    calls = {"princomp": princomp, "torch.pca_lowrank": lowrank}
    if p <= MAX_EIGH_COLUMNS:
        calls |= {"torch eigh of the Gram": gram, "scikit-learn, array API": sklearn}
    if n * p * min(n, p) <= MAX_SVD_WORK:
        calls["torch.linalg.svd"] = full
    return calls


def synchronised_time(device: torch.device) -> float:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter()


def medians(calls: dict[str, Callable[[], Any]], device: torch.device, rounds: int) -> Any:
    """Median seconds and the last answer of each, called in turns after one turn for nothing."""
    seconds: dict[str, list[float]] = {}
    answers: dict[str, Any] = {}
    for number in range(rounds + 1):
        for name, call in list(calls.items()):
            start = synchronised_time(device)
            try:
                answers[name] = call()
            except (RuntimeError, ValueError, ImportError) as error:
                print(f"  {name} fails: {str(error).splitlines()[0][:90]}")
                del calls[name]
                continue
            elapsed = synchronised_time(device) - start
            if number:
                seconds.setdefault(name, []).append(elapsed)
    return {name: statistics.median(times) for name, times in seconds.items()}, answers


def measure_limits(device: torch.device, dtype: torch.dtype, size: int) -> tuple[float, float]:
    """Bytes read a second by a sum, and operations a second of a product."""
    numbers = torch.ones(size * size // 8, dtype=dtype, device=device)
    square = torch.ones(size // 4, size // 4, dtype=dtype, device=device)
    calls = {"read": numbers.sum, "product": lambda: square @ square}
    seconds, _ = medians(calls, device, 5)
    read = numbers.numel() * numbers.element_size() / seconds["read"]
    return read, 2 * (size // 4) ** 3 / seconds["product"]


def report(X: torch.Tensor, k: int, rounds: int, read: float, peak: float) -> None:
    n, p = X.shape
    name = str(X.dtype).removeprefix("torch.")
    print(f"{n:,} × {p:,} {name}, k = {k}")
    seconds, answers = medians(dict(methods(X, k)), X.device, rounds)
    ours = seconds["princomp"]
    expected = torch.as_tensor(answers["princomp"].variances, dtype=torch.float64)
    for method, median in seconds.items():
        found = torch.as_tensor(answers[method].variances).to("cpu", torch.float64)
        difference = float((found - expected).abs().max() / expected[0])
        ratio = f"{median / ours:8.2f} ×"
        print(f"  {method:26} {median * 1e3:10.2f} ms {ratio}  away from ours {difference:.0e}")
    reading_share = X.numel() * X.element_size() / read / ours
    product_share = n * p * p / peak / ours  # one half of xᵀx is enough
    print(
        f"  of our time: reading the rows once {reading_share:.0%}, half of xᵀx {product_share:.0%}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--smoke", action="store_true", help="small shapes, two rounds")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    device = torch.device(options.device)
    torch.set_float32_matmul_precision("highest")
    device_name = torch.cuda.get_device_name(device) if device.type == "cuda" else "the processor"
    print(f"torch {torch.__version__} on {device_name}")
    shapes, rounds = (
        (SMALL_SHAPES, 2) if options.smoke or device.type == "cpu" else (SHAPES, options.rounds)
    )
    for dtype in (torch.float32, torch.float64):
        read, peak = measure_limits(device, dtype, 2**15 if device.type == "cuda" else 2**11)
        name = str(dtype).removeprefix("torch.")
        print(f"{name}: a sum reads {read / 1e9:,.0f} GB/s, products {peak / 1e12:,.2f} TFLOP/s")
        for n, p, k in shapes:
            X = rows_of(n, p, k, dtype, device)
            report(X, k, rounds, read, peak)
            del X


if __name__ == "__main__":
    sys.exit(main())
