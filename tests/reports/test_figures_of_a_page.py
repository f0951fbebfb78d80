"""Figures in a page: laid out, with ids of their own, and without empty groups."""

from __future__ import annotations

import re

from matplotlib.figure import Figure
from pages import Page

from princomp import PCA
from princomp.reports import report
from princomp.reports.svg import Styles, inline_figure


def drawn(key, *, laid_out=False):
    figure = Figure(figsize=(4, 3), layout="constrained")
    ax = figure.subplots()
    ax.plot([0, 1e6], [1e6, 0], "o-")
    ax.set_ylabel("a long label of the axis\nin two lines")
    before = ax.get_position().bounds
    text = str(inline_figure(key, "a line", figure, Styles(), laid_out=laid_out))
    return text, before, ax.get_position().bounds


def test_layout_runs_only_once():
    _, before, after = drawn("a")
    assert after[0] > before[0] + 0.02  # room for the label
    _, before, after = drawn("a", laid_out=True)
    assert after == before


def test_ids_of_a_figure_depend_on_its_key():
    """They are repeated for the same key, so that equal reports are equal files."""
    first, again, other = (drawn(key)[0] for key in ("a", "a", "b"))
    assert first == again
    ids = [set(re.findall(r' id="([^"]+)"', text)) for text in (first, other)]
    assert ids[0]
    assert not ids[0] & ids[1]
    for text, names in zip((first, other), ids, strict=True):
        assert set(re.findall(r'(?:url\(|href=")#([^")]+)', text)) <= names


def test_groups_without_attributes_are_not_written():
    assert "<g>" not in drawn("a")[0]


def test_a_report_without_a_bootstrap_says_why(rng):
    X = rng.standard_normal((30, 3)) * [4, 2, 1]
    page = Page(report(PCA(2).fit(X), X, bootstrap=0))
    assert "There is no bootstrap, as requested." in page.text
    resampled = Page(report(PCA(2).fit(X), X, bootstrap=2))
    assert "There is no bootstrap" not in resampled.text
