"""Figures of models of other kinds: PCAs of scikit-learn, pipelines, kernel PCAs."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn import decomposition
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from princomp import PCA, KernelPCA, plots, report
from princomp.errors import ColumnError, NotAvailableError, ParameterError


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
