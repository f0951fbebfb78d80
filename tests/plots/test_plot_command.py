"""``princomp plot``: pictures as files, and errors."""

from __future__ import annotations

import subprocess
import sys

import pandas as pd
import pytest

from command_line import ARRESTS, ENVIRONMENT
from princomp import PCA
from princomp.cli.plotting import FIGURES

BEGINNINGS = {"svg": b"<?xml", "png": b"\x89PNG", "pdf": b"%PDF"}


@pytest.mark.parametrize("figure", FIGURES)
def test_every_figure_becomes_a_file(princomp, model_file, figure, tmp_path):
    data = [ARRESTS] if FIGURES[figure][0] == "rows" else []
    kind = sorted(BEGINNINGS)[list(FIGURES).index(figure) % 3]
    done = princomp("plot", figure, model_file, *data, "-o", f"a.{kind}")
    assert (done.code, done.out, done.err) == (0, "", "")
    assert (tmp_path / f"a.{kind}").read_bytes().startswith(BEGINNINGS[kind])


def test_the_same_arguments_give_the_same_bytes(princomp, model_file, tmp_path):
    for kind in BEGINNINGS:
        for name in "ab":
            args = ("plot", "scores", model_file, ARRESTS, "-o", f"{name}.{kind}", "--label", 3)
            assert princomp(*args).code == 0
        assert (tmp_path / f"a.{kind}").read_bytes() == (tmp_path / f"b.{kind}").read_bytes()


def test_all_options_of_plot_are_accepted(princomp, model_file, grouped_file, tmp_path):
    for args in (
        ("biplot", grouped_file, "--groups", "region", "--ellipses", "mean", "--level", 0.9),
        (
            "biplot",
            grouped_file,
            "--x",
            2,
            "--y",
            "PC1",
            "--label",
            "Texas,Ohio",
            "--factor",
            2,
            "--arrows",
            "axes",
        ),
        ("pairs", grouped_file, "--groups", "turn", "--components", "1,PC2", "--dark"),
        ("outliers", grouped_file, "--training", "--level", 0.99, "--label", 2),
        ("loadings", grouped_file, "--bootstrap", 50, "--components", 2),
        ("contributions", "--x", 2, "--top", 3),
        ("scree", "--top", 2),
    ):
        figure, *rest = args
        done = princomp("plot", figure, model_file, *rest, "-o", "a.png", "--force", "--json")
        assert done.code == 0, (args, done.out)
        assert done.document["files"] == {"picture": "a.png"}
        assert done.document["figure"] == figure


def test_a_scree_plot_with_a_rule(princomp, model_file, tmp_path):
    plain = princomp("plot", "scree", model_file, "-o", "plain.png")
    assert plain.code == 0
    for rule, data in (("parallel", ()), ("parallel", (ARRESTS,)), ("permutation", (ARRESTS,))):
        args = ("plot", "scree", model_file, *data, "--rule", rule, "-o", "a.png", "--force")
        done = princomp(*args)
        assert (done.code, done.out) == (0, "")
        assert f"note: {rule}: " in done.err
        assert (tmp_path / "a.png").read_bytes() != (tmp_path / "plain.png").read_bytes()
        assert f"{rule}: " in princomp(*args, "--json").document["notes"][-1]


@pytest.mark.filterwarnings("default")  # of constant columns
def test_a_rule_is_applied_as_in_the_fit(princomp, tmp_path):
    rows = ["a,b,c,d", *(f"{i / 2},{i * i % 7},{i**3 % 11},5" for i in range(12))]
    (tmp_path / "t.csv").write_text("\n".join(rows))
    for flags in (("--scale", "unit", "--constant", "zero"), ("--missing", "em")):
        fit = ("fit", "t.csv", "--no-id", "-k", 2, *flags, "-m", "m.pca", "--no-scores", "--force")
        assert princomp(*fit).code == 0
        done = princomp(
            "plot", "scree", "m.pca", "t.csv", "--rule", "kaiser", "-o", "a.svg", "--force"
        )
        assert "note: kaiser: " in done.err


