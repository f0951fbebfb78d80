"""Columns of identifiers: a note on whole numbers with such a name, and UUIDs that name rows."""

from __future__ import annotations

import uuid
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from helpers import read_whole
from princomp import PCA, read_table
from princomp.io.readers.files import open_files

NAMED = "named like "
IDENTIFIERS = [
    *("customer_id", "CustomerID", "PatientId", "id", "ID", "user-id", "order.key"),
    *("CountryCode", "zip_code", "ZIP", "rowGuid", "customerUUID", "uid"),
]
OTHERS = ["paid", "fluid", "key", "keyboard", "number_of_rooms", "codes", "rapid", "O3_NO"]


def table(**more):
    rng = np.random.default_rng(0)
    columns = {name: rng.normal(size=30) for name in "abc"}
    return pd.DataFrame(columns | {name: rng.permutation(cells) for name, cells in more.items()})


def identifiers(X):
    """The warnings of a fit that columns are named like identifiers."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        PCA(2).fit(X)
    return [str(one.message) for one in caught if NAMED in str(one.message)]


@pytest.mark.parametrize("name", IDENTIFIERS)
def test_identifiers_are_noted_in_frames_and_files(tmp_path, name):
    frame = table(**{name: 7 * np.arange(30) % 11})  # they need not differ
    note = f"{name!r} is named like an identifier or code, holds whole numbers and is analysed: "
    (warning,) = identifiers(frame)
    assert f"{note}leave it out with frame.drop(columns=[{name!r}])" in warning
    (warning,) = identifiers(pl.from_pandas(frame))
    assert f"{note}leave it out with frame.drop([{name!r}])" in warning
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    for path in (tmp_path / "t.csv", tmp_path / "t.parquet"):
        for notes in (read_table(path).notes, read_whole(path, find_ids=True).notes):
            assert [one for one in notes if NAMED in one] == [
                f"{note}leave it out with exclude=[{name!r}]"
            ]
            assert not any(NAMED in one for one in read_table(path, columns=["a", name]).notes)
        with pytest.warns(UserWarning, match=NAMED):
            model = PCA(2).fit(path)
        model.transform(path)  # a warning would be an error


def test_several_identifiers_share_a_note():
    (warning,) = identifiers(table(customer_id=np.arange(30) * 3, zip=np.arange(30) + 500))
    assert "'customer_id', 'zip' are named like identifiers or codes, hold whole numbers" in warning
    assert "leave them out with frame.drop(columns=['customer_id', 'zip'])" in warning


def test_a_first_column_may_be_an_identifier(tmp_path):
    frame = table(customer_id=np.arange(30) * 3)[["customer_id", "a", "b"]]
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    for X in (frame, tmp_path / "t.csv", tmp_path / "t.parquet"):
        (warning,) = identifiers(X)
        assert "'customer_id', the first column, is named like an identifier or code" in warning


@pytest.mark.filterwarnings("ignore:the variance of:UserWarning")
def test_identifiers_with_missing_cells_are_noted(tmp_path):
    frame = table(zip_code=np.r_[np.nan, np.arange(29.0)])
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    for X in (frame, frame[["zip_code", "a", "b"]], tmp_path / "t.csv", tmp_path / "t.parquet"):
        with pytest.warns(UserWarning, match="'zip_code', .*is named|'zip_code' is named"):
            PCA(2, missing="drop").fit(X)


@pytest.mark.parametrize(("id_column", "noted"), [("name", 1), (False, 0), (None, 1)])
def test_a_first_column_is_noted_unless_it_is_said_to_be_data(tmp_path, id_column, noted):
    frame = table(customer_id=np.arange(30) * 3)[["customer_id", "a", "b"]]
    frame["name"] = [f"n{i}" for i in range(30)]
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    for path in (tmp_path / "t.csv", tmp_path / "t.parquet"):
        notes = read_table(path, id_column=id_column).notes
        assert sum(NAMED in note for note in notes) == noted


def test_many_identifiers_are_not_all_listed():
    names = [f"c{i}_id" for i in range(14)]
    (warning,) = identifiers(table(**{name: np.arange(30) * 3 for name in names}))
    assert "'c11_id' and 2 more are named like" in warning
    assert "leave them out with frame.drop(columns=[…])" in warning


@pytest.mark.parametrize("name", ["order_no", "InvoiceNumber", "account number"])
def test_numbers_that_may_be_counts_must_differ(name):
    assert identifiers(table(**{name: np.arange(30) * 3}))
    assert not identifiers(table(**{name: np.arange(30) // 2}))


@pytest.mark.parametrize("name", OTHERS)
def test_other_names_are_not_noted(name):
    assert not identifiers(table(**{name: np.arange(30) * 3}))


def test_fractions_and_zeros_and_ones_are_not_noted():
    frame = table(zip_code=np.arange(30) * 3)
    assert identifiers(frame)
    assert not identifiers(table(has_id=np.arange(30) % 2))
    assert not identifiers(frame.assign(zip_code=frame["zip_code"] / 2))
    assert not identifiers(frame.to_numpy())


def test_uuids_name_rows_as_text(tmp_path):
    ids = [uuid.UUID(int=0), None, uuid.UUID(int=2**127)]
    cells = pa.array([None if one is None else one.bytes for one in ids], pa.uuid())
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"u": cells, "x": [1.0, 2.0, 4.0]}), path)
    table = read_whole(path, id_column="u")
    assert table.ids.tolist() == [None if one is None else str(one) for one in ids]
    (chunk,) = open_files([path], id_column="u").chunks()
    assert chunk.ids.tolist() == table.ids.tolist()
