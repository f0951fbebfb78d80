"""A fit of rows read from files or batches equals the fit in memory, to the bit."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.ipc
import pytest
import scipy.sparse as sp
from streamed_cases import (
    COLUMNS,
    KEEP_FLOAT32,
    NAMES,
    ROWS,
    assert_same_bits,
    batches_of,
    every_kind,
    save,
    save_csv,
)

from helpers import EPS
from princomp import PCA
from princomp.errors import (
    ParameterError,
)
from princomp.io.readers.files import open_source
from princomp.io.readers.source import TableSource
from princomp.io.readers.table_input import rows_of
from princomp.summaries import blocks as blocks_module

# ---- every kind of file, and rows that come in batches ------------------------------------------


@every_kind
@pytest.mark.parametrize("options", [{}, {"svd_solver": "full"}, {"scale": "range"}], ids=str)
def test_a_table_has_the_same_bits_from_every_kind_of_file(
    kind, options, table, tmp_path, streamed
):
    source = open_source(save(tmp_path / kind, table))
    assert not isinstance(source, TableSource)
    assert_same_bits(PCA(3, **options).fit(table), PCA(3, **options).fit(source))


@pytest.mark.parametrize("kind", KEEP_FLOAT32)
def test_float32_rows_have_the_same_bits_from_every_kind_that_keeps_them(
    kind, table, tmp_path, streamed
):
    narrow = table.astype(np.float32)
    model = PCA(3).fit(save(tmp_path / kind, narrow))
    assert model.components_.dtype == np.float32
    assert_same_bits(PCA(3).fit(narrow), model)


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("step", [1, 7, 255, 256, 257, ROWS])
def test_rows_in_batches_of_any_size_have_the_same_bits(step, dtype, table, streamed):
    table = table.astype(dtype)
    # Rows that cannot be read again are multiplied in float64 at once, so those of float32 are
    # compared with an iterator; in float64 there is no difference.
    expected = PCA(3).fit(table if dtype == "f8" else iter([table]))
    assert_same_bits(expected, PCA(3).fit(batches_of(table, step)))
    again = PCA(3).fit(lambda: batches_of(table, step))
    assert_same_bits(PCA(3).fit(table), again)


def frames_of(table, step, make):
    for rows in batches_of(table, step):
        yield make(dict(zip(NAMES, map(np.ascontiguousarray, rows.T), strict=True)))


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table, pa.record_batch])
def test_frames_in_batches_have_the_same_bits_and_keep_their_names(make, table, streamed):
    model = PCA(3).fit(lambda: frames_of(table, 97, make))
    assert_same_bits(PCA(3).fit(table), model)
    assert model.feature_names_in_.tolist() == NAMES


def test_files_of_several_kinds_and_column_orders_are_one_table(table, tmp_path, streamed):
    save(tmp_path / "1.parquet", table[:300])
    order = [3, 0, 5, 1, 4, 2]
    save_csv(tmp_path / "2.csv", table[300:301][:, order], [NAMES[j] for j in order])
    save(tmp_path / "3.arrow", table[301:])
    names = [str(tmp_path / name) for name in ("1.parquet", "2.csv", "3.arrow")]
    assert_same_bits(PCA(3).fit(table), PCA(3).fit(names))
    for name in "123":
        save(tmp_path / f"part{name}.npy", table[int(name) * 200 - 200 : int(name) * 200])
    assert_same_bits(PCA(3).fit(table[:600]), PCA(3).fit(str(tmp_path / "part*.npy")))


@pytest.mark.parametrize("p", [1, 2, 31, 32, 33, 130])
def test_bits_are_equal_for_every_width_of_a_block(p, tmp_path, streamed, rng):
    wide = rng.standard_normal((3 * blocks_module.block_rows(p) + 1, p)) + 1
    for name in ("c.npy", "fortran.npy", "x.h5"):
        assert_same_bits(PCA().fit(wide), PCA().fit(save(tmp_path / name, wide)))


@pytest.mark.filterwarnings("ignore:the variances of the columns differ:UserWarning")
@pytest.mark.parametrize("n", [COLUMNS, 255, 256, 257, 512])
def test_bits_are_equal_if_rows_end_near_a_block_boundary(n, table, tmp_path, streamed):
    for kind in ("c.npy", "x.parquet", "x.csv"):
        assert_same_bits(PCA().fit(table[:n]), PCA().fit(save(tmp_path / kind, table[:n])))
    assert_same_bits(PCA().fit(table[:n]), PCA().fit(lambda: batches_of(table[:n], 50)))


@pytest.mark.parametrize("options", [{"n_components": 0.9}, {"n_components": "mle"}, {}], ids=str)
@pytest.mark.parametrize("kind", ["c.npy", "x.csv.gz"])
def test_rules_choose_as_many_components_from_a_file(kind, options, table, tmp_path, streamed):
    from_file, plain = PCA(**options).fit(save(tmp_path / kind, table)), PCA(**options).fit(table)
    assert from_file.n_components_ == plain.n_components_
    assert_same_bits(plain, from_file)


def test_a_fallback_reads_a_file_again_but_not_an_iterator(table, tmp_path, streamed):
    table[:, 5] = table[:, 0] + 1e-9 * table[:, 5]
    from_file = PCA().fit(save(tmp_path / "x.npy", table))
    assert_same_bits(PCA().fit(table), from_file)
    assert from_file.plan_.solver == "svd"
    assert from_file.plan_.passes == 2
    once = PCA().fit(batches_of(table, 50))
    assert "cannot be read again" in once.plan_.reasons[-1]
    assert once.plan_.passes == 1


# ---- after the fit ------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:the names of the scores")  # a, b and c in the file
@every_kind
def test_methods_of_a_fitted_model_accept_files(kind, table, tmp_path, streamed):
    path = str(save(tmp_path / kind, table))
    model = PCA(3, whiten=True).fit(table)
    # Products over chunks may be summed in another order: p roundings of each score.
    tol = 4 * COLUMNS * EPS * np.abs(table).max()
    expected = model.transform(table)
    scores = PCA(3, whiten=True).fit_transform(path)
    assert scores.dtype == np.float64
    np.testing.assert_allclose(scores, expected, rtol=0, atol=tol / 0.5)  # whitened: over √λ₃
    by_name = PCA(3, whiten=True).fit(path)
    np.testing.assert_allclose(by_name.transform(path), expected, rtol=0, atol=tol / 0.5)
    log_likelihoods = model.score_samples(table)
    np.testing.assert_allclose(
        by_name.score_samples(path), log_likelihoods, rtol=1e3 * EPS, atol=1e3 * tol
    )
    assert by_name.score(path) == pytest.approx(model.score(table), rel=1e-10)
    back = save(tmp_path / f"scores-{kind}", expected)
    rows = model.inverse_transform(expected)
    np.testing.assert_allclose(model.inverse_transform(str(back)), rows, rtol=1e-13, atol=tol)


def test_iterators_and_callables_are_transformed(table, streamed):
    model = PCA(2).fit(table)
    expected = model.transform(table)
    tol = 4 * COLUMNS * EPS * np.abs(table).max()
    for given in (batches_of(table, 99), lambda: batches_of(table, 99)):
        np.testing.assert_allclose(model.transform(given), expected, rtol=0, atol=tol)
    for rows in (20, 40, 60, 80):  # one chunk, two, and more
        found = model.transform(batches_of(table[:rows], 20))
        np.testing.assert_allclose(found, expected[:rows], rtol=0, atol=tol)
    again = PCA(2)
    found = again.fit_transform(lambda: batches_of(table, 99))
    np.testing.assert_allclose(found, expected, rtol=0, atol=tol)
    once = rows_of(batches_of(table, 99))[0]
    with pytest.raises(ParameterError, match="read only once"):
        PCA(2).fit_transform(once)


def test_rows_of_sparse_batches_are_those_of_the_matrix(streamed, rng):
    matrix = sp.random_array((900, 40), density=0.1, rng=rng, format="csr")
    model = PCA(4).fit(lambda: (matrix[i : i + 113] for i in range(0, 900, 113)))
    assert_same_bits(PCA(4).fit(matrix), model)
    scores = PCA(4).fit(matrix).transform(matrix)
    found = model.transform(matrix[i : i + 113] for i in range(0, 900, 113))
    np.testing.assert_allclose(found, scores, rtol=0, atol=40 * EPS * np.abs(scores).max())
