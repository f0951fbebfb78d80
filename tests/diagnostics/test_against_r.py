"""R 4.2.2: prcomp(…, scale. = TRUE) of three tables that R ships, and what follows from it.

The tables are R's mtcars, swiss and iris (numeric columns, and Species), as write.csv gives them.
T² is mahalanobis of two scores, Q the sum of squared residuals, the rest by hand from cor, qf,
qbeta and qnorm; metadata by lm and cor.test. All in r_prcomp.json, with the signs of R.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from princomp import PCA, diagnostics as d
from princomp.diagnostics.limits_of_q import q_limit

REFERENCES = Path(__file__).parents[1] / "references"
# R printed 15 digits; 12 of them are recorded.
RTOL = 1e-10

# iris_species: R², F, df, df, p of lm(scores ~ Species); iris_means: mean scores of each species;
# mtcars_carb: r, t, p of cor.test(carb, scores of the first seven columns).
RECORDED = json.loads((REFERENCES / "r_prcomp.json").read_text())
R = RECORDED["tables"]


def table(name):
    return pd.read_csv(REFERENCES / f"{name}.csv", index_col="id").select_dtypes("number")


@pytest.fixture(params=sorted(R))
def case(request):
    X = table(request.param)
    return R[request.param], X, PCA(2, scale="unit").fit(X)


def test_deviations_and_axes(case):
    expected, X, model = case
    full = PCA(scale="unit").fit(X)
    np.testing.assert_allclose(np.sqrt(full.explained_variance_), expected["sdev"], rtol=RTOL)
    for a in (1, 2):
        axis = np.array(expected[f"axis{a}"])
        sign = np.sign(axis[np.abs(axis).argmax()])
        found = d.variables(model, form="wide")[f"axis_PC{a}"]
        np.testing.assert_allclose(found, sign * axis, atol=RTOL)


def test_contributions_and_cos2_of_rows_are_those_of_r(case):
    expected, X, model = case
    found = d.rows(model, X)
    np.testing.assert_allclose(found["contribution_PC1"][:5], expected["contrib1"], rtol=RTOL)
    np.testing.assert_allclose(found["cos2_PC1"][:5], expected["cos2_1"], rtol=RTOL)
    r = d.variables(model, form="wide")["correlation_PC1"]
    np.testing.assert_allclose(np.abs(r), np.abs(expected["cor1"]), rtol=RTOL)


def test_statistics_and_limits(case):
    expected, X, model = case
    found, limits = d.distances(model, X), d.limits(model)
    full = PCA(scale="unit").fit(X)
    np.testing.assert_allclose(found["t2"][:5], expected["t2"], rtol=RTOL)
    np.testing.assert_allclose(found["q"][:5], expected["q"], rtol=RTOL)
    for statistic in ("t2", "q"):
        at, value = expected[f"{statistic}max"]
        assert found[statistic].to_numpy().argmax() == at - 1
        assert found[statistic].max() == pytest.approx(value, rel=RTOL)
    both = [limits.t2_new, limits.t2_training]
    np.testing.assert_allclose(both, expected["t2lim"], rtol=RTOL)
    # R has the limit from the variances of the sample.
    assert q_limit(full.explained_variance_[2:], 0.95)[0] == pytest.approx(
        expected["qlim"][0], rel=RTOL
    )
    parts = d.contributions(model, X[:1])["t2"]
    np.testing.assert_allclose(parts, expected["ct2_1"], rtol=1e-9)


def test_errors_and_adequacy(case):
    expected, X, model = case
    for rows in (None, X):
        errors = d.reconstruction_error(model, rows)["squared_error"]
        np.testing.assert_allclose(errors, expected["recon"], rtol=RTOL)
    found = d.bartlett(model)
    values = [found.statistic, found.df, found.p_value]
    np.testing.assert_allclose(values, expected["bartlett"], rtol=1e-8)
    measure = d.kmo(model)
    each = [measure.overall, *measure.variables["kmo"]]
    np.testing.assert_allclose(each, expected["kmo"], rtol=RTOL)


def test_species_against_components():
    whole = pd.read_csv(REFERENCES / "iris.csv", index_col="id")
    X, species = whole.drop(columns="Species"), whole["Species"]
    model = PCA(2, scale="unit").fit(X)
    found = d.metadata(model, X, species)
    columns = ["eta2", "statistic", "df1", "df2", "p_value"]
    np.testing.assert_allclose(found[columns], RECORDED["iris_species"], rtol=1e-8)
    means = d.categories(model, X, species)["barycentre"].to_numpy().reshape(3, 2)
    np.testing.assert_allclose(np.abs(means), np.abs(RECORDED["iris_means"]).T, rtol=1e-9)


def test_carburettors_against_components():
    cars = table("mtcars")
    X = cars.iloc[:, :7]
    found = d.metadata(PCA(2, scale="unit").fit(X), X, cars["carb"])
    columns = ["r", "statistic", "p_value"]
    np.testing.assert_allclose(np.abs(found[columns]), RECORDED["mtcars_carb"], rtol=1e-9)
