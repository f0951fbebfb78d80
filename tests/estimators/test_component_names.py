"""Components are called PC1, PC2, … everywhere, and as scikit-learn names them on request."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import princomp
from princomp import PCA, IncrementalPCA, KernelPCA, RobustPCA
from princomp.errors import ColumnError, ParameterError

ESTIMATORS = [PCA, IncrementalPCA, KernelPCA, RobustPCA]


@pytest.fixture
def frame(rng):
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame(rng.standard_normal((30, 4)), columns=list("abcd"))


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_names_of_components(kind, frame, tmp_path):
    model = kind(2).set_output(transform="pandas").fit(frame)
    assert list(model.get_feature_names_out()) == ["PC1", "PC2"]
    assert list(model.transform(frame).columns) == ["PC1", "PC2"]
    with pytest.raises(ValueError, match="input_features"):
        model.get_feature_names_out(["e", "f", "g", "h"])

    sklearn_named = clone(model).set_params(component_names="sklearn")
    names = [f"{kind.__name__.lower()}{i}" for i in range(2)]
    assert list(sklearn_named.fit_transform(frame).columns) == names
    sklearn_named.save(tmp_path / "model")
    assert list(princomp.load(tmp_path / "model").get_feature_names_out()) == names

    with pytest.raises(ParameterError, match="component_names"):
        kind(2, component_names="pca").fit(frame)


@pytest.mark.parametrize("names", ["PC", "sklearn"])
@pytest.mark.parametrize("kind", ESTIMATORS)
def test_scores_whose_components_are_not_in_order_are_refused(kind, names, frame):
    options = {"fit_inverse_transform": True} if kind is KernelPCA else {}
    model = kind(2, component_names=names, **options).fit(frame).set_output(transform="pandas")
    scores = model.transform(frame)
    rows = model.inverse_transform(scores)
    np.testing.assert_array_equal(rows, model.inverse_transform(scores.to_numpy()))
    with pytest.warns(UserWarning, match=r"names of the scores, b, a, are not those of the comp"):
        renamed = model.inverse_transform(scores.set_axis(["b", "a"], axis=1))
    np.testing.assert_array_equal(rows, renamed)
    with pytest.raises(ColumnError, match="components are not in order: "):
        model.inverse_transform(scores.iloc[:, ::-1])


@pytest.mark.parametrize("first", ["PC1", "PC01", "pca0", "kernelpca0", "Comp.1", "column_0", "x0"])
def test_scores_with_numbered_names_are_taken_in_their_order(first, frame):
    text, start = first.rstrip("01"), int(first[-1])
    width = len(first) - len(text)
    names = [f"{text}{i + start:0{width}}" for i in range(3)]
    model = PCA(3).fit(frame)
    scores = model.transform(frame)
    rows = model.inverse_transform(type(frame)(scores, columns=names))
    np.testing.assert_array_equal(rows, model.inverse_transform(scores))


@pytest.mark.parametrize(
    "names",
    [
        *(["PC2", "PC3"], ["PC1", "PC3"], ["slope", "level"], ["PC1", "x2"]),
        *(["PC1", "2"], ["1", "PC2"]),
    ],
)
def test_other_names_of_scores_raise_a_warning(names, frame):
    model = PCA(2).fit(frame)
    with pytest.warns(UserWarning, match=r"in the order of model\.get_feature_names_out\(\)"):
        model.inverse_transform(type(frame)(np.eye(2), columns=names))


def test_names_in_pipelines(frame):
    pipeline = make_pipeline(StandardScaler(), PCA(2)).fit(frame)
    assert list(pipeline.get_feature_names_out()) == ["PC1", "PC2"]
    columns = make_column_transformer((PCA(1), ["a", "b"]), (KernelPCA(1), ["c", "d"]))
    columns.set_output(transform="pandas")
    scores = columns.fit_transform(frame)
    assert list(scores.columns) == ["pca__PC1", "kernelpca__PC1"]
    np.testing.assert_array_equal(scores["pca__PC1"], PCA(1).fit_transform(frame[["a", "b"]])[:, 0])


@pytest.mark.filterwarnings("ignore:both fits have the same")
def test_derived_models_keep_the_option(frame):
    model = PCA(3, component_names="sklearn").fit(frame)
    for other in (model.truncated(1), model.rescaled("unit"), model.merge(model)):
        assert other.get_feature_names_out()[0] == "pca0"
