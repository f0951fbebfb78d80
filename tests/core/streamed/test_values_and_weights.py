"""Missing values and weights of rows that are read in chunks."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from streamed_cases import COLUMNS, ROWS, assert_same_bits, batches_of, every_kind, save

from helpers import EPS, EPS32, truth
from princomp import PCA
from princomp.core import fit as fit_module
from princomp.errors import (
    NotFiniteError,
    ShapeError,
)
from princomp.io.readers.source import Source

# ---- values that are missing or infinite --------------------------------------------------------


@every_kind
def test_incomplete_rows_of_a_stream_are_dropped_and_counted(kind, table, tmp_path, streamed):
    table[[0, 255, 256, 699], [1, 5, 0, 3]] = np.nan
    kept = ~np.isnan(table).any(axis=1)
    path = str(save(tmp_path / kind, table))
    for options in ({}, {"scale": "range"}, {"svd_solver": "krylov"}, {"svd_solver": "lanczos"}):
        model = PCA(2, missing="drop", **options).fit(path)
        assert (model.n_dropped_, model.n_samples_) == (4, ROWS - 4)
        if "svd_solver" not in options:
            assert_same_bits(PCA(2, missing="drop", **options).fit(table), model)
        divisor = np.ptp(table[kept], axis=0) if "scale" in options else None
        variances = truth(table[kept], divisor=divisor)[0][:2]
        tol = 30 * COLUMNS * EPS
        np.testing.assert_allclose(model.explained_variance_, variances, rtol=tol)
    scores = model.transform(path)
    assert np.isnan(scores).all(axis=1).tolist() == (~kept).tolist()


def test_a_stream_with_too_few_complete_rows_is_refused(table, tmp_path, streamed):
    table[:, 2] = np.nan
    table[5, 2] = 1.0
    with pytest.raises(ShapeError, match="1 of 700 rows are left"):
        PCA(missing="drop").fit(save(tmp_path / "x.npy", table))
    with pytest.raises(ShapeError, match="1 of 700 rows are left"):
        PCA(missing="drop").fit(batches_of(table, 50))


@pytest.mark.parametrize("solver", ["auto", "full", "krylov", "lanczos"])
@pytest.mark.parametrize(("value", "word"), [(np.nan, "NaN"), (np.inf, "infinity")])
@every_kind
def test_a_value_deep_in_a_file_is_named_with_row_and_column(
    kind, value, word, solver, table, tmp_path, streamed
):
    table[600, 3], table[650, 1] = value, np.nan
    path = str(save(tmp_path / kind, table))
    names = kind.endswith(("parquet", "csv", "csv.gz", "arrow"))
    with pytest.raises(NotFiniteError) as caught:
        PCA(2, svd_solver=solver).fit(path)
    error = caught.value
    assert error.place["row"] == 600
    assert error.place["column"] == ("d" if names else 3)
    assert str(error.place["file"]).startswith(path)
    assert word in error.message
    assert "600" in error.message
    assert path in error.message
    assert error.hint


@pytest.mark.parametrize("kind", ["npy", "parquet", "csv", "h5"])
def test_a_value_in_the_second_file_is_named_by_its_row_in_that_file(
    kind, table, tmp_path, streamed
):
    table[699, 4] = np.nan
    first = str(save(tmp_path / f"1.{kind}", table[:333]))
    second = str(save(tmp_path / f"2.{kind}", table[333:]))
    for call in (PCA(2).fit, PCA(2).fit(first).transform, PCA(2).fit(first).score_samples):
        with pytest.raises(NotFiniteError) as caught:
            call([first, second])
        assert caught.value.place["row"] == 699 - 333
        assert caught.value.place["file"] == second
        assert caught.value.place["column"] == ("e" if kind in ("parquet", "csv") else 4)


def test_a_value_in_a_batch_is_named_by_its_row_among_all(table, streamed):
    table[600, 3] = np.nan
    for given in (lambda: batches_of(table, 50), batches_of(table, 50)):
        with pytest.raises(NotFiniteError, match="row 600, column 3"):
            PCA(2).fit(given)
    with pytest.raises(NotFiniteError) as caught:
        PCA(2).fit(table[:500]).transform(batches_of(table, 50))
    assert caught.value.place == {"row": 600, "column": 3}


# ---- weights ------------------------------------------------------------------------------------


def stream_of(table, step=50):
    """Rows of unknown number that can be read again."""
    return lambda: batches_of(table, step)


@pytest.mark.parametrize("solver", ["auto", "full", "krylov", "sketch"])
def test_weights_of_streams_equal_those_of_arrays(solver, table, streamed):
    weights = np.arange(ROWS) % 4.0
    model = PCA(2, svd_solver=solver).fit(stream_of(table), sample_weight=weights)
    plain = PCA(2, svd_solver=solver).fit(table, sample_weight=weights)
    assert_same_bits(plain, model)
    expected = truth(table, weights=weights)[0][:2]
    # A sketch shifts what it solves by a few units of the largest product, and back.
    tol = 1e-10 if solver == "sketch" else 30 * COLUMNS * EPS
    np.testing.assert_allclose(model.explained_variance_, expected, rtol=tol)


@pytest.mark.parametrize("in_memory", [True, False])
@pytest.mark.parametrize("solver", ["auto", "krylov"])
@pytest.mark.parametrize("count", [ROWS + 1, 5 * ROWS])
def test_too_many_weights_for_rows_of_unknown_number_are_refused(
    count, solver, in_memory, table, monkeypatch
):
    if not in_memory:
        monkeypatch.setattr(fit_module, "SMALL_TABLE_BYTES", 0)
    with pytest.raises(ShapeError, match=f"{count} weights, and there are 700 rows"):
        PCA(2, svd_solver=solver).fit(stream_of(table), sample_weight=np.ones(count))


@pytest.mark.parametrize("in_memory", [True, False])
@pytest.mark.parametrize("solver", ["auto", "full", "krylov"])
@pytest.mark.parametrize("count", [1, 256, ROWS - 1])
def test_too_few_weights_for_rows_of_unknown_number_are_refused(
    count, solver, in_memory, table, monkeypatch
):
    if not in_memory:
        monkeypatch.setattr(fit_module, "SMALL_TABLE_BYTES", 0)
    with pytest.raises(ShapeError, match="sample_weight"):
        PCA(2, svd_solver=solver).fit(stream_of(table), sample_weight=np.ones(count))


def test_weights_in_a_column_do_not_count_rows_of_unknown_number(table):
    with pytest.raises(ShapeError, match=r"has shape \(300, 1\)") as caught:
        PCA(2).fit(stream_of(table), sample_weight=np.ones((300, 1)))
    assert "there are" not in str(caught.value)


@pytest.mark.parametrize("count", [1, ROWS - 1, ROWS + 1])
def test_a_wrong_number_of_weights_is_refused_before_a_file_is_read(count, table):
    source = Unread(ROWS, COLUMNS)
    with pytest.raises(ShapeError, match="700 rows"):
        PCA(2).fit(source, sample_weight=np.ones(count))
    assert not source.was_read


@pytest.mark.parametrize("solver", ["krylov", "lanczos", "row_gram", "randomized"])
def test_weights_and_dropped_rows_on_routes_that_multiply_rows(solver, table):
    table[[3, 600], [0, 5]] = np.nan
    kept = ~np.isnan(table).any(axis=1)
    weights = np.arange(ROWS) % 3 + 1.0
    model = PCA(2, missing="drop", svd_solver=solver, random_state=0)
    model.fit(table, sample_weight=weights)
    expected = truth(table[kept], weights=weights[kept])[0][:2]
    np.testing.assert_allclose(model.explained_variance_, expected, rtol=30 * COLUMNS * EPS)


# ---- rows that are not read ----------------------------------------------------------------------


class Unread(Source):
    """Rows that must not be read."""

    reader_bytes = 0

    def __init__(self, rows, p, *, repeatable=True, random_access=True):
        super().__init__(rows=rows, p=p, dtype=np.dtype(np.float64), file="unread")
        self.repeatable, self.random_access, self.was_read = repeatable, random_access, False

    def chunks(self, start=0):
        self.was_read = True
        raise AssertionError("rows were read")

    def read(self, start, stop):
        return self.chunks()


def test_the_hint_for_sparse_batches_names_no_column(table):
    table[:, 2] = np.nan
    parts = [sp.csr_array(part) for part in np.array_split(table, 3)]
    with pytest.raises(NotFiniteError, match="row 0, column 2") as caught:
        PCA(2).fit(lambda: iter(parts))
    assert "empty column" not in caught.value.hint


@pytest.mark.usefixtures("streamed")
def test_products_of_float32_rows_that_are_read_once_are_computed_in_float64(table):
    """They cannot be repeated where they resolve too little."""
    rows = table.astype(np.float32)
    assert PCA(2).fit(batches_of(rows, 50)).summary_.unit == EPS
    assert PCA(2).fit(lambda: batches_of(rows, 50)).summary_.unit == EPS32
