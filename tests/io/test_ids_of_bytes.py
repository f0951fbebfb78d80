"""Names of rows that are bytes in Parquet and Arrow files."""

from __future__ import annotations

import csv
import uuid

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import princomp as package
from princomp.errors import NotNumericError
from princomp.io import open_table
from princomp.io.readers import files

UUIDS = [uuid.uuid5(uuid.NAMESPACE_DNS, f"row {i}").bytes for i in range(40)]
NAMES = [f"row {i}".encode() for i in range(40)]


@pytest.mark.parametrize("small", [False, True])
@pytest.mark.parametrize(
    ("ids", "texts"),
    [
        (pa.array(NAMES), [name.decode() for name in NAMES]),
        (pa.array([*NAMES[:-1], None], pa.large_binary()), [*map(bytes.decode, NAMES[:-1]), ""]),
        (pa.array([b"%05d" % i for i in range(40)], pa.binary(5)), [f"{i:05}" for i in range(40)]),
        (pa.array(UUIDS, pa.binary(16)), [name.hex() for name in UUIDS]),
    ],
)
def test_ids_of_bytes_are_kept_in_parquet_and_text_in_csv(ids, texts, small, princomp, monkeypatch):
    if not small:
        monkeypatch.setattr(files, "SMALL_FILE_BYTES", 0)
    X = np.random.default_rng(0).standard_normal((40, 3))
    package.PCA().fit(pd.DataFrame(X, columns=list("abc"))).save("m.pca")
    model = package.load("m.pca")
    model.id_column_ = "id"
    model.save("m.pca", overwrite=True)
    pq.write_table(pa.table({"id": ids, "a": X[:, 0], "b": X[:, 1], "c": X[:, 2]}), "t.parquet")
    for name in ("s.csv", "s.parquet"):
        assert princomp("transform", "m.pca", "t.parquet", "-o", name).code == 0
    with open("s.csv", newline="") as file:
        assert [row[0] for row in csv.reader(file)] == ["id", *texts]
    assert pq.read_table("s.parquet")["id"].to_pylist() == ids.to_pylist()
    found = princomp("transform", "m.pca", "t.parquet", "--json").document["ids"]
    assert [name or "" for name in found] == texts


def test_ids_of_bytes_that_are_no_text_after_others_are_refused(tmp_path):
    message = r"row 3 of the output: the id b'\\xff' is not text"

    def write():
        with open_table(tmp_path / "s.csv", columns=["x"], with_ids=True) as table:
            table.write(np.zeros((2, 1)), [b"a", b"b"])
            table.write(np.zeros((2, 1)), [b"c", b"\xff"])

    with pytest.raises(NotNumericError, match=message):
        write()
    assert not (tmp_path / "s.csv").exists()
