"""Hints for cells that are not numbers name only what the kind of table allows."""

from __future__ import annotations

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from princomp import PCA, read_table
from princomp.errors import MalformedFileError, NotNumericError
from princomp.io.readers import files


def refused(table):
    with pytest.raises(NotNumericError) as caught:
        PCA().fit(table)
    return caught.value


def write_csv(folder, cells, sep=";"):
    path = folder / "rows.csv"
    lines = [f"height{sep}weight", *(f"{cell}{sep}{i * i % 7}.5" for i, cell in enumerate(cells))]
    path.write_text("\n".join(lines) + "\n")
    return path


def write_parquet(folder, cells):
    path = folder / "rows.parquet"
    pq.write_table(pa.table({"height": cells, "weight": [float(i) for i in range(8)]}), path)
    return path


DECIMAL_COMMAS = [f"{i},5" for i in range(8)]
ONE_WORD = [*(f"{i}.5" for i in range(7)), "unknown"]


def test_a_frame_with_decimal_commas_is_not_given_an_option_of_files():
    frame = pd.DataFrame({"height": DECIMAL_COMMAS, "weight": range(8)})
    assert "pandas.read_csv(…, decimal=',')" in refused(frame).hint


def test_a_typed_file_with_decimal_commas_is_not_given_an_option_of_text(tmp_path):
    hint = refused(write_parquet(tmp_path, DECIMAL_COMMAS)).hint
    assert "decimal comma" in hint
    assert "decimal=" not in hint


@pytest.mark.parametrize("make", ["frame", "parquet"])
def test_a_word_in_a_typed_table_is_not_answered_with_na(make, tmp_path):
    frame = pd.DataFrame({"height": ONE_WORD, "weight": range(8)})
    table = frame if make == "frame" else write_parquet(tmp_path, ONE_WORD)
    hint = refused(table).hint
    assert "na=" not in hint
    assert "NaN" in hint


def test_an_error_of_a_formula_may_be_called_missing(tmp_path):
    path = write_csv(tmp_path, [*ONE_WORD[:-1], "#DIV/0!"])
    hint = refused(path).hint
    assert hint.startswith("Correct the cell, say that it is missing")
    assert "na=['#DIV/0!']" in hint
    PCA(missing="drop").fit(read_table(path, na=["#DIV/0!"]))
    assert "na=" not in refused(write_parquet(tmp_path, [*ONE_WORD[:-1], "#DIV/0!"])).hint


def test_a_word_in_text_is_answered_with_na(tmp_path):
    path = write_csv(tmp_path, ONE_WORD)
    assert "na=['unknown']" in refused(path).hint
    PCA(missing="drop").fit(read_table(path, na=["unknown"]))


@pytest.mark.parametrize("ending", ["csv", "xlsx"])
def test_words_given_with_na_are_not_named_again(ending, tmp_path):
    cells = ["ND", "1.5", "?", "2.5", "3.5", "ND", "n.d.", "?", *map(str, range(9))]
    frame = pd.DataFrame({"height": cells, "weight": [i * i % 7 for i in range(len(cells))]})
    path = tmp_path / f"rows.{ending}"
    if ending == "csv":
        frame.to_csv(path, index=False)
    else:
        frame.to_excel(path, index=False)
    assert "na=['ND', '?', 'n.d.']" in refused(path).hint
    error = refused(read_table(path, na=["ND"]))
    assert error.place["row"] == 2
    assert "'?' is not a number (3 of its 15 nonempty cells are not)" in error.message
    assert "say that such words are missing (na=['ND', '?', 'n.d.'])" in error.hint
    table = read_table(path, na=["ND", "?", "n.d."])
    assert PCA(missing="drop").fit(table).n_dropped_ == 5


def test_many_different_words_are_not_all_listed(tmp_path):
    cells = [*map(str, range(20)), *(f"word{i}" for i in range(10))]
    assert "(na=['word0'])" in refused(write_csv(tmp_path, cells)).hint


def test_a_value_beyond_a_limit_among_words_is_named(tmp_path):
    path = write_csv(tmp_path, [*(f"{i}.5" for i in range(7)), "ND", "<0.5"])
    assert refused(path).hint.startswith(
        "A value beyond a detection limit is not missing: write a number for '<0.5', such as half "
        "the limit, say which words mean missing (na=['ND']), or exclude 'height'."
    )
    error = refused(read_table(path, na=["ND"]))
    assert error.place["row"] == 8
    assert "write a number, such as half the limit, or exclude" in error.hint


def test_a_word_in_angle_brackets_is_missing(tmp_path):
    path = write_csv(tmp_path, [*(f"{i}.5" for i in range(7)), "<none>"])
    assert "na=['<none>']" in refused(path).hint


@pytest.mark.parametrize("cell", ["<0.5", "> 100", "≤ 3", "<LOD"])
def test_a_value_below_a_detection_limit_is_not_called_missing(cell, tmp_path):
    cells = [*(f"{i}.5" for i in range(7)), cell]
    for table in (write_csv(tmp_path, cells), pd.DataFrame({"height": cells, "weight": range(8)})):
        hint = refused(table).hint
        assert "detection limit" in hint
        assert "na=" not in hint


