"""Contents of a report: numbers and sentences of USArrests, and warnings of other fits."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from pages import Page

from princomp import PCA, Moments, report
from princomp.reports.narrative import assess_reliability, describe_analysis, describe_results
from princomp.reports.page import MAX_POINTS
from princomp.reports.request import Request, reported_rows
from princomp.reports.tables import (
    MAX_LINES,
    eigenvalue_table,
    number_cells,
    variable_table,
    verdict_table,
)
from princomp.reports.text import Texts

VARIANCES = np.array([1.5748783, 0.9948694, 0.5971291, 0.4164494]) ** 2
AXES = np.array(
    [[0.5358995, 0.5831836, 0.2781909, 0.5434321], [0.4181809, 0.1879856, 0.8728062, 0.1673186]]
)


# ---- numbers --------------------------------------------------------------------------


def test_the_table_of_eigenvalues(page):
    np.testing.assert_allclose(page.column("table-eigenvalues", 1), VARIANCES, rtol=2e-7)
    lines = page.tables["table-eigenvalues"]
    assert [[cell[0] for cell in line[:4]] for line in lines] == [
        ["PC1", "2.480", "62.0", "62.0"],
        ["PC2", "0.9898", "24.7", "86.8"],
        ["PC3", "0.3566", "8.9", "95.7"],
        ["PC4", "0.1734", "4.3", "100.0"],
    ]
    assert [line[-1][0] for line in lines] == ["solid", "solid", "left out", "left out"]
    low, high = page.column("table-eigenvalues", 4), page.column("table-eigenvalues", 5)
    assert low[0] < VARIANCES[0] < high[0]
    assert low[1] < VARIANCES[1] < high[1]


def test_the_table_of_variables(page):
    for a in (0, 1):
        loading, correlation, cos2, contribution = (
            np.array(page.column("table-variables", 1 + 4 * a + i)) for i in range(4)
        )
        np.testing.assert_allclose(np.abs(loading), AXES[a] * np.sqrt(VARIANCES[a]), rtol=1e-6)
        np.testing.assert_allclose(correlation, loading, rtol=1e-12)
        np.testing.assert_allclose(cos2, loading**2, rtol=1e-12)
        np.testing.assert_allclose(contribution, 100 * AXES[a] ** 2, rtol=1e-6)
        assert sum(contribution) == pytest.approx(100)


def test_the_table_of_rows(page, model, table):
    assert len(page.tables["table-rows"]) == 50
    alaska = page.tables["table-rows"][0]
    assert alaska[0][0] == "Alaska"
    assert alaska[1][0] == "S"
    assert float(alaska[-2][1]) == pytest.approx(4.266890, abs=1e-6)
    assert alaska[-1][0] == "Q"
    scores = model.transform(table)
    np.testing.assert_allclose([float(alaska[i][1]) for i in (2, 5)], scores[1], rtol=1e-12)
    for column in (4, 7):
        assert sum(page.column("table-rows", column)) == pytest.approx(100)
    beyond = {line[0][0]: line[-1][0] for line in page.tables["table-rows"] if line[-1][0]}
    assert beyond == {"Alaska": "Q", "Rhode Island": "Q", "Mississippi": "T²"}


def test_the_sentences_of_a_report_state_its_numbers(page):
    for sentence in (
        "The table us.csv: 50 rows in 4 columns: Murder, Assault, UrbanPop and Rape.",
        "divided by their standard deviations",
        "2 components of 4 explain 86.8% of the total variance: PC1 62.0%, PC2 24.7%.",
        "The number of components (2) was given.",
        "PC1 (62.0%): high: Assault (0.92), Rape (0.86), Murder (0.84).",
        "PC2 (24.7%): high: UrbanPop (0.87).",
        "3 of 50 rows (6.0%) are beyond a 95% limit: Alaska, Rhode Island and Mississippi.",
        "accurate to the precision of the numbers",
        "Kaiser–Meyer–Olkin measure 0.65",
        "χ² = 88.3 on 6 degrees of freedom",
        "200 bootstrap resamples",
        "T² 95% of training rows: 5.747",
        "Q 95% of training rows: 1.626",
    ):
        assert sentence in page.text, sentence


def test_the_points_of_the_script(page, model, table):
    data = json.loads(page.script["points"])
    assert data["components"] == ["PC1 (62.0%)", "PC2 (24.7%)"]
    assert data["names"][1] == "Alaska"
    np.testing.assert_allclose(data["scores"], model.transform(table), rtol=1e-4, atol=1e-12)
    assert data["labels"] == ["E", "N", "S", "W"]
    assert [data["labels"][code] for code in data["groups"][:4]] == list("NSWE")
    assert (data["rows"], data["beyond"][1]) == (50, "Q")


def test_numbers_are_short_with_full_precision_behind():
    assert [one.text for one in number_cells([1.0, -0.5, np.nan, 0.00001])] == [
        *("1.000", "−0.500", "–", "0.000"),
    ]
    assert number_cells([1 / 3])[0].full == repr(1 / 3)
    assert [one.text for one in number_cells([-0.00001, 12345.6])] == ["0", "12,346"]
    assert [one.text for one in number_cells([1e-9])] == ["1.000e−09"]
    assert [one.text for one in number_cells([])] == []
    assert number_cells([np.inf])[0].text == "∞"


# ---- other fits -----------------------------------------------------------------------


def _text(model, rows=None):
    request = Request(model, rows=rows)
    return " ".join(map(str, [*describe_analysis(request), *describe_results(request)]))


def _trust(model):
    return {str(sentence): kind for kind, sentence in assess_reliability(Request(model))}


def _warnings(model):
    return " ".join(message for message, kind in _trust(model).items() if kind == "warning")


def test_the_choice_of_components_is_described(arrests):
    assert "chosen by the rule “kaiser”" in _text(PCA("kaiser", scale="unit").fit(arrests))
    assert "smallest number that explains more than 0.8" in _text(
        PCA(0.8, scale="unit").fit(arrests)
    )
    assert "All components were kept" in _text(PCA(scale="unit").fit(arrests))
    # Without n_components, this solver leaves one out, as scikit-learn's does.
    text = _text(PCA(scale="unit", svd_solver="arpack").fit(arrests))
    assert "3 components of 4 explain" in text
    assert "components were kept" not in text
    assert "was given" not in text
    assert "“broken-stick” 1" in _text(PCA(2, scale="unit").fit(arrests))
    for model in (PCA(2, scale="unit").fit(arrests), PCA(3, svd_solver="arpack").fit(arrests)):
        given = model.truncated(2)
        assert "The number of components (2) was given" in _text(given)
        assert "more than 0.5 of" in _text(model.truncated(0.5))
        given.set_params(n_components=0.5, scale="range")  # has no effect before the next fit
        assert "The number of components (2) was given" in _text(given)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"scale": None}, "not scaled"),
        ({"scale": "pareto"}, "Pareto"),
        ({"scale": "range"}, "their ranges"),
        ({"scale": [1.0, 2.0, 3.0, 4.0]}, "given numbers"),
        ({"center": False}, "Means were not subtracted"),
    ],
)
def test_scaling_and_centring_are_described(arrests, options, message):
    assert message in _text(PCA(2, **options).fit(arrests))


def test_missing_cells_are_counted(arrests):
    X = arrests.copy()
    X[3, 1] = X[7, 0] = X[7, 2] = np.nan
    assert "2 rows with missing values were left out" in _text(PCA(2, missing="drop").fit(X))
    filled = _text(PCA(2, scale="unit", missing="em").fit(X))
    assert "3 cells (1.50%) in 2 rows were missing and were filled" in filled
    X[7] = arrests[7]
    assert "1 row with missing values was left out" in _text(PCA(2, missing="drop").fit(X))
    filled = _text(PCA(2, missing="em").fit(X))
    assert "1 cell (0.50%) in 1 row was missing and was filled" in filled


def test_variances_of_filled_cells_have_no_interval(arrests, draw_only):
    draw_only("scree")
    X = arrests.copy()
    X[3, 1] = np.nan
    assert "interval" in Page(report(PCA(2).fit(arrests))).text
    page = Page(report(PCA(2, missing="em").fit(X)))
    assert "interval for normally distributed rows" not in page.text


def test_without_centring_unit_scale_does_not_give_equal_weight(arrests):
    text = _text(PCA(2, scale="unit", center=False).fit(arrests))
    assert "divided by their standard deviations: columns with large mean squares have" in text
    assert "equal weight" not in text
    assert "correlations" not in text


def test_no_more_components_are_kept_than_there_are(rng):
    page = Page(report(PCA().fit(rng.standard_normal((4, 9)))))
    assert "4 components of 4 explain 100.0%" in page.text
    assert "4 / 4" in page.text


def test_dropped_constant_columns_do_not_count_as_components(rng):
    rows = np.column_stack([rng.standard_normal((20, 3)), np.ones(20)])
    page = Page(report(PCA(scale="unit", constant="drop").fit(rows), rows))
    assert "3 components of 3 explain 100.0%" in page.text


def test_only_limits_that_exist_are_mentioned(arrests, draw_only):
    draw_only("outliers")

    def read(model):
        page = Page(report(model, arrests, bootstrap=0))
        labels = [attributes.get("aria-label", "") for _, attributes in page.tags]
        return page, next(label for label in labels if label.startswith("T squared of"))

    page, label = read(PCA(4).fit(arrests / [1, 20, 1, 1]))
    assert "Rows far up (T²)" in page.text
    assert "(Q) are far" not in page.text
    assert "Lines are limits" in page.text
    assert label.startswith("T squared of each row;")
    page, label = read(PCA(4, center=False).fit(arrests))
    assert "Neither T² nor Q has a limit" in page.text
    assert "Lines are limits" not in page.text
    assert "beyond a 95% limit" not in page.text
    assert "beyond" not in label
    t2 = page.column("table-rows", len(page.tables["table-rows"][0]) - 3)
    assert t2 == sorted(t2, reverse=True)
    texts = Texts("en")
    assert texts("none_beyond", "95%", ["Q"]) == "No row is beyond the 95% limit of Q."
    both = "No row is beyond the 95% limits of T² and Q."
    assert texts("none_beyond", "95%", ["T²", "Q"]) == both


def test_rows_without_limits_are_not_said_to_be_within_them(rng, draw_only):
    """Filled rows have limits of their own, which some fits cannot compute."""
    draw_only("outliers")
    axes = rng.standard_normal((2, 60))
    X = rng.standard_normal((40, 2)) @ axes * 9.0 + rng.standard_normal((40, 60))
    X[39] *= 5.0
    X[range(40), range(40)] = np.nan
    model = PCA(2, missing="em", svd_solver="lanczos").fit(X)

    def read(rows):
        with pytest.warns(UserWarning, match="rows of X with filled cells have no limits"):
            page = Page(report(model, rows))
        labels = [attributes.get("aria-label", "") for _, attributes in page.tags]
        return page, next(label for label in labels if label.startswith("T squared of"))

    page, label = read(X)
    assert "No row has a limit of T² or Q, so outliers cannot be identified." in page.text
    assert "Missing cells of 40 rows were filled. Limits of complete rows do not" in page.text
    assert "beyond" not in label
    assert not re.search("beyond (the|a) 95% limit", page.text)
    t2 = page.column("table-rows", len(page.tables["table-rows"][0]) - 3)
    assert t2 == sorted(t2, reverse=True)

    complete = rng.standard_normal((2, 60))
    page, label = read(np.vstack([X, complete]))
    assert "0 / 2" in page.text
    assert "tested rows beyond a 95% limit" in page.text
    assert "No tested row (2 of 42) is beyond the 95% limit of T²." in page.text
    assert label.endswith("; 0 rows beyond a limit.")
    page, label = read(np.vstack([X, axes[:1] * 99.0, complete]))
    assert "1 of 3 tested rows (33.3%) is beyond a 95% limit: row 40." in page.text
    assert label.endswith("; 1 row beyond a limit.")


def test_a_row_whose_distances_overflow_is_counted(arrests):
    X = arrests.copy()
    X[3] = 1e160
    with np.errstate(over="ignore"):
        text = Page(report(PCA(2).fit(arrests), X, bootstrap=0)).text
    assert re.search(r"of 50 rows \(.*\) are beyond a 95% limit: row 3", text)


def test_weights_are_reported(arrests):
    model = PCA(2).fit(arrests, sample_weight=np.repeat([1.0, 2.0], 25))
    assert "verdicts, intervals, limits and tests are those of 75 rows" in _text(model)


def test_unequal_variances_are_a_warning(arrests):
    message = _warnings(PCA(2).fit(arrests * [1, 10, 1, 1]))
    assert "36,610-fold" in message
    assert "If their units differ, unit scale" in message
    assert _warnings(PCA(2, scale="unit").fit(arrests)) == ""


def test_rounding_and_equal_variances_are_warnings(rng):
    X = rng.standard_normal((40, 4))
    X[:, 3] = X[:, 0] + X[:, 1]
    assert "PC4 has a variance that cannot be distinguished from zero" in _warnings(PCA().fit(X))
    cross = np.vstack([np.eye(3), -np.eye(3)])
    message = _warnings(PCA(2).fit(cross))
    assert "cannot separate PC1 from PC2 and PC2 from PC3" in message
    assert "was not kept" in message
    assert "correlated too little" in _warnings(PCA(2).fit(rng.standard_normal((60, 6))))


def test_a_report_of_a_covariance(arrests):
    model = PCA.from_covariance(np.cov(arrests.T), n_components=2)
    page = Page(report(model))
    assert "The number of rows is not known" in page.text
    assert "No rows were given to this report" in page.text
    assert page.text.count("and none were given to this report") == 5
    assert "Left out: loadings are correlations only in a centred PCA with unit scale" in page.text
    assert "table-rows" not in page.tables
    assert "points" not in page.script


def test_new_rows_are_told_from_rows_of_the_fit(model, table):
    few = reported_rows(model, table[:20])
    assert not few.training
    assert np.isnan(few.contribution).all()
    assert "are not those of the fit" in _text(model, few)
    reversed_rows = table[::-1]
    assert reported_rows(model, reversed_rows).training
    other = table + [0.01, 0, 0, 0] * np.arange(50)[:, None]
    assert not reported_rows(model, other).training
    as_training = reported_rows(model, other, training=True)
    assert as_training.training
    assert "are those of the fit." in _text(model, as_training)


def test_a_report_of_a_weighted_fit_needs_the_weights(arrests, draw_only):
    weights = np.arange(50) % 3 + 1
    model = PCA(2).fit(arrests, sample_weight=weights)
    page = Page(report(model, arrests, sample_weight=weights))
    assert "assumed to be those of the fit" in page.text
    assert "in 95% of 200 bootstrap resamples" in page.text
    assert sum(page.column("table-rows", 3)) == pytest.approx(100)
    assert not reported_rows(model, arrests, sample_weight=weights[::-1]).training
    draw_only("outliers")
    texts = {t: Page(report(model, arrests, training=t)).text for t in (None, True, False)}
    for training in (None, True):
        assert "are not those of the fit" not in texts[training]
        assert "no bootstrap, because the fit used weights" in texts[training]
        assert np.isnan(reported_rows(model, arrests, training=training).contribution).all()
    assert "it is not known whether the rows" in texts[None]
    assert "are not those of the fit" in texts[False]


def test_a_report_says_that_rows_may_have_had_weights_that_sum_to_their_number(arrests):
    weights = np.arange(50) % 3 + 1.0
    weights *= 50.0 / weights.sum()
    model = PCA(2).fit(arrests, sample_weight=weights)
    rows = reported_rows(model, arrests)
    assert "The fit used weights, and none were given" in _text(model, rows)
    summarised = PCA.from_summary(Moments.of(arrests, weights), n_components=2)  # not recorded
    rows = reported_rows(summarised, arrests)
    assert "are not those of the fit, or have other weights:" in _text(summarised, rows)


def test_metadata_of_a_weighted_fit_warn_in_a_report_without_weights(arrests, draw_only):
    weights, data = np.arange(50) % 3 + 1, {"x": np.arange(50)}
    model = PCA(2).fit(arrests, sample_weight=weights)
    draw_only("metadata")
    for training in (None, True):
        with pytest.warns(UserWarning, match="the fit used weights, and none are given"):
            report(model, arrests, metadata=data, training=training)
    report(model, arrests, metadata=data, sample_weight=weights)  # warnings are errors here
    report(model, arrests, metadata=data, training=False)


def test_rows_that_nipals_filled_are_those_of_the_fit(arrests):
    X = arrests.copy()
    X[[3, 7, 20], [1, 0, 2]] = np.nan
    model = PCA(2, missing="nipals").fit(X)
    assert reported_rows(model, X).training
    fewer, other = X.copy(), X.copy()
    fewer[3, 1], other[:, 0] = 200.0, X[::-1, 0]
    other[7, 0] = np.nan
    assert not reported_rows(model, fewer).training
    assert not reported_rows(model, np.where(np.isnan(X), X, other)).training
    assert not reported_rows(model, 1.5 * X).training


def test_one_component_and_one_variable(rng):
    X = rng.standard_normal((20, 1))
    page = Page(report(PCA(1).fit(X), X))
    assert page.text.count("this model keeps one") == 2
    assert "One component of 1 explains 100.0%" in page.text
    assert "points" not in page.script


def test_reports_of_many_rows_stay_small(rng):
    X = rng.standard_normal((30_000, 5)) * [3, 2, 1, 1, 1]
    X[11] *= 9
    html = report(PCA(3).fit(X), X)
    page = Page(html)
    assert len(html) < 4e6
    assert len(page.tables["table-rows"]) == MAX_LINES
    assert page.line("table-rows", "11")
    assert f"The {MAX_LINES:,} most extreme of 30,000 rows" in page.text
    data = json.loads(page.script["points"])
    assert len(data["names"]) == MAX_POINTS
    assert "row 11" in data["names"]
    assert f"shows {MAX_POINTS:,} of 30,000 rows" in page.text


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.996, "more than 99%"),
        (0.9949, "99%"),
        (1 - 1e-12, "100%"),
        (0.004, "less than 1%"),
        (0.0, "0%"),
    ],
)
def test_a_rounded_share_is_not_all_or_nothing(share, text):
    assert f"keeps {text} of the variation" in Texts("en")("short_size", None, 3, 1, share)
    assert f"important one ({text}), sep" in Texts("en")("short_meaning", "PC1", share, ["a"], [])


def test_a_share_of_nearly_all_is_not_100_percent(rng):
    X = rng.standard_normal((50, 5)) * [9, 8, 7, 0.1, 0.1]
    page = Page(report(PCA(3).fit(X), X))
    assert "3 components explain more than 99.9% of the variance" in page.text
    assert "3 components of 5 explain more than 99.9% of the total variance" in page.text


def test_a_decay_that_had_no_effect_is_told_from_one_that_had(rng, draw_only):
    draw_only()
    X = rng.standard_normal((50, 5))
    with pytest.warns(UserWarning, match="fit gives all rows weight 1"):
        fitted = PCA(2, decay=0.9).fit(X)
    assert "0.9 (no row has faded yet)" in Page(report(fitted)).text
    assert "has faded yet" not in Page(report(PCA(2, decay=0.9).partial_fit(X))).text


def test_many_components_are_listed_in_part(rng):
    listing = verdict_table(Request(PCA().fit(rng.standard_normal((250, 210)))))
    assert len(listing.columns[0].cells) == MAX_LINES
    assert listing.note.startswith(f"The first {MAX_LINES} of 210 components. High and low")


@pytest.mark.parametrize(("k", "note"), [(3, "The first 23 of 29 components."), (12, "")])
def test_components_that_rows_do_not_allow_are_not_counted(rng, k, note):
    # 30 rows have at most 29 components with a variance, as the number at the top of the page says.
    request = Request(PCA(k).fit(rng.standard_normal((30, 60))))
    assert request.max_components == 29
    listing = eigenvalue_table(request)
    assert len(listing.columns[0].cells) == (29 if not note else 23)
    assert ("The first" in listing.note, listing.note[: len(note)]) == (bool(note), note)


def test_many_columns_are_listed_in_part(rng):
    listing = variable_table(PCA(12).fit(rng.standard_normal((30, 700))))
    assert len(listing.columns[0].cells) == MAX_LINES
    assert f"The {MAX_LINES} of 700 variables" in listing.note
    note = "On the first 10 of 12 components. princomp.diagnostics.variables(model) has all"
    assert note in listing.note


@pytest.mark.parametrize("n_incomplete", [1, 23])
def test_incomplete_rows_are_counted_not_listed(rng, n_incomplete):
    X = rng.standard_normal((60, 4)) * [3, 2, 1, 1]
    X[:n_incomplete, 1] = np.nan
    page = Page(report(PCA(2, missing="drop").fit(X), X))
    n = 60 - n_incomplete
    assert len(page.tables["table-rows"]) == n
    words = (
        "1 row with missing cells has" if n_incomplete == 1 else "23 rows with missing cells have"
    )
    assert f"All {n} rows with scores, the most extreme first. {words} no scores." in page.text


def test_the_headline_counts_new_rows_and_those_of_the_fit(arrests):
    model = PCA(2).fit(arrests)
    page = Page(report(model, arrests[:20], training=False, data="new.csv"))
    assert "20 rows compared with a model of 50 rows × 4 columns; 2 components" in page.text
    assert "rows × columns of the fit" in page.text
    assert "compared with a model" not in Page(report(model, arrests)).text
