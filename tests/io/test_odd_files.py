"""Odd files as people have them are read correctly or refused with a question."""

from __future__ import annotations

import csv
import io
import warnings

import numpy as np
import pytest

from command_line import ROOT
from odd_files import ODD_FILES
from princomp import PCA, PrincompError, read_table
from princomp.io import ReadOptions, open_stdin

pytest.importorskip("openpyxl")

FLAGS = {
    "sep": "--sep",
    "decimal": "--decimal",
    "thousands": "--thousands",
    "na": "--na",
    "skip": "--skip",
    "skip_end": "--skip-end",
    "sheet": "--sheet",
    "columns": "--columns",
    "exclude": "--exclude",
}
CASES = pytest.mark.parametrize("file", ODD_FILES, ids=lambda file: file.name)
TEXT = [file for file in ODD_FILES if file.name.endswith((".csv", ".txt"))]
# A pipe has no file name that suggests commas, so no question is asked.
TEXT = [file for file in TEXT if file.name != "blanks.csv"]


def flags(answer):
    """The options of ``read_table`` as arguments of the command line."""
    arguments = []
    for name, value in answer.items():
        if name == "id_column":
            arguments += ["--no-id"] if value is False else ["--id", value]
        elif name == "header":
            arguments += {True: ["--header"], False: ["--no-header"]}.get(
                value, ["--header-lines", 2]
            )
        else:
            arguments += [FLAGS[name], ",".join(value) if isinstance(value, list) else value]
    return arguments


def check(file, data, columns, ids):
    assert columns == file.columns
    np.testing.assert_allclose(data, file.rows, rtol=1e-15)
    assert (None if ids is None else list(ids)) == file.ids


def answered(file):
    return bool(file.answer) or not file.question


@CASES
def test_files_are_read_correctly_or_raise_a_question(file, tmp_path):
    path = file.write(tmp_path)
    if file.question:
        with pytest.raises(PrincompError) as caught:
            read_table(path).open()
        assert file.question in str(caught.value)
        assert caught.value.hint
        assert caught.value.place["file"] == str(path)
        if not file.answer:
            return
    source = read_table(path, **file.answer).open()
    (chunk,) = source.chunks()
    check(file, chunk.data, source.columns, chunk.ids)
    if not file.question:
        assert any(file.note in note for note in source.notes) or not (file.note or source.notes)


@CASES
def test_the_command_line_reads_the_same_rows(file, tmp_path, princomp):
    path = file.write(tmp_path)
    arguments = ("fit", path, "-k", 1, "--missing", "drop", "-o", "out")
    if file.question:
        refused = princomp(*arguments, "--json")
        assert refused.code == 65
        assert file.question in refused.error["message"]
        assert refused.error["hint"]
        if not file.answer:
            return
    done = princomp(*arguments, *flags(file.answer))
    assert done.code == 0, done.err
    if not file.question:
        assert file.note in done.err
    with (tmp_path / "out" / "scores.csv").open(newline="") as table:
        names, *rows = csv.reader(table)
    assert names[1] == "PC1"
    keys = list(range(len(file.rows))) if file.ids is None else file.ids
    assert [row[0] for row in rows] == [str(key) for key in keys]
    expected = PCA(1, missing="drop").fit_transform(np.array(file.rows))
    np.testing.assert_allclose(
        [float(row[1] or "nan") for row in rows], expected[:, 0], rtol=1e-9, atol=1e-9
    )


@CASES
def test_files_can_be_fitted_in_python(file, tmp_path):
    if not answered(file):
        return
    rows = read_table(file.write(tmp_path), **file.answer)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "left out", UserWarning)
        model = PCA(1, missing="drop").fit(rows)
        scores = model.transform(rows)
    assert tuple(model.feature_names_in_) == file.columns
    expected = PCA(1, missing="drop").fit_transform(np.array(file.rows))
    np.testing.assert_allclose(scores, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("file", TEXT, ids=lambda file: file.name)
def test_pipes_give_the_same_rows(file, tmp_path):
    """Text is read in pieces, as large files are."""
    content = file.write(tmp_path).read_bytes()

    def opened(id_column=None, columns=None, exclude=(), **options):
        return open_stdin(
            io.BytesIO(content),
            columns=columns,
            exclude=exclude,
            id_column=id_column,
            options=ReadOptions.of(options),
        )

    if file.question:
        with pytest.raises(PrincompError) as caught:
            list(opened().chunks())
        assert file.question in str(caught.value)
        if not file.answer:
            return
    source = opened(**file.answer)
    chunks = list(source.chunks())
    ids = None if source.id_column is None else [name for chunk in chunks for name in chunk.ids]
    check(file, np.concatenate([chunk.data for chunk in chunks]), source.columns, ids)


def markdown_table() -> str:
    """The table in docs/files.md."""
    table = ["| file | what is odd | outcome |", "| --- | --- | --- |"]
    for file in ODD_FILES:
        answer = ", ".join(f"{key}={value!r}" for key, value in file.answer.items())
        answered = f"; then `{answer}`" if file.question and answer else ""
        table.append(f"| `{file.name}` | {file.description} | {file.outcome}{answered} |")
    return "\n".join(table)


def test_the_documentation_contains_the_table_of_outcomes():
    page = (ROOT / "docs" / "files.md").read_text()
    assert markdown_table() in page, "replace the table by this one:\n" + markdown_table()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sep": ";;"}, "one character"),
        ({"sep": "§"}, "an ASCII character"),
        ({"decimal": "'"}, "'.' or ','"),
        ({"thousands": ".", "decimal": "."}, "another character"),
        ({"encoding": "utf-99"}, "encoding"),
        ({"encoding": "rot13"}, "a text encoding of Python"),
        ({"encoding": "base64"}, "a text encoding of Python"),
        ({"encoding": "undefined"}, "a text encoding of Python"),
        ({"skip": -1}, "whole number"),
        ({"header": 3}, "False, True or 2"),
        ({"separator": ";"}, "not an option"),
        ({"sep": 5}, "sep must be text"),
        ({"thousands": 1}, "thousands must be text"),
        ({"encoding": 1}, "encoding must be text"),
        ({"comment": 1}, "comment must be text"),
        ({"columns": None}, "columns must be a list"),
        ({"exclude": None}, "exclude must be a list"),
    ],
)
def test_invalid_options_are_refused(options, message):
    with pytest.raises(PrincompError, match=message):
        read_table("table.csv", **options)


def test_one_column_may_be_given_as_text(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("age,height\n1,2\n2,1\n3,5\n")
    assert read_table(path, columns="height").open().columns == ("height",)
    assert read_table(path, exclude="height").open().columns == ("age",)


def test_columns_all_refuses_text_columns(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("group,x\na,1.5\nb,2\na,3\n")
    with pytest.raises(PrincompError, match="not all columns hold numbers: left out 1 text"):
        PCA().fit(read_table(path, columns="all"))


def test_columns_all_accepts_an_index_stored_by_pandas(tmp_path):
    """columns="all" refuses only columns without numbers."""
    pandas = pytest.importorskip("pandas")
    index = pandas.MultiIndex.from_arrays([[3, 1, 2, 5], [1, 1, 2, 2]], names=["u", "v"])
    frame = pandas.DataFrame(np.random.default_rng(0).standard_normal((4, 3)), index, list("abc"))
    frame.to_parquet(tmp_path / "index.parquet")
    table = read_table(tmp_path / "index.parquet", columns="all")
    assert PCA(2).fit(table).n_features_in_ == 3
    assert table.notes == ("left out the row index that pandas stored: u, v",)
