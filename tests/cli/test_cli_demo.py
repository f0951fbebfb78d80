"""``princomp demo``: the first analysis, on the package's own table."""

from __future__ import annotations

import shlex
from importlib import resources

from command_line import ARRESTS, files_in

OUTPUTS = ["eigenvalues.csv", "loadings.csv", "model.pca", "report.html", "scores.csv"]


def test_the_packaged_table_is_the_example():
    packaged = resources.files("princomp.cli").joinpath("usarrests.csv").read_bytes()
    assert packaged == ARRESTS.read_bytes()


def test_demo_writes_a_report_and_suggests_valid_commands(princomp, tmp_path, draw_only):
    draw_only("scree", "biplot")
    done = princomp("demo")
    assert (done.code, done.err) == (0, "")
    assert files_in(tmp_path / "princomp_demo") == [*OUTPUTS, "usarrests.csv"]
    report = tmp_path / "princomp_demo" / "report.html"
    assert f"Open the report in a browser: {report}\n" in done.out
    assert "PC1" in report.read_text()
    lines = done.out.partition("Three things to try next:\n")[2].splitlines()
    assert len(lines) == 3
    for line in lines:
        args = shlex.split(line)[1:]
        args = [word.replace("YOUR_TABLE.csv", str(ARRESTS)) for word in args]
        again = princomp(*args)
        assert again.code == 0, again.err


def test_existing_results_are_replaced_only_with_force(princomp, tmp_path, draw_only):
    draw_only()
    existing = tmp_path / "here" / "scores.csv"
    existing.parent.mkdir()
    existing.write_text("mine")
    done = princomp("demo", "-o", "here", "--json")
    assert (done.code, done.error["kind"]) == (73, "OutputExistsError")
    assert files_in(existing.parent) == ["scores.csv"]
    assert existing.read_text() == "mine"
    done = princomp("demo", "-o", "here", "--json", "--force")
    assert done.code == 0
    assert done.document["files"]["report"] == "here/report.html"
    assert existing.read_text() != "mine"
