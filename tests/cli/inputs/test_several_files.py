"""Large files and several files as one table."""

from __future__ import annotations

import os

import numpy as np
import pytest
from input_cases import IDS, NAMES, STREAMED, as_text, assert_correct, random_table, write_table

import princomp as package
from command_line import files_in, numbers
from helpers import EPS, read_whole
from princomp.io.readers import columnar_stream, delimited_stream, files, formats

# ---- large files ----------------------------------------------------------------------


@pytest.mark.parametrize("kind", STREAMED)
def test_chunked_reads_give_the_same_bytes_as_whole_reads(princomp, tmp_path, monkeypatch, kind):
    name = write_table(tmp_path, kind, random_table(), ids=IDS)
    args = ("--id", "id", "--scale", "unit", "-k", 2)
    assert princomp("fit", name, *args, "-o", "small").code == 0
    monkeypatch.setattr(files, "SMALL_FILE_BYTES", 0)
    monkeypatch.setattr(files, "SMALL_COMPRESSED_FILE_BYTES", 0)
    small = []
    opened = formats.Format.open
    monkeypatch.setattr(formats.Format, "open", lambda *a: small.append(a[-1]) or opened(*a))
    assert princomp("fit", name, *args, "-o", "large").code == 0
    assert small == [False]
    for result in ("scores.csv", "loadings.csv", "eigenvalues.csv"):
        assert (tmp_path / "large" / result).read_bytes() == (
            tmp_path / "small" / result
        ).read_bytes()
    done = princomp("transform", "large/model.pca", name)
    assert (done.code, done.out) == (0, (tmp_path / "small" / "scores.csv").read_text())


def test_many_chunks_and_one_agree_to_rounding(princomp, tmp_path, large, monkeypatch):
    rng = np.random.default_rng(8)
    n, p = 900, 17
    X = np.round(rng.standard_normal((n, p)) * np.arange(1, p + 1), 4)
    (tmp_path / "t.csv").write_bytes(as_text(X, columns=[f"x{j}" for j in range(p)]))
    assert princomp("fit", "t.csv", "-o", "one").code == 0
    for limit, size in (
        ("HEAD_BYTES", 2**12),
        ("MIN_PIECE_BYTES", 2000),
        ("MAX_PIECE_BYTES", 2000),
    ):
        monkeypatch.setattr(delimited_stream, limit, size)
    source = files.open_source("t.csv")
    assert len(list(source.chunks())) > 20
    assert princomp("fit", "t.csv", "-o", "many").code == 0
    for same in ("loadings.csv", "eigenvalues.csv"):
        assert (tmp_path / "many" / same).read_bytes() == (tmp_path / "one" / same).read_bytes()
    one, many = (numbers(tmp_path / folder / "scores.csv", skip=0) for folder in ("one", "many"))
    # A score is a sum of p products with a unit axis. The order of the sum depends on the
    # number of rows in a chunk.
    size = np.linalg.norm(X - X.mean(axis=0), axis=1, keepdims=True)
    assert (np.abs(one - many) <= 2 * p * EPS * size).all()
    # The same chunks give the same bits.
    done = princomp("transform", "many/model.pca", "t.csv")
    assert done.out == (tmp_path / "many" / "scores.csv").read_text()


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "csv.zst", "tsv", "parquet", "arrow", "npy"])
def test_scores_are_written_in_every_format_chunk_by_chunk(
    princomp, tmp_path, large, monkeypatch, ending
):
    X = random_table()
    write_table(tmp_path, "parquet", X, ids=IDS)
    monkeypatch.setattr(columnar_stream, "NUMBERS_PER_CHUNK", 24, raising=True)
    assert len(list(files.open_source("t.parquet").chunks())) > 2
    assert princomp("fit", "t.parquet", "--id", "id", "-m", "m.pca", "--no-scores").code == 0
    done = princomp("transform", "m.pca", "t.parquet", "-o", f"s.{ending}", "--json")
    assert (done.code, done.err) == (0, "")
    assert done.document["rows"] == 40
    assert done.document["files"] == {"data": f"s.{ending}"}
    named = {} if ending == "npy" else {"id_column": "id"}
    table = read_whole(f"s.{ending}", **named)
    assert_correct(X, scores=table.data)
    if ending != "npy":
        assert table.columns == ("PC1", "PC2", "PC3")
        assert table.ids.tolist() == IDS
    back = princomp("inverse", "m.pca", f"s.{ending}", "-o", f"back.{ending}")
    assert (back.code, back.out, back.err) == (0, "", "")
    np.testing.assert_allclose(read_whole(f"back.{ending}", **named).data, X, rtol=0, atol=1e-12)


