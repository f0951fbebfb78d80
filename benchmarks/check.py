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
from worker import MIN_SECONDS
from yardsticks import CASES, KERNEL_CASES

from princomp.kernels import native
from princomp.linalg import limit_threads

# A case whose ratio grew by more than this counts as lost.
LOSS = 0.15
# A measurement whose halves differ by more than this says nothing.
NOISE = 0.1
# Times that a lost case is measured, and every case for `expected.json`.
ATTEMPTS = 3
MIN_ROUNDS, MAX_ROUNDS = 6, 16
EXPECTED = Path(__file__).with_name("expected.json")
ACCEPT = "To accept what a quiet machine measures: make bench-check WRITE=1"


def interleaved(
    calls: dict[str, Callable[[], Any]], budget: float, pause: float = 0.0
) -> dict[str, list[float]]:
    """Seconds of each call, round by round; each round begins with another call.

    `budget` is the seconds of all rounds, and `pause` those before each turn. Short calls are
    repeated until a turn is full.
    """
    call_seconds = {name: min(_seconds(call, 1) for _ in range(2)) for name, call in calls.items()}
    repeats = {name: max(1, int(MIN_SECONDS / seconds)) for name, seconds in call_seconds.items()}
    rounds = budget / sum(call_seconds[name] * repeats[name] for name in calls)
    names = list(calls)
    times: dict[str, list[float]] = {name: [] for name in names}
    for number in range(max(MIN_ROUNDS, min(MAX_ROUNDS, int(rounds)))):
        first = number % len(names)
        for name in names[first:] + names[:first]:
            time.sleep(pause)
            times[name].append(_seconds(calls[name], repeats[name]))
    return times


def _seconds(call: Callable[[], Any], repeats: int) -> float:
    """Of one call, the mean of some."""
    start = time.perf_counter()
    for _ in range(repeats):
        call()
    return (time.perf_counter() - start) / repeats


class Measurement(NamedTuple):
    """princomp's least time over the bare one's, and how far two halves of the rounds differ."""

    ratio: float
    spread: float

    @property
    def is_noisy(self) -> bool:
        return self.spread > NOISE

    def is_lost(self, expected: float | None) -> bool:
        return expected is not None and self.ratio > (1 + LOSS) * expected


def measure_ratio(case: Case, budget: float) -> Measurement:
    with limit_threads(1), threadpool_limits(1):
        ours, bare = yardsticks.calls_of(case)
        times = interleaved({"princomp": ours, "bare": bare}, budget)
    first, second = (_ratio(times, slice(start, None, 2)) for start in (0, 1))
    ratio = _ratio(times, slice(None))
    return Measurement(ratio, abs(first - second) / ratio)


def _ratio(times: dict[str, list[float]], rounds: slice) -> float:
    """Of the least times of some rounds: what disturbs a call only makes it longer."""
    return min(times["princomp"][rounds]) / min(times["bare"][rounds])


