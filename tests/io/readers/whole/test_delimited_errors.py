"""Invalid CSV and TSV files are refused with row, line and value."""

from __future__ import annotations

import pytest
from file_cases import EXAMPLE, refused

from helpers import read_whole
from princomp import PCA, read_table
from princomp.errors import (
    ColumnError,
    MalformedFileError,
    NoRowsError,
    NotNumericError,
    ParameterError,
    ShapeError,
)
from princomp.io.readers.read_options import ReadOptions

DECIMAL_POINT = ReadOptions(decimal=".")


@pytest.mark.parametrize("content", ["", "\n\n", "a,b\n", "a,b", "a,b\n\n"])
def test_a_table_without_rows_is_refused(write, content):
    assert "no rows" in str(refused(NoRowsError, write(content)))


@pytest.mark.parametrize("options", [{"skip": 9}, {"skip_end": 9, "comment": ""}, {"comment": "#"}])
def test_a_table_whose_lines_are_all_left_out_is_not_called_empty(write, options):
    error = refused(ShapeError, write("#a,b\n#1,2\n"), options=ReadOptions(**options))
    name, value = next(iter(options.items()))
    assert f"all lines are left out: {name}={value!r}" in str(error)


def test_ragged_rows_are_refused_with_row_and_line(write):
    error = refused(MalformedFileError, write('a,b\n1,"2"\n"3\n",4\n\n5\n6,7\n'))
    assert error.place["row"] == 2
    assert error.place["line"] == 6
    assert "row 2 (line 6) has 1 field, but the first line names 2 columns" in str(error)


def test_lines_above_and_below_the_table_can_be_left_out_as_the_hint_says(write):
    for top, end, options, hint in (
        ("device,XR\nday,1\n", "", {"skip": 2}, "skip=2."),
        ("", "(3 rows)\n", {"skip_end": 1}, "skip_end=1 leaves out the last line"),
    ):
        path = write(f"{top}a,b,c\n1,2,5\n3,4,1\n6,2,2\n{end}")
        assert hint in refused(MalformedFileError, path).hint
        assert read_whole(path, options=ReadOptions(**options)).data.tolist()[0] == [1, 2, 5]


def test_ragged_rows_are_refused_in_the_middle_of_a_large_file(write):
    error = refused(MalformedFileError, write("a,b\n" + "1,2\n" * 300_000 + "1,2,3\n1,2\n"))
    assert error.place["row"] == 300000


def test_one_bad_cell_is_named_with_row_line_and_value(write):
    path = write("Murder,Rape\n" + "1,2\n" * 16 + "1,abc\n" + "1,3\n")
    error = refused(NotNumericError, path)
    assert "column 'Rape' row 16 (line 18): 'abc' is not a number" in str(error)
    assert "1 of its 18 nonempty cells is not" in str(error)
    assert error.place == {"file": str(path), "column": "Rape", "row": 16, "line": 18}


def test_the_line_is_right_after_quoted_line_ends_and_blank_lines(write):
    error = refused(NotNumericError, write('t,a\n"x\ny",1\n\n"z",2\n"w",b\n'))
    assert (error.place["row"], error.place["line"]) == (2, 6)


def test_a_bad_cell_late_in_a_large_file_is_found(write):
    row = f"0.{40 * '1'},2\n"  # the types of columns are those of the first megabyte
    error = refused(NotNumericError, write("a,b\n" + row * 30_000 + "1,oops\n"))
    assert (error.place["row"], error.place["column"]) == (30_000, "b")


def test_a_requested_text_column_is_refused():
    error = refused(NotNumericError, EXAMPLE, columns=["Murder", "State"])
    assert "column 'State' row 0 (line 2): 'Alabama' is not a number" in str(error)


def test_text_with_few_numbers_is_left_out(write):
    table = read_whole(write("remark,x\nfine,1\n12,2\nwet,3\ndry,4\n"))
    assert table.notes == ("left out 1 text column: remark",)


def test_dates_are_text(write):
    path = write("day,time,stamp,x\n2020-01-02,12:30,2020-01-02T10:00:00Z,1\n")
    assert read_whole(path).notes == (
        "left out 2 date columns: day, stamp",
        "left out 1 time column: time",
    )
    assert "'2020-01-02' is not" in str(refused(NotNumericError, path, columns=["day"]))


