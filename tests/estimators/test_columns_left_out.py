"""Columns that a fit leaves out are named in a warning, for frames and files alike."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import make_column_transformer
from sklearn.model_selection import cross_val_score

from engines.on_partitions import Partitions
from princomp import PCA, IncrementalPCA, KernelPCA, RobustPCA, read_table
from princomp.errors import NoRowsError, NotFiniteError, NotNumericError, ShapeError

NAMES = ["Unnamed: 0", "index", "ID", "row_names"]


@pytest.fixture
def frame():
    rows = np.random.default_rng(0).standard_normal((12, 3))
    return pd.DataFrame(rows, columns=list("abc"))


def numbered(frame, name, numbers=None):
    """The frame with a first column of numbers: those given, or the row numbers."""
    return pd.concat([pd.Series(numbers or range(len(frame)), name=name), frame], axis=1)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "convert",
    [lambda f: f, pl.from_pandas, lambda f: f.astype(dict.fromkeys("abc", "float32"))],
    ids=["pandas", "polars", "float32"],
)
def test_a_first_column_that_numbers_the_rows_is_left_out_with_a_warning(frame, name, convert):
    table = convert(numbered(frame, name))
    with pytest.warns(UserWarning, match=f"left out '{name}', the first column, .*rename it"):
        model = PCA(2).fit(table)
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    assert any(f"left out {name!r}, the first column" in note for note in read_table(table).notes)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plain = convert(frame)
        expected = PCA(2).fit(plain).transform(plain)
        for rows in (table, plain):
            np.testing.assert_array_equal(model.transform(rows), expected)
        # Some of the rows, in reverse order.
        assert model.transform(convert(numbered(frame, name))[5:2:-1]).shape == (3, 2)


def test_row_numbers_are_left_out_of_all_parts_of_a_table(frame):
    """The numbers of some rows are neither 0, …, n - 1 nor in order."""
    table = numbered(frame, "id").sample(frac=1, random_state=0)
    with pytest.warns(UserWarning, match="left out 'id'"):
        scores = cross_val_score(PCA(1), table, cv=3, error_score="raise")
    np.testing.assert_array_equal(scores, cross_val_score(PCA(1), table[list("abc")], cv=3))
    with pytest.warns(UserWarning, match="left out 'id'"):
        stream = IncrementalPCA(1).partial_fit(table[:6])
    assert stream.partial_fit(table[6:]).n_features_in_ == 3


@pytest.mark.parametrize("kind", [PCA, IncrementalPCA])
def test_row_numbers_are_left_out_of_batches(frame, kind, tmp_path):
    path = tmp_path / "t.csv"
    frame.to_csv(path)  # with the index as an unnamed first column, as pandas writes it
    expected = kind(2).fit(pd.read_csv(path, index_col=0))
    for batches in (pd.read_csv(path, chunksize=5), lambda: pd.read_csv(path, chunksize=5)):
        with pytest.warns(UserWarning, match="left out 'Unnamed: 0'") as caught:
            model = kind(2).fit(batches)
        assert caught[0].filename == __file__ or kind is not PCA
        np.testing.assert_array_equal(model.components_, expected.components_)
    assert model.transform(batches).shape == (12, 2)  # without a warning
    renamed = (part.rename(columns={"Unnamed: 0": "nr"}) for part in pd.read_csv(path, chunksize=2))
    assert kind(2).fit(renamed).n_features_in_ == 4


def test_fractions_with_a_name_for_row_numbers_are_kept_in_all_batches(frame):
    measured = frame.rename(columns={"a": "index"})
    measured.loc[:5, "index"] = np.arange(6.0)  # whole numbers in the first batch only
    model = PCA(2).fit(part for part in (measured[:6], measured[6:]))
    assert list(model.feature_names_in_) == ["index", "b", "c"]
    np.testing.assert_allclose(model.mean_, measured.mean())


@pytest.mark.parametrize("library", [pd.DataFrame, pl.from_pandas])
@pytest.mark.parametrize("name", ["index", "id"])
def test_any_subset_of_rows_has_the_same_columns(frame, library, name):
    measured = frame.rename(columns={"a": name})
    measured.loc[:7, name] = np.arange(8.0) * 2
    with pytest.warns(UserWarning, match=f"'{name}' holds whole numbers .*analysed") as caught:
        assert PCA(1, scale="unit").fit(library(measured[:8])).n_features_in_ == 3
    assert len(caught) == 1
    for rows in (measured[4:], measured):
        assert PCA(1, scale="unit").fit(library(rows)).n_features_in_ == 3
    repeated = frame.assign(a=[0, 1, 2] * 4).rename(columns={"a": name})
    for rows in (repeated, repeated[:3]):
        with pytest.warns(UserWarning, match=f"left out '{name}', .*columns of this name usually"):
            assert PCA(1, scale="unit").fit(library(rows)).n_features_in_ == 2


def test_row_numbers_can_be_kept(frame):
    table = numbered(frame, "id", [5, 3, 2, 8, 1, 9, 4, 7, 6, 0, 11, 10])
    for rows in (
        table.rename(columns={"id": "number"}),
        read_table(table, id_column=False),
        read_table(table, columns=["id", "a", "b", "c"]),
        table.assign(id=table["id"] + 0.5),
    ):
        assert PCA(1).fit(rows).n_features_in_ == 4
    with pytest.warns(UserWarning, match="'id' is named like an identifier"):
        assert PCA(1).fit(table[["a", "id", "b", "c"]]).n_features_in_ == 4
    assert PCA(1).fit(table[["id"]]).n_features_in_ == 1


def test_a_first_column_that_counts_the_rows_causes_a_warning(frame):
    for start in (0, 1):
        table = numbered(frame, "nr", list(range(start, start + 12)))
        with pytest.warns(UserWarning, match=f"'nr', .* counts the rows from {start} and is"):
            assert PCA(1).fit(table).n_features_in_ == 4
        assert "counts the rows" in read_table(table).notes[0]
    for other in (table.set_axis([4, 5, 6, 7], axis=1), table[1:-1][::-1], table.set_index("nr")):
        PCA(1).fit(other)  # no warning


def test_whole_numbers_as_floats_with_a_name_for_row_numbers_cause_a_warning(frame):
    table = numbered(frame, "id").astype(float)
    with pytest.warns(UserWarning, match="'id' holds whole numbers of a floating-point type"):
        assert PCA(1).fit(table).n_features_in_ == 4


def test_the_first_of_two_columns_may_be_the_time(frame):
    with pytest.warns(UserWarning, match="'time', the first column, only"):
        PCA(1, scale="unit").fit(pd.DataFrame({"time": np.arange(12.0) ** 2, "a": frame["a"]}))


def test_columns_of_a_model_are_needed_as_numbers(frame):
    model = PCA(1).fit(frame)
    with pytest.raises(NotNumericError) as caught:
        model.transform(frame.assign(a="u"))
    assert caught.value.hint.startswith("The model needs numbers in this column")
    with pytest.warns(UserWarning, match="the text of 'a' is read as numbers"):
        found = model.transform(frame.assign(a=frame["a"].map(repr)))
    np.testing.assert_array_equal(found, model.transform(frame))


def test_rows_of_an_engine_without_columns_are_refused():
    rows = Partitions(engine="partitions", rows=3, p=0, dtype=np.dtype(float), parts=[])
    with pytest.raises(ShapeError, match=r"0 feature\(s\) \(shape=\(1, 0\)\)"):
        PCA(1).fit(rows)


@pytest.mark.parametrize("untrusted", [False, True])
def test_a_first_column_that_goes_up_by_one_causes_a_warning(frame, tmp_path, untrusted):
    path = tmp_path / "t.csv"
    message = r"'nr', the first column, counts up from 10001 and .*out with {}\['nr'\]"
    table = numbered(frame, "nr", list(range(10_001, 10_013)))
    table.to_csv(path, index=False)
    file = read_table(path, untrusted=untrusted)
    for rows, leave_out in (
        (table, r"frame.drop\(columns="),
        (pl.from_pandas(table), r"frame.drop\("),
        (table[:5], r"frame.drop\(columns="),
        (file, "exclude="),
    ):
        with pytest.warns(UserWarning, match=message.format(leave_out)):
            assert PCA(1).fit(rows).n_features_in_ == 4
    PCA(1).fit(table.drop(columns=["nr"]))  # no warning
    PCA(1).fit(pl.from_pandas(table).drop(["nr"]))
    others = (
        read_table(path, untrusted=untrusted, exclude=["nr"]),
        read_table(path, untrusted=untrusted, id_column=False),
        read_table(table, columns=list(table)),
    )
    for other in (table[:4], table[::2], table[::-1], table.astype({"nr": "f4"}), *others):
        PCA(1).fit(other)  # no warning


@pytest.mark.parametrize(
    ("pattern", "dates"),
    [
        ("YYYYMM", [year * 100 + month for year in (1981, 1982) for month in range(7, 13)]),
        ("YYYYMMDD", [20240224 + i for i in range(6)] + [20240301 + i for i in range(6)]),
    ],
)
def test_a_first_column_of_dates_as_whole_numbers_causes_a_warning(frame, tmp_path, pattern, dates):
    path, table = tmp_path / "t.csv", numbered(frame, "x", dates)
    table.to_csv(path, index=False)
    message = rf"'x', the first column, looks like dates \({pattern}\) and is analysed: leave"
    for rows in (table, table[::-1], pl.from_pandas(table), read_table(path)):
        with pytest.warns(UserWarning, match=message):
            assert PCA(1, scale="unit").fit(rows).n_features_in_ == 4
    with pytest.warns(UserWarning, match=rf"{message} it out with frame.drop\(columns=\['x'\]\)"):
        PCA(1, scale="unit").fit(table.astype(float))
    PCA(1).fit(table[["x"]].astype(float))  # there is no other column
    others = (
        table[:4],
        table.replace({"x": {dates[3]: dates[2]}}),
        table.assign(x=table["x"] + 9),  # there are no such months and days
        table.assign(x=table["x"] - dates[0] // 2),  # long ago
        read_table(path, exclude=["x"]),
        read_table(path, id_column=False),
    )
    for other in others:
        PCA(1, scale="unit").fit(other)  # no warning


def test_columns_without_numbers_are_named_by_kind(frame):
    n = len(frame)
    table = frame.assign(
        cat=pd.Categorical([1, 2] * (n // 2)),
        list=[[1, 2]] * n,
        month=pd.period_range("2020-01", periods=n, freq="M"),
        span=pd.arrays.IntervalArray.from_breaks(range(n + 1)),
        record=[{"a": 1}] * n,
    )
    kinds = {
        "categorical": "cat",
        "list": "list",
        "period": "month",
        "interval": "span",
        "record": "record",
    }
    message = "; ".join(f"left out 1 {kind} column: {name}" for kind, name in kinds.items())
    with pytest.warns(UserWarning, match=message):
        model = PCA(2).fit(table)
    assert model.transform(table).shape == (n, 2)  # without a warning


@pytest.mark.parametrize("kind", [PCA, IncrementalPCA, KernelPCA])
def test_files_cause_the_same_warning_as_frames(frame, tmp_path, kind):
    path = tmp_path / "t.csv"
    frame.assign(group=["u", "v"] * 6, day="2024-03-01").to_csv(path, index=False)
    for rows in (path, str(path), [path], read_table(path)):
        with pytest.warns(UserWarning, match=r"left out 1 text column: group; .*day\.") as caught:
            model = kind(2).fit(rows)
        assert len(caught) == 1
        assert kind is not PCA or caught[0].filename == __file__
    assert model.transform(path).shape == (12, 2)
    kind(2).fit(read_table(path, exclude=["group", "day"]))
    kind(2).fit(read_table(path, columns=["a", "b", "c"]))


def test_a_warning_names_the_file_where_not_all_files_have_the_column(frame, tmp_path):
    paths = [tmp_path / "one.csv", tmp_path / "two.csv"]
    frame.assign(d="x").to_csv(paths[0], index=False)
    frame.assign(d="x", e=["x", "y"] * 6).to_csv(paths[1], index=False)
    with pytest.warns(UserWarning, match=r"one\.csv: left out 1 text column: d; .*columns: d, e"):
        PCA(1).fit(paths)


def test_new_rows_may_lack_row_numbers(frame):
    table = numbered(frame, "id")
    with pytest.warns(UserWarning, match="left out 'id'"):
        model = PCA(1).fit(table)
    expected = model.transform(frame)
    table = table.astype({"id": "float64"})
    table.loc[3, "id"] = np.nan
    np.testing.assert_array_equal(model.transform(table), expected)


@pytest.mark.filterwarnings("ignore:left out")
def test_columns_left_out_may_be_among_the_input_features(frame):
    frame.insert(1, "flag", frame.a > 0)
    kept = make_column_transformer((PCA(2), ["a", "flag", "b"])).fit(frame)
    assert list(kept.get_feature_names_out()) == ["pca__PC1", "pca__PC2"]
    model = PCA(2).fit(frame)
    assert list(model.get_feature_names_out(frame.columns)) == ["PC1", "PC2"]
    for names in (["a", "flag", "c", "b"], ["a", "flag", "b"], []):
        with pytest.raises(ValueError, match="input_features"):
            model.get_feature_names_out(names)


@pytest.mark.parametrize("convert", [pd.DataFrame, pl.DataFrame])
def test_the_hint_for_a_table_without_rows_is_true_of_new_rows(convert, frame):
    model = PCA(2).fit(frame)
    with pytest.raises(NoRowsError, match=r"at least one row of numbers \(two for a fit\)"):
        model.transform(convert(frame[:0]))
    assert model.transform(convert(frame[:1])).shape == (1, 2)


def test_a_mixed_column_is_reported_by_its_text(frame):
    with pytest.warns(UserWarning, match="left out 1 text column: m"):
        PCA(1).fit(frame.assign(m=[1.5, *"abcdefghijk"]))


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_fractions_with_a_name_for_row_numbers_are_left_out_of_files(frame, ending, tmp_path):
    table, path = frame.rename(columns={"a": "index"}), tmp_path / f"t.{ending}"
    table.to_csv(path, index=False) if ending == "csv" else table.to_parquet(path)
    with pytest.warns(UserWarning, match="column 'index' holds fractions, but its name"):
        assert PCA(1).fit(path).n_features_in_ == 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert PCA(1).fit(read_table(path, id_column=False)).n_features_in_ == 3
        frame.to_csv(tmp_path / "u.csv", index_label="")
        assert PCA(1).fit(tmp_path / "u.csv").n_features_in_ == 3


@pytest.mark.parametrize("kind", [PCA, IncrementalPCA, KernelPCA, RobustPCA])
def test_columns_without_names_are_left_out_again(frame, kind):
    """``pd.read_csv(path, header=None)`` numbers the columns."""
    table = frame.assign(group=["u", "v"] * 6, flag=[True, False] * 6).set_axis(range(5), axis=1)
    with pytest.warns(UserWarning, match="left out 1 text column: 3; .*true/false column: 4"):
        model = kind(1).fit(table)
    np.testing.assert_array_equal(model.transform(table), model.transform(frame.to_numpy()))
    with pytest.raises(ShapeError, match=f"X has 2 features, but {kind.__name__} is expecting 3"):
        model.transform(table[[0, 1, 3, 4]])


@pytest.mark.parametrize("dtype", ["float64", "int64", "object"])
def test_columns_without_names_are_used_in_their_order(frame, dtype):
    table = frame.round().astype(dtype)
    model = PCA(2).fit(table)
    with pytest.warns(UserWarning, match="does not have valid feature names") as caught:
        scores = model.transform(table.set_axis(range(3), axis=1))
    assert len(caught) == 1
    np.testing.assert_array_equal(scores, model.transform(table))


def sparse_frame(columns):
    frame = pd.DataFrame(columns)
    return frame.astype(pd.SparseDtype(bool)) if True in columns["a"] else frame


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, sparse_frame])
def test_a_frame_of_true_and_false_alone_has_a_hint(library):
    answers = {"a": [True, False, True], "b": [False, False, True]}
    with pytest.raises(ShapeError, match="without numbers: a, b") as caught:
        PCA(1).fit(library(answers))
    assert "true/false as 1 and 0, convert it: X.astype(int)" in caught.value.hint
    with pytest.raises(ShapeError) as caught:
        PCA(1).fit(library({"a": ["x", "y"]}))
    assert "true/false" not in caught.value.hint


def test_a_file_of_true_and_false_alone_has_a_hint(frame, tmp_path):
    path = tmp_path / "t.csv"
    (frame > 0).to_csv(path, index=False)
    with pytest.raises(ShapeError, match=r"name the columns \(columns=\)"):
        PCA(1).fit(path)
    assert PCA(1).fit(read_table(path, columns=["a", "b"])).n_features_in_ == 2


def test_the_hint_for_missing_cells_names_empty_columns(frame, tmp_path):
    frame["e"] = np.nan
    with pytest.raises(NotFiniteError) as caught:
        PCA(2).fit(frame)
    assert caught.value.hint == "leave out the empty column 'e'"
    rows = frame.assign(f=np.nan).to_numpy()
    rows[3, 1] = np.nan
    with pytest.raises(NotFiniteError) as caught:
        PCA(2).fit(rows)
    assert caught.value.hint.startswith("leave out the empty columns 3, 4; for other missing cells")
    np.save(tmp_path / "rows.npy", rows)
    with pytest.raises(NotFiniteError) as in_file:
        PCA(2).fit(tmp_path / "rows.npy")
    assert in_file.value.hint.startswith(
        f"column 3 has no number in the first {len(rows)} rows: leave it out if it is empty; for "
    )
    rows[-1, 3] = 1.0
    np.save(tmp_path / "rows.npy", rows)
    with pytest.raises(NotFiniteError) as in_file:
        PCA(2).fit(tmp_path / "rows.npy")
    assert in_file.value.hint.startswith("leave such rows out")
    with pytest.raises(NotFiniteError) as caught:
        PCA(2).fit(frame[["a", "b", "c"]]).transform(frame[["a", "b", "c"]] * np.nan)
    assert "empty column" not in caught.value.hint
