"""``princomp rotate`` and ``princomp bootstrap``: tables, JSON documents and errors."""

from __future__ import annotations

import csv
import io

import numpy as np
import pyarrow.feather
import pyarrow.parquet
import pytest

import princomp as package
from command_line import ARRESTS, files_in, numbers, write_csv


@pytest.fixture
def model(princomp, tmp_path):
    args = ("--id", "State", "--scale", "unit", "-k", 2, "--no-scores", "-o", "fit")
    assert princomp("fit", ARRESTS, *args, "-m", "m.pca").code == 0
    return tmp_path / "m.pca"


# ---- rotate -------------------------------------------------------------------------------------


def test_varimax_of_the_arrests_is_known(princomp, model, tmp_path, arrests):
    done = princomp("rotate", "varimax", model, ARRESTS)
    assert (done.code, done.err) == (0, "")
    assert "Rotation by varimax of 2 components" in done.out
    folder = tmp_path / "m_varimax"
    assert files_in(folder) == ["loadings.csv", "scores.csv", "variances.csv"]
    loadings = numbers(folder / "loadings.csv")
    np.testing.assert_allclose(np.abs(loadings[0]), [0.93899, 0.06067], atol=5e-6)
    squares = numbers(folder / "variances.csv")[:, 0]
    np.testing.assert_allclose(squares, [2.261153, 1.208853], atol=1e-6)
    found = package.rotate(package.PCA(2, scale="unit").fit(arrests))
    scores = numbers(folder / "scores.csv")
    np.testing.assert_allclose(scores, found.transform(arrests), atol=1e-12)
    texts = {name: (folder / name).read_text().splitlines() for name in files_in(folder)}
    assert texts["loadings.csv"][0] == "variable,RC1,RC2"
    assert texts["variances.csv"][0] == "component,sum_of_squares,variance,contribution_rate"
    assert texts["scores.csv"][2].startswith("Alaska,")


def test_promax_has_correlations_of_its_components(princomp, model, tmp_path, arrests):
    done = princomp("rotate", "promax", model, "--power", 3, "--no-kaiser", "-o", "out", "--json")
    plain = package.PCA(2, scale="unit").fit(arrests)
    found = package.rotate(plain, "promax", power=3, kaiser=False)
    assert done.document["document"] == "princomp.rotate"
    assert done.document["factor_correlations"] == found.factor_correlations.tolist()
    assert sorted(done.document["files"]) == ["correlations", "loadings", "variances"]
    written = numbers(tmp_path / "out" / "correlations.csv")
    np.testing.assert_allclose(written, found.factor_correlations)
    assert 0.1 < abs(written[0, 1]) < 1
    again = princomp("rotate", "promax", model, "-o", "out", "--json")
    assert (again.code, again.error["kind"]) == (73, "OutputExistsError")
    assert princomp("rotate", "promax", model, "-o", "out", "--force").code == 0
    assert not np.allclose(numbers(tmp_path / "out" / "correlations.csv"), written)


def test_rotated_tables_in_other_formats(princomp, model, tmp_path):
    args = ("rotate", "varimax", model, ARRESTS, "-o", "out", "--format")
    assert princomp(*args, "parquet").code == 0
    table = pyarrow.parquet.read_table(tmp_path / "out" / "scores.parquet")
    assert table.column_names == ["State", "RC1", "RC2"]
    assert princomp(*args, "npy").code == 0
    assert np.load(tmp_path / "out" / "loadings.npy").shape == (4, 2)


