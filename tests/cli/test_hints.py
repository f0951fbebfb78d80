"""On the command line, messages of the library name flags, and are not changed otherwise."""

from __future__ import annotations

import pytest

from command_line import ARRESTS
from princomp.cli.hints import as_flags


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("n_components=7 must be between 0 and 4", "-k 7 must be between 0 and 4"),
        ("n_components=0.9, or fewer columns", "-k 0.9, or fewer columns"),
        ("the same order (columns=)", "the same order (--columns)"),
        ("missing='em' or missing='nipals'", "--missing em or --missing nipals"),
        ("header=2 reads both, overwrite=True", "--header-lines 2 reads both, --force"),
        ("id_column='name', id_column=False", "--id name, --no-id"),
        ("n_components=None is given, scale=None", "no -k is given, --scale none"),
        ("memory_limit=None", "memory_limit=None"),
        ("leave it out of columns=.", "leave it out of --columns."),
        (
            "leave the constant columns out, or set constant='drop'; scale can also be an array of "
            "divisors",
            "leave the constant columns out (--exclude), or set --constant drop",
        ),
        ("such as n_components=2; 0 fills cells with column means", "such as -k 2"),
        ("use model.truncated(2), or fit with n_components=2", "fit with -k 2"),
        (
            "fit with constant='zero', or with the fixed divisors of the model, scale=model.scale_",
            "fit with --constant zero",
        ),
        (
            "their error; PCA(3, svd_solver='full').partial_fit is exact, and keeps the rows as "
            "long as there are fewer than twice as many as columns; so is PCA.fit of a file, or of "
            "a function that makes a new iterator",
            "their error; fit of a file is exact",
        ),
        ("exclude=['zip, code', 'b']", """--exclude '"zip, code",b'"""),
        ("exclude=['zip [x]'] leaves", "--exclude 'zip [x]' leaves"),
        ("gamma=-0.5 is not valid, nor gamma=nan", "--gamma -0.5 is not valid, nor --gamma nan"),
        ("gamma=-inf is not valid", "--gamma -inf is not valid"),
        ("rules=['kaiser', 'gcv'] or gamma=median", "--rules kaiser,gcv or gamma=median"),
        ("choose one of kaiser, or an object with name, needs and decide", "choose one of kaiser"),
        (
            "give each rule once; rules with other options can have names of their own",
            "give each rule once",
        ),
        (
            "leave it out (in tune, use by='reconstruction'), or use another kernel",
            "leave it out, or use another kernel",
        ),
        # Plain English, names of files and columns, and parameters without a flag.
        ("missing columns, the scale of a column", "missing columns, the scale of a column"),
        ("train_set.csv: column 'n_eggs' row 3", "train_set.csv: column 'n_eggs' row 3"),
        ("sample_weight=2 and tol=1e-3", "sample_weight=2 and tol=1e-3"),
    ],
)
def test_parameters_become_flags(text, expected):
    assert as_flags(text) == expected
    assert as_flags(text, bare_names=True) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("set n_components from 0 to 4", "set -k from 0 to 4"),
        ("n_components must be a number, got 'x'", "-k must be a number, got 'x'"),
        ("allow 3 GB (memory_limit)", "allow 3 GB (--memory)"),
        ("unknown 'random_state'", "unknown 'random_state'"),
        ("gamma must be None, 'median' or a number", "gamma must be 'median' or a number"),
        ("scale must be an array or None, got 1", "scale must be an array, got 1"),
    ],
)
def test_names_alone_become_flags_in_texts_about_parameters(text, expected):
    assert as_flags(text, bare_names=True) == expected
    assert as_flags(text) == text


def test_advice_on_errors_in_python_is_left_out():
    text = "leave the columns out (error.place['columns'] lists all): their cells are empty"
    assert as_flags(text) == "leave the columns out (--exclude): their cells are empty"


def test_a_column_with_the_name_of_a_parameter_keeps_it(princomp, tmp_path):
    (tmp_path / "t.csv").write_text("n_components,random_state,a\n1,x,2\n2,y,NA\n5,z,1\n")
    found = princomp("fit", "t.csv", "--columns", "n_components,b")
    assert "random_state" in found.err
    assert "-k" not in found.err
    assert "--seed" not in found.err
    assert "random_state" in princomp("fit", "t.csv", "--missing", "drop", "--no-id").err


def test_messages_and_hints_of_errors_name_flags(princomp, tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,2\n3,NA\n5,1\n")
    hint = (
        "leave such rows out (--missing drop), or fill the cells (--missing em or --missing nipals)"
    )
    assert hint in princomp("fit", "t.csv").err
    (tmp_path / "u.csv").write_text("a,b\n1,2\n3,4\n5,1\n")
    error = princomp("fit", "u.csv", "-k", 7, "--json").error
    assert error["message"].startswith("-k 7 must be between 0 and ")
    assert error["hint"] == "ask for 1 to 2 components"  # -k 0 is refused


def test_hints_of_a_kernel_pca_name_flags(princomp, tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,2\n3,NA\n5,1\n")
    found = princomp("fit", "t.csv", "--kernel", "rbf", "-k", 1)
    assert "--missing drop, --missing em or --missing nipals" in found.err
    found = princomp("fit", ARRESTS, "--kernel", "rbf", "-k", 1, "--memory", "10KB")
    assert "(--memory)" in found.err
    assert "--approximation nystrom" in found.err
