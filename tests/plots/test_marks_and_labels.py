"""Marks, labels and colours of figures: those of the results, readable and distinct."""

from __future__ import annotations

from io import BytesIO

import matplotlib.image
import numpy as np
import pytest
from matplotlib.patches import Ellipse, Rectangle
from pictures import arrests as states_and_model, irises

from princomp import PCA, bootstrap, choose, plots
from princomp.errors import ParameterError
from princomp.plots.marks import group_style
from princomp.plots.style import GROUP_COLOURS, VERMILLION


def texts_of(ax):
    return [text for text in ax.texts if text.get_text() and not text.get_gid()]


def note_of(ax):
    return " ".join(text.get_text() for text in ax.texts if text.get_gid()).replace("\n", " ")


def bars(ax, colour):
    from matplotlib.colors import to_rgba

    found = [bar for bar in ax.patches if isinstance(bar, Rectangle)]
    return sum(bar.get_facecolor() == to_rgba(colour) for bar in found)


# ---- scree ----------------------------------------------------------------------------


@pytest.mark.parametrize("rule", ["parallel", "broken-stick", "kaiser"])
def test_highlighted_bars_are_those_of_the_drawn_rule(arrests, rule):
    model = PCA(3, scale="unit").fit(arrests)
    decision = choose(arrests, [rule], scale="unit")[rule]
    ax = plots.scree(model, decision=decision)
    assert bars(ax, "#0072B2") == decision.k == 1
    assert note_of(ax) == "the model keeps 3"
    assert note_of(plots.scree(model)) == ""


@pytest.mark.parametrize("rule", ["parallel", "broken-stick", "kaiser", "gavish-donoho"])
@pytest.mark.parametrize("columns", [4, 12])
def test_no_line_crosses_a_number_of_a_scree_plot(rule, columns):
    rng = np.random.default_rng(columns)
    X = rng.standard_normal((60, columns)) * np.linspace(3, 1, columns)
    ax = plots.scree(PCA(2).fit(X), decision=choose(X, [rule])[rule])
    ax.figure.canvas.draw()
    back = ax.transData.inverted()
    lines = [line for line in ax.lines if len(line.get_xdata()) > 2]
    for text in texts_of(ax)[:columns]:
        (left, low), (right, high) = back.transform(text.get_window_extent().get_points())
        for line in lines:
            y = np.interp(np.linspace(left, right, 9), line.get_xdata(), line.get_ydata())
            assert not ((low < y) & (y < high)).any(), (text.get_text(), line.get_label())


def test_unstable_components_are_marked():
    rng = np.random.default_rng(1)
    noise = PCA(2).fit(rng.standard_normal((40, 4)))
    ax = plots.scree(noise)
    assert [label.get_text() for label in ax.get_xticklabels()] == ["1*", "2*", "3", "4"]
    assert note_of(ax).startswith("* unstable: PC1 and PC2 (axes may have any direction")
    X = rng.standard_normal((40, 4))
    assert plots.scores(noise, X).get_xlabel().endswith("%, unstable)")
    assert plots.biplot(noise, X).get_ylabel().endswith("%, unstable)")
    assert ", unstable)" in plots.contributions(noise).get_xlabel()
    assert "unstable)" in plots.cos2(noise).get_xticklabels()[0].get_text()


def test_the_angles_of_a_bootstrap_decide_in_figures(arrests):
    model = PCA(2, scale="unit").fit(arrests)
    found = bootstrap(model, arrests, n=40)
    assert plots.scores(model, arrests).get_xlabel() == "PC1 (62.0%)"
    found.angles[:, 1] = 80.0
    ax = plots.scores(model, arrests, bootstrap=found)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("PC1 (62.0%)", "PC2 (24.7%, unstable)")


# ---- labels and colours ---------------------------------------------------------------


def test_all_50_states_have_a_label_in_a_biplot_of_default_size():
    names, X, model = states_and_model()
    ax = plots.biplot(model, X, ids=names)
    assert {*names, "x0", "x1", "x2", "x3"} == {text.get_text() for text in texts_of(ax)}
    assert "no room" not in note_of(ax)


def test_arrows_have_labels_before_rows_even_among_ellipses():
    species, X, model = irises()
    ax = plots.biplot(model, X, groups=species)
    names = [text.get_text() for text in texts_of(ax)]
    assert {"x0", "x1", "x2", "x3"} <= set(names)


def test_arrows_and_limits_have_a_distinct_colour():
    assert VERMILLION not in GROUP_COLOURS


def test_twenty_groups_differ_in_colour_or_shape_and_more_than_forty_are_refused(arrests):
    assert len({group_style(code) for code in range(40)}) == 40
    assert len({group_style(code)[0] for code in range(8)}) == 8
    X = np.tile(arrests, (2, 1))
    model = PCA(2).fit(X)
    plots.scores(model, X, groups=np.arange(100) % 40)
    with pytest.raises(ParameterError, match="41 groups"):
        plots.scores(model, X, groups=[f"g{i % 41}" for i in range(100)])


