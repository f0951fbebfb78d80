"""The plan: which summary, which solver, why, at what cost; known before any work.

The order of the questions in :func:`choose` is the whole rule. The constants stand
in one table, each with the measurement that set it (``benchmarks/README.md``).
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from princomp.errors import ParameterError
from princomp.summaries import block_rows
from princomp.threads import default_threads

__all__ = ["SOLVERS", "Choice", "Facts", "Plan", "choose", "is_truncated"]

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
}


class Facts(NamedTuple):
    """What a plan is decided from."""

    rows: int
    columns: int
    wanted: int | float | str | None
    dtype: str = "float64"
    stored: int | None = None  # numbers stored, where sparse
    solver: str = "auto"
    by_range: bool = False


class Choice(NamedTuple):
    """A summary, a solver and the reason."""

    summary: str
    solver: str
    reason: str


def is_truncated(solver: str) -> bool:
    """Whether this solver finds only the components that are asked for."""
    return solver in ("lanczos", "randomized")


def choose(facts: Facts) -> Choice:
    """Decide from the facts alone.

    Raises
    ------
    ParameterError
        For a solver of an unknown name.
    """
    n, p, wanted, _, stored, solver, _ = facts
    if solver != "auto":
        asked = SOLVERS.get(solver)
        if asked is None:
            raise ParameterError(
                f"svd_solver={solver!r} is not known",
                place={"parameter": "svd_solver"},
                hint=f"choose one of {', '.join(SOLVERS)}",
            )
        return Choice(*asked, f"svd_solver={solver!r} was asked for")
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
            _memory(facts, choice),
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
            f"  memory   {_bytes(self.memory)} beyond the data",
        ]
        return "\n".join(lines)


def _passes(facts: Facts, choice: Choice) -> int | None:
    once = 1 + facts.by_range
    if choice.summary != "columns":
        return once
    # Columns first, then the products of the rows, the axes and their residuals.
    return None if is_truncated(choice.solver) else once + 5


def _memory(facts: Facts, choice: Choice) -> int:
    n, p = facts.rows, facts.columns
    size = 4 if facts.dtype == "float32" else 8
    k = facts.wanted if isinstance(facts.wanted, int) else min(n, p)
    if choice.summary != "columns":
        # Each thread holds copies of a block; finished blocks wait for their turn.
        step = block_rows(p)
        threads = default_threads() if n > step else 1
        blocks = 3 * threads * min(n, step) * p * 8
        waiting = threads + 2 if n > step else 1
        state = p * p if choice.summary == "moments" else min(2 * p, n) * p
        return blocks + (waiting + 4) * state * 8
    if choice.solver == "randomized":
        # A sketch, its factor and the product it is made of, beside the centred rows.
        return n * p * size + 4 * (k + 10) * max(n, p) * size
    copy = n * p * size if facts.stored is None else 12 * facts.stored
    if choice.solver == "row_gram":
        return copy + 4 * n * n * 8 + 3 * k * p * 8
    return copy + 2 * (6 * k + 136) * min(n, p) * 8 + 3 * k * (n + p) * 8


def _bytes(count: float) -> str:
    for unit in ("B", "kB", "MB"):
        if count < 1000:
            return f"{count:.0f} {unit}"
        count /= 1000
    return f"{count:,.1f} GB"
