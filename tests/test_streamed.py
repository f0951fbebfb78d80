"""Rows that are read as they come answer as the same rows in memory: bits, messages, weights."""

from __future__ import annotations

import gzip
import time
from contextlib import suppress

import h5py
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
import zarr

from helpers import EPS, truth
from princomp import PCA, plan
from princomp.errors import (
    ColumnError,
    InputChangedError,
    NotFiniteError,
    ParameterError,
    ShapeError,
)
from princomp.fitting import fit as way
from princomp.sources import batches, columnar_stream, delimited_stream, files, numpy_file, pace
from princomp.sources.any import rows_of
from princomp.sources.files import open_source
from princomp.sources.source import Chunk, Held, Source
from princomp.summaries import blocks as blocks_module

ROWS, COLUMNS = 700, 6
NAMES = list("abcdef")


@pytest.fixture
def streamed(monkeypatch):
    """Nothing is read whole, chunks are small, and a block has fewer rows than a table."""
    monkeypatch.setattr(files, "_SMALL", 0)
    monkeypatch.setattr(files, "_SMALL_PACKED", 0)
    monkeypatch.setattr(way, "_HEAD", 0)
    for module in (numpy_file, columnar_stream, batches, pace):
        monkeypatch.setattr(module, "_NUMBERS", 200)
    monkeypatch.setattr(numpy_file, "_NUMBERS_BY_COLUMN", 200)
    monkeypatch.setattr(delimited_stream, "_LEAST_TEXT", 500)
    monkeypatch.setattr(blocks_module, "_BLOCK_NUMBERS", 1)
    monkeypatch.setattr(blocks_module, "_PANEL_NUMBERS", 1)
    assert blocks_module.block_rows(COLUMNS) == 256


@pytest.fixture
def table():
    made = np.random.default_rng(11).standard_normal((ROWS, COLUMNS))
    return made * [5, 3, 2, 1, 0.5, 0.2] + [100, 0, -3, 0, 1e3, 1]


def save_csv(path, table, names=NAMES):
    text = ",".join(names) + "\n" + "".join(",".join(map(repr, r)) + "\n" for r in table.tolist())
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode(), mtime=0))
    else:
        path.write_text(text)
    return path


def save(path, table):
    """A table as a file of the kind that its name says, in several groups of rows."""
    names, chunks = NAMES[: table.shape[1]], (min(37, len(table)), min(4, table.shape[1]))
    if ".csv" in path.name:
        return save_csv(path, table, names)
    if path.suffix == ".npy":
        np.save(path, np.asfortranarray(table) if "fortran" in path.name else table)
    elif path.suffix == ".h5":
        with h5py.File(path, "w") as file:
            file.create_dataset("x", data=table, chunks=chunks)
    elif path.suffix == ".zarr":
        zarr.create_array(str(path), data=table, chunks=chunks)
    else:
        frame = pa.table(dict(zip(names, map(np.ascontiguousarray, table.T), strict=True)))
        if path.suffix == ".parquet":
            pq.write_table(frame, path, row_group_size=129)
        else:
            with pa.ipc.new_file(path, frame.schema) as file:
                file.write_table(frame, max_chunksize=91)
    return path


KINDS = ["c.npy", "fortran.npy", "x.parquet", "x.csv", "x.csv.gz", "x.arrow", "x.h5", "x.zarr"]
KEEP_FLOAT32 = [kind for kind in KINDS if ".csv" not in kind]
every_kind = pytest.mark.parametrize("kind", KINDS)


def assert_same_bits(one, other):
    for name in ("explained_variance_", "components_", "mean_", "total_variance_"):
        a, b = np.asarray(getattr(one, name)), np.asarray(getattr(other, name))
        assert a.dtype == b.dtype
        assert a.tobytes() == b.tobytes(), f"{name} differs by {np.abs(a - b).max():.1e}"
    assert (one.n_samples_, one.n_dropped_) == (other.n_samples_, other.n_dropped_)


# ---- every kind of file, and rows that come in batches ------------------------------------------


