"""``transform`` and ``inverse``: a saved model applied to new files."""

from __future__ import annotations

import datetime
import decimal
import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import princomp as package
from command_line import ARRESTS, files_in, numbers, write_csv
from helpers import read_whole


@pytest.fixture
def model(princomp, tmp_path):
    """A model with ids, unit scale and two of four components, saved outside its output folder."""
    args = ("--id", "State", "--scale", "unit", "-k", 2, "-m", "m.pca", "-o", "fit")
    assert princomp("fit", ARRESTS, *args).code == 0
    return "m.pca"


@pytest.fixture
def full(princomp, tmp_path):
    """A model of all four components, whose inverse is exact."""
    assert princomp("fit", ARRESTS, "--id", "State", "-m", "f.pca", "-o", "full").code == 0
    return "f.pca"


def _rows(text):
    return [line.split(",") for line in text.splitlines()]


def test_scores_on_stdout_are_those_of_the_fit(princomp, model, tmp_path):
    done = princomp("transform", model, ARRESTS)
    assert (done.code, done.err) == (0, "")
    assert done.out == (tmp_path / "fit" / "scores.csv").read_text()


@pytest.mark.parametrize(
    "ending", ["csv", "tsv", "csv.gz", "csv.zst", "tsv.zst", "parquet", "arrow", "feather", "npy"]
)
def test_a_round_trip_through_files(princomp, full, tmp_path, arrests, ending):
    scores, back = f"s.{ending}", f"back.{ending}"
    assert princomp("transform", full, ARRESTS, "-o", scores).code == 0
    done = princomp("inverse", full, scores, "-o", back)
    assert (done.code, done.out) == (0, "")
    table = read_whole(tmp_path / back)
    np.testing.assert_allclose(table.data, arrests, rtol=1e-12)
    if ending != "npy":
        assert table.columns == ("Murder", "Assault", "UrbanPop", "Rape")
        assert "State" in table.notes[0]


def test_a_round_trip_through_stdout(princomp, full, tmp_path, arrests):
    (tmp_path / "s.csv").write_text(princomp("transform", full, ARRESTS).out)
    rows = _rows(princomp("inverse", full, "s.csv").out)
    assert rows[0] == ["State", "Murder", "Assault", "UrbanPop", "Rape"]
    assert rows[1][0] == "Alabama"
    found = np.array([row[1:] for row in rows[1:]], dtype=float)
    np.testing.assert_allclose(found, arrests, rtol=1e-12)


def test_columns_are_bound_by_name_in_any_order(princomp, model, tmp_path):
    rows = [line.split(",") for line in ARRESTS.read_text().splitlines()]
    reordered = [",".join([row[4], row[1], row[0], row[3], row[2]]) for row in rows]
    write_csv(tmp_path / "turned.csv", *reordered)
    done = princomp("transform", model, "turned.csv")
    assert done.out == princomp("transform", model, ARRESTS).out
    assert done.err == ""


def test_an_extra_column_is_ignored_with_a_note(princomp, model, tmp_path):
    rows = ARRESTS.read_text().splitlines()
    write_csv(tmp_path / "wide.csv", rows[0] + ",Extra", *(row + ",x" for row in rows[1:]))
    done = princomp("transform", model, "wide.csv")
    assert done.out == princomp("transform", model, ARRESTS).out
    assert done.err == "note: ignored columns that the model does not use: Extra\n"
    notes = princomp("transform", model, "wide.csv", "--json").document["notes"]
    assert notes == ["ignored columns that the model does not use: Extra"]


def test_files_of_spectra_need_no_header_flag_and_many_names_are_not_all_listed(princomp, tmp_path):
    names = [str(1100 + 2 * j) for j in range(20)]
    rows = [",".join(str(i * j % 7 / 8) for j in range(20)) for i in range(1, 6)]
    write_csv(tmp_path / "a.csv", ",".join(names), *rows)
    assert princomp("fit", "a.csv", "-k", "1").code == 65
    assert princomp("fit", "a.csv", "-k", "1", "--header", "-m", "m.pca").code == 0
    assert princomp("transform", "m.pca", "a.csv").code == 0
    write_csv(tmp_path / "b.csv", ",".join(f"v{name}" for name in names), *rows)
    done = princomp("transform", "m.pca", "b.csv")
    assert "1122 and 8 more; new in it: v1100, " in done.err
    assert done.err.count("and 8 more") == 2
    more = ["v" + ",v".join(names), *rows]
    lines = [",".join(names), *rows]
    write_csv(tmp_path / "c.csv", *(f"{a},{b}" for a, b in zip(lines, more, strict=True)))
    assert princomp("transform", "m.pca", "c.csv").err.endswith("v1122 and 8 more\n")