def test_no_scores_writes_two_tables_and_the_model(princomp, tmp_path, large):
    X = random_table()
    name = write_table(tmp_path, "csv", X)
    done = princomp("fit", name, "--no-scores", "--json", "-o", "out")
    assert sorted(done.document["files"]) == ["eigenvalues", "loadings", "model"]
    assert files_in(tmp_path / "out") == ["eigenvalues.csv", "loadings.csv", "model.pca"]
    assert_correct(X, done.document)
    X[3, 1] = np.nan
    write_table(tmp_path, "parquet", X)
    done = princomp("fit", "t.parquet", "--no-scores", "--missing", "drop", "-o", "dropped")
    assert "rows with missing values: 1; they were left out of the fit\n" in done.err
    assert_correct(
        np.delete(X, 3, axis=0),
        {"eigenvalues": numbers(tmp_path / "dropped" / "eigenvalues.csv")[:, 0]},
    )


# ---- several files --------------------------------------------------------------------


def test_files_of_several_kinds_form_one_table(princomp, tmp_path):
    X = random_table()
    write_table(tmp_path, "csv", X, ids=IDS)
    assert princomp("fit", "t.csv", "--id", "id", "-o", "one").code == 0
    write_table(tmp_path, "csv", X[:10], stem="p1", ids=IDS[:10])
    reordered = {"columns": ("c", "a", "b")}
    write_table(tmp_path, "parquet", X[10:25][:, [2, 0, 1]], stem="p2", ids=IDS[10:25], **reordered)
    reordered = {"columns": ("b", "a", "c")}
    write_table(tmp_path, "arrow", X[25:][:, [1, 0, 2]], stem="p3", ids=IDS[25:], **reordered)
    for names in (("p1.csv", "p2.parquet", "p3.arrow"), ("p*.*",)):
        done = princomp("fit", *names, "--id", "id", "-o", "several", "--force", "--json")
        assert (done.code, done.err) == (0, "")
        assert done.document["columns"] == list(NAMES)
        assert done.document["rows"] == 40
        assert_correct(X, done.document)
        lines = (tmp_path / "several" / "scores.csv").read_text().splitlines()
        assert [line.split(",")[0] for line in lines] == ["id", *IDS]
        np.testing.assert_allclose(
            numbers(tmp_path / "several" / "scores.csv"),
            numbers(tmp_path / "one" / "scores.csv"),
            rtol=0,
            atol=100 * EPS * np.abs(X).max(),
        )
        transformed = princomp("transform", "several/model.pca", *names)
        assert transformed.out == (tmp_path / "several" / "scores.csv").read_text()
    # Columns have the order of the first file.
    found = princomp("fit", "p3.arrow", "p1.csv", "--json", "--id", "id").document
    assert found["columns"] == ["b", "a", "c"]
    assert sorted(found["files"].values())[0] == "p3_pca/eigenvalues.csv"


def test_a_wildcard_takes_files_in_natural_order_and_names_the_results(princomp, tmp_path):
    X = random_table()
    for i in (10, 2, 1):
        part = {1: slice(0, 10), 2: slice(10, 20), 10: slice(20, 40)}[i]
        write_table(tmp_path, "csv.gz", X[part], stem=f"part-{i}", ids=IDS[part])
    done = princomp("fit", "part-*.csv.gz", "--id", "id", "--json")
    assert done.code == 0
    assert {os.path.dirname(file) for file in done.document["files"].values()} == {"part_pca"}
    lines = (tmp_path / "part_pca" / "scores.csv").read_text().splitlines()
    assert [line.split(",")[0] for line in lines[1:]] == IDS
    # The path inside a file applies to each file.
    for i in (1, 2):
        np.savez(tmp_path / f"q{i}.npz", x=X[20 * i - 20 : 20 * i], y=X)
    found = princomp("fit", "q?.npz::x", "--json").document
    assert found["rows"] == 40
    assert_correct(X, found)
    planned = princomp("plan", "part-*.csv.gz", "--id", "id", "--json").document
    assert planned["plan"]["columns"] == 3


def test_a_folder_of_tables_is_a_table_and_one_of_results_is_none(princomp, tmp_path):
    X = random_table()
    (tmp_path / "rows" / "y=1").mkdir(parents=True)
    write_table(tmp_path / "rows", "csv", X[:20], stem="p1", ids=IDS[:20])
    write_table(tmp_path / "rows" / "y=1", "csv", X[20:], stem="p2", ids=IDS[20:])
    found = princomp("fit", "rows", "--id", "id", "--json").document
    assert_correct(X, found)
    assert {os.path.dirname(file) for file in found["files"].values()} == {"rows_pca"}
    assert princomp("transform", "rows_pca/model.pca", "rows/", "-o", "d.csv").code == 0
    assert princomp("report", "rows", "--id", "id", "-o", "r.html").code == 0
    for command in (["show", "rows_pca"], ["report", "rows_pca"]):
        done = princomp(*command)
        assert done.code != 0
        assert f"Give the file in it: {os.path.join('rows_pca', 'model.pca')}" in done.err


