"""Memory limits, untidy tables and damaged files."""

from __future__ import annotations

import shlex

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from input_cases import (
    STREAMED,
    TRUNCATED_KINDS,
    assert_correct,
    random_table,
    tolerance,
    write_table,
)

import princomp as package
from command_line import files_in
from helpers import truth
from princomp.io.readers import files

# ---- memory ---------------------------------------------------------------------------


@pytest.mark.parametrize("size", ["2GB", "512 MiB", "1.5g", "900000000"])
def test_valid_memory_sizes(princomp, tmp_path, size):
    X = random_table()
    name = write_table(tmp_path, "csv", X)
    done = princomp("fit", name, "--memory", size, "--json")
    assert (done.code, done.err) == (0, "")
    assert_correct(X, done.document)
    expected = {"2GB": 2e9, "512 MiB": 2**29, "1.5g": 1.5e9, "900000000": 9e8}[size]
    assert done.document["plan"]["memory_limit"] == expected
    assert (
        princomp("plan", name, "--memory", size, "--json").document["plan"]
        == (done.document["plan"])
    )


@pytest.mark.parametrize("size", ["", "much", "-1GB", "0", "2 elephants", "nan", "1e9", "10iB"])
def test_invalid_memory_sizes_are_refused(princomp, tmp_path, size):
    name = write_table(tmp_path, "csv", random_table())
    for command in ("fit", "plan"):
        done = princomp(command, name, f"--memory={size}")
        assert (done.code, done.out) == (2, "")
        assert f"--memory {shlex.quote(size)} is not a memory size" in done.err
        assert princomp(command, name, f"--memory={size}", "--json").error["exit_code"] == 2
    assert files_in(tmp_path) == ["t.csv"]


@pytest.mark.parametrize("kind", ["csv", "npy", "parquet"])
def test_too_little_memory_is_reported_with_the_required_amount(princomp, tmp_path, large, kind):
    X = random_table()
    name = write_table(tmp_path, kind, X)
    before = sorted(tmp_path.rglob("*"))
    for command in ("fit", "plan"):
        done = princomp(command, name, "--memory", "1kB")
        assert (done.code, done.out) == (75, "")
        assert "1 kB of memory" in done.err
        error = princomp(command, name, "--memory", "1kB", "--json").error
        assert error["kind"] == "MemoryLimitError"
        assert sorted(tmp_path.rglob("*")) == before
    # The amount in the hint is enough.
    required = error["hint"].removeprefix("allow ").partition(" (")[0]
    assert princomp("fit", name, "--memory", required).code == 0


def test_two_small_files_need_no_more_memory_than_one(princomp, tmp_path):
    X = random_table()
    write_table(tmp_path, "csv", X[:20], stem="p1")
    write_table(tmp_path, "csv", X[20:], stem="p2")
    write_table(tmp_path, "csv", X)
    assert princomp("fit", "t.csv", "--memory", "10MB", "--no-scores").code == 0
    assert princomp("fit", "p1.csv", "p2.csv", "--memory", "10MB", "--no-scores").code == 0


# ---- a realistic table ----------------------------------------------------------------


def flights(n=400):
    """Flights with text, integers, times and missing arrivals; and which arrivals are known."""
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
        monkeypatch.setattr(files, "SMALL_FILE_BYTES", 0)
    pyarrow.parquet.write_table(table, tmp_path / "f.parquet", row_group_size=90)
    table.to_pandas().astype({"arr_delay": "Int64"}).to_csv(
        tmp_path / "f.csv", index=False, na_rep="NA"
    )
    refused = princomp("fit", "f.csv", "--json").error
    first = int(np.argmin(arrived))
    place = {"file": "f.csv", "row": first, "line": first + 2, "column": "arr_delay"}
    assert refused["place"] == place
    found = {}
    for kind in ("csv", "parquet"):
        args = ("--missing", "drop", "--exclude", "year", "-o", kind, "--json")
        done = princomp("fit", f"f.{kind}", *args)
        assert (done.code, done.err) == (0, "")
        found[kind] = done.document
    expected = ["month", "dep_delay", "arr_delay", "air_time", "distance"]
    kept = np.column_stack([table.column(name).to_pandas() for name in expected])[arrived]
    kept = kept.astype(float)
    for document in found.values():
        assert document["columns"] == expected
        assert document["dropped"] == (~arrived).sum() > 0
        assert document["rows"] == arrived.sum()
        np.testing.assert_allclose(
            document["eigenvalues"], truth(kept)[0], rtol=0, atol=tolerance(kept)
        )
    same = ("eigenvalues", "dropped", "rows", "columns", "mean", "total_variance")
    assert [found["csv"][key] for key in same] == [found["parquet"][key] for key in same]
    scores = [(tmp_path / kind / "scores.csv").read_bytes() for kind in found]
    assert scores[0] == scores[1]
    lines = scores[0].decode().splitlines()[1:]
    empty = [i for i, line in enumerate(lines) if line.endswith(",,,,,")]
    assert empty == np.flatnonzero(~arrived).tolist()


# ---- damaged files --------------------------------------------------------------------


@pytest.mark.parametrize("kind", TRUNCATED_KINDS)
def test_a_truncated_file_is_refused_and_nothing_is_written(princomp, tmp_path, kind):
    X = random_table(zeros="sparse" in kind or kind == "mtx.gz")
    name = write_table(tmp_path, kind, X)
    path = tmp_path / name.partition("::")[0]
    whole = path.read_bytes()
    package.PCA().fit(X).save(tmp_path / "m.pca")
    before = sorted(tmp_path.rglob("*"))
    valid = 0
    for i in range(64):
        path.write_bytes(whole[: len(whole) * i // 64])
        done = princomp("fit", name, "-o", "out", "--no-scores", "--json")
        assert done.err == ""
        if done.code == 0:
            assert kind in ("csv", "tsv"), i
            assert 2 <= done.document["rows"] < len(X)
            valid += 1
            for output in (tmp_path / "out").iterdir():
                output.unlink()
            (tmp_path / "out").rmdir()
        else:
            assert done.code in (65, 66), (i, done)
            assert done.error["hint"]
            if "n_samples = 1" in done.error["message"]:
                assert kind in ("csv", "tsv")  # a valid file of one row
                continue
            assert path.name in done.error["message"]
            assert done.error["place"]["file"] == path.name
        assert sorted(tmp_path.rglob("*")) == before, i
    assert (valid > 10) == (kind in ("csv", "tsv"))
    path.write_bytes(whole[: len(whole) // 2])
    done = princomp("transform", "m.pca", name, "-o", "s.csv")
    assert "Traceback" not in done.err
    if kind not in ("csv", "tsv"):
        assert done.code == 65
        assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("kind", STREAMED)
def test_a_truncated_large_file_leaves_no_scores(princomp, tmp_path, large, kind):
    X = random_table()
    name = write_table(tmp_path, kind, X)
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
