"""Figures: numbers at their places, correct texts, and no overlaps."""

from __future__ import annotations

import itertools
import sys
from dataclasses import replace

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.patches import Ellipse
from matplotlib.quiver import Quiver

from princomp import PCA, bootstrap, choose, diagnostics, plots
from princomp.errors import ParameterError
from princomp.plots.marks import draw_density, ellipse_of
from princomp.plots.style import GROUP_COLOURS, background_colour, contrast, text_colour


def text_of(ax):
    """All texts of an Axes, with its legend."""
    legend = ax.get_legend()
    texts = [text.get_text() for text in ax.texts] + [ax.get_xlabel(), ax.get_ylabel()]
    if legend is not None:
        texts += [
            legend.get_title().get_text(),
            *(text.get_text() for text in legend.get_texts()),
        ]
    return "\n".join(texts)


def line(ax, label):
    return next(one for one in ax.lines if one.get_label() == label)


def offsets(ax):
    """Positions of all points."""
    return np.concatenate([np.asarray(one.get_offsets()) for one in ax.collections])


def arrow_ends(ax):
    found = next(one for one in ax.collections if isinstance(one, Quiver))
    return np.column_stack([found.U, found.V])


# ---- scree ----------------------------------------------------------------------------


def test_scree_shows_rates_of_the_total_variance(unit):
    ax = plots.scree(unit)
    heights = [bar.get_height() for bar in ax.patches]
    np.testing.assert_allclose(heights, [62.006039, 24.744129, 8.91408, 4.335752], atol=1e-5)
    np.testing.assert_allclose(
        line(ax, "accumulated").get_ydata(), [62.006, 86.750, 95.664, 100.0], atol=1e-3
    )
    assert "62.0%" in text_of(ax)
    assert "k = 2" in text_of(ax)
    assert len(ax.get_legend().get_texts()) == 3


def test_scree_draws_the_limit_of_a_rule_and_names_it(arrests, unit):
    decision = choose(arrests, ["broken-stick"], scale="unit")["broken-stick"]
    ax = plots.scree(unit, decision=decision)
    limit = line(ax, "pieces of a broken stick").get_ydata()
    np.testing.assert_allclose(limit, [52.08333, 27.08333, 14.58333, 6.25], atol=1e-4)
    assert f"k = {decision.k} · broken-stick" in text_of(ax)
    ruled = PCA("kaiser", scale="unit").fit(arrests)
    mean = line(plots.scree(ruled), "mean variance (kaiser)").get_ydata()
    np.testing.assert_allclose(mean, 25.0)


def test_scree_draws_quantiles_thresholds_and_edges_in_percent(arrests, unit):
    found = choose(arrests, scale="unit")
    curve = line(
        plots.scree(unit, decision=found["parallel"]), "quantile without structure (parallel)"
    )
    np.testing.assert_allclose(curve.get_ydata(), 25 * np.array(found["parallel"].threshold))
    edge = line(
        plots.scree(unit, decision=found["marchenko-pastur"]), "edge of noise (marchenko-pastur)"
    ).get_ydata()
    np.testing.assert_allclose(edge, 25 * found["marchenko-pastur"].threshold)
    above = line(
        plots.scree(unit, decision=found["gavish-donoho"]), "threshold (gavish-donoho)"
    ).get_ydata()
    np.testing.assert_allclose(above, 25 * found["gavish-donoho"].threshold ** 2 / 49)


def test_scree_names_the_p_values_of_a_test_under_the_components(arrests, unit):
    decision = choose(arrests, ["permutation"], scale="unit")["permutation"]
    ax = plots.scree(unit, decision=decision)
    tick_labels = [label.get_text() for label in ax.get_xticklabels()]
    assert tick_labels == ["1\np = 0.01", f"2\np = {decision.at(2):.2g}", "3", "4"]
    assert len(ax.get_legend().get_texts()) == 3  # and no line for the level
    assert "the model keeps 2" in text_of(ax)


