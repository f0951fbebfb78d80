"""Densities, precisions, whitened scores and T² warn of columns that they leave out."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from helpers import EPS
from princomp import PCA, IncrementalPCA, load
from princomp.core import fitted_model
from princomp.diagnostics import contributions, distances, limits

UNRESOLVED = "leave out columns? .*below the resolution"
SOLVERS = ["auto", "covariance_eigh", "full"]


@pytest.fixture
def frame():
    """Times in seconds, a small number and one of order 1: variances of 7e13, 8e-8 and 1."""
    rng = np.random.default_rng(0)
    times, small = 1.7e9 + rng.random(500) * 3e7, rng.random(500) * 1e-3 + 0.5
    return pd.DataFrame({"time": times, "small": small, "usual": rng.standard_normal(500)})


USES = {
    "densities": lambda model, rows: model.score_samples(rows),
    "entries of the precision": lambda model, rows: model.get_precision(),
    "whitened scores": lambda model, rows: model.set_params(whiten=True).transform(rows),
    "values of T²": lambda model, rows: distances(model, rows),
}


@pytest.mark.parametrize("use", USES)
def test_the_advice_of_the_warning_works(frame, use, tmp_path):
    model = PCA().partial_fit(frame)
    advice = r"PCA with scale='unit', or with svd_solver='full', keeps them"
    with pytest.warns(UserWarning, match=f"{use} leave out columns 'small', 'usual'.*{advice}"):
        USES[use](model, frame)
    model.save(tmp_path / "model.pca")
    with pytest.warns(UserWarning, match=f"{use} leave out"):
        USES[use](load(tmp_path / "model.pca"), frame)
    for options in ({"scale": "unit"}, {"svd_solver": "full"}):
        USES[use](PCA(**options).partial_fit(frame), frame)
        USES[use](PCA(**options).fit(frame.to_numpy()), frame.to_numpy())


def test_all_statistics_of_t2_warn(frame):
    model = PCA(svd_solver="covariance_eigh").fit(frame.to_numpy())
    for use in (limits, lambda model: contributions(model, frame.to_numpy()[:2])):
        with pytest.warns(UserWarning, match="values of T² leave out columns 1, 2"):
            use(model)


def test_models_without_these_parameters_warn(frame):
    covariance, mean = frame.cov(), frame.mean()
    models = [IncrementalPCA().partial_fit(frame), PCA.from_covariance(covariance, mean=mean)]
    for model in models:
        with pytest.warns(UserWarning, match=UNRESOLVED):
            model.get_precision()
    PCA.from_covariance(covariance, mean=mean, scale="unit").get_precision()


def test_without_centring_unit_scale_needs_it(frame):
    frame = frame[["time", "usual"]]
    model = PCA(center=False).partial_fit(frame)
    with pytest.warns(UserWarning, match="'usual'.*PCA with center=True and scale='unit', or"):
        model.get_precision()
    PCA(center=True, scale="unit").partial_fit(frame).get_precision()
    PCA(center=False, svd_solver="full").partial_fit(frame).get_precision()


def test_no_solver_resolves_variances_below_those_of_rounding(frame):
    X = frame.to_numpy() * [1e12, 1.0, 1.0]
    with pytest.warns(UserWarning, match="columns 1, 2.*PCA with scale='unit' keeps them"):
        PCA(svd_solver="full").fit(X).get_precision()


@pytest.mark.parametrize(
    ("squared", "variance", "advice"),
    [
        (True, 2.0, "scale='unit', or with svd_solver='full', keeps it"),
        (True, 0.5, "scale='unit' keeps it"),
        (False, 2.0, "scale='unit' keeps it"),
    ],
)
def test_a_solver_of_the_rows_is_advised_where_it_would_resolve_the_column(
    squared, variance, advice
):
    """The variance is relative to (p·eps)² of the first one, which such a solver resolves."""
    small = variance * (2 * EPS) ** 2 * 9.0
    covariance = PCA.from_covariance(np.diag([9.0, small]), mean=0, n_samples=50)
    model = fitted_model(covariance)
    spectrum = replace(model.result.spectrum, squared=squared, roundoff=1e-7)
    model = replace(model, result=replace(model.result, spectrum=spectrum))
    message = f"^densities leave out column 1: its variance is below .* A PCA with {advice}$"
    with pytest.warns(UserWarning, match=message):
        model.warn_of_columns_left_out("densities", 2)


def test_a_column_is_left_out_only_by_what_uses_its_components(frame):
    X = frame[["time", "small"]].to_numpy()
    model = PCA(1, whiten=True, svd_solver="covariance_eigh").fit(X)
    model.transform(X)
    with pytest.warns(UserWarning, match="leave out column 1"):
        model.get_precision()


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("k", [None, 2, 6])
def test_dependent_and_constant_columns_are_not_left_out(solver, dtype, k):
    X = np.random.default_rng(1).standard_normal((50, 6))
    sums = X[:, 0] + X[:, 1]
    rounded = np.where(np.arange(50) % 2, 0.1 + 0.2, 0.3)
    X = np.column_stack([X, sums, np.full(50, 3.0), rounded]).astype(dtype)
    tables = [X] if k == 6 else [X, X[:4], X * 1e9]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for rows in tables:
            for model in (PCA(k, svd_solver=solver), PCA(k, svd_solver=solver, center=False)):
                for use in USES.values():
                    use(model.fit(rows), rows)


def test_rounding_of_removed_rows_is_not_left_out():
    rng = np.random.default_rng(2)
    X, far = rng.standard_normal((50, 3)), rng.standard_normal((50, 3)) * 1e9
    X[:, 2] = 1.0
    PCA().partial_fit(X).partial_fit(far).forget(far).get_precision()
