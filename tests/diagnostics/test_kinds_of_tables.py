"""Tables of the same frame type as the input, with the names of their rows."""

from __future__ import annotations

import subprocess
import sys
from copy import copy

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import princomp
from command_line import ENVIRONMENT, ROOT
from princomp import PCA, KernelPCA, diagnostics as d, load, plots, read_table, report
from princomp.errors import ColumnError, ParameterError, ShapeError

STATES = ROOT / "examples" / "usarrests.csv"
FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.Table}


@pytest.fixture(scope="session")
def frames():
    table = pd.read_csv(STATES)
    return {
        "pandas": table,
        "polars": pl.from_pandas(table),
        "pyarrow": pa.Table.from_pandas(table, preserve_index=False),
    }


@pytest.fixture(scope="session")
def model(frames):
    return PCA(2, scale="unit").fit(frames["pandas"].drop(columns="State"))


@pytest.mark.parametrize("kind", FRAMES)
def test_every_function_returns_the_type_of_its_input(kind, frames, model):
    X = frames[kind]
    group = ["a", "b"] * 25
    tables = [
        d.rows(model, X, ids="State"),
        d.rows(model, X, ids="State", form="long"),
        d.distances(model, X, ids="State"),
        d.contributions(model, X, ids="State"),
        d.contributions(model, X, ids="State", form="wide"),
        d.outliers(model, X, ids="State"),
    ]
    bare = (
        X.drop(columns="State")
        if kind == "pandas"
        else (X.drop("State") if kind == "polars" else X.drop_columns("State"))
    )
    tables += [
        d.reconstruction_error(model, bare),
        d.supplementary_columns(model, bare, bare),
        d.categories(model, bare, group),
        d.metadata(model, bare, {"group": group, "number": np.arange(50)}),
        d.variables(model, frame=kind),
        d.kmo(model, frame=kind).variables,
    ]
    for table in tables:
        assert type(table) is FRAMES[kind]
    names = tables[0]["row"]
    assert (names.to_pylist() if kind == "pyarrow" else names.to_list())[:2] == [
        "Alabama",
        "Alaska",
    ]


def test_other_frame_types_can_be_requested(frames, model):
    X = frames["polars"].drop("State")
    for kind, frame_type in FRAMES.items():
        assert type(d.distances(model, X, frame=kind)) is frame_type
    assert type(d.distances(model, X, frame="listing")) is d.Listing
    assert type(d.variables(model)) is pd.DataFrame  # pandas is loaded
    with pytest.warns(UserWarning, match="valid feature names"):
        assert type(d.distances(model, X.to_numpy())) is pd.DataFrame


def test_set_output_is_respected(frames, arrests):
    model = PCA(2).fit(arrests).set_output(transform="polars")
    assert type(d.distances(model, arrests)) is pl.DataFrame
    assert type(d.variables(model)) is pl.DataFrame


@pytest.mark.parametrize("transform", ["default", "pandas", "polars"])
@pytest.mark.parametrize("kind", list(FRAMES))
def test_the_type_of_a_frame_overrides_set_output(frames, model, kind, transform):
    model = copy(model).set_output(transform=transform)
    X = frames[kind]
    y = [float(i) for i in range(50)]
    for table in (d.rows(model, X, ids="State"), d.outliers(model, X), d.metadata(model, X, y)):
        assert type(table) is FRAMES[kind]


def test_the_index_of_a_pandas_frame_stays(frames, model):
    X = frames["pandas"].set_index("State")
    for table in (d.rows(model, X), d.distances(model, X)):
        assert table.index.equals(X.index)
        assert table["row"].tolist() == list(X.index)
    far = d.outliers(model, X)
    assert list(far.index) == far["row"].tolist() == ["Alaska", "Rhode Island"]


def test_mismatched_row_labels_are_refused(frames, model):
    X = frames["pandas"].set_index("State")
    group = pd.Series(["a", "b"] * 25, index=X.index, name="group")
    assert d.categories(model, X, group)["column"].tolist() == ["group"] * 4
    with pytest.raises(ParameterError, match="row labels") as caught:
        d.metadata(model, X, group.sort_values())
    assert "X.index" in caught.value.hint
    with pytest.raises(ParameterError, match=r"row labels of data\['g'\] differ") as caught:
        d.metadata(model, X, {"g": group.sort_values(), "n": np.arange(50)})
    assert "use data['g'].loc[X.index]" in caught.value.hint


@pytest.mark.parametrize(
    "call",
    [
        d.rows,
        d.distances,
        d.contributions,
        d.outliers,
        report,
        plots.scores,
        plots.biplot,
        plots.outliers,
    ],
    ids=lambda call: call.__name__,
)
def test_ids_with_the_labels_of_other_rows_are_refused(call, frames, model):
    """Else rows would get the names of others, as in every other call that takes a series."""
    X = frames["pandas"].set_index("State")
    ids = pd.Series([f"{state}@x" for state in X.index], index=X.index)
    call(model, X, ids=ids)
    call(model, X, ids=ids.set_axis(range(50)))  # no label of X: by position
    with pytest.raises(ParameterError, match="index of ids is that of X in another order") as error:
        call(model, X, ids=ids[::-1])
    assert error.value.place == {"parameter": "ids"}
    assert "give ids.loc[X.index], or ids.to_numpy()" in error.value.hint
    with pytest.raises(ParameterError, match="index of ids has 40 of the 50 labels of X"):
        call(model, X, ids=pd.Series(range(50), index=[*X.index[10:], *range(10)]))


