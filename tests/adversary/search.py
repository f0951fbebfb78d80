"""A search for wrong answers: random recipes, and changes of those with the largest errors.

    python tests/adversary/search.py --minutes 30            one process a processor
    python tests/adversary/search.py --kind sketch           cases of one kind
    python tests/adversary/search.py --small 100000          so many problems of up to 8 × 8
    python tests/adversary/search.py --case 7.3.12           one case again, with all findings
    python tests/adversary/search.py --recipe "{'n': 8, …}"  the same for a recipe

Case 7 is drawn with seed 7; case 7.3.12 is case 7 changed with seed 3, then with seed 12; case
sketch:7 is one of the kind "sketch", and case s7 a small problem, drawn with seed 7. The exit
status is 1 where an error was more than ten times what the certificate claims, and where a case
crashed or took longer than --limit.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import ast
import contextlib
import signal
import sys
import tempfile
import time
import traceback
import warnings
from dataclasses import dataclass, field
from multiprocessing import connection, get_context
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
import tables
from claims import FACTOR, Finding, findings_of, truth_arguments, worst_of
from kinds import KINDS
from oracle import truths
from recipes import recipe_of
from runs import run

from princomp.errors import ConstantColumnError, PrincompError

# Number of cases kept for changes, the probability of a change instead of a new case, and that a
# new case is of a kind that was often wrong.
_KEPT, _CHANGED, _OF_A_KIND = 32, 0.5, 0.4
# Seconds of processor time after which a case counts as hanging (most take less than one), and the
# factor for wall-clock time, for a process that waits for ever.
_LIMIT, _WAITING = 300.0, 10.0
# Small problems that are compared together.
_BATCH = 256
_SPAWN = get_context("spawn")


@dataclass
class Outcome:
    """The outcome of a case; ``worst`` is the finding with the largest ratio."""

    name: str
    recipe: dict
    worst: Finding
    findings: list = field(default_factory=list)
    refused: str = ""
    route: str = ""
    # Result of running a wrong case again: a fault may depend on timing.
    rerun: str = ""

    @property
    def wrong(self):
        return self.worst.ratio > FACTOR

    @property
    def kind(self):
        """Cases of one kind probably have the same fault."""
        return (self.worst.check, self.route, self.recipe["sequence"])

    def __str__(self):
        recipe = self.recipe
        return (
            f"{self.worst.ratio:9.3g} × the claim: {self.worst.check}, {self.worst.detail}\n"
            f"    {self.route} of {recipe['n']} × {recipe['p']} {recipe['dtype']} "
            f"({recipe['pattern']}), {recipe['source']}, {recipe['sequence']}\n"
            f"    make adversary CASE={self.name}{self.rerun}\n    {recipe}"
        )


def run_case(recipe, name=""):
    """The Outcome of a recipe."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit, changed = _fit_recipe(recipe, name, folder)
        return fit if isinstance(fit, Outcome) else _compare(recipe, name, fit, changed)