def test_missing_columns_are_refused_and_new_ones_named(princomp, model, tmp_path):
    write_csv(tmp_path / "t.csv", "State,Murder,assault,UrbanPop", "x,1,2,3")
    done = princomp("transform", model, "t.csv")
    assert (done.code, done.out) == (65, "")
    assert "lacks columns of the model: Assault, Rape; new in it: assault" in done.err
    error = princomp("transform", model, "t.csv", "--json").error
    assert error["place"] == {
        "file": "t.csv",
        "missing": ["Assault", "Rape"],
        "new": ["assault"],
    }
    # The command in the hint shows the columns.
    assert "princomp show" in error["hint"]
    assert "Murder, Assault, UrbanPop, Rape" in princomp("show", model).out


def test_a_file_without_the_id_column_gets_row_numbers(princomp, model, tmp_path):
    rows = [line.partition(",")[2] for line in ARRESTS.read_text().splitlines()]
    write_csv(tmp_path / "bare.csv", *rows)
    done = princomp("transform", model, "bare.csv")
    assert done.code == 0
    assert done.err == "note: bare.csv has no id column 'State'; its rows have no names\n"
    assert _rows(done.out)[0] == ["row", "PC1", "PC2"]
    with_ids = _rows(princomp("transform", model, ARRESTS).out)
    assert [row[1:] for row in _rows(done.out)] == [row[1:] for row in with_ids]
    assert [row[0] for row in _rows(done.out)[1:]] == list(map(str, range(50)))


def test_a_missing_column_is_reported_without_the_id_column(princomp, model, tmp_path):
    write_csv(tmp_path / "t.csv", "Murder,Assault,UrbanPop", "1,2,3")
    error = princomp("transform", model, "t.csv", "--json").error
    assert error["place"]["missing"] == ["Rape"]


def test_one_of_several_files_lacks_ids_or_a_column(princomp, model, tmp_path):
    rows = ARRESTS.read_text().splitlines()
    write_csv(tmp_path / "bare.csv", *(row.partition(",")[2] for row in rows))
    error = princomp("transform", model, ARRESTS, "bare.csv", "--json").error
    assert error["place"] == {"file": "bare.csv", "column": "State"}
    write_csv(tmp_path / "less.csv", *(row.rpartition(",")[0] for row in rows))
    error = princomp("transform", model, "bare.csv", "less.csv", "--json").error
    assert error["place"]["file"] == "less.csv"
    assert error["place"]["missing"] == ["Rape"]


def test_a_wrong_number_of_unnamed_columns_is_refused(princomp, tmp_path, rng):
    np.save(tmp_path / "x.npy", rng.standard_normal((9, 3)))
    np.save(tmp_path / "y.npy", rng.standard_normal((9, 4)))
    assert princomp("fit", "x.npy", "-m", "m.pca").code == 0
    assert princomp("transform", "m.pca", "x.npy").code == 0
    done = princomp("transform", "m.pca", "y.npy")
    assert (done.code, done.out) == (65, "")
    assert "4 features" in done.err
    assert "3 features" in done.err


def test_missing_cells_at_transform(princomp, model, tmp_path):
    rows = ["State,Murder,Assault,UrbanPop,Rape", "u,1,2,3,4", "v,1,NA,3,4"]
    write_csv(tmp_path / "t.csv", *rows)
    error = princomp("transform", model, "t.csv", "--json").error
    assert error["kind"] == "NotFiniteError"
    place = {"file": "t.csv", "row": 1, "label": "v", "line": 3, "column": "Assault"}
    assert error["place"] == place
    args = ("--id", "State", "-k", 2, "--missing", "drop", "-m", "drop.pca", "-o", "d")
    assert princomp("fit", ARRESTS, *args).code == 0
    done = princomp("transform", "drop.pca", "t.csv")
    assert done.code == 0
    assert _rows(done.out)[2] == ["v", "", ""]
    note = "rows with missing values: 1; their scores are empty"
    assert done.err == f"note: {note}\n"
    document = princomp("transform", "drop.pca", "t.csv", "--json").document
    assert document["data"][1] == [None, None]
    assert document["ids"] == ["u", "v"]
    assert document["notes"] == [note]
    assert princomp("transform", "drop.pca", ARRESTS).err == ""
    assert princomp("rotate", "varimax", "drop.pca", "t.csv").err == f"note: {note}\n"


