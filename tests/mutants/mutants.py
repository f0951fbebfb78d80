"""Change the package in one place at a time, and check whether a test fails.

``mutants.py --number 40 --seed 1 --room summaries``, after ``make coverage``, which records the
tests that reach each line. Of these, tests of the module's own room run first, then the others, the
quickest first, for up to a minute. A mutant that no test notices has survived: add a test, or
explain in ``survivors.md`` why no test can notice it. Code that it lists is not changed.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
from collections import Counter
from itertools import accumulate
from pathlib import Path

from changes import ROOT, Change, changes_of, explained_parts, is_explained
from coverage import CoverageData

# A run that takes this many times its limit of processor time in wall-clock time counts as hung.
WAITING = 20.0
REACHED, SECONDS = (ROOT / "build" / "coverage" / name for name in ("python", "seconds.json"))
# The finder of an editable installation precedes PYTHONPATH, and would import unchanged sources.
OWN_SOURCES = """import sys
sys.meta_path[:] = [one for one in sys.meta_path if "ScikitBuild" not in type(one).__name__]
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--number", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--room", default="", help="for example summaries; all that are measured by default"
    )
    parser.add_argument("--budget", type=float, default=60.0, help="seconds of tests for a mutant")
    options = parser.parse_args()
    if not REACHED.exists():
        sys.exit(f"{REACHED} is missing: run `make coverage` first")
    reached = CoverageData(str(REACHED))
    reached.read()
    paths = sorted(Path(path).relative_to(ROOT) for path in reached.measured_files())
    paths = [path for path in paths if f"princomp/{options.room}" in str(path)]
    pieces = explained_parts(Path(__file__).with_name("survivors.md"))
    all_changes = [change for path in paths for change in changes_of(path)]
    changes = [change for change in all_changes if not is_explained(change, pieces)]
    if not changes:
        sys.exit(f"no measured module in a room {options.room!r}")
    sample = random.Random(options.seed).sample(changes, min(options.number, len(changes)))
    tree = Tree(ROOT / "build" / "mutants" / f"{options.room or 'all'}-{options.seed}")
    seconds, counts = json.loads(SECONDS.read_text()), Counter()
    for change in sample:
        tests = select_tests(reached, change, seconds, options.budget)
        outcome = tree.outcome(change, tests, sum(seconds[test] for test in tests))
        counts[outcome] += 1
        print(f"{outcome:11} {change}", flush=True)
    noticed = counts["killed"] + counts["too slow"]
    listed = ", ".join(f"{count} {outcome}" for outcome, count in counts.items())
    print(f"{len(sample)} of {len(changes)} changes: {listed}; {noticed / len(sample):.0%} noticed")
    print(f"{len(all_changes) - len(changes)} other changes are explained in survivors.md")


def select_tests(reached: CoverageData, change: Change, seconds: dict, budget: float) -> list[str]:
    """The tests that reach a line, or its module if the line runs at import."""
    by_line = reached.contexts_by_lineno(str(ROOT / change.path))
    tests = set(by_line.get(change.line, by_line.get(change.statement, ())))
    if change.statement is None:
        tests = set().union(*by_line.values())
    own = f"tests/{change.path.parts[2]}/"
    order = sorted(tests - {""}, key=lambda test: (not test.startswith(own), seconds[test]))
    elapsed = list(accumulate(seconds[test] for test in order))
    return [test for test, end in zip(order, elapsed, strict=True) if end <= budget] or order[:1]


class Tree:
    """A copy of the working tree, in which modules are changed."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.passed = folder, set()
        shutil.rmtree(folder, ignore_errors=True)
        list_files = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        names = subprocess.run(list_files, cwd=ROOT, check=True, capture_output=True, text=True)
        built = (path.relative_to(ROOT) for path in ROOT.glob("src/princomp/kernels/*.inplace"))
        for name in [*filter(None, names.stdout.split("\0")), *built]:
            if (ROOT / name).exists():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, folder / name)
        (folder / "sitecustomize.py").write_text(OWN_SOURCES)
        # Compile all modules once; the runs with changes only read what is compiled.
        self.run(["tests", "--collect-only"], 600.0, {"PYTHONDONTWRITEBYTECODE": ""})

    def outcome(self, change: Change, tests: list[str], seconds: float) -> str:
        """The outcome of a mutant: "killed", "too slow", "survived" or "not reached"."""
        if not tests:
            return "not reached"
        target = self.folder / change.path
        source = target.read_bytes()
        target.write_bytes(change.applied(source))
        try:
            code, output = self.run(tests, 30.0 + 5.0 * seconds)
        except subprocess.TimeoutExpired:
            return "too slow"
        finally:
            target.write_bytes(source)
        if not code:
            return "survived"
        if code == -signal.SIGXCPU:
            return "too slow"
        failed = re.search(r"^(?:FAILED|ERROR) (tests/\S+::.*?)(?: - |$)", output, re.MULTILINE)
        # A test that also fails without the change has not killed the mutant. It runs with all of
        # its parameters, because the change may have renamed them.
        checked = [failed[1].partition("[")[0]] if failed else tests
        if not self.passed.issuperset(checked):
            if self.run(checked, 600.0)[0]:
                sys.exit(f"{checked} fail in {self.folder} without a change:\n{output[-3000:]}")
            self.passed.update(checked)
        return "killed"

    def run(
        self, tests: list[str], limit: float, settings: dict[str, str] | None = None
    ) -> tuple[int, str]:
        """Run tests until the first failure; return the exit status and what was printed.

        ``limit`` is in seconds of processor time, so that it does not depend on other programs.
        ``settings`` are further variables of the environment.
        """
        listed = self.folder / "chosen.txt"
        listed.write_text("\n".join(tests))
        command = [sys.executable, "-m", "pytest", "-x", "-q", "--tb=no", "-rfE", f"@{listed}"]
        path = os.pathsep.join([str(self.folder), str(self.folder / "src")])
        environment = {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
        environment |= settings or {}
        done = subprocess.run(
            command,
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=WAITING * limit,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (int(limit), -1)),
        )
        if "ERROR: not found:" in done.stdout + done.stderr:
            sys.exit(f"tests have changed since `make coverage`: run it again\n{done.stderr}")
        return done.returncode, done.stdout


if __name__ == "__main__":
    main()
