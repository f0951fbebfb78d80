"""RobustPCA in model files and figures: saved models load unchanged or are refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

import princomp
from model_bytes import parse_model_file, tampered
from princomp import PCA, IncrementalPCA, KernelPCA, RobustPCA, plots
from princomp.errors import (
    ModelFileError,
    NotFiniteError,
    OutputExistsError,
    ParameterError,
    ShapeError,
)

FITTED = (
    "components_",
    "explained_variance_",
    "explained_variance_ratio_",
    "total_variance_",
    "loadings_",
    "mean_",
    "scale_",
    "score_distances_",
    "orthogonal_distances_",
    "score_cutoff_",
    "orthogonal_cutoff_",
    "outliers_",
    "n_components_",
    "n_samples_",
    "n_features_in_",
    "n_support_",
    "id_column_",
)


def table(p=5):
    rng = np.random.default_rng(8)
    X = rng.standard_normal((60, p)) * np.r_[10.0, 3.0, np.full(p - 2, 0.3)] + 4
    X[:8, -1] += 60
    return X


MODELS = {
    "plain": lambda: RobustPCA(2).fit(table()),
    "scaled": lambda: RobustPCA(2, scale="mad", support=0.6).fit(table()),
    "given divisors": lambda: RobustPCA(2, scale=np.arange(1.0, 6.0)).fit(table()),
    "names": lambda: RobustPCA(0.9, scale="mad").fit(pd.DataFrame(table(), columns=list("abcde"))),
    "float32": lambda: RobustPCA(np.int64(3), random_state=7).fit(table().astype(np.float32)),
    "all components": lambda: RobustPCA(5, random_state=None).fit(table()),
    "wide": lambda: RobustPCA().fit(table(90)),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_loaded_model_equals_the_saved_one_bitwise(name, tmp_path):
    model = MODELS[name]()
    model.id_column_ = "who"
    model.save(tmp_path / "m.pca")
    other = princomp.load(tmp_path / "m.pca")
    assert type(other) is RobustPCA
    for attribute in FITTED:
        saved, loaded = getattr(model, attribute), getattr(other, attribute)
        np.testing.assert_array_equal(loaded, saved, err_msg=attribute)
        assert getattr(loaded, "dtype", None) == getattr(saved, "dtype", None), attribute
    fitted = {key for key in vars(model) if key.endswith("_")}
    assert {key for key in vars(other) if key.endswith("_")} == fitted
    for parameter, value in model.get_params().items():
        np.testing.assert_array_equal(other.get_params()[parameter], value, err_msg=parameter)
    X = table(model.n_features_in_)
    X = pd.DataFrame(X, columns=list("abcde")) if name == "names" else X
    scores = model.transform(X)
    np.testing.assert_array_equal(other.transform(X), scores)
    np.testing.assert_array_equal(other.inverse_transform(scores), model.inverse_transform(scores))
    np.testing.assert_array_equal(other.outlier_map(X), model.outlier_map(X))
    other.save(tmp_path / "again.pca")
    assert (tmp_path / "again.pca").read_bytes() == (tmp_path / "m.pca").read_bytes()


@pytest.mark.parametrize("name", ["plain", "scaled", "given divisors"])
def test_a_scale_that_changed_since_the_fit_is_not_saved(name, tmp_path):
    for scale in (None, "mad", np.ones(5)):
        model = MODELS[name]().set_params(scale=scale)
        model.save(tmp_path / "m.pca")
        loaded = princomp.load(tmp_path / "m.pca")
        np.testing.assert_array_equal(loaded.scale_, model.scale_)
        assert (loaded.scale is None) == (model.scale_ is None)


def test_invalid_parameters_are_not_saved(tmp_path):
    for model, change in (
        (MODELS["plain"](), {"support": 2}),
        (IncrementalPCA(2).fit(table()), {"batch_size": -5}),
        (KernelPCA(2).fit(table()), {"gamma": -1}),
    ):
        with pytest.raises(ParameterError, match=next(iter(change))):
            model.set_params(**change).save(tmp_path / "m.pca")
    assert list(tmp_path.iterdir()) == []


def test_infinite_distances_can_be_saved_and_loaded(tmp_path):
    model = MODELS["plain"]()
    distances = np.r_[np.inf, model.score_distances_[1:]]
    model._fitted = replace(model._fitted, score_distances=distances)
    model.save(tmp_path / "m.pca")
    assert princomp.load(tmp_path / "m.pca").score_distances_[0] == np.inf


def test_saving_refuses_unfitted_models_and_respects_overwrite(tmp_path):
    with pytest.raises(NotFittedError):
        RobustPCA().save(tmp_path / "m.pca")
    assert list(tmp_path.iterdir()) == []
    MODELS["plain"]().save(tmp_path / "m.pca")
    with pytest.raises(OutputExistsError):
        MODELS["scaled"]().save(tmp_path / "m.pca", overwrite=False)
    MODELS["scaled"]().save(tmp_path / "m.pca")
    assert princomp.load(tmp_path / "m.pca").scale == "mad"


# ---- files of other kinds, and altered ones ------------------------------------------------------


@pytest.fixture(scope="module")
def content(tmp_path_factory):
    path = tmp_path_factory.mktemp("robust") / "m.pca"
    MODELS["scaled"]().save(path)
    return path.read_bytes()


@pytest.fixture
def load(tmp_path):
    def load(content):
        (tmp_path / "m.pca").write_bytes(content)
        return princomp.load(tmp_path / "m.pca")

    return load


def _entries(**entries):
    return lambda arrays, document, metadata: document.update(entries)


def _array(name, change):
    return lambda arrays, document, metadata: arrays.update({name: change(arrays[name].copy())})


def _at(name, place, value):
    def put(array):
        array[place] = value
        return array

    return _array(name, put)


def _without_estimator(arrays, document, metadata):
    del document["estimator"]


def test_older_pca_files_without_estimator_entry_load(tmp_path, load):
    X = table()
    PCA(2).fit(X).save(tmp_path / "m.pca")
    content = (tmp_path / "m.pca").read_bytes()
    assert parse_model_file(content)[2]["estimator"] == "PCA"
    other = load(tampered(content, _without_estimator))
    assert type(other) is PCA
    np.testing.assert_array_equal(other.transform(X), PCA(2).fit(X).transform(X))


def test_unknown_estimators_are_refused_by_name(content, load):
    with pytest.raises(ModelFileError, match="kind 'CosmicPCA'") as caught:
        load(tampered(content, _entries(estimator="CosmicPCA")))
    assert caught.value.hint == "install a newer princomp"
    assert caught.value.place["estimator"] == "CosmicPCA"
    for other in ("PCA", "IncrementalPCA", None, 3, ["RobustPCA"]):
        with pytest.raises(ModelFileError):
            load(tampered(content, _entries(estimator=other)))
    with pytest.raises(ModelFileError):
        load(tampered(content, _without_estimator))


PARAMETERS = {"n_components": 2, "support": 0.6, "n_directions": 250, "random_state": 0}
ENTRIES = {
    "parameters": [
        *(None, {}, "x", PARAMETERS, {**PARAMETERS, "scale": None}, {**PARAMETERS, "scale": 3}),
        {**PARAMETERS, "scale": "unit"},
        {**PARAMETERS, "scale": "mad", "support": 0.1},
        {**PARAMETERS, "scale": "mad", "n_components": {"rule": "cv"}},
    ],
    "columns": [["a"], "abcde", [1, 2, 3, 4, 5]],
    "id_column": [3],
    "rows": [0, 59, 61, 2.0, None],
    "features": [0, 4, "5"],
    "k": [-1, 1, 3, True],
    "support": [0, 61, 1.5],
    "total": [-1, "x", None],
    "score_cutoff": [-1, None, 1e400],
    "orthogonal_cutoff": [-1, None],
    "dtype": ["float16", None],
}


@pytest.mark.parametrize(
    ("entry", "value"), [(w, v) for w, values in ENTRIES.items() for v in values]
)
def test_altered_entries_are_refused(content, load, entry, value):
    with pytest.raises(ModelFileError) as caught:
        load(tampered(content, _entries(**{entry: value})))
    assert caught.value.hint


@pytest.mark.parametrize("entry", ENTRIES)
def test_missing_entries_are_refused(content, load, entry):
    with pytest.raises(ModelFileError):
        load(tampered(content, lambda arrays, document, metadata: document.pop(entry)))


ARRAYS = {
    "no mean": lambda arrays, document, metadata: arrays.pop("mean"),
    "no divisors": lambda arrays, document, metadata: arrays.pop("scale"),
    "one more": lambda arrays, document, metadata: arrays.update(more=np.zeros(2)),
    "a mean that is NaN": _at("mean", 0, np.nan),
    "a distance that is NaN": _at("score_distances", 3, np.nan),
    "an infinite distance off": _at("orthogonal_distances", 3, np.inf),
    "a negative distance": _at("orthogonal_distances", 3, -1.0),
    "a negative variance": _at("variances", 1, -1.0),
    "ascending variances": _array("variances", lambda a: a[::-1]),
    "axes that are too long": _array("axes", lambda a: 1.01 * a),
    "axes of another shape": _array("axes", lambda a: a[:, :3]),
    "a row less": _array("score_distances", lambda a: a[1:]),
    "a divisor of zero": _at("scale", 0, 0.0),
}


@pytest.mark.parametrize("case", ARRAYS)
def test_altered_arrays_are_refused(content, load, case):
    with pytest.raises(ModelFileError):
        load(tampered(content, ARRAYS[case]))


# ---- figures -----------------------------------------------------------------------------------


def figure_text(ax):
    texts = [*ax.texts, *ax.get_legend().get_texts()]
    return " ".join(text.get_text() for text in texts).replace("\n", " ")


def test_outlier_map_shows_distances_and_cutoffs():
    X = table()
    model = RobustPCA(2).fit(X)
    ids = [f"r{i}" for i in range(60)]
    ax = plots.outliers(model, X, ids=ids)
    assert ax.get_xlabel() == "score distance within 2 components"
    assert ax.get_ylabel() == "orthogonal distance from them"
    assert f"score distances, 97.5%: {model.score_cutoff_:.4g}" in figure_text(ax)
    assert f"orthogonal distances, 97.5%: {model.orthogonal_cutoff_:.4g}" in figure_text(ax)
    assert f"{model.outliers_.sum()} of 60 rows are beyond a limit" in figure_text(ax)
    assert {f"r{i}" for i in range(8)} <= {text.get_text() for text in ax.texts}
    drawn = np.concatenate([np.asarray(c.get_offsets()) for c in ax.collections])
    expected = np.column_stack([model.score_distances_, model.orthogonal_distances_])
    np.testing.assert_allclose(drawn[np.lexsort(drawn.T)], expected[np.lexsort(expected.T)])


def test_outliers_of_a_full_model_are_drawn_by_row():
    X = table()
    ax = plots.outliers(RobustPCA(5).fit(X), X)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("row", "score distance within all 5 components")


def test_figures_and_options_unfit_for_robust_models_are_refused():
    X = table()
    model = RobustPCA(2).fit(X)
    for change in ({"level": 0.99}, {"training": True}):
        with pytest.raises(ParameterError, match="RobustPCA"):
            plots.outliers(model, X, **change)
    with pytest.raises(ShapeError):
        plots.outliers(model, X[:, :3])
    X[7, 2] = np.nan
    with pytest.raises(NotFiniteError, match=r"row 7, column 2"):
        plots.outliers(model, X)
    with pytest.raises(ParameterError, match="RobustPCA"):
        plots.scree(model)
    with pytest.raises(NotFittedError):
        plots.outliers(RobustPCA(), X)
