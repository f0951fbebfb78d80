"""A model in a notebook: scikit-learn's diagram, followed by a card of results."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import BaseEstimator
from sklearn.datasets import load_digits
from sklearn.pipeline import make_pipeline

from browser import launch_browser, open_page
from princomp import PCA, IncrementalPCA, RobustPCA, report
from princomp.estimators.notebook import card
from princomp.reports import scale_hint
from princomp.rules import Decision


def html_of(model):
    return model._repr_mimebundle_()["text/html"]


@pytest.mark.parametrize("kind", [PCA, IncrementalPCA])
def test_the_card_follows_the_diagram(arrests, kind):
    model = kind(2)
    assert "princomp-card" not in html_of(model)
    assert "sk-top-container" in html_of(model)
    model.fit(arrests)
    html = html_of(model)
    assert 0 < html.index("sk-top-container") < html.index('<div class="princomp-card">')
    assert 'class="princomp-card"' in model._repr_html_()
    assert model._repr_mimebundle_()["text/plain"] == repr(model)


def test_the_card_shows_the_results(arrests):
    message = card(PCA(2, scale="unit").fit(arrests))
    for word in (
        "50 rows × 4 columns, scale unit: 2 components explain 86.8% of the variance",
        "<td>62.0%</td><td>62.0%</td>",
        "<td>24.7%</td><td>86.8%</td>",
        'width: 100.0%"',
        'width: 39.9%"',
        "certificate: largest residual",
        "solid: PC1 and PC2 (axes within 25° of those of the population, if rows are independent "
        "and normal)",
    ):
        assert word in message, word
    assert "chosen by kaiser: " in card(PCA("kaiser", scale="unit").fit(arrests))


def test_many_components_are_summarised_in_one_line(rng):
    message = card(PCA(scale="unit").fit(rng.standard_normal((50, 13))))
    assert message.count("<tr>") == 1 + 11
    assert "PC11 to PC13" in message
    assert "<td>100.0%</td>" in message
    sklearn_names = PCA(component_names="sklearn").fit(rng.standard_normal((50, 13)))
    assert "pca10 to pca12" in card(sklearn_names)
    eleven = card(PCA(11).fit(rng.standard_normal((50, 13))))
    assert '<th scope="row">PC11</th>' in eleven


def test_verdicts_against_interpretation_are_warnings(rng):
    X = rng.standard_normal((30, 3))
    X[:, 2] = X[:, 0]
    assert 'princomp-warning">below resolution: PC3' in card(PCA().fit(X))
    cross = np.vstack([np.eye(3), -np.eye(3)])
    assert 'princomp-warning">inseparable: PC1 and PC2' in card(PCA(2).fit(cross))
    noise = card(PCA(2).fit(rng.standard_normal((30, 3))))
    assert 'princomp-warning">unstable: ' in noise
    sketch = card(PCA(2, svd_solver="sketch").fit(rng.standard_normal((300, 400))))
    assert 'princomp-warning">approximate: a sketch, whose variances are lower bounds' in sketch
    assert 'princomp-warning">inaccurate: PC1 and PC2. ' in sketch
    solid = card(PCA(1).fit(rng.standard_normal((90, 3)) * [5, 1, 1]))
    assert 'princomp-warning"' not in solid


def test_the_card_has_one_name_for_each_component(rng):
    X = rng.standard_normal((30, 3))
    X[:, 2] = X[:, 0]
    shown = card(PCA(component_names="sklearn").fit(X))
    assert 'princomp-warning">below resolution: pca2' in shown
    assert "PC" not in shown


def test_the_card_states_the_scale_of_the_fit(arrests):
    assert ", scale none: " in card(PCA(1).fit(arrests).set_params(scale="unit"))


def test_unit_scale_is_not_advised_without_centring(rng):
    table = pd.DataFrame(rng.standard_normal((30, 3)) * [1, 100, 1] + [0, 0, 1e4], columns=[*"abc"])
    model = PCA(2, center=False).fit(table)  # a warning would be an error
    assert "-fold" not in card(model)
    assert scale_hint(model) is None
    assert "-fold" not in report(model)


def test_unequal_columns_warn_in_the_card_and_in_fit(arrests):
    table = pd.DataFrame(arrests * [1, 10, 1, 1], columns=["Murder", "Assault", "Urban", "Rape"])
    with pytest.warns(UserWarning, match="36,610-fold and 'Assault' has the largest") as caught:
        model = PCA(2).fit(table)
    assert caught[0].filename == __file__
    assert "decides" not in str(caught[0].message)  # such as 1 of 200 wavelengths
    assert "; if their units differ, scale='unit'" in str(caught[0].message)
    assert "36,610-fold and &#x27;Assault&#x27; has the largest" in card(model)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        PCA(2, scale="unit").fit(table)
        PCA(2).fit(table[["Murder", "Rape"]])
        # Columns without names may all be of one unit, as in images.
        PCA(2).fit(table.to_numpy())


def test_the_card_counts_dropped_rows_and_filled_cells(arrests):
    X = arrests.copy()
    X[2, 1] = np.nan
    assert "(1 with missing values left out)" in card(PCA(1, missing="drop").fit(X))
    assert "1 missing cell filled" in card(PCA(1, scale="unit", missing="em").fit(X))


def test_the_card_skips_slow_residuals(rng):
    model = PCA(29).fit(rng.standard_normal((30, 6000)))
    assert "read certificate_ to measure" in card(model)
    assert model.certificate_.passes == 1
    assert "largest residual" in card(model)


def test_too_few_rows_have_no_card():
    model = IncrementalPCA(2).partial_fit([[1.0, 2.0, 3.0]])
    assert card(model) == ""
    assert "sk-top-container" in html_of(model)


def test_text_display_follows_sklearn_config(arrests):
    model = PCA(1).fit(arrests)
    with sklearn.config_context(display="text"):
        assert not hasattr(model, "_repr_html_")
        assert model._repr_mimebundle_() == {"text/plain": "PCA(n_components=1)"}


def test_a_pipeline_is_drawn_by_scikit_learn_alone(arrests):
    chain = make_pipeline(PCA(1)).fit(arrests)
    assert isinstance(chain, BaseEstimator)
    assert "princomp-card" not in chain._repr_html_()


class RuleWithMarkup:
    """A rule whose name and reason contain markup."""

    name = "<script>alert(1)</script>"
    needs = "all"
    counts_rows = False

    def decide(self, known):
        return Decision(self.name, 1, "<img src=x onerror=alert(2)>")


def test_text_from_custom_rules_is_escaped(arrests):
    message = card(PCA(RuleWithMarkup()).fit(arrests))
    assert "<script>" not in message
    assert "<img" not in message
    assert "&lt;script&gt;alert(1)" in message


@pytest.mark.browser
def test_the_card_in_a_browser(tmp_path, arrests):
    file = tmp_path / "cell.html"
    file.write_text(
        '<!doctype html><meta charset="utf-8"><meta name="color-scheme" content="light dark">'
        f"<body>{PCA(2, scale='unit').fit(arrests)._repr_html_()}</body>"
    )
    with launch_browser() as browser:
        for scheme in ("light", "dark"):
            with open_page(browser, file, color_scheme=scheme) as page:
                bars = page.locator(".princomp-bar div")
                widths = [bars.nth(i).bounding_box()["width"] for i in (0, 1)]
                assert widths[1] / widths[0] == pytest.approx(0.2474 / 0.6201, abs=0.01)
                ink = "getComputedStyle(document.querySelector('{}')).color"
                assert page.evaluate(ink.format(".princomp-card td")) == page.evaluate(
                    ink.format("body")
                )
                assert page.locator(".sk-top-container").is_visible()


def test_pixels_of_small_variance_are_no_reason_to_scale():
    """No few of the pixels decide, and those near the border have next to no variance."""
    pixels = load_digits(as_frame=True).data
    variances = pixels.var()
    assert variances.max() > 1000 * variances[variances > 0].min()
    model = PCA(3).fit(pixels)  # a warning would be an error
    assert "-fold" not in card(model)
    assert scale_hint(model) is None


def test_the_advice_to_scale_works_for_tables_with_constant_columns(arrests):
    table = pd.DataFrame(arrests * [1, 10, 1, 0], columns=["Murder", "Assault", "Urban", "Rape"])
    with pytest.warns(UserWarning, match="scale='unit' with constant='drop' gives each column"):
        model = PCA(2).fit(table)
    assert "with constant=&#x27;drop&#x27;" in card(model)
    assert str(scale_hint(model)).endswith(
        "--scale unit --constant drop gives each column the same weight"
    )
    PCA(2, scale="unit", constant="drop").fit(table)


@pytest.mark.parametrize(
    ("model", "remedy"),
    [
        (
            IncrementalPCA(2),
            "the variances of .* PCA\\(scale='unit'\\), which also has partial_fit,",
        ),
        (RobustPCA(2), "the robust variances of .* scale='mad' gives each column"),
    ],
)
def test_other_estimators_warn_of_unequal_columns_too(model, remedy, arrests):
    table = pd.DataFrame(arrests * [1, 100, 1, 1], columns=["Murder", "Assault", "Urban", "Rape"])
    with pytest.warns(UserWarning, match="'Assault' has the largest") as caught:
        model.fit(table)
    assert re.search(remedy, str(caught[0].message))
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(table[["Murder", "Rape"]])
        model.fit(table.to_numpy())
        if isinstance(model, RobustPCA):
            RobustPCA(2, scale="mad").fit(table)