def test_files_with_different_columns_are_refused(princomp, tmp_path):
    X = random_table()
    write_table(tmp_path, "csv", X, stem="p1")
    write_table(tmp_path, "parquet", X, stem="p2", columns=("a", "bb", "c"))
    before = sorted(tmp_path.rglob("*"))
    for command in (("fit",), ("plan",)):
        done = princomp(*command, "p1.csv", "p2.parquet")
        assert (done.code, done.out) == (65, "")
        assert (
            "p2.parquet: its columns are not those of p1.csv; missing: 'b'; new: 'bb'" in done.err
        )
        error = princomp(*command, "p1.csv", "p2.parquet", "--json").error
        assert error["place"]["missing"] == ["b"]
        assert error["place"]["new"] == ["bb"]
        assert error["place"]["file"] == "p2.parquet"
    # Columns given by name need only be in all files.
    assert princomp("fit", "p1.csv", "p2.parquet", "--columns", "c,a", "--json").code == 0
    package.PCA().fit(str(tmp_path / "p1.csv")).save(tmp_path / "m.pca")
    done = princomp("transform", "m.pca", "p1.csv", "p2.parquet", "-o", "s.csv")
    assert (done.code, done.out) == (65, "")
    assert "p2.parquet lacks columns of the model: b; new in it: bb" in done.err
    assert not (tmp_path / "s.csv").exists()
    assert set(before) <= set(tmp_path.rglob("*"))


def test_notes_name_their_files(princomp, tmp_path):
    X = random_table()
    write_table(tmp_path, "csv", X, stem="p1", ids=IDS)
    write_table(tmp_path, "csv", X, stem="p2")
    write_table(tmp_path, "csv", X, stem="p3", ids=IDS)
    done = princomp("fit", "p1.csv", "p3.csv", "--no-scores")
    named = "the rows are named by column 'id', the first column"
    assert done.err == f"note: p1.csv: {named}; --no-id leaves it out\n"
    done = princomp("fit", "p1.csv", "p2.csv", "--no-scores", "--force")
    assert done.err == "note: p1.csv: left out 1 text column: id\n"


def test_files_with_and_without_the_id_column_of_the_model_are_refused(princomp, tmp_path):
    X = random_table()
    for stem, ids in (("p1", IDS), ("p2", None), ("p3", IDS), ("p4", None)):
        write_table(tmp_path, "csv", X, stem=stem, ids=ids)
    assert princomp("fit", "p1.csv", "--id", "id", "-m", "m.pca").code == 0
    for names, lack in (
        (("p1.csv", "p2.csv"), "p2.csv has"),
        (("p2.csv", "p1.csv"), "p2.csv has"),
        (("p4.csv", "p1.csv", "p2.csv", "p3.csv"), "p4.csv, p2.csv have"),
    ):
        done = princomp("transform", "m.pca", *names, "-o", "s.csv")
        assert done.code == 65
        assert f"{lack} no id column 'id', but the other files have it" in done.err
        assert "--no-id" in done.err
        # Without names, all rows are numbered.
        done = princomp("transform", "m.pca", *names, "--no-id")
        assert (done.code, done.err) == (0, "")
        assert done.out.startswith("row,PC1,PC2,PC3\n")
        assert done.out.count("\n") == 1 + 40 * len(names)
    assert not (tmp_path / "s.csv").exists()
    done = princomp("transform", "m.pca", "p2.csv", "p4.csv")
    assert done.err == "note: p2.csv has no id column 'id'; its rows have no names\n"
    assert done.out.count("\n") == 81


