"""Interleaved rounds over the workers of a case."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import time
from dataclasses import dataclass, field, fields
from itertools import pairwise
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import accuracy
from bound import Machine, bound, memory_limit
from cases import Case
from libraries import ESTIMATORS, LIBRARIES, STREAM_ROWS
from worker import MIN_SECONDS, load, serve, store

TIMEOUT = 60.0  # seconds for one call, before its worker is given up
ROUNDS = 15
MIN_ROUNDS = 3  # rounds of a method that could be the best
ONE_ROUND_SECONDS = 5.0  # seconds from which one round has to do
HOPELESS_RATIO = 2.5  # times the best of its kind: a slower one is timed once
SLOW_SECONDS = 0.3  # seconds from which that saves time worth saving
WARM_UP_SECONDS = 2.0  # seconds from which the warm-up tells as much as a round
SKIP_RATIO = 8.0  # times the best: not run again on other rows of the same shape


class Worker:
    """A process of one library, which runs only while it is asked."""

    def __init__(self, library: str) -> None:
        context = multiprocessing.get_context("spawn")
        self.library = library
        self.connection, child_end = context.Pipe()
        self.process = context.Process(target=serve, args=(library, child_end), daemon=True)
        self.process.start()

    def send(self, *message: Any) -> None:
        self._signal("SIGCONT")
        self.connection.send(message)

    def receive(self, timeout: float = TIMEOUT) -> Any:
        if not self.connection.poll(timeout):
            self.process.kill()
            raise RuntimeError(f"took more than {timeout:.0f} s")
        try:
            succeeded, result = self.connection.recv()
        except EOFError:
            raise RuntimeError(f"its process died: {self.process.exitcode}") from None
        # Threads that spin while they wait for work would slow the next one's.
        self._signal("SIGSTOP")
        if not succeeded:
            raise RuntimeError(result)
        return result

    def ask(self, *message: Any) -> Any:
        self.send(*message)
        return self.receive()

    def close(self) -> None:
        self.process.kill()
        self.process.join()

    def _signal(self, name: str) -> None:
        if hasattr(signal, name) and self.process.is_alive():
            os.kill(self.process.pid, getattr(signal, name))


@dataclass
class Method:
    """What was found of one way to do a case."""

    name: str
    library: str
    skipped: str | None = None
    share: float = 1.0  # of the rows that it is run on
    first_s: float = 0.0
    peak: float | None = None
    seconds: list[float] = field(default_factory=list)
    variance_error: float = float("inf")
    angle: float | None = None
    score_error: float | None = None

    @property
    def exact(self) -> bool:
        """Its answer is an answer."""
        return self.variance_error <= accuracy.MAX_VARIANCE_ERROR

    @property
    def last_s(self) -> float:
        """Seconds of the last call."""
        return self.seconds[-1] if self.seconds else self.first_s

    @classmethod
    def of(cls, document: dict[str, Any]) -> Method:
        return cls(**{part.name: document[part.name] for part in fields(cls)})

    def document(self) -> dict[str, Any]:
        if not self.seconds:
            return vars(self)
        q1, middle, q3 = quartiles(self.seconds)
        return {**vars(self), "counted": self.exact, "median": middle, "q1": q1, "q3": q3}


def quartiles(values: list[float]) -> tuple[float, float, float]:
    if len(values) == 1:
        return values[0], values[0], values[0]
    q1, middle, q3 = quantiles(values, method="inclusive")
    return q1, middle, q3


def run(
    case: Case,
    machine: Machine,
    folder: Path,
    *,
    budget: float,
    libraries: list[str],
    only: tuple[str, ...] = (),
    skip: dict[str, str] | None = None,
) -> dict[str, Any]:
    """Measure one case; everything found, as plain values.

    `only`: methods of these names. `skip`: names not to run, and why.
    """
    times = [time.perf_counter()]
    rows_folder = folder / "rows"
    shutil.rmtree(rows_folder, ignore_errors=True)
    rows_folder.mkdir(parents=True)
    workers = {name: Worker(name) for name in LIBRARIES if name in libraries}
    try:
        stored = store(case, rows_folder)
        truths = _solve_truths(case, rows_folder, folder / "truth")
        times.append(time.perf_counter())
        methods = _load_methods(case, workers, rows_folder)
        methods = [m for m in methods if not only or m.name in only]
        for method in methods:
            method.skipped = method.skipped or (skip or {}).get(method.name)
        times.append(time.perf_counter())
        _warm_up(workers, methods, truths)
        times.append(time.perf_counter())
        _run_rounds(workers, methods, budget)
        times.append(time.perf_counter())
    finally:
        for worker in workers.values():
            worker.close()
        shutil.rmtree(rows_folder, ignore_errors=True)
    phases = ("rows and truth", "loading", "warm-up", "rounds")
    return {
        "case": case.name,
        "n": case.n,
        "p": case.p,
        "k": case.k,
        "stored": stored,
        "components": len(truths[1.0].axes),
        "gap": truths[1.0].gap,
        "bound": bound(case, stored, machine),
        "memory_limit": memory_limit(case),
        "methods": [method.document() for method in methods],
        "wall_s": dict(zip(phases, (b - a for a, b in pairwise(times)), strict=True)),
        **_ratios(methods),
    }


def _solve_truths(case: Case, rows_folder: Path, folder: Path) -> dict[float, accuracy.Truth]:
    """By the share of the rows that a method is run on."""
    rows = load(case, rows_folder)
    truths = {1.0: accuracy.truth(case, rows, folder)}
    if case.task == "stream":
        share = min(1.0, STREAM_ROWS / case.n)
        truths[share] = accuracy.truth(case, rows[: int(share * case.n)], folder)
    return truths


def _load_methods(case: Case, workers: dict[str, Worker], rows_folder: Path) -> list[Method]:
    """All load at the same time; what each will do, or why not."""
    methods = []
    for worker in workers.values():
        worker.send("load", case, rows_folder)
    for library, worker in workers.items():
        try:
            reasons = worker.receive(2 * TIMEOUT)
        except RuntimeError as error:
            methods.append(Method(library, library, skipped=str(error)))
            continue
        for name, reason in reasons.items():
            slow = case.task == "stream" and library == "sklearn"
            share = min(1.0, STREAM_ROWS / case.n) if slow else 1.0
            methods.append(Method(name, library, skipped=reason, share=share))
    return methods


def _warm_up(
    workers: dict[str, Worker], methods: list[Method], truths: dict[float, accuracy.Truth]
) -> None:
    """The warm-up, of which memory and accuracy are taken."""
    for method in methods:
        if method.skipped:
            continue
        try:
            answer, seconds, peak = workers[method.library].ask("first", method.name)
        except (RuntimeError, OSError) as error:
            method.skipped = str(error)
            continue
        truth = truths[method.share]
        method.first_s, method.peak = seconds / method.share, peak
        method.variance_error = accuracy.variance_error(answer.variances, truth)
        method.angle = accuracy.angle(answer.axes, truth)
        method.score_error = accuracy.score_error(answer.scores, truth)


def _times_the_best(method: Method, methods: list[Method]) -> float:
    """How many times the time of the best of its kind."""
    kind = ESTIMATORS if method.library in ESTIMATORS else tuple(LIBRARIES)[1:]
    best = min((m.last_s for m in methods if m.library in kind and m.exact), default=method.last_s)
    return method.last_s / best


def _run_rounds(workers: dict[str, Worker], methods: list[Method], budget: float) -> None:
    """A B C, B C A, …: each method as often as its part of the budget allows.

    The order turns, so that none is always after the same one. The slow that cannot be the best
    have one round; those that take seconds have only the warm-up.
    """
    active = [method for method in methods if not method.skipped]
    slow_seconds = WARM_UP_SECONDS
    for number in range(ROUNDS):
        if number < 2:
            for method in [m for m in active if m.library != "princomp"]:
                hopeless = not method.exact or (
                    _times_the_best(method, active) > HOPELESS_RATIO
                    and method.last_s > slow_seconds
                )
                if hopeless and method.last_s > SLOW_SECONDS:
                    method.seconds = method.seconds or [method.first_s]
                    active.remove(method)
            slow_seconds = SLOW_SECONDS
        first = number % max(1, len(active))
        for method in active[first:] + active[:first]:
            seconds_of_call = method.last_s * method.share
            min_rounds = MIN_ROUNDS if seconds_of_call < ONE_ROUND_SECONDS else 1
            if number >= max(
                min_rounds, budget / len(active) / max(seconds_of_call, 2 * MIN_SECONDS)
            ):
                continue
            try:
                seconds = workers[method.library].ask("turn", method.name)
            except (RuntimeError, OSError) as error:
                method.skipped = str(error)
                continue
            method.seconds.append(seconds / method.share)
        active = [method for method in active if not method.skipped]


def slow_methods(result: dict[str, Any]) -> dict[str, str]:
    """The methods that other rows of this shape need not wait for, and why."""
    methods = [Method.of(m) for m in result["methods"] if m["seconds"]]
    return {
        m.name: f"{_times_the_best(m, methods):.0f} times the best on {result['case']}"
        for m in methods
        if m.library != "princomp" and m.first_s * m.share > SLOW_SECONDS
        if _times_the_best(m, methods) > SKIP_RATIO
    }


def _ratios(methods: list[Method]) -> dict[str, Any]:
    """Best ÷ princomp, by rounds, of the estimators and of anything."""
    ours = next((m for m in methods if m.library == "princomp" and m.seconds), None)
    ratios: dict[str, Any] = {"ours": median(ours.seconds) if ours else None}
    for group, libraries in (("estimator", ESTIMATORS), ("anything", tuple(LIBRARIES)[1:])):
        candidates = [m for m in methods if m.library in libraries and m.exact and m.seconds]
        best = min(candidates, key=lambda m: median(m.seconds), default=None)
        ratios[group] = None
        if ours and best:
            round_ratios = [a / b for a, b in zip(best.seconds, ours.seconds, strict=False)]
            q1, middle, q3 = quartiles(round_ratios)
            ratios[group] = {"name": best.name, "ratio": middle, "q1": q1, "q3": q3}
    return ratios
