"""What was filled, and how well that went."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any

__all__ = ["Filled"]


@dataclass(frozen=True)
class Filled:
    """The missing cells of a fit.

    Attributes
    ----------
    method : str
        ``"em"`` or ``"nipals"``.
    cells : int
        Missing cells in rows of positive weight: all of them were filled.
    share : float
        Of all cells of these rows.
    rows : int
        Rows that had a missing cell.
    iterations : int
        Of ``"nipals"``, those of all components together.
    converged : bool
        Whether the last change, and what is foreseen to follow it, is below ``1e-8``.
    change : float
        The last change: of a filled cell in units of what its column is divided by
        (``"em"``), of the scores relative to their length (``"nipals"``).
    objective : float
        Weighted sum of squared residuals of the cells that are there, in the units of the
        analysis.
    """

    method: str
    cells: int
    share: float
    rows: int
    iterations: int
    converged: bool
    change: float
    objective: float

    @staticmethod
    def is_lawful(words: Any) -> bool:
        """Whether a document holds such a record."""
        if not isinstance(words, dict) or set(words) != {one.name for one in fields(Filled)}:
            return False
        counts = [words[name] for name in ("cells", "rows", "iterations")]
        sizes = [words[name] for name in ("share", "change", "objective")]
        return (
            words["method"] in ("em", "nipals")
            and type(words["converged"]) is bool
            and all(type(count) is int and count >= 0 for count in counts)
            and all(type(size) in (int, float) and 0 <= size < float("inf") for size in sizes)
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        if not self.cells:
            return f"missing={self.method!r}: no cell is missing"
        end = "" if self.converged else "; NOT CONVERGED"
        return (
            f"missing={self.method!r}: {self.cells:,} cells ({self.share:.2%}) of {self.rows:,} "
            f"rows were filled in {self.iterations:,} iterations, last change {self.change:.0e}"
            + end
        )
