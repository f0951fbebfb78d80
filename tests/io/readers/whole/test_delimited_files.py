"""CSV and TSV files read whole: cells, names and ids."""

from __future__ import annotations

import gzip
import os

import numpy as np
import pytest
from file_cases import EXAMPLE, refused

import princomp
from helpers import read_whole
from princomp import PCA
from princomp.errors import MalformedFileError, NotNumericError, ParameterError
from princomp.io.readers.columns import ALL_COLUMNS, Selection
from princomp.io.readers.delimited_stream import open_delimited
from princomp.io.readers.files import open_source
from princomp.io.readers.read_options import ReadOptions


def test_the_example_is_read_and_its_text_column_left_out_with_a_note():
    table = read_whole(EXAMPLE)
    assert table.columns == ("Murder", "Assault", "UrbanPop", "Rape")
    assert table.data.shape == (50, 4)
    assert table.data.dtype == np.float64
    assert table.data[0].tolist() == [13.2, 236, 58, 21.2]
    assert table.notes == ("left out 1 text column: State",)
    assert table.file == str(EXAMPLE)
    assert table.ids is None


def test_the_id_column_names_the_rows():
    table = read_whole(EXAMPLE, id_column="State")
    assert table.ids[:2].tolist() == ["Alabama", "Alaska"]
    assert table.id_column == "State"
    assert table.notes == ()


def test_ids_keep_their_text(write):
    path = write("code,x\n007,1\nNA,2\n,3\n 1.50 ,4\n")
    assert read_whole(path, id_column="code").ids.tolist() == ["007", "NA", None, " 1.50 "]


def test_ids_keep_their_text_when_types_are_guessed_wrongly(write):
    note = f"0.{80 * '1'}"  # the types of columns are those of the first megabyte
    rows = "".join(f"{i:06},{i},{note}\n" for i in range(25_000))
    path = write("code,x,note\n" + rows + "007,2,end\n")
    table = read_whole(path, id_column="code", exclude=["note"])
    assert table.ids[-1] == "007"
    assert table.ids[3] == "000003"
    assert "'end' is not a number" in str(refused(NotNumericError, path, id_column="code"))


def test_columns_are_read_in_the_requested_order():
    table = read_whole(EXAMPLE, columns=["Rape", "Murder"])
    assert table.columns == ("Rape", "Murder")
    assert table.data[0].tolist() == [21.2, 13.2]


def test_excluded_columns_are_not_read():
    assert read_whole(EXAMPLE, exclude=["Rape", "State"]).columns == (
        "Murder",
        "Assault",
        "UrbanPop",
    )


def test_missing_cells_are_nan_and_infinite_ones_stay(write):
    table = read_whole(write('a,b\n1,\nNA,2\n"",nan\nn/a,-inf\n null ,4\n'))
    np.testing.assert_array_equal(
        table.data, [[1, np.nan], [np.nan, 2], [np.nan] * 2, [np.nan, -np.inf], [np.nan, 4]]
    )


def test_an_empty_column_is_left_out_unless_requested(write):
    path = write("a,b\n1,\n2,\n")
    table = read_whole(path)
    assert table.columns == ("a",)
    assert table.notes == ("left out 1 empty column: b",)
    assert np.isnan(read_whole(path, columns=["a", "b"]).data[:, 1]).all()


@pytest.mark.parametrize("text", ["1", "+1.5", "-.5e-3", "5.", "1E5", " 7 ", "1e400", "TRUE"])
def test_numbers_may_be_written_in_these_ways(write, text):
    expected = 1.0 if text == "TRUE" else float(text)
    assert read_whole(write(f"a,b\n{text},1\n"), columns=["a"]).data[0, 0] == expected
    # The same if the type guessed from the first rows fails and cells are converted one by one.
    other = "FALSE" if text == "TRUE" else "0"
    table = read_whole(write(f"a,b,c\n{text},1,x\n" + f"{other},1,7\n" * 300_000), columns=["a"])
    assert table.data[0, 0] == expected


def test_numbers_are_rounded_correctly(write):
    x = np.random.default_rng(0).integers(0, 2**64, 20_000, dtype=np.uint64).view(np.float64)
    x = x[np.isfinite(x)]
    path = write("a\n" + "\n".join(map(repr, x.tolist())) + "\n")
    assert read_whole(path).data[:, 0].tobytes() == x.tobytes()


def test_a_fraction_after_many_integers_is_read(write):
    table = read_whole(write("a,b\n" + "1,2\n" * 300_000 + "1.5,2\n"))
    assert table.data[-1, 0] == 1.5