def test_names_that_repeat_are_noted(princomp, tmp_path):
    """Scores cannot be joined by such names."""
    rows = [f"{i % 3},{i * i % 7},{i % 5}" for i in range(12)]
    write_csv(tmp_path / "r.csv", "IID,a,b", *rows)
    note = "row names in 'IID' repeat: 3 different names for 12 rows"
    args = ("fit", "r.csv", "--id", "IID", "-k", 1, "-m", "r.pca", "-o", "r")
    assert note in princomp(*args, "--json").document["notes"]
    assert f"note: {note}\n" in princomp("transform", "r.pca", "r.csv").err
    assert "repeat" not in princomp(*args, "--no-scores", "--force").err


def test_rows_with_filled_cells_are_counted(princomp, tmp_path):
    names = "State,Murder,Assault,UrbanPop,Rape"
    args = ("--id", "State", "-k", 2, "--missing", "em", "-m", "em.pca", "-o", "em")
    assert princomp("fit", ARRESTS, *args).code == 0
    filled = "note: rows with filled cells: 2\n"
    empty = "note: rows without values: 1; their scores are empty\n"
    incomplete = ["v,1,NA,3,4", "w,NA,NA,NA,20"]
    commands = (
        ("transform", "em.pca", "t.csv", "-o", "s.csv"),
        ("rotate", "varimax", "em.pca", "t.csv", "-o", "rotated"),
        ("report", "em.pca", "t.csv", "--not-training", "-o", "r.html"),
        ("plot", "outliers", "em.pca", "t.csv", "-o", "o.svg"),
    )
    for more, notes in (([], filled), (["x,,NA,,"], filled + empty)):
        write_csv(tmp_path / "t.csv", names, "u,1,2,3,4", *incomplete, *more)
        for command in commands:
            assert princomp(*command, "--force").err == notes
    write_csv(tmp_path / "t.csv", names, "u,1,2,3,4", "x,,NA,,")
    for command in commands:
        assert princomp(*command, "--force").err == empty


def test_json_holds_the_rows_or_their_file(princomp, model, tmp_path):
    document = princomp("transform", model, ARRESTS, "--json").document
    assert document["document"] == "princomp.transform"
    assert (document["rows"], document["columns"]) == (50, ["PC1", "PC2"])
    assert document["ids"][0] == "Alabama"
    np.testing.assert_array_equal(document["data"], numbers(tmp_path / "fit" / "scores.csv"))
    document = princomp("transform", model, ARRESTS, "--json", "-o", "s.csv").document
    assert document["files"] == {"data": "s.csv"}
    assert "data" not in document
    document = princomp("inverse", model, "s.csv", "--json").document
    assert document["columns"] == ["Murder", "Assault", "UrbanPop", "Rape"]


def test_ids_of_any_type_are_written_as_json(princomp, tmp_path):
    ids = [datetime.date(2024, 1, 1), datetime.date(2024, 1, 2), None]
    table = {"day": ids, "a": [1.0, 2.0, 4.0], "b": [2.0, 1.0, 3.0]}
    pyarrow.parquet.write_table(pa.table(table), tmp_path / "d.parquet")
    table["day"] = [decimal.Decimal("1.5"), None, decimal.Decimal("2.5")]
    pyarrow.parquet.write_table(pa.table(table), tmp_path / "e.parquet")
    assert princomp("fit", "d.parquet", "--id", "day", "-m", "m.pca").code == 0
    found = princomp("transform", "m.pca", "d.parquet", "--json").document
    assert found["ids"] == ["2024-01-01", "2024-01-02", None]
    found = princomp("transform", "m.pca", "e.parquet", "--json").document
    assert found["ids"] == ["1.5", None, "2.5"]


def test_an_existing_output_is_replaced_only_with_force(princomp, model, tmp_path):
    for command, source in (("transform", ARRESTS), ("inverse", "fit/scores.csv")):
        (tmp_path / "old.csv").write_bytes(b"precious")
        done = princomp(command, model, source, "-o", "old.csv")
        assert (done.code, done.out) == (73, "")
        assert (tmp_path / "old.csv").read_bytes() == b"precious"
        assert princomp(command, model, source, "-o", "old.csv", "--force").code == 0
        assert (tmp_path / "old.csv").read_bytes() != b"precious"


def test_an_input_by_another_name_is_never_replaced(princomp, model, tmp_path):
    # Where upper and lower case are the same, DATA.csv is a second name of data.csv.
    (tmp_path / "data.csv").write_bytes(ARRESTS.read_bytes())
    os.link(tmp_path / "data.csv", tmp_path / "DATA.csv")
    done = princomp("transform", model, "data.csv", "-o", "DATA.csv", "--force")
    assert done.code == 73
    assert "DATA.csv is an input of this run" in done.err
    assert (tmp_path / "DATA.csv").read_bytes() == ARRESTS.read_bytes()


