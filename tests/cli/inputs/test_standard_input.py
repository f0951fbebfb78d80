"""Tables from standard input."""

from __future__ import annotations

import gzip
import io
import json
import shlex
import subprocess
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from input_cases import (
    IDS,
    as_arrow,
    as_npy,
    as_text,
    assert_correct,
    random_table,
    tolerance,
    write_table,
)

import princomp as package
from command_line import ARRESTS, files_in, numbers, shell_environment, spawn
from helpers import EPS, truth
from princomp.cli import inputs as calls


def as_arrow_stream(X, size=7, **named):
    buffer, table = io.BytesIO(), as_arrow(X, **named)
    with pa.ipc.new_stream(buffer, table.schema) as writer:
        for batch in table.to_batches(max_chunksize=size):
            writer.write_batch(batch)
    return buffer.getvalue()


# ---- standard input -------------------------------------------------------------------


PIPED = {
    "csv": as_text,
    "tsv": partial(as_text, sep="\t"),
    "arrow": as_arrow_stream,
    "npy": as_npy,
}

COMPRESSIONS = {
    "plain": bytes,
    "gzip": gzip.compress,
    "zstd": lambda content: pa.compress(content, "zstd", asbytes=True),
}


@pytest.mark.parametrize("compression", COMPRESSIONS)
@pytest.mark.parametrize("kind", PIPED)
def test_a_pipe_and_a_file_give_the_same_results(princomp, tmp_path, pipe, kind, compression):
    X = random_table()
    content = COMPRESSIONS[compression](PIPED[kind](X))
    name = "t.npy" if kind == "npy" else "t.csv"
    write_table(tmp_path, name[2:], X)
    assert princomp("fit", name, "--scale", "unit", "-o", "file").code == 0
    pipe(content)
    done = princomp("fit", "-", "--scale", "unit", "--json")
    assert (done.code, done.err) == (0, "")
    assert done.document["files"]["scores"] == "stdin_pca/scores.csv"
    assert done.document["notes"] == []
    for table in ("scores.csv", "loadings.csv", "eigenvalues.csv"):
        of_pipe, of_file = (tmp_path / folder / table for folder in ("stdin_pca", "file"))
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
    X = random_table()
    running = {}
    for kind in kinds:
        args = ("fit", "-", "-o", kind, "--json")
        running[kind] = spawn(*args, cwd=tmp_path, stdin=subprocess.PIPE, text=False)
    for kind, process in running.items():
        with process:
            out, err = process.communicate(PIPED[kind](X))
        assert (process.returncode, err) == (0, b""), kind
        assert_correct(X, json.loads(out), numbers(tmp_path / kind / "scores.csv"))


@pytest.mark.parametrize("kind", ["csv", "tsv", "arrow"])
def test_ids_from_a_pipe_are_written_with_the_scores(princomp, tmp_path, pipe, kind):
    X = random_table()
    write_table(tmp_path, "csv", X, ids=IDS)
    assert princomp("fit", "t.csv", "--id", "id", "-o", "file").code == 0
    pipe(PIPED[kind](X, ids=IDS))
    done = princomp("fit", "-", "--id", "id", "-o", "pipe")
    assert (done.code, done.err) == (0, "")
    of_file, of_pipe = (tmp_path / folder / "scores.csv" for folder in ("file", "pipe"))
    assert of_pipe.read_bytes() == of_file.read_bytes()


