"""Totals at the end of text, also with footnotes and other statistics around them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from command_line import ARRESTS
from helpers import read_whole
from princomp import PCA, read_table
from princomp.errors import MalformedFileError, NotFiniteError
from princomp.io.readers.read_options import ReadOptions

TEXT = Path(ARRESTS).read_text()
X = read_whole(ARRESTS).data
STATISTICS = {
    "Min": X.min(axis=0),
    "Max": X.max(axis=0),
    "SD": X.std(axis=0, ddof=1),
    "Std": X.std(axis=0),
    "n": [len(X)] * 4,
    "Anzahl": [len(X)] * 4,
    "Mittel": X.mean(axis=0),
}
ANY = [1, 1, 1, 1]
FOOTNOTES = ",,,,\nSource: R datasets,,,,\n"


def line(word, numbers):
    return ",".join([word, *(f"{x:.4g}" for x in numbers)]) + "\n"


def write(folder, end, text=TEXT):
    path = folder / "t.csv"
    path.write_text(text + end, encoding="utf-8")
    return path


def refused(path, **options):
    with pytest.raises(MalformedFileError, match="looks like totals") as caught:
        read_whole(path, **options)
    return caught.value


def statistic(*words):
    return "".join(line(word, STATISTICS[word]) for word in words)


ENDS = {
    "footnotes": line("Total", ANY) + FOOTNOTES,
    "mean and SD": line("Mean", X.mean(axis=0)) + line("SD", X.std(axis=0)),
    "statistics": statistic("n", "Min") + line("Mean", ANY) + statistic("SD", "Max"),
    "wrong statistics below": line("Mean", ANY) + line("SD", ANY) + line("Max", ANY),
    "footnotes between": line("Total", ANY) + "Means:,,,,\n" + statistic("Mittel") + ",,,,\n",
    "a number of rows": line("Total (n=8)", ANY),
}


@pytest.mark.parametrize("case", ENDS)
@pytest.mark.parametrize("columns", [None, ["Murder", "Rape"]])
def test_totals_are_found_above_footnotes_and_other_statistics(tmp_path, case, columns):
    end = ENDS[case]
    path = write(tmp_path, end)
    count = len(end.splitlines())
    error = refused(path, columns=columns)
    out = "it out" if count == 1 else f"out the last {count} rows"
    assert f"skip_end={count} leaves {out}, " in error.hint
    rows = read_whole(path, columns=columns, options=ReadOptions(skip_end=count))
    assert rows.rows == 50
    # Fewer leave totals among the rows.
    for skipped in range(1, count):
        with pytest.raises(MalformedFileError, match="looks like totals"):
            read_whole(path, columns=columns, options=ReadOptions(skip_end=skipped))


def test_sums_without_a_word_are_found_above_footnotes(tmp_path):
    end = "," + ",".join(map(repr, X.sum(axis=0).tolist())) + "\n" + FOOTNOTES
    error = refused(write(tmp_path, end))
    assert "row 50 (line 52), followed by 2 more rows, looks like totals" in error.message
    assert "skip_end=3 " in error.hint


@pytest.mark.parametrize("word", ["Ø", "Σ", "Razem", "Всего", "Std. Dev.", "Standard deviation"])
def test_a_word_that_is_no_name_is_enough(tmp_path, word):
    assert f"({word!r})" in refused(write(tmp_path, line(word, ANY))).message


@pytest.mark.parametrize("word", STATISTICS)
def test_a_word_that_may_be_a_name_needs_the_numbers_that_it_says(tmp_path, word):
    assert f"({word!r})" in refused(write(tmp_path, statistic(word))).message
    person = write(tmp_path, line(word, X[7]))
    assert read_whole(person).rows == 51


def test_a_name_above_totals_is_not_left_out(tmp_path):
    path = write(tmp_path, line("Max", ANY) + line("Total", ANY))
    assert "skip_end=1 leaves it out" in refused(path).hint
    assert read_whole(path, options=ReadOptions(skip_end=1)).rows == 51


def test_totals_are_found_among_decimal_commas(tmp_path):
    text = TEXT.replace(",", ";").replace(".", ",")
    end = line("Min", STATISTICS["Min"]) + line("Mean", ANY) + "Source: R,,,,\n"
    path = write(tmp_path, end.replace(",", ";").replace(".", ","), text)
    assert "skip_end=3 " in refused(path).hint


def test_totals_are_found_above_footnotes_of_a_large_file(tmp_path, monkeypatch):
    monkeypatch.setattr("princomp.io.readers.files.SMALL_FILE_BYTES", 0)
    monkeypatch.setattr("princomp.io.readers.delimited_stream.HEAD_BYTES", 512)
    path = write(tmp_path, line("Total", ANY) + line("Max", ANY) + FOOTNOTES)
    error = refused(path)
    assert "the row before the last 3 looks like totals ('Total')" in error.message
    assert "skip_end=4 " in error.hint


@pytest.mark.parametrize("end", [FOOTNOTES, f"{FOOTNOTES},,,,\n", ",,,,\nNotes,,,,\n\n"])
def test_footnotes_are_named_in_the_error_about_missing_cells(princomp, tmp_path, end):
    path = write(tmp_path, end)
    count = len(end.splitlines())
    with pytest.raises(NotFiniteError) as caught:
        PCA(scale="unit").fit(path)
    hint = f"skip_end={count} of read_table leaves out the last 2 rows"
    assert caught.value.hint == f"{hint}, which have no number"
    rows = read_table(path, skip_end=count)
    found, expected = (PCA(scale="unit").fit(X).components_ for X in (rows, ARRESTS))
    assert np.array_equal(found, expected)
    hint = f"--skip-end {count} leaves out the last 2 rows, which have no number"
    assert hint in princomp("fit", path).err


def test_incomplete_rows_elsewhere_are_left_out_otherwise(tmp_path):
    for end in (f"x,1,,3,4\n{FOOTNOTES}", f"{FOOTNOTES}x,1,2,3,4\n", "x,1,,3,4\n"):
        with pytest.raises(NotFiniteError) as caught:
            PCA().fit(write(tmp_path, end))
        assert "missing='drop'" in caught.value.hint


@pytest.mark.parametrize(
    "word", ["Basis (n)", "Base", "Base: all states", "N=50", "n = 50", "Basis"]
)
def test_numbers_of_rows_are_found(tmp_path, word):
    assert f"({word!r})" in refused(write(tmp_path, line(word, [50] * 4))).message
    assert read_whole(write(tmp_path, line(word, [50, 51, 50, 48]))).rows == 51


def test_a_row_of_means_without_a_word_is_found(tmp_path):
    exact = "All," + ",".join(map(repr, X.mean(axis=0).tolist())) + "\n"
    assert "skip_end=1 " in refused(write(tmp_path, exact)).hint


@pytest.mark.parametrize(
    "rows",
    [
        "1,2\n3,4\n2,3\n1,2\n3,4\n2,3\n1,2\n3,4\n2,3\n",  # a design with its centre
        "1,2\n3,4\n5,3\n3,3\n",  # few rows
    ],
)
def test_a_row_at_the_mean_may_be_data(tmp_path, rows):
    path = tmp_path / "t.csv"
    path.write_text(f"a,b\n{rows}")
    assert read_whole(path).rows == len(rows.splitlines())


def test_totals_in_the_first_row_are_refused(tmp_path):
    head, rest = TEXT.split("\n", 1)
    path = write(tmp_path, "", f"{head}\n{line('Total', ANY)}{rest}")
    error = refused(path)
    assert "row 0 (line 2), the first one, looks like totals ('Total')" in error.message
    assert (
        error.hint == "Delete the line if it is not data; skip_end=0 accepts all such rows as data."
    )
    assert read_whole(path, options=ReadOptions(skip_end=0)).rows == 51
