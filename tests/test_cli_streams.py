"""Inputs of every kind on the command line: large, many, piped, damaged."""

from __future__ import annotations

import gzip
import io
import json
import os
import shlex
import subprocess
import sys
import threading
from functools import partial

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
import scipy.io
import scipy.sparse as sp
import zarr

import princomp as package
from command_line import left_in, numbers, shell_path, spawn
from helpers import EPS, aligned, truth
from princomp.cli import calls
from princomp.sources import columnar_stream, delimited_stream, files

NAMES = ("a", "b", "c")
IDS = [f"row {i}" for i in range(40)]


@pytest.fixture
def large(monkeypatch):
    """No table is small enough to be read whole."""
    monkeypatch.setattr(files, "_SMALL", 0)
    monkeypatch.setattr(files, "_SMALL_PACKED", 0)


@pytest.fixture
def pipe(monkeypatch):
    """Put bytes behind standard input, through a pipe that another thread fills."""
    threads, ends = [], []

    def fill(end, content):
        # The reader may have seen enough.
        try:
            with open(end, "wb") as file:
                file.write(content)
        except BrokenPipeError:
            pass

    def put(content):
        out, into = os.pipe()
        threads.append(threading.Thread(target=fill, args=(into, content)))
        threads[-1].start()
        ends.append(open(out, encoding="utf-8"))  # noqa: SIM115 - closed below
        monkeypatch.setattr(sys, "stdin", ends[-1])

    yield put
    for end in ends:
        end.close()
    for thread in threads:
        thread.join()


