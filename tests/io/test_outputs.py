"""Outputs are complete or absent, never replace files unasked, and are exact when read back."""

from __future__ import annotations

import datetime as dt
import errno
import io
import os
import stat
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from command_line import files_in
from helpers import read_whole
from princomp import PCA, errors, load, report
from princomp.errors import (
    ColumnError,
    InputNotFoundError,
    NotNumericError,
    OutputError,
    OutputExistsError,
    ParameterError,
    ShapeError,
)
from princomp.io import table_encoders
from princomp.io.atomic import all_or_none, atomic_write, check_writable
from princomp.io.table_writer import FORMATS, open_table, table_format, write_table

X = np.array([[0.1, -0.0, 1e300], [1 / 3, 5e-324, np.nan], [2.0**53, np.inf, -1e-7]])
NAMES = ["PC1", "PC2", "PC3"]


def full_disk(*_):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.fixture
def old(tmp_path):
    path = tmp_path / "old.csv"
    path.write_bytes(b"the old content\n")
    return path


def untouched(old):
    return old.read_bytes() == b"the old content\n" and os.listdir(old.parent) == [old.name]


# atomic_write


def test_a_file_appears_when_it_is_complete(tmp_path):
    path = tmp_path / "new" / "folder" / "x.bin"
    with atomic_write(path) as file:
        file.write(b"abc")
        assert not path.exists()
    assert path.read_bytes() == b"abc"
    assert os.listdir(path.parent) == ["x.bin"]


def test_an_existing_file_is_replaced_only_by_force(old):
    with pytest.raises(OutputExistsError, match="already exists"), atomic_write(old):
        raise AssertionError("nothing may be computed for it")
    assert untouched(old)
    with atomic_write(old, force=True) as file:
        file.write(b"new")
    assert old.read_bytes() == b"new"


def test_a_file_created_meanwhile_is_not_replaced(tmp_path):
    path = tmp_path / "old.csv"
    with pytest.raises(OutputExistsError), atomic_write(path):
        path.write_bytes(b"the old content\n")
    assert untouched(path)


def test_without_hard_links_a_file_created_meanwhile_is_still_seen(tmp_path, monkeypatch):
    def no_links(*_):
        raise OSError(errno.EPERM, "no links")

    monkeypatch.setattr(os, "link", no_links)
    path = tmp_path / "old.csv"
    with pytest.raises(OutputExistsError), atomic_write(path):
        path.write_bytes(b"the old content\n")
    assert untouched(path)
    with atomic_write(tmp_path / "other") as file:
        file.write(b"x")
    assert (tmp_path / "other").read_bytes() == b"x"


@pytest.mark.parametrize("call", ["fsync", "replace", "open"])
def test_a_full_disk_leaves_the_old_file_byte_for_byte(old, monkeypatch, call):
    monkeypatch.setattr(os, call, full_disk)
    with pytest.raises(OutputError, match="No space left") as caught:
        write_table(old, columns=NAMES, data=X, force=True)
    monkeypatch.undo()
    assert untouched(old)
    assert caught.value.place["file"] == str(old)
    assert "Free some space" in caught.value.hint


def test_all_bytes_are_flushed_before_a_file_is_renamed(tmp_path, monkeypatch):
    sizes, fsync = [], os.fsync

    def record(handle):
        sizes.append((os.fstat(handle).st_size, stat.S_ISDIR(os.fstat(handle).st_mode)))
        fsync(handle)

    monkeypatch.setattr(os, "fsync", record)
    with atomic_write(tmp_path / "x") as file:
        file.write(b"12345")
    # The folder holds the new name.
    assert [is_folder or size for size, is_folder in sizes] == [5, True]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize("format", FORMATS)
def test_a_write_that_fails_midway_leaves_the_old_file(tmp_path, monkeypatch, format):
    old = tmp_path / f"old.{format}"
    old.write_bytes(b"the old content\n")
    monkeypatch.setattr("os.fdopen", lambda handle, mode: _into_full_device(handle))
    with pytest.raises(OutputError):
        write_table(old, columns=NAMES, data=np.zeros((50_000, 3)) + np.pi, force=True)
    monkeypatch.undo()
    assert untouched(old)


def _into_full_device(handle):
    os.close(handle)
    return open("/dev/full", "wb")


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError, ZeroDivisionError])
def test_an_interrupt_leaves_no_temporary_file(old, error):
    def interrupted():
        with atomic_write(old, force=True) as file:
            file.write(b"half")
            raise error

    with pytest.raises(error):
        interrupted()
    assert untouched(old)


