"""Columns of true and false among numbers: between files, among cells, and for a model."""

from __future__ import annotations

import io
import warnings

import numpy as np
import pandas as pd
import pytest

from helpers import read_whole
from princomp import PCA, read_table
from princomp.errors import ColumnError, NotNumericError
from princomp.io.readers.files import open_files
from princomp.io.readers.stdin import open_stdin

ROWS = pd.DataFrame(np.random.default_rng(0).normal(10, 3, (40, 3)), columns=list("abc"))
WRITERS = {
    "csv": lambda frame, path: frame.to_csv(path, index=False),
    "parquet": pd.DataFrame.to_parquet,
}
NAMED = {"columns": list("abc")}


def write_parts(folder, ending, cells=("numbers", "true/false")):
    """Write files whose columns b hold numbers, true and false, or nothing."""
    paths = []
    for i, kind in enumerate(cells):
        part = ROWS[:20] if kind == "numbers" else ROWS[20:].assign(b=ROWS.b > 10)
        if kind == "nothing":
            part = part.assign(b=pd.Series(None, part.index, object))
        paths.append(folder / f"part-{i}.{ending}")
        WRITERS[ending](part.reset_index(drop=True), paths[-1])
    return paths


@pytest.mark.parametrize("ending", WRITERS)
@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("untrusted", [False, True])
def test_numbers_in_one_file_and_true_or_false_in_another_are_refused(
    tmp_path, ending, order, untrusted
):
    paths = write_parts(tmp_path, ending)[::order]
    table = read_table(paths, **NAMED, untrusted=untrusted)
    with pytest.raises(ColumnError, match=r"its column 'b' holds .* that of .*part") as caught:
        PCA().fit(table)
    assert "true/false" in caught.value.message
    assert caught.value.place == {"file": str(paths[1]), "column": "b"}
    assert PCA().fit(read_table(paths, exclude=["b"])).n_features_in_ == 2  # as the hint says


def test_numbers_and_true_or_false_are_refused_in_chunks(tmp_path, monkeypatch):
    monkeypatch.setattr("princomp.io.readers.files.SMALL_FILE_BYTES", 0)
    for ending in WRITERS:
        with pytest.raises(ColumnError, match="its column 'b' holds true/false"):
            PCA().fit(read_table(write_parts(tmp_path, ending), **NAMED))


@pytest.mark.parametrize("ending", WRITERS)
def test_files_in_which_a_column_is_empty_hold_neither(tmp_path, ending):
    table = read_table(write_parts(tmp_path, ending, ("nothing", "numbers")), **NAMED)
    assert PCA(missing="drop").fit(table).n_features_in_ == 3
    paths = write_parts(tmp_path, ending, ("nothing", "numbers", "true/false"))
    with pytest.raises(ColumnError, match=r"part-2.* holds true/false, that of .*part-1"):
        PCA(missing="drop").fit(read_table(paths, **NAMED))


@pytest.mark.parametrize("ending", WRITERS)
@pytest.mark.parametrize("small", [0, 2**20])
def test_true_and_false_for_a_model_are_numbers_with_a_note(tmp_path, monkeypatch, ending, small):
    numbers, booleans = write_parts(tmp_path, ending)
    model = PCA().fit(numbers)
    monkeypatch.setattr("princomp.io.readers.files.SMALL_FILE_BYTES", small)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.transform(numbers)
    with pytest.warns(UserWarning, match="^true and false of 'b' count as 1 and 0$"):
        found = model.transform(booleans)
    expected = ROWS[20:].assign(b=(ROWS.b > 10).astype(float)).reset_index(drop=True)
    np.testing.assert_allclose(found, model.transform(expected), atol=1e-12)


@pytest.mark.parametrize("ending", WRITERS)
def test_a_fit_to_named_columns_notes_true_and_false(tmp_path, ending):
    path = write_parts(tmp_path, ending)[1]
    assert "true and false of 'b' count as 1 and 0" in open_files([path], **NAMED).notes


def test_the_command_line_notes_true_and_false_for_a_model(princomp, tmp_path):
    write_parts(tmp_path, "csv")
    princomp("fit", "part-0.csv", "-m", "m.pca")
    note = "note: true and false of 'b' count as 1 and 0"
    assert note in princomp("transform", "m.pca", "part-1.csv").err
    source = open_stdin(io.BytesIO((tmp_path / "part-1.csv").read_bytes()), **NAMED)
    assert note.removeprefix("note: ") in source.notes


@pytest.mark.parametrize("others", ["01", "15"])
@pytest.mark.parametrize("columns", [None, ["a", "b"]])
def test_true_among_digits_is_refused(tmp_path, others, columns):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + "".join(f"{i},{others[i % 2]}\n" for i in range(9)) + "9,true\n")
    with pytest.raises(NotNumericError, match=r"row 9 .*'true' is not a number") as caught:
        read_whole(path, columns=columns)
    assert "na=" not in caught.value.hint
    assert "as numbers, or as true and false" in caught.value.hint


def test_true_among_numbers_of_a_frame_is_refused():
    frame = ROWS.assign(b=[True, *ROWS.b[1:]])
    with pytest.raises(NotNumericError, match="'b' row 0: True is not a number"):
        PCA().fit(frame)
    with pytest.raises(NotNumericError, match="'b' row 0: True is not a number"):
        PCA().fit(ROWS).transform(frame)
