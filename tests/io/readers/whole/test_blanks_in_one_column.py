"""Lines below a table do not hide that blanks separate it; errors about the only column help."""

from __future__ import annotations

import pytest
from file_cases import refused
from sklearn.datasets import load_svmlight_file

from helpers import read_whole
from princomp import PCA
from princomp.errors import MalformedFileError, PrincompError, ShapeError
from princomp.io.readers.files import open_files
from princomp.io.readers.read_options import ReadOptions

PSL = (
    "  1981   1984\n"
    "1981 0.5 1.5 2.25\n1982 1.5 0.25 -1\n1983 0.75 -0.5 1\n1984 2 1 0.5\n"
    "-99.99\n  Nino Anom\n  from NOAA\n"
)


def test_lines_left_out_below_a_table_do_not_hide_its_separator(write):
    options = ReadOptions(skip=1, skip_end=3, header=0)
    table = read_whole(write(PSL, "t.txt"), options=options, id_column="x0")
    assert table.data.tolist() == [[0.5, 1.5, 2.25], [1.5, 0.25, -1], [0.75, -0.5, 1], [2, 1, 0.5]]
    for asked in ({}, {"id_column": "x0"}):
        error = refused(MalformedFileError, write(PSL), options=options, **asked)
        assert "may be separated by spaces (4 columns)" in str(error)
        assert "sep=' '" in error.hint


@pytest.mark.parametrize("name", ["t.csv", "t.txt"])
def test_a_column_of_numbers_between_blanks_names_the_separator(write, name):
    error = refused(ShapeError, write(PSL, name))
    assert "no numeric column; without numbers: 1981   1984" in str(error)
    assert error.hint.endswith("name the separator between them, such as sep=' '.")
    error = refused(ShapeError, write("remark,other\na,b\nc,d\n", name))
    assert "separator" not in error.hint


def test_an_id_column_may_be_the_only_one(write):
    error = refused(ShapeError, write("x\n1\n2\n"), id_column="x")
    assert "no column remains to analyse: the only one, 'x', names the rows" in str(error)
    assert error.hint == "Leave id_column= out."
    error = refused(ShapeError, write("x,y\n1,2\n2,1\n"), id_column="x", exclude=["y"])
    assert error.hint == "Exclude fewer columns."


@pytest.mark.parametrize("name", ["x.txt", "x.csv", "x.svm", "x.libsvm", "x.svmlight"])
def test_svmlight_files_are_refused_with_a_hint_that_works(tmp_path, name):
    path = tmp_path / name
    path.write_text("".join(f"{i % 2} 0:{i}.5 1:-2e-1 3:{i * i}\n" for i in range(9)))
    with pytest.raises(PrincompError) as caught:
        open_files([path])
    assert caught.value.hint.startswith("Give sklearn.datasets.load_svmlight_file(path)[0]")
    assert PCA().fit(load_svmlight_file(path)[0]).n_features_in_ == 4


def test_names_between_spaces_are_no_title_above_rows_that_decimal_commas_seem_to_split(write):
    """As R writes them, where the name of a row has a comma."""
    rows = '"Rossi, A" 1,5 2,25\n"Verdi" 2,5 1,75\n"Bianchi" 0,5 3,5\n"Neri" 4,25 1,125\n'
    path = write('"x" "y"\n' + rows, "r.txt")
    assert "sep=' '" in refused(MalformedFileError, path).hint
    table = read_whole(path, options=ReadOptions(sep=" "))
    assert table.data.tolist() == [[1.5, 2.25], [2.5, 1.75], [0.5, 3.5], [4.25, 1.125]]
