"""Errors on the command line: exit codes, messages, and files left behind."""

from __future__ import annotations

import errno
import os

import numpy as np
import pytest

import princomp as package
from command_line import ARRESTS, files_in, write_csv
from princomp import core, errors

USAGE_ERRORS = [
    (["fit", ARRESTS, "-k", "1.5"], "'1.5' is not a whole number"),
    (["fit", ARRESTS, "-k", "-1"], "'-1' is not a whole number"),
    (["fit", ARRESTS, "-k", "0.0"], "'0.0' is not a whole number"),
    (["fit", ARRESTS, "-k", "nan"], "'nan' is not a whole number"),
    (["fit", ARRESTS, "-k", "many"], "or a rule"),
    (["fit", ARRESTS, "-k", "paralel"], "Did you mean 'parallel'?"),
    (["fit", ARRESTS, "--columns", "Murder\nRape"], "is not one line of column names"),
    (["fit", ARRESTS, "--bogus"], "No such option '--bogus'"),
    (["fit", ARRESTS, "--scale", "log"], "'log' is not one of"),
    (
        ["fit", ARRESTS, "--solver", "magic"],
        f"'magic' is not one of {', '.join(map(repr, core.SOLVERS))}",
    ),
    (["fit", ARRESTS, "--missing", "guess"], "'guess' is not one of"),
    (["fit", ARRESTS, "--format", "xlsx"], "'xlsx' is not one of"),
    (["fit"], "Missing argument 'FILE...'"),
    (["plan"], "Missing argument 'FILE...'"),
    (["transform", "m.pca"], "Missing argument 'FILE...'"),
    (["inverse", "m.pca"], "Missing argument 'FILE...'"),
    (["merge", "-m", "m.pca"], "Missing argument 'MODEL MODEL...'"),
    (["show"], "Missing argument 'MODEL'"),
    (["show", "m.pca", "more"], "unexpected extra argument"),
    (["fit", ARRESTS, "-k", "100%"], "'100%' is not a whole number"),
    (["fit", ARRESTS, "-k", "2,5"], "'2,5' is not a whole number"),
    (["fit", ARRESTS, "-k", "%"], "'%' is not a whole number"),
    (["fly"], "No such command 'fly'"),
    (["--bogus"], "No such option '--bogus'"),
    (["fit", ARRESTS, "--columns", ""], "'' has an empty column name"),
    (["fit", ARRESTS, "--id", ""], "the name of the column is empty"),
    (["report", ARRESTS, "--groups", ""], "the name of the column is empty"),
    (["fit", ARRESTS, "-o", "-"], "'-' is not the name of a file or folder"),
    (["report", ARRESTS, "-o", "/dev/stdout"], "'/dev/stdout' is not the name of a file"),
    (["plot", "pairs", "m.pca", ARRESTS, "-o", "f.svg", "--groups", " "], "of the column is empty"),
    (["fit", ARRESTS, "--na", "x,"], "'x,' has an empty word"),
    (["fit", ARRESTS, "--exclude", "Murder,,Rape"], "has an empty column name"),
    (["choose", ARRESTS, "--rules", "gcv,,elbow"], "'gcv,,elbow' has an empty rule"),
]


@pytest.mark.parametrize(("args", "message"), USAGE_ERRORS)
def test_invalid_arguments_are_refused(princomp, tmp_path, args, message):
    done = princomp(*args)
    assert (done.code, done.out) == (2, "")
    assert message in done.err
    assert "--help" in done.err
    done = princomp(*args, "--json")
    assert (done.code, done.err) == (2, "")
    assert done.error["kind"] == "UsageError"
    assert message in done.error["message"]
    assert files_in(tmp_path) == []


def test_a_file_without_a_command_gets_the_command_that_analyses_it(princomp):
    done = princomp(ARRESTS, "-k", 2)
    assert done.code == 2
    assert f"Hint: to analyse a table: princomp fit {ARRESTS}; see" in done.err


@pytest.mark.parametrize(
    ("args", "suggestion"),
    [
        (["plot", "scors", "m.pca", "-o", "f.svg"], "scores"),
        (["fit", ARRESTS, "--scale", "standard"], "unit"),
        (["fit", ARRESTS, "--missing", "EM"], "em"),
        (["plan", ARRESTS, "--solver", "lancos"], "lanczos"),
    ],
)
def test_a_misspelled_choice_gets_a_suggestion(princomp, args, suggestion):
    done = princomp(*args)
    assert done.code == 2
    assert f"Hint: Did you mean '{suggestion}'? see 'princomp {args[0]} --help'" in done.err
    assert "Did you mean" not in princomp("fit", ARRESTS, "--scale", "log").err


