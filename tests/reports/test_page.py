"""A report as an HTML page: bytes, ids, colours, escaping, files and errors."""

from __future__ import annotations

import json
import re
import sys
from itertools import pairwise

import numpy as np
import pytest
from pages import Page

from princomp import PCA, errors, report
from princomp.plots.style import contrast

EVIL = "<script>alert(1)</script></script>\"'&{{ 7*7 }}"


# ---- the page ----------------------------------------------------------------------


def test_the_same_model_and_rows_give_the_same_bytes(html, model, table, report_options):
    """Ids may come from an iterator, which can be read only once."""
    options = {**report_options, "ids": iter(report_options["ids"])}
    assert report(model, table, data="us.csv", **options) == html


def test_no_external_resources_are_loaded(page, html):
    for tag, attributes in page.tags:
        for name in ("src", "href", "action", "data"):
            value = attributes.get(name, "#")
            assert value.startswith(("#", "data:")), (tag, value[:80])
    assert "@import" not in html
    assert not re.search(r"url\((?!#)", html)
    assert "default-src 'none'" in html


def test_ids_are_unique_and_references_exist(page):
    assert len(page.ids) == len(set(page.ids))
    html_ids = set(page.ids)
    for _, attributes in page.tags:
        for value in attributes.values():
            for name in re.findall(r"^#(.+)|url\(#([^)]+)\)", value):
                assert "".join(name) in html_ids
        assert attributes.get("aria-describedby", "said") in html_ids


def test_figures_hold_text_and_are_described(page, html):
    figures = [found for tag, found in page.tags if tag == "svg"]
    assert len(figures) == 11
    assert all(found["role"] == "img" and len(found["aria-label"]) > 20 for found in figures)
    for word in ("UrbanPop", "% of the total variance", "arrows: loadings"):
        assert word in html, word
    assert "font: " not in "".join(re.findall(r"<svg.*?</svg>", html, re.DOTALL))


def test_heading_levels_skip_none(page):
    levels = [level for level, _ in page.headings]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    assert all(text.strip() for _, text in page.headings)


def test_tables_have_captions_and_scopes(page):
    names = [tag for tag, _ in page.tags]
    assert names.count("caption") == names.count("table") == 4
    heads = [found for tag, found in page.tags if tag == "th"]
    assert heads
    assert all(found.get("scope") in ("col", "row", "colgroup") for found in heads)


def test_colours_have_enough_contrast_in_both_schemes():
    from princomp.reports.page import _package_file

    css = str(_package_file("page.css"))
    begin = css.index("@media screen and (prefers-color-scheme: dark)")
    light = dict(re.findall(r"--([\w-]+): (#\w{6})", css[:begin]))
    dark = {**light, **dict(re.findall(r"--([\w-]+): (#\w{6})", css[begin:]))}
    assert dark["ground"] != light["ground"]
    for scheme in (light, dark):
        for ink in ("ink", "soft", "accent", "warning"):
            assert contrast(scheme[ink], scheme["ground"]) >= 4.5, ink
        for ink in ("ink", "soft"):
            assert contrast(scheme[ink], scheme["raised"]) >= 4.5, ink
        for ink in ("ink", "warning"):
            assert contrast(scheme[ink], scheme["warning-ground"]) >= 4.5, ink


def test_names_are_escaped(arrests):
    import pandas as pd

    long = "a long name " * 30
    X = pd.DataFrame(arrests, columns=[EVIL, r"$\frac{$", long, "Größe 測定"])
    ids = [f"{EVIL}{i}" for i in range(50)]
    model = PCA(2, scale="unit").fit(X)
    html = report(model, X, ids=ids, groups=[EVIL, long] * 25, title=EVIL, data=EVIL)
    assert "<script>alert" not in html
    page = Page(html)
    assert page.headings[0] == (1, EVIL)
    assert page.tables["table-rows"][0][0][0].startswith(EVIL)
    assert {line[0][0] for line in page.tables["table-variables"]} == set(X.columns)
    data = json.loads(page.script["points"])
    assert data["labels"][0].startswith(EVIL[:40])
    assert [name for name, _ in page.tags].count("script") == 2


# ---- files and errors -----------------------------------------------------------------


def test_the_page_is_written_and_overwrites_nothing(tmp_path, arrests, draw_only):
    draw_only()
    model = PCA(1).fit(arrests)
    path = tmp_path / "deep" / "page.html"
    html = report(model, path=path)
    assert path.read_bytes() == html.encode()
    with pytest.raises(errors.OutputExistsError):
        report(model, path=path)
    assert report(model, path=path, overwrite=True, title="Else") == path.read_text()


