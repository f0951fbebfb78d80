"""A report in a real browser: sorting, interaction, printing, and no requests."""

from __future__ import annotations

import csv

import numpy as np
import pandas as pd
import pytest

from browser import launch_browser, open_page
from command_line import ARRESTS
from princomp import PCA, report

pytestmark = pytest.mark.browser

EVIL = "<img src=x onerror=alert(1)></script><script>alert(2)</script>\"'&"
WIDE, NARROW = {"width": 1100, "height": 900}, {"width": 400, "height": 800}


@pytest.fixture(scope="module")
def browser():
    with launch_browser() as found:
        yield found


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """USArrests with three components and groups."""
    table = pd.read_csv(ARRESTS, index_col="State")
    file = tmp_path_factory.mktemp("report") / "page.html"
    groups = ["many" if rate > 20 else "few" for rate in table["Rape"]]
    model = PCA(3, scale="unit").fit(table)
    report(model, table, file, groups={"rapes": groups}, metadata={"n": np.arange(50.0)})
    return file


@pytest.fixture
def page(browser, path):
    with open_page(browser, path, viewport=WIDE) as found:
        yield found


def first_column(page, table):
    return page.locator(f"#{table} tbody th").all_inner_texts()


def test_tables_sort_by_click_and_by_key(page):
    with ARRESTS.open() as file:
        rate = {line["State"]: float(line["Murder"]) for line in csv.DictReader(file)}
    before = first_column(page, "table-rows")
    assert before[0] == "Alaska"
    head = page.locator('#table-rows th[scope="col"]')
    head.nth(0).get_by_role("button").click()
    assert first_column(page, "table-rows") == sorted(rate)
    assert head.nth(0).get_attribute("aria-sort") == "ascending"
    head.nth(0).get_by_role("button").click()
    assert first_column(page, "table-rows") == sorted(rate, reverse=True)
    score = head.nth(2)
    score.get_by_role("button").focus()
    page.keyboard.press("Enter")
    assert score.get_attribute("aria-sort") == "descending"
    assert head.nth(0).get_attribute("aria-sort") is None
    assert first_column(page, "table-rows")[0] == "Florida"
    page.keyboard.press("Space")
    assert first_column(page, "table-rows")[0] == "North Dakota"


def test_cells_without_a_number_stay_last(page):
    button = page.locator('#table-eigenvalues th[scope="col"]').nth(4).get_by_role("button")
    for first in ("PC1", "PC3"):
        button.click()
        names = first_column(page, "table-eigenvalues")
        assert (names[0], names[-1]) == (first, "PC4")


def test_hovering_a_point_describes_its_row(page):
    marks = page.locator("#plot .mark")
    assert marks.count() == 50
    page.locator("#plot .mark[data-row='1']").hover(force=True)
    text = page.locator("#said").inner_text()
    assert text.startswith("Alaska: many · PC1 1.93")
    assert "T² " in text
    assert page.locator("#plot .name").text_content() == "Alaska"
    assert page.locator("#plot .mark.at").count() == 1


def test_keys_move_from_point_to_point(page):
    plot = page.locator("#plot")
    plot.focus()
    names = []
    for key in ("Home", "ArrowRight", "ArrowLeft", "End", "ArrowUp", "ArrowDown"):
        page.keyboard.press(key)
        names.append(page.locator("#said").inner_text().partition(":")[0])
    assert names[0] == "North Dakota"
    assert names[0] == names[2] != names[1]
    assert names[3] == "Florida" == names[5] != names[4]
    assert page.locator("#said").get_attribute("aria-live") == "polite"
    assert "Arrow keys" in plot.get_attribute("aria-label")


def test_other_components_can_be_chosen(page):
    page.get_by_label("Find").fill("alask")
    first = page.locator("#plot .mark.at").get_attribute("transform")
    page.locator("#up").select_option(label="PC3 (8.9%)")
    assert page.locator("#plot .title").all_text_contents() == ["PC1 (62.0%)", "PC3 (8.9%)"]
    assert page.locator("#plot .mark.at").get_attribute("transform") != first
    assert "PC3 " in page.locator("#said").inner_text()
    page.locator("#across").select_option(label="PC3 (8.9%)")
    assert page.locator("#said").inner_text().count("PC3") == 1
    page.get_by_label("Find").fill("nobody")
    assert "No point has this name: nobody" in page.locator("#said").inner_text()
    assert page.locator("#legend li").all_inner_texts() == ["few", "many"]


