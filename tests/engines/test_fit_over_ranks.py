"""A fit over ranks equals the fit of all rows."""

from __future__ import annotations

import numpy as np
import on_gloo
import pandas as pd
import pytest
import scipy.sparse as sp
from ranks_tables import RANK_NAMES, assert_close, assert_refused, assert_same_on_all_ranks, rows_of

from princomp import PCA
from princomp.errors import (
    NotFiniteError,
    ShapeError,
)


def tables_of(X, size):
    """Rows for each rank: the first has many, one has one, the last has none."""
    cuts = {2: [len(X)], 4: [len(X) - 30, len(X) - 29, len(X)]}[size]
    return np.split(X, cuts)


# ---- the same model, to the bit ----------------------------------------------------------


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"n_components": 3, "svd_solver": "full"},
        {"n_components": 2, "scale": "unit"},
        {"n_components": 2, "scale": "range", "center": False},
        {"n_components": 0.8, "whiten": True},
        {"n_components": "mle"},
    ],
    ids=str,
)
def test_every_rank_has_the_model_of_all_rows(ranks, rng, parameters):
    X = rows_of(rng, 300)
    models = ranks.call("fit_table", tables_of(X, ranks.size), parameters)
    assert_close(assert_same_on_all_ranks(models), PCA(**parameters).fit(X))


def test_sums_of_any_size_are_exchanged(ranks, rng):
    # Messages of hundreds of kilobytes are sent by other protocols than small ones.
    for p in (100, 220, 400):
        X = rng.standard_normal((2 * p, p)) * np.linspace(3, 1, p)
        assert_same_on_all_ranks(
            models := ranks.call("fit_table", tables_of(X, ranks.size), {"n_components": 2})
        )
        assert_close(models[0], PCA(2).fit(X))


@pytest.mark.parametrize("solver", ["krylov", "sketch", "arpack"])
def test_solvers_without_a_scatter_agree_on_all_ranks(ranks, rng, solver):
    X = rows_of(rng, 300, p=30)
    models = ranks.call(
        "fit_table", tables_of(X, ranks.size), {"n_components": 3, "svd_solver": solver}
    )
    model = assert_same_on_all_ranks(models)
    expected = PCA(3, svd_solver="covariance_eigh").fit(X)
    if solver != "sketch":
        assert_close(model, expected, 1e-10)
    np.testing.assert_allclose(model.mean_, expected.mean_, rtol=1e-12)
    assert model.plan_.problem.engine


def test_float32_is_kept_only_if_all_rows_have_it(ranks, rng):
    X = rows_of(rng, 300, dtype=np.float32)
    tables = tables_of(X, ranks.size)
    tables[-1] = None  # no rows and no dtype
    models = ranks.call("fit_table", tables, {"n_components": 2})
    assert assert_same_on_all_ranks(models).components_.dtype == np.float32
    mixed = [X[:200], X[200:].astype(np.float64), None, None][: ranks.size]
    models = ranks.call("fit_table", mixed, {"n_components": 2})
    assert assert_same_on_all_ranks(models).components_.dtype == np.float64
    assert_close(models[0], PCA(2).fit(X.astype(np.float64)))


def test_each_rank_gives_the_weights_of_its_rows(ranks, rng):
    X, weights = rows_of(rng, 300), rng.integers(0, 4, 300).astype(np.float64)
    tables = tables_of(X, ranks.size)
    cuts = np.cumsum([len(table) for table in tables])[:-1]
    each = np.split(weights, cuts)
    models = ranks.call("fit_table", tables, {"n_components": 3}, each)
    assert_close(assert_same_on_all_ranks(models), PCA(3).fit(X, sample_weight=weights))
    each[0] = each[0][:-1]
    errors = assert_refused(ranks, ShapeError, "fit_table", tables, {}, each)
    assert errors[1].place["notes"] == [
        f"raised on rank 0 of {ranks.size} {RANK_NAMES[ranks.kind]}"
    ]