def test_a_decimal_comma_among_points_is_refused_with_a_hint(write):
    error = refused(NotNumericError, write('a,b\n"1,25",2\n2.5,3\n3.5,4\n'), options=DECIMAL_POINT)
    assert "'1,25' is not a number" in str(error)
    assert "decimal comma" in error.hint
    assert "Decimal commas" in refused(MalformedFileError, write("a,b\n1,5,2,3\n2,3\n3,4\n")).hint


def test_a_quote_that_is_never_closed_is_refused(write):
    for rest in ("3,4\n", "3,4\n" * 100_000):
        error = refused(MalformedFileError, write('a,s\n1,"x"\n2,"y\n' + rest))
        assert "a quote opened in line 3 is never closed" in str(error)
    # Inside a cell a single quote mark is text, such as inches.
    assert read_whole(write('a,s\n1,5" pipe\n2,"y"\n')).data[:, 0].tolist() == [1, 2]


def test_duplicate_names_are_refused(write):
    error = refused(ColumnError, write("a,b,a,c,c\n1,2,3,4,5\n"))
    assert "twice or more: a, c" in str(error)


@pytest.mark.parametrize("first", ["1,2", "1.5,,NA", "2019,2020", "site,2019,2020"])
def test_a_first_line_of_numbers_is_refused_where_it_may_hold_names(write, first):
    width = first.count(",")
    error = refused(MalformedFileError, write(f"{first}\n3{',4' * width}\n"))
    assert "first line holds numbers" in str(error)
    assert "header=True" in error.hint


def test_hints_about_options_say_where_to_set_them(write):
    path = write("2019,2020\n3,4\n5,7\n")
    for table in (path, read_table(path)):
        with pytest.raises(MalformedFileError, match=r"header=True.* read_table\(path, …\)\.$"):
            PCA().fit(table)
    with pytest.raises(MalformedFileError, match=r"where it is a row\.$"):
        PCA().fit(read_table(path, sep=","))


@pytest.mark.parametrize(
    "asked",
    [{"columns": ["1102", "1100"]}, {"exclude": ["date"]}, {"id_column": "sample"}],
    ids=["columns", "exclude", "id_column"],
)
def test_a_first_line_with_the_names_that_were_given_holds_names(write, asked):
    path = write("sample,date,1100,1102\na,2024-01-01,0.5,0.25\nb,2024-01-02,0.125,0.75\n")
    refused(MalformedFileError, path)
    table = read_whole(path, **asked)
    assert sorted(table.columns) == ["1100", "1102"]
    assert table.data.sum() == 1.625
    # A name that the line does not have says nothing about it.
    refused(MalformedFileError, path, columns=["1100", "1104"])


def test_a_text_that_is_not_in_the_requested_encoding_is_refused(write):
    error = refused(MalformedFileError, write("a,b\n1,2\n"), options=ReadOptions(encoding="utf-16"))
    assert "BOM" in str(error)


def test_cells_that_are_not_utf8_are_refused_with_their_line(write):
    text = "a,b\n1,x\n2,größe\n".encode("latin1")
    error = refused(MalformedFileError, write(text), options=ReadOptions(encoding="utf-8"))
    assert error.place["line"] == 3
    assert "encoding" in error.hint


def test_files_of_only_text_are_refused(write):
    error = refused(ShapeError, write("a,b\nx,y\n"))
    assert "no numeric column; without numbers: a, b" in str(error)


@pytest.mark.parametrize("value", ["9007199254740993", "-9007199254740993", "9" * 30, "1" * 5000])
def test_integers_that_would_lose_digits_are_refused(write, value):
    error = refused(NotNumericError, write(f"a,b\n1,1\n2,{value}\n"))
    assert error.place == {"file": error.place["file"], "column": "b", "row": 1, "line": 3}
    assert value in str(error)
    assert "2**53" in str(error)


@pytest.mark.parametrize(
    ("cells", "options"),
    [
        (["9007199254740993", "unknown", "5"], {"na": ("unknown",)}),
        (["9007199254740993 kg", "3 kg", "5 kg"], {}),
        (["9'007'199'254'740'993", "3", "5"], {}),
        (["9007199254740993", "NAN", "5"], {}),
    ],
    ids=["a word for missing cells", "a unit", "thousands", "another spelling of NaN"],
)
def test_integers_that_would_lose_digits_are_refused_however_they_are_written(
    write, cells, options
):
    path = write("a,b\n" + "".join(f"{cell},1\n" for cell in cells))
    error = refused(NotNumericError, path, options=ReadOptions(**options))
    assert f"the integer {cells[0]} is beyond 2**53" in str(error)


