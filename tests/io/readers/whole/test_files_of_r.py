"""Files as R's write.csv and write.table write them."""

from __future__ import annotations

import pytest
from file_cases import refused

from princomp import read_table
from princomp.errors import MalformedFileError
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


def test_groups_are_not_read_from_a_table_with_two_readings(write):
    # An option for the rows says nothing on another column, which would be a wrong one.
    path = write("a;g;h\nx;4,8;u;\ny;2,8;v;\nz;3,9;u;\n")
    with pytest.raises(MalformedFileError, match="does the first one"):
        named_column(read_table(path, id_column="row"), "g")
    assert named_column(write(f";{path.read_text()}"), "g").tolist() == ["u", "v", "u"]
