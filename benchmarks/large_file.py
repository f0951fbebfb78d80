"""A file larger than the memory limit: time against reading it, and the peak of memory.

    python benchmarks/large_file.py [gigabytes] [folder]

Writes rows × 100 float32 (6 GB by default) once, then fits it in a process of its own with
memory_limit="1GB". The ratio is the fit's time over that of np.fromfile in blocks, both with
the file in the page cache, in the same process; several sizes of blocks, since the larger
ones pay for fresh memory each time.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

P = 100
BLOCKS = {"2 MB": 2**19, "16 MB": 2**22, "64 MB": 2**24, "400 MB": 10**8}


def write(path, n):
    rng = np.random.default_rng(0)
    mixing = (rng.standard_normal((P, P)) * np.linspace(1, 0.05, P)).astype(np.float32)
    rows = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(n, P))
    for start in range(0, n, 250_000):
        stop = min(start + 250_000, n)
        rows[start:stop] = rng.standard_normal((stop - start, P), dtype=np.float32) @ mixing + 3
    rows.flush()


def read(path, count):
    start = time.perf_counter()
    with open(path, "rb") as file:
        file.seek(128)
        while np.fromfile(file, dtype=np.float32, count=count).size:
            pass
    return time.perf_counter() - start


def measure(path):
    from princomp import PCA

    def peak_resident_gb():
        # Not getrusage, which a process that wrote the file hands down to this one.
        lines = Path("/proc/self/status").read_text().splitlines()
        return int(next(line.split()[1] for line in lines if line.startswith("VmHWM"))) / 1e6

    read(path, BLOCKS["2 MB"])
    fits, peak = [], 0.0
    for _ in range(3):
        start = time.perf_counter()
        model = PCA(10, memory_limit="1GB").fit(path)
        fits.append(time.perf_counter() - start)
        peak = max(peak, peak_resident_gb())  # before the blocks of np.fromfile can raise it
        if len(fits) == 1:
            reads = {name: [] for name in BLOCKS}
    for _ in range(3):
        for name, count in BLOCKS.items():
            reads[name].append(read(path, count))
    print(
        json.dumps(
            {
                "fit_s": float(np.median(fits)),
                "read_s": {name: float(np.median(times)) for name, times in reads.items()},
                "peak_gb": peak,
                "plan": model.plan_.reasons,
            }
        )
    )


def main():
    gigabytes = float(sys.argv[1]) if len(sys.argv) > 1 else 6.0
    folder = Path(sys.argv[2] if len(sys.argv) > 2 else "build")
    n = int(gigabytes * 1e9 / (4 * P))
    path = folder / f"rows-{n}x{P}.npy"
    folder.mkdir(exist_ok=True)
    if not path.exists():
        write(path, n)
    completed = subprocess.run(
        [sys.executable, __file__, "--measure", os.fspath(path)],
        check=True,
        capture_output=True,
        text=True,
    )
    results = json.loads(completed.stdout)
    print(f"{n:,} × {P} float32, {results['plan'][0]}: {results['fit_s']:.2f} s")
    print(f"peak resident size {results['peak_gb']:.2f} GB")
    for name, seconds in results["read_s"].items():
        ratio = results["fit_s"] / seconds
        print(f"np.fromfile in blocks of {name:>6}: {seconds:.2f} s, ratio {ratio:.2f}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        measure(sys.argv[2])
    else:
        main()