def test_a_number_after_many_empty_cells_is_read(write):
    assert read_whole(write("a,b\n" + ",2\n" * 600_000 + "1.5,2\n")).data[-1, 0] == 1.5


def test_booleans_are_the_same_however_they_are_read(write):
    path = write("a,b\ntrue,1\nfalse,2\n")
    assert read_whole(path).notes == ("left out 1 true/false column: a",)
    few = read_whole(path, columns=["a", "b"])
    many = read_whole(write("a,b,c\n" + "true,1,1\n" * 200_000 + "false,1,z\n"), columns=["a"])
    assert few.data[:, 0].tolist() == [1, 0]
    assert many.data[[0, -1], 0].tolist() == [1, 0]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
def test_byte_order_marks_and_line_ends_of_every_kind_are_understood(write, end, bom):
    text = end.join(["", "größe,b", "1,2", "", "3,4"])
    table = read_whole(write(bom + text.encode()))
    assert table.columns == ("größe", "b")
    assert table.data.tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("top", [["title", "x"], ["# one", "# two"], ["sep=,"]])
def test_lines_are_left_out_with_every_kind_of_line_end(write, end, top):
    options = ReadOptions(skip=2 if top[0] == "title" else None)
    name = "q#\rr" + 80 * "x"  # two megabytes, more than are read at once
    text = end.join([*top, "a,b,s", *[f'1,2,"{name}"', "3,4,t"] * 20_000, ""])
    table = read_whole(write(text), options=options, id_column="s")
    assert table.columns == ("a", "b")
    assert table.data[-2:].tolist() == [[1, 2], [3, 4]]
    assert (len(table.data), table.ids[0]) == (40_000, name)


def test_a_file_name_need_not_be_utf8(write):
    assert read_whole(write("a\n1\n2\n", os.fsdecode(b"b\xff.csv"))).data.tolist() == [[1], [2]]


def test_quoted_line_ends_delimiters_and_names_are_understood(write):
    table = read_whole(write('"a\nz","x, y",s\n1,"2","q\nr"\n3,4,"a,b"\n'))
    assert table.columns == ("a\nz", "x, y")
    assert table.data.tolist() == [[1, 2], [3, 4]]


def test_quoted_line_ends_at_the_borders_of_blocks_split_no_row(write):
    rows = "".join(f'{i},"x\ny{"z" * (i % 7)}"\n' for i in range(200_000))
    table = read_whole(write("a,s\n" + rows))
    assert table.data[:, 0].tolist() == list(range(200_000))


def test_rows_wider_than_a_block_are_read(write):
    p = 2_000
    row = ",".join(["0." + "123456789" * 70] * p)
    table = read_whole(write(",".join(f"c{j}" for j in range(p)) + f"\n{row}\n{row}\n"))
    assert table.data.shape == (2, p)


def test_an_empty_name_is_replaced(write):
    table = read_whole(write(",a, b ,,\n1,2,3,4,5\n"))
    assert table.columns == ("row", "a", "b", "column 4", "column 5")


@pytest.mark.parametrize("ending", [".csv", ".CSV.gz", ".tsv", ".tsv.gz"])
def test_delimited_files_may_be_tabbed_and_compressed(write, ending):
    text = "a,b\n1,2\n".replace(",", "\t" if "tsv" in ending else ",").encode()
    path = write(gzip.compress(text, mtime=0) if "gz" in ending else text, "t" + ending)
    assert read_whole(path).data.tolist() == [[1, 2]]


@pytest.mark.parametrize("blank", [" ", "\u00a0", "\u202f"])
def test_blanks_before_three_digits_show_a_decimal_comma(write, blank):
    text = "a;b\n1 234,5;2\n2 345,1;4\n3 111,0;1\n".replace(" ", blank)
    table = read_whole(write(text))
    assert table.columns == ("a", "b")
    assert table.data[:, 0].tolist() == [1234.5, 2345.1, 3111]
    assert "numbers have decimal commas" in table.notes
    text = "a,b\n1 234.5,2\n2 345.1,4\n".replace(" ", blank)
    assert read_whole(write(text)).data[:, 0].tolist() == [1234.5, 2345.1]


@pytest.mark.parametrize("word", ["ınf", "İNF", "ınfınıty"])
def test_words_that_are_infinite_only_in_turkish_are_text(write, word):
    path = write(f"s,x,y\n{word},1,2\nb,3,4\n{word},5,7\n")
    assert read_whole(path).columns == ("x", "y")
    assert f"'{word}' is not a number" in str(refused(NotNumericError, path, columns=["s", "x"]))