@every_kind
@pytest.mark.parametrize("options", [{}, {"svd_solver": "full"}, {"scale": "range"}], ids=str)
def test_a_table_has_the_same_bits_from_every_kind_of_file(
    kind, options, table, tmp_path, streamed
):
    source = open_source(save(tmp_path / kind, table))
    assert not isinstance(source, Held)
    assert_same_bits(PCA(3, **options).fit(table), PCA(3, **options).fit(source))


@pytest.mark.parametrize("kind", KEEP_FLOAT32)
def test_float32_rows_have_the_same_bits_from_every_kind_that_keeps_them(
    kind, table, tmp_path, streamed
):
    narrow = table.astype(np.float32)
    model = PCA(3).fit(save(tmp_path / kind, narrow))
    assert model.components_.dtype == np.float32
    assert_same_bits(PCA(3).fit(narrow), model)


def batches_of(table, step):
    return (table[i : i + step] for i in range(0, len(table), step))


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("step", [1, 7, 255, 256, 257, ROWS])
def test_rows_in_batches_of_any_size_have_the_same_bits(step, dtype, table, streamed):
    table = table.astype(dtype)
    # Rows that cannot be read again are multiplied in float64 at once, and so stand for
    # themselves; in float64 there is no difference.
    given = PCA(3).fit(table if dtype == "f8" else iter([table]))
    assert_same_bits(given, PCA(3).fit(batches_of(table, step)))
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


def test_files_of_several_kinds_in_any_order_of_columns_are_one_table(table, tmp_path, streamed):
    save(tmp_path / "1.parquet", table[:300])
    turned = [3, 0, 5, 1, 4, 2]
    save_csv(tmp_path / "2.csv", table[300:301][:, turned], [NAMES[j] for j in turned])
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


@pytest.mark.parametrize("n", [COLUMNS, 255, 256, 257, 512])
def test_bits_are_equal_where_rows_end_at_or_beside_a_block(n, table, tmp_path, streamed):
    for kind in ("c.npy", "x.parquet", "x.csv"):
        assert_same_bits(PCA().fit(table[:n]), PCA().fit(save(tmp_path / kind, table[:n])))
    assert_same_bits(PCA().fit(table[:n]), PCA().fit(lambda: batches_of(table[:n], 50)))


@pytest.mark.parametrize("options", [{"n_components": 0.9}, {"n_components": "mle"}, {}], ids=str)
@pytest.mark.parametrize("kind", ["c.npy", "x.csv.gz"])
def test_a_rule_for_the_number_of_components_takes_the_same_from_a_file(
    kind, options, table, tmp_path, streamed
):
    from_file, plain = PCA(**options).fit(save(tmp_path / kind, table)), PCA(**options).fit(table)
    assert from_file.n_components_ == plain.n_components_
    assert_same_bits(plain, from_file)


def test_a_fallback_reads_a_file_again_and_an_iterator_says_that_it_cannot(
    table, tmp_path, streamed
):
    table[:, 5] = table[:, 0] + 1e-9 * table[:, 5]
    from_file = PCA().fit(save(tmp_path / "x.npy", table))
    assert_same_bits(PCA().fit(table), from_file)
    assert from_file.plan_.solver == "svd"
    assert from_file.plan_.passes == 2
    once = PCA().fit(batches_of(table, 50))
    assert "cannot be read again" in once.plan_.reasons[-1]
    assert once.plan_.passes == 1


# ---- after the fit ------------------------------------------------------------------------------


@every_kind
def test_what_follows_a_fit_takes_files_as_it_takes_arrays(kind, table, tmp_path, streamed):
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
    logs = model.score_samples(table)
    np.testing.assert_allclose(by_name.score_samples(path), logs, rtol=1e3 * EPS, atol=1e3 * tol)
    assert by_name.score(path) == pytest.approx(model.score(table), rel=1e-10)
    back = save(tmp_path / f"scores-{kind}", expected)
    rows = model.inverse_transform(expected)
    np.testing.assert_allclose(model.inverse_transform(str(back)), rows, rtol=1e-13, atol=tol)


