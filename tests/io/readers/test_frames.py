"""Tables from pandas, polars and pyarrow frames."""

from __future__ import annotations

import datetime as dt
import decimal
import subprocess
import sys

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from princomp import PCA, read_table
from princomp.errors import (
    ColumnError,
    NotFiniteError,
    NotNumericError,
    ParameterError,
    ShapeError,
)
from princomp.io.readers import files
from princomp.io.readers.frames import from_frame, is_frame, select_usable_columns

MAKERS = [pytest.param(make, id=make.__module__) for make in (pd.DataFrame, pl.DataFrame)]
MAKERS.append(pytest.param(pa.table, id="pyarrow"))
every_library = pytest.mark.parametrize("make", MAKERS)


@every_library
def test_numbers_booleans_and_nulls_become_floats(make):
    frame = make({"f": [0.5, None, -np.inf], "i": [1, 2, None], "b": [True, False, True]})
    table = from_frame(frame)
    assert table.columns == ("f", "i", "b")
    assert table.data.dtype == np.float64
    np.testing.assert_array_equal(table.data, [[0.5, 1, 1], [np.nan, 2, 0], [-np.inf, np.nan, 1]])
    assert table.ids is None
    assert table.notes == ()
    assert table.file is None


@every_library
def test_the_frame_is_never_modified(make):
    x = np.arange(4.0)
    frame = make({"a": x})
    table = from_frame(frame)
    table.data[:] = -1
    assert x.tolist() == [0, 1, 2, 3]
    assert from_frame(frame).data[:, 0].tolist() == [0, 1, 2, 3]


@every_library
def test_float32_is_kept_only_if_all_used_columns_have_it(make):
    single, double = np.ones(2, np.float32), np.ones(2)
    frame = make({"a": single, "b": single, "c": double, "s": ["x", "y"]})
    assert from_frame(frame, columns=["a", "b"]).data.dtype == np.float32
    assert from_frame(frame, exclude=["c"], text="leave out").data.dtype == np.float32
    assert from_frame(frame, exclude=["s"]).data.dtype == np.float64


@every_library
def test_text_is_refused_or_left_out(make):
    frame = make({"x": [1.0, 2.0], "s": [None, "Alabama"]})
    with pytest.raises(NotNumericError, match=r"column 's' row 1: 'Alabama' is not") as caught:
        from_frame(frame)
    assert caught.value.place == {"column": "s", "row": 1}
    assert from_frame(frame, text="leave out").notes == ("left out 1 text column: s",)
    with pytest.raises(NotNumericError, match="Alabama"):
        from_frame(frame, columns=["s"], text="leave out")


@every_library
def test_dates_times_and_lists_are_treated_as_text(make):
    day = dt.datetime(2020, 1, 2)
    frame = make({"x": [1.0], "d": [day], "u": [dt.timedelta(1)], "l": [[1, 2]], "b": [b"1"]})
    assert from_frame(frame, text="leave out").columns == ("x",)
    for name in "dulb":
        with pytest.raises(NotNumericError, match=f"column '{name}' row 0"):
            from_frame(frame, columns=[name])


@every_library
def test_numeric_text_is_read_only_on_request(make):
    frame = make({"zip": ["01234", None, "2"], "x": [1.0, 2.0, 3.0]})
    for text in ("error", "leave out"):
        with pytest.raises(NotNumericError, match="row 0: the number '01234' is written as text"):
            from_frame(frame, text=text)
    np.testing.assert_array_equal(from_frame(frame, columns=["zip"]).data[:, 0], [1234, np.nan, 2])


@every_library
def test_columns_mostly_of_numbers_are_refused_and_not_left_out(make):
    frame = make({"x": ["1", "2", "abc", None]})
    with pytest.raises(NotNumericError, match=r"row 2: 'abc' .*1 of its 3 nonempty cells is not"):
        from_frame(frame, text="leave out")


@every_library
def test_decimals_are_numbers(make):
    frame = make({"d": [decimal.Decimal("1.25"), None]})
    np.testing.assert_array_equal(from_frame(frame).data[:, 0], [1.25, np.nan])