@pytest.mark.parametrize("kind", ["csv", "tsv", "arrow"])
def test_ids_from_a_pipe_survive_transform_and_inverse(princomp, tmp_path, pipe, kind):
    X = random_table()
    write_table(tmp_path, "csv", X, ids=IDS)
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
def test_input_too_large_to_keep_gives_a_model_without_scores(
    princomp, tmp_path, pipe, monkeypatch, kind
):
    X = random_table()
    monkeypatch.setattr(calls, "MAX_STDIN_BYTES_IN_MEMORY", 100)
    pipe(PIPED[kind](X))
    done = princomp("fit", "-", "--scale", "unit", "-o", "out")
    assert done.code == 0
    assert done.err == "note: standard input can be read only once: no scores were written\n"
    assert files_in(tmp_path) == ["out/eigenvalues.csv", "out/loadings.csv", "out/model.pca"]
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
    assert found["notes"] == ["standard input can be read only once: no scores were written"]
    assert_correct(X, found)
    pipe(PIPED[kind](X))
    found = princomp("fit", "-", "-o", "none", "--no-scores", "--json").document
    assert found["notes"] == []


@pytest.mark.parametrize(
    "solver",
    ["auto", "full", "covariance_eigh", "arpack", "lanczos", "randomized", "row_gram", "krylov",
     "sketch"],
)  # fmt: skip
def test_no_solver_reads_a_pipe_twice(princomp, tmp_path, pipe, monkeypatch, solver):
    X = random_table()
    monkeypatch.setattr(calls, "MAX_STDIN_BYTES_IN_MEMORY", 0)
    pipe(as_arrow_stream(X))
    done = princomp("fit", "-", "--solver", solver, "-k", 2, "-o", "out", "--json")
    assert done.err == ""
    if done.code:
        # This solver would read the rows again, and is refused at once.
        assert solver == "krylov"
        assert done.code in (2, 75)
        assert files_in(tmp_path) == []
        return
    np.testing.assert_allclose(
        done.document["eigenvalues"][:2], truth(X)[0][:2], rtol=1e-9, atol=tolerance(X)
    )


def test_errors_name_standard_input(princomp, tmp_path, pipe):
    X = random_table()
    write_table(tmp_path, "csv", X)
    package.PCA().fit("t.csv").save("named.pca")
    package.PCA().fit(X).save("numbered.pca")
    before = sorted(tmp_path.rglob("*"))
    bad = X.copy()
    bad[38, 1] = np.nan
    cases = [
        (b"", 65, "the input is empty"),
        (b"a,b,c\n", 65, "no rows"),
        (b"PAR1....PAR1", 2, "Parquet cannot be read from a pipe"),
        (as_npy(X)[:-8], 65, "ends after 39 of 40 rows"),
        (as_npy(X[:0]), 65, "no rows"),
        (as_arrow_stream(X)[:-8], 65, "does not end properly"),
        (gzip.compress(as_text(X), mtime=0)[:-20], 65, "standard input"),
        (as_text(X) + b"1,2,x\n", 65, "column 'c' row 40 (line 42)"),
        (as_text(bad), 65, "row 38, column 'b' of standard input"),
        (as_npy(bad), 65, "of standard input"),
    ]
    for content, code, message in cases:
        model = "numbered.pca" if content.startswith(b"\x93") else "named.pca"
        for args in (("fit", "-"), ("transform", model, "-", "-o", "s.csv")):
            pipe(content)
            done = princomp(*args)
            assert (done.code, done.out) == (code, ""), (content[:20], done)
            assert message in done.err
            assert "standard input" in done.err
            assert "Traceback" not in done.err
            pipe(content)
            error = princomp(*args, "--json").error
            assert error["place"]["file"] == "standard input"
        assert sorted(tmp_path.rglob("*")) == before, content[:20]


def test_a_pipe_without_the_ids_of_the_model_is_refused(princomp, tmp_path, pipe):
    X = random_table()
    write_table(tmp_path, "csv", X, ids=IDS)
    assert princomp("fit", "t.csv", "--id", "id", "-m", "m.pca").code == 0
    pipe(as_text(X))
    error = princomp("transform", "m.pca", "-", "--json").error
    assert (error["exit_code"], error["place"]["missing"]) == (65, ["id"])
    pipe(as_text(X, columns=("a", "c", "d"), ids=IDS))
    error = princomp("transform", "m.pca", "-", "--json").error
    assert (error["place"]["missing"], error["place"]["new"]) == (["b"], ["d"])


