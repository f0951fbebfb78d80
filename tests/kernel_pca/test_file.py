"""KernelPCA in model files: a saved model loads bit for bit, or the file is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal
from sklearn.exceptions import NotFittedError

import princomp
from command_line import files_in
from model_bytes import parse_model_file, tampered
from princomp import PCA, KernelPCA
from princomp.errors import ModelFileError, NotAvailableError, OutputExistsError, ParameterError

_RNG = np.random.default_rng(4)
ROWS = np.abs(_RNG.standard_normal((80, 5)) * np.linspace(2, 0.5, 5) + 3.0)
NEW = np.abs(_RNG.standard_normal((30, 5)) + 3.0)
SPARSE = sp.random_array((60, 12), density=0.3, rng=np.random.default_rng(5), format="csr")
WITH_MISSING = np.where(_RNG.random(ROWS.shape) < 0.04, np.nan, ROWS)
_RBF = {"kernel": "rbf", "gamma": 0.05}
_NYSTROM = {**_RBF, "approximation": "nystrom", "n_landmarks": 20}
_FEATURES = {"approximation": "features", "n_landmarks": 40}


def _model(X=ROWS, k=3, *, weights=None, **parameters):
    return lambda: (KernelPCA(k, **parameters).fit(X, sample_weight=weights), X)


def _in_parts():
    model = KernelPCA(2, **_NYSTROM)
    for part in (ROWS[:50], ROWS[50:57], ROWS[57:]):
        model.partial_fit(part)
    return model, ROWS


# A model and rows like those of its fit, by what is special about the model.
MODELS = {
    **{
        kernel: _model(kernel=kernel, gamma=0.05, degree=2)
        for kernel in ("linear", "poly", "polynomial", "cosine", "laplacian", "chi2")
    },
    "sigmoid": _model(kernel="sigmoid", gamma=1e-3, coef0=-0.5),
    "additive chi2": _model(kernel="additive_chi2"),
    "rbf": _model(kernel="rbf"),
    "median": _model(kernel="rbf", gamma="median"),
    "float32": _model(ROWS.astype(np.float32), kernel="poly", gamma=0.1),
    "columns first": _model(np.asfortranarray(ROWS), kernel="poly", gamma=0.1),
    "gaps": _model(ROWS.repeat(2, axis=1)[:, ::2], kernel="cosine"),
    "sparse": _model(SPARSE, **_RBF),
    "sparse float32": _model(SPARSE.astype(np.float32), kernel="linear"),
    "weights": _model(weights=np.arange(80) % 3, **_RBF),
    "all components": _model(k=None, **_RBF),
    "a share": _model(k=0.7, **_RBF),
    "no zeros": _model(k=20, kernel="linear", remove_zero_eig=True),
    "lanczos": _model(kernel="rbf", eigen_solver="arpack", tol=1e-6),
    "numpy's numbers": _model(k=np.int64(2), kernel="poly", gamma=np.float32(0.5), n_jobs=1),
    "generator": _model(random_state=np.random.RandomState(1), **_NYSTROM),
    "pandas": _model(pd.DataFrame(ROWS, columns=list("abcde")), **_RBF),
    "dropped": _model(WITH_MISSING, missing="drop", **_RBF),
    "em": _model(WITH_MISSING, missing="em", **_RBF),
    "nipals": _model(WITH_MISSING, missing="nipals", **_NYSTROM),
    "precomputed": _model(ROWS @ ROWS.T, kernel="precomputed"),
    "precomputed weights": _model(ROWS @ ROWS.T, kernel="precomputed", weights=np.arange(80) % 3),
    "precomputed with gamma": _model(ROWS @ ROWS.T, kernel="precomputed", gamma=0.5),
    "nystrom": _model(**_NYSTROM),
    "all of nystrom": _model(k=None, scale="unit", **_NYSTROM),
    "auto": _model(**{**_NYSTROM, "n_landmarks": "auto"}),
    "given landmarks": _model(landmarks=ROWS[:20].astype(np.float32), **_NYSTROM),
    "nystrom float32": _model(ROWS.astype(np.float32), **_NYSTROM),
    "nystrom sparse": _model(SPARSE, **_NYSTROM),
    "nystrom weights": _model(weights=np.arange(80) % 3, **_NYSTROM),
    "nystrom dropped": _model(WITH_MISSING, missing="drop", **_NYSTROM),
    "in parts": _in_parts,
    "fourier": _model(**_RBF, **_FEATURES),
    "laplacian waves": _model(kernel="laplacian", gamma=0.05, **_FEATURES),
    "tensor sketch": _model(kernel="poly", degree=2, **_FEATURES),
    "ridge": _model(pre_image="ridge", alpha=0.1, **_RBF),
    "ridge float32": _model(ROWS.astype(np.float32), fit_inverse_transform=True, **_RBF),
    "ridge of landmarks": _model(pre_image="ridge", **_NYSTROM),
    "linear back": _model(pre_image="ridge"),
    "fixed point": _model(pre_image="fixed_point", n_neighbors=4, **_RBF),
    "distance": _model(pre_image="distance", kernel="poly", gamma=0.1),
    "distance of landmarks": _model(pre_image="distance", **_NYSTROM),
}
_ATTRIBUTES = (
    *("eigenvalues_", "eigenvectors_", "explained_variance_", "explained_variance_ratio_"),
    *("accumulated_rate_", "total_variance_", "gamma_", "X_fit_", "landmarks_", "dual_coef_"),
    *("approximation_error_", "X_transformed_fit_", "plan_", "n_components_", "n_samples_"),
    *("n_dropped_", "n_features_in_", "feature_names_in_", "id_column_"),
)


def _value_or_error(ask):
    try:
        return ask()
    except (NotAvailableError, AttributeError, NotFittedError) as error:
        return type(error).__name__


def _dense(value):
    return value.toarray() if sp.issparse(value) else value


def saved_and_loaded(model, folder):
    model.save(folder / "m.pca")
    return princomp.load(folder / "m.pca")


def assert_same_model(model, other, X):
    """Assert that all attributes and results are bitwise equal."""
    for name in _ATTRIBUTES:
        if name == "X_fit_" and model.kernel == "precomputed":
            continue
        saved = _value_or_error(lambda name=name: getattr(model, name))
        loaded = _value_or_error(lambda name=name: getattr(other, name))
        assert_array_equal(_dense(loaded), _dense(saved), err_msg=name)
        assert getattr(saved, "dtype", None) == getattr(loaded, "dtype", None), name
    assert str(other.certificate_) == str(model.certificate_)
    assert other.certificate_.to_dict() == model.certificate_.to_dict()
    scores = model.transform(X)
    assert_array_equal(other.transform(X), scores)
    assert other.transform(X).dtype == scores.dtype
    if model.kernel != "precomputed":
        assert other.score(X) == model.score(X)
    if model.pre_image or model.fit_inverse_transform:
        assert_array_equal(other.inverse_transform(scores), model.inverse_transform(scores))


@pytest.mark.parametrize("name", MODELS)
def test_a_loaded_model_equals_the_saved_one_bitwise(name, tmp_path):
    model, X = MODELS[name]()
    model.id_column_ = "who"
    other = saved_and_loaded(model, tmp_path)
    assert type(other) is KernelPCA
    assert_same_model(model, other, X)
    if X.shape[1] == NEW.shape[1] and name != "pandas":
        assert_array_equal(other.transform(NEW), model.transform(NEW))
    given, kept = model.get_params(), other.get_params()
    if name == "generator":
        given["random_state"] = None  # the state of a generator is not saved
    for parameter, value in given.items():
        assert_array_equal(kept[parameter], value, err_msg=parameter)
    other.save(tmp_path / "again.pca")
    assert (tmp_path / "again.pca").read_bytes() == (tmp_path / "m.pca").read_bytes()
    if name != "generator":  # which gives another seed to each fit
        assert_array_equal(model.fit(X).transform(X), other.fit(X).transform(X))


@pytest.mark.parametrize("name", ["nystrom", "fourier", "tensor sketch", "nystrom sparse"])
def test_loaded_models_update_and_merge_as_before(name, tmp_path):
    model, X = MODELS[name]()
    more, second = X[5:40], MODELS[name]()[0]
    for change in (
        lambda one: one.partial_fit(more),
        lambda one: one.forget(more),
        lambda one: one.merge(second),
        lambda one: one.merge(saved_and_loaded(second, tmp_path)),
    ):
        other = saved_and_loaded(model, tmp_path)
        change(model), change(other)
        assert_array_equal(other.transform(X), model.transform(X))
        assert_array_equal(other.explained_variance_, model.explained_variance_)


def test_pending_rows_are_summed_on_saving(tmp_path):
    model, _ = _in_parts()
    other = saved_and_loaded(model, tmp_path)
    for one in (model, other):
        one.partial_fit(NEW)
    # Sums over other blocks agree up to rounding.
    np.testing.assert_allclose(other.transform(ROWS), model.transform(ROWS), atol=1e-12)
    assert other.n_samples_ == 110


def test_learned_pre_images_are_saved_and_not_relearned(tmp_path, monkeypatch):
    model, _ = MODELS["ridge"]()
    other = saved_and_loaded(model, tmp_path)

    def never(*_, **__):
        raise AssertionError("learned again")

    monkeypatch.setattr("princomp.kernel_pca.scoring.pre_images", never)
    assert_array_equal(other.dual_coef_, model.dual_coef_)
    # pre_image has changed since, so the earlier coefficients are not saved.
    model.set_params(pre_image="distance")
    monkeypatch.undo()
    other = saved_and_loaded(model, tmp_path)
    scores = model.transform(NEW)
    assert_array_equal(other.inverse_transform(scores), model.inverse_transform(scores))
    assert not any(name.startswith("learned") for name in parse_model_file(_bytes(tmp_path))[0])


def _bytes(folder):
    return (folder / "m.pca").read_bytes()


def test_precomputed_kernels_are_not_saved(tmp_path):
    model, X = MODELS["precomputed"]()
    other = saved_and_loaded(model, tmp_path)
    assert not {"points", "X_fit_"} & set(parse_model_file(_bytes(tmp_path))[0])
    assert _bytes(tmp_path).__sizeof__() < X.nbytes
    with pytest.raises(NotAvailableError, match="not in the model's file") as caught:
        other.X_fit_  # noqa: B018
    assert caught.value.hint


def test_models_that_cannot_be_saved_are_refused(tmp_path):
    def alike(x, y):
        return float(x @ y)

    for options in ({}, {"approximation": "nystrom", "n_landmarks": 10}):
        with pytest.raises(ParameterError, match="Python function") as caught:
            KernelPCA(2, kernel=alike, **options).fit(ROWS).save(tmp_path / "m.pca")
        assert "name" in caught.value.hint
    model = KernelPCA(2, **_RBF).fit(ROWS)
    with pytest.raises(ParameterError, match="kernel='poly' is not that of the fit, 'rbf'"):
        model.set_params(kernel="poly").save(tmp_path / "m.pca")
    for changed in ({"n_components": 0}, {"gamma": -1}, {"pre_image": "foo"}):
        with pytest.raises(ParameterError, match=f"{next(iter(changed))}="):
            KernelPCA(2, **_RBF).fit(ROWS).set_params(**changed).save(tmp_path / "m.pca")
    with pytest.raises(NotFittedError):
        KernelPCA().save(tmp_path / "m.pca")
    assert files_in(tmp_path) == []


def test_parameters_that_were_set_after_the_fit_are_saved_for_the_next(tmp_path):
    model = KernelPCA(4, **_RBF).fit(ROWS)
    fitted = model.gamma_
    loaded = saved_and_loaded(model.set_params(gamma=5.0, n_components=2), tmp_path)
    assert (loaded.gamma, loaded.n_components) == (5.0, 2)
    assert (loaded.gamma_, loaded.n_components_) == (fitted, 4)


def test_unused_landmarks_are_not_the_rows_of_the_fit(tmp_path):
    model = saved_and_loaded(KernelPCA(2, landmarks=ROWS[:9], **_RBF).fit(ROWS), tmp_path)
    assert model.landmarks == "uniform"


def test_overwriting_is_refused_when_asked(tmp_path):
    model = KernelPCA(2, **_RBF).fit(ROWS)
    model.save(tmp_path / "m.pca", overwrite=False)
    with pytest.raises(OutputExistsError):
        KernelPCA(3, **_RBF).fit(ROWS).save(tmp_path / "m.pca", overwrite=False)
    KernelPCA(3, **_RBF).fit(ROWS).save(tmp_path / "m.pca")
    assert princomp.load(tmp_path / "m.pca").n_components_ == 3


# ---- altered files -----------------------------------------------------------------------

_PRECOMPUTED = "precomputed weights"
KINDS = ("weights", "sparse", "precomputed", _PRECOMPUTED, "ridge", "em", "nystrom", "fourier")


@pytest.fixture(scope="module")
def contents(tmp_path_factory):
    path = tmp_path_factory.mktemp("kernel") / "m.pca"
    found = {}
    for kind in KINDS:
        MODELS[kind]()[0].save(path)
        found[kind] = path.read_bytes()
    return found


@pytest.fixture
def load(tmp_path):
    def load(content):
        (tmp_path / "m.pca").write_bytes(content)
        return princomp.load(tmp_path / "m.pca")

    return load


def test_changed_or_truncated_bytes_are_detected(contents, load):
    content = contents["nystrom"]
    start = 8 + int.from_bytes(content[:8], "little")
    for place in [*range(0, start, 29), *range(start, len(content), len(content) // 60)]:
        changed = bytearray(content)
        changed[place] ^= 1
        with pytest.raises(ModelFileError):
            load(bytes(changed))
    for i in range(20):
        with pytest.raises(ModelFileError):
            load(content[: len(content) * i // 20])


def _put(where, value):
    """Return a change that sets an entry of the document; slashes separate nested keys."""
    *path, last = where.split("/")

    def alter(arrays, document, metadata):
        for name in path:
            document = document[name]
        document[last] = value

    return alter


def _array(name, change):
    return lambda arrays, document, metadata: arrays.update({name: change(arrays[name].copy())})


def _at(name, place, value):
    def put(array):
        array[place] = value
        return array

    return _array(name, put)


_COMMON_ENTRIES = {
    "columns": ["abcde", [1], ["a"]],
    "id_column": [3],
    "features": [0, -1, 4, "5", None, True],
    "route": ["images and exact", None, []],
    "layout": [None, [], {"weights": "F"}, {"none": ["float32", "C"]}, {"mean": ["f4", "C"]}],
    "learned": [1, None],
    "filler": [3, {}, {"estimator": "RobustPCA"}],
    "fit": [None, {}, []],
    "parameters": [None, {}, {"kernel": "rbf", "landmarks": "uniform", "alpha": -1}],
    "parameters/kernel": ["poly", None, 3, ["rbf"]],
    "parameters/landmarks": [3, None, {"array": False}],
    "parameters/n_components": [0, "many", 1.5],
    "parameters/eigen_solver": ["magic"],
    "estimator": ["PCA", "RobustPCA"],
}


@pytest.mark.parametrize(
    ("entry", "value"), [(w, v) for w, vs in _COMMON_ENTRIES.items() for v in vs]
)
def test_altered_entries_are_refused(contents, load, entry, value):
    for kind in ("weights", "nystrom"):
        with pytest.raises(ModelFileError) as caught:
            load(tampered(contents[kind], _put(entry, value)))
        assert caught.value.hint


_EXACT_ENTRIES = {
    "kernel": ["callable", "precomputed", None],
    "gamma": ["median", -1.0, None],
    "degree": ["3", None],
    "coef0": [None, True],
    "rows": [0, 79, 54, "80"],
    "k": [2, 4, -1, 3.0],
    "divisor": [0, -1, None],
    "mean_square": ["x", None],
    "total": [-1, None],
    "roundoff": [-1, None],
    "dtype": ["float16", None],
    "dropped": [-1, 0.5],
    "bytes_read": [-1, None],
    "complete": [1, None],
    "plan": [None, {}, []],
    "plan/rows": [None, -1],
    "plan/columns": ["x"],
    "plan/kernel": [3],
    "plan/gamma": ["x"],
    "plan/route": ["nystrom"],
    "plan/solver": [None],
    "plan/reasons": ["why", [3]],
    "plan/passes": [-1],
    "plan/memory": [0.5],
}


@pytest.mark.parametrize(
    ("entry", "value"), [(w, v) for w, vs in _EXACT_ENTRIES.items() for v in vs]
)
def test_altered_entries_of_exact_fits_are_refused(contents, load, entry, value):
    with pytest.raises(ModelFileError):
        load(tampered(contents["weights"], _put(f"fit/{entry}", value)))


@pytest.mark.parametrize(
    ("kind", "value"), [(_PRECOMPUTED, 80), (_PRECOMPUTED, 52), ("precomputed", 53)]
)
def test_altered_row_counts_are_refused(contents, load, kind, value):
    with pytest.raises(ModelFileError):
        load(tampered(contents[kind], _put("fit/rows", value)))


_APPROXIMATE_ENTRIES = {
    "map": [None, {}],
    "map/kind": ["magic"],
    "map/kernel": ["poly", "callable"],
    "map/p": [4, 0],
    "map/dtype": ["float32", "float16"],
    "map/gamma": ["median"],
    "images": [None, {}],
    "images/estimator": ["RobustPCA"],
    "images/k": [2, 4],
    "images/rows": [0],
    "images/parameters": [{}],
    "error": ["x", -1],
    "notes": [None, "x", [3]],
}


@pytest.mark.parametrize(
    ("entry", "value"), [(w, v) for w, vs in _APPROXIMATE_ENTRIES.items() for v in vs]
)
def test_altered_entries_of_approximations_are_refused(contents, load, entry, value):
    with pytest.raises(ModelFileError):
        load(tampered(contents["nystrom"], _put(f"fit/{entry}", value)))


@pytest.mark.parametrize("kind", KINDS)
def test_missing_entries_and_arrays_are_refused(contents, load, kind):
    arrays, _, document = parse_model_file(contents[kind])
    entries = [name for name in document if name not in ("princomp", "estimator")]
    for entry in entries:
        with pytest.raises(ModelFileError):
            load(tampered(contents[kind], lambda a, d, m, entry=entry: d.pop(entry)))
    # Files of earlier versions lack these entries.
    for entry in set(document["fit"]) - {"missed", "passes", "nonzero", "changed"}:
        with pytest.raises(ModelFileError):
            load(tampered(contents[kind], lambda a, d, m, entry=entry: d["fit"].pop(entry)))
    # Optional arrays may be absent.
    optional = {"residuals", "roots", "shift", "map.shift", "images.residuals"}
    for name in sorted(set(arrays) - optional):
        with pytest.raises(ModelFileError):
            load(tampered(contents[kind], lambda a, d, m, name=name: a.pop(name)))
    for name in ("more", "images.more", "map.more", "filler.more", "learned.more", "points.more"):
        with pytest.raises(ModelFileError):
            load(tampered(contents[kind], lambda a, d, m, n=name: a.update({n: np.zeros(2)})))


ARRAYS = {
    "NaN": ("weights", _at("weights", (0, 0), np.nan)),
    "an infinite mean": ("weights", _at("mean", 0, np.inf)),
    "a negative variance": ("weights", _at("variances", -1, -1.0)),
    "ascending variances": ("weights", _array("variances", lambda a: a[::-1])),
    "eigenvectors that are too long": ("weights", _array("axes", lambda a: (1 + 2e-6) * a)),
    "fewer eigenvectors": ("weights", _array("axes", lambda a: a[:2])),
    "weights of another shape": ("weights", _array("weights", lambda a: a.T)),
    "a row less": ("weights", _array("points", lambda a: a[1:])),
    "a column less": ("weights", _array("points", lambda a: a[:, 1:])),
    "a negative root": ("weights", _at("roots", 0, -1.0)),
    "a short shift": ("weights", _array("shift", lambda a: a[1:])),
    "a negative residual": ("weights", _at("residuals", 0, -1.0)),
    "an index beyond": ("sparse", _at("points.indices", 0, 12.0)),
    "an index below": ("sparse", _at("points.indices", 0, -1.0)),
    "half an index": ("sparse", _at("points.indices", 0, 0.5)),
    "a huge index": ("sparse", _at("points.indices", 0, 1e300)),
    "a pointer that falls": ("sparse", _at("points.indptr", 1, 1e3)),
    "a pointer less": ("sparse", _array("points.indptr", lambda a: a[1:])),
    "a value less": ("sparse", _array("points.data", lambda a: a[1:])),
    "rows of a matrix": ("precomputed", lambda a, d, m: a.update(points=ROWS)),
    "coefficients of others": ("ridge", _array("learned.coefficients", lambda a: a[1:])),
    "scores of fewer": ("ridge", _array("learned.scores", lambda a: a[:, :2])),
    "scores of no shape": ("ridge", _array("learned.scores", lambda a: a[0, 0])),
    "a filler of other columns": ("em", _array("filler.mean", lambda a: a[1:])),
    "images of others": ("nystrom", _array("images.mean", lambda a: a[1:])),
    "axes of images": ("nystrom", _array("images.axes", lambda a: 1.01 * a)),
    "landmarks of others": ("nystrom", _array("map.points", lambda a: a[:, 1:])),
    "weights of landmarks": ("nystrom", _array("map.weights", lambda a: a[1:])),
    "a narrower map": ("nystrom", _array("map.weights", lambda a: a[:, 1:])),
    "a map of more waves": ("fourier", _put("fit/map/count", 30)),
    "a map of no waves": ("fourier", _put("fit/map/count", 0)),
}


@pytest.mark.parametrize("case", ARRAYS)
def test_altered_arrays_are_refused(contents, load, case):
    kind, change = ARRAYS[case]
    with pytest.raises(ModelFileError) as caught:
        load(tampered(contents[kind], change))
    assert caught.value.hint


def test_inconsistent_pre_images_and_fillers_are_refused(contents, load, tmp_path):
    with pytest.raises(ModelFileError, match="it holds arrays"):
        load(tampered(contents["ridge"], _put("learned", False)))
    PCA(2, missing="em").fit(WITH_MISSING[:, :4]).save(tmp_path / "f.pca")
    arrays, _, document = parse_model_file((tmp_path / "f.pca").read_bytes())

    def other(a, d, m):
        for name in [name for name in a if name.startswith("filler.")]:
            del a[name]
        a.update({f"filler.{name}": array for name, array in arrays.items()})
        d["filler"] = document

    with pytest.raises(ModelFileError, match="does not have"):
        load(tampered(contents["em"], other))


def test_additions_of_newer_minor_versions_are_ignored(contents, load):
    def add(arrays, document, metadata):
        metadata["version"] = "1.9"
        document["more"] = document["fit"]["more"] = document["parameters"]["more"] = [1]

    for kind in KINDS:
        X = MODELS[kind]()[1]
        assert_array_equal(
            load(tampered(contents[kind], add)).transform(X), load(contents[kind]).transform(X)
        )
