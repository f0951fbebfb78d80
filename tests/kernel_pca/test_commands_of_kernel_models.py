"""``princomp inverse`` and what ``princomp fit --kernel`` prints and suggests."""

from __future__ import annotations

import shlex

import numpy as np
import pandas as pd
import pytest

from command_line import ARRESTS, write_csv
from princomp import load

FIT = ("--id", "State", "--kernel", "rbf", "--gamma", "median", "-k", 2, "-m", "m.pca", "-o", "r")


def test_rows_with_missing_cells_have_empty_pre_images(princomp, tmp_path):
    header, first, second, *others = ARRESTS.read_text().splitlines()
    second = second.rpartition(",")[0] + ","  # without its last cell
    write_csv(tmp_path / "gap.csv", header, first, second, *others)
    options = ("--pre-image", "fixed_point", "--missing", "drop")
    assert princomp("fit", "gap.csv", *FIT, *options).code == 0
    assert princomp("inverse", "m.pca", "r/scores.csv", "-o", "back.csv").code == 0
    lines = (tmp_path / "back.csv").read_text().splitlines()
    assert len(lines) == len(others) + 3
    assert lines[2] == "Alaska,,,,"
    assert sum(",," in line for line in lines) == 1


@pytest.mark.parametrize(
    ("options", "advice"),
    [
        (("--kernel", "poly", "--degree", 2), ("--pre-image", "fixed_point")),
        (
            ("--kernel", "laplacian", "--approximation", "features", "--landmarks", 8),
            ("--pre-image", "ridge", "--approximation", "nystrom"),
        ),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore:the kernel .* is near zero for nearly all pairs")
def test_the_hint_on_pre_images_works(options, advice, princomp):
    fit = ("fit", ARRESTS, "--id", "State", *options, "-k", 2, "--force", "-m", "m.pca", "-o", "r")
    assert princomp(*fit).code == 0
    error = princomp("inverse", "m.pca", "r/scores.csv", "--json").error
    assert error["hint"].startswith("fit again with --pre-image ridge, fixed_point or distance")
    assert princomp(*fit, *advice).code == 0
    assert princomp("inverse", "m.pca", "r/scores.csv", "-o", "back.csv").code == 0


@pytest.mark.parametrize("kernel", ["precomputed", "chi2", "additive_chi2"])
def test_kernels_without_pre_images_say_so_in_the_fit(kernel, princomp, arrests, tmp_path):
    rows = np.asarray(arrests)
    np.save(tmp_path / "x.npy", rows @ rows.T if kernel == "precomputed" else rows)
    fit = ("fit", "x.npy", "--kernel", kernel, "-k", 2, "-m", "m.pca", "-o", "r", "--force")
    assert princomp(*fit).code == 0
    assert princomp("inverse", "m.pca", "r/scores.csv", "--json").code == 65
    error = princomp(*fit, "--pre-image", "ridge", "--json").error
    assert error["message"].startswith("--pre-image ridge ")
    assert "leave --pre-image out" in error["hint"]


@pytest.mark.parametrize("kind", ["csv", "npy"])
def test_the_hint_on_constant_columns_names_all_of_them(kind, princomp, tmp_path, rng):
    rows = rng.standard_normal((30, 12))
    rows[:, 2:11] = 1.0
    if kind == "csv":
        names = ["a", "b", "c, d", *(f"x{j}" for j in range(3, 12))]
        pd.DataFrame(rows, columns=names).to_csv(tmp_path / "x.csv", index=False)
    else:
        np.save(tmp_path / "x.npy", rows)
    fit = ("fit", f"x.{kind}", "--kernel", "rbf", "--scale", "unit", "-k", 2, "--no-scores")
    hint = princomp(*fit, "--json").error["hint"]
    advice, leaves = hint.split(" leaves ")
    assert leaves == "the columns out"
    assert princomp(*fit, *shlex.split(advice)).code == 0


@pytest.mark.parametrize("more", [(), ("--approximation", "nystrom")], ids=str)
def test_fit_and_show_print_the_variances(more, princomp):
    fitted, shown = princomp("fit", ARRESTS, *FIT, *more), princomp("show", "m.pca")
    model = load("m.pca")
    lines = [line.split() for line in fitted.out.splitlines()]
    start = lines.index(["component", "variance", "rate", "accumulated"])
    variances = model.explained_variance_.tolist()
    for name, variance, line in zip(("PC1", "PC2"), variances, lines[start + 1 :], strict=False):
        assert line[:2] == [name, f"{variance:.7g}"]
    assert lines[start + 2][-1] == f"{model.accumulated_rate_[1]:.2%}"
    assert [line.split() for line in shown.out.splitlines()][start : start + 3] == lines[
        start : start + 3
    ]