def test_iterators_and_callables_are_transformed_too(table, streamed):
    model = PCA(2).fit(table)
    expected = model.transform(table)
    tol = 4 * COLUMNS * EPS * np.abs(table).max()
    for given in (batches_of(table, 99), lambda: batches_of(table, 99)):
        np.testing.assert_allclose(model.transform(given), expected, rtol=0, atol=tol)
    again = PCA(2)
    found = again.fit_transform(lambda: batches_of(table, 99))
    np.testing.assert_allclose(found, expected, rtol=0, atol=tol)
    once = rows_of(batches_of(table, 99))[0]
    with pytest.raises(ParameterError, match="read once"):
        PCA(2).fit_transform(once)


def test_rows_of_sparse_batches_are_those_of_the_matrix(streamed, rng):
    matrix = sp.random_array((900, 40), density=0.1, rng=rng, format="csr")
    model = PCA(4).fit(lambda: (matrix[i : i + 113] for i in range(0, 900, 113)))
    assert_same_bits(PCA(4).fit(matrix), model)
    scores = PCA(4).fit(matrix).transform(matrix)
    found = model.transform(matrix[i : i + 113] for i in range(0, 900, 113))
    np.testing.assert_allclose(found, scores, rtol=0, atol=40 * EPS * np.abs(scores).max())


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


def test_a_stream_of_incomplete_rows_alone_is_refused_with_the_count(table, tmp_path, streamed):
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
    told = caught.value
    assert told.place["row"] == 601
    assert told.place["column"] == ("d" if names else 3)
    assert str(told.place["file"]).startswith(path)
    assert word in told.message
    assert "601" in told.message
    assert path in told.message
    assert told.hint


@pytest.mark.parametrize("kind", ["npy", "parquet", "csv", "h5"])
def test_a_value_in_the_second_file_is_named_by_its_row_in_that_file(
    kind, table, tmp_path, streamed
):
    table[699, 4] = np.nan
    first = str(save(tmp_path / f"1.{kind}", table[:333]))
    second = str(save(tmp_path / f"2.{kind}", table[333:]))
    for act in (PCA(2).fit, PCA(2).fit(first).transform, PCA(2).fit(first).score_samples):
        with pytest.raises(NotFiniteError) as caught:
            act([first, second])
        assert caught.value.place["row"] == 700 - 333
        assert caught.value.place["file"] == second
        assert caught.value.place["column"] == ("e" if kind in ("parquet", "csv") else 4)


def test_a_value_in_a_batch_is_named_by_its_row_among_all(table, streamed):
    table[600, 3] = np.nan
    for given in (lambda: batches_of(table, 50), batches_of(table, 50)):
        with pytest.raises(NotFiniteError, match="row 601, column 3"):
            PCA(2).fit(given)
    with pytest.raises(NotFiniteError) as caught:
        PCA(2).fit(table[:500]).transform(batches_of(table, 50))
    assert caught.value.place == {"row": 601, "column": 3}


# ---- weights ------------------------------------------------------------------------------------


def nameless(table, step=50):
    """Rows whose number nobody knows, that can be read again."""
    return lambda: batches_of(table, step)


@pytest.mark.parametrize("solver", ["auto", "full", "krylov", "sketch"])
def test_weights_of_rows_of_unknown_number_are_those_of_rows_in_memory(solver, table, streamed):
    weights = np.arange(ROWS) % 4.0
    model = PCA(2, svd_solver=solver).fit(nameless(table), sample_weight=weights)
    plain = PCA(2, svd_solver=solver).fit(table, sample_weight=weights)
    assert_same_bits(plain, model)
    expected = truth(table, weights=weights)[0][:2]
    # A sketch shifts what it solves by a few units of the largest product, and back.
    tol = 1e-10 if solver == "sketch" else 30 * COLUMNS * EPS
    np.testing.assert_allclose(model.explained_variance_, expected, rtol=tol)


@pytest.mark.parametrize("held", [True, False])
@pytest.mark.parametrize("solver", ["auto", "krylov"])
@pytest.mark.parametrize("count", [ROWS + 1, 5 * ROWS])
def test_too_many_weights_for_rows_of_unknown_number_are_refused(
    count, solver, held, table, monkeypatch
):
    if not held:
        monkeypatch.setattr(way, "_HEAD", 0)
    with pytest.raises(ShapeError, match=f"{count} weights, and there are 700 rows"):
        PCA(2, svd_solver=solver).fit(nameless(table), sample_weight=np.ones(count))