def run_cases(recipes):
    """The Outcomes of recipes by name; the Truths of their rows are computed together."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fits = {name: _fit_recipe(recipe, name, folder) for name, recipe in recipes.items()}
        plain = [
            (name, fit)
            for name, (fit, _) in fits.items()
            if not isinstance(fit, Outcome) and fit.check is None and not fit.wrong_refusal
            if fit.weights is None or fit.weights.any()
        ]
        with np.errstate(all="ignore"):
            truths_of_fits = truths([truth_arguments(fit) for _, fit in plain])
        known = dict(zip([name for name, _ in plain], truths_of_fits, strict=True))
        return [
            fit
            if isinstance(fit, Outcome)
            else _compare(recipes[name], name, fit, changed, known.get(name))
            for name, (fit, changed) in fits.items()
        ]


def _fit_recipe(recipe, name, folder):
    """The Fit of a recipe, and whether it changed its rows; or the Outcome if it was refused."""
    rows, weights = tables.rows_of(recipe)
    before = rows.copy()
    try:
        fit = run(recipe, rows, weights, folder)
    except ConstantColumnError as error:
        # Correct if a column is constant, or the squares of its deviations underflow.
        counted = rows if weights is None or not weights.any() else rows[weights > 0]
        spread = counted.astype(np.longdouble) - counted[0]  # equal values have no rounding
        squares = ((spread - spread.mean(axis=0)) ** 2).sum(axis=0).astype(np.float64)
        wrong = bool((squares > 0).all()) and recipe["sequence"] == "fit"
        return _refusal(recipe, name, error, wrong), False
    except PrincompError as error:
        return _refusal(recipe, name, error, False), False
    except Exception as error:
        return _refusal(recipe, name, error, True), False
    return fit, not (before == rows).all()


def _refusal(recipe, name, error, wrong):
    text = f"{type(error).__name__}: {error}"
    if wrong and not isinstance(error, PrincompError):
        last = traceback.extract_tb(error.__traceback__)[-1]
        text += f" ({Path(last.filename).name}:{last.lineno})"
    found = Finding("refused" if wrong else "", np.inf if wrong else 0.0, text)
    return Outcome(name, recipe, found, [found], text, recipe["solver"])


def _compare(recipe, name, fit, changed, truth=None):
    try:
        findings = findings_of(fit, truth)
        plan = getattr(fit.model, "plan_", None)
    except PrincompError as error:
        return _refusal(recipe, name, error, False)
    except Exception as error:  # from a fit that is solved only when it is read
        return _refusal(recipe, name, error, True)
    if changed:
        findings.append(Finding("the input was changed", np.inf))
    route = f"{getattr(plan, 'summary', 'kernel')}, {getattr(plan, 'solver', '')}"
    route = (type(fit.model).__name__ if fit.model else recipe["solver"]) if plan is None else route
    return Outcome(name, recipe, worst_of(findings), findings, fit.wrong_refusal, route)


# ---- the search -------------------------------------------------------------------------


def _search(first_seed, until, limit, report, kind=None):
    """Try case after case; ``report`` gets the name of each before, and its Outcome after.

    With ``kind``, all new cases are of this kind. A signal ends the process if a case takes more
    than ``limit`` seconds of the processor.
    """
    rng, nearest, seed = np.random.default_rng([4, first_seed]), {}, first_seed
    while seed == first_seed or time.time() < until:
        if nearest and rng.random() < _CHANGED:
            parent = nearest[tables.one_of(rng, list(nearest))]
            name = f"{parent.name}.{int(rng.integers(10_000))}"
        else:
            parent, name = None, str(seed)
            if kind or rng.random() < _OF_A_KIND:
                name = f"{kind or tables.one_of(rng, list(KINDS))}:{seed}"
            seed += 1
        report(name)
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_PROF, limit)
        try:
            outcome = run_case(recipe_of(name), name)
            if outcome.wrong:
                outcome.rerun = _run_again(outcome)
        except Exception as error:
            outcome = _failed_case(name, f"{type(error).__name__} in the search: {error}")
        report(outcome)
        if not (outcome.wrong or outcome.refused):
            _keep(nearest, outcome, parent)


def _run_again(wrong):
    """A text: whether a wrong answer is wrong again, with all first findings if it is not."""
    second = run_case(wrong.recipe, wrong.name)
    if second.wrong:
        return ", wrong again"
    found = [f"\n    {one.ratio:9.3g}  {one.check}  {one.detail}" for one in wrong.findings]
    return "".join([", not wrong when run again; found at first:", *found])


def _failed_case(name, what):
    """The Outcome of a case that crashed or hung."""
    found = Finding(what, np.inf)
    recipe = dict.fromkeys(("solver", "source", "sequence", "dtype", "pattern", "n", "p"), "")
    with contextlib.suppress(Exception):  # the recipe itself may have failed
        recipe = recipe_of(name)
    return Outcome(name, recipe, found, [found], route=recipe["solver"])


class _Worker:
    """A process that searches. A case that hangs or crashes costs this process, not the search."""

    def __init__(self, seed, until, limit, kind=None):
        self.seed, self.until, self.limit, self.kind, self.name = seed, until, limit, kind, ""
        self.since = time.monotonic()
        self.reports, sender = _SPAWN.Pipe(duplex=False)
        arguments = (seed, until, limit, sender.send, kind)
        self.process = _SPAWN.Process(target=_search, args=arguments, daemon=True)
        self.process.start()
        sender.close()

    def outcomes(self):
        """Outcomes since the last call; EOFError if the process has ended."""
        while self.reports.poll():
            message = self.reports.recv()
            self.since = time.monotonic()
            if isinstance(message, str):
                self.name = message
                if "." not in message:
                    self.seed = int(message.rpartition(":")[2])
            else:
                self.name = ""
                yield message

    def replacement(self):
        """A new worker that continues with the next seed, or None if no time is left."""
        self.process.kill()
        self.process.join()
        left = time.time() < self.until
        return _Worker(self.seed + 1, self.until, self.limit, self.kind) if left else None

    @property
    def end(self):
        """Why the process ended."""
        code = self.process.exitcode
        if code == -getattr(signal, "SIGPROF", 0):
            return f"no answer after {self.limit:g} seconds of the processor"
        return f"the process ended with exit code {code}"


def run_search(first_seeds, seconds, limit=_LIMIT, report=print, kind=None):
    """Search in one process per first seed; counts by group, and counterexamples by kind.

    With ``kind``, one of KINDS, all new cases are of this kind.
    """
    until, seen, wrong = time.time() + seconds, {}, {}
    workers = [_Worker(seed, until, limit, kind) for seed in first_seeds]

    def take(outcome):
        _count(seen, outcome)
        if outcome.wrong:
            if outcome.kind not in wrong:
                report(outcome, flush=True)
            wrong.setdefault(outcome.kind, []).append(outcome)

    while workers:
        connection.wait([worker.reports for worker in workers], timeout=1.0)
        for i, worker in enumerate(workers):
            try:
                for outcome in worker.outcomes():
                    take(outcome)
            except EOFError:
                worker.process.join()
                if worker.process.exitcode == 0:
                    workers[i] = None
                    continue
                take(_failed_case(worker.name, worker.end))
                workers[i] = worker.replacement()
            else:
                waited = _WAITING * limit
                if worker.name and time.monotonic() - worker.since > waited:
                    take(_failed_case(worker.name, f"no answer after {waited:g} seconds"))
                    workers[i] = worker.replacement()
        workers = [worker for worker in workers if worker is not None]
    return seen, wrong


def run_small_search(first, count, report=print):
    """Counts and counterexamples, as in `run_search`, of small problems in this process."""
    seen, wrong = {}, {}
    for start in range(first, first + count, _BATCH):
        names = [f"s{seed}" for seed in range(start, min(start + _BATCH, first + count))]
        for outcome in run_cases({name: recipe_of(name) for name in names}):
            _count(seen, outcome)
            if outcome.wrong:
                if outcome.kind not in wrong:
                    report(outcome, flush=True)
                wrong.setdefault(outcome.kind, []).append(outcome)
    return seen, wrong


def _keep(nearest, outcome, parent):
    """Keep the case with the largest ratio of each kind; a change may replace its parent."""
    best = nearest.get(outcome.kind)
    if best is None or outcome.worst.ratio >= best.worst.ratio:
        nearest[outcome.kind] = outcome
    elif parent is not None and outcome.worst.ratio >= parent.worst.ratio:
        nearest[parent.kind] = outcome
    if len(nearest) > _KEPT:
        del nearest[min(nearest, key=lambda kind: nearest[kind].worst.ratio)]


def _count(seen, outcome):
    """Cases, refusals and the worst ratio, by solver, source and sequence."""
    recipe = outcome.recipe
    route = outcome.route if not outcome.refused else f"{recipe['solver']} asked for"
    groups = [("route", route)]
    groups += [(what, recipe[what]) for what in ("source", "sequence", "dtype", "pattern")]
    for group in groups:
        cases, refused, worst, name = seen.get(group, (0, 0, 0.0, ""))
        if outcome.worst.ratio > worst:
            worst, name = outcome.worst.ratio, outcome.name
        seen[group] = (cases + 1, refused + bool(outcome.refused), worst, name)


def summary_of(seen, wrong):
    """A table of the tried cases, and one counterexample of each kind."""
    lines = [f"{'':44}{'cases':>8}{'refused':>9}{'worst ratio':>13}  in case"]
    for (what, value), (cases, refused, worst, name) in sorted(seen.items()):
        lines.append(f"{what:10}{value:34}{cases:8}{refused:9}{worst:13.3g}  {name}")
    total = sum(n for (what, _), (n, *_) in seen.items() if what == "route")
    lines.append(f"{total} cases, {sum(map(len, wrong.values()))} counterexamples:")
    for outcomes in wrong.values():
        lines.append(f"[{len(outcomes)} of this kind]")
        lines.append(str(min(outcomes, key=lambda one: one.recipe["n"] * one.recipe["p"])))
    return "\n".join(lines)


def main(arguments=None):
    """Run the command line; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--seed", type=int, default=None, help="the first; by default of the time")
    parser.add_argument("--kind", choices=KINDS, help="only cases of this kind")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--small", type=int, help="so many problems of up to 8 rows and columns")
    text = "seconds of the processor for a case"
    parser.add_argument("--limit", type=float, default=_LIMIT, help=text)
    parser.add_argument("--case")
    parser.add_argument("--recipe")
    options = parser.parse_args(arguments)
    if options.case or options.recipe:
        recipe = recipe_of(options.case) if options.case else ast.literal_eval(options.recipe)
        outcome = run_case(recipe, options.case or "")
        print(outcome)
        for finding in outcome.findings:
            print(f"{finding.ratio:9.3g}  {finding.check}  {finding.detail}")
        return int(outcome.wrong)
    seed = int(time.time()) % 10**6 * 1000 if options.seed is None else options.seed
    if options.small:
        print(f"{options.small} small problems from seed {seed} on", flush=True)
        before = time.process_time()
        seen, wrong = run_small_search(seed, options.small)
        print(summary_of(seen, wrong))
        print(f"{options.small / (time.process_time() - before):.0f} a second of the processor")
        return int(bool(wrong))
    count = max(options.processes, 1)
    seeds = [seed + 10**9 * i for i in range(count)]
    print(f"{count} processes for {options.minutes:g} minutes, seeds from {seeds}", flush=True)
    seen, wrong = run_search(seeds, 60 * options.minutes, options.limit, kind=options.kind)
    print(summary_of(seen, wrong))
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