@every_library
@pytest.mark.parametrize("value", [2**53 + 1, -(2**53) - 1, 2**63 - 1])
def test_integers_that_would_lose_digits_are_refused(make, value):
    for cells in ([1, value], [1, value, None]):
        frame = make({"i": pd.array(cells, dtype="Int64") if make is pd.DataFrame else cells})
        with pytest.raises(NotNumericError, match=rf"column 'i' row 1: the integer {value}"):
            from_frame(frame)
    assert from_frame(make({"i": [2**53]})).data[0, 0] == 2.0**53


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame([[1, 2, 3]], columns=["a", "b", "a"]),
        pa.table([pa.array([1])] * 3, names=["a", "b", "a"]),
    ],
    ids=["pandas", "pyarrow"],
)
def test_duplicate_names_are_refused(frame):
    assert is_frame(frame)
    with pytest.raises(ColumnError, match="twice or more: a"):
        from_frame(frame)


@every_library
def test_empty_frames_are_refused(make):
    with pytest.raises(ShapeError, match="no rows"):
        from_frame(make({"a": np.array([], float)}))
    with pytest.raises(ShapeError, match="no column"):
        from_frame(make({}))


@every_library
def test_columns_exclude_and_id_column_select_columns(make):
    frame = make({"n": ["x", None], "a": [1, 2], "b": [3, 4], "c": [5, 6]})
    table = from_frame(frame, exclude=["b"], id_column="n")
    assert table.columns == ("a", "c")
    assert table.ids.tolist() == ["x", None]
    assert from_frame(frame, columns=["c", "a"]).data.tolist() == [[5, 1], [6, 2]]
    with pytest.raises(ColumnError, match="no column 'z'"):
        from_frame(frame, columns=["z"])


def test_an_unknown_option_is_answered_with_all_options():
    with pytest.raises(ParameterError, match="'id' is not an option of reading") as caught:
        read_table("rows.csv", id="name")
    assert "columns, exclude, id_column, sep" in caught.value.hint


@every_library
def test_the_hint_for_further_columns_selects_those_of_the_fit(make, rng):
    frame = make(dict(zip("ab", rng.standard_normal((2, 9)), strict=True)))
    model = PCA().fit(frame)
    wider = make({"w": np.ones(9), "b": frame["b"], "a": frame["a"]})
    with pytest.raises(ColumnError) as caught:
        model.transform(wider)
    code = caught.value.hint.partition("in their order: ")[2]
    selected = eval(code, {"X": wider, "model": model})
    np.testing.assert_array_equal(model.transform(selected), model.transform(frame))
    with pytest.raises(ColumnError) as caught:
        model.transform(make({"a": frame["a"]}))
    assert caught.value.hint == "missing: 'b'; give the columns of the fit, in their order"


@every_library
def test_entirely_empty_text_is_a_column_of_nan(make):
    table = from_frame(make({"a": [1.0, 2.0], "e": [None, None], "s": ["", "NA"]}))
    assert table.columns == ("a", "e", "s")
    assert np.isnan(table.data[:, 1:]).all()


def test_nullable_and_arrow_types_of_pandas_are_read():
    frame = pd.DataFrame(
        {
            "i": pd.array([1, None], dtype="Int64"),
            "f": pd.array([1.5, None], dtype="Float32"),
            "b": pd.array([True, None], dtype="boolean"),
            "ai": pd.array([1, None], dtype="int64[pyarrow]"),
            "ab": pd.array([True, None], dtype="bool[pyarrow]"),
            "ad": pd.array([decimal.Decimal(2), None], dtype=pd.ArrowDtype(pa.decimal128(9))),
            "sp": pd.arrays.SparseArray([1.0, np.nan]),
            "o": pd.Series([1, None], dtype=object),
            "ob": pd.Series([True, None], dtype=object),
        }
    )
    row = [1, 1.5, 1, 1, 1, 2, 1, 1, 1]
    np.testing.assert_array_equal(from_frame(frame).data, [row, [np.nan] * 9])


