"""What messages and notes of figures say, word for word where a part is easily lost."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from princomp import PCA, plots
from princomp.errors import ParameterError, ShapeError


@pytest.fixture(scope="module")
def table():
    return np.random.default_rng(0).standard_normal((30, 10))


@pytest.mark.parametrize("factor", [0, 0.0, np.inf, np.nan, True, "2"])
def test_a_factor_of_arrows_is_a_positive_number(factor, table):
    with pytest.raises(ParameterError) as caught:
        plots.biplot(PCA(2).fit(table), table, factor=factor)
    assert caught.value.message == f"factor={factor!r} is not valid"
    assert caught.value.hint == "factor must be None or a number greater than 0"


def test_too_many_components_are_refused_with_advice(table):
    model = PCA().fit(table)
    with pytest.raises(ParameterError) as caught:
        plots.pairs(model, table, list(range(1, 11)))
    assert caught.value.message == "at most 8 components can be drawn, got 10"
    assert caught.value.hint == "select fewer components"


def test_columns_without_correlations_are_named_up_to_three(table):
    frame = pd.DataFrame(table, columns=list("abcdefghij"))
    frame[list("bdfh")] = 1.0
    ax = plots.circle(PCA(2, scale="unit", constant="zero").fit(frame))
    texts = " ".join(
        text.get_text() for text in ax.figure.findobj(lambda one: hasattr(one, "get_text"))
    )
    assert "no correlation: b, d, f and 1 more" in texts


@pytest.mark.parametrize(
    ("call", "message", "hint"),
    [
        (
            lambda model, rows: plots.scree(model, ax=5),
            "ax must be matplotlib's Axes, got 5",
            "leave out ax to draw on a new one",
        ),
        (
            lambda model, rows: plots.pairs(model, rows, figure="new"),
            "figure must be matplotlib's Figure, got 'new'",
            "leave out figure to draw on a new one",
        ),
        (
            lambda model, rows: plots.scree(model, ax=Figure().subplots(), dark=False),
            "dark applies to a new Axes only",
            "leave out dark or ax; new_axes(dark=True) creates a dark Axes",
        ),
        (
            lambda model, rows: plots.pairs(model, rows, figure=Figure(), dark=False),
            "dark applies to a new Figure only",
            "leave out dark or figure; new_axes(dark=True) creates a dark Axes",
        ),
        (
            lambda model, rows: plots.scree(model, decision="elbow"),
            "decision must be a Decision, got 'elbow'",
            "choose(model)['elbow'] is one",
        ),
        (
            lambda model, rows: plots.scree(model, null=[[1.0, 0.5]]),
            "null must be a sequence of finite variances, at least 0, got [[1.0, 0.5]]",
            "give quantiles of the variances of data without structure, largest first",
        ),
        (
            lambda model, rows: plots.scree(model, null=[]),
            "null must be a sequence of finite variances, at least 0, got []",
            "give quantiles of the variances of data without structure, largest first",
        ),
        (
            lambda model, rows: plots.scores(model, rows, ellipses="both"),
            "ellipses='both' is not valid",
            "ellipses must be 'rows', 'mean' or 'none'",
        ),
    ],
)
def test_what_a_figure_is_drawn_on_or_with(call, message, hint, table):
    with pytest.raises(ParameterError) as caught:
        call(PCA(2).fit(table), table)
    assert (caught.value.message, caught.value.hint) == (message, hint)


def test_null_variances_may_be_zero(table):
    plots.scree(PCA(2).fit(table), null=[1.0, 0.0])


@pytest.mark.parametrize("options", [{}, {"null": [1.0]}, {"decision": "elbow"}])
def test_rows_that_are_all_equal_have_no_scree_plot(options):
    with pytest.raises(ShapeError) as caught:
        plots.scree(PCA(1).fit(np.ones((5, 3))), **options)
    assert caught.value.hint == "fit rows that differ"
    assert "the rows of the fit are all equal" in caught.value.message


def test_one_component_of_many_columns_has_no_plane(table):
    with pytest.raises(ShapeError) as caught:
        plots.scores(PCA(1).fit(table), table)
    for words in ("keep two or more (n_components=2)", "or use pairs(), which draws one component"):
        assert words in caught.value.hint
