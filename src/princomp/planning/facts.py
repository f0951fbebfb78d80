"""What a plan is decided from, what it decides, and the table of constants.

Each constant stands beside the measurement that set it (``benchmarks/README.md``).
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = [
    "GRAM_ROWS",
    "LANCZOS_COLUMNS",
    "LANCZOS_SHARE",
    "SCATTER_COLUMNS",
    "SMALL",
    "SOLVERS",
    "SPARSE_GRAM_ROWS",
    "SPARSE_SCATTER",
    "Choice",
    "Facts",
    "is_few",
    "is_truncated",
]

# SMALL: up to this many numbers a wide table takes the SVD of its rows: 19 ms at
# 200 × 1,000, where row products take 4.5, but it squares nothing and keeps a summary.
SMALL = 2**18
# LANCZOS_COLUMNS, LANCZOS_SHARE: on a scatter in memory, block Lanczos passes eigh at
# p = 2,000 and k = 10 (0.27 of its time on a decaying spectrum, 1.9 on a flat one), and
# loses at k = p/20 (2.4). It tells k variances where eigh tells all p.
LANCZOS_COLUMNS, LANCZOS_SHARE = 2_000, 0.01
# SCATTER_COLUMNS: a 10,000² scatter is 800 MB; past it rows are multiplied instead.
SCATTER_COLUMNS = 10_000
# SPARSE_SCATTER: at 20,000 rows, 1% stored, k = 10, the scatter takes 0.28, 0.61 and
# 0.93 of the time of Lanczos for 300, 1,000 and 2,000 columns.
SPARSE_SCATTER = 2_000
# GRAM_ROWS: the n × n products of 10,000 rows are 800 MB.
GRAM_ROWS = 10_000
# SPARSE_GRAM_ROWS: sparse rows up to this many have cheap products with each other.
SPARSE_GRAM_ROWS = 2_000

# svd_solver: what it asks for. "auto" decides; the first five are scikit-learn's names.
SOLVERS: dict[str, tuple[str, str] | None] = {
    "auto": None,
    "full": ("triangle", "svd"),
    "covariance_eigh": ("moments", "eigh"),
    "arpack": ("columns", "lanczos"),
    "randomized": ("columns", "randomized"),
    "lanczos": ("columns", "lanczos"),
    "row_gram": ("columns", "row_gram"),
    "krylov": ("columns", "krylov"),
    "sketch": ("sketch", "nystrom"),
}


class Facts(NamedTuple):
    """What a plan is decided from.

    ``rows`` is 0 where their number is not known; ``held`` says that they are in memory,
    ``repeatable`` that they can be read again; ``limit`` are the bytes that the fit may take,
    ``reader`` those that a library for files takes for itself.
    """

    rows: int
    columns: int
    wanted: int | float | str | None
    dtype: str = "float64"
    stored: int | None = None  # numbers stored, where sparse
    solver: str = "auto"
    by_range: bool = False
    held: bool = True
    repeatable: bool = True
    limit: int | None = None
    reader: int = 0


class Choice(NamedTuple):
    """A summary, a solver and the reason."""

    summary: str
    solver: str
    reason: str


def is_truncated(solver: str) -> bool:
    """Whether this solver finds only the components that are asked for."""
    return solver in ("lanczos", "randomized", "krylov")


def is_few(wanted: int | float | str | None, limit: float) -> bool:
    """Whether a whole number of components within the limit is wanted."""
    return isinstance(wanted, int) and not isinstance(wanted, bool) and 0 < wanted <= limit