@pytest.mark.parametrize("command", ["bootstrap", "report"])
def test_a_model_after_the_table_is_recognised(princomp, tmp_path, command):
    write_csv(tmp_path / "t.csv", "a,b", "1,2", "3,5", "4,1")
    package.PCA(1).fit(np.eye(3)).save(tmp_path / "m.pca")
    done = princomp(command, "t.csv", "m.pca")
    assert done.code == 2
    assert "m.pca is a model: MODEL comes first, then DATA" in done.err
    (tmp_path / "t.ods").write_bytes(b"PK")
    assert "t.ods: its name does not say" in princomp(command, "t.csv", "t.ods").err


def test_messages_name_flags(princomp, tmp_path):
    write_csv(tmp_path / "t.csv", "a,b,c", "1,2,7", "3,5,7", "4,1,7")
    hint = "Hint: leave the constant column out (--exclude), or set --constant drop\n"
    assert hint in princomp("fit", "t.csv", "--scale", "unit").err
    for args in (["--kernel", "rbf", "--scale", "unit"], ["--robust", "--scale", "mad"]):
        done = princomp("fit", "t.csv", *args, "-k", 1)
        assert done.err.endswith("Hint: --exclude c leaves the column out\n"), done.err
    done = princomp("fit", "t.csv", "--missing", "em")
    assert "--missing em needs a number of components, and no -k is given\n" in done.err
    assert "n_components" not in done.err
    done = princomp("fit", "t.csv", "--missing", "em", "-k", "parallel")
    assert done.err.endswith("A rule finds a number in complete rows: choose with --missing drop\n")
    done = princomp("choose", "t.csv", "--missing", "em")
    assert "Hint: use --missing drop, and fit with the number found and --missing em;" in done.err
    (tmp_path / "t_pca").mkdir()
    (tmp_path / "t_pca" / "model.pca").write_bytes(b"")
    assert "replace what exists (--force)\n" in princomp("fit", "t.csv").err


def test_counts_of_one_are_singular(princomp, tmp_path):
    write_csv(tmp_path / "t.csv", "a", "1", "3", "4")
    assert princomp("fit", "t.csv").out.startswith("3 rows × 1 column, scale none: ")
    assert "of 3 rows × 1 column\n" in princomp("choose", "t.csv", "--rules", "kaiser").out
    rows = np.random.default_rng(0).standard_normal((30, 21))
    np.savetxt(tmp_path / "w.csv", rows, delimiter=",", header=",".join("abcdefghijklmnopqrstu"))
    text = (tmp_path / "w.csv").read_text().removeprefix("# ")
    (tmp_path / "w.csv").write_text(text)
    assert princomp("fit", "w.csv", "-k", 20).out.count("… 1 more variance\n") == 1


def test_without_a_command_the_help_is_shown(princomp):
    done = princomp()
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("Usage: princomp [OPTIONS] COMMAND")
    assert done.err.rstrip().endswith("FILEs with MODEL.")


def test_an_unknown_file_extension_is_a_usage_error(princomp, tmp_path):
    (tmp_path / "t.ods").write_bytes(b"PK")
    done = princomp("fit", "t.ods")
    assert (done.code, done.out) == (2, "")
    assert "Known endings are .csv" in done.err


def test_text_with_an_unknown_ending_can_be_read(princomp, tmp_path):
    (tmp_path / "a b.raw").write_text("x y\n1 2\n2 1\n4 4\n")
    done = princomp("fit", "a b.raw")
    hint = "If it is text, rename it to end in .txt, or read it from standard input: princomp fit -"
    assert f"{hint} < 'a b.raw'\n" in done.err
    (tmp_path / "a b.raw").rename(tmp_path / "a b.txt")
    assert princomp("fit", "a b.txt").code == 0


