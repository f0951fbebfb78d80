"""Subclasses of users: what works with parameters of their own, and what a file cannot keep."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn import decomposition

from princomp import PCA, IncrementalPCA, KernelPCA, RobustPCA, load

X = np.random.default_rng(0).standard_normal((30, 4)) * [1, 2, 3, 4]


class Scaled(PCA):
    """Multiplies its scores."""

    def __init__(self, n_components=2, factor=1):
        super().__init__(n_components)
        self.factor = factor

    def transform(self, X):
        return super().transform(X) * self.factor


def test_saving_a_subclass_warns(tmp_path):
    path, model = tmp_path / "m.pca", Scaled(2, 5).fit(X)
    with pytest.warns(UserWarning, match="Scaled is saved as PCA: .* joblib keep") as caught:
        model.save(path)
    assert caught[0].filename == __file__
    assert type(load(path)) is PCA
    np.testing.assert_array_equal(5 * load(path).transform(X), model.transform(X))
    kept = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(kept.transform(X), model.transform(X))


@pytest.mark.parametrize("kind", [PCA, IncrementalPCA, RobustPCA, KernelPCA])
def test_saving_warns_of_subclasses_only(kind, tmp_path):
    kind(2).fit(X).save(tmp_path / "m.pca")  # without a warning
    own = type("Own", (kind,), {"__init__": kind.__init__})
    with pytest.warns(UserWarning, match=f"Own is saved as {kind.__name__}: "):
        own(2).fit(X).save(tmp_path / "m.pca")
    assert type(load(tmp_path / "m.pca")) is kind


def test_derived_models_of_a_subclass():
    model, plain = Scaled(2, 5).fit(X), PCA(2).fit(X)
    for derived, expected in (
        (model.rescaled("unit"), plain.rescaled("unit")),
        (model.truncated(1), plain.truncated(1)),
        (model.rescaled("unit").truncated(1), plain.rescaled("unit").truncated(1)),
    ):
        assert type(derived) is Scaled
        assert derived.factor == 5
        np.testing.assert_array_equal(derived.transform(X), 5 * expected.transform(X))
    assert model.scale is None


class FactorFirst(Scaled):
    """Its first parameter is not the number of components."""

    def __init__(self, factor=1, n_components=2):
        super().__init__(n_components, factor)


def test_from_sklearn_gives_the_number_of_components_by_name():
    model = FactorFirst.from_sklearn(decomposition.PCA(3).fit(X))
    assert model.n_components == 3
    assert model.factor == 1


@pytest.mark.parametrize("whiten", [False, True])
def test_from_sklearn_of_a_subclass(whiten):
    theirs = decomposition.PCA(2, whiten=whiten).fit(X)
    model = Scaled.from_sklearn(theirs)
    assert type(model) is Scaled
    np.testing.assert_allclose(model.transform(X), theirs.transform(X), atol=1e-12)
