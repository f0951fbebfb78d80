"""How the time of a fit grows with rows, with columns and with components."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import measure
import numpy as np
from bound import Machine
from cases import growth_cases
from report import seconds
from rich.table import Table

METHODS = ("princomp", "sklearn auto")


def run(on: Machine, folder: Path, budget: float) -> dict[str, list[dict[str, Any]]]:
    """Each series, measured beside what scikit-learn does by itself."""
    libraries = ["princomp", "sklearn"]
    return {
        which: [
            measure.run(case, on, folder, budget=budget, libraries=libraries, only=METHODS)
            for case in cases
        ]
        for which, cases in growth_cases().items()
    }


def exponent(sizes: list[float], times: list[float]) -> float:
    """a of time ≈ c · sizeᵃ by least squares of the logarithms, over the larger half.

    What a call costs whatever its size hides the growth of small ones.
    """
    later = len(sizes) // 2
    return float(np.polyfit(np.log(sizes[later:]), np.log(times[later:]), 1)[0])


def table(series: dict[str, list[dict[str, Any]]]) -> Table:
    made = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("", *METHODS, "ratio"):
        made.add_column(name, justify="right")
    for which, results in series.items():
        sizes = [float(result[which]) for result in results]
        times: dict[str, list[float]] = {name: [] for name in METHODS}
        for result in results:
            for method in result["methods"]:
                times[method["name"]].append(method.get("median", float("nan")))
            ours, theirs = (times[name][-1] for name in METHODS)
            shape = f"{result['n']:,} × {result['p']:,}, k = {result['k']}"
            made.add_row(shape, seconds(ours), seconds(theirs), f"{theirs / ours:.2f}")
        powers = [f"{which}^{exponent(sizes, times[name]):.2f}" for name in METHODS]
        made.add_row("[bold]grows as[/]", *powers, "", end_section=True)
    return made