@pytest.mark.parametrize("fitted", [np.float32, np.float64])
def test_scores_of_float32_tables_are_written(princomp, tmp_path, fitted):
    rows = np.random.default_rng(0).standard_normal((30, 4)).astype(np.float32)
    np.save(tmp_path / "x.npy", rows)
    model = package.PCA(2).fit(rows.astype(fitted))
    model.save(tmp_path / "m.pca")
    args = ("rotate", "varimax", "m.pca", "x.npy", "-o", "out", "--format", "npy")
    assert princomp(*args).code == 0
    scores = np.load(tmp_path / "out" / "scores.npy")
    assert scores.dtype == package.rotate(model).transform(rows).dtype == np.float32
    expected = package.rotate(model).transform(rows.astype(np.float64))
    np.testing.assert_allclose(scores, expected, atol=1e-5)


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (("rotate", "quartimax", "m.pca"), 2, "quartimax"),
        (("rotate", "promax", "m.pca", "--power", 1), 2, "power"),
        (("rotate", "varimax", "no.pca"), 66, "no.pca"),
        (("rotate", "varimax", "m.pca", "other.csv"), 65, "lacks columns"),
        (("rotate", "varimax", "flat.pca"), 65, "component 2 has no variance"),
    ],
)
def test_invalid_rotations_are_refused_and_nothing_is_written(
    princomp, model, tmp_path, args, code, message
):
    write_csv(tmp_path / "other.csv", "a,b", "1,2", "2,1")
    X = np.outer(np.arange(9.0), [1.0, 2.0, 3.0])
    package.PCA(2).fit(X).save(tmp_path / "flat.pca")
    before = files_in(tmp_path)
    done = princomp(*args, "--json")
    assert done.code == code
    assert message in done.error["message"]
    assert done.error["hint"]
    assert files_in(tmp_path) == before


def test_varimax_ignores_the_power_with_a_note(princomp, model):
    done = princomp("rotate", "varimax", model, "--power", 3, "-o", "out")
    assert (done.code, done.err) == (0, "note: --power has no effect on varimax\n")


def test_rotating_all_components_is_noted(princomp):
    args = ("--id", "State", "--scale", "unit", "--no-scores", "-o", "all", "-m", "all.pca")
    assert princomp("fit", ARRESTS, *args).code == 0
    done = princomp("rotate", "varimax", "all.pca", "-o", "out")
    assert done.code == 0
    assert "note: all 4 components are rotated, so each may stand for a single var" in done.err
    assert "-k parallel" in done.err


def test_one_component_is_its_own_rotation(princomp, tmp_path):
    write_csv(tmp_path / "one.csv", "a,b", *(f"{i},{i * i % 5}" for i in range(12)))
    assert princomp("fit", "one.csv", "-k", 1, "-m", "one.pca").code == 0
    for method in ("varimax", "promax"):
        found = princomp("rotate", method, "one.pca", "--json").document
        assert found["matrix"] == [[1.0]]
        assert found["factor_correlations"] == [[1.0]]


# ---- bootstrap ----------------------------------------------------------------------------------


