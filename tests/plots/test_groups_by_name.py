"""Groups by the name of a column of the frame or file."""

from __future__ import annotations

import numpy as np
import pytest

from princomp import PCA, diagnostics, plots, read_table, report
from princomp.errors import ColumnError, NotAvailableError, ParameterError
from princomp.io import named_column

h5py = pytest.importorskip("h5py")
pd = pytest.importorskip("pandas")


@pytest.fixture
def table():
    rows = np.random.default_rng(0).standard_normal((30, 3))
    frame = pd.DataFrame(rows, columns=["a", "b", "c"])
    return frame.assign(species=["x", "y", "z"] * 10)


@pytest.fixture
def model(table):
    with pytest.warns(UserWarning, match="left out 1 text column: species"):
        return PCA(2).fit(table)


def labels(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


def test_groups_are_a_column_of_the_frame_or_file(table, model, tmp_path, draw_only):
    draw_only("scores")
    of_values = plots.scores(model, table[["a", "b", "c"]], groups=table["species"])
    path = tmp_path / "t.csv"
    table.to_csv(path, index=False)
    for rows in (table, path):
        assert labels(model.plot.scores(rows, groups="species")) == labels(of_values)
    assert "species" in report(model, table, groups="species", bootstrap=0)


def test_groups_of_a_file_are_read_with_the_columns_of_its_options(tmp_path):
    path = tmp_path / "t.csv"
    rows = [f"0{i + 10}4,{'xy'[i % 2]},{i / 2},{i * i % 7}" for i in range(12)]
    path.write_text("\n".join(["zip,g,a,b", *rows]))
    for options in ({"columns": ["a", "b"]}, {"exclude": ["zip", "g"]}):
        X = read_table(path, **options)
        assert labels(plots.scores(PCA(2).fit(X), X, groups="g")) == ["x", "y"]


def test_groups_may_be_numbers_that_the_model_does_not_know(table, model):
    clusters = table.drop(columns="species").assign(cluster=[0, 1] * 15)
    assert len(labels(plots.biplot(model, clusters, groups="cluster"))) >= 2


@pytest.mark.parametrize(
    ("cells", "found"),
    [(["1_1", "1_2"], ["1_1", "1_2"]), (["1", "NA"], [1, np.nan]), (["1", "−2"], [1, -2])],
)
def test_cells_are_numbers_as_elsewhere_in_files(table, tmp_path, cells, found):
    path = tmp_path / "t.csv"
    table.assign(group=cells * 15).to_csv(path, index=False)
    values = named_column(path, "group")
    assert values[:2].tolist() == pytest.approx(found, nan_ok=True)


def test_groups_are_a_column_of_obs(table, model, tmp_path):
    path = tmp_path / "t.h5ad"
    with h5py.File(path, "w") as file:
        file["X"] = table[["a", "b", "c"]].to_numpy()
        file["var/_index"] = np.array(["a", "b", "c"], dtype="S1")
        file["obs/_index"] = np.array([f"cell {i}" for i in range(30)], dtype="S7")
        file["obs/species/categories"] = np.array(["x", "y", "z"], dtype=h5py.string_dtype())
        file["obs/species/codes"] = np.array([0, 1, 2] * 10, dtype="i1")
        for name in ("var", "obs"):
            file[name].attrs["_index"] = "_index"
    assert len(labels(plots.scores(model, path, groups="species"))) >= 3
    assert len(labels(plots.scores(model, tmp_path / "*.h5ad", groups="species"))) >= 3
    with pytest.raises(ColumnError, match="obs has no column 'specie'"):
        plots.scores(model, path, groups="specie")
    with pytest.raises(NotAvailableError, match="cannot be read with untrusted=True"):
        plots.scores(model, read_table(path, untrusted=True), groups="species")


def test_text_with_numbers_is_in_natural_order(table, model):
    names = ["b 10", "b 9", "a", "B", "b 01", "10", "9", "-1", "0.5", "b 9c"]
    found = labels(plots.scores(model, table[["a", "b", "c"]], groups=names * 3, ellipses="none"))
    assert found == ["-1", "0.5", "9", "10", "B", "a", "b 01", "b 9", "b 9c", "b 10"]


def test_ordered_categories_keep_their_order(table, model):
    grades = pd.Categorical(["low", "mid", "high"] * 10, ["worst", "low", "mid", "high"], True)
    graded = table.assign(grade=grades)
    assert labels(plots.scores(model, graded, groups="grade", ellipses="none")) == [
        *("low", "mid", "high")
    ]
    found = diagnostics.categories(model, table[["a", "b", "c"]], graded["grade"], components=1)
    assert found["category"].tolist() == ["low", "mid", "high"]
    polars = pytest.importorskip("polars")
    enum = polars.Series(list(grades), dtype=polars.Enum(["mid", "low", "high"]))
    found = diagnostics.categories(model, table[["a", "b", "c"]], enum, components=1)
    assert found["category"].tolist() == ["mid", "low", "high"]


def test_files_without_named_columns_are_refused(tmp_path):
    np.save(tmp_path / "x.npy", np.eye(9))
    with pytest.raises(ColumnError, match=r"x.npy: no column 'q': it holds numbers only"):
        plots.scores(PCA(2).fit(np.eye(9)), tmp_path / "x.npy", groups="q")


def test_a_wrong_name_gets_a_suggestion(table, model):
    with pytest.raises(ColumnError, match="Did you mean 'species'"):
        plots.scores(model, table, groups="specis")
    with pytest.raises(ParameterError, match="no named columns"):
        plots.scores(PCA(2).fit(np.eye(9)), np.eye(9), groups="species")


def test_a_column_that_is_analysed_can_make_groups(table):
    rows = table.drop(columns="species").assign(c=[0, 1] * 15)
    model = PCA(2).fit(rows)
    assert labels(plots.scores(model, rows, groups="c")) == ["0", "1"]


def test_metadata_are_columns_by_name(table, tmp_path, draw_only):
    draw_only("scores", "metadata")
    mixed = table.assign(age=np.arange(30.0))
    rows, extra = mixed[["a", "b", "c"]], mixed[["species", "age"]]
    model = PCA(2).fit(rows)
    path = tmp_path / "t.csv"
    mixed.to_csv(path, index=False)
    expected = diagnostics.metadata(model, rows, extra, frame="listing")
    names = ["species", "age"]
    for X in (mixed, path, read_table(path)):
        found = diagnostics.metadata(model, X, names, frame="listing")
        assert str(found) == str(expected)
        np.testing.assert_array_equal(found["p_value"], expected["p_value"])
    found = diagnostics.metadata(model, mixed, "age", frame="listing")
    assert set(found["column"]) == {"age"}
    one = diagnostics.categories(model, mixed.drop(columns="age"), "species", frame="listing")
    assert set(one["category"]) == {"x", "y", "z"}
    found = diagnostics.supplementary_columns(model, mixed, ["age"], frame="listing")
    assert set(found["column"]) == {"age"}
    assert len(model.plot.metadata(mixed, names).get_yticklabels()) == 2
    page = report(model, mixed, groups="species", metadata=names, bootstrap=0)
    assert page == report(model, rows, groups=mixed[["species"]], metadata=extra, bootstrap=0)
    with pytest.raises(ColumnError, match="metadata='agee' is not a column"):
        report(model, mixed, metadata=["agee"])


def test_a_list_with_repeats_has_one_value_for_each_row(table, model):
    found = diagnostics.metadata(model, table, ["u", "v", "w"] * 10, frame="listing")
    assert set(found["groups"]) == {3}


def test_a_group_whose_name_is_empty_is_in_the_legend(table, model):
    groups = ["x", "", "y"] * 10
    assert labels(model.plot.scores(table[["a", "b", "c"]], groups=groups)) == ['""', "x", "y"]