def test_an_id_column_of_a_frame_names_the_rows(table, states, model):
    page = Page(report(model, table.assign(State=states), ids="State", bootstrap=0))
    assert page.tables["table-rows"][0][0][0] == "Alaska"
    assert "no whiskers" in page.text


def test_names_that_are_given_replace_the_id_column_of_the_model(table, states, model, draw_only):
    draw_only("outliers")
    model = model.truncated(1)
    model.id_column_ = "State"
    rows = table.assign(State=states)
    names = [f"row of {state}" for state in states]
    given = Page(report(model, rows, ids=names, bootstrap=0)).tables["table-rows"]
    own = Page(report(model, rows, bootstrap=0)).tables["table-rows"]
    assert [line[0][0] for line in given] == [f"row of {line[0][0]}" for line in own]


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"groups": [1] * 50}, errors.ParameterError, "groups needs rows"),
        ({"metadata": {"a": [1] * 50}}, errors.ParameterError, "metadata needs rows"),
        ({"training": True}, errors.ParameterError, "training needs rows"),
        ({"ids": ["a"]}, errors.ParameterError, "ids needs rows"),
        ({"bootstrap": 20}, errors.ParameterError, "bootstrap needs rows"),
        (
            {"bootstrap": 1},
            errors.ParameterError,
            "bootstrap must be 0, a whole number of at least 2 or None",
        ),
        ({"bootstrap": True}, errors.ParameterError, "bootstrap=True is not valid"),
        ({"level": 95}, errors.ParameterError, "level=95 is not valid"),
        ({"title": 3}, errors.ParameterError, "title=3 is not valid"),
        ({"data": b"x"}, errors.ParameterError, "data=b'x' is not valid"),
        ({"training": "yes"}, errors.ParameterError, "training must be True, False or None"),
        ({"X": iter([np.eye(4)])}, errors.ParameterError, "can be read only once"),
        ({"X": np.eye(4), "groups": ["a"]}, errors.ShapeError, "1 values"),
        ({"X": np.eye(4), "groups": "a"}, errors.ParameterError, "no named columns"),
        ({"X": np.eye(4), "ids": ["a"]}, errors.ShapeError, "1 ids"),
        ({"X": np.eye(4), "metadata": {"a": [1]}}, errors.ShapeError, "1 values"),
        ({"X": np.eye(4), "bootstrap": 20}, errors.ParameterError, "not the 50"),
        ({"X": np.eye(3)}, errors.ShapeError, "3"),
        ({"X": np.full((3, 4), np.nan)}, errors.NotFiniteError, "NaN"),
    ],
)
def test_invalid_arguments_are_refused(arrests, options, kind, message):
    with pytest.raises(kind, match=re.escape(message)) as caught:
        report(PCA(2).fit(arrests), **options)
    assert caught.value.hint


def test_invalid_models_are_refused(arrests):
    with pytest.raises(errors.ParameterError, match="got dict"):
        report({})
    with pytest.raises(errors.ShapeError, match="keeps no component"):
        report(PCA(0).fit(arrests))
    with pytest.raises(errors.ShapeError, match="no variance"):
        report(PCA(1).fit(np.ones((5, 3))))
    dropped = PCA(2, missing="drop").fit(arrests)
    with pytest.raises(errors.ShapeError, match="none of the 3 rows has scores"):
        report(dropped, np.full((3, 4), np.nan))


@pytest.mark.parametrize("library", ["jinja2", "matplotlib"])
def test_a_missing_library_is_reported_with_its_extra(monkeypatch, tmp_path, model, library):
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(errors.MissingLibraryError, match=f"a report needs {library}") as caught:
        report(model, path=tmp_path / "x.html")
    assert "pip install 'princomp[report]'" in caught.value.hint
    assert not (tmp_path / "x.html").exists()


def test_a_page_contains_no_address(arrests, draw_only):
    draw_only()

    def page():
        model = PCA(2, random_state=np.random.RandomState(0)).fit(arrests)
        return report(model, arrests, bootstrap=0)

    html = page()
    assert html == page()
    assert " at 0x" not in html


@pytest.mark.filterwarnings("always")
@pytest.mark.parametrize("missing", ["error", "nipals"])
def test_a_report_warns_once_if_only_the_fit_has_names(table, missing):
    model = PCA(2, missing=missing).fit(table)
    numbered = table.set_axis(range(4), axis=1)
    with pytest.warns(UserWarning, match="does not have valid feature names") as caught:
        report(model, numbered)
    assert len(caught) == 1
