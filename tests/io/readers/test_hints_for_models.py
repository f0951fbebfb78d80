"""Hints for the columns of a model, none of which can be left out."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pytest

from princomp import PCA, read_table
from princomp.errors import ColumnError, MalformedFileError, NotNumericError
from princomp.io.readers.files import open_files
from princomp.io.readers.stdin import open_stdin

ROWS = pd.DataFrame(np.random.default_rng(0).standard_normal((9, 3)), columns=list("abc"))
MODEL = PCA().fit(ROWS)
CELLS = {
    "text": ["u", "v"] * 4 + ["w"],
    "one word": [*map(str, ROWS.a[1:]), "unknown"],
    "a limit": [*map(str, ROWS.a[1:]), "<0.5"],
    "a footnote": [*map(str, ROWS.a[1:]), "1.5*"],
    "another notation": [*map(str, ROWS.a[1:]), "(12.5)"],
    "true": [*map(str, ROWS.a[1:]), "true"],
    "identifiers": [str(2**53 + i) for i in range(9)],
    "units": [*("1 kg", "2 kg", "3 g") * 3],
}


def hint_of(do):
    with pytest.raises((ColumnError, NotNumericError)) as caught:
        do()
    return caught.value.hint


@pytest.mark.parametrize("kind", CELLS)
@pytest.mark.parametrize("ending", ["csv", "parquet", "frame"])
@pytest.mark.parametrize("small", [0, 2**20])
def test_no_column_of_a_model_is_to_be_left_out(tmp_path, monkeypatch, kind, ending, small):
    monkeypatch.setattr("princomp.io.readers.files.SMALL_FILE_BYTES", small)
    frame, path = ROWS.assign(a=CELLS[kind]), tmp_path / f"t.{ending}"
    if ending == "csv":
        frame.to_csv(path, index=False)
    elif ending == "parquet":
        frame.to_parquet(path)
    table = frame if ending == "frame" else path
    hints = [hint_of(lambda: MODEL.transform(table))]
    if ending != "frame":
        assert "xclude" in hint_of(lambda: PCA().fit(read_table(path, columns=list("abc"))))
        names = {"columns": list("abc"), "of_model": True}
        hints.append(hint_of(lambda: open_files([path], **names)))
    if ending == "csv":
        stream = io.BytesIO(path.read_bytes())
        hints.append(hint_of(lambda: open_stdin(stream, **names)))
    for hint in hints:
        assert hint.endswith((".", "Set options with read_table(path, …)."))
        assert all(word not in hint.lower() for word in ("exclude", "leave", "columns="))


def test_a_missing_column_is_not_confused_with_another_of_the_model(tmp_path):
    names = [f"gene{i}" for i in range(1, 41)]
    rows = pd.DataFrame(np.random.default_rng(0).standard_normal((9, 40)), columns=names)
    model, path = PCA(2).fit(rows), tmp_path / "t.csv"
    for lacking in (["gene12"], names[:10]):
        rows.drop(columns=lacking).to_csv(path, index=False)
        hint = hint_of(lambda: model.transform(path))
        assert "Did you mean" not in hint
        assert "fit a model to those that both tables have: read_table(path, columns=[…])" in hint
    rows.rename(columns={"gene12": "Gene12"}).to_csv(path, index=False)
    assert hint_of(lambda: model.transform(path)).startswith("Did you mean 'Gene12'? There are")


def test_no_column_of_a_model_is_to_be_left_out_of_several_files(tmp_path):
    ROWS.to_parquet(tmp_path / "t1.parquet")
    ROWS.assign(a=ROWS.a > 0).to_parquet(tmp_path / "t2.parquet")
    paths = [tmp_path / "t1.parquet", tmp_path / "t2.parquet"]
    assert hint_of(lambda: MODEL.transform(paths)) == "Write the column in one way."


def test_the_hint_on_two_decimal_marks(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a;b;c\n1,5;2.25;1\n2,5;3.25;4\n0,5;1.25;2\n")
    for read, advice in ((MODEL.transform, "and correct the"), (PCA().fit, "or exclude the")):
        with pytest.raises(MalformedFileError, match=f"{advice} columns with the other mark"):
            read(path)


@pytest.mark.parametrize(
    "command",
    [
        ("transform", "m.pca", "t.csv"),
        ("show", "m.pca", "--verify", "t.csv"),
        ("plot", "scores", "m.pca", "t.csv", "-o", "f.svg"),
    ],
)
def test_commands_without_the_option_do_not_name_it(princomp, tmp_path, command):
    ROWS.to_csv(tmp_path / "rows.csv", index=False)
    ROWS.assign(a=CELLS["text"]).to_csv(tmp_path / "t.csv", index=False)
    princomp("fit", "rows.csv", "-m", "m.pca")
    found = princomp(*command)
    assert "column 'a' row 0 (line 2): 'u' is not a number" in found.err
    assert "exclude" not in found.err