@pytest.mark.parametrize("width", [5.2, 6.4])
@pytest.mark.parametrize("p", [6, 7, 15])
def test_p_values_of_many_components_do_not_overlap(p, width):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, p)) @ np.linalg.qr(rng.standard_normal((p, p)))[0]
    X = X * np.linspace(3, 1, p)
    decision = replace(choose(X, ["permutation"])["permutation"], statistic=np.full(p, 0.074))
    ax = plots.scree(PCA().fit(X), decision=decision, ax=plots.new_axes(width, 3.9, dark=False))
    ax.figure.draw_without_rendering()
    boxes = [label.get_window_extent() for label in ax.get_xticklabels()]
    assert "0.074" in ax.get_xticklabels()[-1].get_text()
    assert not any(a.overlaps(b) for a, b in itertools.pairwise(boxes))


@pytest.mark.parametrize("name", ["parallel", "gavish-donoho", "broken-stick"])
def test_scree_refuses_decisions_about_other_variances(arrests, unit, name):
    for other in (choose(arrests, [name]), choose(arrests[:25] ** 2, [name], scale="unit")):
        with pytest.raises(ParameterError, match="other variances") as caught:
            plots.scree(unit, decision=other[name])
        assert caught.value.place == {"parameter": "decision"}
    plots.scree(unit, decision=choose(unit, [name])[name])


def test_scree_draws_a_null_curve_in_the_same_percentages(unit):
    ax = plots.scree(unit, null=[1.6, 1.2])
    np.testing.assert_allclose(line(ax, "without structure (null)").get_ydata(), [40.0, 30.0])


def test_scree_of_many_components_says_how_many_there_are():
    X = np.random.default_rng(0).standard_normal((100, 40))
    ax = plots.scree(PCA(3).fit(X), most=10)
    assert len(ax.patches) == 10
    assert "the first 10 of 40 components" in text_of(ax)


# ---- rows -----------------------------------------------------------------------------


def test_scores_are_those_of_the_model_with_rates_at_equal_scales(arrests, unit, states):
    ax = plots.scores(unit, arrests, ids=states)
    np.testing.assert_allclose(offsets(ax), unit.transform(arrests), atol=1e-12)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("PC1 (62.0%)", "PC2 (24.7%)")
    assert ax.get_aspect() == 1.0
    assert "California" in text_of(ax)
    np.testing.assert_allclose(
        offsets(plots.scores(unit, arrests, "PC2", 1)), unit.transform(arrests)[:, ::-1], atol=1e-12
    )


def test_scores_of_whitened_models_are_not_whitened(arrests):
    model = PCA(2, whiten=True).fit(arrests)
    plain = PCA(2).fit(arrests)
    drawn = offsets(plots.scores(model, arrests))
    np.testing.assert_allclose(drawn, plain.transform(arrests), atol=1e-10)


def test_rows_without_names_get_labels_only_on_request(arrests, unit):
    assert not plots.scores(unit, arrests).texts
    assert len(plots.scores(unit, arrests, label=3).texts) == 3
    named = plots.scores(unit, arrests, label=["7", 8]).texts
    assert [text.get_text() for text in named] == ["7", "8"]


def test_groups_under_four_get_no_ellipse_and_a_message(arrests, unit):
    groups = np.array(["a"] * 44 + ["b"] * 3 + ["c"] * 2 + ["d"])
    ax = plots.scores(unit, arrests, groups=groups)
    shown = text_of(ax)
    assert "ellipses: 95% prediction of further rows" in shown
    assert "b (3 rows: no ellipse)" in shown
    assert "d (1 row: no ellipse)" in shown
    assert "\na\n" in shown
    assert len({one.center for one in ax.patches if isinstance(one, Ellipse)}) == 1
    assert not plots.scores(unit, arrests, groups=groups, ellipses="none").patches


def test_groups_on_a_line_and_rows_without_a_group_are_reported(arrests, unit):
    rows = np.repeat(arrests[:1], 8, axis=0) + np.outer(np.arange(8), unit.components_[0])
    shown = text_of(plots.scores(unit, rows, groups=["a"] * 5 + [None, "b", "b"]))
    assert "no group" in shown
    one = plots.scores(unit, rows[:5] * 0 + arrests[0], groups=["a"] * 5)
    assert "a (on a line: no ellipse)" in text_of(one)


