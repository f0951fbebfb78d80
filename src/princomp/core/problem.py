"""The problem of a fit: the shape of the rows and what is wanted, from which a route follows."""

from __future__ import annotations

from typing import NamedTuple

# svd_solver: the summary and the solver of each value. "auto" decides; the first five are
# scikit-learn's names.
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


class Problem(NamedTuple):
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

    @property
    def itemsize(self) -> int:
        """Bytes of a number."""
        return 4 if self.dtype == "float32" else 8

    @property
    def most_wanted(self) -> int:
        """The number of components that is wanted, or how many there are."""
        if isinstance(self.wanted, int):
            return self.wanted
        return min(self.rows, self.columns) if self.rows else self.columns

    def wants_few(self, most: float) -> bool:
        """Whether a whole number of components, at least one and at most this many, is wanted."""
        wanted = self.wanted
        return isinstance(wanted, int) and not isinstance(wanted, bool) and 0 < wanted <= most


class RouteChoice(NamedTuple):
    """The summary and the solver of a route, and why it was chosen."""

    summary: str
    solver: str
    reason: str
