"""Hints for tables in parts: files whose columns differ, batches, frames not in memory."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from princomp import PCA, read_table
from princomp.errors import ColumnError, NotNumericError, ParameterError, ShapeError

ROWS = pd.DataFrame(np.random.default_rng(0).standard_normal((40, 3)), columns=list("abc"))
WRITERS = {
    "csv": lambda frame, path: frame.to_csv(path, index=False),
    "parquet": pd.DataFrame.to_parquet,
}
CELLS = {"text": "high", "date": pd.Timestamp("2024-01-31"), "true/false": True}


@pytest.mark.parametrize("ending", WRITERS)
@pytest.mark.parametrize("kind", CELLS)
@pytest.mark.parametrize("changed", [0, 1])
def test_a_column_without_numbers_in_one_file_is_explained(tmp_path, ending, kind, changed):
    for i in range(2):
        part = ROWS[20 * i : 20 * (i + 1)].reset_index(drop=True).assign(group="a")
        part = part.assign(b=CELLS[kind]) if i == changed else part
        WRITERS[ending](part, tmp_path / f"part-{i}.{ending}")
    with pytest.raises(ColumnError, match=f"{'new' if changed == 0 else 'missing'}: 'b'") as caught:
        PCA().fit(str(tmp_path / f"part-*.{ending}"))
    columns = "2 text columns: b, group" if kind == "text" else f"1 {kind} column: b"
    assert f"part-{changed}.{ending}: left out " in caught.value.hint
    assert f"left out {columns}." in caught.value.hint


def test_a_column_that_is_empty_in_one_file_is_explained(tmp_path):
    for i in range(2):
        part = ROWS[20 * i : 20 * (i + 1)].assign(b=np.nan) if i else ROWS[:20]
        part.to_csv(tmp_path / f"part-{i}.csv", index=False)
    pattern = str(tmp_path / "part-*.csv")
    with pytest.raises(ColumnError) as caught:
        PCA(2, missing="em").fit(pattern)
    assert caught.value.hint.endswith("part-1.csv: left out 1 empty column: b.")
    named = PCA(2, missing="em").fit(read_table(pattern, columns=list("abc")))
    assert named.n_features_in_ == 3


def test_columns_left_out_of_both_files_explain_no_difference(tmp_path):
    ROWS.assign(group="a").to_parquet(tmp_path / "part-0.parquet")
    ROWS.drop(columns="b").assign(group="a").to_parquet(tmp_path / "part-1.parquet")
    with pytest.raises(ColumnError, match="missing: 'b'") as caught:
        PCA().fit(str(tmp_path / "part-*.parquet"))
    assert caught.value.hint == "Rename or exclude columns, or name those to use."


@pytest.mark.parametrize("ending", WRITERS)
def test_a_column_that_not_all_files_have_can_be_excluded(tmp_path, ending):
    paths = [tmp_path / f"part-{i}.{ending}" for i in range(3)]
    for i, path in enumerate(paths):
        part = ROWS[10 * i : 10 * (i + 1)].reset_index(drop=True)
        WRITERS[ending](part.assign(extra=1.0) if i == 1 else part, path)
    with pytest.raises(ColumnError, match="new: 'extra'"):
        PCA().fit(paths)
    assert PCA().fit(read_table(paths, exclude=["extra"])).n_features_in_ == 3
    assert PCA().fit(read_table(paths[::-1], exclude=["extra", "a"])).n_features_in_ == 2
    with pytest.raises(ColumnError, match=r"part-0.*: no column 'typo'"):
        PCA().fit(read_table(paths, exclude=["extra", "typo"]))
    with pytest.raises(ColumnError, match="no column 'extra'"):
        PCA().fit(read_table(paths[0], exclude=["extra"]))


def test_columns_of_batches_are_selected_in_each_batch():
    batches = [ROWS[:20].assign(group="a"), ROWS[20:].assign(group="a")]
    for table in (iter(batches), lambda: iter(batches)):
        with pytest.raises(ParameterError) as caught:
            read_table(table, columns=list("abc"))
        assert "fit(batch[names] for batch in batches)" in caught.value.hint
    names = list("abc")
    model = PCA().fit(batch[names] for batch in batches)
    assert np.array_equal(model.components_, PCA().fit(ROWS).components_)
    dates = ROWS.assign(date=pd.Timestamp("2024-01-31"))
    for make, select in ((iter, "batch[names]"), (arrow_batches, "batch.select(names)")):
        with pytest.raises(ParameterError) as caught:
            read_table(make([dates]), columns=names)
        assert select in caught.value.hint
        with pytest.raises(NotNumericError, match="batch 1: column 'date'") as caught:
            PCA().fit(make([dates]))
        assert select in caught.value.hint
        selected = (eval(select, {"batch": batch, "names": names}) for batch in make([dates]))
        assert np.array_equal(PCA().fit(selected).components_, model.components_)


def arrow_batches(frames):
    """A reader of batches of pyarrow."""
    tables = [pa.Table.from_pandas(frame) for frame in frames]
    return pa.RecordBatchReader.from_batches(tables[0].schema, tables[0].to_batches())


def test_names_of_files_are_given_as_a_list(tmp_path):
    for i in range(2):
        ROWS[20 * i : 20 * (i + 1)].to_csv(tmp_path / f"part-{i}.csv", index=False)
    with pytest.raises(ParameterError, match=r"got the path .*part-\d\.csv") as caught:
        PCA().fit(tmp_path.glob("*.csv"))
    files = eval(caught.value.hint.partition("fit(")[2][:-2], {"folder": tmp_path})
    np.testing.assert_allclose(PCA().fit(files).components_, PCA().fit(ROWS).components_)
    with pytest.raises(ParameterError, match=r"several as a list") as caught:
        PCA().fit(str(path) for path in files)


def test_the_hint_for_a_lazy_frame_reads_it_in_batches():
    lazy = pl.from_pandas(ROWS).lazy()
    with pytest.raises(ParameterError, match=r"frame\.collect_batches instead"):
        PCA().fit(lazy)
    assert np.array_equal(PCA().fit(lazy.collect_batches).components_, PCA().fit(ROWS).components_)


def test_the_hint_for_a_relation_of_duckdb_names_its_methods():
    duckdb = pytest.importorskip("duckdb")
    connection = duckdb.connect()
    connection.register("rows", ROWS)
    relation = connection.sql("select * from rows")
    with pytest.raises(ParameterError, match="lazy frame") as caught:
        PCA().fit(relation)
    assert ".df()" in caught.value.hint
    assert "frame.to_arrow_reader" in caught.value.hint
    for rows in (relation.df(), relation.to_arrow_reader):
        assert np.array_equal(PCA().fit(rows).components_, PCA().fit(ROWS).components_)


def test_an_iterator_that_was_read_is_named_as_a_cause():
    batches = iter([ROWS[:20], ROWS[20:]])
    model = PCA().fit(batches)
    with pytest.raises(ShapeError, match="has been read before has none left"):
        model.transform(batches)


def test_a_file_without_names_does_not_fit_a_model_with_names(tmp_path):
    np.save(tmp_path / "rows.npy", ROWS.to_numpy())
    with pytest.raises(ColumnError, match="those of the model have") as caught:
        PCA().fit(ROWS).transform(tmp_path / "rows.npy")
    assert "a table with the columns a, b, c" in caught.value.hint
