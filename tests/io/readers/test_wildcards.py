"""Names of files from wildcards and folders."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from princomp import read_table
from princomp.errors import InputNotFoundError, ParameterError
from princomp.io import files_of
from princomp.io.readers.files import open_files
from princomp.io.readers.wildcards import expand_patterns


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("part10.csv", "part2.csv", "part1.csv", "other.csv", "sub/part3.csv", "w[1].csv"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.touch()
    (tmp_path / "s1.zarr").mkdir()
    return tmp_path


def names(paths):
    return [path.as_posix() for path in paths]


def test_patterns_expand_in_natural_order(folder):
    assert names(expand_patterns(["part*.csv"])) == ["part1.csv", "part2.csv", "part10.csv"]
    assert names(expand_patterns(["part?.csv", "other.csv"])) == [
        "part1.csv",
        "part2.csv",
        "other.csv",
    ]
    assert names(expand_patterns(["part[12]*.csv"])) == ["part1.csv", "part2.csv", "part10.csv"]
    assert names(expand_patterns([str(folder / "part1*")])) == [
        str(folder / "part1.csv"),
        str(folder / "part10.csv"),
    ]


def test_two_stars_match_folders_of_any_depth(folder):
    found = names(expand_patterns(["**/part*.csv"]))
    assert found == ["part1.csv", "part2.csv", "part10.csv", "sub/part3.csv"]


def test_names_without_wildcards_are_unchanged(folder):
    assert names(expand_patterns(["gone.csv", Path("other.csv")])) == ["gone.csv", "other.csv"]
    assert expand_patterns([]) == []


def test_an_existing_file_is_not_a_pattern(folder):
    assert names(expand_patterns(["w[1].csv"])) == ["w[1].csv"]
    (folder / "a::b.csv").touch()
    assert names(expand_patterns(["a::b.csv"])) == ["a::b.csv"]


def test_the_part_after_colons_is_kept_for_each_file(folder):
    assert names(expand_patterns(["part?.csv::/x/y"])) == ["part1.csv::/x/y", "part2.csv::/x/y"]
    assert names(expand_patterns(["other.csv::x*", "other.csv::y"])) == [
        "other.csv::x*",
        "other.csv::y",
    ]


def test_patterns_match_zarr_stores_and_skip_folders_among_files(folder):
    assert names(expand_patterns(["s*"])) == ["s1.zarr"]
    assert names(expand_patterns(["s*::x"])) == ["s1.zarr::x"]


def test_a_folder_stands_for_the_tables_in_it(folder, tmp_path):
    for name in ("many/2.csv", "many/10.CSV", "many/y=1/3.csv", "many/_log/4.csv", "many/.5.csv"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x,y\n1,2\n2,5\n")
    (tmp_path / "many" / "_SUCCESS").touch()
    (tmp_path / "many" / "README.md").touch()
    files = ["many/2.csv", "many/10.CSV", "many/y=1/3.csv"]
    for name in ("many", "many/", "man*"):
        assert names(expand_patterns([name])) == files
    assert names(expand_patterns(["many::x"])) == [f"{file}::x" for file in files]
    assert open_files(["many"]).columns == ("x", "y")
    with pytest.raises(ParameterError, match=r"2\.csv: is named twice"):
        expand_patterns(["many", "many/2.csv"])


def test_a_folder_may_hold_zarr_stores_and_links_to_folders(folder):
    (folder / "w").mkdir()
    (folder / "s1.zarr" / "part.csv").touch()
    (folder / "w" / "a.zarr").mkdir()
    (folder / "w" / "a.zarr" / "part.csv").touch()
    assert names(expand_patterns(["w"])) == ["w/a.zarr"]
    (folder / "v").mkdir()
    (folder / "v" / "link").symlink_to("../sub")
    assert names(expand_patterns(["v"])) == ["v/link/part3.csv"]


def test_a_folder_to_which_a_link_leads_is_read_once(folder):
    (folder / "loop" / "in").mkdir(parents=True)
    (folder / "loop" / "a.csv").touch()
    (folder / "loop" / "in" / "up").symlink_to("../../loop")
    assert names(expand_patterns(["loop"])) == ["loop/a.csv"]


def test_files_of_a_table_are_known_by_any_name_with_their_parts(folder):
    (folder / "s.h5").touch()
    (folder / "link.h5").symlink_to("s.h5")
    for name in ("./s.h5::x", folder / "s.h5::x", ["link.h5::x"], read_table("s.h5::x")):
        assert files_of(name) == files_of("s.h5::x")
    assert files_of("s.h5::y") != files_of("s.h5::x")
    assert files_of([[1.0, 2.0]]) == files_of(list) == ()


def test_a_folder_without_tables_or_with_several_kinds_is_refused(folder):
    (folder / "none").mkdir()
    with pytest.raises(InputNotFoundError, match=r"^none: is a folder without tables") as caught:
        expand_patterns(["none"])
    assert ".parquet" in caught.value.hint
    (folder / "sub" / "a.parquet").touch()
    kinds = r"^sub: is a folder with tables of several kinds: 1 \.(csv|parquet) and 1 \."
    with pytest.raises(ParameterError, match=kinds) as caught:
        expand_patterns(["sub"])
    pattern = caught.value.hint.split("'")[1]
    assert len(expand_patterns([pattern])) == 1


def test_a_folder_with_the_ending_of_a_table_is_not_passed_over(folder):
    (folder / "more.csv").touch()
    (folder / "many.csv").mkdir()
    (folder / "many.csv" / "part1.csv").write_text("x,y\n1,2\n2,5\n")
    assert names(expand_patterns(["m*.csv"])) == ["many.csv/part1.csv", "more.csv"]
    assert "many.csv/part1.csv" in names(expand_patterns(["**/*.csv"]))
    (folder / "p.csv").mkdir()  # without files
    with pytest.raises(InputNotFoundError, match=r"p\.csv: is a folder without tables"):
        expand_patterns(["p*.csv"])


def test_a_pattern_without_matches_is_refused(folder):
    for name in ("gone*.csv", "w[2].csv", "gone*.h5::x"):
        with pytest.raises(InputNotFoundError, match="no file has a name") as caught:
            expand_patterns([name])
        assert caught.value.place == {"file": name}
        assert str(folder) in caught.value.hint


def test_a_file_named_twice_is_refused(folder):
    with pytest.raises(ParameterError, match=r"^part1.csv: is named twice, ") as caught:
        expand_patterns(["part*.csv", "part1.csv"])
    assert caught.value.place == {"file": "part1.csv"}
    with pytest.raises(ParameterError, match=r"also as other.csv"):
        expand_patterns(["other.csv", folder / "other.csv"])
    for inside in ("x", "/x"):
        with pytest.raises(ParameterError, match="twice"):
            expand_patterns(["other.csv::x", f"./other.csv::{inside}"])


@pytest.mark.skipif(not hasattr(os, "symlink"), reason="needs symbolic links")
def test_a_link_to_another_named_file_is_a_duplicate(folder):
    (folder / "link.csv").symlink_to("other.csv")
    with pytest.raises(ParameterError, match=r"link.csv: is named twice"):
        expand_patterns(["other.csv", "link.csv"])