@pytest.mark.parametrize("kind", FRAMES)
def test_a_column_of_the_fit_can_name_the_rows(kind, frames, model):
    table = d.rows(model, frames[kind], ids="Murder", frame="listing")
    assert table["row"].tolist() == frames["pandas"]["Murder"].tolist()
    expected = d.rows(model, frames[kind], ids="State", frame="listing")
    np.testing.assert_array_equal(table["score_PC1"], expected["score_PC1"])


def test_categories_and_numbers_of_every_library(frames, model):
    X = frames["pandas"].drop(columns="State")
    data = {"g": ["a", "b", None, "c", "c"] * 10, "n": [1, None, 3, 4, 5] * 10}
    expected = d.metadata(model, X, data, frame="listing")
    assert expected["kind"][::2].tolist() == ["categorical", "numeric"]
    series = pd.Series(data["n"], dtype="Int64")
    others = [
        pl.DataFrame(data),
        pl.DataFrame(data).with_columns(pl.col("g").cast(pl.Categorical)),
        pa.table(data),
        pd.DataFrame({"g": pd.Categorical(data["g"]), "n": series}),
        {"g": np.array(data["g"], dtype=object), "n": series},
        {"g": [pd.NA if cell is None else cell for cell in data["g"]], "n": pl.Series(data["n"])},
    ]
    for other in others:
        found = d.metadata(model, X, other, frame="listing")
        for name in ("n", "groups", "p_value"):
            np.testing.assert_allclose(found[name], expected[name], err_msg=name)
    dates = pd.DataFrame({"day": pd.date_range("2020-01-01", periods=50)})
    assert "neither" in d.metadata(model, X, dates)["note"][0]


def test_files_name_their_rows(model, tmp_path):
    table = d.outliers(model, STATES, ids="State", frame="listing")
    assert table["row"].tolist() == ["Alaska", "Rhode Island"]
    found = d.outliers(model, STATES, frame="listing")
    assert found["row"].tolist() == ["Alaska", "Rhode Island"]
    numbered = read_table(STATES, id_column=False)
    assert d.outliers(model, numbered, frame="listing")["row"].tolist() == [1, 38]
    with pytest.raises(ColumnError, match="Country"):
        d.outliers(model, STATES, ids="Country")
    model.save(tmp_path / "m.pca")
    known = load(tmp_path / "m.pca")
    known.id_column_ = "State"  # as the command line sets it
    assert d.outliers(known, STATES, frame="listing")["row"][0] == "Alaska"
    frame = pd.read_csv(STATES)
    assert d.outliers(known, frame)["row"].tolist()[0] == "Alaska"


@pytest.mark.filterwarnings("ignore:left out 'id'")
@pytest.mark.filterwarnings("ignore:the variance of:UserWarning")
@pytest.mark.parametrize("kind", FRAMES)
def test_a_left_out_column_of_numbers_names_the_rows(kind, frames):
    frame = frames["pandas"].drop(columns="State")
    frame.insert(0, "id", np.arange(100, 150))
    model = PCA(2).fit(frame)
    convert = {"pandas": pd.DataFrame, "polars": pl.from_pandas, "pyarrow": pa.Table.from_pandas}
    table = d.rows(model, convert[kind](frame), frame="listing")
    assert table["row"].tolist() == list(range(100, 150))
    if kind == "pandas":  # an index with names comes first
        named = d.rows(model, frame.set_index(frames["pandas"]["State"]), frame="listing")
        assert named["row"][0] == "Alabama"
    analysed = frame.rename(columns={"id": "number"})
    with pytest.warns(UserWarning, match="counts up from 100"):
        analysed = d.rows(PCA(2).fit(analysed), analysed)
    assert analysed.index.tolist() == list(range(50))


def test_two_files_are_one_table(model, tmp_path):
    text = STATES.read_text().splitlines(keepends=True)
    (tmp_path / "a.csv").write_text("".join(text[:11]))
    (tmp_path / "b.csv").write_text("".join([text[0], *text[11:]]))
    both = d.distances(
        model, [tmp_path / "a.csv", tmp_path / "b.csv"], ids="State", frame="listing"
    )
    one = d.distances(model, STATES, ids="State", frame="listing")
    assert both["row"].tolist() == one["row"].tolist()
    # BLAS may sum the score of a row in another order when the other rows differ. The error of a
    # score of four columns is at most 4 eps ‖x‖, and that of T² at most 2 T/√λ times as much, where
    # ‖x‖ < 5, T < 3 and λ ≈ 1.
    eps = np.finfo(float).eps
    np.testing.assert_allclose(both["t2"], one["t2"], rtol=0, atol=120 * eps)


