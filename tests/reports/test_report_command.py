"""``princomp report``: of a model, of a table in one command, and errors."""

from __future__ import annotations

import io
import os
import subprocess
import sys

import pytest
from pages import Page

from command_line import ARRESTS, ENVIRONMENT


def test_a_table_in_one_command_and_to_the_same_bytes(princomp, tmp_path):
    args = ["report", str(ARRESTS), "--id", "State", "--scale", "unit", "-k", "2"]
    subprocess.run(
        [sys.executable, "-m", "princomp", *args, "-o", "a.html"],
        env={**ENVIRONMENT, "PYTHONHASHSEED": "1"},
        cwd=tmp_path,
        check=True,
        capture_output=True,
    )
    assert princomp(*args, "-o", "b.html").code == 0
    html = (tmp_path / "a.html").read_bytes()
    assert html == (tmp_path / "b.html").read_bytes()
    page = Page(html.decode())
    assert page.headings[0] == (1, "usarrests.csv")
    assert page.tables["table-rows"][0][0][0] == "Alaska"
    assert "The rows shown below are those of the fit." in page.text
    assert sorted(os.listdir(tmp_path)) == ["a.html", "b.html"]


def test_a_model_and_its_rows(princomp, model_file, grouped_file, tmp_path):
    args = ("--groups", "region", "--metadata", "turn,region", "--title", "States")
    done = princomp(
        "report", model_file, grouped_file, *args, "--bootstrap", 50, "-o", "a.html", "--json"
    )
    assert done.code == 0
    assert done.document["files"] == {"report": "a.html"}
    assert done.document["notes"] == []
    page = Page((tmp_path / "a.html").read_text())
    assert page.headings[0] == (1, "States")
    assert "grouped.csv" in page.text
    assert "50 bootstrap resamples" in page.text
    assert "turn (r)" in page.text
    assert "region (η²)" in page.text
    assert "assumed to be those of the fit" in page.text


def test_extra_columns_take_no_part_in_the_fit(princomp, grouped_file, tmp_path, draw_only):
    draw_only("scores", "metadata")
    done = princomp(
        *("report", grouped_file, "--id", "State", "--scale", "unit", "-k", 2),
        *("--metadata", "turn", "--groups", "region", "--bootstrap", 0),
    )
    assert (done.code, done.err) == (0, "")
    assert done.out.split() == ["report", "grouped_report.html"]
    page = Page((tmp_path / "grouped_report.html").read_text())
    assert "50 rows in 4 columns: Murder, Assault, UrbanPop and Rape." in page.text
    assert "turn (r)" in page.text


def test_metadata_are_numbers_or_categories_as_in_python(princomp, tmp_path, draw_only):
    draw_only("metadata")
    rows = [f"{i % 7},{i * i % 11},{'NA' if i == 3 else i},2020_{i % 2}" for i in range(30)]
    (tmp_path / "t.csv").write_text("\n".join(["x,y,age,month", *rows]))
    done = princomp("report", "t.csv", "--metadata", "age,month", "--bootstrap", 0)
    assert (done.code, done.err) == (0, "")
    page = Page((tmp_path / "t_report.html").read_text())
    assert "age (r)" in page.text
    assert "month (η²)" in page.text


def test_metadata_can_be_codes_of_categories(princomp, tmp_path, draw_only):
    draw_only("metadata")
    rows = [f"{i % 7},{i * i % 11},{i},{1 + i % 3 if i else ''}" for i in range(30)]
    (tmp_path / "t.csv").write_text("\n".join(["x,y,age,office", *rows]))
    args = ("report", "t.csv", "--metadata", "age,office", "--bootstrap", 0, "--categorical")
    assert princomp(*args, "office").code == 0
    text = Page((tmp_path / "t_report.html").read_text()).text
    assert "age (r)" in text
    assert "office (η²)" in text
    refused = princomp(*args, "floor", "--force", "--json")
    assert refused.code == 2
    assert refused.error["message"] == "--categorical floor is not a column of --metadata"


def test_groups_of_standard_input_are_refused_before_the_fit(princomp, monkeypatch):
    class Stream:
        buffer = io.BufferedReader(io.BytesIO(b"a,b,g\n1,2,x\n3,NA,y\n4,1,x\n"))

    monkeypatch.setattr(sys, "stdin", Stream())
    done = princomp("report", "-", "--groups", "g", "--json")
    assert done.code == 2
    assert done.error["message"].startswith("--groups and --metadata read DATA a second time")


def test_a_report_without_rows_says_so(princomp, model_file, tmp_path, draw_only):
    draw_only()
    done = princomp("report", model_file)
    assert done.code == 0
    assert "No rows were given" in (tmp_path / "model_report.html").read_text()


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (("MODEL", "-k", 2), 2, "-k is an option of a fit"),
        (("MODEL", "DATA", "--scale", "none"), 2, "--scale is an option of a fit"),
        (("MODEL", "--groups", "region"), 2, "--groups needs rows"),
        (("MODEL", "--metadata", "turn"), 2, "--metadata needs rows"),
        (("MODEL", "--training"), 2, "--training needs rows"),
        (("MODEL", "--bootstrap", 0), 2, "--bootstrap needs rows"),
        (("MODEL", "--level", 0.9), 2, "--level needs rows"),
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
def test_invalid_arguments_are_refused_and_nothing_is_written(
    princomp, model_file, grouped_file, tmp_path, args, code, message
):
    resolved = [{"MODEL": model_file, "DATA": grouped_file}.get(word, word) for word in args]
    output = [] if "-o" in args else ["-o", "x.html"]
    before = grouped_file.read_bytes()
    done = princomp("report", *resolved, *output, "--json")
    assert done.code == code
    assert message in done.error["message"] + str(done.error["hint"])
    assert done.error["hint"]
    assert not (tmp_path / "x.html").exists()
    assert grouped_file.read_bytes() == before


def test_an_existing_page_is_kept_unless_forced(princomp, model_file, tmp_path, draw_only):
    draw_only()
    (tmp_path / "a.html").write_text("mine")
    assert princomp("report", model_file, "-o", "a.html").code == 73
    assert (tmp_path / "a.html").read_text() == "mine"
    assert princomp("report", model_file, "-o", "a.html", "--force").code == 0


@pytest.mark.parametrize(
    ("flags", "name"), [(("--robust",), "RobustPCA"), (("--kernel", "rbf"), "KernelPCA")]
)
@pytest.mark.parametrize("rows", [(), (ARRESTS,)])
@pytest.mark.filterwarnings("ignore:the kernel .* is near zero for nearly all pairs")
def test_a_model_of_another_kind_is_refused_by_name(princomp, tmp_path, flags, name, rows):
    done = princomp("fit", ARRESTS, "--id", "State", *flags, "-k", 2, "-m", "m.pca")
    assert done.code == 0
    done = princomp("report", "m.pca", *rows, "-o", "x.html", "--json")
    assert done.code == 65
    assert done.error["message"] == f"m.pca is a {name}, and a report needs a plain PCA"
    assert done.error["place"] == {"file": "m.pca"}
    assert done.error["hint"].endswith(f"princomp fit without {flags[0]}")
    assert not (tmp_path / "x.html").exists()