@pytest.mark.parametrize("cell", ["1.0D+05", "12.5-"])
def test_a_number_in_another_notation_is_not_called_missing(cell, tmp_path):
    hint = refused(write_csv(tmp_path, [*(f"{i}.5" for i in range(7)), cell])).hint
    assert "write numbers as 1234.5 or 1.2e5, negative ones as -1" in hint
    assert "na=" not in hint


@pytest.mark.parametrize("cell", ["64,86*", "64.86a", "-5*", ".5?"])
def test_a_number_with_a_footnote_is_not_called_missing(cell, tmp_path):
    hint = refused(write_csv(tmp_path, [*(f"{i}.5" for i in range(7)), cell])).hint
    assert hint == "Correct the cell, or exclude 'height'."


@pytest.mark.parametrize(
    ("given", "cells"),
    [
        ({"decimal": ","}, [f"{i}.5" for i in range(8)]),
        ({"decimal": "."}, DECIMAL_COMMAS),
        ({"thousands": ","}, DECIMAL_COMMAS),
        ({"decimal": ",", "thousands": "."}, [f"{i},234.5" for i in range(1, 9)]),
    ],
)
def test_marks_that_do_not_fit_are_to_be_left_out(given, cells, tmp_path):
    path = write_csv(tmp_path, cells)
    path.write_text(path.read_text().replace(".5\n", "\n"))
    error = refused(read_table(path, **given))
    written = " and ".join(f"{name}={mark!r}" for name, mark in given.items())
    assert f"{cells[0]!r} is not a number with {written}" in error.message
    assert f"Leave {written} out" in error.hint
    # The heights go up in equal steps.
    with pytest.warns(UserWarning, match="'height', the first column, goes up"):
        model = PCA(scale="unit").fit(path)
    assert model.n_features_in_ == 2


def test_a_unit_in_a_column_without_units_is_described_without_empty_quotes(tmp_path):
    error = refused(write_csv(tmp_path, [*(f"{i}.5" for i in range(7)), "7.5 kg"]))
    assert "'7.5 kg' has a unit, and most cells of the column have none" in error.message


def test_advice_on_mixed_decimal_marks_can_be_followed(tmp_path):
    path = write_csv(tmp_path, DECIMAL_COMMAS)
    with pytest.raises(MalformedFileError) as caught:
        PCA().fit(path)
    assert "correct or exclude the columns with the other mark" in caught.value.hint
    assert not caught.value.hint.endswith("'.'.")  # "--decimal .." on the command line
    PCA().fit(read_table(path, decimal=",", exclude=["weight"]))
    PCA().fit(read_table(path, decimal=".", exclude=["height"]))


def test_identifiers_beyond_float64_are_left_out_as_the_hint_says(tmp_path):
    frame = pd.DataFrame({"a": [1.5, 2.5, 4.0], "b": [2.0, 1.0, 3.5], "key": 2**53 + 1})
    assert "leave the column out" in refused(frame).hint
    path = tmp_path / "rows.parquet"
    frame.to_parquet(path)
    assert "(id_column='key') or exclude=['key']" in refused(path).hint
    for option in ({"id_column": "key"}, {"exclude": ["key"]}):
        assert PCA().fit(read_table(path, **option)).n_features_in_ == 2


def test_a_requested_column_of_dates_is_not_called_text(tmp_path):
    path = tmp_path / "rows.parquet"
    pd.DataFrame({"a": [1.5, 2.5], "day": pd.Timestamp("2024-01-31")}).to_parquet(path)
    hint = refused(read_table(path, columns=["a", "day"])).hint
    assert hint.startswith("The column does not hold numbers: exclude 'day'")


@pytest.mark.parametrize(
    ("names", "outcome", "columns"),
    [
        (["u", "v", "w", "x"], "leaves it out", ("a", "b")),
        ([f"2024-01-{day}" for day in (11, 13, 12, 14)], "leaves it out", ("a", "b")),
        ([17, 4, 99, 3], "keeps it as data", ("id", "a", "b")),
    ],
)
def test_the_note_on_names_says_what_becomes_of_them_otherwise(names, outcome, columns, tmp_path):
    path = tmp_path / "rows.csv"
    pd.DataFrame({"id": names, "a": [1.5, 2, 4, 3], "b": [2, 7, 1, 8]}).to_csv(path, index=False)
    assert read_table(path).notes[0].endswith(f"; id_column=False {outcome}")
    assert read_table(path, id_column=False).open().columns == columns


@pytest.mark.parametrize("small", [False, True])
def test_a_line_that_repeats_the_names_is_to_be_deleted(small, tmp_path, monkeypatch):
    if not small:
        monkeypatch.setattr(files, "SMALL_FILE_BYTES", 0)
    path = write_csv(tmp_path, range(600))
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines, *lines]) + "\n")
    error = refused(str(path))
    assert "row 600 (line 602): 'height' is not a number" in error.message
    assert error.hint.startswith("If the line repeats the names of the columns")
    assert "na=" not in error.hint
