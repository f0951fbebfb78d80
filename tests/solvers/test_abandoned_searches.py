"""Searches that an exact route takes over: the reason, and what is not computed again."""

from __future__ import annotations

import pytest

from princomp import PCA
from princomp.core.routes import lanczos, moments, row_gram, triangle


@pytest.fixture(autouse=True)
def _small_tables_are_searched(monkeypatch):
    monkeypatch.setattr(moments, "SEARCH_COLUMNS", 300)
    monkeypatch.setattr(row_gram, "SEARCH_ROWS", 200)
    monkeypatch.setattr(triangle, "SMALL_TABLE_SIZE", 0)


@pytest.mark.parametrize(
    ("shape", "solver", "passes", "reason"),
    [
        ((300, 2000), "row_gram", 4, "300² products of rows are faster"),
        ((1200, 400), "eigh", 3, "400² products of columns are faster"),
    ],
)
def test_the_reason_and_the_passes(shape, solver, passes, reason, rng, monkeypatch):
    """The n × n products of rows need no means of their own, which would be a fifth pass."""
    monkeypatch.setattr(lanczos.AbandonRule, "__call__", lambda *_: True)
    model = PCA(5).fit(rng.standard_normal(shape) + 3)
    assert (model.plan_.solver, model.plan_.passes) == (solver, passes)
    assert model.plan_.reasons[-1].endswith(reason)