def test_links_and_permissions_are_kept(tmp_path, old):
    link = tmp_path / "link.csv"
    link.symlink_to(old)
    old.chmod(0o640)
    with atomic_write(link, force=True) as file:
        file.write(b"new")
    assert link.is_symlink()
    assert old.read_bytes() == b"new"
    assert stat.S_IMODE(old.stat().st_mode) == 0o640


def test_new_files_follow_the_umask(tmp_path):
    before = os.umask(0o002)
    try:
        with atomic_write(tmp_path / "x") as file:
            file.write(b"x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "x").stat().st_mode) == 0o664


@pytest.mark.parametrize("force", [False, True])
def test_folders_and_devices_are_never_replaced(tmp_path, force):
    for path, what in ((tmp_path, "a folder"), ("/dev/null", "not a regular file")):
        with pytest.raises(OutputError, match=what), atomic_write(path, force=force):
            pass
        with pytest.raises(OutputError, match=what):
            check_writable([path], force=force)


# check_writable


def test_all_existing_outputs_are_named_at_once(tmp_path):
    paths = [tmp_path / name for name in ("a", "b", "c")]
    paths[0].touch()
    paths[2].touch()
    with pytest.raises(OutputExistsError, match=r"/a, .*/c: already exist") as caught:
        check_writable(paths, force=False)
    assert caught.value.hint == "choose another name, or replace what exists (overwrite=True)"
    assert caught.value.place == {"file": str(paths[0])}
    check_writable(paths, force=True)
    check_writable([paths[1], tmp_path / "new" / "folder" / "x"], force=False)
    assert sorted(os.listdir(tmp_path)) == ["a", "c"]


def test_check_writable_reports_unusable_folders(tmp_path, old, monkeypatch):
    with pytest.raises(OutputError, match="is a file, not a folder"):
        check_writable([old / "x"], force=False)
    with pytest.raises(OutputError, match="File exists"), atomic_write(old / "x"):
        pass
    monkeypatch.setattr(os, "access", lambda _, mode: mode != os.W_OK | os.X_OK)
    with pytest.raises(OutputError, match="is write-protected"):
        check_writable([tmp_path / "x"], force=False)
    monkeypatch.setattr(Path, "exists", lambda _: False)  # as on a drive of Windows
    with pytest.raises(OutputError, match="does not exist"):
        check_writable([tmp_path / "x"], force=False)


def test_two_outputs_with_one_name_are_refused(tmp_path):
    with pytest.raises(ParameterError, match="same file"):
        check_writable([tmp_path / "x", tmp_path / "." / "x"], force=False)


def test_names_begin_with_the_home_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    write_table("~/x.csv", columns=["a", "b"], data=np.vander(np.arange(9.0) ** 2 / 4, 2))
    model = PCA(1).fit("~/x.csv", checkpoint="~/c.checkpoint")
    assert files_in(tmp_path) == ["c.checkpoint", "c.checkpoint.lock", "x.csv"]
    model.save("~/m.pca")
    assert files_in(tmp_path) == ["m.pca", "x.csv"]
    assert load("~/m.pca").n_samples_ == 9
    assert PCA(1).fit(["~/[x].csv"]).n_samples_ == 9


# write_table


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.filterwarnings("ignore:overflow")
def test_numbers_survive_a_round_trip_bit_for_bit(tmp_path, format, dtype, order):
    path = tmp_path / f"x.{format}"
    with np.errstate(all="ignore"):
        data = np.asarray(X, dtype=dtype, order=order)
    write_table(path, columns=NAMES, data=data)
    table = read_whole(path)
    assert table.data.astype(dtype).tobytes() == np.ascontiguousarray(data).tobytes()
    assert table.columns == (None if format == "npy" else tuple(NAMES))


def test_random_floats_survive_a_csv_round_trip(tmp_path):
    bits = np.random.default_rng(0).integers(0, 2**64, (20_000, 2), dtype=np.uint64)
    x = np.where(np.isfinite(bits.view(np.float64)), bits.view(np.float64), np.nan)
    write_table(tmp_path / "x.csv", columns=["a", "b"], data=x)
    np.testing.assert_array_equal(read_whole(tmp_path / "x.csv").data, x)


@pytest.mark.parametrize("format", [name for name in FORMATS if name != "npy"])
def test_ids_survive_a_round_trip(tmp_path, format):
    ids = ["007", None, 'a,"b"\nc\td']
    path = tmp_path / f"x.{format}"
    write_table(path, columns=NAMES, data=X, ids=np.array(ids, object), id_column="code")
    table = read_whole(path, id_column="code")
    assert table.ids.tolist() == ids
    np.testing.assert_array_equal(table.data, X)


def test_csv_cells_are_quoted_only_where_needed():
    out = io.BytesIO()
    write_table(out, columns=["PC1", "a,b"], data=X[:2, [0, 2]], ids=["Alabama", 7])
    assert out.getvalue() == b'id,PC1,"a,b"\nAlabama,0.1,1e+300\n7,0.3333333333333333,\n'


def test_names_with_line_ends_are_read_back(tmp_path):
    names = ["a\rb", "c\nd", "e\r\nf"]
    write_table(tmp_path / "x.csv", columns=names, data=np.eye(3))
    assert read_whole(tmp_path / "x.csv").columns == tuple(names)


def test_a_single_column_keeps_its_missing_rows(tmp_path):
    write_table(tmp_path / "x.csv", columns=["a"], data=np.array([[1.0], [np.nan], [3.0]]))
    assert read_whole(tmp_path / "x.csv").data[:, 0].tolist()[::2] == [1, 3]
    assert len(read_whole(tmp_path / "x.csv").data) == 3


def test_ids_of_several_kinds_become_text(tmp_path):
    write_table(tmp_path / "x.parquet", columns=["a"], data=X[:, :1], ids=[1, "b", None])
    assert read_whole(tmp_path / "x.parquet", id_column="id").ids.tolist() == ["1", "b", None]


@pytest.mark.parametrize("format", ["parquet", "arrow"])
@pytest.mark.parametrize(
    "ids",
    [
        [pd.Timestamp("2024-05-01 00:00:00.000000001"), pd.Timestamp("2024-05-01"), None],
        [dt.date(2024, 5, 1), dt.datetime(2024, 5, 1, 6), dt.datetime(2024, 5, 1, 18)],
        [pd.Timedelta(1, "ns"), pd.Timedelta(2, "ns"), pd.Timedelta(3, "ns")],
    ],
)
def test_times_that_arrow_would_cut_become_text(tmp_path, format, ids):
    path = tmp_path / f"x.{format}"
    write_table(path, columns=["a"], data=X[:3, :1], ids=ids)
    expected = [None if cell is None else str(cell) for cell in ids]
    assert read_whole(path, id_column="id").ids.tolist() == expected


def test_a_later_time_that_arrow_would_cut_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(table_encoders, "GROUP_NUMBERS", 1)
    monkeypatch.setattr(table_encoders, "MIN_GROUP_ROWS", 1)
    ids = [pd.Timestamp("2024-05-01"), pd.Timestamp("2024-05-01 00:00:00.000000001")]

    def write():
        with open_table(tmp_path / "x.parquet", columns=["a"], with_ids=True) as table:
            for time in ids:
                table.write(X[:1, :1], [time])

    with pytest.raises(NotNumericError, match=r"row 1 of the output: the id .*000000001"):
        write()


@pytest.mark.parametrize("format", FORMATS)
def test_equal_tables_give_equal_bytes(tmp_path, monkeypatch, format):
    for name, seconds in (("x", 1.0), ("y", 9.0)):
        monkeypatch.setattr("time.time", lambda seconds=seconds: seconds)
        write_table(tmp_path / f"{name}.{format}", columns=NAMES, data=X)
    assert (tmp_path / f"x.{format}").read_bytes() == (tmp_path / f"y.{format}").read_bytes()


def test_integers_are_written_as_integers():
    out = io.BytesIO()
    write_table(out, columns=["a"], data=np.array([[1], [2**62 + 1]]))
    assert out.getvalue() == b"a\n1\n4611686018427387905\n"


def test_only_a_closed_pipe_raises_broken_pipe():
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "wb", buffering=0) as pipe, pytest.raises(BrokenPipeError):
        write_table(pipe, columns=NAMES, data=X)

    class Full(io.BytesIO):
        write = full_disk

    with pytest.raises(OutputError, match="No space left"):
        write_table(Full(), columns=NAMES, data=X)


