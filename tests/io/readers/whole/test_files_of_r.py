"""Files as R's write.csv and write.table write them."""

from __future__ import annotations

import pytest
from file_cases import refused

from princomp import read_table
from princomp.errors import ColumnError, MalformedFileError
from princomp.io import named_column

SHIFTED = "a;b;c\n103;4,8;1,5;\n107;2,8;0,5;\n111;3,9;0,1;\n"


def contents(path, **options):
    """Names of columns and of rows, and the first row."""
    source = read_table(path, **options).open()
    (chunk,) = source.chunks()
    return source.columns, None if chunk.ids is None else list(chunk.ids), chunk.data[0].tolist()


def test_the_hint_on_rows_with_one_more_field_offers_readings_that_work(write):
    hint = refused(MalformedFileError, write(SHIFTED), find_ids=True).hint
    assert "id_column='row' where it names the rows, id_column=False where" in hint
    named = ("a", "b"), ["103", "107", "111"], [4.8, 1.5]
    unnamed = ("a", "b", "c"), None, [103, 4.8, 1.5]
    assert contents(write(SHIFTED), id_column="row") == named
    assert contents(write(SHIFTED), id_column=False) == unnamed
    assert contents(write(SHIFTED.replace("\n", ";\n", 1))) == unnamed
    text = SHIFTED.replace("\n1", "\nr")
    assert contents(write(f";{text}")) == (("a", "b"), ["r03", "r07", "r11"], [4.8, 1.5])


@pytest.mark.parametrize(
    "changed",
    [("107", "103"), ("103", "1,5"), ("a;", "id;")],
    ids=["repeated", "fraction", "column of names"],
)
def test_fields_that_name_no_rows_mean_a_separator_at_the_end(write, changed):
    assert contents(write(SHIFTED.replace(*changed)), columns=["b"])[2] == [4.8]


@pytest.mark.parametrize("sep", [",", ";", "\t", " "])
@pytest.mark.parametrize("name", ['l"un deux', 'inch"', '"all"', '1"2'])
def test_quotes_after_backslashes_are_refused(write, sep, name):
    escaped = name.replace('"', '\\"')
    rows = [[f'"{escaped}"', "1.5", "2"], ['"r 2"', "0.5", "3"], ['"r 3"', "2.5", "1"]]
    lines = ['"" "a" "b"'.replace(" ", sep), *map(sep.join, rows)]
    path = write("\n".join(lines) + "\n", "t.txt")
    error = refused(MalformedFileError, path)
    assert error.place["line"] == 2
    assert "line 2 has a quote after a backslash" in str(error)
    assert "qmethod='double'" in error.hint


@pytest.mark.parametrize(
    "name", ["C:\\", '{""x"": ""C:\\"", ""y"": ""z\\""}', 'G\\""odel', '\\""a, b']
)
def test_backslashes_before_doubled_quotes_and_at_ends_of_fields_are_text(write, name):
    path = write(f'"","a"\n"{name}",1.5\n"s",2.5\n"t",0.5\n')
    assert contents(path) == (("a",), [name.replace('""', '"'), "s", "t"], [1.5])


def test_a_note_names_the_columns_whose_numbers_alone_are_in_quotes(write):
    rows = ['"r, 1",1.5,2,"1"', '"r2",2.5,3,"2"', '"r3",4,1,NA', '"r4",0.5,3,"1"']
    text = "\n".join(['"","a","b","g"', *rows]) + "\n"
    note = "numbers of 'g' are in quotes, and others are not: if they are codes, leave them out"

    def has_note(text, **options):
        return any(note in found for found in read_table(write(text), **options).notes)

    assert has_note(text)
    assert not has_note(text, columns=["a", "g"])
    assert not has_note(text, exclude=["g"])
    assert not has_note(text.replace('"1"', "1"))
    # Numbers of a row may need quotes, and files may have all of them in quotes.
    assert not has_note(text.replace('"1"', '"1,000.5"'))
    assert not has_note('"","a","g"\n"r","1.5","1"\n"s","2.5","2"\n"t","0.5","1"\n')


@pytest.mark.parametrize(
    "cells", [["08:30:00", "9:15", "10:00:00.5"], ["36:00:00", "1 day, 2:00:00", "2 days, 0:00:00"]]
)
def test_times_leave_the_names_of_rows_to_another_column(write, cells):
    rows = [f'x{i},"{cell}",{i * i}.5' for i, cell in enumerate(cells)]
    path = write("\n".join(["nom,debut,a", *rows]) + "\n")
    assert contents(path) == (("a",), ["x0", "x1", "x2"], [0.5])
    assert contents(path, exclude=["nom"])[1] == cells


def test_a_first_column_without_a_name_that_other_files_lack_can_be_left_out(write):
    paths = [
        write('"","a","b"\n"1",1.5,2.1\n"2",2.7,0.3\n', "p1.csv"),
        write('"a","b"\n3.1,4.4\n0.2,2.9\n', "p2.csv"),
    ]
    with pytest.raises(ColumnError, match="missing: 'row'") as caught:
        read_table(paths).open()
    assert "exclude=['row'] leaves out 'row', as a first column without a name is" in str(
        caught.value
    )
    assert read_table(paths, exclude=["row"]).open().columns == ("a", "b")


def test_groups_are_not_read_from_a_table_with_two_readings(write):
    # An option for the rows says nothing on another column, which would be a wrong one.
    path = write("a;g;h\nx;4,8;u;\ny;2,8;v;\nz;3,9;u;\n")
    with pytest.raises(MalformedFileError, match="does the first one"):
        named_column(read_table(path, id_column="row"), "g")
    assert named_column(write(f";{path.read_text()}"), "g").tolist() == ["u", "v", "u"]