def test_sparse_and_dense_rows_are_combined(ranks, rng):
    X = sp.random_array((300, 20), density=0.2, rng=rng, format="csr")
    tables = [X[:150], X[150:].toarray(), None, None][: ranks.size]
    models = ranks.call("fit_table", tables, {"n_components": 3})
    assert assert_same_on_all_ranks(models).plan_.problem.stored is None
    assert_close(models[0], PCA(3).fit(X.toarray()))
    tables = [X[:150], X[150:], None, None][: ranks.size]
    models = ranks.call("fit_table", tables, {"n_components": 3})
    assert assert_same_on_all_ranks(models).plan_.problem.stored == X.nnz


def test_tensors_are_summed_on_their_device(rng):
    if on_gloo.missing():
        pytest.skip(on_gloo.missing())
    torch = pytest.importorskip("torch")
    X = rows_of(rng, 300, p=30)
    tables = [torch.from_numpy(X[:200]), X[200:]]
    for solver in ("covariance_eigh", "full", "krylov"):
        parameters = {"n_components": 3, "svd_solver": solver}
        models = on_gloo.SERVER.call("fit_table", tables, parameters)
        assert_close(assert_same_on_all_ranks(models), PCA(3).fit(X), 1e-11)
    tables[1] = torch.from_numpy(X[200:].copy())
    tables[1][5, 2] = np.nan
    errors = assert_refused(on_gloo.SERVER, NotFiniteError, "fit_table", tables, {})
    assert errors[0].place == {"row": 205, "column": 2, "rank": 1} | {
        "notes": errors[0].place["notes"]
    }


def test_each_rank_gets_the_scores_of_its_rows(ranks, rng):
    X = rows_of(rng, 300)
    tables = tables_of(X, ranks.size)
    scores = ranks.call("fit_table", tables, {"n_components": 2}, call="fit_transform")
    assert [len(part) for part in scores] == [len(table) for table in tables]
    expected = PCA(2).fit_transform(X)
    np.testing.assert_allclose(np.concatenate(scores), expected, rtol=0, atol=1e-11)


def test_frames_keep_their_column_names(ranks, rng):
    X = pd.DataFrame(rows_of(rng, 300), columns=list("abcdef"))
    tables = [X[:100], X[100:], X[:0], None][: ranks.size]
    models = ranks.call("fit_table", tables, {"n_components": 2})
    assert [list(model.feature_names_in_) for model in models] == [list("abcdef")] * ranks.size
    assert_close(assert_same_on_all_ranks(models), PCA(2).fit(X))


def test_ranks_leave_out_the_columns_that_one_process_leaves_out(ranks, rng):
    X = pd.DataFrame(rows_of(rng, 300), columns=list("abcdef")).assign(group="text")
    X.insert(0, "id", range(300))
    tables = [X[:100], X[100:], X[:0], None][: ranks.size]
    models = ranks.call("fit_table", tables, {"n_components": 2})
    assert_close(assert_same_on_all_ranks(models), PCA(2).fit(X[list("abcdef")]))


def test_each_rank_reads_its_files(ranks, rng, tmp_path):
    X = rows_of(rng, 300)
    for i, part in enumerate(np.split(X, [200])):
        pd.DataFrame(part, columns=list("abcdef")).to_csv(tmp_path / f"{i}.csv", index=False)
    models = ranks.call("fit_file", str(tmp_path / "{}.csv"), n_components=2)
    assert_close(assert_same_on_all_ranks(models), PCA(2).fit(X))
    X[213, 2] = np.nan
    pd.DataFrame(X[200:], columns=list("abcdef")).to_csv(tmp_path / "1.csv", index=False)
    errors = assert_refused(ranks, NotFiniteError, "fit_file", str(tmp_path / "{}.csv"))
    place = errors[0].place
    assert (place["row"], place["column"], place["rank"]) == (13, "c", 1)
    assert place["file"].endswith("1.csv")
