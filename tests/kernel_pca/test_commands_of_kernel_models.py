"""``princomp inverse`` and what ``princomp fit --kernel`` prints and suggests."""

from __future__ import annotations

from command_line import ARRESTS, write_csv

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
