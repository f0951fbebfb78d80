"""The plan as people read it: route, reasons, passes and memory."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from princomp.memory import in_words
from princomp.planning.facts import Choice, Facts
from princomp.planning.routes import memory_of

__all__ = ["Plan"]

_SOME_COMPONENTS = "components alone: it cannot be merged, rescaled or given more rows"


@dataclass(frozen=True)
class Plan:
    """How a fit will run, or ran.

    Attributes
    ----------
    summary : str
        What is kept of the rows: ``moments``, ``triangle``, ``columns`` or ``sketch``.
    solver : str
        ``eigh``, ``svd``, ``lanczos``, ``row_gram``, ``randomized``, ``krylov``, ``nystrom`` or
        ``tiles``.
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
            _passes(choice) if passes is None else passes,
            memory_of(facts, choice),
        )

    @property
    def stands_for_rows(self) -> bool:
        """Whether the fit can be merged, rescaled or given more rows.

        Its summary tells, or all components of rows wider than they are many.
        """
        return self.summary != "columns" or self.facts.wanted is None

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
        stored = self.facts.stored
        # An engine may know that its rows are sparse, and not how many numbers they hold.
        kind = "dense" if stored is None else f"sparse, {stored:,} stored" if stored else "sparse"
        passes = "until the residual is met" if self.passes is None else str(self.passes)
        lines = [
            f"Plan for {rows} × {self.facts.columns:,} {self.facts.dtype} ({kind})",
            f"  summary  {self.summary}",
            f"  solver   {self.solver}",
            *([] if self.stands_for_rows else [f"  keeps    {_SOME_COMPONENTS}"]),
            *(f"  {'why' if i == 0 else 'then':8} {why}" for i, why in enumerate(self.reasons)),
            f"  passes   {passes}",
            f"  memory   {in_words(self.memory)} beyond the data",
        ]
        return "\n".join(lines)


def _passes(choice: Choice) -> int | None:
    """One for a summary; routes that multiply the rows see on the way how often."""
    return 1 if choice.summary != "columns" else None