@pytest.mark.parametrize(
    ("flag", "typed", "quoted"),
    [
        ("--exclude", "size, cm", '"size, cm"'),
        ("--columns", "a,size,cm,b", 'a,"size, cm",b'),
    ],
)
def test_a_name_with_a_comma_needs_quotes(princomp, tmp_path, flag, typed, quoted):
    write_csv(tmp_path / "t.csv", '"size, cm",a,b', "1,2,4", "2,1,5", "3,5,1", "4,4,3")
    done = princomp("plan", "t.csv", "--no-id", flag, typed)
    assert (done.code, done.out) == (65, "")
    assert "no columns 'size', 'cm'\nHint: Did you mean 'size, cm'?" in done.err
    assert princomp("plan", "t.csv", "--no-id", flag, quoted).code == 0


def test_names_with_commas_are_listed_in_quotes(princomp, tmp_path):
    """Short names have no suggestion, and the list would show them as two columns."""
    write_csv(tmp_path / "t.csv", '"b, c",a,d', "1,2,4", "2,1,5", "3,5,1", "4,4,3")
    done = princomp("plan", "t.csv", "--no-id", "--columns", "a,b,c")
    assert "no columns 'b', 'c'\nHint: There are: \"b, c\", a, d." in done.err
    assert princomp("plan", "t.csv", "--no-id", "--columns", 'a,"b, c"').code == 0


DATA_ERRORS = {
    "k out of range": (["-k", 5], "must be between 0 and", {"parameter": "n_components"}),
    "unknown column": (["--columns", "Murder,Rap"], "Did you mean 'Rape'?", {"column": "Rap"}),
    "unknown id": (["--id", "state"], "Did you mean 'State'?", {"column": "state"}),
    "unknown exclude": (["--exclude", "x"], "no column 'x'", {"column": "x"}),
    "text asked for": (
        ["--columns", "State,Rape"],
        "column 'State' row 0 (line 2): 'Alabama' is not a number",
        {"column": "State", "row": 0, "line": 2},
    ),
    "text asked for, what to do": (
        ["--columns", "State,Rape"],
        "The column does not hold numbers: ",
        {},
    ),
    "a column in other letters": (["--columns", "murder"], "Did you mean 'Murder'?", {}),
    "two roles": (["--columns", "Rape", "--id", "Rape"], "'Rape' cannot be the id column", {}),
    "nothing left": (["--exclude", "Murder,Assault,UrbanPop,Rape"], "no numeric column", {}),
}


@pytest.mark.parametrize("case", DATA_ERRORS)
def test_options_that_do_not_fit_the_data_are_refused(princomp, tmp_path, case):
    args, message, place = DATA_ERRORS[case]
    done = princomp("fit", ARRESTS, *args, "-o", "out")
    assert (done.code, done.out) == (65, "")
    assert message in done.err
    assert "Hint: " in done.err
    assert "Traceback" not in done.err
    error = princomp("fit", ARRESTS, *args, "-o", "out", "--json").error
    assert error["hint"]
    assert place.items() <= error["place"].items()
    assert files_in(tmp_path) == []


INVALID_TABLES = {
    "NaN": (
        ["a,b", "1,2", "3,4", "5,NA"],
        [],
        "row 2 (line 4), column 'b' of t.csv",
        "(--missing drop), or fill the cells (--missing em or --missing nipals)",
    ),
    "infinity": (["a,b", "1,2", "inf,4"], [], "row 1 (line 3), column 'a' of t.csv", "infinite"),
    "one row": (["a,b", "1,2"], [], "at least 2 rows", "partial_fit"),
    "no row": (["a,b"], [], "no rows", ""),
    "empty": ([""], [], "t.csv", ""),
    "constant": (
        ["a,b,c", "1,2,7", "3,5,7"],
        ["--scale", "unit"],
        "constant column: column 'c'",
        "leave the constant column out",
    ),
    "one cell of text": (
        ["a,b", "1,2", "3,x4", "5,6"],
        [],
        "column 'b' row 1 (line 3): 'x4' is not a number",
        "exclude 'b'",
    ),
    "decimal commas": (['"a";"b"', '"1,5";"2.5"'], [], "t.csv", "--decimal ,"),
    "ragged": (["a,b", "1,2", "3"], [], "line 3", ""),
    "twice": (["a,b,a", "1,2,3", "4,5,6"], [], "twice or more: a", "Rename"),
    "constant and fraction": (["a,b", "1,2", "1,2"], ["-k", 0.9], "every column is constant", ""),
    "all dropped": (["a,b", "1,NA", "NA,2"], ["--missing", "drop"], "0 of 2 rows", "fill"),
}


