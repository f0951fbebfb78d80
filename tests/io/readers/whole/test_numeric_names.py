"""A first line of numbers that may name the columns is refused; ordinary rows are not."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from file_cases import refused

from helpers import read_whole
from princomp import read_table
from princomp.errors import MalformedFileError
from princomp.io.readers.read_options import ReadOptions

LONGITUDES = [150.5, 165.5, 179.5, -165.5, -150.5, -135.5]
GRID = pd.MultiIndex.from_product([[-10.0, 10.0], [0.0, 120.0, 240.0]])
STATIONS = pd.MultiIndex.from_arrays([[52.5, 48.1, 60.2], [13.4, 11.6, 25.0]])
INDEXES = {
    "none": None,
    "numbers": pd.RangeIndex(30),
    "dates": pd.date_range("1990-01-01", periods=30, freq="MS"),
}


def kelvins(p):
    return np.random.default_rng(0).standard_normal((30, p)) + 285


@pytest.mark.parametrize("index", INDEXES)
@pytest.mark.parametrize(
    ("names", "header", "place"),
    [
        (LONGITUDES, 1, "the first line holds"),
        (GRID, 2, "the first two lines hold"),
        (STATIONS, 2, "the first two lines hold"),
    ],
    ids=["longitudes", "grid", "stations"],
)
def test_coordinates_as_names_are_no_rows(tmp_path, names, header, place, index):
    path, data = tmp_path / "t.csv", kelvins(len(names))
    frame = pd.DataFrame(data, INDEXES[index], names)
    frame.to_csv(path, index=index != "none")
    error = refused(MalformedFileError, path)
    assert place in str(error)
    assert ("header=2" if header == 2 else "header=True") in error.hint
    assert "header=False" in error.hint
    assert ("header=True" in error.hint) == (names is not GRID)  # repeated names are refused
    table = read_whole(path, options=ReadOptions(header=header), find_ids=True)
    np.testing.assert_array_equal(table.data, data)


def test_names_with_few_decimals_are_found_among_numbers_of_the_same_size(write):
    data = np.random.default_rng(0).standard_normal((30, 4))
    rows = "".join(",".join(map(repr, row)) + "\n" for row in data.tolist())
    error = refused(MalformedFileError, write("0.5,-0.5,1.5,2.5\n" + rows))
    assert "does it name the columns" in str(error)
    table = read_whole(write("1.0,1.0,1.0,1.0\n" + rows))  # names are different
    assert table.columns == ("x0", "x1", "x2", "x3")


@pytest.mark.parametrize("signs", [(1, 1), (-1, 1), (1, -1), (-1, -1)])
def test_coordinates_of_a_grid_are_found_among_numbers_of_the_same_size(tmp_path, signs):
    names = [(signs[0] * x, signs[1] * y) for x in (5.25, 7.5) for y in (-2.25, 2.25, 7.75)]
    data = (6 + 4 * np.random.default_rng(0).standard_normal((30, 6))).round(1)
    frame = pd.DataFrame(data, columns=pd.MultiIndex.from_tuples(names))
    frame.to_csv(tmp_path / "t.csv", index=False)
    assert "header=2" in refused(MalformedFileError, tmp_path / "t.csv").hint
    # In another order, or where the numbers occur below, they may be rows.
    for lines in (frame.iloc[:, [0, 4, 1, 3, 2, 5]], pd.concat([frame, frame * 0 + names[0][0]])):
        lines.to_csv(tmp_path / "t.csv", index=False)
        assert len(read_whole(tmp_path / "t.csv").data) == len(lines) + 2


@pytest.mark.parametrize("first", ["352.5,357.5,2.5,7.5", "2.5,-177.5,2.5,-177.5", "3.5,2,2.5,1"])
def test_longitudes_at_equal_steps_may_be_names(write, first):
    data = (6 + 4 * np.random.default_rng(0).standard_normal((30, 4))).round(1)
    data[0], data[1] = 400, -400
    path = write(first + "\n" + "".join(",".join(map(str, row)) + "\n" for row in data.tolist()))
    if first.startswith("352"):
        assert "header=True" in refused(MalformedFileError, path).hint
    else:
        assert len(read_whole(path).data) == 31


def test_a_blank_cell_above_labels_is_part_of_a_line_of_names(write):
    rows = "a,1.5,2.5,0.5\nb,2.5,1.5,2\n"
    assert "or is it the first row" in str(
        refused(MalformedFileError, write(",1.5,0.5,2\n" + rows))
    )
    # Here, a measurement may be missing.
    table = read_whole(write(",1.5,0.5,2\n0.5,1.5,2.5,0.5\n1.25,2.5,1.5,2\n"))
    assert len(table.data) == 3


def noise(rng):
    return rng.standard_normal((30, 5))


TABLES = {
    "normal": noise,
    "correlated": lambda rng: noise(rng) * 0.1 + rng.standard_normal((30, 1)),
    "lognormal": lambda rng: np.exp(noise(rng)),
    "sizes": lambda rng: np.exp(noise(rng) * 0.1 + rng.standard_normal((30, 1))),
    "Cauchy": lambda rng: rng.standard_cauchy((30, 5)),
    "counts": lambda rng: rng.poisson(2, (30, 5)),
    "sparse": lambda rng: (rng.uniform(size=(30, 5)) < 0.1) * noise(rng),
    "trend": lambda rng: np.arange(30)[:, None] * rng.standard_normal(5) + 0.1 * noise(rng),
    "walk": lambda rng: np.cumsum(noise(rng), axis=0),
    "sorted": lambda rng: np.sort(noise(rng), axis=0),
    "ranked": lambda rng: -np.sort(-np.exp(noise(rng)), axis=0),
    "decay": lambda rng: np.exp(-np.arange(30)[:, None] * rng.uniform(0.1, 3, 5)) * [5, 2, 7, 1, 3],
    "index": lambda rng: 100 * np.exp(0.01 * np.vstack([np.zeros(5), noise(rng).cumsum(0)])),
}


@pytest.mark.parametrize("written", ["", ".2f", "g"])
@pytest.mark.parametrize("name", TABLES)
def test_rows_of_numbers_are_read_without_a_question(write, name, written):
    rng = np.random.default_rng(0)
    for _ in range(5):
        data = TABLES[name](rng)
        lines = [[format(x, written) for x in row] for row in data.tolist()]
        first = [float(cell) for cell in lines[0]]
        # Different whole numbers, and series, may be years or wavelengths.
        may_be_names = np.mod(first, 1).max() == 0 or len(set(np.diff(first) > 0)) == 1
        if may_be_names and len(set(first)) == len(first):
            continue
        text = "".join(",".join(line) + "\n" for line in lines)
        assert len(read_whole(write(text), options=ReadOptions(skip_end=0)).data) == len(data)


def test_the_size_of_a_table_of_words_above_it_is_no_line_of_names(write):
    """As word2vec writes it."""
    lines = [f"word{i} {i}.5 {-i}.25 0.{i}" for i in range(12)]
    path = write("\n".join(["12 3", *lines, ""]), "t.txt")
    error = refused(MalformedFileError, path)
    assert "line 1 has 2 fields, and lines from 2 on have 4" in str(error)
    assert "skip=1" in error.hint
    read = read_table(path, skip=1, header=False)
    assert read.open(None).shape == (12, 3)
