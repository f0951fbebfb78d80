"""princomp fit --missing em: cells of a file are filled and reported, and filled in new rows."""

from __future__ import annotations

import numpy as np
import pytest

from command_line import numbers, run_command
from princomp import PCA, load


@pytest.fixture
def path(rng, tmp_path):
    X = rng.standard_normal((40, 2)) @ rng.standard_normal((2, 4)) + 5
    X[rng.random(X.shape) < 0.1] = np.nan
    lines = [",".join("" if np.isnan(cell) else repr(float(cell)) for cell in row) for row in X]
    (tmp_path / "t.csv").write_text("\n".join(["a,b,c,d", *lines]) + "\n")
    return tmp_path / "t.csv"


@pytest.mark.parametrize("method", ["em", "nipals"])
def test_a_file_with_empty_cells(path, method, tmp_path, capfd):
    options = ("--missing", method, "-k", 1, "-o", tmp_path / "out")
    done = run_command(capfd, "fit", path, *options)
    assert done.code == 0, done.err
    assert f"--missing {method}" in done.err
    assert " rows filled in " in done.err
    model = load(tmp_path / "out" / "model.pca")
    direct = PCA(1, missing=method).fit(path)
    assert model.imputed_ == direct.imputed_
    scores = numbers(tmp_path / "out" / "scores.csv", skip=0)[:, -1:]
    np.testing.assert_allclose(scores, direct.transform(path), rtol=1e-9)
    again = run_command(capfd, "transform", tmp_path / "out" / "model.pca", path)
    assert again.code == 0, again.err
    assert "nan" not in again.out


def test_the_number_of_components_must_be_given(path, capfd):
    refused = run_command(capfd, "fit", path, "--missing", "em")
    assert refused.code == 2
    assert "whole number, such as -k 2" in refused.err
    planned = run_command(capfd, "plan", path, "--missing", "em", "-k", 1)
    assert "filled first" in planned.out
