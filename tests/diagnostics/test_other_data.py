"""Data not used in the fit: columns, categories, metadata, and their valid extremes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats

from princomp import PCA, plots
from princomp.diagnostics import categories, metadata, rows, supplementary_columns
from princomp.diagnostics.associations import benjamini_hochberg
from princomp.errors import ColumnError, NotFiniteError, NotNumericError, ParameterError, ShapeError


def lines(table, **cells):
    """Indices of the rows with the given cells."""
    matches = np.ones(len(table), dtype=bool)
    for name, value in cells.items():
        matches &= table[name] == value
    return np.flatnonzero(matches)


def test_a_column_of_the_fit_has_the_correlation_that_variables_has(arrests, unit):
    table = supplementary_columns(unit, arrests, arrests, frame="listing")
    t = unit.transform(arrests)
    r = np.corrcoef(arrests.T, t.T)[:4, 4:]
    np.testing.assert_allclose(table["correlation"].reshape(4, 2), r, atol=1e-12)
    np.testing.assert_array_equal(table["cos2"], table["correlation"] ** 2)
    assert table["column"][::2].tolist() == [f"columns_{j}" for j in range(4)]


def test_weights_are_frequencies(arrests, rng):
    w = np.arange(50) % 3 + 1
    x, g = rng.standard_normal(50), np.array(list("ab"))[np.arange(50) % 2]
    model = PCA(2).fit(arrests, sample_weight=w)
    again = np.repeat(np.arange(50), w)
    ones = np.ones(len(again))
    data = {"x": x, "g": g}
    one = metadata(model, arrests, data, w, frame="listing")
    repeated = {"x": x[again], "g": g[again]}
    other = metadata(model, arrests[again], repeated, ones, frame="listing")
    for name in ("r", "eta2", "statistic", "p_value", "df2"):
        np.testing.assert_allclose(one[name], other[name], rtol=1e-9, err_msg=name)
    one = categories(model, arrests, g, w, frame="listing")
    other = categories(model, arrests[again], g[again], ones, frame="listing")
    for name in ("barycentre", "v_test", "eta2"):
        np.testing.assert_allclose(one[name], other[name], rtol=1e-9, err_msg=name)


@pytest.mark.parametrize("function", [supplementary_columns, categories, metadata, plots.metadata])
def test_a_weighted_fit_warns_without_weights(arrests, function):
    w = np.arange(50) % 3 + 1.0
    model = PCA(2, scale="unit").fit(arrests, sample_weight=w)
    data = {"g": ["a", "b"] * 25} if function is categories else {"x": np.arange(50)}
    with pytest.warns(UserWarning, match="none are given: the results are .* weight 1. Give"):
        function(model, arrests, data)
    function(model, arrests, data, w)  # warnings are errors here
    function(model, arrests, data, np.ones(50))
    function(PCA(2).fit(arrests), arrests, data)


def test_missing_values_are_left_out_pair_by_pair_and_counted(arrests, unit):
    x = np.arange(50.0)
    x[[3, 4]] = np.nan
    table = supplementary_columns(unit, arrests, {"x": x, "y": np.arange(50)}, frame="listing")
    assert table["n"].tolist() == [48, 48, 50, 50]
    t, present = unit.transform(arrests), ~np.isnan(x)
    r = np.corrcoef(x[present], t[present, 0])[0, 1]
    assert table["correlation"][0] == pytest.approx(r, rel=1e-12)


def test_large_numbers_do_not_cancel(arrests, unit):
    x = np.arange(50.0) % 7
    near, far = (
        supplementary_columns(unit, arrests, {"x": x + shift}, frame="listing")["correlation"]
        for shift in (0.0, 2.0**40)
    )
    np.testing.assert_allclose(near, far, rtol=1e-12)


def test_a_constant_column_is_reported(arrests, unit):
    table = supplementary_columns(unit, arrests, {"c": np.full(50, 0.1)}, frame="listing")
    assert np.isnan(table["correlation"]).all()
    assert set(table["note"]) == {"constant"}


# ---- categories ------------------------------------------------------------------------------


@given(st.integers(0, 2**31), st.integers(2, 6))
@settings(max_examples=25)
def test_barycentres_and_eta_squared_are_those_of_the_analysis_of_variance(seed, groups):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((40, 3)) + rng.standard_normal(3) * 100
    g = rng.integers(0, groups, 40)
    g[:groups] = np.arange(groups)
    model = PCA(2).fit(X)
    t = model.transform(X)
    table = categories(model, X, {"g": g}, categorical="g", frame="listing")
    whole = metadata(model, X, {"g": g}, categorical=["g"], frame="listing")
    for a in range(2):
        here = lines(table, component=f"PC{a + 1}")
        means = [t[g == q, a].mean() for q in range(groups)]
        np.testing.assert_allclose(table["barycentre"][here], means, atol=1e-11)
        f = stats.f_oneway(*(t[g == q, a] for q in range(groups)))
        assert whole["statistic"][a] == pytest.approx(f.statistic, rel=1e-8)
        assert whole["p_value"][a] == pytest.approx(f.pvalue, rel=1e-7)
        sizes = np.bincount(g, minlength=groups)
        eta2 = (
            sizes
            @ (np.array(means) - t[:, a].mean()) ** 2
            / ((t[:, a] - t[:, a].mean()) ** 2).sum()
        )
        np.testing.assert_allclose(table["eta2"][here], eta2, rtol=1e-9)


def test_the_v_test_is_normal_for_random_categories(rng):
    X = rng.standard_normal((60, 3))
    model = PCA(1).fit(X)
    g = np.repeat(["small", "large"], [15, 45])
    values = []
    for _ in range(400):
        table = categories(model, X, {"g": rng.permutation(g)}, frame="listing")
        values.append(table["v_test"][lines(table, category="small")[0]])
    assert np.mean(values) == pytest.approx(0, abs=0.2)
    assert np.std(values) == pytest.approx(1, abs=0.12)


def test_the_v_test_by_hand(arrests, unit):
    g = np.repeat(["a", "b"], [20, 30])
    t = unit.transform(arrests)[:, 0]
    # 20 of 50 drawn without replacement, variance with divisor N − 1 (Cochran 1977, theorem 2.2)
    deviation = np.sqrt(t.var(ddof=1) / 20 * (50 - 20) / 50)
    table = categories(unit, arrests, {"g": g}, components=1, frame="listing")
    assert table["v_test"][0] == pytest.approx(t[:20].mean() / deviation, rel=1e-12)


def test_groups_of_one_and_two_are_valid(arrests, unit):
    g = np.repeat(["one", "two", "rest"], [1, 2, 47])
    table = categories(unit, arrests, {"g": g}, frame="listing")
    assert table["n"][lines(table, component="PC1")].tolist() == [1, 47, 2]
    assert np.isfinite(table["v_test"]).all()
    t = unit.transform(arrests)
    assert table["barycentre"][0] == pytest.approx(t[0, 0], rel=1e-12)
    assert np.isfinite(metadata(unit, arrests, {"g": g}, frame="listing")["p_value"]).all()


def test_one_category_has_a_barycentre_and_no_test(arrests, unit):
    table = categories(unit, arrests, ["all"] * 50, frame="listing")
    np.testing.assert_allclose(table["barycentre"], 0, atol=1e-14)
    np.testing.assert_allclose(table["eta2"], 0, atol=1e-14)
    assert np.isnan(table["v_test"]).all()


def test_rows_without_a_category_are_left_out(arrests, unit):
    g = ["a"] * 20 + [None] * 10 + ["b"] * 20
    table = categories(unit, arrests, {"g": g}, frame="listing")
    assert table["category"][::2].tolist() == ["a", "b"]
    assert table["n"].tolist() == [20] * 4
    with pytest.raises(ShapeError, match="'g' has no row with a category"):
        categories(unit, arrests, {"g": np.full(50, np.nan)}, categorical=["g"])


# ---- metadata --------------------------------------------------------------------------------


def test_columns_that_cannot_be_computed_get_a_note(arrests, unit):
    data = {
        "constant": np.ones(50),
        "one": ["same"] * 50,
        "id": [f"row {i}" for i in range(50)],
        "nearly": [f"row {max(i - 20, 0)}" for i in range(50)],
        "day": np.arange(50).astype("datetime64[D]"),
        "empty": np.full(50, np.nan),
        "good": np.arange(50.0),
    }
    table = metadata(unit, arrests, data, components=1, frame="listing")
    notes = dict(zip(table["column"], table["note"], strict=True))
    assert notes["constant"] == notes["one"] == "constant"
    assert notes["id"] == "nearly unique: 50 categories in 50 rows"
    assert notes["nearly"].startswith("nearly unique")
    assert "neither numbers nor categories" in notes["day"]
    assert notes["empty"] == "fewer than two rows have a value"
    assert notes["good"] == ""
    assert np.isfinite(table["p_value"]).tolist() == [False] * 6 + [True]
    # one test only: nothing to adjust
    assert table["p_adjusted"][-1] == table["p_value"][-1]


def test_a_component_correlates_perfectly_with_itself(arrests, unit):
    t = unit.transform(arrests)
    table = metadata(unit, arrests, {"t": t[:, 0], "sign": t[:, 0] > 0}, frame="listing")
    assert table["r"][0] == pytest.approx(1, abs=1e-15)
    assert table["p_value"][0] < 1e-100
    assert table["kind"].tolist() == ["numeric"] * 2 + ["categorical"] * 2
    assert table["p_value"][3] > 0.1


def test_two_rows_have_a_correlation_and_no_test():
    X = np.array([[0.0, 1.0], [1.0, 3.0]])
    model = PCA(1).fit(X)
    table = metadata(model, X, {"x": [1, 2], "g": ["a", "b"]}, frame="listing")
    assert abs(table["r"][0]) == 1
    assert table["note"].tolist() == [
        "r of 2 rows: no test",
        "nearly unique: 2 categories in 2 rows",
    ]


def test_groups_without_spread_have_a_p_value_of_zero():
    X = np.array([[0.0], [0.0], [5.0], [5.0]])
    table = metadata(PCA(1).fit(X), X, {"g": list("aabb")}, frame="listing")
    assert (table["eta2"][0], table["p_value"][0]) == (1, 0)


def test_p_values_are_adjusted_as_in_r():
    p = np.array([0.01, 0.04, 0.03, np.nan, 0.5, 0.005, 0.04])
    # R 4.2.2: p.adjust(c(.01,.04,.03,.5,.005,.04), "BH")
    expected = [0.03, 0.048, 0.048, np.nan, 0.5, 0.03, 0.048]
    np.testing.assert_allclose(benjamini_hochberg(p), expected, rtol=1e-12)
    assert np.isnan(benjamini_hochberg(np.array([np.nan]))).all()


# ---- errors --------------------------------------------------------------------------------


def test_invalid_arguments_are_refused(arrests, unit):
    with pytest.raises(ShapeError, match="'x' of data has 49 values, and X has 50 rows"):
        metadata(unit, arrests, {"x": np.ones(49)})
    with pytest.raises(ColumnError, match="no column 'group'"):
        metadata(unit, arrests, {"x": np.arange(50)}, categorical=["group"])
    with pytest.raises(NotNumericError, match="'g' is categorical") as caught:
        supplementary_columns(unit, arrests, {"g": ["a", "b"] * 25})
    assert "categories(" in caught.value.hint
    with pytest.raises(NotNumericError, match="'x' is numeric") as caught:
        categories(unit, arrests, {"x": np.arange(50)})
    assert "categorical=['x']" in caught.value.hint
    with pytest.raises(NotFiniteError, match="'x' of data is infinite at row 1"):
        metadata(unit, arrests, {"x": [0, np.inf] + [1.0] * 48})
    with pytest.raises(ParameterError, match="component 3"):
        categories(unit, arrests, ["a", "b"] * 25, components=3)
    with pytest.raises(ParameterError, match="no named columns"):
        metadata(unit, arrests, "file.csv")
    with pytest.raises(ParameterError, match="has no columns"):
        metadata(unit, arrests, np.ones((50, 2, 2)))
    with pytest.raises(ShapeError, match="no column"):
        metadata(unit, arrests, {})
    for twice in (
        {1: np.arange(50), "1": np.ones(50)},
        pd.DataFrame(arrests[:, :2], None, [1, "1"]),
    ):
        with pytest.raises(ColumnError, match="not unique; twice or more: 1"):
            metadata(unit, arrests, twice)


def test_values_that_are_neither_numbers_nor_categories(arrests, unit):
    for large in (np.inf, 10**400):
        with pytest.raises(NotFiniteError, match="'x' of columns is infinite at row 0"):
            categories(unit, arrests, {"x": [large] + [1.0] * 49}, categorical=["x"])
    with pytest.raises(ParameterError, match="data is list, which has no columns"):
        metadata(unit, arrests, [[1], [2, 3]] * 25)
    days = np.arange(50).astype("datetime64[D]")
    for cells in ([[1], [2, 3]] * 25, days):
        table = metadata(unit, arrests, {"x": cells}, frame="listing")
        assert "neither numbers nor categories" in table["note"][0]
        with pytest.raises(NotNumericError) as caught:
            categories(unit, arrests, {"x": cells})
        assert caught.value.hint == "convert it to text"
        with pytest.raises(NotNumericError) as caught:
            supplementary_columns(unit, arrests, {"x": cells})
        assert caught.value.hint == "convert it to numbers"


def test_the_text_nan_is_a_category_and_nan_is_missing(arrests, unit):
    g = ["nan", float("nan"), None, "b", "b"] * 10
    table = categories(unit, arrests, {"g": g}, components=1, frame="listing")
    assert table["category"].tolist() == ["b", "nan"]
    assert table["n"].tolist() == [20, 10]
    table = categories(unit, arrests, ["a", float("nan")] * 25, components=1, frame="listing")
    assert (table["category"].tolist(), table["n"].tolist()) == (["a"], [25])
    mixed = metadata(unit, arrests, {"g": [True, False] * 25, "n": [1, None] * 25}, frame="listing")
    assert mixed["kind"][::2].tolist() == ["categorical", "numeric"]


def test_cells_of_a_list_of_rows_keep_their_types(arrests, unit):
    x = np.arange(50.0)
    data = [[i, "ab"[i % 2] if i else np.nan, i % 2 == 0] for i in range(50)]
    found = metadata(unit, arrests, data, frame="listing")
    g = [None, *(row[1] for row in data[1:])]
    expected = metadata(
        unit, arrests, {"data_0": x, "data_1": g, "data_2": x % 2 == 0}, frame="listing"
    )
    for name in found.columns:
        np.testing.assert_array_equal(found[name], expected[name])


def test_supplementary_rows_do_not_change_axes(arrests, unit):
    before = unit.components_.copy()
    rows(unit, arrests * 3, supplementary=True)
    np.testing.assert_array_equal(unit.components_, before)


@pytest.mark.parametrize("value", ["text", 5, None, iter([1.0] * 50)])
def test_one_value_for_all_rows_is_refused(arrests, unit, value):
    for function in (metadata, categories, supplementary_columns):
        with pytest.raises(ShapeError, match=r"'a' of (data|columns) is one .*, and X has 50 rows"):
            function(unit, arrests, {"a": value})


@pytest.mark.parametrize("values", [np.arange(50) % 7, np.arange(50) ** 0.5, np.arange(50) > 20])
def test_masked_values_are_missing(arrests, unit, values):
    mask = np.arange(50) == 3
    masked = np.ma.array(values.astype(values.dtype), mask=mask)
    masked.data[3] = 1
    plain = [None if hidden else value for value, hidden in zip(values, mask, strict=True)]
    for data in (masked, np.ma.column_stack([masked, masked]), {"data": masked}):
        table = metadata(unit, arrests, data, frame="listing")
        expected = metadata(unit, arrests, {"data": plain}, frame="listing")
        assert table["n"][0] == expected["n"][0] == 49
        for name in ("r", "eta2", "p_value"):
            np.testing.assert_array_equal(table[name][:2], expected[name])


def test_numbers_near_the_largest_float_are_correlated(arrests, unit):
    x = np.linspace(-1.0, 1.0, 50)
    data = {"x": x, "huge": np.ldexp(x, 1023)}
    table = supplementary_columns(unit, arrests, data, frame="listing")
    np.testing.assert_array_equal(table["correlation"][:2], table["correlation"][2:])
