"""The plan: which summary, which solver, why, at what cost; known before any work.

The order of the questions in :func:`choose` is the whole rule. The constants stand
in one table, each with the measurement that set it (``benchmarks/README.md``).
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from princomp.errors import MemoryLimitError, ParameterError
from princomp.memory import in_words
from princomp.solvers.krylov import block_width, room_for
from princomp.solvers.nystrom import width_for
from princomp.summaries import block_rows
from princomp.summaries.blocks import handful, panel_rows
from princomp.summaries.sketch import wide_block_rows
from princomp.threads import default_threads

__all__ = ["SOLVERS", "Choice", "Facts", "Plan", "choose", "is_truncated", "memory_needed"]

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
# HELD_COPIES: what a table of rows takes while it is read into memory and joined.
HELD_COPIES = 2.0
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


def choose(facts: Facts) -> Choice:
    """Decide from the facts alone.

    Raises
    ------
    ParameterError
        For a solver of an unknown name, or one that cannot serve these rows.
    MemoryLimitError
        When no route fits in the limit, with what each would take.
    """
    if facts.solver != "auto" and facts.solver not in SOLVERS:
        raise ParameterError(
            f"svd_solver={facts.solver!r} is not known",
            place={"parameter": "svd_solver"},
            hint=f"choose one of {', '.join(SOLVERS)}",
        )
    if facts.held and facts.limit is None and facts.solver == "auto":
        return _choose_held(facts)
    routes = _routes_held(facts) if facts.held else _routes_streamed(facts)
    if facts.limit is None:
        return routes[0]
    for route in routes:
        if memory_needed(facts, route) <= facts.limit:
            return route
    raise _does_not_fit(facts, routes)


def _routes_held(facts: Facts) -> list[Choice]:
    """Routes for rows in memory, the best first."""
    asked = SOLVERS[facts.solver]
    if asked is not None:
        return [Choice(*asked, f"svd_solver={facts.solver!r} was asked for")]
    first = _choose_held(facts)
    if first.summary == "moments" and _few(facts.wanted, facts.columns):
        p = facts.columns
        why = f"p² = {p:,}² does not fit the memory limit: only products with the rows"
        return [first, Choice("columns", "lanczos", why)]
    return [first]


def _choose_held(facts: Facts) -> Choice:
    n, p, wanted, stored = facts.rows, facts.columns, facts.wanted, facts.stored
    small = n * p <= SMALL
    if stored is not None:
        return _choose_sparse(n, p, wanted)
    if n >= p or (wanted == "mle" and p <= SCATTER_COLUMNS):
        if p > SCATTER_COLUMNS and _few(wanted, p):
            return Choice("columns", "lanczos", f"p² = {p:,}² does not pay for so few components")
        few = _few(wanted, LANCZOS_SHARE * p)
        if p >= LANCZOS_COLUMNS and few:
            return Choice("moments", "lanczos", f"n ≥ p, one pass; k is far below p = {p:,}")
        return Choice("moments", "eigh", "n ≥ p: one pass over the rows and a p × p answer")
    if small:
        return Choice("triangle", "svd", "p > n and small: the SVD of the rows is exact and quick")
    if n <= GRAM_ROWS or not _few(wanted, 0.1 * n):
        return Choice("columns", "row_gram", f"p > n: {n:,}² products of rows instead of {p:,}²")
    return Choice("columns", "lanczos", "large × large: only products with the rows")


def _routes_streamed(facts: Facts) -> list[Choice]:
    """Routes for rows that are read block by block, the best first."""
    p, solver = facts.columns, facts.solver
    krylov = Choice(
        "columns", "krylov", "products with blocks of rows, pass by pass, to a residual"
    )
    sketch = Choice("sketch", "nystrom", f"rows seen once and p² = {p:,}² is too much: a sketch")
    hold = Choice("hold", "", "the rows fit in memory and are read whole")
    again = [krylov] if facts.repeatable else []
    if solver in ("arpack", "lanczos", "randomized", "row_gram"):
        more = again if solver in ("arpack", "lanczos") else []
        return ([hold] if facts.rows else []) + more or [hold]
    if solver == "krylov" and not facts.repeatable:
        raise ParameterError(
            "svd_solver='krylov' reads the rows several times, and these can be read once",
            place={"parameter": "svd_solver"},
            hint="svd_solver='sketch' reads them once; or give a file, or a function that makes "
            "a new iterator",
        )
    asked = SOLVERS[solver]
    if asked is not None:
        return [Choice(*asked, f"svd_solver={solver!r} was asked for")]
    few = _few(facts.wanted, LANCZOS_SHARE * p) and p >= LANCZOS_COLUMNS
    moments = Choice(
        "moments", "lanczos" if few else "eigh", "one pass over the rows, block by block"
    )
    whole = _few(facts.wanted, p)
    truncated = again if facts.repeatable else [sketch]
    tall = not facts.rows or facts.rows >= p
    scatter = SCATTER_COLUMNS if facts.stored is None else SPARSE_SCATTER
    routes = [hold] if facts.rows else []
    if p <= scatter and tall:
        routes = [moments, *routes]
    if (whole or (facts.repeatable and isinstance(facts.wanted, float))) and truncated:
        routes += truncated
    return routes if moments in routes else [*routes, moments]


def _does_not_fit(facts: Facts, routes: list[Choice]) -> MemoryLimitError:
    """What each route would take, and what would fit."""
    assert facts.limit is not None
    needs = {_called(route): memory_needed(facts, route) for route in routes}
    told = ", ".join(f"{name} {in_words(need)}" for name, need in needs.items())
    least = min(needs.values())
    whole = _few(facts.wanted, facts.columns)
    rows = f"{facts.rows:,}" if facts.rows else "unknown"
    return MemoryLimitError(
        f"no route for {rows} × {facts.columns:,} rows fits in {in_words(facts.limit)} of memory: "
        f"{told}",
        place={"parameter": "memory_limit", "limit": facts.limit, "needed": least},
        hint=f"allow {in_words(1.05 * least)} (memory_limit, --memory), or use fewer columns"
        + ("" if whole else ", or ask for a whole number of components"),
    )


def _called(route: Choice) -> str:
    names = {"hold": "the rows in memory", "moments": "the p × p scatter", "columns": route.solver}
    return names.get(route.summary, route.summary)


def _choose_sparse(n: int, p: int, wanted: int | float | str | None) -> Choice:
    if wanted == "mle" and p <= SCATTER_COLUMNS:
        return Choice("moments", "eigh", "Minka's rule needs all variances")
    if p <= SPARSE_SCATTER and n >= p:
        return Choice("moments", "eigh", "sparse with few columns: one pass, implicit centring")
    if n <= SPARSE_GRAM_ROWS:
        return Choice("columns", "row_gram", f"sparse and wide: {n:,}² products of rows")
    return Choice("columns", "lanczos", "sparse: only products with the rows, nothing made dense")


def _few(wanted: int | float | str | None, limit: float) -> bool:
    """Whether a whole number of components within the limit is wanted."""
    return isinstance(wanted, int) and not isinstance(wanted, bool) and 0 < wanted <= limit


@dataclass(frozen=True)
class Plan:
    """How a fit will run, or ran.

    Attributes
    ----------
    summary : str
        What is kept of the rows: ``moments``, ``triangle`` or ``columns``.
    solver : str
        ``eigh``, ``svd``, ``lanczos``, ``row_gram`` or ``randomized``.
    reasons : tuple of str
        Why; a fallback adds a line and is never silent.
    passes : int
        Times that the rows are read; None of an iterating solver before it has run.
    memory : int
        Bytes beyond the data, an estimate of the peak.
    """

    facts: Facts
    summary: str
    solver: str
    reasons: tuple[str, ...]
    passes: int | None
    memory: int = field(default=0)

    @classmethod
    def of(
        cls,
        facts: Facts,
        choice: Choice,
        fallbacks: tuple[str, ...] = (),
        passes: int | None = None,
    ) -> Plan:
        """The plan of a choice, with what happened since."""
        return cls(
            facts,
            choice.summary,
            choice.solver,
            (choice.reason, *fallbacks),
            _passes(facts, choice) if passes is None else passes,
            memory_needed(facts, choice),
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {
            "rows": self.facts.rows,
            "columns": self.facts.columns,
            "n_components": self.facts.wanted,
            "dtype": self.facts.dtype,
            "stored": self.facts.stored,
            "svd_solver": self.facts.solver,
            "held": self.facts.held,
            "repeatable": self.facts.repeatable,
            "memory_limit": self.facts.limit,
            "summary": self.summary,
            "solver": self.solver,
            "reasons": list(self.reasons),
            "passes": self.passes,
            "memory": self.memory,
        }

    def to_json(self) -> str:
        """The plan as a JSON object."""
        return json.dumps(self.to_dict(), ensure_ascii=False)

    def __str__(self) -> str:
        rows = f"{self.facts.rows:,}" if self.facts.rows else "unknown"
        kind = "dense" if self.facts.stored is None else f"sparse, {self.facts.stored:,} stored"
        passes = "until the residual is met" if self.passes is None else str(self.passes)
        lines = [
            f"Plan for {rows} × {self.facts.columns:,} {self.facts.dtype} ({kind})",
            f"  summary  {self.summary}",
            f"  solver   {self.solver}",
            *(f"  {'why' if i == 0 else 'then':8} {why}" for i, why in enumerate(self.reasons)),
            f"  passes   {passes}",
            f"  memory   {in_words(self.memory)} beyond the data",
        ]
        return "\n".join(lines)


def _passes(facts: Facts, choice: Choice) -> int | None:
    if choice.summary != "columns":
        return 1
    # Columns first, then the products of the rows, the axes and their residuals.
    return None if is_truncated(choice.solver) else 6


def memory_needed(facts: Facts, choice: Choice) -> int:
    """Bytes beyond what is in memory already: an estimate of the peak."""
    n, p = facts.rows, facts.columns
    size = 4 if facts.dtype == "float32" else 8
    smaller = min(n, p) if n else p
    k = facts.wanted if isinstance(facts.wanted, int) else smaller
    if choice.summary == "hold":
        return _held(facts, size)
    reader = facts.reader
    if choice.summary in ("moments", "triangle"):
        # Each thread holds a block that it read and copies of a panel; blocks that were read
        # wait for a thread, and sums for their turn.
        step, panel = block_rows(p), panel_rows(p)
        if choice.summary == "triangle":
            step = panel
        rows = min(n, step) if n else step
        threads = default_threads() if not n or n > step else 1
        queued = 0 if facts.held else threads + 3
        copies = 2 if choice.summary == "moments" else 3
        blocks = (copies * threads * 8 * min(rows, panel) + queued * size * rows) * p
        waiting = (threads + 2) * handful(step, p) if not n or n > step else 1
        state = p * p if choice.summary == "moments" else min(2 * p, n or 2 * p) * p
        return reader + blocks + (waiting + 4) * state * 8
    if choice.solver == "nystrom":
        return reader + _wide_blocks(facts, size) + p * width_for(k, p) * (4 + 3 * 8)
    if choice.solver == "krylov":
        whole = facts.wanted if isinstance(facts.wanted, int) else 64
        width = block_width(whole, p)
        fixed = reader + _wide_blocks(facts, size) + 8 * p * width * 8
        space = room_for(whole, p, krylov_room(facts, fixed)) + width
        return fixed + p * (space + 2 * whole) * 8
    if choice.solver == "randomized":
        # A sketch, its factor and the product it is made of, beside the centred rows.
        return n * p * size + 4 * (k + 10) * max(n, p) * size
    copy = n * p * size if facts.stored is None else 12 * facts.stored
    if choice.solver == "row_gram":
        return copy + 4 * n * n * 8 + 3 * k * p * 8
    return copy + 2 * (6 * k + 136) * min(n, p) * 8 + 3 * k * (n + p) * 8


def krylov_room(facts: Facts, fixed: int | None = None) -> int | None:
    """Vectors of a search space that fit in the limit, or None where there is none."""
    if facts.limit is None:
        return None
    whole = facts.wanted if isinstance(facts.wanted, int) else 64
    width = block_width(whole, facts.columns)
    if fixed is None:
        size = 4 if facts.dtype == "float32" else 8
        fixed = facts.reader + _wide_blocks(facts, size) + 8 * facts.columns * width * 8
    return max((facts.limit - fixed) // (8 * facts.columns) - width - 2 * whole, 0)


def _wide_blocks(facts: Facts, size: int) -> int:
    """Blocks of wide rows on their way: queued, and one centred."""
    rows = wide_block_rows(facts.columns)
    if facts.stored is None or not facts.rows:
        return 6 * rows * facts.columns * size
    return int(40 * rows * facts.stored / facts.rows)


def _held(facts: Facts, size: int) -> int:
    """The rows in memory, and the least that a route then takes."""
    n, p = facts.rows, facts.columns
    numbers = n * p * size if facts.stored is None else facts.stored * (size + 4) + 8 * n
    held = facts._replace(held=True, limit=None)
    return int(HELD_COPIES * numbers) + memory_needed(held, _routes_held(held)[0])