@pytest.mark.parametrize("kind", ["rows", "mean"])
def test_an_ellipse_covers_its_level(kind):
    """Over 4,000 groups of 12, the covered share is the level to 4 standard errors."""
    rng = np.random.default_rng(2)
    mix, hits, draws = np.array([[2.0, 0.0], [1.5, 0.5]]), 0, 4000
    for _ in range(draws):
        points = rng.standard_normal((13, 2)) @ mix.T
        centre, half, angle = ellipse_of(points[:12], kind, 0.9)
        off = (points[12] if kind == "rows" else np.zeros(2)) - centre
        turn = np.radians(angle)
        along = off @ np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
        hits += bool(((along / half) ** 2).sum() <= 1.0)
    assert abs(hits / draws - 0.9) < 4 * np.sqrt(0.09 / draws)


def test_many_rows_are_drawn_as_a_density(monkeypatch):
    X = np.random.default_rng(0).standard_normal((25_000, 3)) * [3, 2, 1]
    model = PCA(2).fit(X)
    ax = plots.scores(model, X)
    assert "25,000 rows as a density" in text_of(ax)
    assert np.nansum(ax.images[0].get_array()) == 25_000
    for i in range(5):  # the largest of each column lies on the border of a cell
        cloud = np.random.default_rng(i).standard_normal((1000, 2))
        assert np.nansum(draw_density(ax, cloud).get_array()) == 1000
    grouped = plots.scores(model, X, groups=np.repeat(["a", "b"], [24_950, 50]))
    shown = text_of(grouped)
    assert "ellipses are of all" in shown
    assert "ellipses" not in text_of(plots.scores(model, X, groups=X[:, 0] > 0, ellipses="none"))
    assert f"{sum(map(len, (c.get_offsets() for c in grouped.collections))):,} of 25,000" in shown
    centre, half, _ = ellipse_of(model.transform(X)[:24_950], "rows", 0.95)
    found = next(one for one in grouped.patches if isinstance(one, Ellipse))
    np.testing.assert_allclose(found.center, centre, atol=1e-10)
    np.testing.assert_allclose([found.width, found.height], 2 * half, rtol=1e-10)


def test_a_labelled_row_outside_the_sample_of_its_group_is_drawn():
    X = np.random.default_rng(0).standard_normal((25_000, 2))
    model, groups = PCA(2).fit(X), np.array(["a", None] * 12_500, dtype=object)
    ax = plots.scores(model, X, groups=groups, label=range(20))
    drawn = {tuple(point) for point in offsets(ax).tolist()}
    assert {tuple(point) for point in model.transform(X[:20]).tolist()} <= drawn


def test_rows_with_missing_values_are_counted_in_a_note(arrests):
    X = arrests.copy()
    X[[3, 9], 1] = np.nan
    model = PCA(2, scale="unit", missing="drop").fit(X)
    for ax in (
        plots.scores(model, X, groups=["a", "b"] * 25),
        plots.outliers(model, X),
    ):
        assert "2 rows with missing values are not drawn" in text_of(ax)
        assert sum(len(one.get_offsets()) for one in ax.collections) == 48
    shown = text_of(plots.outliers(model, X[[0, 3]]))
    assert "1 row with missing values is not drawn" in shown
    assert "0 of 1 row are beyond a limit" in shown
    shown = text_of(plots.outliers(PCA(1).fit(arrests[:2, :1]), arrests[:, :1]))
    assert "T² within 1 component" in shown
    assert "2 rows are too few for 1 component:" in shown


def test_filled_rows_are_scaled_to_the_limits_of_complete_rows(arrests):
    model, X = PCA(2, scale="unit", missing="em").fit(arrests), arrests.copy()
    X[[3, 9], 1] = np.nan
    X[9] *= 2.0
    table = diagnostics.distances(model, X, level=0.95, frame="listing")
    limits = diagnostics.limits(model)
    ax = plots.outliers(model, X)
    assert "2 rows with filled cells: scaled to these limits" in text_of(ax)
    n_beyond = len(diagnostics.outliers(model, X, frame="listing"))
    assert f"{n_beyond} of 50 rows are beyond a limit" in text_of(ax)
    drawn = offsets(ax)
    for row in (3, 9):
        ratios = [table[name][row] / table[f"{name}_limit"][row] for name in ("t2", "q")]
        place = np.array(ratios) * [limits.t2_new, limits.q_new]
        assert np.abs(drawn - place).max(axis=1).min() < 1e-9 * place.max()
    assert "filled" not in text_of(plots.outliers(model, arrests))


