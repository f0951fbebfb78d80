"""Messages name a row by its label or number from 0, and in text files also by its line."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from princomp import PCA, KernelPCA, RobustPCA
from princomp.errors import NotFiniteError, NotNumericError, row_words
from princomp.io.readers import files

X = np.array([[1.0, 2.0], [3.0, 1.0], [np.nan, 4.0], [0.0, 5.0]])
STATES = ["Ohio", "Utah", "Iowa", "Maine"]


def error_raised_by(call, error=NotFiniteError):
    with pytest.raises(error) as caught:
        call()
    return caught.value


def test_row_words_combine_label_number_and_line():
    assert row_words(17) == "row 17"
    assert row_words(1234, line=1236) == "row 1,234 (line 1,236)"
    assert row_words(17, "Ohio", 19) == "row 'Ohio' (line 19)"


@pytest.mark.parametrize("kind", [PCA, KernelPCA, RobustPCA])
@pytest.mark.parametrize(
    ("index", "description"),
    [
        (None, "row 2, column 'a'"),
        (STATES, "row 'Iowa', column 'a'"),
        (pd.RangeIndex(10, 14), "row 12, column 'a'"),
        (pd.date_range("2024-05-01", periods=4), "row '2024-05-03 00:00:00', column 'a'"),
    ],
)
def test_an_index_of_pandas_names_the_rows(kind, index, description):
    floats = pd.DataFrame(X, columns=["a", "b"], index=index)
    mixed = floats.assign(c=[1, 2, 3, 4])
    for frame in (floats, mixed):
        error = error_raised_by(lambda frame=frame: kind(1).fit(frame))
        assert description in error.message
        assert error.place["row"] == 2
    model = kind(1).fit(floats.fillna(0.5))
    assert description in error_raised_by(lambda: model.transform(floats)).message
    table = mixed.assign(c=["1", "x", "3", "4"])
    label = 1 if index is None else index[1]
    label = label if isinstance(label, str | int) else str(label)
    error = error_raised_by(lambda: kind(1).fit(table), NotNumericError)
    assert f"column 'c' row {label!r}: 'x' is not a number" in error.message


def test_rows_of_arrays_and_other_frames_count_from_0():
    for rows in (X, pl.DataFrame(X, schema=["a", "b"])):
        assert error_raised_by(lambda rows=rows: PCA(1).fit(rows)).place["row"] == 2


@pytest.mark.parametrize("small", [True, False])
@pytest.mark.parametrize("named", [True, False])
def test_errors_in_text_files_name_the_line(small, named, tmp_path, monkeypatch, princomp):
    if not small:
        monkeypatch.setattr(files, "SMALL_FILE_BYTES", 0)
    path = tmp_path / "t.csv"
    frame = pd.DataFrame(X, columns=["a", "b"], index=pd.Index(STATES, name="state"))
    frame.to_csv(path, index=named, na_rep="NA")
    where = "row 'Iowa' (line 4)" if named else "row 2 (line 4)"
    error = error_raised_by(lambda: PCA(1).fit(path))
    assert f"the first at {where}, column 'a' of {path}" in error.message
    assert error.place == {
        "file": str(path),
        "row": 2,
        "line": 4,
        "column": "a",
        **({"label": "Iowa"} if named else {}),
    }
    assert where in princomp("fit", path).err
