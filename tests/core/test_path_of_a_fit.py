"""A plain fit enters no file of what was not asked for."""

from __future__ import annotations

import subprocess
import sys

from command_line import ENVIRONMENT

NOT_ASKED_FOR = (
    "rules/",
    "core/applied_rule.py",
    "core/constraints.py",
    "core/runs.py",
    "core/weights.py",
    "engines/run_context.py",
    "linalg/seeds.py",
    "summaries/scaling.py",
)
# So few numbers are summed by the thread of the caller, the only one that is profiled.
SCRIPT = """
import sys, numpy as np, princomp

X = np.random.default_rng(0).standard_normal((5_000, 60))
princomp.PCA(3).fit(X)  # imports what a fit needs
entered = set()
sys.setprofile(lambda frame, event, value: entered.add(frame.f_code.co_filename))
princomp.PCA(3).fit(X)
sys.setprofile(None)
print(*(file.rpartition("princomp/")[2] for file in entered), sep="\\n")
"""


def test_a_plain_fit_enters_no_file_of_rules_scaling_progress_weights_or_seeds():
    found = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    assert {"core/fit.py", "engines/local.py", "summaries/moments.py"} <= set(found)
    assert not [file for file in found if file.startswith(NOT_ASKED_FOR)]
