"""A column that names the rows of one file and holds numbers in another is not lost."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from princomp import PCA, read_table
from princomp.errors import ColumnError
from princomp.io import open_files


def _frame():
    values = np.random.default_rng(2).standard_normal((40, 4)) * 10 + 100
    return pd.DataFrame(values, columns=list("abcd"))


def _with_index(folder, ending):
    """A file with 'a' as its pandas index, and one with 'a' as a column of numbers."""
    pytest.importorskip("pyarrow")
    named, plain = folder / f"named.{ending}", folder / f"plain.{ending}"
    frame = _frame()
    write = _write_feather if ending == "feather" else pd.DataFrame.to_parquet
    write(frame[:20].set_index("a"), named)
    write(frame[20:].reset_index(drop=True), plain)
    return named, plain


def _write_feather(frame, path):
    import pyarrow as pa
    from pyarrow import feather

    feather.write_feather(pa.Table.from_pandas(frame), path)


def _with_text(folder, ending):
    """A file with text in 'a', which differs in all rows, and one with numbers."""
    named, plain = folder / f"named.{ending}", folder / f"plain.{ending}"
    frame = _frame()
    text = frame[:20].assign(a=[f"r{i}" for i in range(20)])
    for part, path in ((text, named), (frame[20:], plain)):
        if ending == "csv":
            part.to_csv(path, index=False)
        else:
            part.to_parquet(path, index=False)
    return named, plain


CASES = [
    (_with_index, "parquet"),
    (_with_index, "feather"),
    (_with_text, "csv"),
    (_with_text, "parquet"),
]


@pytest.mark.parametrize("small", [True, False])
@pytest.mark.parametrize(("make", "ending"), CASES)
def test_numbers_in_a_column_that_names_other_rows_are_refused(
    make, ending, small, tmp_path, monkeypatch
):
    if not small:
        monkeypatch.setattr("princomp.io.readers.files.SMALL_FILE_BYTES", 1)
    named, plain = make(tmp_path, ending)
    words = f"plain.{ending}: its column 'a' holds numbers, that of .*named.{ending} names the rows"
    with pytest.raises(ColumnError, match=words) as caught:
        PCA().fit([named, plain])
    assert caught.value.place["column"] == "a"
    for option in ("id_column='a'", "exclude 'a'"):
        assert option in caught.value.hint
    with pytest.raises(ColumnError, match="missing: 'a'") as caught:
        PCA().fit([plain, named])
    assert "left out" in caught.value.hint
    assert "'a'" in caught.value.hint or ": a" in caught.value.hint
    # What the hints suggest.
    for options in ({"id_column": "a"}, {"exclude": ["a"]}):
        for files in ([named, plain], [plain, named]):
            model = PCA().fit(read_table(files, **options))
            assert list(model.feature_names_in_) == ["b", "c", "d"]


def test_a_model_that_does_not_use_the_column_transforms_both_files(tmp_path):
    named, plain = _with_text(tmp_path, "csv")
    model = PCA(2).fit(named)
    assert model.transform([named, plain]).shape == (40, 2)


@pytest.mark.parametrize("untrusted", [False, True])
def test_files_read_in_another_process_are_refused(untrusted, tmp_path):
    with pytest.raises(ColumnError, match="names the rows"):
        PCA().fit(read_table([*_with_text(tmp_path, "csv")], untrusted=untrusted))


@pytest.mark.parametrize("numbers", [False, True])
def test_a_usual_name_of_row_labels_names_rows_of_all_files(numbers, tmp_path):
    frame = _frame().rename(columns={"a": "id"})
    frame[:20].assign(id=[f"r{i}" for i in range(20)]).to_csv(tmp_path / "a.csv", index=False)
    last = frame[20:].assign(id=np.arange(20, 40) * 3 if numbers else "x")
    last.to_csv(tmp_path / "b.csv", index=False)
    source = open_files([tmp_path / "a.csv", tmp_path / "b.csv"])
    assert (source.id_column, source.columns) == ("id", ("b", "c", "d"))