def test_filled_rows_without_limits_are_not_beyond_those_of_complete_rows(rng):
    axes = rng.standard_normal((2, 60))
    X = rng.standard_normal((40, 2)) @ axes * 9.0 + rng.standard_normal((40, 60))
    X[39] *= 5.0
    X[range(40), range(40)] = np.nan
    model = PCA(2, missing="em", svd_solver="lanczos").fit(X)
    far = np.vstack([X, axes[:1] * 99.0])
    for rows, count in ((X, ""), (far, "1 of 1 row is beyond a limit")):
        with pytest.warns(UserWarning, match="40 rows of X with filled cells have no limits"):
            shown = text_of(plots.outliers(model, rows))
        assert "40 rows with filled cells: no limits" in shown
        assert "within the limits" not in shown
        assert count in shown
        assert ("beyond a limit" in shown) == bool(count)


def test_labels_stay_with_their_rows_if_others_are_left_out(arrests, states):
    X = arrests.copy()
    X[3, 1] = np.nan
    model = PCA(2, scale="unit", missing="drop").fit(X)
    ax = plots.scores(model, X, ids=states, label=["Texas"])
    text = next(text for text in ax.texts if text.get_text() == "Texas")
    place = model.transform(X)[states.index("Texas")]
    assert np.hypot(*(np.array(text.get_position()) - place)) < 0.5


def test_pairs_show_each_plane_once(wide):
    X, model = wide
    axes = plots.pairs(model, X, [1, 3, 2])
    assert axes.shape == (3, 3)
    assert not any(axes[i, j].get_visible() for i in range(3) for j in range(i + 1, 3))
    t = model.transform(X)
    np.testing.assert_allclose(offsets(axes[2, 1]), t[:, [2, 1]], atol=1e-12)
    assert axes[1, 1].get_title().startswith("PC3 (")
    assert plots.pairs(model, X, groups=["a", "b"] * 100, ellipses="mean").shape == (4, 4)


def test_histograms_of_pairs_have_the_rows_without_a_group(arrests, unit):
    axes = plots.pairs(unit, arrests, groups=["a"] * 20 + ["b"] * 20 + [None] * 10)
    # The outlines of bars do not count.
    heights = [one.get_xy() for one in axes[0, 0].patches if one.get_fill()]
    assert len(heights) == 3


# ---- variables ------------------------------------------------------------------------


def test_a_biplot_has_one_factor_for_all_arrows_and_prints_it(wide):
    X, model = wide
    ax = plots.biplot(model, X, top=4)
    arrows = arrow_ends(ax)
    order = np.argsort(-(model.loadings_[:, :2] ** 2).sum(axis=1))[:4]
    ratio = arrows / model.loadings_[order, :2]
    np.testing.assert_allclose(ratio, ratio[0, 0], rtol=1e-12)
    assert f"arrows: loadings × {ratio[0, 0]:.3g}, the 4 of 25 variables" in text_of(ax)
    same = plots.biplot(model, X, top=1, factor=2.0)
    np.testing.assert_allclose(arrow_ends(same)[0], 2.0 * model.loadings_[order[0], :2])


def test_points_projected_on_axes_as_arrows_approximate_the_data(arrests):
    model = PCA(2).fit(arrests)
    ax = plots.biplot(model, arrests, arrows="axes", top=4)
    order = np.argsort(-(model.loadings_**2).sum(axis=1))
    ends = arrow_ends(ax)
    factor = np.linalg.norm(ends, axis=0)[0] / np.linalg.norm(model.components_, axis=1)[0]
    np.testing.assert_allclose(ends, factor * model.components_.T[order], rtol=1e-12)
    assert f"arrows: axes × {factor:.3g}" in text_of(ax)
    best = model.inverse_transform(model.transform(arrests)) - model.mean_
    products = model.transform(arrests) @ ends.T
    np.testing.assert_allclose(products, factor * best[:, order], atol=1e-9)
    with pytest.raises(ParameterError, match="arrows='Axes'"):
        plots.biplot(model, arrests, arrows="Axes")


