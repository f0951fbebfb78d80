"""The distances command: T², Q and their limits as a table."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from command_line import write_csv
from princomp import diagnostics, load


@pytest.fixture
def table(rng):
    rows = rng.standard_normal((40, 4)) * [3, 2, 1, 1]
    return pd.DataFrame(rows, columns=list("abcd"), index=[f"r{i}" for i in range(40)])


@pytest.fixture
def model(princomp, table, tmp_path):
    table.to_csv(tmp_path / "rows.csv", index_label="name")
    return fit(princomp, "rows.csv")


def fit(princomp, file, *flags):
    """Fit two components; return the model file."""
    assert princomp("fit", file, "-k", "2", "-o", "fit", "--force", *flags).code == 0
    return "fit/model.pca"


@pytest.mark.parametrize("training", [False, True])
def test_the_table_is_that_of_diagnostics(princomp, model, table, training):
    table.iloc[[3, 30]] += 20
    table.to_csv("new.csv", index_label="name")
    flags = ["--training"] if training else []
    done = princomp("distances", model, "new.csv", "--level", "0.99", "-o", "d.csv", *flags)
    assert (done.code, done.out) == (0, "")
    expected = diagnostics.distances(load(model), table, level=0.99, training=training)
    written = pd.read_csv("d.csv", index_col="name")
    names = ["t2", "q", "t2_limit", "q_limit"]
    pd.testing.assert_frame_equal(written, expected[names].rename_axis("name"))
    beyond = (expected["t2"] > expected["t2_limit"]) | (expected["q"] > expected["q_limit"])
    assert beyond.sum() >= 2
    assert f"beyond the 99% limit of T² or Q: {beyond.sum()} of 40 rows" in done.err
    again = princomp("distances", model, "new.csv", "--level", "0.99", *flags)
    assert again.out.encode() == Path("d.csv").read_bytes()
    document = princomp("distances", model, "new.csv", "--level", "0.99", "--json", *flags).document
    assert document["columns"] == names
    np.testing.assert_array_equal(document["data"], written.to_numpy())


def test_the_level_is_95_percent_by_default(princomp, model, table):
    tables = []
    for i, flags in enumerate(([], ["--level", 0.95], ["--level", 0.9])):
        assert princomp("distances", model, "rows.csv", "-o", f"{i}.csv", *flags).code == 0
        tables.append(pd.read_csv(f"{i}.csv"))
    pd.testing.assert_frame_equal(tables[0], tables[1])
    assert not tables[0].equals(tables[2])


@pytest.mark.filterwarnings("default:.* has no limit")
def test_rows_without_limits_are_not_counted(princomp, tmp_path):
    lines = [f"{i},{i * i % 7},{i % 3}" for i in range(20)]
    write_csv(tmp_path / "t.csv", "a,b,c", *lines)
    done = princomp("distances", fit(princomp, "t.csv", "--no-center"), "t.csv", "--json")
    assert done.code == 0
    assert not any("beyond" in note for note in done.document["notes"])
    assert [row[2:] for row in done.document["data"]] == [[None, None]] * 20


@pytest.mark.filterwarnings("default:.* rows? of X")
def test_filled_cells_are_counted_and_incomplete_rows_are_empty(princomp, model, table):
    table.iloc[5, 1] = np.nan
    table.to_csv("new.csv", index_label="name")
    assert princomp("distances", model, "new.csv").code == 65
    filling = fit(princomp, "rows.csv", "--missing", "em")
    assert princomp("distances", filling, "new.csv", "-o", "d.csv").code == 0
    written = pd.read_csv("d.csv", index_col="name")
    assert written["filled"].tolist() == [float(i == 5) for i in range(40)]
    assert written.notna().all(axis=None)
    dropping = fit(princomp, "rows.csv", "--missing", "drop")
    done = princomp("distances", dropping, "new.csv", "-o", "d.csv", "--force")
    assert done.code == 0
    assert " of 39 rows" in done.err
    assert np.flatnonzero(pd.read_csv("d.csv")["t2"].isna()).tolist() == [5]


def test_other_models_and_outputs_are_refused(princomp, model):
    assert princomp("distances", model, "rows.csv", "-o", "rows.csv", "--force").code == 73
    assert princomp("distances", model, "rows.csv", "-o", "d.xyz").code == 2
    done = princomp("distances", fit(princomp, "rows.csv", "--robust"), "rows.csv")
    assert (done.code, done.out) == (65, "")
    assert "only a PCA has T² and Q" in done.err
