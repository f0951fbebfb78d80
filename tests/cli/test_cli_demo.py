"""``princomp demo``: the first analysis, on the package's own table."""

from __future__ import annotations

import shlex
from importlib import resources

from command_line import ARRESTS, left_in

OUTPUTS = ["eigenvalues.csv", "loadings.csv", "model.pca", "report.html", "scores.csv"]


def test_the_packaged_table_is_the_example():
    packaged = resources.files("princomp.cli").joinpath("usarrests.csv").read_bytes()
    assert packaged == ARRESTS.read_bytes()


def test_it_ends_with_the_report_and_commands_that_run(princomp, tmp_path):
    done = princomp("demo")
    assert (done.code, done.err) == (0, "")
    assert left_in(tmp_path / "princomp_demo") == [*OUTPUTS, "usarrests.csv"]
    report = tmp_path / "princomp_demo" / "report.html"
    assert f"Open the report in a browser: {report}\n" in done.out
    assert "PC1" in report.read_text()
    lines = done.out.partition("Three things to try next:\n")[2].splitlines()
    assert len(lines) == 3
    for line in lines:
        words = shlex.split(line)[1:]
        words = [word.replace("YOUR_TABLE.csv", str(ARRESTS)) for word in words]
        again = princomp(*words)
        assert again.code == 0, again.err


def test_results_are_replaced_on_request_only(princomp, tmp_path):
    own = tmp_path / "here" / "scores.csv"
    own.parent.mkdir()
    own.write_text("mine")
    done = princomp("demo", "-o", "here", "--json")
    assert (done.code, done.error["kind"]) == (73, "OutputExistsError")
    assert left_in(own.parent) == ["scores.csv"]
    assert own.read_text() == "mine"
    done = princomp("demo", "-o", "here", "--json", "--force")
    assert done.code == 0
    assert done.document["files"]["report"] == "here/report.html"
    assert own.read_text() != "mine"