def test_a_closed_pipe_of_windows_raises_broken_pipe(monkeypatch):
    class Closed(io.BytesIO):
        def write(self, _):
            raise OSError(errno.EINVAL, "Invalid argument")

    with pytest.raises(OutputError, match="Invalid argument"):
        write_table(Closed(), columns=NAMES, data=X)
    monkeypatch.setattr(errors, "CLOSED_PIPE", {errno.EPIPE, errno.EINVAL})
    with pytest.raises(BrokenPipeError):
        write_table(Closed(), columns=NAMES, data=X)


def test_unknown_formats_are_refused_with_the_known_ones(tmp_path):
    with pytest.raises(ParameterError, match=r"\.csv, \.csv\.gz"):
        write_table(tmp_path / "x.xlsx", columns=NAMES, data=X)
    assert table_format("A.TSV.GZ") == "tsv.gz"
    assert table_format("a.csv.zst") == "csv.zst"
    assert table_format("a.feather") == "arrow"
    assert os.listdir(tmp_path) == []


def test_mismatched_columns_and_ids_are_refused(tmp_path):
    path = tmp_path / "x.csv"
    with pytest.raises(ShapeError, match="2 column names"):
        write_table(path, columns=["a", "b"], data=X)
    with pytest.raises(ValueError, match="same length"):
        write_table(path, columns=NAMES, data=X, ids=["a"])
    with pytest.raises(ColumnError, match="'PC1'"):
        write_table(path, columns=NAMES, data=X, ids=[1, 2, 3], id_column="PC1")
    assert os.listdir(tmp_path) == []


