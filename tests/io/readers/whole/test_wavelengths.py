"""Tables of spectra: names of columns that are numbers, and a column of wavelengths."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from file_cases import refused

from helpers import read_whole
from princomp import PCA
from princomp.errors import ColumnError, MalformedFileError
from princomp.io.readers.read_options import ReadOptions

LENGTHS = [1100.5 + 10 * j for j in range(8)]
X = np.random.default_rng(0).uniform(size=(12, 8)).round(4)


def lines_of(names, data, sep=";", decimal=","):
    rows = [sep.join(f"{x:.4f}".replace(".", decimal) for x in row) for row in data]
    return "\n".join([sep.join(map(str, names)), *rows, ""])


def test_names_with_units_do_not_decide_on_the_decimal_mark(write):
    names = [f"{length} nm" for length in LENGTHS]
    table = read_whole(write(lines_of(names, X)))
    assert table.columns == tuple(names)
    np.testing.assert_array_equal(table.data, X)


def test_names_without_units_do_not_decide_with_header(write):
    path = write(lines_of(LENGTHS, X))
    hint = refused(MalformedFileError, path).hint
    assert hint.startswith("Set header=True if line 1 names the columns. Otherwise, say which")
    table = read_whole(path, options=ReadOptions(header=1))
    assert table.columns == tuple(map(str, LENGTHS))
    np.testing.assert_array_equal(table.data, X)


def test_other_lines_with_both_marks_are_not_called_names(write):
    path = write(lines_of("abcdefgh", X) + "0.5;" + "0,5;" * 6 + "1\n")
    assert refused(MalformedFileError, path).hint.startswith("Say which it is, decimal='.'")


def test_a_file_that_lacks_a_column_of_a_model_is_refused_for_it(write):
    names = list(map(str, range(1700, 2500, 100)))
    model = PCA(2).fit(pd.DataFrame(X, columns=names))
    lacking = lines_of([*names[:1], *names[2:]], np.delete(X, 1, axis=1), ",", ".")
    for text in (lacking, "id," + lacking.replace("\n", "\nr,").removesuffix("r,")):
        with pytest.raises(ColumnError, match="1800"):
            model.transform(write(text))
    # A row of numbers, some of which are names of the model.
    few = "1700,1900,0.5,0.5,0.5,0.25,0.5,0.5\n" + lacking.split("\n", 1)[1]
    with pytest.raises((MalformedFileError, ColumnError)):
        model.transform(write(few))


STEPS = {
    "wavelengths": 1100.5 + 2.5 * np.arange(12),
    "tenths": 0.1 * np.arange(12),
    "hundreds": 1700 + 100 * np.arange(12),
}
OTHERS = {
    "one unlike": np.r_[np.arange(0, 22, 2), 23],
    "equal": np.full(12, 5.5),
    "nearly equal": 5.5 + 1e-9 * np.arange(12),
    "missing": np.r_[np.arange(0.5, 11), np.nan],
}


@pytest.mark.parametrize("cells", STEPS.values(), ids=STEPS)
def test_a_first_column_in_equal_steps_is_noted(write, cells):
    rows = "".join(f"{cell!r},{i * i % 7},{i * i % 5}\n" for i, cell in enumerate(cells.tolist()))
    notes = read_whole(write(f"Wavelength (nm),b,c\n{rows}"), find_ids=True).notes
    words = f"goes up in equal steps from {cells[0]:.6g} and is analysed"
    assert any(f"'Wavelength (nm)', the first column, {words}" in note for note in notes)


@pytest.mark.parametrize("cells", OTHERS.values(), ids=OTHERS)
def test_a_first_column_in_other_steps_is_not_noted(write, cells):
    rows = "".join(f"{cell!r},{i * i % 7},{i * i % 5}\n" for i, cell in enumerate(cells.tolist()))
    notes = read_whole(write(f"t,b,c\n{rows}"), find_ids=True).notes
    assert not any("equal steps" in note for note in notes)
