"""``--groups`` and ``--metadata`` of ``plot`` and ``report`` for .h5ad files: columns of obs."""

from __future__ import annotations

import re

import numpy as np
import pytest

from princomp import PCA, diagnostics
from princomp.io.readers.h5ad import obs_column

h5py = pytest.importorskip("h5py")


@pytest.fixture
def cells(tmp_path):
    """40 cells of 8 genes, with a batch, which is missing once, and a depth."""
    rng, path = np.random.default_rng(0), tmp_path / "cells.h5ad"
    with h5py.File(path, "w") as file:
        file["X"] = rng.standard_normal((40, 8)) * np.arange(8, 0, -1)
        file["var/_index"] = np.array([f"gene{i}" for i in range(8)], dtype="S5")
        file["obs/_index"] = np.array([f"cell{i}" for i in range(40)], dtype="S6")
        file["obs/batch/categories"] = np.array(["b1", "b2"], dtype=h5py.string_dtype())
        file["obs/batch/codes"] = np.array([0, 1] * 19 + [0, -1], dtype="i1")
        file["obs/cluster/categories"] = np.array(["0", "1"], dtype=h5py.string_dtype())
        file["obs/cluster/codes"] = np.array([1, 0] * 20, dtype="i1")
        file["obs/depth"] = rng.standard_normal(40)
        file["obs/gene0"] = np.array([0, 1] * 20)
        for name in ("var", "obs"):
            file[name].attrs["_index"] = "_index"
    return path


def test_groups_of_a_figure_are_a_column_of_obs(princomp, cells, tmp_path):
    assert princomp("fit", cells, "-k", 2, "-m", "m.pca", "--no-scores").code == 0
    args = ("plot", "scores", "m.pca", cells, "-o", "a.svg")
    assert princomp(*args).code == 0
    assert princomp(*args, "--groups", "batch", "--force").code == 0
    drawn = (tmp_path / "a.svg").read_text()
    assert re.findall(r"<!-- (b\d|no group)", drawn)[:1] == ["b1"]
    # For a name that is in obs and in the matrix, obs takes precedence, as in Python.
    assert princomp(*args, "--groups", "gene0", "--force").code == 0


def test_categories_of_older_files_are_named(princomp, cells):
    """Until anndata 0.7, a column held codes and referred to their names."""
    with h5py.File(cells, "r+") as file:
        codes, names = (file[f"obs/batch/{part}"][:] for part in ("codes", "categories"))
        del file["obs/batch"]
        file["obs/__categories/batch"] = names
        file["obs/batch"] = codes
        file["obs/batch"].attrs["categories"] = file["obs/__categories/batch"].ref
    found = obs_column(cells, "batch")
    assert found.tolist() == ["b1", "b2"] * 19 + ["b1", None]


def test_categories_that_may_be_missing_are_named(princomp, cells):
    """Nullable text is a group of values and a mask, also where it names categories."""
    with h5py.File(cells, "r+") as file:
        names = file["obs/batch/categories"][:]
        del file["obs/batch/categories"]
        file["obs/batch/categories/values"] = names
        file["obs/batch/categories/mask"] = np.zeros(len(names), bool)
    assert obs_column(cells, "batch").tolist() == ["b1", "b2"] * 19 + ["b1", None]


def test_a_report_takes_columns_of_obs(princomp, cells, tmp_path, draw_only):
    draw_only("scores", "metadata")
    args = ("--groups", "batch", "--metadata", "depth,batch,cluster", "--bootstrap", 0)
    assert princomp("fit", cells, "-k", 2, "-m", "m.pca", "--no-scores").code == 0
    pages = []
    for files in ((cells,), ("m.pca", cells), (tmp_path / "*.h5ad",)):
        flags = ("-k", 2) if files[0] != "m.pca" else ()
        done = princomp("report", *files, *flags, *args, "-o", "r.html", "--force")
        assert (done.code, done.err) == (0, "")
        pages.append((tmp_path / "r.html").read_text())
        assert "depth (r)" in pages[-1]
        assert "batch (η²)" in pages[-1]
        assert "cluster (η²)" in pages[-1]
        assert '"labels": ["b1", "b2"]' in pages[-1]
        assert "8 columns: gene0, " in pages[-1]


def test_unknown_columns_of_obs_are_refused(princomp, cells):
    assert princomp("fit", cells, "-k", 2, "-m", "m.pca", "--no-scores").code == 0
    for args in (
        ("plot", "scores", "m.pca", cells, "-o", "a.svg", "--groups", "bacth"),
        ("report", cells, "-k", 2, "--groups", "bacth"),
        ("report", cells, "-k", 2, "--metadata", "depth,bacth"),
        ("report", "m.pca", cells, "--groups", "bacth"),
    ):
        done = princomp(*args, "--json")
        assert done.code == 65
        assert done.error["message"].endswith("obs has no column 'bacth'")
        assert done.error["hint"].startswith("Did you mean 'batch'? It has ")
    done = princomp("report", cells, "-k", 2, "--groups", "batch", "--untrusted", "--json")
    assert done.code == 65
    assert "cannot be read" in done.error["message"]


def test_groups_of_an_array_are_refused(princomp, tmp_path):
    np.save(tmp_path / "x.npy", np.random.default_rng(0).standard_normal((20, 3)))
    assert princomp("fit", "x.npy", "-k", 2, "-m", "m.pca", "--no-scores").code == 0
    done = princomp("plot", "scores", "m.pca", "x.npy", "-o", "a.svg", "--groups", "q", "--json")
    assert done.code == 65
    assert done.error["message"] == "x.npy: no column 'q': it holds numbers only"


def test_numbers_that_name_categories_are_no_numbers(princomp, cells):
    with h5py.File(cells, "r+") as file:
        del file["obs/cluster/categories"]
        file["obs/cluster/categories"] = np.array([0, 1])
    assert obs_column(cells, "cluster").tolist() == ["1", "0"] * 20
    model = PCA(2).fit(cells)
    table = diagnostics.metadata(model, cells, ["cluster"], frame="listing")
    assert set(table["kind"]) == {"categorical"}