@pytest.mark.parametrize("name", ["-", "/dev/stdout"])
def test_standard_output_is_no_name_of_an_output(princomp, model, name):
    done = princomp("transform", model, ARRESTS, "-o", name)
    assert (done.code, done.out) == (2, "")
    assert f"'{name}' is not the name of a file or folder; leave it out" in done.err


def test_an_unknown_output_extension_is_refused_before_any_work(princomp, model, tmp_path):
    before = files_in(tmp_path)
    for command, source in (("transform", ARRESTS), ("inverse", "fit/scores.csv")):
        done = princomp(command, model, source, "-o", "out.xlsx")
        assert (done.code, done.out) == (2, "")
        assert "Known endings are .csv" in done.err
    assert files_in(tmp_path) == before


def test_inverse_of_the_wrong_scores_names_the_components(princomp, model, tmp_path):
    write_csv(tmp_path / "t.csv", "PC1", "1")
    error = princomp("inverse", model, "t.csv", "--json").error
    assert error["place"]["missing"] == ["PC2"]
    assert error["hint"] == "give scores of this model, as princomp transform writes them"
    np.save(tmp_path / "t.npy", np.ones((3, 3)))
    done = princomp("inverse", model, "t.npy")
    assert (done.code, done.out) == (65, "")
    assert "t.npy: scores have 3 columns, and the model has 2 components" in done.err


def test_empty_scores_give_empty_rows(princomp, model, tmp_path):
    write_csv(tmp_path / "t.csv", "State,PC1,PC2", "u,1,2", "v,,", "w,0,0")
    rows = _rows(princomp("inverse", model, "t.csv").out)
    assert rows[2] == ["v", "", "", "", ""]
    assert "" not in rows[1] + rows[3]
    assert princomp("inverse", model, "t.csv", "--json").document["data"][1] == [None] * 4


def test_a_model_without_components_has_no_scores(princomp, tmp_path):
    done = princomp("fit", ARRESTS, "-k", 0)
    assert (done.code, done.out) == (65, "")
    assert "-k 0 keeps no component" in done.err
    assert "Hint: use -k 1 or more" in done.err
    assert files_in(tmp_path) == []
    package.PCA(0).fit(np.eye(3)).save(tmp_path / "none.pca")
    np.save(tmp_path / "x.npy", np.eye(3))
    for command in ("transform", "inverse"):
        done = princomp(command, "none.pca", "x.npy")
        assert (done.code, done.out) == (65, "")
        assert "none.pca keeps no component, so it has no scores" in done.err


def test_a_rule_that_keeps_no_component_loses_only_the_scores(princomp, tmp_path):
    np.save(tmp_path / "x.npy", np.random.default_rng(0).normal(size=(200, 4)))
    done = princomp("fit", "x.npy", "-k", "parallel", "--checkpoint", "ck", "-o", "out")
    assert done.code == 0
    assert "note: -k parallel keeps no component, so no scores" in done.err
    assert files_in(tmp_path) == ["out/eigenvalues.csv", "out/model.pca", "x.npy"]
    assert len(numbers(tmp_path / "out" / "eigenvalues.csv")) == 4


def test_row_names_are_not_noted_as_ignored(princomp):
    assert princomp("fit", ARRESTS, "--exclude", "State", "--no-id", "-m", "m.pca").code == 0
    err = princomp("transform", "m.pca", ARRESTS).err
    assert "named by column 'State'" in err
    assert "ignored" not in err


def test_a_model_without_names_notes_which_columns_are_left_out(princomp, tmp_path):
    np.save(tmp_path / "x.npy", [[1.0, 2.0], [3.0, 5.0], [4.0, 1.0]])
    assert princomp("fit", "x.npy", "-m", "m.pca").code == 0
    write_csv(tmp_path / "t.csv", "a,kind,b", "1,x,2", "3,y,5", "4,x,1")
    done = princomp("transform", "m.pca", "t.csv")
    assert done.code == 0
    assert "note: left out 1 text column: kind" in done.err


