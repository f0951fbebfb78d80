"""Numbers such as 99 that may be codes for missing cells are noted, and no others are."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn import datasets

from princomp import PCA, read_table
from princomp.io.readers.missing_codes import code_notes


def answers(seed=0, shape=(60, 4)):
    """Answers from 1 to 5."""
    return np.random.default_rng(seed).integers(1, 6, shape).astype(float)


@pytest.mark.parametrize("code", [9, 99, 999, -9, -99])
def test_a_code_among_answers_is_noted_with_the_other_values(code):
    rows = answers()
    rows[3:5, 1] = code
    (note,) = code_notes("abcd", rows)
    assert note == (
        f"{code} is far from the other values of 'b' (1 to 5): if such numbers mark missing cells, "
        f"give na=['{code}']"
    )


def test_codes_are_those_of_their_columns():
    rows = answers(shape=(60, 5))
    rows[3:5, 1], rows[7:9, 2], rows[[1, 11], 2], rows[4:8, 3] = 99, 99, np.nan, [8, 8, 9, 9]
    (note,) = code_notes("abcde", rows)
    assert note == (
        "8, 9 are far from the other values of 'd' (1 to 5); 99 is far from the other values of "
        "'b' (1 to 5) and of 1 more column: if such numbers mark missing cells, give "
        "na=['8', '9', '99']"
    )
    rows[:, 4] = np.arange(60) % 10  # 9 is a number like others here
    assert "because other columns hold such numbers, too" in code_notes("abcde", rows)[0]


def test_codes_in_measurements_are_noted():
    rows = np.random.default_rng(0).normal(20, 8, (200, 3))
    rows[3:6, 1] = -999
    assert "-999 is far from the other values of 'b'" in code_notes("abc", rows)[0]


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("code", [-9999, 1e30])
def test_one_cell_is_enough_if_it_is_very_far_away(code, dtype):
    rows = np.random.default_rng(0).normal(20, 8, (200, 3)).astype(dtype)
    rows[3, 1] = code
    (note,) = code_notes("abc", rows)
    assert note.startswith(f"{code:g} is far from the other values of 'b'")
    assert f"na=['{code:g}']" in note


def test_the_same_numbers_among_others_are_not_noted():
    ages = np.random.default_rng(1).integers(0, 100, (500, 3)).astype(float)
    once = answers()
    once[3, 1] = 9
    ratings = np.random.default_rng(2).integers(1, 11, (100, 3)).astype(float)
    counts = answers() - 1
    counts[3:5, 1] = 9
    cylinders = np.random.default_rng(4).choice([3.0, 4, 5, 6, 8], (100, 3))
    even = np.random.default_rng(4).choice([4.0, 6, 8], (100, 3))
    odd = np.random.default_rng(4).choice([1.0, 3, 5, 9], (100, 3))
    for rows in (
        ages,
        once,
        ratings,
        counts,
        cylinders,
        even,
        odd,
        np.full((20, 2), 9.0),
        np.empty((0, 2)),
    ):
        assert not code_notes("abcd", rows)


@pytest.mark.parametrize("rate", [0.5, 1, 2, 5, 40])
def test_counts_are_not_taken_for_codes(rate):
    rng = np.random.default_rng(3)
    assert not any(code_notes("abc", rng.poisson(rate, (100, 3)).astype(float)) for _ in range(200))


@pytest.mark.parametrize("name", ["iris", "wine", "digits", "breast_cancer", "diabetes"])
def test_usual_tables_have_no_codes(name):
    table = getattr(datasets, f"load_{name}")(as_frame=True).data
    assert not code_notes(list(table.columns), table.to_numpy())


@pytest.mark.filterwarnings("ignore:the variance of:UserWarning")
@pytest.mark.parametrize("ending", ["csv", "xlsx"])
def test_files_are_read_without_the_codes_that_a_note_names(tmp_path, ending):
    table = pd.DataFrame(answers(), columns=list("abcd"))
    table.iloc[3:5, 1] = 99
    path = tmp_path / f"answers.{ending}"
    table.to_csv(path, index=False) if ending == "csv" else table.to_excel(path, index=False)
    with pytest.warns(UserWarning, match=r"99 is far from .* give na=\['99'\]"):
        model = PCA(2).fit(path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        PCA(2, missing="drop").fit(read_table(path, na=["99"]))
        model.transform(path)


@pytest.mark.filterwarnings("ignore:the variance of:UserWarning")
@pytest.mark.parametrize("dtype", [float, int])
def test_codes_in_a_frame_cause_a_warning(dtype):
    table = pd.DataFrame(answers().astype(dtype), columns=list("abcd"))
    table.iloc[3:5, 1] = 99
    with pytest.warns(UserWarning, match="99 is far from .* replace them with NaN"):
        model = PCA(2).fit(table)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.transform(table)
        PCA(2).fit(table.to_numpy())


def genotypes(n=600, p=3000):
    """Counts of an allele, 0 to 2."""
    return np.random.default_rng(0).integers(0, 3, (n, p)).astype(np.int8)


def test_codes_are_sought_in_rows_throughout_a_large_table():
    table = genotypes().astype(float)
    assert code_notes([f"s{j}" for j in range(3000)], table) == []
    table[150:, ::3] = np.where(table[150:, ::3] == 2, -9, table[150:, ::3])
    (note,) = code_notes([f"s{j}" for j in range(3000)], table)
    assert note.startswith(
        "-9 is far from the other values of 's0' (0 to 2) and of 999 more columns"
    )
    assert note.endswith("give na=['-9']")
    table[0, 1] = -9  # a single one that is not far enough from the others
    (note,) = code_notes([f"s{j}" for j in range(3000)], table)
    assert note.endswith("because other columns hold such numbers, too")


@pytest.mark.parametrize("dtype", [np.int8, np.int64])
def test_negative_codes_in_an_array_of_integers_cause_a_warning(dtype):
    table = genotypes(p=5).astype(dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        PCA(2).fit(table)
        PCA(2).fit(np.where(table == 2, 9, table))  # a count can be large
    table[3:9, 2] = -9
    with pytest.warns(UserWarning, match=r"-9 is far from .* of 'x2' \(0 to 2\).* with NaN") as got:
        model = PCA(2).fit(table)
    assert got[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.transform(table)
