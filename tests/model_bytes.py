"""Models of every kind, and model files altered so that their format stays valid."""

from __future__ import annotations

import hashlib
import json

import numpy as np
import pandas as pd
import polars as pl
import safetensors.numpy
import scipy.sparse as sp
from numpy.testing import assert_array_equal

from princomp import PCA
from princomp.errors import NotAvailableError
from princomp.summaries import Moments

_RNG = np.random.default_rng(11)
TALL = _RNG.standard_normal((120, 6)) * np.linspace(3, 0.5, 6) + np.arange(6)
WIDE = _RNG.standard_normal((12, 40)) + 5
SPARSE = sp.random_array((60, 30), density=0.2, random_state=np.random.default_rng(5), format="csr")
WITH_NAN = np.where(_RNG.random(TALL.shape) < 0.05, np.nan, TALL)
NAMES = ["a", "b c", "d,e", 'f"g', "ü", "sha256"]
_COVARIANCE = np.cov(TALL.T)


def _pca(X, k=None, *, weights=None, **parameters):
    return lambda: (PCA(k, **parameters).fit(X, sample_weight=weights), X)


# Functions that give a model and rows to apply it to, by what is special about the model.
MODELS = {
    "moments": _pca(TALL, 3),
    "all components": _pca(TALL),
    "triangle": _pca(TALL, 3, svd_solver="full"),
    "wide triangle": _pca(WIDE),
    "row gram": _pca(WIDE, 4, svd_solver="row_gram"),
    "arpack": _pca(TALL, 2, svd_solver="arpack"),
    "lanczos": _pca(WIDE, 3, svd_solver="lanczos", tol=1e-6),
    "randomized": _pca(TALL, 2, svd_solver="randomized", random_state=0),
    "unit scale": _pca(TALL, 2, scale="unit"),
    "pareto scale": _pca(TALL, 2, scale="pareto", svd_solver="full"),
    "range": _pca(TALL, 2, scale="range"),
    "given scale": _pca(TALL, 2, scale=np.arange(1.0, 7.0)),
    "list of divisors": _pca(TALL, 2, scale=[1, 2, 3, 4, 5, 6]),
    "uncentred": _pca(TALL, 3, center=False),
    "whitened": _pca(TALL, 3, whiten=True),
    "float32": _pca(TALL.astype(np.float32), 3),
    "float32 that fell back": _pca((TALL + 1e3).astype(np.float32) * [1, 1, 1, 1, 1, 1e-4]),
    "no component": _pca(TALL, 0),
    "fraction": _pca(TALL, 0.9),
    "numpy's numbers": _pca(TALL, np.int64(2), tol=np.float32(0), whiten=np.bool_(True)),
    "mle": _pca(TALL, "mle"),
    "weights": _pca(TALL, weights=np.linspace(0, 3, len(TALL))),
    "zeros": _pca(np.zeros((9, 3))),
    "two rows": _pca(TALL[:2]),
    "one column": _pca(TALL[:, :1]),
    "dropped": _pca(WITH_NAN, 2, missing="drop"),
    "sparse": _pca(SPARSE, 4),
    "sparse rows": _pca(SPARSE, 4, svd_solver="arpack", scale="unit"),
    "pandas": _pca(pd.DataFrame(TALL, columns=NAMES), 2),
    "polars": _pca(pl.DataFrame(TALL, schema=NAMES), 2),
    "generator": _pca(TALL, 2, svd_solver="randomized", random_state=np.random.RandomState(1)),
    "covariance": lambda: (PCA.from_covariance(_COVARIANCE, mean=1.0, n_samples=120), TALL),
    "bare covariance": lambda: (PCA.from_covariance(_COVARIANCE, feature_names=NAMES), TALL),
    "summary": lambda: (PCA.from_summary(Moments.of(TALL), n_components=2), TALL),
    "uncentred summary": lambda: (
        PCA.from_summary(Moments.of(WIDE).about_origin(), n_components=11, center=False),
        WIDE,
    ),
    "rescaled": lambda: (PCA(3).fit(TALL).rescaled("unit"), TALL),
    "truncated": lambda: (PCA().fit(TALL).truncated(2), TALL),
}

_ATTRIBUTES = [
    "components_",
    "explained_variance_",
    "explained_variance_ratio_",
    "contribution_rate_",
    "accumulated_rate_",
    "singular_values_",
    "loadings_",
    "mean_",
    "var_",
    "scale_",
    "total_variance_",
    "noise_variance_",
    "n_components_",
    "n_samples_",
    "n_dropped_",
    "n_features_in_",
    "feature_names_in_",
]


def _or_error(call):
    try:
        return call()
    except (NotAvailableError, AttributeError) as error:
        return type(error).__name__


def assert_same_model(model, other, X):
    """Assert that two models give bitwise equal results."""
    for name in _ATTRIBUTES:
        value = _or_error(lambda name=name: getattr(model, name))
        other_value = _or_error(lambda name=name: getattr(other, name))
        assert_array_equal(other_value, value, err_msg=name)
        assert getattr(value, "dtype", None) == getattr(other_value, "dtype", None), name
    assert other.plan_ == model.plan_
    assert str(other.certificate_) == str(model.certificate_)
    assert other.certificate_.to_dict() == model.certificate_.to_dict()
    assert_array_equal(other.get_covariance(), model.get_covariance())
    assert_array_equal(other.get_precision(), model.get_precision())
    scores = _or_error(lambda: model.transform(X))
    assert_array_equal(_or_error(lambda: other.transform(X)), scores)
    if not isinstance(scores, str):
        assert_array_equal(other.inverse_transform(scores), model.inverse_transform(scores))
        if model.missing == "error":
            assert_array_equal(other.score_samples(X), model.score_samples(X))


# ---- altered files -----------------------------------------------------------


def with_checksum(content):
    """The bytes of a model file with a corrected checksum."""
    start = content.index(b'"sha256":"') + len(b'"sha256":"')
    zeroed = content[:start] + b"0" * 64 + content[start + 64 :]
    return content[:start] + hashlib.sha256(zeroed).hexdigest().encode() + content[start + 64 :]


def parse_model_file(content):
    """Arrays, metadata and document of a model file."""
    length = int.from_bytes(content[:8], "little")
    metadata = json.loads(content[8 : 8 + length])["__metadata__"]
    return safetensors.numpy.load(content), metadata, json.loads(metadata["document"])


def tampered(content, change):
    """A file altered by ``change(arrays, document, metadata)``, with a valid checksum."""
    arrays, metadata, document = parse_model_file(content)
    change(arrays, document, metadata)
    metadata["document"] = json.dumps(document) if isinstance(document, dict) else document
    contiguous = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    return with_checksum(safetensors.numpy.save(contiguous, metadata))
