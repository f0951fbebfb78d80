"""A guard against lost speed: princomp's time over that of a bare computation of the same thing.

    make bench-check                     every case, under five minutes on a quiet machine
    make bench-check CASE=sparse         those with this in their name
    make bench-check WRITE=1             accept the ratios of this machine (takes longer)

The two alternate in one process, on one thread: with more, ratios depend on other programs.
`expected.json` has the ratios accepted for each kind of processor; a case that seems slower is
measured again, and its best ratio counts.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

import yardsticks
from bound import cores, cpu
from cases import Case
from threadpoolctl import threadpool_info, threadpool_limits
from worker import TURN
from yardsticks import CASES, KERNEL_CASES

from princomp.kernels import native
from princomp.linalg import at_most

# A case whose ratio grew by more than this counts as lost.
LOSS = 0.15
# A measurement whose halves differ by more than this says nothing.
NOISE = 0.1
# Times that a lost case is measured, and every case for `expected.json`.
ATTEMPTS = 3
FEWEST, MOST = 6, 16  # rounds
EXPECTED = Path(__file__).with_name("expected.json")
ACCEPT = "To accept what a quiet machine measures: make bench-check WRITE=1"


def interleaved(calls: dict[str, Callable[[], Any]], budget: float) -> dict[str, list[float]]:
    """Seconds of each call, round by round, in an order that turns.

    `budget` is the seconds of all rounds. Short calls are repeated until a turn is full.
    """
    once = {name: min(_seconds(call, 1) for _ in range(2)) for name, call in calls.items()}
    repeats = {name: max(1, int(TURN / seconds)) for name, seconds in once.items()}
    rounds = budget / sum(once[name] * repeats[name] for name in calls)
    names = list(calls)
    found: dict[str, list[float]] = {name: [] for name in names}
    for number in range(max(FEWEST, min(MOST, int(rounds)))):
        turned = number % len(names)
        for name in names[turned:] + names[:turned]:
            found[name].append(_seconds(calls[name], repeats[name]))
    return found


def _seconds(call: Callable[[], Any], repeats: int) -> float:
    """Of one call, the mean of some."""
    began = time.perf_counter()
    for _ in range(repeats):
        call()
    return (time.perf_counter() - began) / repeats


class Found(NamedTuple):
    """princomp's least time over the bare one's, and how far two halves of the rounds differ."""

    ratio: float
    spread: float

    @property
    def is_noisy(self) -> bool:
        return self.spread > NOISE

    def is_lost(self, expected: float | None) -> bool:
        return expected is not None and self.ratio > (1 + LOSS) * expected


def ratio_of(case: Case, budget: float) -> Found:
    with at_most(1), threadpool_limits(1):
        ours, bare = yardsticks.both(case)
        found = interleaved({"princomp": ours, "bare": bare}, budget)
    first, second = (_ratio(found, slice(start, None, 2)) for start in (0, 1))
    ratio = _ratio(found, slice(None))
    return Found(ratio, abs(first - second) / ratio)


def _ratio(found: dict[str, list[float]], rounds: slice) -> float:
    """Of the least times of some rounds: what disturbs a call only makes it longer."""
    return min(found["princomp"][rounds]) / min(found["bare"][rounds])


def measure(
    cases: list[Case], expected: dict[str, float], budget: float, *, write: bool
) -> dict[str, Found]:
    """Each case; to be written the middle of three measurements, else the best of up to three.

    Noisy measurements count only where there is no other: a disturbed bare computation would
    hide a loss.
    """
    tries: dict[str, list[Found]] = {case.name: [] for case in cases}
    found: dict[str, Found] = {}
    again = cases
    for attempt in range(ATTEMPTS):
        if attempt and again:
            print("Measured again:")
        for case in again:
            known, every = expected.get(case.name), tries[case.name]
            every.append(ratio_of(case, budget))
            print(line(case.name, every[-1], known), flush=True)
            counted = sorted([one for one in every if not one.is_noisy] or every)
            found[case.name] = counted[len(counted) // 2 if write else 0]
        if not write:
            again = [
                c for c in again if (f := found[c.name]).is_noisy or f.is_lost(expected.get(c.name))
            ]
    return found


def line(name: str, found: Found, expected: float | None) -> str:
    change = f"{expected:8.3g} {found.ratio / expected - 1:+7.0%}" if expected else f"{'–':>8}"
    return f"{name:38} {found.ratio:8.3g} ±{found.spread:4.0%} {change}"


def blas_libraries() -> dict[str, str]:
    """The core type that each loaded BLAS takes the processor for, by its package."""
    return {
        Path(library["filepath"]).parent.name.removesuffix(".libs"): library.get("architecture")
        or library["internal_api"]
        for library in threadpool_info()
        if library["user_api"] == "blas"
    }


def kind_of_processor() -> str:
    """The name of its section in `expected.json`."""
    blas = "/".join(sorted(set(blas_libraries().values()))) or "unknown"
    return f"{native.name_in_use()} kernels, BLAS for {blas}"


def versions() -> dict[str, str]:
    """Of what changes ratios besides princomp."""
    packages = {name: metadata.version(name) for name in ("numpy", "scipy")}
    return {"python": platform.python_version(), **packages}


def describe(kind: str, section: dict[str, Any]) -> None:
    """Print what is measured on, and what it is compared with."""
    sets = ", ".join(native.instruction_sets()) or "none"
    print(f"Processor: {cpu()}, {cores()} of its cores, one thread used")
    print(f"princomp's kernels: {native.name_in_use()} (this machine runs: {sets})")
    for package, core in blas_libraries().items():
        print(f"BLAS of {package}: core type {core}")
    if hasattr(os, "getloadavg") and os.getloadavg()[0] > 0.5:
        print(f"Load: {os.getloadavg()[0]:.1f}. Other programs run, so these ratios are unreliable")
    if section:
        print(f"Expected: {kind}, as accepted on {section['date']} on {section['processor']}")
        for name, version in versions().items():
            if (then := section["versions"].get(name)) != version:
                print(f"{name} was {then} then and is {version} here, which may change ratios")
    print(f"\n{'princomp ÷ bare computation':38} {'ratio':>8}       {'expected':>8}")


def accept(path: Path, kind: str, found: dict[str, Found]) -> int:
    """Keep ratios as those expected of this kind of processor, but none that is noisy."""
    steady = {n: float(f"{one.ratio:.3g}") for n, one in found.items() if not one.is_noisy}
    document = json.loads(path.read_text()) if path.exists() else {}
    kinds = document.setdefault("processors", {})
    kinds[kind] = {
        "processor": cpu(),
        "date": time.strftime("%Y-%m-%d"),
        "versions": versions(),
        "ratios": kinds.get(kind, {}).get("ratios", {}) | steady,
    }
    path.write_text(json.dumps(document, indent=1, sort_keys=True) + "\n")
    print(f"\nAccepted {len(steady)} of {len(found)} cases for {kind}, in {path}")
    if noisy := [name for name in found if name not in steady]:
        print(f"Too noisy to accept: {', '.join(noisy)}. Stop other programs and try again")
    return 1 if noisy else 0


def verdict(expected: dict[str, float], kind: str, found: dict[str, Found]) -> int:
    """Report cases that are slower, too noisy or without an expected ratio; 0 if there are none."""
    noisy = [name for name, one in found.items() if one.is_noisy]
    lost = [n for n, one in found.items() if one.is_lost(expected.get(n)) and n not in noisy]
    unknown = [name for name in found if name not in expected]
    print()
    for name in lost:
        ratio, known = found[name].ratio, expected[name]
        print(
            f"LOST {name}: {ratio:.3g} times the bare computation's time, expected {known:.3g} "
            f"({ratio / known - 1:+.0%}, at its best of {ATTEMPTS} measurements). To accept the "
            f"new ratio: make bench-check WRITE=1 CASE={name}"
        )
    if noisy:
        print(f"Too noisy to tell: {', '.join(noisy)}. Stop other programs and try again")
    if unknown:
        which = "all cases" if len(unknown) == len(found) else ", ".join(unknown)
        print(f"No expected ratios on {kind} for {which}. {ACCEPT}")
    quicker = [name for name, one in found.items() if one.ratio < expected.get(name, 0) / 1.15]
    if quicker and not noisy:
        print(f"Quicker by 15%: {', '.join(quicker)}. {ACCEPT}")
    print(f"{kind}: {len(found) - len({*lost, *noisy, *unknown})} of {len(found)} cases kept up")
    return 1 if lost or noisy or unknown else 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("case", nargs="?", default="", help="part of a name")
    parser.add_argument("--write", action="store_true", help="accept the ratios of this machine")
    parser.add_argument("--seconds", type=float, default=3.0, help="of rounds, a case")
    parser.add_argument("--expected", type=Path, default=EXPECTED, help="another file of ratios")
    parser.add_argument("--kernels", action="store_true", help="only the cases of kernels")
    return parser.parse_args()


def main() -> int:
    asked = arguments()
    every = KERNEL_CASES if asked.kernels else CASES
    cases = [c for c in every if c.name == asked.case] or [c for c in every if asked.case in c.name]
    if not cases:
        raise SystemExit(
            f"no case has {asked.case!r} in its name: {', '.join(c.name for c in every)}"
        )
    kind = kind_of_processor()
    document = json.loads(asked.expected.read_text()) if asked.expected.exists() else {}
    section = document.get("processors", {}).get(kind, {})
    expected = section.get("ratios", {})
    describe(kind, section)
    found = measure(cases, expected, asked.seconds, write=asked.write)
    judge = partial(accept, asked.expected) if asked.write else partial(verdict, expected)
    status = judge(kind, found)
    if native.name_in_use() == "avx512" and any(case in KERNEL_CASES for case in cases):
        print("\nThe cases of kernels again, with PRINCOMP_KERNEL=avx2", flush=True)
        command = [sys.executable, __file__, *sys.argv[1:], "--kernels"]
        child = subprocess.run(command, env={**os.environ, "PRINCOMP_KERNEL": "avx2"}, check=False)
        status = status or child.returncode
    return status


if __name__ == "__main__":
    sys.exit(main())
