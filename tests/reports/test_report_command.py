"""``princomp report``: of a model, of a table in one command, and what is refused."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from functools import partial

import pytest
from pages import Page

from command_line import ARRESTS, ENVIRONMENT, call


@pytest.fixture
def princomp(capfd, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    return partial(call, capfd)


@pytest.fixture
def model(princomp, tmp_path):
    done = princomp("fit", ARRESTS, "--id", "State", "--scale", "unit", "-k", 2, "--no-scores")
    assert done.code == 0
    return tmp_path / "usarrests_pca" / "model.pca"


@pytest.fixture
def grouped(tmp_path):
    """The table with a column of text and one of numbers."""
    path = tmp_path / "grouped.csv"
    with ARRESTS.open() as file, path.open("w") as out:
        header, *lines = csv.reader(file)
        write = csv.writer(out, lineterminator="\n")
        write.writerow([*header, "region", "turn"])
        for i, line in enumerate(lines):
            write.writerow([*line, "" if i == 7 else "NSWE"[i % 4], i])
    return path


def test_a_table_in_one_command_and_to_the_same_bytes(princomp, tmp_path):
    words = ["report", str(ARRESTS), "--id", "State", "--scale", "unit", "-k", "2"]
    subprocess.run(
        [sys.executable, "-m", "princomp", *words, "-o", "a.html"],
        env={**ENVIRONMENT, "PYTHONHASHSEED": "1"},
        cwd=tmp_path,
        check=True,
        capture_output=True,
    )
    assert princomp(*words, "-o", "b.html").code == 0
    html = (tmp_path / "a.html").read_bytes()
    assert html == (tmp_path / "b.html").read_bytes()
    page = Page(html.decode())
    assert page.headings[0] == (1, "usarrests.csv")
    assert page.tables["table-rows"][0][0][0] == "Alaska"
    assert "The rows shown below are those of the fit." in page.text
    assert sorted(os.listdir(tmp_path)) == ["a.html", "b.html"]


def test_a_model_and_its_rows(princomp, model, grouped, tmp_path):
    words = ("--groups", "region", "--metadata", "turn,region", "--title", "States")
    done = princomp("report", model, grouped, *words, "--bootstrap", 50, "-o", "a.html", "--json")
    assert done.code == 0
    assert done.document["files"] == {"report": "a.html"}
    assert done.document["notes"] == []
    page = Page((tmp_path / "a.html").read_text())
    assert page.headings[0] == (1, "States")
    assert "grouped.csv" in page.text
    assert "50 bootstrap resamples" in page.text
    assert "turn (r)" in page.text
    assert "region (η²)" in page.text
    assert "taken for those of the fit" in page.text


def test_columns_beside_take_no_part_in_the_fit(princomp, grouped, tmp_path):
    done = princomp(
        *("report", grouped, "--id", "State", "--scale", "unit", "-k", 2),
        *("--metadata", "turn", "--groups", "region", "--bootstrap", 0),
    )
    assert (done.code, done.err) == (0, "")
    assert done.out.split() == ["report", "grouped_report.html"]
    page = Page((tmp_path / "grouped_report.html").read_text())
    assert "50 rows in 4 columns: Murder, Assault, UrbanPop and Rape." in page.text
    assert "turn (r)" in page.text


def test_a_model_alone(princomp, model, tmp_path):
    done = princomp("report", model)
    assert done.code == 0
    assert "No rows were given" in (tmp_path / "model_report.html").read_text()


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("MODEL", "-k", 2), 2, "-k is of a fit"),
        (("MODEL", "DATA", "--scale", "none"), 2, "--scale is of a fit"),
        (("MODEL", "--groups", "region"), 2, "--groups is of rows"),
        (("MODEL", "--metadata", "turn"), 2, "--metadata is of rows"),
        (("MODEL", "--training"), 2, "--training is of rows"),
        (("MODEL", "--bootstrap", 0), 2, "--bootstrap is of rows"),
        (("MODEL", "DATA", "--bootstrap", 1), 2, "2 or more"),
        (("MODEL", "DATA", "--groups", "nobody"), 65, "nobody"),
        (("MODEL", "DATA", "--groups", "Murder"), 65, "analyses"),
        (("MODEL", "DATA", "--metadata", "a,,b"), 2, "empty column name"),
        (("MODEL", "-", "--groups", "region"), 2, "standard input"),
        (("DATA", "--training", "--id", "State"), 2, "those of the fit"),
        (("DATA", "--groups", "nobody"), 65, "nobody"),
        (("DATA", "--columns", "Murder", "-k", 2), 65, "2"),
        (("no.pca",), 66, "no.pca"),
        (("no.csv",), 66, "no.csv"),
        (("MODEL", "DATA", "--level", 1), 2, "level"),
        (("MODEL", "x.txt"), 66, "x.txt"),
        (("MODEL", "DATA", "-o", "DATA", "--force"), 73, "input of this run"),
        ((), 2, "FILE"),
    ],
)
def test_mistaken_words_are_refused_and_nothing_is_written(
    princomp, model, grouped, tmp_path, words, code, told
):
    given = [{"MODEL": model, "DATA": grouped}.get(word, word) for word in words]
    output = [] if "-o" in words else ["-o", "x.html"]
    before = grouped.read_bytes()
    done = princomp("report", *given, *output, "--json")
    assert done.code == code
    assert told in done.error["message"] + str(done.error["hint"])
    assert done.error["hint"]
    assert not (tmp_path / "x.html").exists()
    assert grouped.read_bytes() == before


def test_an_existing_page_is_kept_unless_forced(princomp, model, tmp_path):
    (tmp_path / "a.html").write_text("mine")
    assert princomp("report", model, "-o", "a.html").code == 73
    assert (tmp_path / "a.html").read_text() == "mine"
    assert princomp("report", model, "-o", "a.html", "--force").code == 0


def test_a_robust_model_is_refused_by_name(princomp, tmp_path):
    done = princomp("fit", ARRESTS, "--id", "State", "--robust", "-k", 2, "-m", "r.pca")
    assert done.code == 0
    done = princomp("report", "r.pca", "--json")
    assert done.code == 65
    assert "RobustPCA" in done.error["message"]
