"""Statements of a report: verdicts, cautions, names of columns and groups, and its summary."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest
from pages import Page
from sklearn import decomposition
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from princomp import PCA, bootstrap, errors, report
from princomp.core import component_ranges
from princomp.diagnostics import outliers
from princomp.plots import DARK, LIGHT, contrast
from princomp.plots.style import BLUE, VERMILLION, mix_colours
from princomp.reports.narrative import assess_reliability, variables_by_direction
from princomp.reports.request import Request
from princomp.reports.svg import dark_colour
from princomp.reports.text import languages


def noise(n=60, p=6, seed=0):
    X = np.random.default_rng(seed).standard_normal((n, p))
    return X, PCA(3).fit(X)


def verdicts(model, found):
    return Request(model, bootstrap=found).verdicts


def sentences(model, found=None):
    return assess_reliability(Request(model, bootstrap=found))


# ---- verdicts -------------------------------------------------------------------------


def test_unstable_components_get_no_good_verdict(draw_only):
    draw_only()
    X, model = noise()
    found = bootstrap(model, X, n=50)
    assert {one.kind for one in verdicts(model, found)} == {"unstable"}
    kinds = [kind for kind, _ in sentences(model, found)]
    assert "good" not in kinds
    assert "warning" in kinds
    html = report(model, X)
    assert '<li class="good">' not in html
    assert "Do not interpret PC1 to PC3 on their own." in Page(html).text


def test_text_tables_and_figures_have_the_same_verdict():
    X, model = noise()
    page = Page(report(model, X, bootstrap=50))
    kinds = [one.kind for one in verdicts(model, bootstrap(model, X, n=50))]
    assert [line[2][0].partition(":")[0] for line in page.tables["table-verdicts"]] == kinds
    assert [line[-1][0] for line in page.tables["table-eigenvalues"]][:3] == kinds
    assert page.text.count("%, unstable)") >= 4  # on the axes of figures
    assert "* unstable: PC1 to PC3" in page.text


def test_the_summary_omits_an_unstable_first_component(draw_only):
    draw_only()
    X, model = noise()
    page = Page(report(model, X, bootstrap=50))
    assert "No component can be interpreted on its own" in page.text
    assert "the most important one" not in page.text


def test_the_plane_of_unstable_components_may_be_stable(rng, draw_only):
    draw_only("scree")
    X = rng.standard_normal((300, 8)) * [3, 2.95, 1, 1, 1, 1, 1, 1]
    page = Page(report(PCA(2).fit(X), X, bootstrap=50))
    assert "No component can be interpreted on its own" in page.text
    assert page.text.count("Together, PC1 and PC2 are stable") == 2
    noise_page = Page(report(noise()[1], noise()[0], bootstrap=50))
    assert "are stable" not in noise_page.text


def test_the_summary_counts_all_variables_of_the_first_component(rng, draw_only):
    draw_only()
    X = rng.standard_normal((60, 1)) + 0.1 * rng.standard_normal((60, 10))
    assert " and 7 more from rows with low values" in Page(report(PCA(1).fit(X))).text


def test_the_summary_tells_untested_components_from_unstable_ones(rng, draw_only):
    draw_only("scree")
    page = Page(report(PCA(3, svd_solver="arpack").fit(rng.standard_normal((100, 40)))))
    assert "How much PC3 would change in another sample of rows is not known." in page.text
    assert "Do not interpret PC1 and PC2 on their own." in page.text


def test_shares_and_levels_below_one_are_not_rounded_to_one(rng, draw_only):
    draw_only("scree", "outliers")
    X = rng.standard_normal((60, 4))
    page = Page(report(PCA(0.99999).fit(X), X, level=0.99999, bootstrap=0))
    assert "explains more than 0.99999 of the variance" in page.text
    assert "beyond the 99.999% limit" in page.text
    assert "100% limit" not in page.text


@pytest.mark.parametrize("as_text", [False, True])
def test_rows_named_by_dates_may_depend_on_each_other(as_text, rng, draw_only):
    draw_only()
    days = pd.date_range("2024-01-31", periods=30)
    X = pd.DataFrame(rng.standard_normal((30, 3)) * [9, 3, 1], index=days)
    if as_text:
        X.index = X.index.strftime("%d.%m.%Y")
    note = "The rows are named by dates. Rows of a time series usually depend on each other"
    assert note in Page(report(PCA(2).fit(X), X)).text
    assert note not in Page(report(PCA(2).fit(X), X.reset_index(drop=True))).text


@pytest.mark.parametrize(
    ("index", "shown"),
    [
        (pd.date_range("2024-01-31", periods=30), "2024-01-31, 2024-02-01"),
        (
            pd.date_range("2024-01-31 10:30", periods=30, unit="ns"),
            "2024-01-31T10:30, 2024-02-01T10:30",
        ),
    ],
)
def test_dates_are_written_without_zeros(index, shown, rng, draw_only):
    draw_only()
    X = pd.DataFrame(rng.standard_normal((30, 3)), index=index)
    X.iloc[0] *= 400
    X.iloc[1] *= 100
    page = Page(report(PCA(2).fit(X), X))
    assert f"are beyond a 95% limit: {shown}" in page.text
    assert "00:00" not in page.text


def test_inseparable_variances_are_not_called_equal():
    page = Page(report(PCA(2).fit(np.vstack([np.eye(3), -np.eye(3)]))))
    assert "their variances are too close for the accuracy of the fit" in page.text


def test_the_space_of_inaccurate_components_is_not_called_determined(rng, draw_only):
    draw_only("scree")
    X = rng.standard_normal((300, 400))
    text = Page(report(PCA(2, svd_solver="sketch").fit(X), X)).text
    assert text.count("PC1 and PC2 are rough approximations: the error of the fit may exceed") == 2
    assert "No component can be interpreted on its own." in text
    assert "The components are approximations" in text
    assert "is determined" not in text.partition("Glossary")[0]
    assert "another sample of rows would" not in text.partition("Glossary")[0]
    X[:, 0] *= 200
    text = Page(report(PCA(2, svd_solver="sketch").fit(X), X)).text
    assert "PC2 is a rough approximation: the error of the fit may exceed a tenth" in text
    assert "PC1 can be interpreted; do not interpret PC2 on its own." in text


def test_columns_without_any_correlation_are_too_little_correlated():
    design = np.array([[a, b, c] for a in (-1, 1) for b in (-1, 1) for c in (-1, 1)], dtype=float)
    page = Page(report(PCA(2).fit(design)))
    assert "too little for a PCA: Kaiser–Meyer–Olkin measure undefined" in page.text
    assert "χ² = 0.0 on 3" in page.text


def test_the_reason_why_correlations_are_not_tested_is_given(rng, draw_only):
    draw_only("scree")
    start = "correlated enough for a PCA is not tested, because "
    wide = PCA(2).fit(rng.standard_normal((6, 9)))
    assert f"{start}6 rows are too few for" in Page(report(wide)).text
    constant = PCA(2).fit(np.column_stack([rng.standard_normal((30, 3)), np.ones(30)]))
    assert f"{start}constant columns have no correlations" in Page(report(constant)).text
    assert "not tested" not in Page(report(PCA(1).fit(rng.standard_normal((9, 1))))).text


@pytest.mark.parametrize("seed", range(8))
def test_two_columns_are_judged_by_the_test_alone(seed):
    # The measure is 0.5 up to rounding, whatever the correlation.
    rng = np.random.default_rng(seed)
    column = rng.standard_normal(60)
    X = np.column_stack([column, column + 0.1 * rng.standard_normal(60)])
    text = Page(report(PCA(2).fit(X))).text
    assert "correlated enough for a PCA: Bartlett’s test" in text
    assert "Kaiser" not in text


def test_without_centring_rows_are_not_described_by_signs_of_correlations():
    rng = np.random.default_rng(0)
    x = rng.normal(10.0, 3.0, 200)
    X = np.column_stack([x, 15.0 - 0.5 * x + rng.normal(0.0, 0.3, 200), rng.normal(10.0, 0.5, 200)])
    page = Page(report(PCA(2, center=False).fit(X), X))
    assert "Means were not subtracted: components describe the variation about zero" in page.text
    assert "separates rows" not in page.text
    assert "(−0.9" not in page.text


def test_an_interval_without_its_eigenvalue_is_explained(arrests, draw_only):
    draw_only("scree")
    X = np.random.default_rng(0).standard_normal((40, 8))
    model = PCA().fit(X)
    low, high = bootstrap(model, X, n=200).variance_interval
    outside = [i for i in range(8) if not low[i] <= model.explained_variance_[i] <= high[i]]
    assert outside == [6, 7]
    html = report(model, X, bootstrap=200)
    assert "The intervals of PC7 and PC8 do not contain the eigenvalues: in resamples" in html
    text = Page(report(PCA(2, scale="unit").fit(arrests), arrests, bootstrap=200)).text
    assert "contain the eigenvalue" not in text
    same = arrests[:, [0, 1, 2, 3, 0]]  # a variance that is rounding error
    text = Page(report(PCA(scale="unit").fit(same), same, bootstrap=200)).text
    assert "contain the eigenvalue" not in text


def test_all_angles_are_listed(draw_only):
    draw_only()
    X = np.random.default_rng(3).standard_normal((300, 12)) * np.linspace(4, 1, 12)
    model = PCA(10).fit(X)
    found = bootstrap(model, X, n=30)
    page = Page(report(model, X, bootstrap=30))
    (listed,) = re.findall(r"bootstrap resamples they turn by at most ([^.]*), if", page.text)
    angles, judged = found.angle_quantiles((0.95,))[0], verdicts(model, found)
    free = [one.component for one in judged if one.may_be_equal]
    assert listed.split(", ") == [
        f"PC{i} {angle:.0f}°" for i, angle in enumerate(angles, 1) if f"PC{i}" not in free
    ]
    assert 0 < len(free) < 10
    assert f"The variances of {component_ranges(free)} may be equal to those of other" in page.text
    assert all(line[3][0].endswith("°") for line in page.tables["table-verdicts"])


def test_filled_cells_get_a_caution_and_no_bootstrap(arrests, draw_only):
    X = arrests.copy()
    X[3, 1] = X[7, 0] = np.nan
    text = Page(report(PCA(2, scale="unit", missing="em").fit(X), X)).text
    assert "no bootstrap, because filled cells cannot be resampled" in text
    assert "seem to explain somewhat more of the variance" in text
    draw_only()
    complete = Page(report(PCA(2, scale="unit").fit(arrests))).text
    assert "no bootstrap, because no rows were given" in complete
    assert "seem to explain" not in complete


def test_filled_noise_is_not_called_correlated(rng, draw_only):
    draw_only()
    X = rng.standard_normal((200, 10))
    X[rng.random(X.shape) < 0.3] = np.nan
    text = Page(report(PCA(2, missing="em").fit(X))).text
    assert "correlated enough for a PCA is not tested, because filled cells agree" in text
    assert "Bartlett’s test χ²" not in text


def test_components_of_filled_tables_are_interpreted_with_a_condition(rng, draw_only):
    draw_only()
    X = rng.standard_normal((200, 6)) * [9, 4, 1, 1, 1, 1]
    condition = "This takes the 2 filled cells (0.17%) as if they had been measured."
    for missing in (0, 2):
        X[:missing, 3] = np.nan
        text = Page(report(PCA(2, missing="em").fit(X))).text
        assert "All components can be interpreted" in text
        assert (condition in text) == (missing > 0)


def test_components_of_a_fit_that_did_not_converge_are_not_interpreted(draw_only):
    draw_only()
    rng = np.random.default_rng(8)
    X = rng.standard_normal((60, 8))
    X[rng.random(X.shape) < 0.5] = np.nan
    with pytest.warns(ConvergenceWarning):
        model = PCA(3, missing="nipals", scale="unit").fit(X)
    html = report(model)
    assert "Filling the missing cells did not converge, so the components may be wrong." in html
    assert "can be interpreted" not in html
    assert '<li class="good">' not in html


@pytest.mark.parametrize("n_missing", [5, 6, 50])
def test_many_rows_that_were_left_out_are_in_the_summary(n_missing, rng, draw_only):
    draw_only()
    X = rng.standard_normal((100, 4))
    X[:n_missing, 1] = np.nan
    text = Page(report(PCA(2, missing="drop").fit(X), X)).text
    begin, details = text.index("2 components, weighted sums"), text.index("What was analysed")
    sentence = f"{n_missing} of 100 rows ({n_missing}.0%) have missing cells and were left out"
    assert (sentence in text[begin:details]) == (n_missing > 5)
    assert f"{n_missing} rows with missing values were left out of the fit." in text


@pytest.mark.parametrize("n_filled", [1, 40])
def test_filled_rows_are_compared_with_limits_of_their_own(n_filled, draw_only):
    draw_only()
    rng = np.random.default_rng(0)
    mixing = rng.standard_normal((2, 8))
    X = rng.standard_normal((500, 2)) @ mixing + 0.2 * rng.standard_normal((500, 8))
    model, new = PCA(2, missing="em").fit(X), X[:40].copy()
    new[:, 7] += 1.2
    new[:n_filled, :4] = np.nan
    expected = outliers(model, new, frame="listing")
    page = Page(report(model, new, training=False))
    assert f"{len(expected)} of 40 rows" in page.text
    beyond = {line[0][0]: line[-1][0] for line in page.tables["table-rows"]}
    assert [beyond[str(row)] for row in expected["row"]] == [
        label.replace("T2", "T²") for label in expected["beyond"]
    ]
    assert (
        f"Missing cells of {n_filled} row{'s' if n_filled > 1 else ''} were filled. " in page.text
    )
    assert "limits of their own" in page.text
    assert "were filled" not in Page(report(model, X[:40], training=False)).text


# ---- components in words --------------------------------------------------------------


def test_strongly_correlated_variables_are_named_in_their_direction(draw_only):
    """Contributions alone would omit the second group: it has 4 variables, the first has 8."""
    draw_only()
    rng = np.random.default_rng(0)
    t = rng.standard_normal((200, 1))
    X = np.hstack([3 * t + rng.standard_normal((200, 8)), rng.standard_normal((200, 4)) - t])
    model = PCA(1).fit(X)
    high, low, more_high, more_low = variables_by_direction(model, "PC1")
    r = [np.corrcoef(X[:, j], model.transform(X)[:, 0])[0, 1] for j in range(12)]
    strong = {f"x{j}" for j in range(12) if r[j] <= -0.7}
    even = {f"x{j}" for j in range(12) if model.components_[0, j] ** 2 >= 1 / 12 and r[j] < 0}
    assert strong
    assert {name for name, _ in low} == strong | even
    assert (len(high), more_high, more_low) == (6, 2, 0)
    text = Page(report(model)).text
    assert f"x8 ({r[8]:.2f})".replace("-", "−") in text
    assert "and 2 more; low: " in text


def test_components_beyond_the_described_ones_are_in_the_table(rng, draw_only):
    draw_only()
    X = rng.standard_normal((50, 8))
    model = PCA(5).fit(X)
    page = Page(report(model))
    assert "PC4 and PC5: see the table “Each component: can it be interpreted?”." in page.text
    assert len(page.tables["table-verdicts"]) == 5
    for column, loadings in zip((1, 5, 9, 13, 14), model.loadings_.T, strict=True):
        assert page.column("table-variables", column) == pytest.approx(loadings)
    assert "see the table “Each" not in Page(report(PCA(3).fit(X))).text


# ---- the dashboard --------------------------------------------------------------------


def test_the_report_begins_with_a_short_summary(page):
    begin = page.text.index("2 components, weighted sums")
    short = page.text[begin : page.text.index("What was analysed", begin)]
    for sentence in (
        "2 components, weighted sums of the 4 columns, keep 87% of the variation among 50 rows.",
        "PC1, the most important one (62%), separates rows with high Assault, Rape and Murder",
        "All components can be interpreted: they would be similar in another sample of rows, if",
        "if the rows are independent of each other, unlike those of a time series.",
        "86.8%",
        "2 / 4",
        "50 × 4",
        "3 / 50",
    ):
        assert sentence in short, sentence
    order = [page.ids.index(name) for name in ("short", "scree", "biplot", "table-verdicts")]
    assert order == sorted(order)
    assert page.ids.index("table-verdicts") < page.ids.index("details")


def test_the_title_is_the_name_of_the_data(arrests, tmp_path, draw_only):
    draw_only("biplot")
    path = tmp_path / "arrests.csv"
    pd.DataFrame(arrests, columns=list("abcd")).to_csv(path, index=False)
    model = PCA(2, scale="unit").fit(path)
    assert Page(report(model, path)).headings[0] == (1, "arrests.csv")
    table = pd.read_csv(path)
    table.attrs["name"] = "Arrests in 1973"
    assert Page(report(model, table)).headings[0] == (1, "Arrests in 1973")
    assert Page(report(model, table, title="T")).headings[0] == (1, "T")


def test_constant_columns_are_named(arrests, draw_only):
    names = ["Murder", "Assault", "UrbanPop", "Rape"]
    table = pd.DataFrame(arrests, columns=names).assign(year=1973.0)
    model = PCA(2, scale="unit", constant="zero").fit(table)
    with pytest.warns(UserWarning, match="columns out: year$"):  # for other rules
        text = Page(report(model, table)).text
    assert "so that all that vary have equal weight" in text
    one = "The column year is constant and was not divided: it has no part in any component."
    assert one in text
    draw_only("cos2")
    table = table.assign(country=1.0)
    model = PCA(2, scale="unit", constant="zero", center=False).fit(table)
    text = Page(report(model, table)).text
    assert "The columns year and country are constant and were not divided." in text
    model = PCA(2, scale="unit", constant="zero").fit(arrests)
    text = Page(report(model, arrests)).text
    assert "so that all have equal weight" in text
    assert "constant and" not in text


def test_other_languages_than_english_are_refused(arrests, draw_only):
    draw_only()
    assert languages() == ("en",)
    html = report(PCA(2).fit(arrests), lang="en")
    assert '<html lang="en">' in html
    with pytest.raises(errors.ParameterError, match="lang='de' is not valid") as caught:
        report(PCA(2).fit(arrests), lang="de")
    assert caught.value.hint == "lang must be 'en'"


def test_a_possibly_missing_component_is_reported(page):
    assert "a larger component may be missing" in page.text
    assert "missed" not in page.text


def test_groups_are_in_natural_order(arrests, draw_only):
    draw_only()
    groups = [f"group {i % 12}" for i in range(50)]
    html = report(PCA(2).fit(arrests), arrests, groups=groups, bootstrap=0)
    labels = json.loads(Page(html).script["points"])["labels"]
    assert labels == [f"group {i}" for i in range(12)]


def test_a_row_that_makes_most_of_a_component_is_named(rng):
    X = rng.standard_normal((40, 6))
    X[7] += 30.0
    page = Page(report(PCA(2).fit(X), X, bootstrap=0))
    assert (
        page.text.count("A single row contributes more than half of the variance of PC1 (row 7: 9")
        == 2
    )
    assert "A single row" not in Page(report(PCA(2).fit(X), X[:20], training=False)).text
    clean = np.delete(X, 7, axis=0)
    assert "A single row" not in Page(report(PCA(2).fit(clean), clean, bootstrap=0)).text


def test_a_page_says_if_q_has_no_limit(rng, draw_only):
    draw_only("scree")
    X = rng.standard_normal((60, 200))
    page = Page(report(PCA(2, svd_solver="lanczos").fit(X), X, bootstrap=0))
    assert "so rows that the components do not describe are not marked" in page.text
    assert "Q has no limit" not in Page(report(PCA(2).fit(X), X, bootstrap=0)).text


# ---- other models ---------------------------------------------------------------------


def test_a_report_of_a_pipeline_and_of_scikit_learn(arrests, draw_only):
    draw_only("biplot", "cos2")
    table = pd.DataFrame(arrests, columns=["Murder", "Assault", "Urban", "Rape"])
    pages = []
    for last in (decomposition.PCA(2), PCA(2)):
        steps = make_pipeline(StandardScaler(), last).fit(table)
        pages.append(Page(report(steps, table)))
        assert "50 rows in 4 columns: Murder, Assault, Urban and Rape." in pages[-1].text
        assert "2 components of 4 explain 86.8%" in pages[-1].text
        assert "output of StandardScaler, an earlier step of the pipeline" in pages[-1].text
        assert "columns were not scaled by the PCA: columns with large variances" in pages[-1].text
        assert "units of measurement" not in pages[-1].text
    assert pages[0].tables == pages[1].tables
    with pytest.raises(errors.ParameterError, match="PCA is needed, got scikit-learn's Trunc"):
        report(decomposition.TruncatedSVD(2).fit(arrests), arrests)
    sklearn_pca = decomposition.PCA(2).fit(arrests)
    sklearn_pca.components_[0] *= -1  # as earlier versions of scikit-learn may
    scores = Page(report(sklearn_pca, arrests, bootstrap=2)).column("table-rows", 1)
    np.testing.assert_allclose(
        sorted(scores), sorted(sklearn_pca.transform(arrests)[:, 0]), rtol=1e-9
    )
    assert "explain 99.3%" in Page(report(sklearn_pca, arrests)).text
    for rows in (None, arrests[:20]):
        with pytest.raises(errors.NotAvailableError, match="needs the rows of the fit"):
            report(sklearn_pca, rows)


# ---- size and colours -----------------------------------------------------------------


def test_a_page_of_569_rows_and_30_columns_has_at_most_1500_kilobytes():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((569, 6)) @ rng.standard_normal((6, 30))
    X += rng.standard_normal(X.shape)
    html = report(PCA(6, scale="unit").fit(X), X, groups=np.arange(569) % 2, bootstrap=20)
    assert len(html.encode()) < 1_500_000


def test_dark_pages_mix_their_colours_in_the_same_proportions():
    (ground, ink), (dark_ground, dark_ink) = LIGHT, DARK
    pairs = ((ground, dark_ground), (ink, dark_ink), (BLUE, BLUE), (VERMILLION, VERMILLION))
    for one, other in pairs:
        for two, another in pairs:
            found = dark_colour(mix_colours(one, two, 0.4))
            expected = mix_colours(other, another, 0.4)
            levels = [int(found[i : i + 2], 16) - int(expected[i : i + 2], 16) for i in (1, 3, 5)]
            if {one, two} != {BLUE, VERMILLION}:
                assert max(map(abs, levels)) <= 6, (one, two)
    for colour in (ink, BLUE, VERMILLION):
        assert contrast(dark_colour(colour, text=True), dark_ground) >= 4.5
    assert dark_colour("#ffffff", text=True) == "#ffffff"  # on a bar
