"""princomp side by side with its peers.

python benchmarks/run.py                     every case
python benchmarks/run.py 500000x100          those with this in their name; globs too
python benchmarks/run.py growth              how time grows with n, p and k
python benchmarks/run.py share               how much of the machine's speed a fold reaches
python benchmarks/run.py --list
"""

from __future__ import annotations

import argparse
import json
import time
from importlib import metadata
from pathlib import Path
from typing import Any

import growth
import measure
import report
from bound import Machine, measure_machine
from cases import Case, select_cases
from libraries import DISTRIBUTIONS, LIBRARIES
from picture import draw, draw_shares
from rich.console import Console


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="princomp side by side with its peers")
    parser.add_argument("cases", nargs="*", help="part of a name, or a glob; growth; share")
    parser.add_argument("--list", action="store_true", help="names of the cases, and stop")
    parser.add_argument("--quick", action="store_true", help="a quarter of the rounds")
    parser.add_argument("--seconds", type=float, default=5.0, help="of rounds, a case")
    parser.add_argument("--peers", default=",".join(LIBRARIES), help="libraries, with commas")
    parser.add_argument("--out", type=Path, default=Path("build/bench"))
    return parser.parse_args()


def versions() -> dict[str, str]:
    found = {}
    for name in DISTRIBUTIONS:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found


def write(path: Path, machine: Machine, results: list[dict[str, Any]]) -> None:
    document = {
        "machine": vars(machine),
        "versions": versions(),
        "date": time.strftime("%Y-%m-%d %H:%M"),
        "results": results,
    }
    path.write_text(json.dumps(document, indent=1))


def main() -> None:
    options = parse_arguments()
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=120)
    cases: list[Case] = select_cases(options.cases)
    if options.list:
        for case in cases:
            console.print(case.name)
        return
    machine = measure_machine()
    console.print(
        f"{machine.cpu}, {machine.cores} cores; reads {machine.read_bytes_s / 1e9:.1f} GB/s; "
        + ", ".join(f"{kind} {rate / 1e9:.0f} Gflop/s" for kind, rate in machine.flops_s.items())
    )
    options.out.mkdir(parents=True, exist_ok=True)
    budget = options.seconds / (4 if options.quick else 1)
    if options.cases == ["growth"]:
        series = growth.run(machine, options.out, budget)
        console.print(growth.table(series))
        write(
            options.out / "growth.json",
            machine,
            [r for results_of_series in series.values() for r in results_of_series],
        )
        return
    if options.cases == ["share"]:
        import share  # it imports princomp, which the processes of other libraries shall not

        shares = share.run(machine, budget)
        console.print(share.table(shares))
        write(options.out / "share.json", machine, shares)
        draw_shares(shares, options.out / "share.png")
        return
    # A part of the table does not replace the whole one.
    path = options.out / ("part.json" if options.cases else "results.json")
    results = []
    slow: dict[object, dict[str, str]] = {}
    for case in cases:
        slow_here = slow.setdefault((case.n, case.p, case.task), {})
        result = measure.run(
            case,
            machine,
            options.out,
            budget=budget,
            libraries=options.peers.split(","),
            skip=slow_here,
        )
        slow_here.update(measure.slow_methods(result))
        results.append(result)
        report.show(console, result)
        write(path, machine, results)
    console.print()
    console.print(report.table(results))
    draw(results, path.with_suffix(".png"))
    console.print(f"\n{path} and {path.with_suffix('.png').name}")


if __name__ == "__main__":
    main()