@pytest.mark.parametrize("case", INVALID_TABLES)
def test_invalid_tables_are_refused(princomp, tmp_path, case):
    lines, args, message, hint = INVALID_TABLES[case]
    write_csv(tmp_path / "t.csv", *lines)
    done = princomp("fit", "t.csv", *args)
    assert (done.code, done.out) == (65, "")
    assert message in done.err
    assert hint in done.err
    assert "Traceback" not in done.err
    assert princomp("fit", "t.csv", *args, "--json").error["place"] is not None
    assert files_in(tmp_path) == ["t.csv"]


def test_the_place_of_a_missing_value_is_in_the_json_error(princomp, tmp_path):
    write_csv(tmp_path / "t.csv", "a,b", "1,2", "3,NA", "NA,NA")
    error = princomp("fit", "t.csv", "--json").error
    assert error["kind"] == "NotFiniteError"
    assert error["place"] == {"file": "t.csv", "row": 1, "line": 3, "column": "b"}
    assert "3 NaN and 0 infinite values in all" in error["message"]


def test_truncated_files_are_refused(princomp, tmp_path):
    (tmp_path / "t.parquet").write_bytes(b"PAR1 and nothing more")
    (tmp_path / "t.csv.gz").write_bytes(b"\x1f\x8b\x08")
    (tmp_path / "t.npy").write_bytes(b"\x93NUMPY")
    for name in files_in(tmp_path):
        assert princomp("fit", name).code == 65, name


def test_missing_inputs_are_refused(princomp, tmp_path):
    for args in (["fit", "no.csv"], ["plan", "no.csv"], ["show", "no.pca"], ["fit", tmp_path]):
        done = princomp(*args)
        assert (done.code, done.out) == (66, ""), args
        assert str(args[1]) in done.err
        assert princomp(*args, "--json").error["kind"] == "InputNotFoundError"
    package.PCA(1).fit(np.eye(3)).save(tmp_path / "m.pca")
    for command in ("transform", "inverse"):
        assert princomp(command, "m.pca", "no.csv").code == 66
        assert princomp(command, "no.pca", ARRESTS).code == 66


def test_a_missing_second_file_is_refused(princomp, tmp_path):
    for args in (["fit", ARRESTS, "more"], ["plan", ARRESTS, "more"]):
        done = princomp(*args)
        assert (done.code, done.out) == (66, "")
        assert "more: no such file" in done.err
    assert files_in(tmp_path) == []


def test_invalid_model_files_are_refused(princomp, tmp_path):
    package.PCA(1).fit(np.eye(3)).save(tmp_path / "m.pca")
    content = bytearray((tmp_path / "m.pca").read_bytes())
    content[-3] ^= 1
    (tmp_path / "m.pca").write_bytes(content)
    for args in (["show", "m.pca"], ["transform", "m.pca", ARRESTS], ["show", ARRESTS]):
        done = princomp(*args)
        assert (done.code, done.out) == (65, "")
        assert str(args[1]) in done.err
        assert princomp(*args, "--json").error["kind"] == "ModelFileError"


def test_existing_outputs_are_all_named_and_unchanged(princomp, tmp_path):
    (tmp_path / "out").mkdir()
    for name in ("loadings.csv", "model.pca"):
        (tmp_path / "out" / name).write_bytes(b"precious")
    done = princomp("fit", ARRESTS, "-o", "out")
    assert (done.code, done.out) == (73, "")
    assert "out/loadings.csv" in done.err
    assert "out/model.pca" in done.err
    assert files_in(tmp_path) == ["out/loadings.csv", "out/model.pca"]
    assert (tmp_path / "out" / "model.pca").read_bytes() == b"precious"
    assert princomp("fit", ARRESTS, "-o", "out", "--json").error["kind"] == "OutputExistsError"


