"""T² and Q of rows with filled cells: each row has limits that depend on its known cells."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from princomp import PCA
from princomp.diagnostics import distances, limits, outliers, row_limits

LOADINGS = np.random.default_rng(7).standard_normal((3, 10))
SCALES = {"none": None, "unit": "unit"}


def normal_rows(n: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return 20.0 + rng.standard_normal((n, 3)) @ LOADINGS + 0.2 * rng.standard_normal((n, 10))


def without(rows: np.ndarray, cells: slice | list[int]) -> np.ndarray:
    rows = rows.copy()
    rows[:, cells] = np.nan
    return rows


@pytest.fixture(scope="module", params=[(m, s) for m in ("em", "nipals") for s in SCALES])
def model(request):
    missing, scale = request.param
    return PCA(3, missing=missing, scale=SCALES[scale]).fit(normal_rows(50_000, 1))


def rates_beyond(model, rows: np.ndarray) -> list[float]:
    """Shares of rows beyond the 95% limits of T² and Q."""
    table = distances(model, rows, level=0.95, frame="listing")
    return [float((table[name] > table[f"{name}_limit"]).mean()) for name in ("t2", "q")]


@pytest.mark.parametrize("n_missing", [1, 4, 6])
def test_regular_rows_are_beyond_a_limit_as_often_as_its_level(model, n_missing):
    """4 standard errors of a share of 0.05 among 20,000 rows."""
    tolerance = 4 * np.sqrt(0.05 * 0.95 / 20_000)
    rows = without(normal_rows(20_000, 2), slice(n_missing))
    np.testing.assert_allclose(rates_beyond(model, rows), 0.05, atol=tolerance)


def test_rows_with_cells_missing_at_random(model):
    tolerance = 4 * np.sqrt(0.05 * 0.95 / 20_000)
    rows = normal_rows(20_000, 3)
    rows[np.random.default_rng(4).random(rows.shape) < 0.2] = np.nan
    np.testing.assert_allclose(rates_beyond(model, rows), 0.05, atol=tolerance)


def test_a_single_known_cell(model):
    """T² is proportional to the square of the cell: Wilson & Hilferty are off by 0.003 for it."""
    tolerance = 4 * np.sqrt(0.05 * 0.95 / 20_000)
    t2, q = rates_beyond(model, without(normal_rows(20_000, 5), slice(9)))
    assert t2 == pytest.approx(0.05, abs=tolerance + 0.003)
    # As many scores as cells fit these exactly, so that Q is zero; shrunk ones do not.
    assert q == (0.0 if model.missing == "nipals" else pytest.approx(t2, abs=0.003))


def test_faults_are_found_as_often_as_in_complete_rows(model):
    rows = normal_rows(4_000, 6)
    rows[:, 9] += 1.2
    level = 0.99
    found = [outliers(model, X, level, frame="listing") for X in (rows, without(rows, [0, 1]))]
    shares = [np.char.count(table["beyond"].astype(str), "Q").sum() / 4_000 for table in found]
    assert shares[1] > shares[0] - 0.1
    assert set(found[0]["filled"]) == {0}
    assert set(found[1]["filled"]) == {2}


def test_complete_rows_have_the_limits_of_the_model(model):
    rows = normal_rows(5, 8)
    rows[1, :4] = np.nan
    rows[3] = np.nan
    for training in (False, True):
        found = limits(model, 0.9)
        with pytest.warns(UserWarning, match="1 row of X has no known cells and is without T²"):
            table = distances(model, rows, level=0.9, training=training, frame="listing")
        assert table["filled"].tolist() == [0, 4, 0, 0, 0]
        for name, expected in zip(("t2", "q"), found.of(training=training), strict=True):
            assert (table[f"{name}_limit"][[0, 2, 3, 4]] == expected).all()
            assert table[f"{name}_limit"][1] != expected
            assert np.flatnonzero(np.isnan(table[name])).tolist() == [3]


def test_limits_are_quantiles_of_sums_with_the_covariance_given_the_known_cells():
    """Against filled rows with correlated residuals; the formula for quantiles is approximate."""
    rng = np.random.default_rng(9)
    mixing = rng.standard_normal((6, 6)) * [3, 2, 1, 0.5, 0.3, 0.2]
    model = PCA(2, missing="em").fit(rng.standard_normal((20_000, 6)) @ mixing.T)
    rows = without(rng.standard_normal((100_000, 6)) @ mixing.T, [1, 4])
    table = distances(model, rows, level=0.95, frame="listing")
    for name in ("t2", "q"):
        assert table[f"{name}_limit"][0] == pytest.approx(np.quantile(table[name], 0.95), rel=0.05)


def test_limits_do_not_depend_on_what_the_fit_kept():
    rows, new = normal_rows(40, 10), without(normal_rows(1, 11), [2, 5])
    models = [
        PCA(3, missing="em", svd_solver="covariance_eigh").fit(rows),
        PCA(3, missing="em", svd_solver="full").fit(rows),
        PCA(10, missing="em").fit(rows).truncated(3),
    ]
    found = [distances(model, new, level=0.95, frame="listing") for model in models]
    for name in ("t2_limit", "q_limit"):
        np.testing.assert_allclose(
            [table[name][0] for table in found], found[0][name][0], rtol=1e-8
        )


def test_more_columns_than_rows():
    rng = np.random.default_rng(12)
    rows = rng.standard_normal((30, 3)) @ rng.standard_normal((3, 80))
    rows += 0.1 * rng.standard_normal(rows.shape)
    new = without(rows[:4], slice(30))
    table = distances(
        PCA(3, missing="em", svd_solver="full").fit(rows), new, level=0.95, frame="listing"
    )
    assert np.isfinite(table["t2_limit"]).all()
    assert (table["q_limit"] < limits(PCA(3, svd_solver="full").fit(rows)).q).all()


# ---- warnings ------------------------------------------------------------------------------


def test_distances_without_a_level_warn_of_filled_cells(model):
    rows = normal_rows(5, 8)
    rows[[1, 2], 0] = np.nan
    rows[3] = np.nan
    with pytest.warns(UserWarning, match="of X") as caught:
        table = distances(model, rows, frame="listing")
    messages = sorted(str(one.message) for one in caught)
    assert messages[0] == "1 row of X has no known cells and is without T² and Q (NaN)"
    assert messages[1].startswith("cells of 2 rows of X were filled")
    assert table["filled"].tolist() == [0, 1, 1, 0, 0]
    assert table.columns == ["row", "t2", "q", "filled"]


def test_rows_are_not_judged_if_the_model_has_no_covariance():
    rng = np.random.default_rng(13)
    rows = rng.standard_normal((60, 40)) * np.linspace(3, 1, 40)
    model = PCA(2, missing="em", svd_solver="lanczos").fit(rows)
    new = without(100.0 * rows[:3], [0, 1])
    with pytest.warns(UserWarning, match="have no limits|Q has no limit") as caught:
        table = outliers(model, np.vstack([new, 100.0 * rows[3:4]]), frame="listing")
    assert table["position"].tolist() == [3]
    messages = [str(warning.message) for warning in caught]
    assert any("3 rows of X with filled cells have no limits" in message for message in messages)
    assert any("svd_solver='full' or 'covariance_eigh'" in message for message in messages)


def test_the_time_for_limits_is_bounded(monkeypatch):
    monkeypatch.setattr(row_limits, "MAX_WORK", 2 * (10**3 + 2**15))
    model = PCA(3, missing="em").fit(normal_rows(100, 14))
    rows = np.repeat(normal_rows(1, 15), 6, axis=0)
    rows[np.arange(6), [0, 1, 2, 0, 1, 2]] = np.nan
    with pytest.warns(UserWarning, match="2 rows of X .* more than 2 patterns"):
        table = distances(model, rows, level=0.95, frame="listing")
    assert np.isnan(table["q_limit"]).sum() == 2
    assert np.isfinite(distances(model, rows[[2, 5]], level=0.95, frame="listing")["q_limit"]).all()


def test_sparse_rows_are_filled(model):
    rows = normal_rows(6, 16)
    rows[2, 3] = np.nan
    dense = distances(model, rows, level=0.95, frame="listing")
    sparse = distances(model, sp.csr_array(rows), level=0.95, frame="listing")
    for name in dense.columns:
        np.testing.assert_allclose(sparse[name], dense[name], rtol=1e-12)


def test_with_all_components_t2_alone_has_limits():
    model = PCA(10, missing="em").fit(normal_rows(200, 17))
    rows = without(normal_rows(3, 18), [0, 1])
    with pytest.warns(UserWarning, match="^Q has no limit, so q_limit is NaN: the components span"):
        table = distances(model, rows, level=0.95, frame="listing")
    assert np.isfinite(table["t2_limit"]).all()
    assert np.isnan(table["q_limit"]).all()
    assert not table["q"].any()


def test_rows_without_known_cells_are_skipped(model):
    rows = normal_rows(5, 19)
    rows[1, :3] = rows[2] = np.nan
    with pytest.warns(UserWarning, match="^1 row of X has no known cells and is skipped$"):
        outliers(model, rows)