def test_the_minus_sign_of_unicode_is_read(write):
    table = read_whole(write("a,b,c\n\u22121.5,2,\u22123 kg\n2,\u22121e\u22122,4 kg\n"))
    assert table.data.tolist() == [[-1.5, 2, -3], [2, -0.01, 4]]


@pytest.mark.parametrize("text", ["zip,x\n99999,1\n01234,2\n", 'x,zip\r\n1,"01234"\r\n2,7\r\n'])
def test_codes_with_leading_zeros_are_refused_unless_selected(write, text):
    path = write(text)
    with pytest.raises(NotNumericError, match="'01234' begins with 0, as codes do") as caught:
        read_whole(path)
    assert caught.value.place["column"] == "zip"
    assert caught.value.place["line"]
    assert "exclude=['zip'] leaves" in caught.value.hint
    assert read_whole(path, exclude=["zip"]).columns == ("x",)
    assert "01234" in read_whole(path, id_column="zip").ids
    assert 1234 in read_whole(path, columns=["zip", "x"]).data


@pytest.mark.parametrize(
    "cells", [["0", "10"], ["0.5", "00.5"], ["-05", "7"], ["0", "-0"], ["0000", "5"]]
)
def test_other_cells_with_leading_zeros_are_numbers(write, cells):
    table = read_whole(write("a,b\n" + "".join(f"{cell},1\n" for cell in cells)))
    assert table.data[:, 0].tolist() == [float(cell) for cell in cells]


def test_skipped_last_rows_do_not_count_as_codes(write):
    def fitted(text):
        return PCA(1).fit(princomp.read_table(write(text), skip_end=1))

    assert fitted("x,y\n5,1\n7,2\n01,9\n").n_samples_ == 2
    with pytest.raises(NotNumericError, match="beyond 2"):
        fitted(f"key,y\n{10**19},1\n{10**19 + 1},2\nTotal,9\n")


def test_many_blank_lines_are_searched_for_codes_in_linear_time(write):
    assert len(read_whole(write("x,y\n5,1\n7,2\n" + 300_000 * "\n")).data) == 2


@pytest.mark.parametrize(
    ("codes", "values"),
    [
        (["192.168.100.101", "192.168.100.102"], [1.125, 1.25]),
        (["123.456.781", "123.456.782"], [1.5, 1.25]),
    ],
    ids=["addresses", "part numbers beside plain fractions"],
)
def test_codes_with_points_say_nothing_about_numbers(write, codes, values):
    rows = "".join(f"{code},{x},7\n" for code, x in zip(codes * 3, values * 3, strict=True))
    table = read_whole(write("code,x,y\n" + rows))
    assert table.columns == ("x", "y")
    assert table.data[:2].tolist() == [[values[0], 7], [values[1], 7]]


def test_points_that_separate_thousands_in_their_column_do_in_all(write):
    table = read_whole(write("a;b\n1.234.567;1.125\n1.234;2\n"))
    assert table.data.tolist() == [[1234567, 1125], [1234, 2]]
    table = read_whole(write("a;b\n1.234.567;1\n2.234.567;2\n"))
    assert table.data.tolist() == [[1234567, 1], [2234567, 2]]


def test_points_that_may_separate_thousands_are_refused(write):
    error = refused(MalformedFileError, write("part,x\n123.456.781,1.125\n123.456.782,1.375\n"))
    assert "line 2: '1.125' may be 1.125 or 1125" in str(error)


def test_codes_that_begin_with_zero_decide_nothing(write):
    table = read_whole(write("part;x\n0.123.456;1,5\n0.123.457;2,25\n"))
    assert table.columns == ("x",)
    assert table.data.tolist() == [[1.5], [2.25]]
    assert read_whole(write("x;y\n0,123;1\n0,456;2\n")).data[0].tolist() == [0.123, 1]


@pytest.mark.parametrize(("mark", "sep"), [(".", ";"), (",", "\t")])
def test_the_hint_on_unclear_marks_gives_both_readings(write, mark, sep):
    path = write(f"a{sep}b\n1{mark}234{sep}2\n2{mark}345{sep}1\n")
    hint = refused(MalformedFileError, path).hint
    assert f"decimal={mark!r} reads 1.234, thousands={mark!r} reads 1234" in hint
    for option, expected in (("decimal", 1.234), ("thousands", 1234)):
        table = read_whole(path, options=ReadOptions(**{option: mark}))
        assert table.data[0].tolist() == [expected, 2]