def test_a_checkpoint_path_cannot_be_an_input_or_output(princomp, tmp_path):
    write_csv(tmp_path / "t.csv", *ARRESTS.read_text().splitlines())
    before = files_in(tmp_path)
    cases = [
        (("--checkpoint", "t_pca/model.pca"), 2, "same file"),
        (("--checkpoint", "t_pca/scores.csv"), 2, "same file"),
        (("--checkpoint", "t.csv"), 73, "is an input of this run"),
        (("--checkpoint", "."), 73, "is a folder"),
        (("--checkpoint", "t.csv/deeper"), 73, "is a file, not a folder"),
    ]
    for args, code, message in cases:
        for force in ((), ("--force",)):
            done = princomp("fit", "t.csv", *args, *force)
            assert (done.code, done.out) == (code, ""), (args, done)
            assert message in done.err
            assert files_in(tmp_path) == before
    assert (tmp_path / "t.csv").read_text() == ARRESTS.read_text()


def test_outputs_that_cannot_be_created_are_refused(princomp, tmp_path):
    (tmp_path / "file").write_bytes(b"")
    for args in (["-o", "file"], ["-o", "file/deeper"], ["-m", "."], ["-m", "file/m.pca"]):
        done = princomp("fit", ARRESTS, *args)
        assert (done.code, done.out) == (73, ""), args
        assert "Hint: " in done.err
    assert files_in(tmp_path) == ["file"]
    done = princomp("fit", ARRESTS, "-m", "usarrests_pca/scores.csv")
    assert done.code == 2
    assert "same file" in done.err


def test_a_full_disk_leaves_the_old_results(princomp, tmp_path, monkeypatch):
    assert princomp("fit", ARRESTS, "-o", "out").code == 0
    before = {name: (tmp_path / name).read_bytes() for name in files_in(tmp_path)}

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    done = princomp("fit", ARRESTS, "-o", "out", "-k", 1, "--force")
    assert (done.code, done.out) == (73, "")
    assert "No space left on device" in done.err
    assert {name: (tmp_path / name).read_bytes() for name in files_in(tmp_path)} == before


def test_debug_shows_tracebacks(princomp):
    plain = princomp("fit", "no.csv")
    assert "Traceback" not in plain.err
    debugged = princomp("fit", "no.csv", "--debug")
    assert "Traceback" in debugged.err
    assert debugged.err.endswith(plain.err)
    assert debugged.code == plain.code == 66
    both = princomp("fit", "no.csv", "--debug", "--json")
    assert "Traceback" in both.err
    assert both.error["kind"] == "InputNotFoundError"


@pytest.mark.parametrize(
    ("error", "code"),
    [(MemoryError(), 75), (OSError(5, "Input/output error"), 74), (ZeroDivisionError("x"), 70)],
)
def test_unexpected_errors_are_reported_without_a_traceback(princomp, monkeypatch, error, code):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr("princomp.estimators.loading.read", fail)
    done = princomp("show", "m.pca")
    assert (done.code, done.out) == (code, "")
    assert done.err.startswith("princomp: ")
    assert "Traceback" not in done.err
    assert princomp("show", "m.pca", "--json").error["kind"] == type(error).__name__


def test_a_closed_pipe_of_windows_is_no_error(princomp, monkeypatch):
    def fail(*_, **__):
        raise OSError(errno.EINVAL, "Invalid argument")

    monkeypatch.setattr("princomp.cli.commands.discard", lambda _: None)
    monkeypatch.setattr(errors, "CLOSED_PIPE", {errno.EPIPE, errno.EINVAL})
    with monkeypatch.context() as context:
        context.setattr("princomp.cli.output.click.echo", fail)
        assert princomp("plan", ARRESTS) == (0, "", "")
    # The same error of an input is an error.
    monkeypatch.setattr("princomp.estimators.loading.read", fail)
    assert princomp("show", "m.pca").code == 74


def test_a_missing_library_is_named(princomp, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow.csv", None)
    done = princomp("fit", ARRESTS)
    assert (done.code, done.out) == (75, "")
    assert "pip install 'princomp[cli]'" in done.err


@pytest.mark.parametrize("name", ["results.xlsx", "scores.csv"])
def test_a_folder_of_results_called_like_a_table_gets_a_note(name, princomp):
    note = (
        f"note: {name} will be a folder, not a .{name.partition('.')[2]} file: --format chooses csv"
    )
    assert note in princomp("fit", ARRESTS, "-o", name).err
    done = princomp("rotate", "varimax", f"{name}/model.pca", "-o", f"rotated_{name}")
    assert note.replace(name, f"rotated_{name}") in done.err
    assert "be a folder" not in princomp("fit", ARRESTS, "-o", "results").err