@pytest.mark.parametrize("cells", [[True, None, False], [None, np.bool_(False), True]])
def test_booleans_with_missing_cells_are_left_out_as_booleans(cells):
    frame = pd.DataFrame({"x": [1.0, 2, 3], "b": pd.Series(cells, dtype=object)})
    table = from_frame(frame, text="leave out")
    assert table.columns == ("x",)
    assert table.notes == ("left out 1 true/false column: b",)
    assert from_frame(frame, columns=["b"], text="leave out").columns == ("b",)


def test_sparse_booleans_of_pandas_are_left_out_as_booleans():
    frame = pd.get_dummies(pd.DataFrame({"x": [1.0, 2, 4], "g": ["a", "b", "a"]}), sparse=True)
    table = from_frame(frame, text="leave out")
    assert table.columns == ("x",)
    assert table.notes == ("left out 2 true/false columns: g_a, g_b",)
    assert select_usable_columns(frame, ["x"]).columns.tolist() == ["x"]
    chosen = from_frame(frame, columns=["g_b"], text="leave out")
    assert chosen.data.tolist() == [[0], [1], [0]]


def test_categories_are_labels_even_if_they_look_like_numbers():
    for frame in (
        pd.DataFrame({"c": pd.Categorical([1, 2, None]), "x": [1.0, 2, 3]}),
        pa.table({"c": pa.array([1, 2, None]).dictionary_encode(), "x": [1.0, 2, 3]}),
        pl.DataFrame({"c": pl.Series(["1", "2", None], dtype=pl.Categorical), "x": [1.0, 2, 3]}),
    ):
        with pytest.raises(NotNumericError, match="column 'c' row 0: the number '1' is written"):
            from_frame(frame)
    words = pd.DataFrame({"c": pd.Categorical(["u", None]), "x": [1.0, 2.0]})
    assert from_frame(words, text="leave out").columns == ("x",)


@pytest.mark.parametrize("dtype", [">f8", ">f4", ">i4", "f2", "longdouble", "u1"])
def test_arrays_of_any_real_kind_inside_pandas_are_read(dtype):
    table = from_frame(pd.DataFrame({"a": np.array([1, 2], dtype)}))
    assert table.data.dtype == np.float64
    assert table.data[:, 0].tolist() == [1, 2]


def test_large_big_endian_integers_are_refused():
    with pytest.raises(NotNumericError, match="row 1: the integer 9007199254740993"):
        from_frame(pd.DataFrame({"a": np.array([1, 2**53 + 1], ">i8")}))


def test_large_polars_integers_are_refused():
    for kind in (pl.UInt64, pl.Int128):
        assert from_frame(pl.DataFrame({"a": pl.Series([7], dtype=kind)})).data[0, 0] == 7
        with pytest.raises(NotNumericError, match=str(2**63)):
            from_frame(pl.DataFrame({"a": pl.Series([2**63], dtype=kind)}))


def test_complex_numbers_are_refused():
    with pytest.raises(NotNumericError, match="column 'c' holds complex numbers"):
        from_frame(pd.DataFrame({"c": [1j]}), text="leave out")


def test_mixed_objects_are_refused_with_their_first_text():
    with pytest.raises(NotNumericError, match="column 'o' row 1: 'x' is not a number"):
        from_frame(pd.DataFrame({"o": pd.Series([1, "x"], dtype=object)}))


def test_labels_that_are_not_strings_are_not_names():
    table = from_frame(pd.DataFrame(np.eye(2)))
    assert table.columns is None
    table = from_frame(pd.DataFrame({("a", 1): [1.0], ("a", 2): [2.0]}))
    assert table.columns is None
    assert table.data.tolist() == [[1, 2]]
    assert from_frame(pd.DataFrame({"a": [1.0], 0: [2.0]})).columns == ("a", "0")
    with pytest.raises(NotNumericError, match="column '1' row 0"):
        from_frame(pd.DataFrame({0: [1.0], 1: ["x"]}))