@pytest.mark.parametrize("code", ["1,5", "1,234,567", "123.456.789", "192.168.100.101"])
def test_numeric_cells_of_workbooks_do_not_depend_on_cells_of_text(tmp_path, code):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (["code", "x", "y"], [code, 1.125, 7], [code, 1.25e-7, 8], [code, 1.5, 1234567]):
        book.active.append(row)
    book.save(tmp_path / "t.xlsx")
    table = read_whole(tmp_path / "t.xlsx", columns=["x", "y"])
    assert table.data.tolist() == [[1.125, 7], [1.25e-7, 8], [1.5, 1234567]]
    error = refused(ParameterError, tmp_path / "t.xlsx", options=ReadOptions(sheet="²"))
    assert "no sheet '²'" in str(error)


def test_messages_name_the_row_of_a_sheet(tmp_path):
    book = pytest.importorskip("openpyxl").Workbook()
    for row in (["x", "y"], *([i, i * i] for i in range(200))):
        book.active.append(row)
    book.save(tmp_path / "t.xlsx")
    assert [read_whole(tmp_path / "t.xlsx").place_of(row).line for row in (0, 150)] == [2, 152]


def test_only_line_ends_end_a_line(write):
    path = write("t;x;y\n" + "".join(f"a\u2028b\x0c{i};{i},5;{i * i},25\n" for i in range(9)))
    assert read_whole(path).data.tolist() == [[i + 0.5, i * i + 0.25] for i in range(9)]


def test_cells_may_be_longer_than_the_usual_limit_of_the_csv_module(write):
    text = "n;x;y\n" + "".join(f'"{i * 140_000 * "a"}";{i};2,5\n' for i in range(3))
    assert read_whole(write(text)).data.tolist() == [[0, 2.5], [1, 2.5], [2, 2.5]]
    path = write(text + "sum;0;0\n")
    assert read_whole(path, options=ReadOptions(skip_end=1)).data.shape == (3, 2)


def test_rows_at_the_end_are_empty_only_if_all_columns_of_the_file_are(write):
    path = write("x,y,z\n1,2,a\n3,4,b\n5,7,b\n,,c\nNA,,\n,,\n")
    for request in ({"columns": ["x", "y"]}, {"exclude": ["z"]}, {}):
        table = read_whole(path, **request)
        assert len(table.data) == 5
        assert "left out 1 empty row at the end" in table.notes
    chunked = open_delimited(path, ALL_COLUMNS, delimiter=",", compression=None)
    assert sum(len(chunk.data) for chunk in chunked.chunks()) == 5


def test_a_column_without_cells_and_name_names_no_rows(write):
    path = write(",name,x,y\n,a,1,2.5\n,b,2,3.5\n,c,4,1.5\n")
    table = open_source(path, Selection(find_ids=True))
    assert table.columns == ("x", "y")
    assert table.ids.tolist() == ["a", "b", "c"]
    assert "left out 1 empty column: row" in table.notes


def test_an_excluded_column_that_is_given_as_a_number_does_not_name_the_rows(write):
    path = write("7,a,b\nu,1,2\nv,3,4.5\nw,5,7\n")
    assert open_source(path, Selection(find_ids=True)).id_column == "7"
    assert open_source(path, Selection(exclude=[7], find_ids=True)).id_column is None


@pytest.mark.parametrize("first", ["id", "key"])
def test_text_names_the_rows_where_a_first_column_of_any_name_is_excluded(write, first):
    path = write(f"{first},name,x,y\n7,a,1,2\n5,b,3,4.5\n9,c,5,7\n2,d,1,1\n")
    table = open_source(path, Selection(exclude=[first], find_ids=True))
    assert table.ids.tolist() == ["a", "b", "c", "d"]
    assert table.columns == ("x", "y")


def test_a_column_named_by_a_number_sign_is_no_comment(write):
    path = write("#,name,group,x\n1,a,u,1.5\n2,b,v,2.5\n3,c,v,1.25\n")
    table = read_whole(path)
    assert table.columns == ("#", "x")
    assert table.data.tolist() == [[1, 1.5], [2, 2.5], [3, 1.25]]


