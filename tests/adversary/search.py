"""A search for wrong answers: random recipes, and changes of those that came nearest to one.

    python tests/adversary/search.py --minutes 30            one process a processor
    python tests/adversary/search.py --case 7.3.12           one case again, with all it found
    python tests/adversary/search.py --recipe "{'n': 8, …}"  the same of a recipe

Case 7 is drawn with seed 7; case 7.3.12 is case 7 changed with seed 3, then with seed 12. The exit
status is 1 where an error was more than ten times what the certificate claims.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import ast
import sys
import tempfile
import time
import traceback
import warnings
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
import tables
from claims import FACTOR, Finding, findings_of, worst_of
from recipes import recipe_of
from runs import run

from princomp.errors import ConstantColumnError, PrincompError

# Cases that are changed further, and how often one is, instead of a new one being drawn.
_KEPT, _CHANGED = 32, 0.5


@dataclass
class Outcome:
    """What became of a case; ``worst`` is the finding nearest to a wrong answer, or beyond."""

    name: str
    recipe: dict
    worst: Finding
    findings: list = field(default_factory=list)
    refused: str = ""
    route: str = ""

    @property
    def wrong(self):
        return self.worst.ratio > FACTOR

    @property
    def kind(self):
        """Cases of one kind are probably one fault."""
        return (self.worst.check, self.route, self.recipe["sequence"])

    def __str__(self):
        recipe = self.recipe
        return (
            f"{self.worst.ratio:9.3g} × the claim: {self.worst.check}, {self.worst.detail}\n"
            f"    {self.route} of {recipe['n']} × {recipe['p']} {recipe['dtype']} "
            f"({recipe['pattern']}), {recipe['source']}, {recipe['sequence']}\n"
            f"    make adversary CASE={self.name}\n    {recipe}"
        )


def attacked(recipe, name=""):
    """The Outcome of a recipe."""
    rows, weights = tables.rows_of(recipe)
    before = rows.copy()
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            fit = run(recipe, rows, weights, folder)
        except ConstantColumnError as error:
            # Right where a column is constant.
            spread = (rows if weights is None else rows[weights > 0]).astype(np.longdouble)
            wrong = bool((spread != spread[0]).any(axis=0).all()) and recipe["sequence"] == "fit"
            return _refusal(recipe, name, error, wrong)
        except PrincompError as error:
            return _refusal(recipe, name, error, False)
        except Exception as error:
            return _refusal(recipe, name, error, True)
        return _compared(recipe, name, fit, not (before == rows).all())


def _refusal(recipe, name, error, wrong):
    text = f"{type(error).__name__}: {error}"
    if wrong and not isinstance(error, PrincompError):
        last = traceback.extract_tb(error.__traceback__)[-1]
        text += f" ({Path(last.filename).name}:{last.lineno})"
    found = Finding("refused" if wrong else "", np.inf if wrong else 0.0, text)
    return Outcome(name, recipe, found, [found], text, recipe["solver"])


def _compared(recipe, name, fit, changed):
    try:
        findings = findings_of(fit)
        plan = None if fit.wrongly else fit.model.plan_
    except PrincompError as error:
        return _refusal(recipe, name, error, False)
    except Exception as error:  # of a fit that is solved when it is read
        return _refusal(recipe, name, error, True)
    if changed:
        findings.append(Finding("the input was changed", np.inf))
    route = f"{getattr(plan, 'summary', 'kernel')}, {getattr(plan, 'solver', '')}"
    route = recipe["solver"] if plan is None else route
    return Outcome(name, recipe, worst_of(findings), findings, fit.wrongly, route)


# ---- the search -------------------------------------------------------------------------


def searched(first_seed, seconds, report=print):
    """Outcomes by kind: how many there were, and the worst; and all counterexamples by kind."""
    rng, stop = np.random.default_rng([4, first_seed]), time.monotonic() + seconds
    near, wrong, seen, seed = {}, {}, {}, first_seed
    while time.monotonic() < stop:
        if near and rng.random() < _CHANGED:
            parent = near[tables.one_of(rng, list(near))]
            name = f"{parent.name}.{int(rng.integers(10_000))}"
        else:
            parent, name = None, str(seed)
            seed += 1
        outcome = attacked(recipe_of(name), name)
        _count(seen, outcome)
        if outcome.wrong:
            if outcome.kind not in wrong:
                report(outcome, flush=True)
            wrong.setdefault(outcome.kind, []).append(outcome)
        elif not outcome.refused:
            _keep(near, outcome, parent)
    return seen, wrong


def _keep(near, outcome, parent):
    """Among the nearest of each kind, one each; a change that is no worse replaces its parent."""
    best = near.get(outcome.kind)
    if best is None or outcome.worst.ratio >= best.worst.ratio:
        near[outcome.kind] = outcome
    elif parent is not None and outcome.worst.ratio >= parent.worst.ratio:
        near[parent.kind] = outcome
    if len(near) > _KEPT:
        del near[min(near, key=lambda kind: near[kind].worst.ratio)]


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


def _joined(parts):
    seen, wrong = {}, {}
    for some, bad in parts:
        for group, (cases, refused, worst, name) in some.items():
            before = seen.get(group, (0, 0, 0.0, ""))
            worse = (worst, name) if worst > before[2] else before[2:]
            seen[group] = (before[0] + cases, before[1] + refused, *worse)
        for kind, outcomes in bad.items():
            wrong.setdefault(kind, []).extend(outcomes)
    return seen, wrong


def summary_of(seen, wrong):
    """A table of what was tried, and the counterexamples, one a kind."""
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
    """Of the command line; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--seed", type=int, default=None, help="the first; by default of the time")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--case")
    parser.add_argument("--recipe")
    asked = parser.parse_args(arguments)
    if asked.case or asked.recipe:
        recipe = recipe_of(asked.case) if asked.case else ast.literal_eval(asked.recipe)
        outcome = attacked(recipe, asked.case or "")
        print(outcome)
        for finding in outcome.findings:
            print(f"{finding.ratio:9.3g}  {finding.check}  {finding.detail}")
        return int(outcome.wrong)
    seed = int(time.time()) % 10**6 * 1000 if asked.seed is None else asked.seed
    count = max(asked.processes, 1)
    seeds = [seed + 10**9 * i for i in range(count)]
    print(f"{count} processes for {asked.minutes:g} minutes, seeds from {seeds}", flush=True)
    with ProcessPoolExecutor(count, mp_context=get_context("spawn")) as pool:
        parts = list(pool.map(searched, seeds, [60 * asked.minutes] * count))
    seen, wrong = _joined(parts)
    print(summary_of(seen, wrong))
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
