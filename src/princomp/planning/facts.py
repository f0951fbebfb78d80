"""What a plan is decided from, what it decides, and the table of constants.

Each constant stands beside the measurement that set it (``benchmarks/README.md``).
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = [
    "ENGINE_COLUMNS",
    "GRAM_ROWS",
    "LANCZOS_COLUMNS",
    "LANCZOS_SHARE",
    "ROW_PRODUCTS_SHARE",
    "SCATTER_COLUMNS",
    "SCATTER_PRODUCT",
    "SCATTER_SHARE",
    "SCATTER_SUM",
    "SEARCH_COLUMNS",
    "SEARCH_ROWS",
    "SEARCH_SHARE",
    "SMALL",
    "SOLVERS",
    "SPARSE_GRAM_ROWS",
    "SPARSE_SCATTER",
    "Choice",
    "Facts",
    "is_few",
    "shares_by_search",
]

# SMALL: up to this many numbers a wide table takes the SVD of its rows: 19 ms at
# 200 × 1,000, where row products take 4.5, but it squares nothing and keeps a summary.
SMALL = 2**18
# LANCZOS_COLUMNS, LANCZOS_SHARE: on a scatter in memory, block Lanczos takes 0.08 of the time of
# eigh at p = 2,000 and k = 10 where variances fall as 1/i, 0.3 at k = 40, and 0.5 on the noise of
# 20,000 rows; at p = 1,000 it is no quicker. It tells k variances where eigh tells all p, and
# gives way to it where nothing stands out.
LANCZOS_COLUMNS, LANCZOS_SHARE = 1_500, 0.02
# SCATTER_COLUMNS: a 10,000² scatter is 800 MB; past it rows are multiplied instead.
SCATTER_COLUMNS = 10_000
# SPARSE_SCATTER: at 20,000 rows, 1% stored, k = 10, the scatter takes 0.28, 0.61 and
# 0.93 of the time of Lanczos for 300, 1,000 and 2,000 columns.
SPARSE_SCATTER = 2_000
# ENGINE_COLUMNS: the same where it is an engine's tasks that hold scatters, several in a process:
# 4,000² are 128 MB, of which a Spark task holds four, and as many tasks as it has processors.
# Beyond, products with the rows are quicker than a scatter in tiles where they converge: 7
# passes over 20,000 × 6,000 with 20 strong directions take a quarter of its time, for k = 10.
ENGINE_COLUMNS = {"Spark": 4_000}
# GRAM_ROWS: the n × n products of 10,000 rows are 800 MB.
GRAM_ROWS = 10_000
# ROW_PRODUCTS_SHARE: n × n products of n rows take as long as n times this many products of
# the rows with 16 vectors, or twice as many with 8: 10 with 16 at 1,000 × 20,000 in float32, 20
# with 8 in float64.
ROW_PRODUCTS_SHARE = 1 / 100
# SEARCH_COLUMNS, SEARCH_SHARE: from so many columns a search by products with the rows is
# quicker than a scatter, as long as so small a share of the components is wanted. On 20,000 ×
# 2,000 float32 it takes 92, 134 and 208 ms for k = 10 where directions stand out, where variances
# fall as 1/i² and as 1/i, 495 for k = 40 of the last; the scatter takes 750 to 850. The 86
# components of a fraction take 246 ms by products and 541 by the scatter, in float64 596 and 1,000.
SEARCH_COLUMNS, SEARCH_SHARE = 1_500, 0.04
# SCATTER_SHARE: the scatter of p columns and all its variances take as long as this share of p
# products with 16 vectors, or twice as many with 8: 65 with 16 at 20,000 × 2,000 in float32, more
# at 4,000². A search that foretells more is given up.
SCATTER_SHARE = 1 / 30
# SCATTER_SUM, SCATTER_PRODUCT: summing that scatter takes as long as p times SCATTER_SUM of those
# products and those before; a search in it then takes SCATTER_PRODUCT · p/n of one instead of
# each. Of 20,000 × 2,000 the sum takes 24 with 16 in float32 and 38 with 8 in float64; the noise,
# given up after 4 or 9 products or never, takes 1.8, 2.3 and 1.8 s, and 2.7, 2.8 and 3.7 s.
SCATTER_SUM, SCATTER_PRODUCT = 1 / 120, 1.5
# SEARCH_ROWS: the same for rows, where there are fewer of those. At 1,000 × 20,000 the search
# takes 4 and 6 products where directions stand out: 60 and 160 ms in float32 and float64, row
# products 150 and 340.
SEARCH_ROWS = 700
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
    ``reader`` those that a library for files takes for itself. ``engine`` is who holds the
    rows where that is not this process.
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
    engine: str = ""


class Choice(NamedTuple):
    """A summary, a solver and the reason."""

    summary: str
    solver: str
    reason: str


def is_few(wanted: int | float | str | None, limit: float) -> bool:
    """Whether a whole number of components within the limit is wanted."""
    return isinstance(wanted, int) and not isinstance(wanted, bool) and 0 < wanted <= limit


def shares_by_search(facts: Facts) -> bool:
    """Whether products with the rows may find the few components of a fraction.

    Where those are many, the search shows it and gives way to a scatter.
    """
    lawful = facts.solver == "auto" and facts.held and facts.stored is None
    return (
        lawful and isinstance(facts.wanted, float) and facts.rows >= facts.columns >= SEARCH_COLUMNS
    )