@pytest.mark.parametrize("top", ["", "# made by hand, in May\n# for us\n\n"])
def test_a_line_of_names_may_begin_with_a_number_sign(write, top):
    for names, rows, x in (
        ("#gene\tclass\tx", "a\tu\t5\nb\tv\t7\nc\tw\t1\n", [5, 7, 1]),
        ("#OTU ID\tx\ty", "a\t0.5\t1.5\nb\t0.25\t2\nc\t1.5\t1\n", [0.5, 0.25, 1.5]),
        ("# of items\tx", "1\t1.5\n3\t2.5\n2\t7\n", [1.5, 2.5, 7]),
    ):
        path = write(f"{top}{names}\n{rows}", "t.tsv")
        assert read_whole(path, columns=["x"]).data[:, 0].tolist() == x
        table = read_whole(path, options=ReadOptions(comment="#", header=0))
        assert table.columns[-1] in ("x1", "x2")


@pytest.mark.parametrize("top", ["", "# a note\n"])
def test_a_first_row_of_mostly_text_is_not_taken_for_names(write, top):
    rows = "s1,oak,A,1.5,2.5\ns2,ash,A,1.5,2.75\ns3,oak,B,1.75,2.5\n"
    table = read_whole(write(top + rows), id_column="x0")
    assert table.columns == ("x3", "x4")
    assert table.ids.tolist() == ["s1", "s2", "s3"]
    assert any("the first line holds numbers, so it is a row" in note for note in table.notes)
    path = write(top + rows.replace("oak,A,1.5", "elm,C,1.5"))
    assert "or is it the first row?" in str(refused(MalformedFileError, path))


@pytest.mark.parametrize(
    "rows",
    [
        "south,coast,a,13,236\nwest,coast,b,10,263\nwest,inland,c,8,120\n",
        "u,south,a,39,77516,13\nv,west,b,50,83311,13\nw,north,c,38,215646,9\n",
        "u,v,w,x,y,7,7\na,b,c,d,e,5,6\nf,g,h,i,j,8,2\n",
        "40 kg,38 %\n15 kg,42 %\n,25 %\n",
        "a,$3\nb,$4\nc,$4\n",
    ],
)
def test_a_first_row_without_fractions_is_not_lost(write, rows):
    assert "or is it the first row?" in str(refused(MalformedFileError, write(rows)))


def test_columns_may_be_named_by_numbers_and_more_text(write):
    path = write("site,type,unit,1990,1991.5\na,u,m,1,2.5\nb,v,m,2,3\n")
    assert "or is it the first row?" in str(refused(MalformedFileError, path))
    path = write("site,type,unit,1990,1991\na,u,m,1,2.5\nb,v,m,2,3\n")
    assert read_whole(path).columns == ("1990", "1991")
    path = write("site,type,unit,age,1991.5\na,u,m,1,2.5\nb,v,m,2,3\n")
    assert read_whole(path).columns == ("age", "1991.5")


@pytest.mark.parametrize(
    "text",
    [
        "x,y\n-999,1\n-999.0,2.5\n-9.99e2,-999\n-998,\u2212999.00\n",
        "x;y\n-999;1,5\n-999,0;2,5\n-9,99e2;-999\n-998;-999,00\n",
        "x,y\n-999,1\n-999.0 kg,2.5\n-9.99e2 kg,-999\n-998 kg,-999\n",
    ],
)
def test_a_number_that_means_a_missing_cell_does_so_however_it_is_written(write, text):
    path, options = write(text), ReadOptions(na=("-999",))
    missing = [[True, False], [True, False], [True, True], [False, True]]
    assert np.isnan(read_whole(path, options=options).data).tolist() == missing
    selection = Selection(options=options)
    chunked = open_delimited(path, selection, delimiter=",", compression=None)
    (chunk,) = chunked.chunks()
    assert np.isnan(chunk.data).tolist() == missing


def test_numbers_with_separated_thousands_do_not_begin_with_zero(write):
    rows = "".join(f"a{i};{i},5;{i}.234,5\n" for i in range(1, 600))
    error = refused(NotNumericError, write(f"name;x;y\n{rows}b;0.125;1\n"))
    assert "'0.125' is not a number" in str(error)
    telephones = "".join(f"030 123 4{i};{i * i},5;{i}\n" for i in range(10, 20))
    assert read_whole(write("telephone;x;y\n" + telephones)).columns == ("x", "y")


def test_names_may_be_longer_than_a_block_of_pyarrow(write):
    names = [f"{j}{'n' * 2**18}" for j in range(5)]
    table = read_whole(write(f"{','.join(names)}\n1,2,3,4,5\n6,7,8,9,1\n"))
    assert table.columns == tuple(names)
    assert table.data.tolist() == [[1, 2, 3, 4, 5], [6, 7, 8, 9, 1]]