def test_missing_cells_are_filled_where_the_model_fills_them(arrests):
    with_nan = arrests.copy()
    with_nan[[3, 9], [1, 2]] = np.nan
    filled = PCA(2, scale="unit", missing="em").fit(with_nan)
    table = d.rows(filled, with_nan, frame="listing")
    np.testing.assert_allclose(table["score_PC1"], filled.transform(with_nan)[:, 0], atol=1e-12)
    assert np.isfinite(table["distance"]).all()


def test_a_listing_has_columns_a_short_text_and_named_errors():
    table = d.Listing({"row": np.arange(25), "q": np.arange(25) / 4})
    assert (table.columns, len(table)) == (["row", "q"], 25)
    assert table.to_dict()["q"][3] == 0.75
    shown = repr(table).splitlines()
    assert (shown[1], shown[-1]) == ("  0     0", "… and 5 more")
    with pytest.raises(ColumnError, match="no column 't2'"):
        table["t2"]
    assert repr(d.Listing({"row": []})) == "row"


def test_without_pandas_tables_are_listings():
    assert princomp.diagnostics is d
    code = (
        "import sys; sys.modules['pandas'] = None\n"
        "import princomp\n"
        "assert 'numpy' not in sys.modules\n"
        "model = princomp.PCA(1).fit([[1.0, 2.0], [2.0, 3.0], [4.0, 4.0]])\n"
        "del sys.modules['pandas']\n"
        "print(type(princomp.diagnostics.variables(model)).__name__)"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True)
    assert done.stdout.strip() == "Listing", done.stderr


def test_categories_that_are_numbers_are_sorted_by_size(rng):
    X = rng.standard_normal((6, 3))
    dose = {"dose": [10, 1.5, 2, 1, 1.5, 2]}
    found = d.categories(PCA(1).fit(X), X, dose, categorical=["dose"])
    assert list(found["category"]) == ["1", "1.5", "2", "10"]


@pytest.mark.parametrize("given", [29, 31])
def test_batches_need_one_id_for_each_row(given, rng):
    X = rng.standard_normal((30, 4))
    model, kernel, ids = PCA(2).fit(X), KernelPCA(2).fit(X), list(map(str, range(given)))
    for call in (
        lambda rows: d.rows(model, rows, ids=ids),
        lambda rows: d.outliers(model, rows, ids=ids),
        lambda rows: kernel.plot.scores(rows, ids=ids),
    ):
        with pytest.raises(ShapeError, match=f"{given} ids were given for 30 rows"):
            call(iter([X[:10], X[10:20], X[20:]]))
    with pytest.raises(ParameterError, match=r"ids must be .*, got 0"):
        d.rows(model, X, ids=0)


@pytest.mark.parametrize("kind", ["polars", "pyarrow"])
def test_labels_that_a_library_does_not_take_are_text(kind, rng):
    X = pd.DataFrame(rng.standard_normal((6, 3)))
    model = PCA(2).fit(X)
    for index, first in (
        (pd.MultiIndex.from_product([["a", "b"], range(3)]), "('a', 0)"),
        (pd.period_range("2020-01", periods=6, freq="M"), "2020-01"),
    ):
        names = d.rows(model, X.set_index(index), frame=kind)["row"]
        assert (names.to_pylist() if kind == "pyarrow" else names.to_list())[0] == first


@pytest.mark.parametrize("kind", FRAMES)
def test_a_missing_id_leaves_the_others_exact(kind, rng, tmp_path):
    X = pd.DataFrame(rng.standard_normal((6, 3)), columns=list("abc"))
    model = PCA(2).fit(X)
    names = [None, *(2**60 + i for i in range(5))]  # float64 would merge them
    ids = pd.Series(names, dtype="Int64")
    X.assign(uid=ids).to_parquet(tmp_path / "x.parquet", index=False)
    tables = [
        d.distances(model, X.set_index(pd.Index(ids)), frame=kind),
        d.distances(model, X.set_index(pd.Index(names, dtype=object)), frame=kind),
        d.distances(model, X, ids=ids, frame=kind),
        d.distances(model, X.assign(uid=ids), ids="uid", frame=kind),
        d.distances(model, tmp_path / "x.parquet", ids="uid", frame=kind),
    ]
    for table in tables:
        found = table["row"]
        assert (found.to_pylist() if kind == "pyarrow" else found.to_list()) == names
    for dtype in (object, "string", "category"):
        text = X.set_index(pd.Index(["a", None, "b", "c", "d", "e"], dtype=dtype))
        found = d.distances(model, text, frame=kind)["row"]
        if kind == "pandas":
            assert found.isna().tolist() == [False, True, *[False] * 4]
        else:
            assert found.null_count == 1 if kind == "pyarrow" else found.null_count() == 1
    exact = d.distances(model, X.set_index(pd.Index([*names[1:], 1], dtype="Int64")))["row"]
    assert exact.dtype == np.int64
    pairs = d.distances(model, X, ids=[np.array([i, i]) for i in range(6)], frame="pandas")["row"]
    assert [pair.tolist() for pair in pairs] == [[i, i] for i in range(6)]
