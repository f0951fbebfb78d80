"""Invalid or unusual arguments: an error with a hint, or a valid picture."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from sklearn.exceptions import NotFittedError

from command_line import ENVIRONMENT
from princomp import PCA, KernelPCA, bootstrap, plots
from princomp.errors import (
    ColumnError,
    NotFiniteError,
    ParameterError,
    ShapeError,
)


def refused(kind, call, *words):
    with pytest.raises(kind) as caught:
        call()
    error = caught.value
    assert error.hint, "no hint"
    for word in words:
        assert word in str(error)
    return error


@pytest.fixture(scope="module")
def one_component(arrests):
    return PCA(1, scale="unit").fit(arrests)


def test_unknown_components_are_refused(arrests, unit):
    for call in (
        lambda: plots.scores(unit, arrests, 1, 7),
        lambda: plots.biplot(unit, arrests, "PC7"),
        lambda: plots.circle(unit, 7),
        lambda: plots.contributions(unit, 7),
        lambda: plots.cos2(unit, [1, 7]),
        lambda: plots.loadings(unit, 7),
        lambda: plots.pairs(unit, arrests, [7]),
        lambda: plots.metadata(unit, arrests, {"a": arrests[:, 0]}, components=7),
    ):
        refused(ParameterError, call, "7", "PC1 to PC2")
    refused(ParameterError, lambda: plots.scores(unit, arrests, "PC2"), "same component", "y=1")
    refused(ParameterError, lambda: plots.contributions(unit, [1, 2]), "one component")


def test_one_component_has_no_plane_but_other_pictures(arrests, one_component):
    for call in (
        lambda: plots.scores(one_component, arrests),
        lambda: plots.biplot(one_component, arrests),
        lambda: plots.circle(one_component),
    ):
        refused(ShapeError, call, "keeps 1", "pairs()")
    assert plots.pairs(one_component, arrests).shape == (1, 1)
    assert len(plots.scree(one_component).patches) == 4
    plots.contributions(one_component)
    plots.cos2(one_component)
    plots.loadings(one_component)
    plots.outliers(one_component, arrests)


def test_one_variable_has_pictures():
    X = np.random.default_rng(0).standard_normal((30, 1))
    model = PCA(scale="unit").fit(X)
    assert [bar.get_height() for bar in plots.scree(model).patches] == [100.0]
    assert plots.contributions(model).patches[0].get_width() == pytest.approx(100.0)
    assert plots.outliers(model, X).get_ylabel() == "T² within 1 component"
    plots.cos2(model)
    plots.pairs(model, X)
    plots.metadata(model, X, {"a": X[:, 0]})


def test_a_circle_of_another_scale_is_refused(arrests):
    for model in (PCA(2).fit(arrests), PCA(2, scale="pareto").fit(arrests)):
        refused(
            ParameterError, lambda model=model: plots.circle(model), "scale=", "rescaled('unit')"
        )
    uncentred = PCA(2, scale="unit", center=False).fit(arrests)
    refused(ParameterError, lambda: plots.circle(uncentred), "center=False")
    plots.circle(PCA(2).fit(arrests).rescaled("unit"))


def test_invalid_groups_are_refused(arrests, unit):
    def draw(groups):
        return lambda: plots.scores(unit, arrests, groups=groups)

    refused(ParameterError, draw("State"), "no named columns")
    refused(ShapeError, draw(["a"] * 49), "49", "50 rows")
    refused(ShapeError, draw([None] * 50), "no row has a group")
    refused(ParameterError, draw(list(map(str, range(50)))), "50 groups")
    refused(ParameterError, draw(np.random.default_rng(0).random(50)), "50 groups", "metadata()")
    measured = np.random.default_rng(0).random(50).round(1)
    assert len(np.unique(measured)) < 25
    plots.scores(unit, arrests, groups=measured)  # such as doses
    measured[:20] = np.arange(20) / 7
    for groups in (measured, list(map(str, measured))):
        refused(ParameterError, draw(groups), "different numbers in 50 rows, not", "metadata()")
    refused(ShapeError, draw({"a": ["x"] * 50, "b": ["y"] * 50}), "2 columns")
    repeated = pd.DataFrame(arrests, columns=["a", "b", "b", "c"])
    refused(ColumnError, lambda: plots.scores(unit, repeated, groups="b"), "not unique")
    ax = plots.scores(unit, arrests, groups=np.arange(50) % 3)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["0", "1", "2"]
    ax = plots.scores(unit, arrests, groups=["_a", "$b$"] * 25)
    assert len(ax.get_legend().get_texts()) == 2


def test_invalid_options_are_refused(arrests, unit):
    refused(ParameterError, lambda: plots.scores(unit, arrests, ellipses="round"), "'rows'")
    refused(ParameterError, lambda: plots.scores(unit, arrests, level=95), "level")
    refused(ParameterError, lambda: plots.outliers(unit, arrests, level=1.0), "level")
    refused(ParameterError, lambda: plots.scores(unit, arrests, label=-1), "label")
    refused(ParameterError, lambda: plots.scores(unit, arrests, label=True), "label")
    refused(ColumnError, lambda: plots.scores(unit, arrests, label=["Texas"]), "Texas")
    refused(ParameterError, lambda: plots.biplot(unit, arrests, top=0), "top")
    refused(ParameterError, lambda: plots.biplot(unit, arrests, factor=-1.0), "factor")
    refused(ParameterError, lambda: plots.scree(unit, most=0), "most")
    refused(ParameterError, lambda: plots.scree(unit, null="parallel"), "null")
    refused(ParameterError, lambda: plots.scree(unit, null=[np.nan]), "null")
    refused(ParameterError, lambda: plots.scree(unit, null=[np.inf]), "null")
    refused(ParameterError, lambda: plots.scree(unit, decision="parallel"), "choose(model)")
    refused(ParameterError, lambda: plots.scree(unit, ax=Figure()), "Axes")
    refused(ParameterError, lambda: plots.scree(unit, ax=Figure().subplots(), dark=True), "dark")
    refused(
        ParameterError, lambda: plots.pairs(unit, arrests, figure=Figure().subplots()), "Figure"
    )
    refused(ParameterError, lambda: plots.pairs(unit, arrests, figure=Figure(), dark=True), "dark")
    refused(ParameterError, lambda: plots.loadings(unit, bootstrap=3), "bootstrap")


def test_every_figure_refuses_a_bootstrap_of_another_model(arrests, unit):
    other = bootstrap(PCA(3).fit(arrests), arrests, n=5)
    for found, words in ((other, "another model"), (200, "got 200")):
        refused(ParameterError, lambda found=found: plots.scree(unit, bootstrap=found), words)
        refused(ParameterError, lambda found=found: plots.cos2(unit, bootstrap=found), words)
        refused(ParameterError, lambda found=found: plots.loadings(unit, bootstrap=found), words)
        refused(
            ParameterError, lambda found=found: plots.scores(unit, arrests, bootstrap=found), words
        )
    kernel = KernelPCA(2).fit(arrests)
    refused(ParameterError, lambda: plots.scree(kernel, bootstrap=other), "kernel PCA")


def test_figures_of_rows_need_rows(arrests, unit):
    refused(ParameterError, lambda: unit.plot.scores(), "scores needs rows")
    refused(ParameterError, lambda: plots.metadata(unit, data={"a": [1]}), "metadata needs rows")


def test_numbers_of_numpy_and_equal_scores_are_drawn(arrests, unit):
    plots.biplot(unit, arrests, factor=np.int64(2), label=np.array(3))
    nearly = (
        np.tile(arrests[:1], (50, 1)) * (1 + np.finfo(float).eps * (np.arange(50) % 3))[:, None]
    )
    assert plots.pairs(unit, nearly).shape == (2, 2)


def test_rows_that_cannot_be_drawn_are_refused(arrests, unit):
    X = arrests.copy()
    X[3, 1] = np.nan
    refused(NotFiniteError, lambda: plots.scores(unit, X), "row 3, column 1")
    refused(NotFiniteError, lambda: plots.outliers(unit, X), "row 3, column 1")
    refused(ShapeError, lambda: plots.scores(unit, arrests[:, :3]), "3")
    dropped = PCA(2, scale="unit", missing="drop").fit(arrests)
    refused(ShapeError, lambda: plots.scores(dropped, X[3:4]), "none of the 1 rows has scores")
    refused(ShapeError, lambda: plots.outliers(dropped, X[3:4]), "none of the 1 rows has scores")


def test_invalid_models_are_refused(arrests):
    refused(ParameterError, lambda: plots.scree("model.pca"), "princomp.load")
    with pytest.raises(NotFittedError):
        plots.scree(PCA())
    refused(ShapeError, lambda: plots.scree(PCA().fit(np.ones((5, 2)))), "no variance")


def test_a_constant_column_has_no_cos2_and_no_arrow(arrests):
    X = np.column_stack([arrests, np.ones(50)])
    texts = [text.get_text() for text in plots.cos2(PCA(2).fit(X)).texts]
    assert "–" in texts
    assert "constant" in texts[-1]


def test_the_accessor_lists_its_figures(unit):
    assert "scree" in dir(unit.plot)
    assert "scree" in dir(copy.copy(unit.plot))
    assert "scree" in dir(pickle.loads(pickle.dumps(unit.plot)))
    assert unit.plot.scores.__doc__ == plots.scores.__doc__
    with pytest.raises(AttributeError, match="no figure 'pie': there are scree"):
        unit.plot.pie  # noqa: B018 - the access is what is tested
    with pytest.raises(AttributeError, match="no figure 'scre': Did you mean 'scree'"):
        unit.plot.scre  # noqa: B018


WITHOUT_MATPLOTLIB = """
import sys
sys.modules["matplotlib"] = None
import inspect
import numpy as np
from princomp import PCA, IncrementalPCA, KernelPCA
from princomp.errors import MissingLibraryError
X = np.random.default_rng(0).standard_normal((20, 4))
for model in PCA(2), IncrementalPCA(2), KernelPCA(2):
    assert "plot" in dict(inspect.getmembers(model))
    assert "plot" in dir(model.fit(X)) and "scree" in dir(model.plot)
    assert model._repr_html_() and model._repr_mimebundle_()
    try:
        model.plot.scores(X)
    except MissingLibraryError as error:
        print(error.hint)
"""


def test_only_drawing_needs_matplotlib():
    command = [sys.executable, "-c", WITHOUT_MATPLOTLIB]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == (3 * "pip install 'princomp[plots]'\n", "")


@pytest.mark.parametrize("name", ["scree", "circle", "contributions", "cos2", "loadings"])
def test_rows_that_a_figure_does_not_need_are_ignored_with_a_warning(name, unit, arrests):
    figure = getattr(unit.plot, name)
    for rows in ((arrests,), (pd.DataFrame(arrests),), ("rows.csv",)):
        message = f"{name} needs the model alone: the rows are ignored"
        with pytest.warns(UserWarning, match=message) as caught:
            figure(*rows)
        assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match="the rows are ignored"):
        figure(X=arrests)
    figure()


def test_axes_of_a_subfigure_are_drawn_on(unit, arrests):
    figure = Figure(figsize=(12, 5), layout="constrained")
    left, right = figure.subfigures(1, 2)
    plots.scree(unit, ax=left.subplots())
    ax = plots.biplot(unit, arrests, top=2, ax=right.subplots())
    assert any("arrows: loadings" in text.get_text() for text in ax.texts)
    figure.canvas.draw()