def test_a_long_name_of_several_bytes_per_letter_can_be_written(tmp_path):
    target = tmp_path / ("漢" * 80 + ".pca")  # 244 bytes; names have up to 255
    with atomic_write(target) as file:
        file.write(b"1")
        (temporary,) = os.listdir(tmp_path)
        assert temporary.startswith(f".{'漢' * 66}.")  # as a hidden file
    assert files_in(tmp_path) == [target.name]


@pytest.mark.parametrize("code", [errno.EPERM, errno.EINVAL, errno.EACCES])
def test_file_systems_without_hard_links_are_supported(code, tmp_path, monkeypatch):
    def link(*_):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "link", link)
    with atomic_write(tmp_path / "one") as file:
        file.write(b"1")
    assert (tmp_path / "one").read_bytes() == b"1"


def test_no_file_appears_if_another_program_has_written_one_of_them(tmp_path):
    def write_all():
        with all_or_none():
            for name in ("one", "two"):
                with atomic_write(tmp_path / name) as file:
                    file.write(b"mine")
            (tmp_path / "two").write_bytes(b"of another run")

    with pytest.raises(OutputExistsError, match="two: already exists"):
        write_all()
    assert files_in(tmp_path) == ["two"]
    assert (tmp_path / "two").read_bytes() == b"of another run"
    # A file that is written later appears at once.
    with atomic_write(tmp_path / "three") as file:
        file.write(b"3")
    assert files_in(tmp_path) == ["three", "two"]


def test_a_file_that_appears_during_the_renaming_is_not_replaced(tmp_path, monkeypatch):
    link = os.link

    def link_after_another_program(source, target):
        if target.name == "two":
            target.write_bytes(b"of another run")
        link(source, target)

    def write_all():
        with all_or_none():
            for name in ("one", "two", "three"):
                with atomic_write(tmp_path / name) as file:
                    file.write(b"mine")

    monkeypatch.setattr(os, "link", link_after_another_program)
    with pytest.raises(OutputExistsError, match="two: already exists"):
        write_all()
    assert files_in(tmp_path) == ["one", "two"]
    assert (tmp_path / "two").read_bytes() == b"of another run"


def test_an_error_in_the_renaming_names_the_files_that_are_in_place(tmp_path, monkeypatch):
    replace = os.replace

    def replace_all_but_one(source, target):
        if target.name == "three":
            raise OSError(errno.EIO, "Input/output error")
        replace(source, target)

    def write_all():
        with all_or_none():
            for name in ("one", "two", "three", "four"):
                with atomic_write(tmp_path / name, force=True) as file:
                    file.write(b"mine")

    monkeypatch.setattr(os, "replace", replace_all_but_one)
    with pytest.raises(OutputError, match="three: could not be written: Input/output") as caught:
        write_all()
    assert "Already written: one, two. Choose another folder" in caught.value.hint
    assert files_in(tmp_path) == ["one", "two"]


def test_a_zero_byte_in_a_name_is_refused_with_the_name(tmp_path):
    name, rows = f"{tmp_path}/a\0b.csv", np.eye(3)
    model = PCA(1).fit(rows)
    for call in (
        lambda: model.save(name),
        lambda: model.save(name, overwrite=False),
        lambda: report(model, rows, name),
        lambda: write_table(name, columns=NAMES, data=X),
        lambda: PCA(1).fit(rows, checkpoint=name),
    ):
        with pytest.raises(ParameterError, match=r"no file can have the name '.*a\\x00b.csv'"):
            call()
    with pytest.raises(InputNotFoundError, match=r"no model file '.*a\\x00b.csv'"):
        load(name)
    assert files_in(tmp_path) == []
