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


def run(machine: Machine, folder: Path, budget: float) -> dict[str, list[dict[str, Any]]]:
    """Each series, compared with scikit-learn alone."""
    libraries = ["princomp", "sklearn"]
    return {
        size_name: [
            measure.run(case, machine, folder, budget=budget, libraries=libraries, only=METHODS)
            for case in cases
        ]
        for size_name, cases in growth_cases().items()
    }


def exponent(sizes: list[float], times: list[float]) -> float:
    """a of time ≈ c · sizeᵃ by least squares of the logarithms, over the larger half.

    The constant cost of a call hides the growth at small sizes.
    """
    start = len(sizes) // 2
    return float(np.polyfit(np.log(sizes[start:]), np.log(times[start:]), 1)[0])


def table(series: dict[str, list[dict[str, Any]]]) -> Table:
    grid = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("", *METHODS, "ratio"):
        grid.add_column(name, justify="right")
    for size_name, results in series.items():
        sizes = [float(result[size_name]) for result in results]
        times: dict[str, list[float]] = {name: [] for name in METHODS}
        for result in results:
            for method in result["methods"]:
                times[method["name"]].append(method.get("median", float("nan")))
            ours, theirs = (times[name][-1] for name in METHODS)
            shape = f"{result['n']:,} × {result['p']:,}, k = {result['k']}"
            grid.add_row(shape, seconds(ours), seconds(theirs), f"{theirs / ours:.2f}")
        powers = [f"{size_name}^{exponent(sizes, times[name]):.2f}" for name in METHODS]
        grid.add_row("[bold]grows as[/]", *powers, "", end_section=True)
    return grid