@pytest.mark.parametrize("held", [True, False])
@pytest.mark.parametrize("solver", ["auto", "full", "krylov"])
@pytest.mark.parametrize("count", [1, 256, ROWS - 1])
def test_too_few_weights_for_rows_of_unknown_number_are_refused(
    count, solver, held, table, monkeypatch
):
    if not held:
        monkeypatch.setattr(way, "_HEAD", 0)
    with pytest.raises(ShapeError, match="sample_weight"):
        PCA(2, svd_solver=solver).fit(nameless(table), sample_weight=np.ones(count))


@pytest.mark.parametrize("count", [1, ROWS - 1, ROWS + 1])
def test_a_wrong_number_of_weights_is_refused_before_a_file_is_read(count, table):
    source = Unread(ROWS, COLUMNS)
    with pytest.raises(ShapeError, match="700 rows"):
        PCA(2).fit(source, sample_weight=np.ones(count))
    assert not source.asked


@pytest.mark.parametrize("solver", ["krylov", "lanczos", "row_gram", "randomized"])
def test_weights_go_with_dropping_on_routes_that_multiply_rows(solver, table):
    table[[3, 600], [0, 5]] = np.nan
    kept = ~np.isnan(table).any(axis=1)
    weights = np.arange(ROWS) % 3 + 1.0
    model = PCA(2, missing="drop", svd_solver=solver, random_state=0)
    model.fit(table, sample_weight=weights)
    expected = truth(table[kept], weights=weights[kept])[0][:2]
    np.testing.assert_allclose(model.explained_variance_, expected, rtol=30 * COLUMNS * EPS)


# ---- the plan -----------------------------------------------------------------------------------


class Unread(Source):
    """Rows that must not be read."""

    reader = 0

    def __init__(self, rows, p, *, repeatable=True, positioned=True):
        super().__init__(rows=rows, p=p, dtype=np.dtype(np.float64), file="unread")
        self.repeatable, self.positioned, self.asked = repeatable, positioned, False

    def chunks(self, start=0):
        self.asked = True
        raise AssertionError("rows were read")

    def read(self, start, stop):
        return self.chunks()


class Streamed(Source):
    """An array, read as a stream would be."""

    reader = 0

    def __init__(self, table, *, known=True, repeatable=True, step=64, fail_at=None):
        n, p = table.shape
        super().__init__(rows=n if known else None, p=p, dtype=table.dtype, file="streamed")
        self.table, self.step, self.repeatable, self.passes = table, step, repeatable, 0
        self.fail_at, self.closed = fail_at, 0

    def chunks(self, start=0):
        self.passes += 1
        try:
            for first in range(start, len(self.table), self.step):
                if self.fail_at is not None and first >= self.fail_at:
                    raise OSError("the disk went away")
                yield Chunk(self.table[first : first + self.step])
        finally:
            self.closed += 1


@pytest.mark.parametrize(
    "options",
    [
        {"n_components": 2},
        {"n_components": 0.9},
        {"n_components": 2, "svd_solver": "krylov"},
        {"n_components": 2, "svd_solver": "full"},
        {"n_components": 2, "svd_solver": "sketch"},
        {"n_components": 2, "svd_solver": "lanczos"},
        {"n_components": 2, "svd_solver": "row_gram"},
    ],
    ids=str,
)
@pytest.mark.parametrize("kind", ["x.npy", "x.parquet"])
def test_the_plan_of_a_file_is_that_of_its_fit(kind, options, table, tmp_path, streamed):
    path = save(tmp_path / kind, table)
    planned, model = plan(path, **options), PCA(**options).fit(path)
    assert (planned.summary, planned.solver) == (model.plan_.summary, model.plan_.solver)
    if planned.passes is not None:
        assert planned.passes == model.plan_.passes == model.certificate_.passes
    assert planned.facts.rows == model.plan_.facts.rows == ROWS
    if planned.reasons[0].startswith("the rows fit"):
        assert planned.reasons[1:] == model.plan_.reasons
    else:
        # A sketch adds the residual that it measured.
        assert planned.reasons == model.plan_.reasons[:1]


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("solver", ["auto", "krylov", "sketch", "full", "covariance_eigh"])
def test_the_passes_of_a_plan_are_those_that_were_read(solver, known, table, streamed):
    source = Streamed(table, known=known)
    model = PCA(2, svd_solver=solver).fit(source)
    assert source.passes == model.plan_.passes == model.certificate_.passes == source.closed
    assert model.certificate_.bytes_read == source.passes * table.nbytes


