"""PCA(missing="drop"): what the plan, warnings and the command line say of rows left out."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from princomp import PCA, KernelPCA, read_table
from princomp.errors import ShapeError
from princomp.summaries import block_rows

KINDS = {
    "array": np.asarray,
    "sparse": sp.csr_array,
    "frame": lambda X: pd.DataFrame(X, columns=list("abcd")),
}
START = "rows with missing values: 2,012; they were left out of the fit"


@pytest.fixture
def late(rng):
    """5,000 rows, of which 2,012 are incomplete; 1,990 lack only the second column."""
    X = rng.standard_normal((5000, 4))
    X[:2000, 1] = X[4990:, 2] = X[1990:2002, 3] = np.nan
    return X


@pytest.mark.parametrize("kind", KINDS)
def test_the_plan_names_the_column_that_makes_most_rows_incomplete(kind, late):
    name = "'b'" if kind == "frame" else "1"
    model = PCA(2, missing="drop").fit(KINDS[kind](late))  # warnings are errors here
    assert model.plan_.reasons[-1] == f"{START} (1,990 of them lack only column {name})"
    with pytest.warns(UserWarning, match=rf"2,002 of 4,000 rows .* \(1,990 .* column {name}\)$"):
        PCA(2, missing="drop").fit(KINDS[kind](late[:4000]))


def test_half_of_the_rows_are_not_too_many(rng):
    X = rng.standard_normal((20, 3))
    X[:10, 0] = np.nan
    assert PCA(2, missing="drop").fit(X).n_dropped_ == 10  # warnings are errors here


def test_a_column_that_is_not_the_reason_for_most_rows_is_not_named(late):
    late[2500:4500, 0] = np.nan
    with pytest.warns(UserWarning, match="4,012 of 5,000 rows have missing values .* out$"):
        model = PCA(2, missing="drop").fit(late)
    assert model.plan_.reasons[-1].endswith("were left out of the fit")


def test_rows_of_all_blocks_are_counted(rng):
    X = rng.standard_normal((2600, 2000))
    assert block_rows(2000) < 2200
    X[1700:2500:2, 7] = np.nan
    model = PCA(2, missing="drop").fit(X)
    assert "missing values: 400; " in model.plan_.reasons[-1]
    assert "(400 of them lack only column 7)" in model.plan_.reasons[-1]


def test_rows_of_weight_zero_are_no_reason(rng):
    X, weights = rng.standard_normal((300, 3)), np.ones(300)
    X[:60, 1] = X[290:294, 2] = np.nan
    weights[:60] = 0.0
    model = PCA(2, missing="drop").fit(X, sample_weight=weights)
    assert "missing values: 4; " in model.plan_.reasons[-1]
    assert "(4 of them lack only column 2)" in model.plan_.reasons[-1]


def test_if_only_rows_of_weight_zero_are_complete_no_rows_are_left(rng):
    X, weights = rng.standard_normal((40, 3)), np.ones(40)
    X[16:, 1], weights[:16] = np.nan, 0.0
    with pytest.raises(ShapeError, match="0 of 40 rows are left after dropping"):
        PCA(2, missing="drop").fit(X, sample_weight=weights)


@pytest.mark.parametrize("fit", [PCA(2, missing="drop").fit, KernelPCA(2, missing="drop").fit])
def test_columns_for_which_no_rows_are_left_are_named(fit, rng, tmp_path):
    X = rng.standard_normal((40, 4))
    X[:, 1] = X[::2, 2] = np.nan
    lacks = "which lacks 40 of 40 values, or fill the missing values"
    with pytest.raises(ShapeError, match=f"leave out column 1, {lacks}"):
        fit(X)
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame.to_parquet(tmp_path / "t.parquet")
    for table in (frame, tmp_path / "t.parquet"):
        with pytest.raises(ShapeError, match=f"leave out column 'b', {lacks}"):
            fit(table)
    X[:30, 2] = np.nan
    with pytest.raises(ShapeError, match="columns 1, 2, which lack 35 or more of 40 values"):
        fit(X)
    # No column lacks more than half of its values.
    with pytest.raises(ShapeError, match="fill the missing values, or leave out the columns"):
        fit(np.where(np.arange(40)[:, None] % 4 == np.arange(4), np.nan, 1.0))


@pytest.mark.parametrize(
    ("n", "left", "weight", "message"),
    [
        (10, 1, 1.0, "1 of 10 rows are left after dropping"),
        (1, 0, 1.0, "0 of 1 rows are left after dropping"),
        (10, 2, 0.25, "a sum of weights above 1, got 0.5 over 2 rows"),
    ],
)
def test_rows_that_are_left_are_counted(rng, n, left, weight, message):
    X = rng.standard_normal((n, 3))
    X[left:, 2] = np.nan
    with pytest.raises(ShapeError, match=message):
        PCA(1, missing="drop").fit(X, sample_weight=np.full(n, weight))


def test_such_columns_are_named_from_the_first_rows_of_a_source(rng, tmp_path):
    X = rng.standard_normal((5_000, 400))
    X[:, 7] = np.nan
    np.save(tmp_path / "t.npy", X)
    match = r"leave out column 7, which lacks ([\d,]+) of the first \1 values, or fill"
    with pytest.raises(ShapeError, match=match):
        PCA(2, missing="drop").fit(read_table(tmp_path / "t.npy"))
    with pytest.raises(ShapeError, match="fill the missing values, or leave out the columns"):
        PCA(2, missing="drop").fit(sp.csr_array(X))


@pytest.mark.parametrize("solver", ["auto", "covariance_eigh", "full", "lanczos", "randomized"])
@pytest.mark.parametrize("p", [3, 300])
def test_rows_of_weight_zero_are_not_counted(solver, p, rng):
    X, weights = rng.standard_normal((6000, p)), np.ones(6000)
    X[:60, 1] = X[5000:5060, 2] = np.nan  # of other blocks
    weights[:60] = weights[5010:5060] = 0.0
    model = PCA(2, missing="drop", svd_solver=solver, random_state=0)
    model.fit(X, sample_weight=weights)
    assert model.n_dropped_ == 10
    assert model.n_samples_ == 5990
    batches = PCA(2, missing="drop").partial_fit(X, sample_weight=weights)
    assert (batches.n_dropped_, batches.n_samples_) == (10, 5990)


def test_the_plan_counts_rows_of_batches(late, monkeypatch):
    monkeypatch.setattr("princomp.core.fit.SMALL_TABLE_BYTES", 1000)
    model = PCA(2, missing="drop").fit(lambda: iter([late]))
    assert model.plan_.reasons[-1] == START


def test_the_command_line_names_the_column(late, tmp_path, princomp):
    KINDS["frame"](late).to_csv(path := tmp_path / "late.csv", index=False)
    done = princomp("fit", path, "--missing", "drop", "-k", "2", "-m", tmp_path / "late.pca")
    assert f"note: {START} (1,990 of them lack only column 'b')" in done.err
    KINDS["frame"](late[:4000]).to_csv(path, index=False)
    done = princomp("fit", path, "--missing", "drop", "-k", "2", "--force")
    assert done.err.count("left out") == 1