def test_ellipses_have_the_names_of_their_groups():
    species, X, model = irises()
    ax = plots.scores(model, X, groups=species)
    names = {text.get_text() for text in texts_of(ax)}
    assert set(species) <= names
    assert sum(isinstance(one, Ellipse) for one in ax.patches) == 6


def test_no_number_of_contributions_overlaps_the_line(wide):
    _, model = wide
    for component in (1, 2, 3):
        ax = plots.contributions(model, component, top=25)
        ax.figure.canvas.draw()
        even = ax.transData.transform((4.0, 0.0))[0]
        for text in texts_of(ax)[:25]:
            box = text.get_window_extent()
            assert not box.x0 < even < box.x1, text.get_text()


def test_many_grouped_points_are_a_bitmap_in_a_file():
    X = np.random.default_rng(0).standard_normal((9000, 3))
    ax = plots.scores(PCA(2).fit(X), X, groups=np.arange(9000) % 3, ellipses="none")
    file = BytesIO()
    ax.figure.savefig(file, format="svg")
    assert len(file.getvalue()) < 600_000


def test_all_30_arrows_of_a_circle_have_a_label():
    X = np.random.default_rng(0).standard_normal((300, 4)) @ np.random.default_rng(
        1
    ).standard_normal((4, 30))
    model = PCA(2, scale="unit").fit(X)
    ax = plots.circle(model)
    assert "no room" not in note_of(ax)
    assert {f"x{i}" for i in range(30)} == {text.get_text() for text in texts_of(ax)}


def test_arrows_are_as_thick_at_every_resolution(arrests):
    ax = plots.circle(PCA(2, scale="unit").fit(arrests))
    shares = []
    for dpi in (60, 240):
        file = BytesIO()
        ax.figure.savefig(file, format="png", dpi=dpi)
        file.seek(0)
        red, _, blue, _ = matplotlib.image.imread(file, format="png").transpose(2, 0, 1)
        shares.append(float((blue - red).mean()))
    # With a width in pixels the shares would differ several times.
    assert shares[0] == pytest.approx(shares[1], rel=0.1)


def test_long_names_that_differ_at_the_end_differ_in_a_figure():
    rows = np.random.default_rng(0).standard_normal((20, 4))
    names = [f"monthly mean of the surface temperature, {place}" for place in "abcd"]
    pd = pytest.importorskip("pandas")
    model = PCA(2).fit(pd.DataFrame(rows, columns=names))
    labels = [label.get_text() for label in plots.contributions(model).get_yticklabels()]
    assert len(set(labels)) == 4
    assert all(len(label) == 36 for label in labels)


def long_names():
    """A model whose columns and rows have long names, and none of whose axes is stable."""
    pd = pytest.importorskip("pandas")
    names = [f"I AM WITH A FEW EXCEPTIONS SATISFIED WITH MY WORK, QUESTION {i}" for i in range(14)]
    X = pd.DataFrame(np.random.default_rng(1).standard_normal((60, 14)), columns=names)
    ids = [f"Somebody with quite a long name {i}" for i in range(60)]
    return X, PCA(6, scale="unit").fit(X), ids


@pytest.mark.parametrize("count", [2, 3, 6])
@pytest.mark.parametrize("resampled", [False, True])
def test_legends_and_notes_next_to_long_names_lie_inside_the_figure(count, resampled):
    X, model, _ = long_names()
    found = bootstrap(model, X, n=10) if resampled else None
    ax = plots.loadings(model, list(range(1, count + 1)), bootstrap=found)
    assert_inside(ax)
    assert len(ax.get_legend().get_texts()) == count
    assert ax.get_legend().get_texts()[0].get_text() == "PC1 (12.9%, unstable)"


@pytest.mark.parametrize("label", [20, 60])
def test_long_notes_lie_inside_the_figure(label):
    X, model, ids = long_names()
    assert_inside(plots.outliers(model, X, ids=ids, label=label))
    assert_inside(plots.scores(model, X, ids=ids, label=label))


def assert_inside(ax):
    """No text is cut off, and a figure drawn once more has the same layout."""
    ax.figure.draw_without_rendering()
    layout = ax.get_position().bounds
    ax.figure.draw_without_rendering()
    assert ax.get_position().bounds == pytest.approx(layout, abs=0.01)
    legend = ax.get_legend()
    names = (*ax.get_yticklabels(), ax.xaxis.label, ax.yaxis.label, *ax.texts)
    for text in (*names, *(legend.get_texts() if legend else ())):
        if len(text.get_text()) < 8:  # numbers of ticks, some of them beyond the limits
            continue
        box, figure = text.get_window_extent(), ax.figure.bbox
        assert box.x0 >= figure.x0 - 1, text
        assert box.x1 <= figure.x1 + 1, text
        assert box.y1 <= figure.y1 + 1, text
