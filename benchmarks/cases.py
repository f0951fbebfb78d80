"""What is measured: shapes, precisions, spectra and tasks, and the rows of each from a seed."""

from __future__ import annotations

import fnmatch
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
import scipy.sparse as sp

SEED = 20_26  # part of every key of a cached truth, as is all that shapes the rows
MEAN = 3.0
TOPICS = 40
BATCH = 1_000  # rows a call of a stream

# What the time of a case is the time of.
TASKS = ("fit", "unit", "fraction", "stream", "transform", "row", "fit_transform")


@dataclass(frozen=True)
class Case:
    """One row of the table: n rows, p columns, k components (a share of variance below 1)."""

    n: int
    p: int
    k: float
    floats: str = "f32"
    spectrum: str = "lowrank"
    task: str = "fit"
    density: float = 0.0  # of stored entries; 0: a dense array

    @property
    def name(self) -> str:
        first = "sparse" if self.density else self.task
        prefix = "" if first == "fit" else first + "-"
        return f"{prefix}{self.n}x{self.p}-{self.floats}-{self.spectrum}"

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(np.float32 if self.floats == "f32" else np.float64)

    @property
    def components(self) -> int:
        """How many components the bare calls are asked for."""
        return int(self.k) if self.k >= 1 else min(self.n, self.p)

    @property
    def rank(self) -> int:
        """Of the signal: k, so that a gap of 4 to 1 follows the last component asked for.

        A share of the variance asks for more than that: a hundred, most of the total. And all
        components of few columns leave half of them to the noise.
        """
        return min(int(self.k) if self.k >= 1 else 100, self.p // 2)

    def reduced(self, n: int, p: int) -> Case:
        """The same kind of rows in another, small shape; a fifth stored where any are."""
        k = self.k if self.k < 1 else min(self.k, n // 2, p // 2)
        return replace(self, n=n, p=p, k=k, density=0.2 if self.density else 0.0)


def _variants(
    n: int, p: int, k: float, spectra: tuple[str, ...] = (), **options: Any
) -> list[Case]:
    variants = product(spectra or ("lowrank", "flat"), ("f32", "f64"))
    return [Case(n, p, k, floats, spectrum, **options) for spectrum, floats in variants]


def all_cases() -> list[Case]:
    """The table, from small to large, then the other tasks."""
    lowrank_only = ("lowrank",)  # the spectrum does not matter to the time of these
    return [
        *_variants(6, 6, 2),
        *_variants(100, 10, 2),
        *_variants(1_000, 50, 10),
        *_variants(2_000_000, 8, 8),
        *_variants(2_000_000, 20, 10),
        *_variants(500_000, 100, 10),
        *_variants(200_000, 256, 10),
        *_variants(100_000, 500, 10),
        *_variants(8_000, 700, 10),
        *_variants(15_000, 1_200, 10),
        *_variants(20_000, 2_000, 10),
        *_variants(3_000, 5_000, 10),
        *_variants(4_000, 4_000, 20),
        *_variants(1_000, 20_000, 10),
        *_variants(200, 200_000, 10),
        *_variants(100_000, 20_000, 20, density=0.005),
        *_variants(20_000, 1_000_000, 20, density=0.0001),
        *_variants(20_000, 2_000, 0.9, task="fraction"),
        *_variants(500_000, 100, 10, task="unit"),
        *_variants(1_000_000, 100, 10, lowrank_only, task="stream"),
        *_variants(1_000_000, 100, 10, lowrank_only, task="transform"),
        *_variants(100, 10, 2, lowrank_only, task="row"),
        *_variants(500_000, 100, 10, lowrank_only, task="fit_transform"),
    ]


def growth_cases() -> dict[str, list[Case]]:
    """Series in which one of n, p, k grows and the others stay."""
    return {
        "n": [Case(n, 64, 10) for n in (4_000, 16_000, 64_000, 256_000, 1_024_000)],
        "p": [Case(20_000, p, 10) for p in (32, 64, 128, 256, 512, 1_024, 2_048)],
        "k": [Case(3_000, 3_000, k) for k in (5, 10, 20, 40, 80)],
    }


def select_cases(patterns: list[str]) -> list[Case]:
    """The cases with such a name: all of it, a glob, or a part of the name."""
    cases = all_cases()
    names = {case.name for case in cases}
    globs = [
        pattern if pattern in names or set(pattern) & set("*?[") else f"*{pattern}*"
        for pattern in patterns
    ]
    return [
        case
        for case in cases
        if not globs or any(fnmatch.fnmatchcase(case.name, glob) for glob in globs)
    ]


def fill(case: Case, out: np.ndarray[Any, Any]) -> None:
    """The rows of a dense case, in blocks, so that the array may be a file.

    Low rank: noise of variance 1, and `rank` directions whose variances are 25 to 4 times the
    largest that the noise has by itself, (1 + √(p/n))². Flat: the noise alone. Both with means
    of 3, which make a careless product of rows lose digits.
    """
    rng = np.random.default_rng([SEED, case.n, case.p, case.spectrum == "flat"])
    signal_axes = None
    if case.spectrum == "lowrank":
        axes = np.linalg.qr(rng.standard_normal((case.p, case.rank)))[0].T
        deviations = np.linspace(5, 2, case.rank) * (1 + np.sqrt(case.p / case.n))
        if case.k < 1:
            deviations *= 4  # nine tenths of the variance are then among a hundred
        signal_axes = (axes * deviations[:, None]).astype(case.dtype)
    step = max(1, 2**22 // case.p)
    for start in range(0, case.n, step):
        block = rng.standard_normal((min(step, case.n - start), case.p), dtype=case.dtype)
        if signal_axes is not None:
            block += rng.standard_normal((len(block), case.rank), dtype=case.dtype) @ signal_axes
        block += case.dtype.type(MEAN)
        out[start : start + len(block)] = block


def sparse_rows(case: Case) -> sp.csr_array:
    """The rows of a sparse case.

    Low rank: documents. Half of a row's words come from a power law over all columns, half
    from one over the columns in the order of the row's topic; an entry is the square root of a
    count. Flat: as many entries anywhere, uniform between 0 and 1.
    """
    rng = np.random.default_rng([SEED, case.n, case.p, case.spectrum == "flat"])
    per_row = max(1, round(case.density * case.p))
    shape = (case.n, case.p)
    rows = np.repeat(np.arange(case.n), per_row)
    if case.spectrum == "flat":
        columns = rng.integers(case.p, size=rows.size)
        values = rng.random(rows.size, dtype=np.float32)
    else:
        # The k-th word has a share of about 1/(k + 10): the inverse of its integral.
        positions = 10 * ((case.p + 10) / 10) ** rng.random(rows.size, dtype=np.float32) - 10
        positions = np.minimum(positions.astype(np.int64), case.p - 1)
        shares = 0.93 ** np.arange(TOPICS)
        topics = rng.choice(TOPICS, size=case.n, p=shares / shares.sum())
        # A topic's order of the columns is place · stride + start, which needs no memory.
        strides = [s for s in rng.integers(case.p // 3, case.p, 999) if np.gcd(s, case.p) == 1]
        stride = np.asarray(strides[:TOPICS])[topics].repeat(per_row)
        start = rng.integers(case.p, size=TOPICS)[topics].repeat(per_row)
        by_topic = rng.random(rows.size) < 0.5
        columns = np.where(by_topic, (positions * stride + start) % case.p, positions)
        values = np.ones(rows.size, dtype=np.float32)
    matrix = sp.coo_array((values, (rows, columns)), shape=shape).tocsr()
    matrix.sum_duplicates()
    if case.spectrum == "lowrank":
        np.sqrt(matrix.data, out=matrix.data)
    # The values of float32 in both precisions: one truth for both.
    matrix.data = matrix.data.astype(case.dtype)
    matrix.indices = matrix.indices.astype(np.int32)
    matrix.indptr = matrix.indptr.astype(np.int32)
    return matrix


def rows_of(case: Case) -> Any:
    """The rows in memory; the program itself goes through files."""
    if case.density:
        return sparse_rows(case)
    out = np.empty((case.n, case.p), dtype=case.dtype)
    fill(case, out)
    return out
