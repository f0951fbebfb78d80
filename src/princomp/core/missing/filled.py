"""The record of cells that were filled."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any


@dataclass(frozen=True)
class Filled:
    """The missing cells of a fit, and how they were filled.

    Attributes
    ----------
    method : str
        ``"em"`` or ``"nipals"``.
    cells : int
        Missing cells in rows of positive weight: all of them were filled.
    share : float
        Share of all cells of these rows.
    rows : int
        Rows that had a missing cell.
    iterations : int
        For ``"nipals"`` the sum over all components.
    converged : bool
        Whether the last change, and the expected further ones, are below ``1e-8``.
    change : float
        The last change: of a filled cell relative to the root mean square of the table, both
        in the units of the analysis (``"em"``), of the scores relative to their length
        (``"nipals"``).
    objective : float
        Weighted sum of squared residuals of the known cells, in the units of the analysis.
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
    def is_record(document: Any) -> bool:
        """Whether a document holds such a record."""
        names = {field.name for field in fields(Filled)}
        if not isinstance(document, dict) or set(document) != names:
            return False
        counts = [document[name] for name in ("cells", "rows", "iterations")]
        sizes = [document[name] for name in ("share", "change", "objective")]
        return (
            document["method"] in ("em", "nipals")
            and type(document["converged"]) is bool
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
        cells = "1 cell" if self.cells == 1 else f"{self.cells:,} cells"
        rows = "1 row" if self.rows == 1 else f"{self.rows:,} rows"
        return (
            f"missing={self.method!r}: {cells} ({self.share:.2%}) of {rows} filled in "
            f"{self.iterations:,} iterations, last change {self.change:.0e}{end}"
        )
