"""Untrusted files are read in a separate process."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
import zarr
from numpy.testing import assert_array_equal

from command_line import ARRESTS, ROOT, run_command
from princomp import PCA, read_table
from princomp.errors import ColumnError, InputChangedError, MalformedFileError
from princomp.io import open_files, read_whole
from princomp.io.readers.columns import Selection
from princomp.io.readers.isolated import IsolatedSource, _Reader
from princomp.io.readers.read_options import DETECT, ReadOptions

UNTRUSTED = ReadOptions(untrusted=True)
# Each file is read in a process of its own that takes a second to start. Where the format makes no
# difference, one is enough.
any_format = pytest.mark.parametrize("path", ["csv"], indirect=True)


@pytest.fixture(params=["csv", "parquet", "npz"])
def path(request, tmp_path):
    rows = np.random.default_rng(0).standard_normal((50, 4)).round(3)
    file = tmp_path / f"rows.{request.param}"
    if request.param == "npz":
        sp.save_npz(file, sp.csr_array(np.where(rows > 0, rows, 0)))
    else:
        names = [f"row {i}" for i in range(50)]
        table = pa.table({"name": names, **{c: rows[:, j] for j, c in enumerate("abcd")}})
        if request.param == "parquet":
            pq.write_table(table.append_column("kind", pa.array(["x", "y"] * 25)), file)
        else:
            pa.csv.write_csv(table, file)
    return file


def test_isolated_sources_equal_plain_ones(path):
    plain, isolated = open_files([path]), open_files([path], options=UNTRUSTED)
    for name in (
        "rows",
        "p",
        "dtype",
        "columns",
        "id_column",
        "notes",
        "unused",
        "stored",
        "units",
        "number_format",
    ):
        assert getattr(isolated, name) == getattr(plain, name), name
    for start in (0, 7):
        for plain_chunk, isolated_chunk in zip(
            plain.chunks(start), isolated.chunks(start), strict=True
        ):
            assert (plain_chunk.ids is None) == (isolated_chunk.ids is None)
            assert plain_chunk.ids is None or (plain_chunk.ids == isolated_chunk.ids).all()
            plain_rows, isolated_rows = plain_chunk.data, isolated_chunk.data
            assert sp.issparse(isolated_rows) == sp.issparse(plain_rows)
            if sp.issparse(plain_rows):
                plain_rows, isolated_rows = plain_rows.toarray(), isolated_rows.toarray()
            assert_array_equal(plain_rows, isolated_rows)
    assert [state.file for state in isolated.file_states()] == [str(path)]


@pytest.mark.parametrize(
    "ending", [".arrow", ".npy", ".mtx", ".h5", ".h5ad", ".zarr.zip", ".xlsx", ".txt"]
)
def test_every_format_can_be_isolated(ending, tmp_path):
    folder = ROOT / "tests/fuzz/corpus" / ending.split(".")[1]
    path = tmp_path / f"rows{ending}"
    path.write_bytes((folder / "seed-0").read_bytes())
    plain_rows, isolated_rows = (
        read_whole(open_files([path], options=how)) for how in (DETECT, UNTRUSTED)
    )
    assert_array_equal(*(x.toarray() if sp.issparse(x) else x for x in (plain_rows, isolated_rows)))


@any_format
def test_modules_of_the_working_folder_are_not_imported(path, tmp_path, monkeypatch):
    (tmp_path / "numpy.py").write_text("raise SystemExit(7)")
    monkeypatch.chdir(tmp_path)
    assert open_files([path], options=UNTRUSTED).rows == 50


def test_a_file_that_changed_between_passes_is_refused(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("a,b\n1,2\n3,4\n")
    source = open_files([path], options=UNTRUSTED)
    path.write_text("a,c\n1,2\n3,4\n")
    with pytest.raises(InputChangedError):
        next(source.chunks())


@pytest.mark.parametrize(
    "sent",
    [b"no JSON\n", b'{"error": ["os", "m", {}, null]}\n', b"{}\n", b'{"rows": 1', b"", b"[]\n"],
)
def test_invalid_data_from_the_process_is_refused(sent, tmp_path, monkeypatch):
    """A crafted file could take over the process and make it send anything."""
    path, script = tmp_path / "rows.csv", tmp_path / "python"
    path.write_text("a,b\n1,2\n")
    script.write_text(f"#!{sys.executable}\nimport os\nos.write(1, {sent!r})\n")
    script.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(script))
    with pytest.raises(MalformedFileError, match=r"invalid data|ended early"):
        open_files([path], options=UNTRUSTED)


def test_a_process_that_ends_within_an_array_is_reported(tmp_path, monkeypatch):
    path, script = tmp_path / "rows.csv", tmp_path / "python"
    path.write_text("a,b\n1,2\n")
    facts = {"rows": 1, "p": 2, "columns": ["a", "b"], "id_column": None, "unused": []}
    facts |= {"stored": None, "nbytes": 8, "notes": [], "dtype": "<f8", "units": {}}
    facts |= {"number_format": [".", None, []], "kinds": {}}
    lines = json.dumps(facts) + "\n" + json.dumps({"rows": 1, "stored": None, "ids": None}) + "\n"
    script.write_text(f"#!{sys.executable}\nimport os\nos.write(1, {lines.encode() + b'1234'!r})\n")
    script.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(script))
    with pytest.raises(MalformedFileError, match=r"rows\.csv: the process .* ended early"):
        next(open_files([path], options=UNTRUSTED).chunks())


@pytest.mark.parametrize("path", ["csv", "npz"], indirect=True)  # dense and sparse rows
@pytest.mark.filterwarnings("ignore:left out:UserWarning")  # the table has a text column
def test_fits_of_isolated_files_are_bit_identical(path):
    rows = read_table(path, untrusted=True)
    assert_array_equal(PCA(2).fit(rows).components_, PCA(2).fit(path).components_)


@any_format
def test_errors_are_those_of_the_reader(path):
    with pytest.raises(ColumnError, match="'z'"):
        open_files([path], columns=["z"], options=UNTRUSTED)


def test_the_command_line_accepts_untrusted_files(tmp_path, capfd):
    found = run_command(
        capfd, "fit", ARRESTS, "--untrusted", "--scale", "unit", "-o", tmp_path / "a"
    )
    assert found.code == 0, found.err
    assert run_command(capfd, "fit", ARRESTS, "--scale", "unit", "-o", tmp_path / "b").code == 0
    for name in ("scores.csv", "loadings.csv", "eigenvalues.csv"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


# Modules that replace a library and act as it might when a crafted file attacks it.
CRASH = "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)"
HANG = "import time\ntime.sleep(1000)"
MEMORY = "bytearray(2**36)"


@pytest.mark.parametrize(
    ("module_text", "problem"),
    [
        (CRASH, r"ended early \(exit code -11\)"),
        (HANG, "no data arrived for 1 seconds"),
        (MEMORY, "more than 4 GiB of memory"),
    ],
)
def test_crashes_hangs_and_excess_memory_are_reported(module_text, problem, tmp_path, monkeypatch):
    (tmp_path / "h5py.py").write_text(module_text)
    monkeypatch.syspath_prepend(tmp_path)
    path = tmp_path / "rows.h5"
    path.write_bytes(b"\x89HDF\r\n\x1a\n")
    with pytest.raises(MalformedFileError, match=problem):
        IsolatedSource(path, Selection(), timeout=1.0 if module_text == HANG else 60.0)


@pytest.mark.skipif(not hasattr(signal, "alarm"), reason="no timers of processes on this system")
def test_the_process_ends_by_itself_if_its_caller_was_killed(tmp_path):
    path = tmp_path / "rows.h5"
    path.write_bytes(b"\x89HDF\r\n\x1a\n")
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(60.0)
        address = server.getsockname()
        (tmp_path / "h5py.py").write_text(
            f"import socket\nopen_until_exit = socket.create_connection({address!r})\n{HANG}"
        )
        # The caller has no timer, so that only the timer of the process can end it.
        caller_text = (
            f"import sys, threading\nsys.path.insert(0, {str(tmp_path)!r})\n"
            "from princomp.io.readers.columns import Selection\n"
            "from princomp.io.readers.isolated import IsolatedSource\n"
            "threading.Timer.start = lambda timer: None\n"
            f"IsolatedSource({str(path)!r}, Selection(), timeout=0.0)\n"
        )
        with subprocess.Popen([sys.executable, "-c", caller_text]) as caller:
            connection = server.accept()[0]
            caller.kill()
        with connection:
            connection.settimeout(30.0)
            assert connection.recv(1) == b""  # the system closes the connection of an ended process


def test_a_file_on_which_hdf5_hangs_is_refused(tmp_path):
    """The fuzzer found that one changed byte, in the size of an attribute, makes HDF5 hang."""
    content = bytearray((ROOT / "tests/fuzz/corpus/h5ad/seed-0").read_bytes())
    content[2104] = 10
    path = tmp_path / "rows.h5ad"
    path.write_bytes(content)
    with pytest.raises(MalformedFileError, match="no data arrived for 5 seconds"):
        IsolatedSource(path, Selection(), timeout=5.0)


def test_the_process_writes_no_files(tmp_path, monkeypatch):
    (tmp_path / "h5py.py").write_text(f"open({str(tmp_path / 'mine')!r}, 'w').write('x')")
    monkeypatch.syspath_prepend(tmp_path)
    path = tmp_path / "rows.h5"
    path.write_bytes(b"\x89HDF\r\n\x1a\n")
    with pytest.raises(MalformedFileError):
        open_files([path], options=UNTRUSTED)
    assert not (tmp_path / "mine").exists() or not (tmp_path / "mine").read_bytes()


@pytest.mark.parametrize("name", ["x.h5::d", "x.zarr"])
def test_a_changed_part_of_a_file_or_folder_is_noticed(name, tmp_path):
    rows = np.random.default_rng(0).standard_normal((50, 4))

    def write(data):
        if name == "x.zarr":
            shutil.rmtree(tmp_path / name, ignore_errors=True)
            zarr.save(tmp_path / name, data)
        else:
            with h5py.File(tmp_path / "x.h5", "w") as file:
                file["d"] = data

    write(rows)
    source = open_files([tmp_path / name], options=UNTRUSTED)
    write(np.vstack([rows, rows]))
    with pytest.raises(InputChangedError):
        source.file_states()


def test_numpy_integers_and_odd_paths_of_modules_are_accepted(tmp_path, monkeypatch):
    np.save(tmp_path / "x.npy", np.eye(5))
    monkeypatch.setattr(sys, "path", [*sys.path, tmp_path])  # imports ignore paths that are no text
    columns = [np.int64(0), np.int64(2)]
    assert open_files([tmp_path / "x.npy"], columns=columns, options=UNTRUSTED).p == 2


@any_format
@pytest.mark.skipif(not hasattr(os, "setpgid"), reason="no groups of processes on this system")
def test_ctrl_c_for_the_group_does_not_end_the_process(path):
    with _Reader({"start": None}, path, 60.0) as reader:
        assert os.getpgid(reader._process.pid) != os.getpgrp()