def measured(seed=5, n=40, zeros=False):
    """Rows of three decimals; about a third of the cells are zero where asked."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.standard_normal((n, 3)) * [9.0, 4.0, 1.0] + [1.0, -2.0, 30.0], 3)
    return np.where(rng.random(X.shape) < 0.35, 0.0, X) if zeros else X


# ---- files of every kind --------------------------------------------------------------


def as_text(X, mark=",", columns=NAMES, ids=None):
    rows = [mark.join(map(repr, row)) for row in X.tolist()]
    lines = [mark.join(columns), *rows]
    if ids is not None:
        lines = [mark.join(pair) for pair in zip(["id", *ids], lines, strict=True)]
    return ("\n".join(lines) + "\n").encode()


def as_arrow(X, columns=NAMES, ids=None):
    named = {} if ids is None else {"id": list(ids)}
    return pa.table({**named, **{name: X[:, j] for j, name in enumerate(columns)}})


def as_stream(X, size=7, **named):
    made, table = io.BytesIO(), as_arrow(X, **named)
    with pa.ipc.new_stream(made, table.schema) as writer:
        for batch in table.to_batches(max_chunksize=size):
            writer.write_batch(batch)
    return made.getvalue()


def as_npy(X):
    made = io.BytesIO()
    np.save(made, X)
    return made.getvalue()


def _hdf5(path, X):
    with h5py.File(path, "w") as file:
        file["other/text"] = ["x"]
        file["group/x"] = X


def _h5ad(path, X, columns, ids):
    with h5py.File(path, "w") as file:
        file.create_dataset("X", data=X).attrs["encoding-type"] = "array"
        for frame, names in (("var", columns), ("obs", ids or IDS[: len(X)])):
            group = file.create_group(frame)
            group.attrs["_index"] = "_index"
            group["_index"] = list(names)


def _zarr(path, X):
    zipped = path.name.endswith(".zip")
    store = zarr.storage.ZipStore(path, mode="w") if zipped else zarr.storage.LocalStore(path)
    zarr.create_array(store, data=X, chunks=(16, 2))
    store.close()


WRITERS = {
    "csv": lambda path, X, named: path.write_bytes(as_text(X, **named)),
    "csv.gz": lambda path, X, named: path.write_bytes(gzip.compress(as_text(X, **named), mtime=0)),
    "csv.zst": lambda path, X, named: path.write_bytes(
        pa.compress(as_text(X, **named), "zstd", asbytes=True)
    ),
    "tsv": lambda path, X, named: path.write_bytes(as_text(X, "\t", **named)),
    "tsv.gz": lambda path, X, named: path.write_bytes(
        gzip.compress(as_text(X, "\t", **named), mtime=0)
    ),
    "tsv.zst": lambda path, X, named: path.write_bytes(
        pa.compress(as_text(X, "\t", **named), "zstd", asbytes=True)
    ),
    "parquet": lambda path, X, named: pyarrow.parquet.write_table(
        as_arrow(X, **named), path, row_group_size=16
    ),
    "arrow": lambda path, X, named: pyarrow.feather.write_feather(
        as_arrow(X, **named), path, compression="uncompressed", chunksize=16
    ),
    "feather": lambda path, X, named: pyarrow.feather.write_feather(as_arrow(X, **named), path),
    "npy": lambda path, X, named: np.save(path, X),
    "npz": lambda path, X, named: np.savez(path, x=X, y=np.arange(3.0)),
    "sparse.npz": lambda path, X, named: sp.save_npz(path, sp.csr_array(X)),
    "mtx": lambda path, X, named: scipy.io.mmwrite(path, X),
    "sparse.mtx": lambda path, X, named: scipy.io.mmwrite(path, sp.coo_array(X)),
    "mtx.gz": lambda path, X, named: _packed(path, sp.coo_array(X)),
    "h5": lambda path, X, named: _hdf5(path, X),
    "h5ad": lambda path, X, named: _h5ad(path, X, named.get("columns", NAMES), named.get("ids")),
    "zarr": lambda path, X, named: _zarr(path, X),
    "zarr.zip": lambda path, X, named: _zarr(path, X),
}
INSIDE = {"npz": "::x", "h5": "::/group/x"}
WITH_NAMES = [kind for kind in WRITERS if kind.startswith(("csv", "tsv"))] + [
    "parquet",
    "arrow",
    "feather",
    "h5ad",
]
# Those of which small files are read whole and large ones in chunks.
STREAMED = [kind for kind in WITH_NAMES if kind != "h5ad"]


def _packed(path, matrix):
    made = io.BytesIO()
    scipy.io.mmwrite(made, matrix)
    path.write_bytes(gzip.compress(made.getvalue(), mtime=0))


def written(folder, kind, X, stem="t", **named):
    """Write a table; gives what it is called on the command line."""
    path = folder / f"{stem}.{kind}"
    WRITERS[kind](path, X, named)
    return path.name + INSIDE.get(kind, "")


def tolerance(X):
    """Bound of the errors of variances: n + p roundings of squares up to λ₁ + |mean|²."""
    n, p = X.shape
    return 4 * (n + p) * EPS * float((X**2).sum(axis=1).max())


def assert_true(X, document=None, scores=None, divisor=None):
    """Compare variances and scores of all components with the SVD of the centred rows."""
    variances, axes = truth(X, divisor=divisor)
    tol = tolerance(X)
    if document is not None:
        np.testing.assert_allclose(document["eigenvalues"], variances, rtol=0, atol=tol)
    if scores is not None:
        rows = X - X.mean(axis=0)
        wanted = rows @ axes.T
        # Axes turn by the error of the scatter over the gaps of the variances.
        gap = np.abs(np.diff(variances)).min()
        size = np.abs(rows).max() * np.sqrt(X.shape[1])
        np.testing.assert_allclose(
            aligned(wanted.T, np.asarray(scores).T).T, wanted, rtol=0, atol=4 * size * tol / gap
        )


@pytest.mark.parametrize("kind", WRITERS)
def test_every_kind_of_input_gives_the_numbers_of_python(princomp, tmp_path, kind):
    X = measured(zeros="sparse" in kind or kind == "mtx.gz")
    name = written(tmp_path, kind, X)
    done = princomp("fit", name, "-m", "m.pca", "-o", "out", "--json")
    assert (done.code, done.err) == (0, "")
    fitted = package.PCA().fit(name)
    assert done.document["eigenvalues"] == fitted.explained_variance_.tolist()
    assert done.document["rows"] == 40
    assert done.document["columns"] == (list(NAMES) if kind in WITH_NAMES else [0, 1, 2])
    assert done.document["notes"] == []
    scores = numbers(tmp_path / "out" / "scores.csv", skip=0)
    np.testing.assert_array_equal(scores, fitted.transform(name))
    assert_true(X, done.document, scores)
    again = princomp("transform", "m.pca", name, "--json")
    assert (again.code, again.err) == (0, "")
    np.testing.assert_array_equal(again.document["data"], scores)
    assert again.document["notes"] == []
    planned = princomp("plan", name, "--json").document
    assert planned["plan"].keys() == done.document["plan"].keys()
    assert planned["plan"]["solver"] == done.document["plan"]["solver"]


@pytest.mark.parametrize("kind", WRITERS)
def test_scores_in_every_kind_of_file_are_turned_back(princomp, tmp_path, kind):
    X = measured()
    # A model with names and ids, and scores that may have neither.
    written(tmp_path, "csv", X, ids=IDS)
    assert princomp("fit", "t.csv", "--id", "id", "-m", "m.pca", "-o", "out").code == 0
    scores = numbers(tmp_path / "out" / "scores.csv")
    named = {"columns": ("PC1", "PC2", "PC3"), **({"ids": IDS} if kind in STREAMED else {})}
    name = written(tmp_path, kind, scores, stem="s", **named)
    done = princomp("inverse", "m.pca", name, "--json")
    assert done.code == 0, done
    assert done.document["columns"] == list(NAMES)
    # Each number is a product of p terms and a mean, there and back.
    size = np.abs(X).max() * X.shape[1]
    np.testing.assert_allclose(done.document["data"], X, rtol=0, atol=20 * EPS * size)
    if kind in STREAMED:
        assert done.document["ids"] == IDS


def test_scores_without_names_are_turned_back_from_a_pipe(princomp, tmp_path, pipe):
    X = measured()
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


def test_columns_without_names_do_not_pass_for_those_of_a_model(princomp, tmp_path, pipe):
    X = measured()
    written(tmp_path, "csv", X, ids=IDS)
    assert princomp("fit", "t.csv", "--id", "id", "-m", "m.pca").code == 0
    before = left_in(tmp_path)
    for kind in ("npy", "npz", "sparse.npz", "mtx", "h5", "zarr.zip"):
        name = written(tmp_path, kind, X)
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
    assert left_in(tmp_path) == before


def test_a_store_of_named_columns_goes_without_the_ids_of_the_model(princomp, tmp_path):
    X = measured()
    written(tmp_path, "csv", X, ids=IDS)
    assert princomp("fit", "t.csv", "--id", "id", "-m", "m.pca", "-o", "out").code == 0
    with h5py.File(tmp_path / "n.h5", "w") as file:
        file["x"] = X[:, [2, 0, 1]]
        file["x"].attrs["columns"] = ["c", "a", "b"]
    done = princomp("transform", "m.pca", "n.h5")
    assert (done.code, done.err) == (0, "note: n.h5 has no id column 'id'; the rows go without\n")
    found = np.loadtxt(io.StringIO(done.out), delimiter=",", skiprows=1)
    np.testing.assert_array_equal(found, numbers(tmp_path / "out" / "scores.csv"))


# ---- large files ----------------------------------------------------------------------


@pytest.mark.parametrize("kind", STREAMED)
def test_files_read_in_chunks_give_the_bytes_of_files_read_whole(
    princomp, tmp_path, monkeypatch, kind
):
    name = written(tmp_path, kind, measured(), ids=IDS)
    words = ("--id", "id", "--scale", "unit", "-k", 2)
    assert princomp("fit", name, *words, "-o", "small").code == 0
    monkeypatch.setattr(files, "_SMALL", 0)
    monkeypatch.setattr(files, "_SMALL_PACKED", 0)
    read = []
    whole = files._READERS[f".{kind}"]
    monkeypatch.setitem(files._READERS, f".{kind}", lambda *a: read.append(a) or whole(*a))
    assert princomp("fit", name, *words, "-o", "large").code == 0
    assert read == []
    for result in ("scores.csv", "loadings.csv", "eigenvalues.csv"):
        assert (tmp_path / "large" / result).read_bytes() == (
            tmp_path / "small" / result
        ).read_bytes()
    done = princomp("transform", "large/model.pca", name)
    assert (done.code, done.out) == (0, (tmp_path / "small" / "scores.csv").read_text())


def test_many_chunks_give_the_scores_of_one_to_rounding(princomp, tmp_path, large, monkeypatch):
    rng = np.random.default_rng(8)
    n, p = 900, 17
    X = np.round(rng.standard_normal((n, p)) * np.arange(1, p + 1), 4)
    (tmp_path / "t.csv").write_bytes(as_text(X, columns=[f"x{j}" for j in range(p)]))
    assert princomp("fit", "t.csv", "-o", "one").code == 0
    for limit, size in (("_HEAD", 2**12), ("_LEAST_TEXT", 2000), ("_MOST_TEXT", 2000)):
        monkeypatch.setattr(delimited_stream, limit, size)
    source = files.open_source("t.csv")
    assert len(list(source.chunks())) > 20
    assert princomp("fit", "t.csv", "-o", "many").code == 0
    for same in ("loadings.csv", "eigenvalues.csv"):
        assert (tmp_path / "many" / same).read_bytes() == (tmp_path / "one" / same).read_bytes()
    one, many = (numbers(tmp_path / made / "scores.csv", skip=0) for made in ("one", "many"))
    # A score is a sum of p products with a unit axis, in an order that depends on the
    # number of rows at a time.
    size = np.linalg.norm(X - X.mean(axis=0), axis=1, keepdims=True)
    assert (np.abs(one - many) <= 2 * p * EPS * size).all()
    # The same chunks give the same bits.
    done = princomp("transform", "many/model.pca", "t.csv")
    assert done.out == (tmp_path / "many" / "scores.csv").read_text()


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "csv.zst", "tsv", "parquet", "arrow", "npy"])
def test_scores_are_written_in_every_format_chunk_by_chunk(
    princomp, tmp_path, large, monkeypatch, ending
):
    X = measured()
    written(tmp_path, "parquet", X, ids=IDS)
    monkeypatch.setattr(columnar_stream, "_NUMBERS", 24, raising=True)
    assert len(list(files.open_source("t.parquet").chunks())) > 2
    assert princomp("fit", "t.parquet", "--id", "id", "-m", "m.pca", "--no-scores").code == 0
    done = princomp("transform", "m.pca", "t.parquet", "-o", f"s.{ending}", "--json")
    assert (done.code, done.err) == (0, "")
    assert done.document["rows"] == 40
    assert done.document["files"] == {"data": f"s.{ending}"}
    named = {} if ending == "npy" else {"id_column": "id"}
    table = files.read_table(f"s.{ending}", **named)
    assert_true(X, scores=table.data)
    if ending != "npy":
        assert table.columns == ("PC1", "PC2", "PC3")
        assert table.ids.tolist() == IDS
    back = princomp("inverse", "m.pca", f"s.{ending}", "-o", f"back.{ending}")
    assert (back.code, back.out, back.err) == (0, "", "")
    np.testing.assert_allclose(
        files.read_table(f"back.{ending}", **named).data, X, rtol=0, atol=1e-12
    )


def test_without_scores_two_tables_and_the_model_are_left(princomp, tmp_path, large):
    X = measured()
    name = written(tmp_path, "csv", X)
    done = princomp("fit", name, "--no-scores", "--json", "-o", "out")
    assert sorted(done.document["files"]) == ["eigenvalues", "loadings", "model"]
    assert left_in(tmp_path / "out") == ["eigenvalues.csv", "loadings.csv", "model.pca"]
    assert_true(X, done.document)
    X[3, 1] = np.nan
    written(tmp_path, "parquet", X)
    done = princomp("fit", "t.parquet", "--no-scores", "--missing", "drop", "-o", "dropped")
    assert "rows with missing values: 1; they took no part in the fit\n" in done.err
    assert_true(
        np.delete(X, 3, axis=0),
        {"eigenvalues": numbers(tmp_path / "dropped" / "eigenvalues.csv")[:, 0]},
    )


# ---- several files --------------------------------------------------------------------


def test_files_of_several_kinds_are_one_table_with_its_ids(princomp, tmp_path):
    X = measured()
    written(tmp_path, "csv", X, ids=IDS)
    assert princomp("fit", "t.csv", "--id", "id", "-o", "one").code == 0
    written(tmp_path, "csv", X[:10], stem="p1", ids=IDS[:10])
    turned = {"columns": ("c", "a", "b")}
    written(tmp_path, "parquet", X[10:25][:, [2, 0, 1]], stem="p2", ids=IDS[10:25], **turned)
    turned = {"columns": ("b", "a", "c")}
    written(tmp_path, "arrow", X[25:][:, [1, 0, 2]], stem="p3", ids=IDS[25:], **turned)
    for names in (("p1.csv", "p2.parquet", "p3.arrow"), ("p*.*",)):
        done = princomp("fit", *names, "--id", "id", "-o", "several", "--force", "--json")
        assert (done.code, done.err) == (0, "")
        assert done.document["columns"] == list(NAMES)
        assert done.document["rows"] == 40
        assert_true(X, done.document)
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
    # The order of the columns, as that of the rows, is that of the first.
    found = princomp("fit", "p3.arrow", "p1.csv", "--json", "--id", "id").document
    assert found["columns"] == ["b", "a", "c"]
    assert sorted(found["files"].values())[0] == "p3_pca/eigenvalues.csv"


def test_a_wildcard_takes_files_in_natural_order_and_names_the_results(princomp, tmp_path):
    X = measured()
    for i in (10, 2, 1):
        at = {1: slice(0, 10), 2: slice(10, 20), 10: slice(20, 40)}[i]
        written(tmp_path, "csv.gz", X[at], stem=f"part-{i}", ids=IDS[at])
    done = princomp("fit", "part-*.csv.gz", "--id", "id", "--json")
    assert done.code == 0
    assert {os.path.dirname(file) for file in done.document["files"].values()} == {"part_pca"}
    lines = (tmp_path / "part_pca" / "scores.csv").read_text().splitlines()
    assert [line.split(",")[0] for line in lines[1:]] == IDS
    # What is meant inside belongs to each file.
    for i in (1, 2):
        np.savez(tmp_path / f"q{i}.npz", x=X[20 * i - 20 : 20 * i], y=X)
    found = princomp("fit", "q?.npz::x", "--json").document
    assert found["rows"] == 40
    assert_true(X, found)
    planned = princomp("plan", "part-*.csv.gz", "--id", "id", "--json").document
    assert planned["plan"]["columns"] == 3


def test_other_columns_are_refused_with_the_difference(princomp, tmp_path):
    X = measured()
    written(tmp_path, "csv", X, stem="p1")
    written(tmp_path, "parquet", X, stem="p2", columns=("a", "bb", "c"))
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
    # Named columns bind what both have.
    assert princomp("fit", "p1.csv", "p2.parquet", "--columns", "c,a", "--json").code == 0
    package.PCA().fit(str(tmp_path / "p1.csv")).save(tmp_path / "m.pca")
    done = princomp("transform", "m.pca", "p1.csv", "p2.parquet", "-o", "s.csv")
    assert (done.code, done.out) == (65, "")
    assert "p2.parquet lacks columns of the model: b; new in it: bb" in done.err
    assert not (tmp_path / "s.csv").exists()
    assert set(before) <= set(tmp_path.rglob("*"))


def test_notes_name_the_files_they_are_of(princomp, tmp_path):
    X = measured()
    written(tmp_path, "csv", X, stem="p1", ids=IDS)
    written(tmp_path, "csv", X, stem="p2")
    written(tmp_path, "csv", X, stem="p3", ids=IDS)
    done = princomp("fit", "p1.csv", "p3.csv", "--no-scores")
    assert done.err == "note: left out 1 text column: id\n"
    done = princomp("fit", "p1.csv", "p2.csv", "--no-scores", "--force")
    assert done.err == "note: p1.csv: left out 1 text column: id\n"
    # Of a model with ids, a file without them takes those of all away.
    assert princomp("fit", "p1.csv", "--id", "id", "-m", "m.pca", "-o", "ids").code == 0
    done = princomp("transform", "m.pca", "p1.csv", "p2.csv")
    assert done.err == (
        "note: p2.csv has no id column 'id'; the rows go without\n"
        "note: ignored columns that the model does not use: id\n"
    )
    assert done.out.startswith("PC1,PC2,PC3\n")
    assert done.out.count("\n") == 81


def test_inputs_that_cannot_be_put_together(princomp, tmp_path, pipe):
    X = measured()
    name = written(tmp_path, "csv", X)
    sparse = written(tmp_path, "sparse.npz", X)
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
    for names, code, told in cases:
        pipe(as_text(X))
        for command in (("fit",), ("plan",)):
            done = princomp(*command, *names)
            assert (done.code, done.out) == (code, ""), (names, done)
            assert told in done.err
            assert "Traceback" not in done.err
            assert princomp(*command, *names, "--json").error["exit_code"] == code
    assert sorted(tmp_path.rglob("*")) == before


def test_an_input_among_several_is_never_an_output(princomp, tmp_path):
    X = measured()
    for stem in ("p1", "p2"):
        written(tmp_path, "csv", X, stem=stem)
    (tmp_path / "link.csv").symlink_to("p2.csv")
    package.PCA().fit(X).save(tmp_path / "m.pca")
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    for words in (
        ("fit", "p*.csv", "-m", "p2.csv"),
        ("fit", "p1.csv", "p2.csv", "-m", "link.csv"),
        ("transform", "m.pca", "p1.csv", "link.csv", "-o", "p2.csv"),
        ("transform", "m.pca", "p?.csv", "-o", "p1.csv"),
        ("inverse", "m.pca", "p*.csv", "-o", "link.csv"),
        ("merge", "m.pca", "m.pca", "-m", "m.pca"),
    ):
        force = () if words[0] == "merge" else ("--force",)
        done = princomp(*words, *force)
        assert (done.code, done.out) == (73, ""), words
        assert "is an input of this run" in done.err
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "parquet", "arrow", "npy"])
@pytest.mark.parametrize("chunked", [False, True])
def test_a_missing_value_in_a_later_file_is_named_with_its_row_there(
    princomp, tmp_path, monkeypatch, kind, chunked
):
    if chunked:
        monkeypatch.setattr(files, "_SMALL", 0)
        monkeypatch.setattr(files, "_SMALL_PACKED", 0)
    X = measured()
    written(tmp_path, kind, X, stem="p1")
    package.PCA().fit(X).save(tmp_path / "m.pca")
    X[32, 1] = np.nan
    written(tmp_path, kind, X, stem="p2")
    before = sorted(tmp_path.rglob("*"))
    column = "1" if kind == "npy" else "b"
    place = {"file": f"p2.{kind}", "row": 33, "column": column}
    names = (f"p1.{kind}", f"p2.{kind}")
    error = princomp("fit", *names, "--json").error
    assert (error["kind"], error["exit_code"]) == ("NotFiniteError", 65)
    assert {key: str(value) for key, value in error["place"].items()} == {
        key: str(value) for key, value in place.items()
    }
    for words in (("fit", *names), ("transform", "m.pca", *names, "-o", "s.csv")):
        done = princomp(*words)
        assert (done.code, done.out) == (65, "")
        assert "row 33" in done.err
        assert f"p2.{kind}" in done.err
        assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "csv.zst", "parquet", "arrow", "npy"])
def test_a_bad_last_row_leaves_no_output_and_the_old_one_as_it_was(
    princomp, tmp_path, large, monkeypatch, ending
):
    X = measured()
    written(tmp_path, "csv", X)
    package.PCA().fit("t.csv").save("m.pca")
    X[-1, 2] = np.nan
    written(tmp_path, "parquet", X)
    monkeypatch.setattr(columnar_stream, "_NUMBERS", 24)
    before = sorted(tmp_path.rglob("*"))
    done = princomp("transform", "m.pca", "t.parquet", "-o", f"s.{ending}")
    assert (done.code, done.out) == (65, "")
    assert "row 40, column 'c' of t.parquet" in done.err
    assert sorted(tmp_path.rglob("*")) == before
    (tmp_path / f"s.{ending}").write_bytes(b"precious")
    assert princomp("transform", "m.pca", "t.parquet", "-o", f"s.{ending}", "--force").code == 65
    assert (tmp_path / f"s.{ending}").read_bytes() == b"precious"
    assert sorted(tmp_path.rglob("*")) == sorted([*before, tmp_path / f"s.{ending}"])
    error = princomp("transform", "m.pca", "t.parquet", "--json").error
    assert error["place"] == {"file": "t.parquet", "row": 40, "column": "c"}


# ---- standard input -------------------------------------------------------------------

PIPED = {
    "csv": as_text,
    "tsv": partial(as_text, mark="\t"),
    "arrow": as_stream,
    "npy": as_npy,
}
PACKED = {
    "plain": bytes,
    "gzip": gzip.compress,
    "zstd": lambda content: pa.compress(content, "zstd", asbytes=True),
}


@pytest.mark.parametrize("how", PACKED)
@pytest.mark.parametrize("kind", PIPED)
def test_a_pipe_gives_the_numbers_of_a_file(princomp, tmp_path, pipe, kind, how):
    X = measured()
    content = PACKED[how](PIPED[kind](X))
    name = "t.npy" if kind == "npy" else "t.csv"
    written(tmp_path, name[2:], X)
    assert princomp("fit", name, "--scale", "unit", "-o", "file").code == 0
    pipe(content)
    done = princomp("fit", "-", "--scale", "unit", "--json")
    assert (done.code, done.err) == (0, "")
    assert done.document["files"]["scores"] == "stdin_pca/scores.csv"
    assert done.document["notes"] == []
    for table in ("scores.csv", "loadings.csv", "eigenvalues.csv"):
        of_pipe, of_file = (tmp_path / made / table for made in ("stdin_pca", "file"))
        assert of_pipe.read_bytes() == of_file.read_bytes()
    pipe(content)
    done = princomp("transform", "file/model.pca", "-")
    assert (done.code, done.err) == (0, "")
    assert done.out == (tmp_path / "file" / "scores.csv").read_text()
    pipe(content)
    planned = princomp("plan", "-", "--json")
    assert (planned.code, planned.err) == (0, "")
    assert planned.document["plan"]["rows"] == 40


@pytest.mark.parametrize(
    "kinds", [("csv", "arrow"), pytest.param(("tsv", "npy"), marks=pytest.mark.soak)]
)
def test_real_processes_read_real_pipes(tmp_path, kinds):
    X = measured()
    running = {}
    for kind in kinds:
        words = ("fit", "-", "-o", kind, "--json")
        running[kind] = spawn(*words, cwd=tmp_path, stdin=subprocess.PIPE, text=False)
    for kind, process in running.items():
        with process:
            out, err = process.communicate(PIPED[kind](X))
        assert (process.returncode, err) == (0, b""), kind
        assert_true(X, json.loads(out), numbers(tmp_path / kind / "scores.csv", skip=0))


@pytest.mark.parametrize("kind", ["csv", "tsv", "arrow"])
def test_ids_from_a_pipe_stand_beside_the_scores(princomp, tmp_path, pipe, kind):
    X = measured()
    written(tmp_path, "csv", X, ids=IDS)
    assert princomp("fit", "t.csv", "--id", "id", "-o", "file").code == 0
    pipe(PIPED[kind](X, ids=IDS))
    done = princomp("fit", "-", "--id", "id", "-o", "pipe")
    assert (done.code, done.err) == (0, "")
    of_file, of_pipe = (tmp_path / made / "scores.csv" for made in ("file", "pipe"))
    assert of_pipe.read_bytes() == of_file.read_bytes()


@pytest.mark.parametrize("kind", ["csv", "tsv", "arrow"])
def test_ids_from_a_pipe_go_through_transform_and_back(princomp, tmp_path, pipe, kind):
    X = measured()
    written(tmp_path, "csv", X, ids=IDS)
    assert princomp("fit", "t.csv", "--id", "id", "-o", "file").code == 0
    scores = (tmp_path / "file" / "scores.csv").read_text()
    pipe(PIPED[kind](X[:, ::-1], columns=("c", "b", "a"), ids=IDS))
    done = princomp("transform", "file/model.pca", "-")
    assert (done.code, done.out, done.err) == (0, scores, "")
    pipe(scores.encode())
    back = princomp("inverse", "file/model.pca", "-", "--json").document
    assert back["ids"] == IDS
    np.testing.assert_allclose(back["data"], X, rtol=0, atol=20 * EPS * 3 * np.abs(X).max())


@pytest.mark.parametrize("kind", PIPED)
def test_of_more_input_than_is_kept_the_model_is_left(princomp, tmp_path, pipe, monkeypatch, kind):
    X = measured()
    monkeypatch.setattr(calls, "_KEPT", 100)
    pipe(PIPED[kind](X))
    done = princomp("fit", "-", "--scale", "unit", "-o", "out")
    assert done.code == 0
    assert done.err == "note: standard input is gone after the fit: no scores were written\n"
    assert left_in(tmp_path) == ["out/eigenvalues.csv", "out/loadings.csv", "out/model.pca"]
    model = package.load(tmp_path / "out" / "model.pca")
    assert model.n_samples_ == 40
    divisor = X.std(axis=0, ddof=1)
    np.testing.assert_allclose(
        model.explained_variance_, truth(X, divisor=divisor)[0], rtol=0, atol=tolerance(X / divisor)
    )
    assert "scores.csv" not in done.out
    pipe(PIPED[kind](X))
    found = princomp("fit", "-", "-o", "more", "--json").document
    assert sorted(found["files"]) == ["eigenvalues", "loadings", "model"]
    assert found["notes"] == ["standard input is gone after the fit: no scores were written"]
    assert_true(X, found)
    pipe(PIPED[kind](X))
    found = princomp("fit", "-", "-o", "none", "--no-scores", "--json").document
    assert found["notes"] == []


@pytest.mark.parametrize(
    "solver",
    ["auto", "full", "covariance_eigh", "arpack", "lanczos", "randomized", "row_gram", "krylov",
     "sketch"],
)  # fmt: skip
def test_no_route_needs_a_pipe_twice(princomp, tmp_path, pipe, monkeypatch, solver):
    X = measured()
    monkeypatch.setattr(calls, "_KEPT", 0)
    pipe(as_stream(X))
    done = princomp("fit", "-", "--solver", solver, "-k", 2, "-o", "out", "--json")
    assert done.err == ""
    if done.code:
        # It would have to read them again, and says so before it begins.
        assert solver == "krylov"
        assert done.code in (2, 75)
        assert left_in(tmp_path) == []
        return
    np.testing.assert_allclose(
        done.document["eigenvalues"][:2], truth(X)[0][:2], rtol=1e-9, atol=tolerance(X)
    )


def test_a_pipe_is_told_of_as_standard_input(princomp, tmp_path, pipe):
    X = measured()
    written(tmp_path, "csv", X)
    package.PCA().fit("t.csv").save("named.pca")
    package.PCA().fit(X).save("numbered.pca")
    before = sorted(tmp_path.rglob("*"))
    bad = X.copy()
    bad[38, 1] = np.nan
    cases = [
        (b"", 65, "nothing came"),
        (b"a,b,c\n", 65, "no rows"),
        (b"PAR1....PAR1", 2, "Parquet cannot be read from a pipe"),
        (as_npy(X)[:-8], 65, "ends after row 39 of 40"),
        (as_npy(X[:0]), 65, "no rows"),
        (as_stream(X)[:-8], 65, "does not end properly"),
        (gzip.compress(as_text(X), mtime=0)[:-20], 65, "standard input"),
        (as_text(X) + b"1,2,x\n", 65, "column 'c' row 41 (line 42)"),
        (as_text(bad), 65, "row 39, column 'b' of standard input"),
        (as_npy(bad), 65, "of standard input"),
    ]
    for content, code, told in cases:
        model = "numbered.pca" if content.startswith(b"\x93") else "named.pca"
        for words in (("fit", "-"), ("transform", model, "-", "-o", "s.csv")):
            pipe(content)
            done = princomp(*words)
            assert (done.code, done.out) == (code, ""), (content[:20], done)
            assert told in done.err
            assert "standard input" in done.err
            assert "Traceback" not in done.err
            pipe(content)
            error = princomp(*words, "--json").error
            assert error["place"]["file"] == "standard input"
        assert sorted(tmp_path.rglob("*")) == before, content[:20]


def test_a_pipe_without_the_ids_of_the_model_is_refused(princomp, tmp_path, pipe):
    X = measured()
    written(tmp_path, "csv", X, ids=IDS)
    assert princomp("fit", "t.csv", "--id", "id", "-m", "m.pca").code == 0
    pipe(as_text(X))
    error = princomp("transform", "m.pca", "-", "--json").error
    assert (error["exit_code"], error["place"]["missing"]) == (65, ["id"])
    pipe(as_text(X, columns=("a", "c", "d"), ids=IDS))
    error = princomp("transform", "m.pca", "-", "--json").error
    assert (error["place"]["missing"], error["place"]["new"]) == (["b"], ["d"])


def test_a_pipeline_ends_quietly_when_its_reader_has_seen_enough(tmp_path):
    rng = np.random.default_rng(1)
    X = np.round(rng.standard_normal((60_000, 3)), 3)
    (tmp_path / "x.csv").write_bytes(as_text(X))
    model = package.PCA().fit(str(tmp_path / "x.csv"))
    model.save(tmp_path / "m.pca")
    first = model.transform(str(tmp_path / "x.csv"))[0]

    def run(line):
        environment = shell_path(tmp_path / "bin")
        words = ["bash", "-o", "pipefail", "-c", line]
        return subprocess.run(
            words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )

    model_file = shlex.quote(str(tmp_path / "m.pca"))
    done = run(
        f"(cat x.csv || true) | (princomp transform {model_file} -; echo $? >code) | head -2"
    )
    assert done.stdout.splitlines()[0] == "PC1,PC2,PC3"
    np.testing.assert_allclose(
        np.array(done.stdout.splitlines()[1].split(","), float),
        first,
        rtol=0,
        atol=2 * 3 * EPS * np.linalg.norm(X, axis=1).max(),
    )
    assert done.stdout.count("\n") == 2
    assert "princomp" not in done.stderr
    assert "Traceback" not in done.stderr
    assert (tmp_path / "code").read_text() == "0\n"


# ---- memory ---------------------------------------------------------------------------


@pytest.mark.parametrize("size", ["2GB", "512 MiB", "1.5g", "900000000"])
def test_sizes_of_memory_that_are_understood(princomp, tmp_path, size):
    X = measured()
    name = written(tmp_path, "csv", X)
    done = princomp("fit", name, "--memory", size, "--json")
    assert (done.code, done.err) == (0, "")
    assert_true(X, done.document)
    wanted = {"2GB": 2e9, "512 MiB": 2**29, "1.5g": 1.5e9, "900000000": 9e8}[size]
    assert done.document["plan"]["memory_limit"] == wanted
    assert (
        princomp("plan", name, "--memory", size, "--json").document["plan"]
        == (done.document["plan"])
    )


@pytest.mark.parametrize("size", ["", "much", "-1GB", "0", "2 elephants", "nan", "1e9", "10iB"])
def test_sizes_of_memory_that_are_not(princomp, tmp_path, size):
    name = written(tmp_path, "csv", measured())
    for command in ("fit", "plan"):
        done = princomp(command, name, f"--memory={size}")
        assert (done.code, done.out) == (2, "")
        assert f"{size!r} is no size of memory" in done.err
        assert princomp(command, name, f"--memory={size}", "--json").error["exit_code"] == 2
    assert left_in(tmp_path) == ["t.csv"]


@pytest.mark.parametrize("kind", ["csv", "npy", "parquet"])
def test_too_little_memory_is_told_with_how_much_it_takes(princomp, tmp_path, large, kind):
    X = measured()
    name = written(tmp_path, kind, X)
    before = sorted(tmp_path.rglob("*"))
    for command in ("fit", "plan"):
        done = princomp(command, name, "--memory", "1kB")
        assert (done.code, done.out) == (75, "")
        assert "1 kB of memory" in done.err
        error = princomp(command, name, "--memory", "1kB", "--json").error
        assert error["kind"] == "MemoryLimitError"
        assert sorted(tmp_path.rglob("*")) == before
    # What the hint asks for is enough.
    asked = error["hint"].removeprefix("allow ").partition(" (")[0]
    assert princomp("fit", name, "--memory", asked).code == 0


def test_two_small_files_take_no_more_memory_than_one(princomp, tmp_path):
    X = measured()
    written(tmp_path, "csv", X[:20], stem="p1")
    written(tmp_path, "csv", X[20:], stem="p2")
    written(tmp_path, "csv", X)
    assert princomp("fit", "t.csv", "--memory", "10MB", "--no-scores").code == 0
    assert princomp("fit", "p1.csv", "p2.csv", "--memory", "10MB", "--no-scores").code == 0


# ---- a table as people have it --------------------------------------------------------


def flights(n=400):
    """Departures with text, whole numbers, times, and arrivals that are missing."""
    rng = np.random.default_rng(2013)
    delay = rng.integers(-20, 200, n).astype(object)
    arrived = rng.random(n) > 0.08
    air = rng.integers(30, 400, n)
    arrival = [int(d + rng.integers(-30, 30)) if ok else None for d, ok in zip(delay, arrived)]  # noqa: B905
    return pa.table(
        {
            "year": pa.array([2013] * n, pa.int64()),
            "month": pa.array(rng.integers(1, 13, n), pa.int64()),
            "dep_delay": pa.array([int(d) for d in delay], pa.int64()),
            "arr_delay": pa.array(arrival, pa.int64()),
            "carrier": pa.array(rng.choice(["UA", "AA", "B6"], n).tolist()),
            "tailnum": pa.array([f"N{i}" if i % 7 else None for i in range(n)]),
            "air_time": pa.array(
                [float(a) if ok else None for a, ok in zip(air, arrived)],  # noqa: B905
                pa.float64(),
            ),
            "distance": pa.array(air * 8, pa.int64()),
            "time_hour": pa.array([f"2013-01-01T{i % 24:02}:00:00Z" for i in range(n)]),
        }
    ), arrived


@pytest.mark.parametrize("chunked", [False, True])
def test_a_table_of_flights_is_the_same_as_csv_and_as_parquet(
    princomp, tmp_path, monkeypatch, chunked
):
    table, arrived = flights()
    if chunked:
        monkeypatch.setattr(files, "_SMALL", 0)
    pyarrow.parquet.write_table(table, tmp_path / "f.parquet", row_group_size=90)
    table.to_pandas().astype({"arr_delay": "Int64"}).to_csv(
        tmp_path / "f.csv", index=False, na_rep="NA"
    )
    refused = princomp("fit", "f.csv", "--json").error
    first = int(np.argmin(arrived)) + 1
    assert refused["place"] == {"file": "f.csv", "row": first, "column": "arr_delay"}
    found = {}
    for kind in ("csv", "parquet"):
        words = ("--missing", "drop", "--exclude", "year", "-o", kind, "--json")
        done = princomp("fit", f"f.{kind}", *words)
        assert (done.code, done.err) == (0, "")
        found[kind] = done.document
    wanted = ["month", "dep_delay", "arr_delay", "air_time", "distance"]
    kept = np.column_stack([table.column(name).to_pandas() for name in wanted])[arrived]
    kept = kept.astype(float)
    for document in found.values():
        assert document["columns"] == wanted
        assert document["dropped"] == (~arrived).sum() > 0
        assert document["rows"] == arrived.sum()
        np.testing.assert_allclose(
            document["eigenvalues"], truth(kept)[0], rtol=0, atol=tolerance(kept)
        )
    same = ("eigenvalues", "dropped", "rows", "columns", "mean", "total_variance")
    assert [found["csv"][key] for key in same] == [found["parquet"][key] for key in same]
    scores = [(tmp_path / kind / "scores.csv").read_bytes() for kind in found]
    assert scores[0] == scores[1]
    empty = [i for i, line in enumerate(scores[0].decode().splitlines()[1:]) if line == ",,,,"]
    assert empty == np.flatnonzero(~arrived).tolist()


# ---- damaged files --------------------------------------------------------------------

# Text may be cut after any row and still be a table; of MatrixMarket the entries are counted.
CUT = [kind for kind in WRITERS if kind != "zarr"]


@pytest.mark.parametrize("kind", CUT)
def test_a_file_cut_anywhere_is_refused_by_name_and_nothing_is_written(princomp, tmp_path, kind):
    X = measured(zeros="sparse" in kind or kind == "mtx.gz")
    name = written(tmp_path, kind, X)
    path = tmp_path / name.partition("::")[0]
    whole = path.read_bytes()
    package.PCA().fit(X).save(tmp_path / "m.pca")
    before = sorted(tmp_path.rglob("*"))
    lawful = 0
    for i in range(64):
        path.write_bytes(whole[: len(whole) * i // 64])
        done = princomp("fit", name, "-o", "out", "--no-scores", "--json")
        assert done.err == ""
        if done.code == 0:
            assert kind in ("csv", "tsv"), i
            assert 2 <= done.document["rows"] < len(X)
            lawful += 1
            for made in (tmp_path / "out").iterdir():
                made.unlink()
            (tmp_path / "out").rmdir()
        else:
            assert done.code in (65, 66), (i, done)
            assert done.error["hint"]
            if "there is 1 sample" in done.error["message"]:
                assert kind in ("csv", "tsv")  # a lawful file of one row
                continue
            assert path.name in done.error["message"]
            assert done.error["place"]["file"] == path.name
        assert sorted(tmp_path.rglob("*")) == before, i
    assert (lawful > 10) == (kind in ("csv", "tsv"))
    path.write_bytes(whole[: len(whole) // 2])
    done = princomp("transform", "m.pca", name, "-o", "s.csv")
    assert "Traceback" not in done.err
    if kind not in ("csv", "tsv"):
        assert done.code == 65
        assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("kind", STREAMED)
def test_a_large_file_cut_anywhere_leaves_no_scores(princomp, tmp_path, large, kind):
    X = measured()
    name = written(tmp_path, kind, X)
    whole = (tmp_path / name).read_bytes()
    assert princomp("fit", name, "-m", "m.pca", "--no-scores").code == 0
    before = sorted(tmp_path.rglob("*"))
    for i in range(1, 64, 3):
        (tmp_path / name).write_bytes(whole[: len(whole) * i // 64])
        done = princomp("transform", "m.pca", name, "-o", "s.parquet", "--json")
        assert done.err == ""
        if done.code == 0:
            assert kind in ("csv", "tsv")
            assert done.document["rows"] < len(X)
            (tmp_path / "s.parquet").unlink()
        else:
            assert done.code in (65, 66), (i, done)
            assert done.error["place"]["file"] == name
        assert sorted(tmp_path.rglob("*")) == before, i