def test_both_axes_have_the_same_scale(page):
    """A unit has the same length on both axes."""
    page.locator("#plot").focus()
    places = {}
    for row in (1, 4, 33):
        text = page.locator(f"#plot .mark[data-row='{row}']").get_attribute("transform")
        places[row] = [float(x) for x in text[len("translate(") :].split(")")[0].split(",")]
    data = page.evaluate("JSON.parse(document.getElementById('points').textContent).scores")
    across = (places[33][0] - places[4][0]) / (data[33][0] - data[4][0])
    up = (places[33][1] - places[1][1]) / (data[33][1] - data[1][1])
    assert across == pytest.approx(-up, rel=0.01)


@pytest.mark.parametrize("viewport", [WIDE, NARROW], ids=["wide", "narrow"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_fits_and_figures_have_the_colours_of_the_scheme(browser, path, scheme, viewport):
    with open_page(browser, path, viewport=viewport, color_scheme=scheme) as page:
        assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]
        scrolled = "[...document.querySelectorAll('figure')].filter((one) =>"
        scrolled += " one.scrollWidth > one.clientWidth + 1).length"
        assert page.evaluate(scrolled) == 0
        shown = page.locator("#scree svg")
        assert shown.count() == 1
        assert shown.is_visible()
        ink = shown.locator("text").first.evaluate("one => getComputedStyle(one).fill")
        assert ink == {"light": "rgb(26, 26, 26)", "dark": "rgb(232, 232, 232)"}[scheme]
        ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert ground == {"light": "rgb(255, 255, 255)", "dark": "rgb(21, 24, 29)"}[scheme]
        # The figure is drawn on the background of the page.
        assert shown.locator("text").first.is_visible()


def test_printing_hides_nothing(browser, path):
    with open_page(browser, path, viewport={"width": 700, "height": 900}) as page:
        page.emulate_media(media="print", color_scheme="dark")
        assert page.locator("#still svg").is_visible()
        assert not page.locator("#plot").is_visible()
        assert page.evaluate("getComputedStyle(document.body).backgroundColor").endswith(
            "(255, 255, 255)"
        )
        cut = page.evaluate(
            "[...document.querySelectorAll('.scroll, figure')].filter((box) =>"
            " box.scrollHeight > box.clientHeight + 1 || box.scrollWidth > box.clientWidth + 1)"
            ".map((box) => box.id || box.getAttribute('aria-label') || box.parentNode.id)"
        )
        assert cut == []
        page.emulate_media(media="screen")
        page.locator("#up").select_option(label="PC3 (8.9%)")
        page.emulate_media(media="print")
        assert page.locator("#plot").is_visible()
        assert not page.locator("#still").is_visible()
        assert len(page.pdf(format="A4")) > 10_000


def test_the_page_is_complete_without_scripts(browser, path):
    with open_page(browser, path, viewport=WIDE, java_script_enabled=False) as page:
        assert page.locator("#still svg").is_visible()
        assert not page.locator("#touch").is_visible()
        assert page.locator("#table-rows tbody tr").count() == 50
        assert page.get_by_text("3 components of 4 explain 95.7%").is_visible()


def test_malicious_names_are_shown_as_text(browser, tmp_path, arrests):
    names = [EVIL, "a " * 200, "Größe 測定", "$x$"]
    X = pd.DataFrame(arrests, columns=names, index=[f"{EVIL}{i}" for i in range(50)])
    model = PCA(2, scale="unit").fit(X)
    file = tmp_path / "evil.html"
    report(model, X, file, groups={EVIL: [EVIL, "plain"] * 25}, title=EVIL, data=EVIL)
    with open_page(browser, file, viewport=NARROW) as page:
        assert page.locator("h1").inner_text() == EVIL
        page.locator("#plot").focus()
        page.keyboard.press("Home")
        assert page.locator("#said").inner_text().startswith(EVIL[:40])
        assert page.locator("#legend li").first.inner_text().startswith(EVIL[:40])
        assert page.locator("img").count() == 0
        assert page.evaluate("document.documentElement.scrollWidth") <= 400


def test_every_control_has_an_accessible_name(page):
    nameless = page.evaluate(
        "[...document.querySelectorAll('button, select, input, a, [tabindex]')].filter((one) =>"
        " !(one.getAttribute('aria-label') || one.textContent.trim()"
        " || (one.labels && one.labels.length))).map((one) => one.outerHTML.slice(0, 80))"
    )
    assert nameless == []
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "To the results"