def test_large_integers_are_read_where_no_digit_is_lost(write):
    assert read_whole(write("a\n9007199254740992\n")).data[0, 0] == 2.0**53
    # A fraction or an exponent shows that the column holds rounded numbers anyway.
    assert read_whole(write("a\n1e300\n9007199254740993\n")).data[0, 0] == 1e300
    assert read_whole(write("a\n0.5\n9007199254740993\n")).data[1, 0] == 2.0**53
    path = write("a\n00000000000000000000001\n")
    assert read_whole(path, columns=["a"]).data[0, 0] == 1


def test_unknown_columns_are_refused_with_a_suggestion():
    error = refused(ColumnError, EXAMPLE, columns=["murder", "Rape"])
    assert "no column 'murder'" in str(error)
    assert error.hint.startswith("Did you mean 'Murder'? There are: State, Murder")
    assert "'x', 'y'" in str(refused(ColumnError, EXAMPLE, exclude=["x", "y"]))
    assert refused(ColumnError, EXAMPLE, id_column="Stat").place["column"] == "Stat"


def test_columns_with_two_roles_are_refused():
    refused(ColumnError, EXAMPLE, columns=["Rape"], exclude=["Rape"])
    refused(ColumnError, EXAMPLE, columns=["Rape", "State"], id_column="State")
    refused(ColumnError, EXAMPLE, columns=["Rape", "Rape"])
    assert read_whole(EXAMPLE, exclude=["State"], id_column="State").ids[0] == "Alabama"


def test_selecting_no_columns_is_refused():
    with pytest.raises(ParameterError, match="empty list"):
        read_whole(EXAMPLE, columns=[])
    everything = ["Murder", "Assault", "UrbanPop", "Rape"]
    refused(ShapeError, EXAMPLE, exclude=everything, id_column="State")


def test_a_title_filled_up_with_separators_asks_for_the_lines_to_skip(write):
    for blank, skip in (("", 1), (",,\n", 2)):
        path = write(f"Report of 2020,,\n{blank}a,b,c\n1,2,3\n2,3,5\n")
        error = refused(MalformedFileError, path)
        assert "line 1 has 1 filled field, and lines from" in str(error)
        assert f"skip={skip}" in error.hint
        assert read_whole(path, options=ReadOptions(skip=skip)).columns == ("a", "b", "c")
    # A first line with one empty name is not a title.
    assert read_whole(write("a,\n1,2\n2,3\n")).columns == ("a", "column 2")


ROWS_OF_INSTITUTES = "r0;14,2;84,1;75,8\nr1;13,1;80,4;70,2\nr2;15;81,5;79,9\nr3;11;88,2;71\n"


@pytest.mark.parametrize("names", ["n;a;b;c\n", ";a;b;c\n"])
@pytest.mark.parametrize(
    "top",
    [
        "Institut;Statistik;;\n;;;\n",
        "Bericht;2020;;\n",
        "2020;;;\n",
        ";;Bericht;\n;;;\n",
        "Bericht; Stand\nMai; Juni\n\n",
        "Bericht\nStand Mai\n\n",
        "Bericht;2020\nam;1.5.\n\n",
    ],
)
def test_lines_above_the_header_with_several_fields_are_left_out_as_the_hint_says(
    write, top, names
):
    path = write(top + names + ROWS_OF_INSTITUTES)
    error = refused(MalformedFileError, path)
    skip = top.count("\n")
    assert f"lines from {skip + 1} on have 4" in str(error)
    assert error.place["line"] == 1
    assert f"leave them out: skip={skip}." in error.hint
    table = read_whole(path, options=ReadOptions(skip=skip), id_column=None)
    assert table.columns == ("a", "b", "c")
    assert table.data[0].tolist() == [14.2, 84.1, 75.8]


def test_a_line_above_the_header_may_also_belong_to_the_names(write):
    path = write("name;Length;;\nid;min;max;mean\n" + ROWS_OF_INSTITUTES)
    assert "skip=1. header=2 joins both lines" in refused(MalformedFileError, path).hint
    table = read_whole(path, options=ReadOptions(header=2), id_column="name id")
    assert table.columns == ("Length min", "max", "mean")


@pytest.mark.parametrize("top", [";a;b;c\nu;cm;kg;m\n", "x;L;;W\nn;a;b;c\n", ";L;;\nn;a;b;c\n"])
def test_units_and_names_of_groups_are_no_lines_above_the_header(write, top):
    error = refused(MalformedFileError, write(top + ROWS_OF_INSTITUTES))
    assert "is it a second line of names or units?" in str(error)
    assert "skip=" not in error.hint


