"""Files without rows among those that are read as one table."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from princomp import PCA, read_table
from princomp.errors import NoRowsError, ShapeError
from princomp.io.readers.files import open_files

ROWS = pd.DataFrame(
    np.random.default_rng(0).standard_normal((60, 3)),
    columns=list("abc"),
    index=pd.Index([f"row {i}" for i in range(60)], name="name"),
)
WRITERS = {
    "csv": pd.DataFrame.to_csv,
    "parquet": lambda frame, path: frame.reset_index().to_parquet(path),
    "npy": lambda frame, path: np.save(path, frame.to_numpy()),
}


def write_parts(folder, ending, cuts):
    for i, (start, stop) in enumerate(pairwise(cuts)):
        WRITERS[ending](ROWS[start:stop], folder / f"part-{i}.{ending}")
    return str(folder / f"part-*.{ending}")


@pytest.mark.parametrize("ending", WRITERS)
@pytest.mark.parametrize("cuts", [[0, 0, 30, 60], [0, 30, 30, 30, 60], [0, 0, 60, 60]])
def test_files_without_rows_are_left_out_with_a_note(tmp_path, ending, cuts):
    pattern = write_parts(tmp_path, ending, cuts)
    model = PCA().fit(pattern)
    assert np.array_equal(model.components_, PCA().fit(ROWS.to_numpy()).components_)
    source = open_files([pattern])
    assert source.id_column == (None if ending == "npy" else "name")
    empty = [i for i in range(len(cuts) - 1) if cuts[i] == cuts[i + 1]]
    count = "1 file" if len(empty) == 1 else f"{len(empty)} files"
    names = ", ".join(str(tmp_path / f"part-{i}.{ending}") for i in empty)
    assert source.notes[-1] == f"left out {count} without rows: {names}"


def test_a_file_without_a_single_line_is_left_out_too(tmp_path):
    pattern = write_parts(tmp_path, "csv", [0, 30, 60])
    (tmp_path / "part-2.csv").touch()
    assert PCA().fit(pattern).n_samples_ == 60


@pytest.mark.parametrize("ending", WRITERS)
@pytest.mark.parametrize("cuts", [[0, 0], [0, 0, 0]])
def test_tables_without_rows_are_refused(tmp_path, ending, cuts):
    pattern = write_parts(tmp_path, ending, cuts)
    with pytest.raises(NoRowsError, match=r"part-0\.\w+: no rows"):
        PCA().fit(pattern)


def test_files_whose_lines_are_left_out_are_not_ignored(tmp_path):
    pattern = write_parts(tmp_path, "csv", [0, 57, 60])
    with pytest.raises(ShapeError, match=r"part-1\.csv: no rows, all lines are left out: skip=5"):
        PCA().fit(read_table(pattern, skip=5, header=False))


def test_files_without_rows_and_without_the_id_column(tmp_path):
    """The first file names its rows, a later one has other columns, and one has no rows."""
    write_parts(tmp_path, "csv", [0, 0, 30])
    ROWS[30:].to_csv(tmp_path / "part-2.csv", index=False)
    source = open_files([str(tmp_path / "part-*.csv")])
    assert source.id_column is None
    assert source.notes[-1].startswith("left out 1 file without rows")