def test_inputs_that_cannot_be_combined_are_refused(princomp, tmp_path, pipe):
    X = random_table()
    name = write_table(tmp_path, "csv", X)
    sparse = write_table(tmp_path, "sparse.npz", X)
    np.save(tmp_path / "t.npy", X)
    before = sorted(tmp_path.rglob("*"))
    cases = [
        (("t.csv", "-"), 2, "cannot be put together with files"),
        (("-", "-"), 2, "cannot be put together"),
        (("t.csv", "*.csv"), 2, "is named twice"),
        (("t.npy", sparse), 2, "sparse and dense tables cannot be joined"),
        ((name, "t.npy"), 65, "have no names"),
        (("nothing-*.csv",), 66, "nothing-*.csv: no file has a name like this"),
        ((name, "no.csv"), 66, "no.csv: no such file"),
        (("t.npz::x",), 66, "t.npz: no such file"),
        (("",), 66, ""),
    ]
    for names, code, message in cases:
        pipe(as_text(X))
        for command in (("fit",), ("plan",)):
            done = princomp(*command, *names)
            assert (done.code, done.out) == (code, ""), (names, done)
            assert message in done.err
            assert "Traceback" not in done.err
            assert princomp(*command, *names, "--json").error["exit_code"] == code
    assert sorted(tmp_path.rglob("*")) == before


def test_none_of_several_inputs_can_be_an_output(princomp, tmp_path):
    X = random_table()
    for stem in ("p1", "p2"):
        write_table(tmp_path, "csv", X, stem=stem)
    (tmp_path / "link.csv").symlink_to("p2.csv")
    for name in ("m.pca", "other.pca"):
        package.PCA().fit(X).save(tmp_path / name)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    for args in (
        ("fit", "p*.csv", "-m", "p2.csv"),
        ("fit", "p1.csv", "p2.csv", "-m", "link.csv"),
        ("transform", "m.pca", "p1.csv", "link.csv", "-o", "p2.csv"),
        ("transform", "m.pca", "p?.csv", "-o", "p1.csv"),
        ("inverse", "m.pca", "p*.csv", "-o", "link.csv"),
        ("merge", "m.pca", "other.pca", "-m", "m.pca"),
    ):
        force = () if args[0] == "merge" else ("--force",)
        done = princomp(*args, *force)
        assert (done.code, done.out) == (73, ""), args
        assert "is an input of this run" in done.err
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "parquet", "arrow", "npy"])
@pytest.mark.parametrize("chunked", [False, True])
def test_a_missing_value_is_reported_with_file_and_row(
    princomp, tmp_path, monkeypatch, kind, chunked
):
    if chunked:
        monkeypatch.setattr(files, "SMALL_FILE_BYTES", 0)
        monkeypatch.setattr(files, "SMALL_COMPRESSED_FILE_BYTES", 0)
    X = random_table()
    write_table(tmp_path, kind, X, stem="p1")
    package.PCA().fit(X).save(tmp_path / "m.pca")
    X[32, 1] = np.nan
    write_table(tmp_path, kind, X, stem="p2")
    before = sorted(tmp_path.rglob("*"))
    column = "1" if kind == "npy" else "b"
    place = {"file": f"p2.{kind}", "row": 32, "column": column}
    if kind.startswith("csv"):
        place["line"] = 34
    names = (f"p1.{kind}", f"p2.{kind}")
    error = princomp("fit", *names, "--json").error
    assert (error["kind"], error["exit_code"]) == ("NotFiniteError", 65)
    assert {key: str(value) for key, value in error["place"].items()} == {
        key: str(value) for key, value in place.items()
    }
    for args in (("fit", *names), ("transform", "m.pca", *names, "-o", "s.csv")):
        done = princomp(*args)
        assert (done.code, done.out) == (65, "")
        assert "row 32" in done.err
        assert f"p2.{kind}" in done.err
        assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "csv.zst", "parquet", "arrow", "npy"])
def test_a_bad_last_row_leaves_existing_output_unchanged(
    princomp, tmp_path, large, monkeypatch, ending
):
    X = random_table()
    write_table(tmp_path, "csv", X)
    package.PCA().fit("t.csv").save("m.pca")
    X[-1, 2] = np.nan
    write_table(tmp_path, "parquet", X)
    monkeypatch.setattr(columnar_stream, "NUMBERS_PER_CHUNK", 24)
    before = sorted(tmp_path.rglob("*"))
    done = princomp("transform", "m.pca", "t.parquet", "-o", f"s.{ending}")
    assert (done.code, done.out) == (65, "")
    assert "row 39, column 'c' of t.parquet" in done.err
    assert sorted(tmp_path.rglob("*")) == before
    (tmp_path / f"s.{ending}").write_bytes(b"precious")
    assert princomp("transform", "m.pca", "t.parquet", "-o", f"s.{ending}", "--force").code == 65
    assert (tmp_path / f"s.{ending}").read_bytes() == b"precious"
    assert sorted(tmp_path.rglob("*")) == sorted([*before, tmp_path / f"s.{ending}"])
    error = princomp("transform", "m.pca", "t.parquet", "--json").error
    assert error["place"] == {"file": "t.parquet", "row": 39, "column": "c"}