def test_the_circle_holds_correlations(unit):
    ax = plots.circle(unit)
    arrows = arrow_ends(ax)
    order = np.argsort(-(unit.loadings_**2).sum(axis=1))
    np.testing.assert_allclose(arrows, unit.loadings_[order], atol=1e-12)
    assert ax.get_aspect() == 1.0


def test_contributions_are_sorted_and_compared_with_even_ones(wide):
    _, model = wide
    ax = plots.contributions(model, "PC2", top=7)
    widths = [bar.get_width() for bar in ax.patches]
    shares = 100 * np.sort(model.components_[1] ** 2)[::-1]
    np.testing.assert_allclose(widths, shares[:7], rtol=1e-12)
    assert "100/p = 4%" in text_of(ax)
    assert f"7 of 25 variables, {sum(widths):.1f}% together" in text_of(ax)


def test_cos2_sums_to_one_over_all_components(arrests):
    model = PCA(scale="unit").fit(arrests)
    ax = plots.cos2(model)
    cells = [text.get_text() for text in ax.texts][:20]
    assert cells[4::5] == ["1.00"] * 4
    names = [label.get_text() for label in ax.get_yticklabels()]
    murder = 5 * names.index("x0")
    assert cells[murder] == f"{model.loadings_[0, 0] ** 2:.2f}"


def test_cos2_sums_are_of_the_kept_components_and_sorted(wide):
    X, _ = wide
    model = PCA(12).fit(X)
    ax = plots.cos2(model)
    heads = [label.get_text() for label in ax.get_xticklabels()]
    assert (len(heads), heads[-1]) == (9, "sum of\n12 kept")
    cells = np.array([text.get_text() for text in ax.texts][: 25 * 9]).reshape(25, 9)
    table = diagnostics.variables(model, form="wide", frame="listing")
    every = sum(table[f"cos2_PC{i}"] for i in range(1, 13))
    assert cells[:, -1].tolist() == [f"{value:.2f}" for value in np.sort(every)[::-1]]
    some = plots.cos2(model, [1, 3])
    assert some.get_xticklabels()[-1].get_text() == "sum of\n2 shown"


def test_whiskers_are_the_intervals_of_the_bootstrap(arrests, unit):
    found = bootstrap(unit, arrests, n=50)
    ax = plots.loadings(unit, bootstrap=found)
    segments = np.array(ax.collections[0].get_segments())[:, :, 0]
    order = np.argsort(-unit.loadings_[:, 0])
    np.testing.assert_allclose(segments, found.loading_interval[:, order, 0].T)
    assert "95% intervals of 50 resamples" in text_of(ax)
    assert "correlation" in ax.get_xlabel()


def test_metadata_has_stars_and_reasons(arrests, unit):
    data = {"murder": arrests[:, 0], "batch": np.ones(50), "half": np.repeat(["a", "b"], 25)}
    ax = plots.metadata(unit, arrests, data)
    table = diagnostics.metadata(unit, arrests, data, frame="listing")
    assert f"{table['r'][0]:.2f}***" in text_of(ax)
    assert "batch: constant" in text_of(ax)
    labels = [text.get_text() for text in ax.get_yticklabels()]
    assert labels == ["murder (r)", "batch", "half (η²)"]


# ---- outliers -------------------------------------------------------------------------


def test_the_outlier_map_has_both_limits_and_names_those_beyond(arrests, unit, states):
    ax = plots.outliers(unit, arrests, ids=states)
    shown = text_of(ax)
    assert "T² 95% of new rows: 6.645" in shown
    assert "Q 95% of new rows: 1.921" in shown
    assert "2 of 50 rows are beyond a limit" in shown
    assert {"Alaska", "Rhode Island"} <= {text.get_text() for text in ax.texts}
    assert "training rows: 5.747" in text_of(plots.outliers(unit, arrests, training=True))
    one = diagnostics.distances(unit, arrests, frame="listing")
    drawn = offsets(ax)
    np.testing.assert_allclose(np.sort(drawn[:, 0]), np.sort(one["t2"]))


def test_without_a_residual_t2_is_drawn_alone(arrests):
    model = PCA(scale="unit").fit(arrests)
    ax = plots.outliers(model, arrests)
    assert ax.get_xlabel() == "row"
    assert ax.get_ylabel() == "T² within all 4 components"
    assert "no limit of Q: the components span all directions" in text_of(ax)
    assert len(ax.get_legend().get_texts()) >= 2


