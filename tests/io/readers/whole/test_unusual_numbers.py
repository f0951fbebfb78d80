"""Numbers in unusual forms, such as (12.5), 5/60 and 1.2k, are no names of rows; their hints."""

from __future__ import annotations

import pytest

from helpers import read_whole
from princomp.errors import NotNumericError
from princomp.io.readers.files import open_files
from princomp.io.readers.read_options import ReadOptions

MEASURED = {
    "accounting": [f'"({1000 + 37 * i:,}.50)"' for i in range(9)],
    "accounting, whole": [f"(${12 + i})" for i in range(9)],
    "scores": [f"{i}/60" for i in range(9)],
    "fractions": ["1/2", "3/4", "5/8", "1.5/7", "7/8", "1/4", "3/8", "2/3", "1/3"],
    "thousands and millions": ["1.2k", "0.3M", "850k", "2M", "3M", "4k", "5k", "6k", "7 k"],
}
NAMES = {
    "months": [f"{i + 1:02}/2020" for i in range(9)],
    "seasons": [f"20{10 + i}/{11 + i}" for i in range(9)],
    "codes": [f"{i}{'MF'[i % 2]}" for i in range(9)],
    "codes of one letter": [f"{i}M" for i in range(9)],
    "a note on some": ["(1)", "(2)", *"abcdefg"],
}


@pytest.fixture
def write(tmp_path):
    def written(cells):
        path = tmp_path / "t.csv"
        rows = (f"{cell},{i}.5,{i * i}\n" for i, cell in enumerate(cells))
        path.write_text("amount,b,c\n" + "".join(rows))
        return path

    return written


@pytest.mark.parametrize("cells", MEASURED.values(), ids=MEASURED)
def test_quantities_are_left_out_with_a_warning(write, cells):
    table = read_whole(write(cells), find_ids=True)
    assert table.ids is None
    assert "left out 1 text column: amount" in table.notes


@pytest.mark.parametrize("cells", NAMES.values(), ids=NAMES)
def test_codes_and_dates_name_the_rows(write, cells):
    table = read_whole(write(cells), find_ids=True)
    assert table.ids.tolist() == cells


def test_negative_numbers_in_parentheses_are_to_be_corrected(write):
    cells = ["12.5", "7", '"(1,234.50)"', "9.25", "(3)", "8", "1", "6"]
    with pytest.raises(NotNumericError, match=r"'\(1,234.50\)' is not a number") as caught:
        read_whole(write(cells))
    assert (
        "Correct the cell (write numbers as 1234.5 or 1.2e5, negative ones as -1)"
        in caught.value.hint
    )
    corrected = ['"-1,234.50"' if "1,2" in cell else cell.strip("()") for cell in cells]
    assert read_whole(write(corrected)).data[2, 0] == -1234.5


@pytest.mark.parametrize("options", [{}, {"decimal": ","}])
@pytest.mark.parametrize("large", [False, True])
def test_a_cell_that_is_wrong_with_decimal_commas_is_to_be_corrected(
    tmp_path, monkeypatch, options, large
):
    if large:
        monkeypatch.setattr("princomp.io.readers.files.SMALL_FILE_BYTES", 0)
        monkeypatch.setattr("princomp.io.readers.delimited_stream.HEAD_BYTES", 20)
    path = tmp_path / "t.csv"
    path.write_text("a;b\n" + "1,5;2\n3,5;4\n" * 20 + "1,2,3;7\n")
    with pytest.raises(NotNumericError, match="'1,2,3' is not a number") as caught:
        list(open_files([path], options=ReadOptions(**options)).chunks())
    hint = (
        "Correct the cell (write numbers as 1234,5 or 1,2e5, negative ones as -1), or exclude 'a'."
    )
    assert caught.value.hint == hint