# ---- progress, interruption, changed files ------------------------------------------------------


@pytest.fixture
def every_word(monkeypatch):
    monkeypatch.setattr("princomp.progress._EVERY", 0.0)


@pytest.mark.parametrize("solver", ["auto", "full", "krylov", "sketch"])
def test_progress_counts_rows_and_passes_and_ends_with_done(
    solver, table, tmp_path, streamed, every_word
):
    words = []
    model = PCA(2, svd_solver=solver)
    model.fit(save(tmp_path / "x.npy", table), progress=words.append)
    numbers = [word.number for word in words]
    assert numbers == sorted(numbers)
    assert set(numbers) == set(range(1, model.plan_.passes + 1))
    for number in set(numbers):
        told = [word for word in words if word.number == number]
        rows = [word.rows for word in told]
        assert rows == sorted(rows)
        assert [word.done for word in told] == [False] * (len(told) - 1) + [True]
        assert rows[-1] == told[-1].total_rows == ROWS
        assert told[-1].fraction == 1.0
        assert all(0 < word.fraction <= 1 for word in told)
        assert {word.total_rows for word in told} == {ROWS}
    name = {"auto": "moments", "full": "triangle"}.get(solver, solver)
    assert {word.step for word in words} == {name}


def test_progress_of_rows_of_unknown_number_learns_it_at_the_end(table, streamed, every_word):
    words = []
    PCA(2).fit(batches_of(table, 50), progress=words.append)
    assert {word.total_rows for word in words[:-1]} == {None}
    assert {word.fraction for word in words[:-1]} == {None}
    assert (words[-1].total_rows, words[-1].fraction, words[-1].done) == (ROWS, 1.0, True)


class Stopped(Exception):  # noqa: N818 - not an error of ours
    """What a person's own code raises."""


@pytest.mark.parametrize("solver", ["auto", "krylov"])
@pytest.mark.parametrize("at", [0, 1, 2])
def test_an_exception_in_the_callback_stops_the_fit_and_leaves_the_model_as_it_was(
    at, solver, table, streamed, every_word
):
    def stop(word):
        words.append(word)
        if len(words) > at:
            raise Stopped

    words = []
    model = PCA(2, svd_solver=solver).fit(table[:, :4])
    before = model.components_.tobytes(), model.n_samples_, model.n_features_in_
    source = Streamed(table)
    with pytest.raises(Stopped):
        model.fit(source, progress=stop)
    assert len(words) == at + 1
    assert (model.components_.tobytes(), model.n_samples_, model.n_features_in_) == before
    assert source.closed == source.passes
    fresh = PCA(2)
    with pytest.raises(Stopped):
        fresh.fit(Streamed(table), progress=stop)
    assert not [name for name in vars(fresh) if name.endswith("_")]


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("solver", ["auto", "krylov", "full"])
def test_a_disk_that_goes_away_ends_the_fit_with_its_own_error(solver, known, table, streamed):
    model = PCA(2, svd_solver=solver).fit(table)
    before = dict(vars(model))
    source = Streamed(table, known=known, fail_at=512)
    with pytest.raises(OSError, match="the disk went away"):
        model.fit(source)
    assert vars(model) == before
    assert source.closed == source.passes


@pytest.mark.parametrize("solver", ["auto", "krylov", "full"])
@pytest.mark.parametrize("kind", ["x.npy", "x.parquet", "x.csv", "x.h5"])
@pytest.mark.parametrize("how", ["touched", "longer"])
def test_a_file_that_changes_while_it_is_read_is_refused(
    how, kind, solver, table, tmp_path, streamed, every_word
):
    def change(word):
        if not changed:
            changed.append(word)
            if how == "longer":
                with path.open("ab") as file:
                    file.write(b"1,2,3,4,5,6\n" if kind == "x.csv" else b"\0" * 48)
            else:
                time.sleep(0.01)
                path.touch()

    changed = []
    path = save(tmp_path / kind, table)
    model = PCA(2, svd_solver=solver).fit(table)
    before = dict(vars(model))
    with pytest.raises(InputChangedError) as caught:
        model.fit(path, progress=change)
    assert caught.value.place == {"file": str(path)}
    assert "changed while it was read" in caught.value.message
    assert vars(model) == before