def measure(
    cases: list[Case], expected: dict[str, float], budget: float, *, write: bool
) -> dict[str, Measurement]:
    """Each case; to be written the middle of three measurements, else the best of up to three.

    Noisy measurements count only where there is no other: a disturbed bare computation would
    hide a loss.
    """
    measurements: dict[str, list[Measurement]] = {case.name: [] for case in cases}
    found: dict[str, Measurement] = {}
    remaining = cases
    for attempt in range(ATTEMPTS):
        if attempt and remaining:
            print("Measured again:")
        for case in remaining:
            expected_ratio, case_measurements = expected.get(case.name), measurements[case.name]
            case_measurements.append(measure_ratio(case, budget))
            print(format_line(case.name, case_measurements[-1], expected_ratio), flush=True)
            usable = sorted(
                [measurement for measurement in case_measurements if not measurement.is_noisy]
                or case_measurements
            )
            found[case.name] = usable[len(usable) // 2 if write else 0]
        if not write:
            remaining = [
                case
                for case in remaining
                if (measurement := found[case.name]).is_noisy
                or measurement.is_lost(expected.get(case.name))
            ]
    return found


def format_line(name: str, measurement: Measurement, expected: float | None) -> str:
    change = (
        f"{expected:8.3g} {measurement.ratio / expected - 1:+7.0%}" if expected else f"{'–':>8}"
    )
    return f"{name:38} {measurement.ratio:8.3g} ±{measurement.spread:4.0%} {change}"


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
    return f"{cpu()}, {native.instruction_set_in_use()} kernels, BLAS for {blas}"


def versions() -> dict[str, str]:
    """Of what changes ratios besides princomp."""
    packages = {name: metadata.version(name) for name in ("numpy", "scipy")}
    return {"python": platform.python_version(), **packages}


def describe(kind: str, section: dict[str, Any]) -> None:
    """Print what is measured on, and what it is compared with."""
    sets = ", ".join(native.instruction_sets()) or "none"
    print(f"Processor: {cpu()}, {cores()} of its cores, one thread used")
    print(f"princomp's kernels: {native.instruction_set_in_use()} (this machine runs: {sets})")
    for package, core in blas_libraries().items():
        print(f"BLAS of {package}: core type {core}")
    if hasattr(os, "getloadavg") and os.getloadavg()[0] > 0.5:
        print(f"Load: {os.getloadavg()[0]:.1f}. Other programs run, so these ratios are unreliable")
    if section:
        print(f"Expected: {kind}, as accepted on {section['date']}")
        for name, version in versions().items():
            if (before := section["versions"].get(name)) != version:
                print(f"{name} was {before} then and is {version} here, which may change ratios")
    print(f"\n{'princomp ÷ bare computation':38} {'ratio':>8}       {'expected':>8}")


def accept(path: Path, kind: str, measurements: dict[str, Measurement]) -> int:
    """Keep ratios as those expected of this kind of processor, but none that is noisy."""
    ratios = {
        name: float(f"{measurement.ratio:.3g}")
        for name, measurement in measurements.items()
        if not measurement.is_noisy
    }
    document = json.loads(path.read_text()) if path.exists() else {}
    kinds = document.setdefault("processors", {})
    kinds[kind] = {
        "date": time.strftime("%Y-%m-%d"),
        "versions": versions(),
        "ratios": kinds.get(kind, {}).get("ratios", {}) | ratios,
    }
    path.write_text(json.dumps(document, indent=1, sort_keys=True) + "\n")
    print(f"\nAccepted {len(ratios)} of {len(measurements)} cases for {kind}, in {path}")
    if noisy := [name for name in measurements if name not in ratios]:
        print(f"Too noisy to accept: {', '.join(noisy)}. Stop other programs and try again")
    return 1 if noisy else 0


def verdict(expected: dict[str, float], kind: str, measurements: dict[str, Measurement]) -> int:
    """Report cases that are slower, too noisy or without an expected ratio; 0 if there are none."""
    noisy = [name for name, measurement in measurements.items() if measurement.is_noisy]
    lost = [
        name
        for name, measurement in measurements.items()
        if measurement.is_lost(expected.get(name)) and name not in noisy
    ]
    unknown = [name for name in measurements if name not in expected]
    print()
    for name in lost:
        ratio, accepted = measurements[name].ratio, expected[name]
        print(
            f"LOST {name}: {ratio:.3g} times the bare computation's time, expected {accepted:.3g} "
            f"({ratio / accepted - 1:+.0%}, at its best of {ATTEMPTS} measurements). To accept the "
            f"new ratio: make bench-check WRITE=1 CASE={name}"
        )
    if noisy:
        print(f"Too noisy to tell: {', '.join(noisy)}. Stop other programs and try again")
    if unknown:
        which = "all cases" if len(unknown) == len(measurements) else ", ".join(unknown)
        print(f"No expected ratios on {kind} for {which}. {ACCEPT}")
    quicker = [
        name
        for name, measurement in measurements.items()
        if measurement.ratio < expected.get(name, 0) / 1.15
    ]
    if quicker and not noisy:
        print(f"Quicker by 15%: {', '.join(quicker)}. {ACCEPT}")
    kept_up = len(measurements) - len({*lost, *noisy, *unknown})
    print(f"{kind}: {kept_up} of {len(measurements)} cases kept up")
    return 1 if lost or noisy or unknown else 0


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("case", nargs="?", default="", help="part of a name")
    parser.add_argument("--write", action="store_true", help="accept the ratios of this machine")
    parser.add_argument("--seconds", type=float, default=3.0, help="of rounds, a case")
    parser.add_argument("--expected", type=Path, default=EXPECTED, help="another file of ratios")
    parser.add_argument("--kernels", action="store_true", help="only the cases of kernels")
    return parser.parse_args()


def main() -> int:
    options = parse_arguments()
    all_cases = KERNEL_CASES if options.kernels else CASES
    cases = [case for case in all_cases if case.name == options.case] or [
        case for case in all_cases if options.case in case.name
    ]
    if not cases:
        names = ", ".join(case.name for case in all_cases)
        raise SystemExit(f"no case has {options.case!r} in its name: {names}")
    kind = kind_of_processor()
    document = json.loads(options.expected.read_text()) if options.expected.exists() else {}
    section = document.get("processors", {}).get(kind, {})
    expected = section.get("ratios", {})
    describe(kind, section)
    measurements = measure(cases, expected, options.seconds, write=options.write)
    finish = partial(accept, options.expected) if options.write else partial(verdict, expected)
    status = finish(kind, measurements)
    if native.instruction_set_in_use() == "avx512" and any(case in KERNEL_CASES for case in cases):
        print("\nThe cases of kernels again, with PRINCOMP_KERNEL=avx2", flush=True)
        command = [sys.executable, __file__, *sys.argv[1:], "--kernels"]
        child = subprocess.run(command, env={**os.environ, "PRINCOMP_KERNEL": "avx2"}, check=False)
        status = status or child.returncode
    return status


if __name__ == "__main__":
    sys.exit(main())