@pytest.mark.filterwarnings("ignore:these are probably not the rows of the fit")
def test_a_note_says_that_named_columns_are_taken_in_their_order(princomp, tmp_path):
    X = np.array([[1.0, 2.0], [3.0, 5.0], [4.0, 1.0]])
    np.save(tmp_path / "x.npy", X)
    assert princomp("fit", "x.npy", "-m", "m.pca").code == 0
    rows = ["2,1", "5,3", "1,4"]
    write_csv(tmp_path / "turned.csv", "b,a", *rows)
    for args in (("transform", "m.pca", "turned.csv"), ("show", "m.pca", "--verify", "turned.csv")):
        done = princomp(*args)
        assert done.code == 0
        assert done.err.count("note: ") == 1
        assert "note: turned.csv names its columns, but the model was fitted without" in done.err
        assert "taken in their order: b, a" in done.err
        assert "in their order: b, a" in princomp(*args, "--json").document["notes"][0]
    # The first line holds numbers, so the columns have no names.
    write_csv(tmp_path / "bare.csv", *rows)
    for name in ("x.npy", "bare.csv"):
        assert "names its columns" not in princomp("transform", "m.pca", name).err


def test_cells_with_the_words_of_the_fit_are_missing(princomp, tmp_path):
    (tmp_path / "rows.csv").write_text("a,b\n5,2\n2,-9\n3,5\n9,1\n")
    fit = princomp("fit", "rows.csv", "--na", "-9", "--missing", "drop", "-m", "m.pca", "-o", "fit")
    assert fit.code == 0
    done = princomp("transform", "m.pca", "rows.csv")
    assert _rows(done.out)[2][1] == ""
    assert "note: cells with '-9' count as missing, as in the fit (--na sets other" in done.err
    done = princomp("transform", "m.pca", "rows.csv", "--na", "-8")
    assert _rows(done.out)[2][1] != ""
    assert "as in the fit" not in done.err


def test_a_note_says_that_words_of_the_fit_do_not_apply_to_parquet(princomp, tmp_path):
    (tmp_path / "rows.csv").write_text("a,b\n5,2\n2,-9\n3,5\n9,1\n")
    princomp("fit", "rows.csv", "--na", "-9", "--missing", "drop", "-m", "m.pca", "-o", "fit")
    pa.parquet.write_table(pa.table({"a": [1.0, 2.0], "b": [2.0, -9.0]}), tmp_path / "t.parquet")
    done = princomp("transform", "m.pca", "t.parquet")
    assert "note: words of the fit for missing cells ('-9') apply to text and workb" in done.err


@pytest.mark.parametrize("whiten", [False, True])
def test_a_note_counts_rows_that_are_far_from_those_of_the_fit(princomp, rng, whiten):
    X = rng.standard_normal((200, 4)) * [1.0, 2.0, 3.0, 4.0]
    package.PCA(2, whiten=whiten).fit(X).save("m.pca")
    limit = 10 * 2 * (200**2 - 1) / (200 * 196)
    far = "rows are far from those of the fit (T² above {:.3g}, ten times its mean)"
    # A tenth of the rows of any distribution may be that far: 20 of 200 are not too many.
    for count, noted in ((0, False), (20, False), (60, True), (200, True)):
        new = X.copy()
        new[:count] *= 100.0
        np.save("new.npy", new)
        done = princomp("transform", "m.pca", "new.npy")
        assert (f"note: {count} of 200 {far.format(limit)}: do the" in done.err) == noted
        assert (far[:20] in done.err) == noted
    new[:, 0] = 1e300
    np.save("new.npy", new)
    assert "200 of 200 rows are far" in princomp("transform", "m.pca", "new.npy", "--json").out


def test_weights_that_overflow_when_squared_cause_no_error(princomp, rng):
    X = rng.standard_normal((50, 3))
    package.PCA(2).fit(X, sample_weight=np.full(50, 1e160)).save("m.pca")
    np.save("new.npy", 100 * X)
    done = princomp("transform", "m.pca", "new.npy")
    assert done.code == 0
    assert "50 of 50 rows are far from those of the fit (T² above 20, " in done.err


@pytest.mark.parametrize("model", ["few rows", "uncentred", "covariance", "robust", "kernel"])
def test_models_without_such_a_limit_cause_no_note(princomp, rng, model):
    X = rng.standard_normal((40, 3))
    fitted = {
        "few rows": lambda: package.PCA(3).fit(X[:5]),
        "uncentred": lambda: package.PCA(2, center=False).fit(X),
        "covariance": lambda: package.PCA.from_covariance(np.cov(X.T), mean=0, n_components=2),
        "robust": lambda: package.RobustPCA(2, random_state=0).fit(X),
        "kernel": lambda: package.KernelPCA(2).fit(X),
    }[model]()
    fitted.save("m.pca")
    np.save("new.npy", 1e3 * X)
    done = princomp("transform", "m.pca", "new.npy")
    assert done.code == 0
    assert "are far from those of the fit" not in done.err