def test_label_0_names_no_row(princomp, model_file, tmp_path):
    for name, flags in (("a", ()), ("b", ("--label", 0))):
        args = ("plot", "scores", model_file, ARRESTS, "-o", f"{name}.svg", *flags)
        assert princomp(*args).code == 0
    assert "<!-- Alaska" in (tmp_path / "a.svg").read_text()
    assert "<!-- Alaska" not in (tmp_path / "b.svg").read_text()


def test_names_of_rows_with_commas_are_quoted(princomp, tmp_path):
    names = ["Washington, DC", "Ohio", '"Big" Sur', "Utah"]
    table = pd.DataFrame({"name": names, "a": [1.0, 2, 4, 3], "b": [2.0, 1, 5, 9]})
    table.to_csv(tmp_path / "t.csv", index=False)
    assert princomp("fit", "t.csv", "--id", "name", "-m", "t.pca").code == 0
    args = ("plot", "scores", "t.pca", "t.csv", "-o", "a.svg", "--force", "--label")
    for label in ('"Washington, DC",Ohio', '"Big" Sur,Utah'):
        assert princomp(*args, label).code == 0
    assert "no drawn row is called 'DC'" in princomp(*args, "Ohio, DC").err


def test_hints_name_flags(princomp, tmp_path, model_file):
    assert princomp("fit", ARRESTS, "-m", "m.pca", "-o", "out").code == 0
    hint = princomp("plot", "circle", "m.pca", "-o", "a.svg", "--json").error["hint"]
    assert hint.startswith("fit with --scale unit; ")
    args = ("plot", "scores", model_file, ARRESTS, "--label", "Nowhere", "-o", "a.svg", "--json")
    assert princomp(*args).error["hint"].endswith("a number labels the most distant rows")


def test_only_unused_columns_are_noted(princomp, model_file, grouped_file):
    done = princomp("plot", "scores", model_file, grouped_file, "--groups", "region", "-o", "a.png")
    assert done.err == "note: ignored columns that the model does not use: turn\n"


@pytest.mark.parametrize("figure", ["scree", "circle", "contributions", "cos2", "loadings"])
def test_rows_that_a_figure_does_not_need_are_ignored_with_a_note(
    princomp, model_file, grouped_file, tmp_path, figure
):
    princomp("plot", figure, model_file, "-o", "a.svg")
    done = princomp("plot", figure, model_file, grouped_file, "-o", "b.svg")
    assert (done.code, done.err) == (0, f"note: {figure} draws the model alone: DATA is ignored\n")
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


@pytest.mark.parametrize(
    ("figure", "option", "note"),
    [
        ("scree", ("--groups", "region"), "--groups has no effect on scree"),
        ("contributions", ("--y", 2), "--y has no effect on contributions"),
        ("circle", ("--rule", "parallel"), "--rule has no effect on circle"),
        ("scores", ("--ellipses", "mean"), "--ellipses has no effect without --groups"),
        ("scores", ("--level", 0.9), "--level has no effect without --groups"),
    ],
)
def test_options_that_a_figure_does_not_use_are_ignored_with_a_note(
    princomp, model_file, tmp_path, figure, option, note
):
    files = (model_file, ARRESTS, "--label", 0) if figure == "scores" else (model_file,)
    princomp("plot", figure, *files, "-o", "a.svg")
    done = princomp("plot", figure, *files, *option, "-o", "b.svg", "--json")
    assert (done.code, note in done.document["notes"]) == (0, True)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (("scores",), 2, "give DATA"),
        (("scores", "DATA", "--groups", "nobody"), 65, "nobody"),
        (("scores", "DATA", "--groups", "Murder"), 65, "analyses"),
        (("scores", "DATA", "--groups", "State"), 2, "50 groups"),
        (("scores", "DATA", "--y", 7), 2, "PC1 to PC2"),
        (("scores", "DATA", "--label", "Atlantis"), 65, "Atlantis"),
        (("loadings", "--bootstrap", 9), 2, "DATA"),
        (("scores", "DATA", "--level", "2"), 2, "level"),
        (("pie",), 2, "pie"),
        (("scree", "--rule", "nobody"), 2, "nobody"),
        (("scree", "--rule", "permutation"), 2, "give DATA"),
        (("biplot", "DATA", "--factor", 0), 2, "Invalid value for '--factor'"),
        (("scree", "HALF", "--rule", "parallel"), 2, "other variances"),
    ],
)
def test_invalid_arguments_are_refused_and_nothing_is_written(
    princomp, model_file, grouped_file, tmp_path, args, code, message
):
    half = tmp_path / "half.csv"
    half.write_text("".join(ARRESTS.read_text().splitlines(keepends=True)[:20]))
    named = {"DATA": grouped_file, "HALF": half}
    figure, *rest = (named.get(word, word) for word in args)
    done = princomp("plot", figure, model_file, *rest, "-o", "x.svg", "--json")
    assert done.code == code
    assert message in done.error["message"] + str(done.error["hint"])
    assert done.error["hint"]
    assert not (tmp_path / "x.svg").exists()