def test_a_pipeline_ends_quietly_when_its_reader_stops(tmp_path):
    rng = np.random.default_rng(1)
    X = np.round(rng.standard_normal((60_000, 3)), 3)
    (tmp_path / "x.csv").write_bytes(as_text(X))
    model = package.PCA().fit(str(tmp_path / "x.csv"))
    model.save(tmp_path / "m.pca")
    first = model.transform(str(tmp_path / "x.csv"))[0]

    def run(command):
        environment = shell_environment(tmp_path / "bin")
        args = ["bash", "-o", "pipefail", "-c", command]
        return subprocess.run(
            args, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )

    model_file = shlex.quote(str(tmp_path / "m.pca"))
    done = run(
        f"(cat x.csv || true) | (princomp transform {model_file} -; echo $? >code) | head -2"
    )
    assert done.stdout.splitlines()[0] == "row,PC1,PC2,PC3"
    np.testing.assert_allclose(
        np.array(done.stdout.splitlines()[1].split(",")[1:], float),
        first,
        rtol=0,
        atol=2 * 3 * EPS * np.linalg.norm(X, axis=1).max(),
    )
    assert done.stdout.count("\n") == 2
    assert "princomp" not in done.stderr
    assert "Traceback" not in done.stderr
    assert (tmp_path / "code").read_text() == "0\n"


def test_standard_input_cannot_be_untrusted(princomp, pipe):
    pipe(b"a,b\n1,2\n2,1\n4,4\n")
    done = princomp("fit", "-", "--untrusted", "--json")
    assert done.code == 2
    assert done.error["message"] == "standard input: --untrusted reads files only"
    assert "Save standard input to a file first" in done.error["hint"]


def test_rows_without_the_id_column_of_the_model(princomp, model_file, pipe):
    content = b"".join(line.partition(b",")[2] for line in ARRESTS.read_bytes().splitlines(True))
    pipe(content)
    assert "--no-id" in princomp("transform", model_file, "-", "--json").error["hint"]
    pipe(content)
    done = princomp("transform", model_file, "-", "--no-id")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("row,PC1,PC2\n0,")
    named = princomp("transform", model_file, ARRESTS, "--no-id")
    assert named.out == done.out
    pipe(gzip.compress(as_npy(np.eye(2))))
    assert princomp("inverse", model_file, "-").out.startswith("Murder,Assault,UrbanPop,Rape\n")


def test_text_may_begin_with_the_first_byte_of_an_npy_file(princomp, pipe, tmp_path):
    # In Windows-1252, this byte is an opening quotation mark.
    path = tmp_path / "quoted.csv"
    path.write_bytes("“a”,b,c\n1,2,3\n4,5,7\n2,9,1\n8,1,6\n".encode("cp1252"))
    assert princomp("fit", path, "--encoding", "cp1252", "--model", tmp_path / "m.pca").code == 0
    expected = princomp("transform", tmp_path / "m.pca", path, "--encoding", "cp1252")
    pipe(path.read_bytes())
    done = princomp("transform", tmp_path / "m.pca", "-", "--encoding", "cp1252")
    assert (done.code, done.out) == (0, expected.out)


def test_a_model_reads_standard_input_with_the_words_of_its_fit(princomp, pipe):
    rows = b"a,b\n5,2\n2,-9\n3,5\n9,1\n"
    pipe(rows)
    fit = princomp("fit", "-", "--na", "-9", "--missing", "drop", "-m", "m.pca", "-o", "fit")
    assert fit.code == 0
    pipe(rows)
    done = princomp("transform", "m.pca", "-")
    assert done.out.splitlines()[2].endswith(",")
    assert "note: cells with '-9' count as missing, as in the fit (--na sets other" in done.err
    pipe(b"a,b\n5,2\n3,5\n9,1\n4,7\n")  # they need not have the word
    assert "no cell is" not in princomp("transform", "m.pca", "-").err
