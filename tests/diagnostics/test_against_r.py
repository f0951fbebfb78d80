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

HERE = Path(__file__).parents[1] / "references"
# R printed 15 digits; 12 stand here.
CLOSE = 1e-10

# iris_species: R², F, df, df, p of lm(scores ~ Species); iris_means: mean scores of each species;
# mtcars_carb: r, t, p of cor.test(carb, scores of the first seven columns).
RECORDED = json.loads((HERE / "r_prcomp.json").read_text())
R = RECORDED["tables"]


def table(name):
    return pd.read_csv(HERE / f"{name}.csv", index_col="id").select_dtypes("number")


@pytest.fixture(params=sorted(R))
def case(request):
    X = table(request.param)
    return R[request.param], X, PCA(2, scale="unit").fit(X)


def test_deviations_and_axes(case):
    wanted, X, model = case
    full = PCA(scale="unit").fit(X)
    np.testing.assert_allclose(np.sqrt(full.explained_variance_), wanted["sdev"], rtol=CLOSE)
    for a in (1, 2):
        axis = np.array(wanted[f"axis{a}"])
        sign = np.sign(axis[np.abs(axis).argmax()])
        found = d.variables(model, form="wide")[f"axis_PC{a}"]
        np.testing.assert_allclose(found, sign * axis, atol=CLOSE)


def test_rows(case):
    wanted, X, model = case
    found = d.rows(model, X)
    np.testing.assert_allclose(found["contribution_PC1"][:5], wanted["contrib1"], rtol=CLOSE)
    np.testing.assert_allclose(found["cos2_PC1"][:5], wanted["cos2_1"], rtol=CLOSE)
    r = d.variables(model, form="wide")["correlation_PC1"]
    np.testing.assert_allclose(np.abs(r), np.abs(wanted["cor1"]), rtol=CLOSE)


def test_statistics_and_limits(case):
    wanted, X, model = case
    found, limits = d.distances(model, X), d.limits(model)
    np.testing.assert_allclose(found["t2"][:5], wanted["t2"], rtol=CLOSE)
    np.testing.assert_allclose(found["q"][:5], wanted["q"], rtol=CLOSE)
    for statistic in ("t2", "q"):
        at, value = wanted[f"{statistic}max"]
        assert found[statistic].to_numpy().argmax() == at - 1
        assert found[statistic].max() == pytest.approx(value, rel=CLOSE)
    both = [limits.t2_new, limits.t2_training]
    np.testing.assert_allclose(both, wanted["t2lim"], rtol=CLOSE)
    assert limits.q == pytest.approx(wanted["qlim"][0], rel=CLOSE)
    parts = d.contributions(model, X[:1])["t2"]
    np.testing.assert_allclose(parts, wanted["ct2_1"], rtol=1e-9)


def test_errors_and_adequacy(case):
    wanted, X, model = case
    for rows in (None, X):
        errors = d.reconstruction_error(model, rows)["squared_error"]
        np.testing.assert_allclose(errors, wanted["recon"], rtol=CLOSE)
    found = d.bartlett(model)
    values = [found.statistic, found.df, found.p_value]
    np.testing.assert_allclose(values, wanted["bartlett"], rtol=1e-8)
    measure = d.kmo(model)
    each = [measure.overall, *measure.variables["kmo"]]
    np.testing.assert_allclose(each, wanted["kmo"], rtol=CLOSE)


def test_species_against_components():
    whole = pd.read_csv(HERE / "iris.csv", index_col="id")
    X, species = whole.drop(columns="Species"), whole["Species"]
    model = PCA(2, scale="unit").fit(X)
    found = d.metadata(model, X, species)
    columns = ["eta2", "statistic", "df1", "df2", "p_value"]
    np.testing.assert_allclose(found[columns], RECORDED["iris_species"], rtol=1e-8)
    means = d.categories(model, X, species)["barycentre"].to_numpy().reshape(3, 2)
    np.testing.assert_allclose(np.abs(means), np.abs(RECORDED["iris_means"]).T, rtol=1e-9)


def test_carburettors_against_the_components_of_other_columns():
    cars = table("mtcars")
    X = cars.iloc[:, :7]
    found = d.metadata(PCA(2, scale="unit").fit(X), X, cars["carb"])
    columns = ["r", "statistic", "p_value"]
    np.testing.assert_allclose(np.abs(found[columns]), RECORDED["mtcars_carb"], rtol=1e-9)