def test_existing_files_are_not_overwritten(princomp, model_file, tmp_path):
    assert princomp("plot", "scree", model_file, "-o", "a.gif").code == 2
    (tmp_path / "a.svg").write_text("mine")
    assert princomp("plot", "scree", model_file, "-o", "a.svg").code == 73
    assert (tmp_path / "a.svg").read_text() == "mine"
    assert princomp("plot", "scree", model_file, "-o", "a.svg", "--force").code == 0
    picture = tmp_path / "model.svg"
    PCA(1).fit([[1.0, 2.0], [2.0, 1.0], [4.0, 4.0]]).save(picture)
    before = picture.read_bytes()
    assert princomp("plot", "scree", picture, "-o", picture, "--force").code == 73
    assert picture.read_bytes() == before


def test_missing_matplotlib_is_reported_with_its_extra(model_file, tmp_path):
    code = (
        "import sys\nsys.modules['matplotlib'] = None\n"
        f"sys.argv = ['princomp', 'plot', 'scree', {str(model_file)!r}, '-o', 'a.svg']\n"
        "from princomp.__main__ import main\nmain()"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True)
    assert done.returncode == 75
    assert "pip install 'princomp[plots]'" in done.stderr
    assert not (tmp_path / "a.svg").exists()


@pytest.mark.parametrize("rule", ["kaiser", "parallel"])
def test_a_rule_is_refused_where_cells_were_filled(princomp, tmp_path, rule):
    (tmp_path / "t.csv").write_text(ARRESTS.read_text().replace("13.2", "", 1))
    fit = ("fit", "t.csv", "-k", 2, "-m", "t.pca", "-o", "t", "--force")
    assert princomp(*fit, "--missing", "em").code == 0
    done = princomp("plot", "scree", "t.pca", "t.csv", "--rule", rule, "-o", "t.svg", "--json")
    assert "needs complete rows" in done.error["message"]
    assert done.error["hint"] == "leave --rule out, or fit with --missing drop"
    assert princomp(*fit, "--missing", "drop").code == 0
    assert princomp("plot", "scree", "t.pca", "t.csv", "--rule", rule, "-o", "t.svg").code == 0


def test_one_note_names_the_characters_that_the_font_lacks(princomp, tmp_path):
    table = pd.DataFrame({"体重": [1.0, 2, 4, 3], "身長": [2.0, 1, 5, 9], "c": [3.0, 1, 0, 2]})
    table.to_csv(tmp_path / "t.csv", index=False)
    assert princomp("fit", "t.csv", "--scale", "unit", "-m", "t.pca", "-o", "out").code == 0
    for name, outcome in (("a.svg", "a.svg holds texts, not shapes"), ("a.png", "write .svg, or")):
        done = princomp("plot", "circle", "t.pca", "-o", name)
        assert (done.code, done.err.count("\n")) == (0, 1)
        assert done.err.startswith("note: the font has no characters for ")
        assert set("体重身長") <= set(done.err)
        assert outcome in done.err
    assert ">体重</text>" in (tmp_path / "a.svg").read_text(encoding="utf-8")