def test_ids_keep_their_type():
    table = from_frame(pd.DataFrame({"n": [7, 8], "a": [1.0, 2.0]}), id_column="n")
    assert table.ids.dtype == object
    assert table.ids.tolist() == [7, 8]


def test_narwhals_frames_are_accepted():
    frame = nw.from_native(pl.DataFrame({"a": [1.0]}))
    assert is_frame(frame)
    assert from_frame(frame).columns == ("a",)


def test_lazy_frames_are_refused_with_a_hint_to_collect():
    lazy = pl.LazyFrame({"a": [1.0]})
    assert is_frame(lazy)
    with pytest.raises(ParameterError, match=r"\.collect\(\)"):
        from_frame(lazy)


def test_other_objects_are_not_frames():
    for other in (np.eye(2), [[1]], ((1,),), None, "a", 3, pd.Series([1]), {"a": [1]}):
        assert not is_frame(other)


def test_is_frame_imports_no_frame_library():
    code = (
        "import sys\n"
        "from princomp.io.readers.frames import is_frame\n"
        "is_frame(object())\n"
        "print({'pandas', 'polars', 'pyarrow'} & sys.modules.keys() or 'none')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "none"


def test_whole_numbers_stand_for_names_of_columns():
    frame = pd.DataFrame([[1.0, 2.0, 3.0]])
    assert from_frame(frame, columns=[2, np.int64(0)]).data.tolist() == [[3, 1]]
    assert from_frame(frame, exclude=np.array([1])).data.tolist() == [[1, 3]]
    with pytest.raises(ColumnError, match="'9'"):
        from_frame(frame, columns=[9])


@pytest.mark.parametrize(
    ("dtype", "labels"), [("string", ["a", pd.NA, "c"]), ("Int64", [1, pd.NA, 3])]
)
def test_a_row_whose_label_is_missing_is_named_by_its_number(dtype, labels):
    index = pd.Index(labels, dtype=dtype)
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0], "y": [1.0, np.nan, 4.0]}, index=index)
    with pytest.raises(NotFiniteError, match="the first at row 1, column 'y'"):
        PCA(1).fit(frame)


@pytest.mark.parametrize(
    ("integer", "shown"),
    [(2**70 + 1,) * 2, (10**400,) * 2, (-(10**400),) * 2, (-(10**5000), r"-1\.000e\+5000")],
    ids=["70", "400", "-400", "-5000"],
)
def test_integers_that_float64_cannot_hold_are_refused(integer, shown):
    with pytest.raises(NotNumericError, match=rf"column 'x' row 1: the integer {shown} is"):
        from_frame(pd.DataFrame({"x": [2, integer], "y": [1.0, 3.0]}))
    rows = [[2, 3], [1, integer], [4, 4]]
    for array in (rows, np.array(rows, dtype=object)):
        with pytest.raises(NotNumericError, match=f"column 1 row 1: the integer {shown} is"):
            PCA(1).fit(array)


def test_columns_of_a_fit_are_selected_in_linear_time():
    compared = []

    class Name(str):
        __slots__ = ()
        __hash__ = str.__hash__

        def __eq__(self, other):
            compared.append(other)
            return str.__eq__(self, other)

    names = [f"x{j}" for j in range(200)]
    frame = pd.DataFrame(np.ones((2, 200)), columns=names).assign(text="a")
    selected = select_usable_columns(frame, tuple(map(Name, names)))
    assert selected.columns.tolist() == names
    assert len(compared) <= 3 * len(names)


@pytest.mark.parametrize("kind", ["pandas", "pandas with Arrow", "polars", "pyarrow"])
def test_decimals_are_rounded_to_the_nearest_float(kind):
    def frame(cells, precision, scale):
        table = pa.table({"a": pa.array(cells, pa.decimal128(precision, scale))})
        return {
            "pandas": lambda: table.to_pandas(),
            "pandas with Arrow": lambda: table.to_pandas(types_mapper=pd.ArrowDtype),
            "polars": lambda: pl.from_arrow(table),
            "pyarrow": lambda: table,
        }[kind]()

    cells = [decimal.Decimal(k) / 100 for k in range(200)] + [
        None,
        decimal.Decimal("9007199254740993.25"),
    ]
    found = from_frame(frame(cells, 20, 2)).data[:, 0].tolist()
    assert found[200] != found[200]
    assert found[:200] + found[201:] == [float(cell) for cell in cells if cell is not None]
    with pytest.raises(NotNumericError, match="column 'a' row 1: the integer 9007199254740993 is"):
        from_frame(frame([decimal.Decimal(1), decimal.Decimal(2**53 + 1), None], 38, 0))


