"""How a kernel PCA ran, in readable form."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from princomp.linalg import format_bytes


@dataclass(frozen=True)
class KernelPlan:
    """How a fit ran.

    Attributes
    ----------
    rows, columns : int or None
    kernel : str
    gamma : float or None
        γ of the fit.
    route : str
        ``exact``, ``nystrom``, ``fourier`` or ``tensor sketch``.
    solver : str
        ``eigh`` or ``lanczos``; for images, the solver of their PCA.
    reasons : tuple of str
        Reasons for the solver, and what an approximation leaves out.
    passes : int
        Number of times that the kernel matrix was computed or multiplied; for images, that the rows
        were read, also for their divisors, γ and landmarks.
    memory : int
        Bytes beyond the rows, an estimate of the peak.
    """

    rows: int | None
    columns: int | None
    kernel: str
    gamma: float | None
    route: str
    solver: str
    reasons: tuple[str, ...]
    passes: int
    memory: int

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return {**asdict(self), "reasons": list(self.reasons)}

    def to_json(self) -> str:
        """Return the plan as a JSON object."""
        return json.dumps(self.to_dict(), ensure_ascii=False)

    def __str__(self) -> str:
        rows = "unknown" if self.rows is None else f"{self.rows:,}"
        columns = "" if self.columns is None else f" × {self.columns:,}"
        gamma = "" if self.gamma is None else f", gamma {self.gamma:.6g}"
        lines = [
            f"Plan for {rows}{columns}, kernel {self.kernel}{gamma}",
            f"  route    {self.route}",
            f"  solver   {self.solver}",
            *(f"  {'why' if i == 0 else 'then':8} {why}" for i, why in enumerate(self.reasons)),
            f"  passes   {self.passes}",
            f"  memory   {format_bytes(self.memory)} beyond the data",
        ]
        return "\n".join(lines)
