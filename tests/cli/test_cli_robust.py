"""``princomp fit --robust``: files, messages and errors."""

from __future__ import annotations

import io

import numpy as np
import pytest

import princomp as package
from command_line import ARRESTS, files_in, numbers, write_csv
from princomp.cli import inputs as calls

ROBUST = ("fit", ARRESTS, "--id", "State", "--robust", "--scale", "mad", "-k", 2)


@pytest.fixture
def expected(arrests):
    return package.RobustPCA(2, scale="mad").fit(arrests)


def test_a_robust_fit_also_writes_outliers(princomp, tmp_path, arrests, expected):
    done = princomp(*ROBUST)
    assert (done.code, done.err) == (0, "")
    count = int(expected.outliers_.sum())
    assert "50 rows × 4 columns, robust, scale mad: 2 components explain" in done.out
    assert f"{count} of 50 rows are outliers" in done.out
    folder = tmp_path / "usarrests_pca"
    tables = ("eigenvalues", "loadings", "outliers", "scores")
    assert files_in(folder) == sorted(["model.pca", *(f"{name}.csv" for name in tables)])
    scores = numbers(folder / "scores.csv")
    np.testing.assert_allclose(scores, expected.transform(arrests), atol=1e-12)
    np.testing.assert_allclose(numbers(folder / "loadings.csv"), expected.loadings_, atol=1e-12)
    values = numbers(folder / "eigenvalues.csv")
    np.testing.assert_allclose(values[:, 0], expected.explained_variance_)
    np.testing.assert_allclose(values[:, 1], expected.explained_variance_ratio_)
    np.testing.assert_allclose(values[:, 2], np.cumsum(values[:, 1]))
    outliers = numbers(folder / "outliers.csv")
    np.testing.assert_allclose(outliers[:, 0], expected.score_distances_)
    np.testing.assert_allclose(outliers[:, 1], expected.orthogonal_distances_)
    np.testing.assert_array_equal(outliers[:, 2], expected.outliers_)
    lines = (folder / "outliers.csv").read_text().splitlines()
    assert lines[0] == "State,score_distance,orthogonal_distance,outlier"
    assert lines[2].startswith("Alaska,")


def test_the_document_has_the_numbers_of_the_model(princomp, expected):
    found = princomp(*ROBUST, "--json").document
    assert (found["document"], found["estimator"]) == ("princomp.fit", "RobustPCA")
    assert found["outliers"] == np.flatnonzero(expected.outliers_).tolist()
    assert found["n_outliers"] == len(found["outliers"]) > 0
    assert found["score_cutoff"] == pytest.approx(expected.score_cutoff_)
    assert found["scale"] == pytest.approx(expected.scale_.tolist())
    assert sorted(found["files"]) == ["eigenvalues", "loadings", "model", "outliers", "scores"]


def test_the_other_commands_read_a_robust_model(princomp, tmp_path, arrests, expected):
    assert princomp(*ROBUST, "-m", "m.pca", "--no-scores").code == 0
    assert files_in(tmp_path / "usarrests_pca") == ["eigenvalues.csv", "loadings.csv"]
    shown = princomp("show", "m.pca")
    for word in ("robust, scale mad", "rows are outliers", "Assault", "id column: State"):
        assert word in shown.out
    document = princomp("show", "m.pca", "--json").document
    assert document["parameters"]["support"] == 0.75
    assert document["orthogonal_cutoff"] == pytest.approx(expected.orthogonal_cutoff_)
    assert princomp("transform", "m.pca", ARRESTS, "-o", "s.csv").code == 0
    np.testing.assert_allclose(numbers(tmp_path / "s.csv"), expected.transform(arrests), atol=1e-12)
    assert princomp("inverse", "m.pca", "s.csv", "-o", "x.csv").code == 0
    back = expected.inverse_transform(expected.transform(arrests))
    np.testing.assert_allclose(numbers(tmp_path / "x.csv"), back, rtol=1e-12)
    assert princomp("plot", "outliers", "m.pca", ARRESTS, "-o", "o.svg").code == 0
    (tmp_path / "other.pca").write_bytes((tmp_path / "m.pca").read_bytes())
    for args, message in (
        (("plot", "outliers", "m.pca", ARRESTS, "--training", "-o", "p.svg"), "training"),
        (("plot", "outliers", "m.pca", ARRESTS, "--level", 0.9, "-o", "p.svg"), "level"),
        (("plot", "scores", "m.pca", ARRESTS, "-o", "p.svg"), "RobustPCA"),
        (("plot", "scree", "m.pca", "-o", "p.svg"), "RobustPCA"),
        (("merge", "m.pca", "other.pca", "-m", "both.pca"), "RobustPCA"),
        (("rotate", "varimax", "m.pca"), "RobustPCA"),
        (("bootstrap", "m.pca", ARRESTS), "RobustPCA"),
    ):
        done = princomp(*args, "--json")
        assert done.code in (2, 65), args
        assert message in done.error["message"], args
        assert done.error["hint"]
    assert not (tmp_path / "p.svg").exists()
    assert not (tmp_path / "both.pca").exists()


