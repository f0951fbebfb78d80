"""Arrays of Python objects hold numbers and missing values; everything else is refused."""

from __future__ import annotations

import datetime
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from princomp import PCA, KernelPCA
from princomp.errors import NotNumericError

X = np.random.default_rng(0).standard_normal((12, 3))
FORMS = {"array": lambda cells: cells, "lists": lambda cells: cells.tolist()}
every_form = pytest.mark.parametrize("form", FORMS)


def with_cell(cell, form="array"):
    cells = X.astype(object)
    cells[4, 1] = cell
    return FORMS[form](cells)


def calls(rows):
    return (
        lambda: PCA(1).fit(rows),
        lambda: PCA(1).fit(iter([rows])),
        lambda: PCA(1).partial_fit(rows),
        lambda: KernelPCA(1).fit(rows),
        lambda: PCA(1).fit(X).transform(rows),
        lambda: PCA(3).fit(X).inverse_transform(rows),
    )


@every_form
@pytest.mark.parametrize("cell", [None, pd.NA, np.nan])
def test_missing_cells(cell, form):
    check_missing(with_cell(cell, form))


def test_masked_cells_are_missing():
    check_missing(with_cell(np.ma.masked))


def check_missing(rows):
    missing = X.copy()
    missing[4, 1] = np.nan
    for options in ({"missing": "drop"}, {"missing": "em"}):
        expected = PCA(1, **options).fit(missing)
        model = PCA(1, **options).fit(rows)
        assert np.array_equal(model.components_, expected.components_)
        assert np.array_equal(model.transform(rows), expected.transform(rows), equal_nan=True)


def test_nullable_columns_of_pandas_as_an_array():
    frame = pd.DataFrame(X).mask(X > 1).astype("Float64")
    cells = frame.to_numpy()
    assert cells.dtype == object
    model = PCA(1, missing="drop").fit(cells)
    expected = PCA(1, missing="drop").fit(frame)
    assert model.n_dropped_ == expected.n_dropped_ > 0
    np.testing.assert_allclose(model.components_, expected.components_, rtol=1e-13)


@every_form
@pytest.mark.parametrize(
    "cell", [2, True, np.float32(2), np.int8(2), np.True_, Decimal("2.5"), Fraction(1, 2)]
)
def test_real_numbers_of_any_class(cell, form):
    expected = X.copy()
    expected[4, 1] = cell
    assert np.array_equal(PCA(1).fit(with_cell(cell, form)).mean_, PCA(1).fit(expected).mean_)


REFUSED = [
    np.datetime64("2020-01-01"),
    np.datetime64("2020-01-01T00:00:00"),
    np.datetime64("NaT"),
    np.timedelta64(3, "D"),
    pd.NaT,
    pd.Timestamp("2020-01-01"),
    pd.Timedelta("1D"),
    datetime.date(2020, 1, 1),
    1 + 2j,
    np.complex64(1),
    {"a": 1},
    b"1",
    "1",
    "1_000",
    "nan",
    "",
]


@pytest.mark.parametrize("cell", REFUSED, ids=repr)
def test_other_objects_are_refused_with_value_and_place(cell):
    for call in calls(with_cell(cell)):
        with pytest.raises(NotNumericError) as caught:
            call()
        error = caught.value
        assert f"{cell!r} at row 4, column 1 is " in error.message
        assert (error.place["row"], error.place["column"]) == (4, 1)
        assert error.hint == "convert the column to numbers, or leave it out"


def test_lists_of_dates_and_of_complex_numbers_are_refused():
    for cell, message in ((np.datetime64("2020-01-01"), "at row 4"), (1j, "Complex data")):
        with pytest.raises(NotNumericError, match=message):
            PCA(1).fit(with_cell(cell, "lists"))


def test_long_cells_are_shortened():
    with pytest.raises(NotNumericError, match=r"^\[0, 1, .*…\] at row 4"):
        PCA(1).fit(with_cell(list(range(100))))


def test_durations_in_a_frame_are_not_numbers():
    frame = pd.DataFrame(with_cell(np.timedelta64(3, "D")), columns=list("abc"))
    with pytest.raises(NotNumericError, match=r"column 'b' row 4: '3 days' is not a number"):
        PCA(1).fit(frame)


@pytest.mark.parametrize("dtype", ["U", "S", np.dtypes.StringDType()], ids=str)
def test_arrays_of_text_are_refused(dtype):
    with pytest.raises(NotNumericError, match=r"holds text .*all of it reads as numbers"):
        PCA(1).fit(X.astype(dtype))
