"""A model reads new files with the words for missing cells of its fit."""

from __future__ import annotations

import copy

import numpy as np
import pandas as pd
import pytest

from princomp import PCA, KernelPCA, RobustPCA, load, read_table
from princomp.errors import NotFiniteError

INCOMPLETE = [3, 7]


@pytest.fixture
def frame():
    rows = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 4)), columns=list("abcd"))
    rows.iloc[INCOMPLETE, 1] = -9
    return rows


@pytest.fixture
def table(frame, tmp_path):
    path = tmp_path / "rows.csv"
    frame.to_csv(path, index=False)
    return path


def _incomplete(scores):
    return np.flatnonzero(np.isnan(scores).any(axis=1)).tolist()


@pytest.mark.parametrize("kind", [PCA, KernelPCA])
def test_a_saved_model_reads_files_with_the_words_of_its_fit(kind, table, tmp_path):
    model = kind(2, missing="drop")
    model.fit(read_table(table, na=["-9"]))
    expected = model.transform(read_table(table, na=["-9"]))
    assert _incomplete(expected) == INCOMPLETE
    model.save(tmp_path / "model.pca")
    for one in (model, load(tmp_path / "model.pca")):
        np.testing.assert_array_equal(one.transform(table), expected)
        np.testing.assert_array_equal(one.transform(read_table(table)), expected)


def test_a_workbook_is_read_with_the_words_of_the_fit(frame, table, tmp_path):
    model = PCA(2, missing="drop").fit(read_table(table, na=["-9"]))
    frame.to_excel(tmp_path / "rows.xlsx", index=False)
    assert _incomplete(model.transform(tmp_path / "rows.xlsx")) == INCOMPLETE


def test_other_words_replace_those_of_the_fit(table):
    model = PCA(2, missing="drop").fit(read_table(table, na=["-9"]))
    assert not _incomplete(model.transform(read_table(table, na=["-99"])))


def test_arrays_and_parquet_files_are_read_as_they_are(frame, table, tmp_path):
    model = PCA(2, missing="drop").fit(read_table(table, na=["-9"]))
    frame.to_parquet(tmp_path / "rows.parquet")
    assert not _incomplete(model.transform(frame))
    assert not _incomplete(model.transform(tmp_path / "rows.parquet"))


def test_no_note_says_that_new_rows_lack_the_words_of_the_fit(frame, table, tmp_path, recwarn):
    model = PCA(2, missing="drop").fit(read_table(table, na=["-9"]))
    complete = tmp_path / "complete.csv"
    frame.drop(index=INCOMPLETE).to_csv(complete, index=False)
    assert not _incomplete(model.transform(complete))
    assert not recwarn.list


def test_a_saved_robust_model_reads_files_with_the_words_of_its_fit(frame, table, tmp_path):
    complete = tmp_path / "complete.csv"
    frame.drop(index=INCOMPLETE).to_csv(complete, index=False)
    RobustPCA(2).fit(read_table(complete, na=["-9"])).save(tmp_path / "model.pca")
    with pytest.raises(NotFiniteError, match="NaN"):
        load(tmp_path / "model.pca").transform(table)


@pytest.mark.parametrize("columns", ["abcd", "dcba"])
def test_a_merged_model_keeps_the_words_of_both(columns, frame, table, tmp_path):
    clean = PCA(2, missing="drop").fit(frame[INCOMPLETE[1] + 1 :][list(columns)])
    marked = PCA(2, missing="drop").fit(read_table(table, na=["-9"]))
    for one, other in ((clean, marked), (marked, clean)):
        merged = copy.deepcopy(one).merge(other)
        assert _incomplete(merged.transform(table)) == INCOMPLETE