def test_a_missing_cell_in_new_rows_is_reported_with_its_place(princomp, tmp_path):
    assert princomp(*ROBUST, "-m", "m.pca", "--no-scores").code == 0
    header, *lines = ARRESTS.read_text().splitlines()
    lines[4] = lines[4].replace(",9,", ",NA,")
    assert "NA" in lines[4]
    write_csv(tmp_path / "t.csv", header, *lines)
    error = princomp("transform", "m.pca", "t.csv", "-o", "s.csv", "--json").error
    place = {"file": "t.csv", "row": 4, "label": "California", "line": 6, "column": "Murder"}
    assert error["place"] == place
    assert "row 'California' (line 6), column 'Murder' of t.csv" in error["message"]
    assert files_in(tmp_path / "usarrests_pca") == ["eigenvalues.csv", "loadings.csv"]
    assert not (tmp_path / "s.csv").exists()


def test_options_reach_the_estimator(princomp, arrests):
    for args, parameters in (
        (("-k", 0.9), {"n_components": 0.9}),
        (("--support", 0.5, "--seed", 3), {"support": 0.5, "random_state": 3}),
        ((), {}),
    ):
        found = princomp("fit", ARRESTS, "--robust", *args, "--json", "--force").document
        model = package.RobustPCA(**parameters).fit(arrests)
        np.testing.assert_allclose(found["eigenvalues"], model.explained_variance_)


def test_rows_from_a_pipe(princomp, monkeypatch, expected):
    import sys

    class Stream:
        buffer = io.BufferedReader(io.BytesIO(ARRESTS.read_bytes()))

    monkeypatch.setattr(sys, "stdin", Stream())
    done = princomp("fit", "-", *ROBUST[2:], "--json")
    assert done.code == 0
    np.testing.assert_allclose(done.document["eigenvalues"], expected.explained_variance_)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--robust", "-k", "parallel"), "rule"),
        (("--robust", "--scale", "unit"), "mad"),
        (("--robust", "--missing", "drop"), "--missing"),
        (("--robust", "--solver", "full"), "--solver"),
        (("--robust", "--no-center"), "--no-center"),
        (("--robust", "--memory", "1GB"), "--memory"),
        (("--robust", "--checkpoint", "c"), "--checkpoint"),
        (("--robust", "--support", "0.2"), "support"),
        (("--robust", "--seed", "-1"), "seed"),
        (("--robust", "-k", "0"), "-k 0 is not valid"),
        (("--scale", "mad"), "--robust"),
    ],
)
def test_incompatible_options_are_refused_before_any_work(princomp, tmp_path, args, message):
    done = princomp("fit", ARRESTS, *args, "--json")
    assert done.code == 2
    assert message in done.error["message"]
    assert done.error["hint"]
    assert files_in(tmp_path) == []


@pytest.mark.parametrize("option", [("--support", 0.6), ("--seed", 1)])
def test_options_of_a_robust_fit_are_ignored_by_others_with_a_note(princomp, option):
    done = princomp("fit", ARRESTS, *option)
    assert (done.code, f"note: {option[0]} has no effect without --robust" in done.err) == (0, True)