def test_integers_among_fractions_in_lists_are_not_rounded():
    rows = [[1, 0.5], [2**53 + 1, 1.5], [4, 1e300]]
    for table in (rows, tuple(map(tuple, rows))):
        with pytest.raises(
            NotNumericError, match="column 0 row 1: the integer 9007199254740993 is"
        ):
            PCA(1).fit(table)
    assert PCA(1).fit([[1, 0.5], [2**53, 1.5], [4, 3.0]]).n_samples_ == 3


LISTS = np.random.default_rng(0).standard_normal((30, 4)).astype(np.float32)
ARROW_LISTS = pa.table(
    {
        "list": pa.array(list(LISTS)),
        "array": pa.FixedSizeListArray.from_arrays(LISTS.ravel(), 4),
    }
)


@pytest.mark.parametrize(
    "frame",
    [
        ARROW_LISTS,
        pl.from_arrow(ARROW_LISTS),
        ARROW_LISTS.to_pandas(),
        ARROW_LISTS.to_pandas(types_mapper=pd.ArrowDtype),
        pd.DataFrame({"list": LISTS.tolist()}),
    ],
    ids=["pyarrow", "polars", "arrays", "pandas of Arrow", "lists"],
)
def test_the_hints_for_columns_of_lists_work(frame):
    for rows, error, message in (
        (frame, ShapeError, "no numeric column"),
        (read_table(frame, columns=["list"]), NotNumericError, "column 'list' row 0: a list"),
    ):
        with pytest.raises(error, match=message) as caught:
            PCA(2).fit(rows)
        code = caught.value.hint.partition("give ")[2].rstrip(".")
        assert np.allclose(eval(code, {"numpy": np, "frame": frame}), LISTS)


def test_cells_of_lists_in_files_are_not_converted_to_text(tmp_path, monkeypatch):
    def refuse(array):
        raise AssertionError("the cells of lists are not needed")

    monkeypatch.setattr("princomp.io.readers.columnar_stream.as_text", refuse)
    pl.from_arrow(ARROW_LISTS).write_parquet(tmp_path / "t.parquet")
    with pytest.raises(ShapeError, match="read the file as a frame") as caught:
        PCA(2).fit(tmp_path / "t.parquet")
    assert "frame['list'].to_numpy()" in caught.value.hint


@pytest.mark.parametrize("small", [False, True])
def test_text_that_a_model_takes_for_numbers_causes_a_warning(
    small, tmp_path, monkeypatch, princomp
):
    if not small:
        monkeypatch.setattr(files, "SMALL_FILE_BYTES", 0)
    frame = pl.DataFrame({"a": [1.0, 2.5, 4.0, 8.0], "b": [0.5, 1.5, 1.0, 3.0]})
    model = PCA().fit(frame)
    model.save("m.pca")
    written = frame.with_columns(pl.col("b").cast(pl.String))
    written.write_parquet("t.parquet")
    with pytest.raises(NotNumericError, match="is written as text"):
        PCA().fit("t.parquet")
    message = "the text of 'b' is read as numbers"
    for table in (written, written.to_pandas(), "t.parquet"):
        with pytest.warns(UserWarning, match=message):
            scores = model.transform(table)
        np.testing.assert_array_equal(scores, model.transform(frame))
    assert princomp("transform", "m.pca", "t.parquet").err == f"note: {message}\n"
    frame.write_parquet("t.parquet")
    assert princomp("transform", "m.pca", "t.parquet").err == ""