@pytest.mark.parametrize("bom", ["", "\ufeff"])
@pytest.mark.parametrize("sep", [",", "]", "\\", "^"])
def test_quotes_are_found_after_any_separator_and_a_byte_order_mark(write, sep, bom):
    lines = [f'{bom}"a{sep}"', "name", "b"], ["1", f'"5"" {sep}"', "2"], ["3", '6" x', "4"]
    table = read_whole(write("\n".join(map(sep.join, lines))), options=ReadOptions(sep=sep))
    assert table.columns == (f"a{sep}", "b")
    assert table.data.tolist() == [[1, 2], [3, 4]]


def test_decimal_commas_between_blanks_are_no_separators(write):
    text = "x y\n1 2,5\n2 3,25\n3 4,125\n"
    assert "may be separated by spaces" in str(refused(MalformedFileError, write(text)))
    for lines in (text, text.replace("x y\n", "")):
        data = read_whole(write(lines, "t.txt"), options=ReadOptions(header=lines == text)).data
        assert data.tolist() == [[1, 2.5], [2, 3.25], [3, 4.125]]
    numbered = "item 1,5\nitem 2,7\nitem 3,9\n"
    for name in ("t.csv", "t.txt"):
        error = refused(MalformedFileError, write(numbered, name))
        assert "separated by spaces (2 columns), not by commas" in str(error)
    named = "name x\nu 2,5\nv 3,5\nw 4,5\n"
    assert read_whole(write(named, "t.txt")).data.tolist() == [[2.5], [3.5], [4.5]]
    grouped = "x,y\n1 234,u\n2 345,v\n3 456,u\n"
    assert read_whole(write(grouped, "t.txt")).data.tolist() == [[1234], [2345], [3456]]


def test_columns_may_be_named_by_percentages(write):
    for rows in ("a,1,2\nb,3,4.5\nc,5,7\n", "a,1%,2%\nb,3%,4.5%\nc,5%,7%\n"):
        table = read_whole(write(f"n,25%,75%\n{rows}"))
        assert table.columns == ("25%", "75%")


@pytest.mark.parametrize(
    "names", ["sample,treatment,plate,well,450,630,570", "site,soil,crop,lab,1990,1991,NA"]
)
def test_columns_after_text_may_be_named_by_whole_numbers(write, names):
    table = read_whole(write(f"{names}\na,x,u,v,1.5,2,3\nb,y,u,w,2.5,1,4\nc,z,u,v,3,4,1\n"))
    assert list(table.columns) == names.split(",")[4:]


@pytest.mark.parametrize(("name", "sep"), [("t.csv", ";"), ("t.tsv", "\t"), ("t.txt", "|")])
def test_few_decimal_commas_among_text_do_not_separate_columns(write, name, sep):
    lines = ["site,soil,crop,lab,count,ph", "a,u,w,l,3,1.5", "b,u,w,l,6,2.5", "c,v,w,l,2,4.25"]
    text = "\n".join(line.replace(",", sep).replace(".", ",") for line in lines)
    table = read_whole(write(text, name))
    assert table.columns == ("count", "ph")
    assert table.data.tolist() == [[3, 1.5], [6, 2.5], [2, 4.25]]


def test_units_in_letters_do_not_hide_the_marks_in_numbers(write):
    table = read_whole(write("x;y\n1,5 kg;2\n2,5 kg;4\n3,25 kg;3\n"))
    assert table.data.tolist() == [[1.5, 2], [2.5, 4], [3.25, 3]]
    unclear = write("x;y\n1.234 kg;2\n2.345 kg;4\n3.456 kg;3\n")
    assert "'1.234' may be 1.234 or 1234" in str(refused(MalformedFileError, unclear))
    table = read_whole(write("x;y\n1.234 kg;2,5\n2.345 kg;4,5\n3.456 kg;3\n"))
    assert table.data.tolist() == [[1234, 2.5], [2345, 4.5], [3456, 3]]


def test_names_above_merged_cells_are_names_of_groups(write):
    rows = "a,1,2,3,4.5\nb,2,3,4,6\nc,9,1,2,3\n"
    path = write("site,length,,width,\n,min,max,min,max\n" + rows)
    table = read_whole(path, options=ReadOptions(header=2), id_column="site")
    assert table.columns == ("length min", "length max", "width min", "width max")