def test_invalid_tables_are_refused_by_name(princomp, tmp_path):
    rows = [f"{i % 7},{i * i % 11},5" for i in range(30)]
    write_csv(tmp_path / "t.csv", "a,b,flat", *rows)
    done = princomp("fit", "t.csv", "--robust", "--scale", "mad", "--json")
    assert (done.code, done.error["place"]) == (65, {"column": "flat"})
    write_csv(tmp_path / "u.csv", "a,b", "1,2", "3,NA", "2,2")
    assert "'b'" in princomp("fit", "u.csv", "--robust", "--json").error["message"]
    write_csv(tmp_path / "v.csv", "a,b", "1,2")
    assert "2 rows" in princomp("fit", "v.csv", "--robust", "--json").error["message"]
    write_csv(tmp_path / "w.csv", "a", *(f"{i * i}" for i in range(9)))
    assert princomp("fit", "w.csv", "--robust").code == 0
    assert "1 component explains 100.0%" in princomp("show", "w_pca/model.pca").out


def test_unequal_columns_get_a_hint_unaffected_by_outliers(princomp, tmp_path):
    message = (
        "the robust variances of the columns differ 1,000,000-fold and 'large' has the largest; "
        "if their units differ, --scale mad gives each column the same weight"
    )
    write_csv(tmp_path / "t.csv", "small,large", *(f"{i % 7},{i * 3 % 7}000" for i in range(28)))
    (note,) = princomp("fit", "t.csv", "--robust", "--json").document["notes"]
    assert note == message
    assert princomp("fit", "t.csv", "--robust", "--scale", "mad", "--force").err == ""
    lines = [f"{i % 7},{i * 3 % 7}" for i in range(28)]
    write_csv(tmp_path / "u.csv", "small,other", "0,1e6", *lines)
    assert princomp("fit", "u.csv", "--robust").err == ""
    assert "--scale unit" in princomp("fit", "u.csv", "-o", "plain").err


def test_rows_that_are_not_kept_get_no_hint(princomp, monkeypatch):
    import sys

    monkeypatch.setattr(calls, "MAX_STDIN_BYTES_IN_MEMORY", 0)
    lines = [f"{i % 7},{i * 3 % 7 * 1000}" for i in range(30)]

    class Stream:
        buffer = io.BufferedReader(io.BytesIO("\n".join(["small,large", *lines]).encode()))

    monkeypatch.setattr(sys, "stdin", Stream())
    done = princomp("fit", "-", "--robust", "--json")
    assert done.code == 0
    message = ["standard input can be read only once: no scores or outliers were written"]
    assert done.document["notes"] == message


def test_plan_and_choose_refuse_options_of_robust_fits(princomp):
    for args in (("plan", ARRESTS, "--scale", "mad"), ("choose", ARRESTS, "--robust")):
        assert princomp(*args).code == 2


@pytest.mark.parametrize("flag", ["--training", "--level 0.9"])
def test_the_outlier_map_refuses_options_that_a_robust_fit_sets(princomp, flag):
    assert princomp("fit", ARRESTS, "--robust", "-m", "m.pca").code == 0
    done = princomp("plot", "outliers", "m.pca", ARRESTS, *flag.split(), "-o", "a.svg")
    assert done.code == 2
    name = flag.partition(" ")[0]
    assert done.err.startswith(f"princomp: {name} does not apply to a RobustPCA")
    assert done.err.endswith(f"\nHint: leave out {name}\n")


def test_a_robust_model_has_one_figure(princomp):
    assert princomp("fit", ARRESTS, "--robust", "-k", 2, "-m", "m.pca").code == 0
    for words in (("scree", "m.pca"), ("scores", "m.pca", ARRESTS), ("circle", "m.pca")):
        error = princomp("plot", *words, "-o", "q.svg", "--json").error
        assert error["exit_code"] == 65
        assert error["message"] == (
            f"m.pca is a RobustPCA, and the figure {words[0]} needs a PCA; figures of this model: "
            "outliers"
        )
    assert princomp("plot", "outliers", "m.pca", ARRESTS, "-o", "q.svg").code == 0
