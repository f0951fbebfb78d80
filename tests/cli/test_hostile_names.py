"""Malicious names in a table: on a terminal, in a page, in a spreadsheet, in a figure."""

from __future__ import annotations

import csv
import json
import re
from xml.etree import ElementTree

import numpy as np
import pytest

from command_line import run_command
from princomp import PCA
from princomp.errors import ColumnError

NAMES = (
    "=1+1",
    "<script>alert(1)</script>",
    "\x1b[31mred\x1b]0;title\x07",
    "$x_{$",
    "left\u202eright",
    "@SUM(A1)",
    "two\nlines",
    "\x9b2J",
)
CONTROL_CHARACTERS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


@pytest.fixture
def table(tmp_path):
    rows = np.random.default_rng(0).standard_normal((30, len(NAMES))) * 2.0 ** -np.arange(8.0)
    path = tmp_path / "rows.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["name", "group", *NAMES])
        for i, row in enumerate(rows):
            name = f"=cmd!A{i}" if i % 2 else f"<img src=x onerror=alert({i})>\x1b[2J"
            writer.writerow([name, ("+one", "\x1b[1mtwo", "<b>three")[i % 3], *row])
    return path


@pytest.fixture
def model(table, tmp_path, capfd):
    assert run_command(capfd, "fit", table, "-o", tmp_path / "out", "--scale", "unit").code == 0
    return tmp_path / "out" / "model.pca"


def test_the_name_of_the_id_column_stays_in_one_line(tmp_path, capfd):
    path = tmp_path / "rows.csv"
    path.write_text('"two\nlines",a,b\nx,1,2\ny,3,1\nz,4,4\n')
    assert run_command(capfd, "fit", path, "-o", tmp_path / "out").code == 0
    shown = run_command(capfd, "show", tmp_path / "out" / "model.pca").out
    assert "id column: two\\u000alines\n" in shown


@pytest.mark.parametrize("command", ["fit", "show", "plan", "transform", "bootstrap", "choose"])
@pytest.mark.parametrize("flags", [[], ["--json"]])
def test_names_print_no_control_characters(command, flags, table, model, tmp_path, capfd):
    arguments = {
        "fit": [table, "-o", tmp_path / "again"],
        "show": [model],
        "transform": [model, table],
        "bootstrap": [table, "-k", 2, "-n", 20],
    }
    found = run_command(capfd, command, *arguments.get(command, [table]), *flags)
    # CSV on stdout is data, and is not changed.
    data = command in ("transform", "bootstrap") and not flags
    text = found.err if data else found.out + found.err
    assert found.code == 0
    assert not CONTROL_CHARACTERS.search(text)
    if flags:
        json.loads(found.out)


def test_json_keeps_the_names(model, capfd):
    assert tuple(run_command(capfd, "show", model, "--json").document["columns"]) == NAMES


def test_errors_print_no_control_characters(table, capfd):
    found = run_command(capfd, "fit", table, "--columns", "\x1b[2J", "-o", table.parent / "none")
    assert found.code == 65
    assert "no column '\\x1b[2J'" in found.err
    assert not CONTROL_CHARACTERS.search(found.err)
    with pytest.raises(ColumnError, match=r"\\u001b"):
        raise ColumnError("no column \x1b[2J", hint="\x1b[1m")


def test_a_page_holds_names_as_text(table, tmp_path, capfd):
    page = tmp_path / "page.html"
    command = ("report", table, "--scale", "unit", "-k", "2", "--groups", "group", "-o", page)
    assert run_command(capfd, *command).code == 0
    text = page.read_text()
    assert not CONTROL_CHARACTERS.search(text)
    assert "<script>alert" not in text
    assert "<img src=x" not in text
    assert "<b>three" not in text


@pytest.mark.parametrize("figure", ["biplot", "circle", "contributions"])
def test_figures_are_valid_svg(figure, table, model, tmp_path, capfd):
    picture = tmp_path / "figure.svg"
    rows = [table, "--groups", "group"] if figure == "biplot" else []
    assert run_command(capfd, "plot", figure, model, *rows, "-o", picture).code == 0
    tags = {element.tag.rpartition("}")[2] for element in ElementTree.parse(picture).iter()}
    assert not tags & {"script", "img", "foreignObject"}


def test_formulas_are_escaped_on_request(table, model, tmp_path, capfd):
    def first_cells(*flags):
        folder = tmp_path / f"with{len(flags)}"
        assert run_command(capfd, "fit", table, "-o", folder, *flags).code == 0
        with (folder / "scores.csv").open(newline="") as scores:
            names = [row[0] for row in csv.reader(scores)][1:3]
        with (folder / "loadings.csv").open(newline="") as loadings:
            return names + [row[0] for row in csv.reader(loadings)][1:]

    names = ["<img src=x onerror=alert(0)>\x1b[2J", "=cmd!A1", *NAMES]
    assert first_cells() == names
    assert first_cells("--escape-formulas") == [
        f"'{name}" if name[0] in "=@" else name for name in names
    ]
    found = run_command(
        capfd, "inverse", model, tmp_path / "with0" / "scores.csv", "--escape-formulas"
    )
    assert found.out.startswith("name,'=1+1,")
    found = run_command(
        capfd, "bootstrap", table, "-k", 1, "-n", 20, "-o", "-", "--escape-formulas"
    )
    assert ",'=1+1," in found.out


def test_numbers_are_not_escaped_as_formulas(tmp_path, capfd):
    path = tmp_path / "rows.csv"
    path.write_text("key,a,b\n-1e3,1,2\n+5,2,1\n-x,4,4\n=2,5,7\n,0,1\n")
    found = run_command(capfd, "fit", path, "--id", "key", "-k", 1, "-o", tmp_path / "out")
    assert found.code == 0, found.err
    out = run_command(
        capfd, "transform", tmp_path / "out" / "model.pca", path, "--escape-formulas"
    ).out.splitlines()
    assert [line.split(",")[0] for line in out] == ["key", "-1e3", "+5", "'-x", "'=2", ""]


def test_warnings_print_no_control_characters():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": [1.0, 2, 4], "\x1b[2J": ["x", "y", "y"], "b": [2.0, 1, 1]})
    with pytest.warns(UserWarning, match=r"\\u001b\[2J"):
        PCA(1).fit(frame)
