"""The problem of a fit: properties of the rows and parameters that determine the route."""

from __future__ import annotations

from typing import NamedTuple

# The summary and the solver for each value of svd_solver. For "auto" the plan chooses them. The
# first five values are scikit-learn's.
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
    """The properties of a fit on which the plan depends.

    Parameters
    ----------
    rows : int
        Number of rows; 0 if unknown.
    columns : int
    n_components : int, float, str or None
        ``n_components``; a rule is replaced by its name.
    dtype : str
    stored : int, optional
        Number of stored values, for sparse rows.
    solver : str
        ``svd_solver``.
    by_range : bool
        Whether columns are divided by their range.
    in_memory : bool
        Whether the rows are in memory.
    repeatable : bool
        Whether the rows can be read again.
    memory_limit : int, optional
        Memory in bytes that the fit may take.
    reader_bytes : int
        Memory in bytes that a library for reading files takes for itself.
    engine : str
        The engine that holds the rows; empty if this process does.
    """

    rows: int
    columns: int
    n_components: int | float | str | None
    dtype: str = "float64"
    stored: int | None = None
    solver: str = "auto"
    by_range: bool = False
    in_memory: bool = True
    repeatable: bool = True
    memory_limit: int | None = None
    reader_bytes: int = 0
    engine: str = ""

    @property
    def itemsize(self) -> int:
        """Bytes per number."""
        return 4 if self.dtype == "float32" else 8

    @property
    def max_components(self) -> int:
        """The number of components wanted; the largest possible one if it is not an integer."""
        if isinstance(self.n_components, int):
            return self.n_components
        return min(self.rows, self.columns) if self.rows else self.columns

    def wants_at_most(self, limit: float) -> bool:
        """Whether a whole number of components, from 1 to ``limit``, is wanted."""
        return isinstance(self.n_components, int) and 0 < self.n_components <= limit


class RouteChoice(NamedTuple):
    """The summary and the solver of a route, and why it was chosen."""

    summary: str
    solver: str
    reason: str
