"""Every kind of input file on the command line."""

from __future__ import annotations

import io

import h5py
import numpy as np
import pytest
from input_cases import (
    IDS,
    NAMES,
    STREAMED,
    WITH_NAMES,
    WRITERS,
    as_npy,
    assert_correct,
    random_table,
    write_table,
)

import princomp as package
from command_line import files_in, numbers
from helpers import EPS

# ---- files of every kind --------------------------------------------------------------


@pytest.mark.parametrize("kind", WRITERS)
def test_every_kind_of_input_agrees_with_python(princomp, tmp_path, kind):
    X = random_table(zeros="sparse" in kind or kind == "mtx.gz")
    name = write_table(tmp_path, kind, X)
    done = princomp("fit", name, "-m", "m.pca", "-o", "out", "--json")
    assert (done.code, done.err) == (0, "")
    fitted = package.PCA().fit(name)
    assert done.document["eigenvalues"] == fitted.explained_variance_.tolist()
    assert done.document["rows"] == 40
    assert done.document["columns"] == (list(NAMES) if kind in WITH_NAMES else [0, 1, 2])
    assert done.document["notes"] == []
    scores = numbers(tmp_path / "out" / "scores.csv")
    np.testing.assert_array_equal(scores, fitted.transform(name))
    assert_correct(X, done.document, scores)
    again = princomp("transform", "m.pca", name, "--json")
    assert (again.code, again.err) == (0, "")
    np.testing.assert_array_equal(again.document["data"], scores)
    assert again.document["notes"] == []
    planned = princomp("plan", name, "--json").document
    assert planned["plan"].keys() == done.document["plan"].keys()
    assert planned["plan"]["solver"] == done.document["plan"]["solver"]


@pytest.mark.parametrize("kind", WRITERS)
def test_scores_from_every_kind_of_file_are_inverted(princomp, tmp_path, kind):
    X = random_table()
    # The model has names and ids; the scores may have neither.
    write_table(tmp_path, "csv", X, ids=IDS)
    assert princomp("fit", "t.csv", "--id", "id", "-m", "m.pca", "-o", "out").code == 0
    scores = numbers(tmp_path / "out" / "scores.csv")
    named = {"columns": ("PC1", "PC2", "PC3"), **({"ids": IDS} if kind in STREAMED else {})}
    name = write_table(tmp_path, kind, scores, stem="s", **named)
    done = princomp("inverse", "m.pca", name, "--json")
    assert done.code == 0, done
    assert done.document["columns"] == list(NAMES)
    # Each number is a sum of p products and a mean, in both directions.
    size = np.abs(X).max() * X.shape[1]
    np.testing.assert_allclose(done.document["data"], X, rtol=0, atol=20 * EPS * size)
    if kind in STREAMED:
        assert done.document["ids"] == IDS


def test_unnamed_scores_from_a_pipe_are_inverted(princomp, tmp_path, pipe):
    X = random_table()
    np.save(tmp_path / "x.npy", X)
    assert princomp("fit", "x.npy", "-m", "m.pca", "-o", "out", "--format", "npy").code == 0
    whole = princomp("inverse", "m.pca", "out/scores.npy")
    pipe((tmp_path / "out" / "scores.npy").read_bytes())
    assert princomp("inverse", "m.pca", "-") == whole
    np.testing.assert_allclose(
        np.loadtxt(io.StringIO(whole.out), delimiter=",", skiprows=1), X, atol=1e-11
    )
    pipe(as_npy(np.ones((3, 2))))
    refused = princomp("inverse", "m.pca", "-")
    assert (refused.code, "3 components" in refused.err) == (65, True)


def test_unnamed_columns_are_refused_by_a_model_with_names(princomp, tmp_path, pipe):
    X = random_table()
    write_table(tmp_path, "csv", X, ids=IDS)
    assert princomp("fit", "t.csv", "--id", "id", "-m", "m.pca").code == 0
    before = files_in(tmp_path)
    for kind in ("npy", "npz", "sparse.npz", "mtx", "h5", "zarr.zip"):
        name = write_table(tmp_path, kind, X)
        error = princomp("transform", "m.pca", name, "-o", "s.csv", "--json").error
        assert error["kind"] == "ColumnError", kind
        assert error["exit_code"] == 65
        file = name.partition("::")[0]
        assert error["place"] == {"file": file}
        assert error["message"].startswith(f"{file}: its columns have no names")
        (tmp_path / file).unlink()
    pipe(as_npy(X))
    error = princomp("transform", "m.pca", "-", "-o", "s.csv", "--json").error
    assert (error["exit_code"], error["place"]) == (65, {"file": "standard input"})
    assert files_in(tmp_path) == before


def test_a_file_without_the_id_column_is_noted(princomp, tmp_path):
    X = random_table()
    write_table(tmp_path, "csv", X, ids=IDS)
    assert princomp("fit", "t.csv", "--id", "id", "-m", "m.pca", "-o", "out").code == 0
    with h5py.File(tmp_path / "n.h5", "w") as file:
        file["x"] = X[:, [2, 0, 1]]
        file["x"].attrs["columns"] = ["c", "a", "b"]
    done = princomp("transform", "m.pca", "n.h5")
    note = "note: n.h5 has no id column 'id'; its rows have no names\n"
    assert (done.code, done.err) == (0, note)
    found = np.loadtxt(io.StringIO(done.out), delimiter=",", skiprows=1)[:, 1:]
    np.testing.assert_array_equal(found, numbers(tmp_path / "out" / "scores.csv"))


def test_header_lines_apply_with_header_and_are_refused_without_one(princomp, tmp_path):
    (tmp_path / "t.csv").write_text("a,b\nx,y\n1,2\n3,5\n4,1\n")
    lines = ("--header-lines", 2, "--json")
    expected = princomp("fit", "t.csv", *lines).document["columns"]
    done = princomp("fit", "t.csv", "--header", *lines, "--force")
    assert done.document["columns"] == expected
    assert len(expected) == 2
    done = princomp("fit", "t.csv", "--no-header", *lines, "--force")
    assert done.code == 2
    assert "--header-lines" in done.error["message"]


def test_a_note_names_words_for_missing_cells_that_do_not_occur(princomp, tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,-999\n2,3\n4,5\n7,8\n")
    found = princomp("fit", "t.csv", "--na", "-999;-99", "-k", 1)
    assert "note: no cell is '-999;-99' (--na)" in found.err
