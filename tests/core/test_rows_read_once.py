"""Rows that can be read once, with too many columns for a scatter: held in memory or sketched."""

from __future__ import annotations

import tracemalloc
import warnings

import numpy as np
import pytest

from princomp import PCA
from princomp.core import fit as fit_module
from princomp.core.plan import bytes_to_avoid_sketch, cost_of, select_route
from princomp.core.problem import Problem
from princomp.core.routes import base, row_gram

GB = 10**9


@pytest.fixture(autouse=True)
def two_processors(monkeypatch):
    """Each thread needs memory of its own: plans must not depend on the machine."""
    for module in (base, row_gram):
        monkeypatch.setattr(module, "default_threads", lambda: 2)


def test_wide_rows_read_once_are_held_in_a_quarter_of_the_limit(monkeypatch, rng):
    """For rows of many similar variances, a sketch would be far off."""
    monkeypatch.setattr(fit_module, "SMALL_TABLE_BYTES", 0)
    p = 20_000
    X = rng.standard_normal((800, p))
    limit = 4 * X.nbytes
    tracemalloc.start()
    try:
        held = PCA(3, memory_limit=limit).fit(X[i : i + 80] for i in range(0, 800, 80))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak <= limit
    expected = PCA(3).fit(X)
    np.testing.assert_array_equal(held.explained_variance_, expected.explained_variance_)
    assert held.plan_.summary == expected.plan_.summary == "columns"
    with pytest.warns(UserWarning, match="; so is PCA.fit of a file, or of a function") as caught:
        model = PCA(3, memory_limit=limit - 8).fit(X[i : i + 80] for i in range(0, 800, 80))
    assert (len(caught), model.plan_.summary) == (1, "sketch")
    assert f"a scatter of {p:,} columns is too large" in str(caught[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        asked = PCA(3, svd_solver="sketch").fit(X[i : i + 80] for i in range(0, 800, 80))
    np.testing.assert_array_equal(asked.explained_variance_, model.explained_variance_)


def test_rows_are_not_held_to_avoid_a_sketch_if_solving_them_takes_too_much():
    problem = Problem(0, 20_000, 5, in_memory=False, repeatable=False, memory_limit=4 * GB)
    assert bytes_to_avoid_sketch(problem) == GB
    sketch = cost_of(problem, select_route(problem)).memory
    assert bytes_to_avoid_sketch(problem._replace(memory_limit=sketch * 4 // 3 + 4)) >= sketch // 3
    few = problem._replace(columns=9000, memory_limit=GB)  # a scatter takes more
    assert bytes_to_avoid_sketch(few) == GB // 4
    # The products of 10,000 rows of 6,250 columns take 6 × 800 MB.
    others = [
        {"columns": 12_500, "n_components": 1000},
        {"memory_limit": sketch * 5 // 4},  # no room for rows next to the sketch
        {"memory_limit": 10**6},  # nothing fits
        {"memory_limit": None},
        {"repeatable": True},
        {"rows": 10**6},
        {"solver": "sketch"},
        {"columns": 9000},  # a scatter fits
        {"n_components": 0.9},
    ]
    assert [bytes_to_avoid_sketch(problem._replace(**other)) for other in others] == [0] * 9