def csv_rows(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_intervals_are_a_tidy_table_on_stdout(princomp, model, arrests):
    done = princomp("bootstrap", model, ARRESTS, "-n", 50, "--seed", 4)
    assert done.code == 0
    assert "Bootstrap of 50 resamples, 95% intervals" in done.err
    found = package.bootstrap(arrests, n=50, random_state=4, n_components=2, scale="unit")
    lines = csv_rows(done.out)
    assert list(lines[0]) == [
        *("quantity", "component", "variable", "value", "low", "high", "error"),
    ]
    kinds = [line["quantity"] for line in lines]
    assert kinds == ["variance"] * 2 + ["rate"] * 2 + ["loading"] * 8
    assert lines[1]["variable"] == ""
    np.testing.assert_allclose(
        [[float(line[end]) for line in lines[:2]] for end in ("low", "high")],
        found.variance_interval,
    )
    (one,) = [x for x in lines if (x["variable"], x["component"]) == ("UrbanPop", "PC2")]
    assert float(one["value"]) == pytest.approx(found.loadings[2, 1])
    assert float(one["high"]) == pytest.approx(found.loading_interval[1, 2, 1])
    assert float(one["error"]) == pytest.approx(found.loading_error[2, 1])


def test_a_table_is_fitted_first_with_the_flags_of_fit(princomp, model):
    args = ("-n", 30, "--align", "procrustes", "--level", 0.8)
    of_model = princomp("bootstrap", model, ARRESTS, *args)
    of_table = princomp("bootstrap", ARRESTS, "--scale", "unit", "-k", 2, *args)
    assert of_table.out == of_model.out
    assert "80% intervals" in of_table.err
    assert "named by column 'State'" in of_table.err


def test_bootstrap_json_and_every_kind_of_output(princomp, model, tmp_path):
    base = ("bootstrap", model, ARRESTS, "-n", 20)
    document = princomp(*base, "--json").document
    assert document["document"] == "princomp.bootstrap"
    assert (document["n"], document["seed"], document["files"]) == (20, 0, {})
    assert np.shape(document["loading_interval"]) == (2, 4, 2)
    text = princomp(*base).out
    for name in ("a.csv", "a.tsv", "a.parquet", "a.arrow"):
        done = princomp(*base, "-o", name, "--json")
        assert done.document["files"] == {"intervals": name}
    assert (tmp_path / "a.csv").read_text() == text
    assert (tmp_path / "a.tsv").read_text() == text.replace(",", "\t")
    values = [float(line["value"]) for line in csv_rows(text)]
    for table in (
        pyarrow.parquet.read_table(tmp_path / "a.parquet"),
        pyarrow.feather.read_table(tmp_path / "a.arrow"),
    ):
        assert table["value"].to_pylist() == values
        assert table["variable"].to_pylist()[:2] == [None, None]
    assert princomp(*base, "-o", "a.csv").code == 73
    assert princomp(*base, "-o", "a.csv", "--force").code == 0


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (("m.pca",), 2, "give DATA"),
        (("m.pca", ARRESTS, "-k", 2), 2, "-k is an option of a fit"),
        (("m.pca", ARRESTS, "--scale", "unit"), 2, "--scale is an option of a fit"),
        (("m.pca", ARRESTS, "-n", 1), 2, "resamples"),
        (("m.pca", ARRESTS, "--level", 1), 2, "level"),
        (("m.pca", ARRESTS, "-o", "x.npy"), 2, "text and numbers"),
        (("m.pca", "half.csv"), 2, "are not the 50"),
        (("m.pca", "other.csv"), 65, "lacks columns"),
        (("holes.csv", "--missing", "em", "-k", 1), 65, "filled"),
        (("flat.csv", "--scale", "unit"), 65, "'flat'"),
        ((ARRESTS, "-k", 9), 65, "-k 9 must be"),
        (("one.csv",), 65, "2 rows"),
    ],
)
def test_invalid_bootstraps_are_refused(princomp, model, tmp_path, args, code, message):
    header, *lines = ARRESTS.read_text().splitlines()
    write_csv(tmp_path / "half.csv", header, *lines[:25])
    write_csv(tmp_path / "other.csv", "a,b", "1,2", "2,1")
    write_csv(tmp_path / "holes.csv", "a,b", "1,2", "2,NA", "3,5", "5,1")
    write_csv(tmp_path / "flat.csv", "a,flat", "1,2", "2,2", "3,2")
    write_csv(tmp_path / "one.csv", "a,b", "1,2")
    before = files_in(tmp_path)
    done = princomp("bootstrap", *args, "--json")
    assert done.code == code
    assert message in done.error["message"]
    assert done.error["hint"]
    assert files_in(tmp_path) == before


def test_bootstrap_of_one_variable_and_of_two_rows(princomp, tmp_path):
    write_csv(tmp_path / "one.csv", "a", *(f"{i * i % 7}" for i in range(12)))
    done = princomp("bootstrap", "one.csv", "-n", 20)
    assert done.code == 0
    assert [line["quantity"] for line in csv_rows(done.out)] == ["variance", "rate", "loading"]
    write_csv(tmp_path / "two.csv", "a,b", "1,2", "3,1")
    assert princomp("bootstrap", "two.csv", "-n", 20).code == 0
    scaled = princomp("bootstrap", "two.csv", "-n", 20, "--scale", "unit", "--json")
    assert scaled.code == 65
    assert "resample" in scaled.error["message"]