def test_a_file_among_several_that_changes_is_the_one_that_is_named(
    table, tmp_path, streamed, every_word
):
    def change(word):
        second.touch()

    first, second = save(tmp_path / "1.npy", table), save(tmp_path / "2.npy", table)
    time.sleep(0.01)
    with pytest.raises(InputChangedError) as caught:
        PCA(2).fit([first, second], progress=change)
    assert caught.value.place == {"file": str(second)}


@pytest.mark.parametrize("kind", ["npy", "parquet", "h5"])
def test_a_file_that_changes_while_it_is_held_is_refused(kind, table, tmp_path, monkeypatch):
    """Wide rows that fit in memory are read whole: the route of which no progress tells."""
    monkeypatch.setattr(files, "_SMALL", 0)
    path = save(tmp_path / f"x.{kind}", table[:4])
    source = open_source(path)
    plain = type(source).chunks

    def chunks(self, start=0):
        for chunk in plain(self, start):
            yield chunk
            time.sleep(0.01)
            path.touch()

    monkeypatch.setattr(type(source), "chunks", chunks)
    assert plan(source, 2).reasons[0].startswith("the rows fit in memory")
    with pytest.raises(InputChangedError) as caught:
        PCA(2).fit(source)
    assert caught.value.place["file"] == str(path)


def test_a_plan_leaves_an_iterator_as_it_was_or_refuses_it(table):
    rows = batches_of(table, 50)
    with suppress(ParameterError):
        plan(rows, 2)
    assert sum(map(len, rows)) == ROWS


# ---- odd streams --------------------------------------------------------------------------------


def test_a_function_that_makes_other_rows_the_second_time_is_refused(table, streamed):
    def rows():
        calls.append(1)
        return batches_of(table[: ROWS - len(calls)], 50)

    calls = []
    with pytest.raises(ShapeError, match="this time"):
        PCA(2, svd_solver="krylov").fit(rows)


def test_one_row_or_none_is_refused_from_streams_as_from_arrays(table, tmp_path, streamed):
    with pytest.raises(ShapeError, match="at least 2 rows"):
        PCA().fit(save(tmp_path / "x.npy", table[:1]))
    with pytest.raises(ShapeError, match="at least 2 rows"):
        PCA().fit(iter([table[:1]]))
    with pytest.raises(ShapeError, match="no batch with rows"):
        PCA().fit(iter([]))


@pytest.mark.parametrize("k", [7, 700])
@pytest.mark.parametrize("solver", ["auto", "krylov", "sketch", "full", "lanczos"])
def test_more_components_than_columns_are_refused_for_streams(k, solver, table, tmp_path, streamed):
    for given in (save(tmp_path / "x.npy", table), lambda: batches_of(table, 50)):
        with pytest.raises(ShapeError, match="n_components"):
            PCA(k, svd_solver=solver).fit(given)


@pytest.mark.parametrize("solver", ["auto", "krylov", "full"])
def test_more_components_than_rows_are_refused_for_streams(solver, table, tmp_path, streamed):
    for given in (save(tmp_path / "x.npy", table[:4]), lambda: batches_of(table[:4], 3)):
        with pytest.raises(ShapeError, match="n_components=5 must be between"):
            PCA(5, svd_solver=solver).fit(given)


def test_a_failed_fit_of_a_stream_names_no_columns_that_were_not_fitted(tmp_path, table, streamed):
    model = PCA(2).fit(save(tmp_path / "x.csv", table))
    table[500, 1] = np.nan
    other = save_csv(tmp_path / "y.csv", table, list("uvwxyz"))
    with pytest.raises(NotFiniteError):
        model.fit(other)
    assert model.feature_names_in_.tolist() == NAMES
    with pytest.raises(ColumnError):
        model.transform(other)