def test_blanks_between_the_fields_of_a_csv_file_ask_for_the_separator(write):
    for text in ("a b  c\n1 2  3\n2 3  5\n", "a b c\n100 200 300\n200 300 401\n"):
        path = write(text)
        error = refused(MalformedFileError, path)
        assert "sep=' '" in error.hint
        assert read_whole(path, options=ReadOptions(sep=" ")).columns == ("a", "b", "c")
    assert "no numeric column" in str(refused(ShapeError, write("first last\nAnna Bell\n")))


def test_a_separator_in_the_first_line_that_is_not_ascii_is_named(write):
    path = write("sep=§\na§b\n1§2\n3§4\n")
    error = refused(MalformedFileError, path)
    assert "line 1 sets the separator '§', which is not an ASCII character" in str(error)
    assert "Save the table with commas or tabs" in error.hint


@pytest.mark.parametrize("options", [{"exclude": ["name"]}, {"columns": ["a"]}])
def test_the_word_for_totals_may_be_in_a_column_that_is_left_out(write, options):
    rows = "".join(f"{name},{i},{i * i}\n" for i, name in enumerate("pqrstu"))
    path = write("name,a,b\n" + rows + "Mean,2.5,9\n")
    error = refused(MalformedFileError, path, **options)
    assert "row 6 (line 8), the last one, looks like totals ('Mean')" in str(error)
    assert read_whole(path, options=ReadOptions(skip_end=1), **options).rows == 6


def rows_of_items(cell="{i}", n=6):
    return "item,a,b\n" + "".join(f"n{i},{i}.5,{cell.format(i=i * i)}\n" for i in range(n))


@pytest.mark.parametrize("end", ["Total,1,1\n,,\n", "Sum,1,1\nMean,1,1\n", "Total,1,1\n,,\n,,\n"])
def test_the_hint_for_totals_counts_all_rows_to_leave_out(write, end):
    path = write(rows_of_items() + end)
    count = end.count("\n")
    error = refused(MalformedFileError, path)
    assert f"skip_end={count} leaves out the last {count} rows" in error.hint
    assert read_whole(path, options=ReadOptions(skip_end=count)).rows == 6
    # Fewer would leave totals among the data.
    for skipped in range(1, count):
        error = refused(MalformedFileError, path, options=ReadOptions(skip_end=skipped))
        assert "looks like totals" in str(error)
    assert read_whole(path, options=ReadOptions(skip_end=0)).rows > 6


@pytest.mark.parametrize(
    "word", ["Gesamtergebnis", "Gesamtsumme:", "Durchschnitt", "Total général"]
)
def test_totals_of_spreadsheets_in_other_languages_are_refused(write, word):
    assert word in str(refused(MalformedFileError, write(rows_of_items() + f"{word},1,1\n")))


@pytest.mark.parametrize("cell", ["{i} %", "{i}.5%", "{i} kg", "€{i}"])
@pytest.mark.parametrize("word", ["-", "unknown"])
def test_text_among_numbers_with_a_unit_is_refused(write, cell, word):
    text = rows_of_items(cell).replace("n3,3.5", f"n9,9.5,{word}\nn3,3.5")
    path = write(text)
    for options in ({}, {"columns": ["a", "b"]}):
        error = refused(NotNumericError, path, **options)
        assert f"column 'b' row 3 (line 5): {word!r} is not a number" in str(error)
        assert "1 of its 7 nonempty cells is not" in str(error)
        assert f"na=[{word!r}]" in error.hint
    assert read_whole(path, options=ReadOptions(na=[word])).columns == ("a", "b")


def test_text_with_some_quantities_is_still_left_out(write):
    path = write("a,b,note\n1,2,3 kg\n2,3,ask Ann\n4,4,none left\n5,7,5 kg\n2,2,see above\n")
    assert read_whole(path).columns == ("a", "b")


@pytest.mark.parametrize("options", [{}, {"columns": ["a", "b"]}])
def test_two_units_in_a_column_are_refused_also_if_it_was_asked_for(write, options):
    path = write(rows_of_items("{i} kg").replace("9 kg", "9000 g"))
    error = refused(NotNumericError, path, **options)
    assert "row 3 (line 5): '9000 g' is not in the unit of most cells, 'kg'" in str(error)
