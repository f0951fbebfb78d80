"""Files of the fuzzer, as they are and with changed bytes, raise only PrincompError."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from targets import TARGETS

CORPUS = Path(__file__).parent / "corpus"
FILES = sorted(path for path in CORPUS.rglob("*") if path.is_file())


def _name(path):
    return f"{path.parent.name}-{path.name}"


def test_every_target_has_files():
    assert {path.parent.name for path in FILES} == set(TARGETS)


@pytest.mark.parametrize("path", FILES, ids=_name)
def test_corpus_files_raise_only_princomp_errors(path):
    TARGETS[path.parent.name](path.read_bytes())


@pytest.mark.parametrize("path", [path for path in FILES if "seed" in path.name], ids=_name)
def test_changed_files_raise_only_princomp_errors(path):
    content, rng = path.read_bytes(), np.random.default_rng(len(path.name))
    for _ in range(10):
        changed = bytearray(content)
        for position in rng.integers(0, len(content), 3):
            changed[position] = rng.integers(0, 256)
        start, stop = np.sort(rng.integers(0, len(content) + 1, 2))
        TARGETS[path.parent.name](bytes(changed[:start] + changed[stop:]))
        TARGETS[path.parent.name](bytes(changed))
