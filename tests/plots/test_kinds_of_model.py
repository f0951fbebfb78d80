"""Figures of models of other kinds: PCAs of scikit-learn, pipelines, kernel PCAs."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn import decomposition
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures, StandardScaler

from princomp import PCA, KernelPCA, diagnostics, plots, report
from princomp.errors import ColumnError, NotAvailableError, ParameterError, ShapeError


def test_figures_take_a_pca_of_scikit_learn(arrests):
    sklearn_pca, model = decomposition.PCA(2).fit(arrests), PCA(2).fit(arrests)
    heights = [bar.get_height() for bar in plots.scree(sklearn_pca).patches]
    np.testing.assert_allclose(heights, [96.553422, 2.781734], atol=1e-6)
    drawn = np.asarray(plots.scores(sklearn_pca, arrests).collections[0].get_offsets())
    np.testing.assert_allclose(drawn, sklearn_pca.transform(arrests), atol=1e-9)
    drawn = np.asarray(plots.biplot(sklearn_pca, arrests).collections[0].get_offsets())
    np.testing.assert_allclose(drawn, model.transform(arrests), atol=1e-9)
    for figure in (plots.contributions, plots.loadings):
        figure(sklearn_pca)
    plots.pairs(sklearn_pca, arrests)
    with pytest.raises(NotAvailableError, match="variances of the columns"):
        plots.cos2(sklearn_pca)
    plots.cos2(decomposition.PCA().fit(arrests))
    plots.cos2(decomposition.IncrementalPCA(2).fit(arrests))
    with pytest.raises(ParameterError, match="PCA of scikit-learn, got dict"):
        PCA.from_sklearn({})


def test_figures_take_a_pipeline_and_keep_its_names(arrests):
    table = pd.DataFrame(arrests, columns=["Murder", "Assault", "Urban", "Rape"])
    for last in (decomposition.PCA(2), PCA(2)):
        steps = make_pipeline(StandardScaler(), last).fit(table)
        ax = plots.biplot(steps, table, label=0)
        names = {text.get_text() for text in ax.texts if not text.get_gid()} - {""}
        assert names == set(table.columns)
        drawn = np.asarray(ax.collections[0].get_offsets())
        np.testing.assert_allclose(drawn, steps.transform(table), atol=1e-9)
        assert plots.scree(steps).patches[0].get_height() == pytest.approx(62.006, abs=1e-3)


def test_a_pipeline_ignores_other_columns_of_a_frame(arrests):
    table = pd.DataFrame(arrests, columns=["Murder", "Assault", "Urban", "Rape"])
    steps = make_pipeline(StandardScaler(), decomposition.PCA(2)).fit(table)
    wide = table.assign(region=["east", "west"] * 25)
    ax = plots.scores(steps, wide, groups="region")
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["east", "west"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "west" in report(steps, wide.assign(size=1.5), groups="region", metadata=["size"])


@pytest.mark.parametrize("transform", ["default", "pandas"])
@pytest.mark.parametrize("encoded", [False, True])
def test_text_that_a_pipeline_drops_or_replaces_names_groups(arrests, transform, encoded):
    names = ["Murder", "Assault", "Urban", "Rape"]
    table = pd.DataFrame(arrests, columns=names).assign(region=["east", "west"] * 25)
    columns = [(StandardScaler(), names)]
    if encoded:
        columns.append((OneHotEncoder(sparse_output=False), ["region"]))
    steps = make_pipeline(make_column_transformer(*columns), PCA(2))
    steps.set_output(transform=transform).fit(table)
    ax = plots.scores(steps, table, groups="region")
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["east", "west"]
    drawn = np.concatenate([part.get_offsets() for part in ax.collections])
    expected = np.asarray(steps.transform(table))
    np.testing.assert_allclose(np.sort(drawn, axis=0), np.sort(expected, axis=0), atol=1e-9)


def test_a_step_that_returns_a_frame_keeps_other_columns(arrests):
    table = pd.DataFrame(arrests, columns=["Murder", "Assault", "Urban", "Rape"])
    steps = make_pipeline(StandardScaler(), PCA(2)).set_output(transform="pandas").fit(table)
    wide = table.assign(region=["east", "west"] * 25)
    ax = plots.scores(steps, wide, groups="region")
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["east", "west"]


def test_the_part_of_a_search_or_a_pipeline_that_is_a_pca_is_named(arrests):
    labels = np.arange(50) % 2
    steps = make_pipeline(StandardScaler(), PCA(2), LogisticRegression())
    search = GridSearchCV(steps, {"pca__n_components": [1, 2]}, cv=2).fit(arrests, labels)
    part = r"give the steps up to its PCA, search\.best_estimator_\[:2\]"
    with pytest.raises(ParameterError, match=part):
        report(search, arrests)
    with pytest.raises(ParameterError, match=r"pipeline\[:2\]"):
        plots.scree(search.best_estimator_)
    with pytest.raises(ParameterError, match=r"pipeline\[:2\]"):
        diagnostics.variables(search.best_estimator_)
    plots.scree(search.best_estimator_[:2])
    with pytest.raises(ParameterError, match=r"give search\.best_estimator_"):
        plots.scree(GridSearchCV(PCA(), {"n_components": [1, 2]}, cv=2).fit(arrests))
    with pytest.raises(ParameterError, match=r"give its PCA, PCA\.from_sklearn\(pipeline\[-1\]\)"):
        diagnostics.variables(make_pipeline(StandardScaler(), decomposition.PCA(2)).fit(arrests))


@pytest.mark.parametrize("figure", ["biplot", "scores", "contributions"])
def test_figures_of_a_model_without_components_are_refused(figure, arrests):
    model = PCA(0).fit(arrests)
    with pytest.raises(ShapeError, match=r"no components are selected[\s\S]*truncated"):
        getattr(model.plot, figure)(*([] if figure == "contributions" else [arrests]))


def test_a_column_with_the_name_of_an_output_of_a_pipeline_is_refused(arrests):
    table = pd.DataFrame(arrests, columns=["Murder", "Assault", "Urban", "Rape"])
    steps = make_pipeline(PolynomialFeatures(2), decomposition.PCA(2)).fit(table)
    with pytest.raises(ColumnError, match="'Murder Rape' of X has the name") as caught:
        plots.scores(steps, table.assign(**{"Murder Rape": 1.0}))
    assert "rename it" in caught.value.hint


def test_a_kernel_pca_has_its_figures(arrests):
    model = KernelPCA(2, kernel="rbf", gamma="median").fit(arrests)
    assert dir(model.plot) == ["pairs", "scores", "scree"]
    assert model.plot.scores(arrests).get_xlabel().startswith("PC1")
    with pytest.raises(AttributeError, match="no figure 'biplot': there are scree, scores"):
        model.plot.biplot  # noqa: B018 - the access is what is tested