def test_an_unavailable_limit_is_reported():
    X = np.random.default_rng(0).standard_normal((4, 9))
    ax = plots.outliers(PCA(2).fit(X[:3]), X)
    assert "no limit of T²: 3 rows are too few" in text_of(ax).replace("\n", " ")


# ---- all ------------------------------------------------------------------------------


def every_figure(model, X, **options):
    data = {"x": X[:, 0]}
    yield plots.scree(model, **options)
    yield plots.scores(model, X, **options)
    yield plots.biplot(model, X, **options)
    yield plots.circle(model, **options)
    yield plots.contributions(model, **options)
    yield plots.cos2(model, **options)
    yield plots.loadings(model, **options)
    yield plots.outliers(model, X, **options)
    yield plots.metadata(model, X, data, **options)


def test_no_figure_touches_pyplot_or_global_settings(arrests, unit):
    before = dict(mpl.rcParams)
    loaded = "matplotlib.pyplot" in sys.modules
    assert len(list(every_figure(unit, arrests))) == 9
    assert dict(mpl.rcParams) == before
    assert loaded or "matplotlib.pyplot" not in sys.modules


def test_figures_are_drawn_on_given_axes(arrests, unit):
    for name in ("scree", "circle", "contributions", "cos2", "loadings"):
        ax = Figure().subplots()
        assert getattr(plots, name)(unit, ax=ax) is ax
        assert getattr(unit.plot, name)(ax=Figure().subplots()) is not ax
    figure = Figure()
    assert plots.pairs(unit, arrests, figure=figure)[0, 0].figure is figure


@pytest.mark.parametrize("dark", [False, True])
def test_colours_contrast_with_light_and_dark_backgrounds(arrests, unit, dark):
    for ax in every_figure(unit, arrests, dark=dark):
        ground = background_colour(ax)
        assert contrast(text_colour(ax), ground) > 12
        assert contrast(ground, "white" if dark else "black") > 12
        for text in [*ax.texts, *ax.get_xticklabels(), *ax.get_yticklabels(), ax.xaxis.label]:
            if text.get_text() and not ax.images:
                inside = text.get_color() in (
                    "#000000",
                    "#ffffff",
                )  # on a bar, with a colour chosen for it
                assert inside or contrast(text.get_color(), ground) >= 4.4, text.get_text()
    for colour in GROUP_COLOURS[:4]:
        assert contrast(colour, "white") > 2.9
        assert contrast(colour, "black") > 2.9


def test_the_style_of_the_user_is_kept(arrests, unit):
    with mpl.rc_context({"axes.facecolor": "#222222", "axes.labelcolor": "#eeeeee"}):
        ax = plots.outliers(unit, arrests)
    assert (background_colour(ax), text_colour(ax)) == ("#222222", "#eeeeee")
    note = next(text for text in ax.texts if "beyond a limit" in text.get_text())
    assert contrast(note.get_color(), "#222222") > 4.4


@pytest.mark.parametrize(("draw", "requested"), [("scores", 25), ("biplot", 25), ("scores", 80)])
def test_labels_do_not_overlap_and_omitted_ones_are_listed(wide, draw, requested):
    X, model = wide
    ids = [f"row number {i}" for i in range(200)]
    ax = getattr(plots, draw)(model, X, label=requested, ids=ids)
    ax.figure.canvas.draw()
    note = "\n".join(text.get_text() for text in ax.texts if text.get_gid())
    texts = [text for text in ax.texts if text.get_text() and not text.get_gid()]
    boxes = [text.get_window_extent() for text in texts]
    assert len(boxes) >= 15
    omitted = requested + (10 if draw == "biplot" else 0) - len(boxes)
    assert ("no room for row number" in note) == (omitted > 0)
    if omitted > 30:
        assert note.replace("\n", " ").endswith(f"and {omitted - 30} more")
    else:
        assert note.count("row") - note.count("arrow") == omitted
    shared = [one.overlaps(other) for i, one in enumerate(boxes) for other in boxes[:i]]
    assert not any(shared)
    if draw == "biplot":
        assert {f"x{j}" for j in range(25)} >= {text.get_text() for text in texts[:10]}
