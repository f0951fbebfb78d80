"""What tests of all rooms are given. Being here, it also puts this folder on the path."""

from __future__ import annotations

import csv
import tracemalloc
from functools import partial

import numpy as np
import pytest

from command_line import ARRESTS, call


@pytest.fixture(autouse=True)
def _nothing_is_traced_on():
    """A test of memory that fails leaves no slow process to those after it."""
    yield
    tracemalloc.stop()


@pytest.fixture
def rng():
    return np.random.default_rng(20240607)


@pytest.fixture(scope="session")
def arrests():
    return np.loadtxt(ARRESTS, delimiter=",", skiprows=1, usecols=(1, 2, 3, 4))


@pytest.fixture
def princomp(capfd, monkeypatch, tmp_path):
    """The command line in this process, typed in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return partial(call, capfd)


@pytest.fixture
def model_file(princomp, tmp_path):
    """A file of the command line: the arrests at unit scale, two components."""
    done = princomp("fit", ARRESTS, "--id", "State", "--scale", "unit", "-k", 2, "--no-scores")
    assert done.code == 0
    return tmp_path / "usarrests_pca" / "model.pca"


@pytest.fixture
def grouped_file(tmp_path):
    """The arrests with a column of text, of which one cell is empty, and one of numbers."""
    path = tmp_path / "grouped.csv"
    with ARRESTS.open() as file, path.open("w") as out:
        header, *lines = csv.reader(file)
        write = csv.writer(out, lineterminator="\n")
        write.writerow([*header, "region", "turn"])
        for i, line in enumerate(lines):
            write.writerow([*line, "" if i == 7 else "NSWE"[i % 4], i % 3])
    return path
