"""The changes that `make mutants` makes, and the code that it leaves alone."""

from __future__ import annotations

from pathlib import Path

import changes
import pytest

SURVIVORS = Path(changes.__file__).with_name("survivors.md")


def test_all_code_that_is_left_alone_exists():
    assert changes.explained_parts(SURVIVORS)


def test_code_that_does_not_exist_is_refused(tmp_path):
    table = tmp_path / "survivors.md"
    table.write_text("| `solvers/lanczos.py` | `no such code` | no reason |\n")
    with pytest.raises(ValueError, match=r"lanczos\.py has no 'no such code'"):
        changes.explained_parts(table)


def test_a_returned_false_becomes_true_but_not_none(tmp_path):
    path = tmp_path / "module.py"
    path.write_text("def f(x):\n    return False\n\ndef g(x):\n    return x\n")
    assert [change.new for change in changes.changes_of(path)] == ["(True)", "return None"]


def test_changes_within_explained_code_are_not_made(tmp_path):
    path = tmp_path / "module.py"
    path.write_text("_BLOCK = 16\n\ndef f(x):\n    return x + 1 < _BLOCK\n")
    found = changes.changes_of(path)
    left = [change for change in found if not changes.is_explained(change, [(path, b"x + 1")])]
    assert {change.new for change in found} - {change.new for change in left} == {
        "(x - 1)", "(2)", "(0)",
    }  # fmt: skip
    assert "(17)" in {change.new for change in left}
