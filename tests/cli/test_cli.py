"""Every command and flag of the command line, and what it writes where."""

from __future__ import annotations

import gzip

import numpy as np
import pandas as pd
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest

import princomp as package
from command_line import ARRESTS, files_in, numbers, write_csv
from helpers import truth
from princomp import PCA, bootstrap, report
from princomp.core import fitted_model, verdict_lines, verdicts

EIGENVALUES = [2.4802416, 0.9897652, 0.3565632, 0.1734301]
DOCUMENT = {
    "rows",
    "columns",
    "n_components",
    "eigenvalues",
    "contribution_rate",
    "accumulated_rate",
    "total_variance",
    "plan",
    "certificate",
    "files",
}


# ---- fit ------------------------------------------------------------------------------


def test_fit_usarrests_as_json(princomp):
    done = princomp("fit", ARRESTS, "--id", "State", "--scale", "unit", "-k", 0.8, "--json")
    assert (done.code, done.err) == (0, "")
    found = done.document
    np.testing.assert_allclose(found["eigenvalues"], EIGENVALUES, atol=5e-8)
    assert found["n_components"] == 2
    assert found.keys() >= DOCUMENT
    assert found["document"] == "princomp.fit"
    assert found["rows"] == 50
    assert found["columns"] == ["Murder", "Assault", "UrbanPop", "Rape"]
    np.testing.assert_allclose(found["contribution_rate"], np.array(EIGENVALUES) / 4, atol=5e-8)
    np.testing.assert_allclose(found["accumulated_rate"][-1], 1.0)
    assert found["total_variance"] == pytest.approx(4.0)
    assert found["plan"]["solver"] == "eigh"
    assert found["certificate"]["below_resolution"] == [False, False]
    assert sorted(found["files"]) == ["eigenvalues", "loadings", "model", "scores"]


def test_components_may_be_a_percentage_or_have_a_decimal_comma(princomp):
    kept = [
        princomp("fit", ARRESTS, "-k", k, "--scale", "unit", "--force", "--json").document[
            "n_components"
        ]
        for k in (0.8, "80%", "0,8")
    ]
    assert kept[1:] == kept[:1] * 2


def test_fit_writes_four_files_into_a_folder_named_after_the_table(princomp, tmp_path, arrests):
    write_csv(tmp_path / "arrests.2024.csv", *ARRESTS.read_text().splitlines())
    done = princomp("fit", "arrests.2024.csv", "--id", "State", "-k", 2)
    assert done.code == 0
    assert files_in(tmp_path / "arrests_pca") == [
        "eigenvalues.csv",
        "loadings.csv",
        "model.pca",
        "scores.csv",
    ]
    for name in files_in(tmp_path / "arrests_pca"):
        assert f"arrests_pca/{name}" in done.out
    fitted = package.PCA(2).fit(arrests)
    folder = tmp_path / "arrests_pca"
    np.testing.assert_allclose(
        numbers(folder / "scores.csv"), fitted.transform(arrests), atol=1e-11
    )
    np.testing.assert_allclose(numbers(folder / "loadings.csv"), fitted.loadings_, atol=1e-11)
    table = numbers(folder / "eigenvalues.csv")
    np.testing.assert_allclose(table[:, 0], truth(arrests)[0], rtol=1e-12)
    np.testing.assert_allclose(table[:, 2], np.cumsum(table[:, 1]))
    assert len(table) == 4
    lines = {path.name: path.read_text().splitlines() for path in folder.glob("*.csv")}
    assert lines["scores.csv"][0] == "State,PC1,PC2"
    assert lines["scores.csv"][2].startswith("Alaska,")
    assert lines["loadings.csv"][0] == "variable,PC1,PC2"
    assert [line.split(",")[0] for line in lines["loadings.csv"][1:]] == [
        "Murder",
        "Assault",
        "UrbanPop",
        "Rape",
    ]
    assert lines["eigenvalues.csv"][0] == "component,eigenvalue,contribution_rate,accumulated_rate"
    assert [line.split(",")[0] for line in lines["eigenvalues.csv"][1:]] == [
        "PC1",
        "PC2",
        "PC3",
        "PC4",
    ]
    scores = package.load(folder / "model.pca").transform(tmp_path / "arrests.2024.csv")
    np.testing.assert_array_equal(numbers(folder / "scores.csv"), scores)


def test_ids_are_written_unchanged(princomp, tmp_path):
    write_csv(tmp_path / "t.csv", "code,a,b", "007,1,2", "010,2,1", "1e3,4,4")
    assert princomp("fit", "t.csv", "--id", "code").code == 0
    lines = (tmp_path / "t_pca" / "scores.csv").read_text().splitlines()
    assert [line.split(",")[0] for line in lines] == ["code", "007", "010", "1e3"]


def test_fit_prints_a_summary(princomp):
    done = princomp("fit", ARRESTS, "--scale", "unit", "-k", 2)
    assert "50 rows × 4 columns, scale unit: 2 components explain 86.8% of the variance" in done.out
    assert "PC1" in done.out
    assert "62.01%" in done.out
    assert "(left out)" in done.out
    assert (
        "solid: PC1 and PC2 (axes within 23° of those of the population, if rows are independent)\n"
        in done.out
    )
    named = "the rows are named by column 'State', which differs in all rows"
    assert done.err == f"note: {named}; --no-id leaves it out\n"


def test_fit_gives_the_verdicts_of_a_report(princomp, tmp_path, draw_only):
    """With heavy tails, axes vary more between resamples than those of normal rows."""
    draw_only()
    rows = np.random.default_rng(0).standard_t(2.5, (200, 4)) * [3, 2, 1.4, 1]
    frame = pd.DataFrame(rows, columns=list("abcd"))
    frame.to_csv(tmp_path / "t.csv", index=False)
    done = princomp("fit", "t.csv")
    model = PCA().fit(frame)
    fitted = fitted_model(model).result
    angles = bootstrap(model, frame, n=200).angle_quantiles((0.95,))[0]
    lines = verdict_lines(verdicts(fitted, angles))
    assert all(f"{line}\n" in done.out for line in lines)
    assert lines != verdict_lines(verdicts(fitted))
    page = report(model, frame)
    for one in verdicts(fitted, angles):
        assert f"{one.angle:.0f}°" in page
    # Without the rows, the verdict assumes normally distributed rows, and says so.
    assert (
        "if rows are independent and normal"
        in princomp("show", tmp_path / "t_pca" / "model.pca").out
    )


def test_notes_are_in_the_document_and_not_on_stderr(princomp):
    done = princomp("fit", ARRESTS, "--json", "--scale", "unit")
    assert done.err == ""
    named = "the rows are named by column 'State', which differs in all rows"
    assert done.document["notes"] == [f"{named}; --no-id leaves it out"]


@pytest.mark.parametrize("command", ["fit", "plan", "choose"])
def test_constant_without_scale_is_noted(princomp, command):
    note = "--constant zero has no effect without --scale"
    force = ["--force"] * (command == "fit")
    args = (command, ARRESTS, "--exclude", "State", *force)
    assert f"note: {note}\n" in princomp(*args, "--constant", "zero").err
    for flags in (("--constant", "zero", "--scale", "unit"), ("--constant", "drop")):
        done = princomp(*args, *flags)
        assert done.code == 0
        assert "no effect" not in done.err


def test_unequal_variances_get_a_hint(princomp, tmp_path):
    write_csv(tmp_path / "t.csv", "small,large", "1,1000", "2,5000", "1,9000")
    assert "--scale unit" in princomp("fit", "t.csv").err
    assert "--scale unit" not in princomp("fit", "t.csv", "--scale", "unit", "--force").err


@pytest.mark.parametrize("kind", ["csv", "parquet", "npy"])
def test_results_in_every_format(princomp, tmp_path, arrests, kind):
    done = princomp("fit", ARRESTS, "--id", "State", "-o", "out", "--format", kind)
    assert done.code == 0
    path = tmp_path / "out" / f"scores.{kind}"
    expected = package.PCA().fit_transform(arrests)
    if kind == "csv":
        found = numbers(path)
    elif kind == "npy":
        found = np.load(path)
        assert "ids are not in scores.npy" in done.err
    else:
        table = pyarrow.parquet.read_table(path)
        assert table.column("State").to_pylist()[:2] == ["Alabama", "Alaska"]
        found = np.column_stack([table.column(f"PC{i}") for i in range(1, 5)])
    np.testing.assert_allclose(found, expected, atol=1e-11)
    assert files_in(tmp_path / "out") == sorted(
        ["model.pca", *(f"{name}.{kind}" for name in ("scores", "loadings", "eigenvalues"))]
    )


def _inputs(folder):
    """Write USArrests without the names of states as every kind of file; return the names."""
    table = pyarrow.csv.read_csv(ARRESTS).drop_columns("State")
    csv = "\n".join(line.partition(",")[2] for line in ARRESTS.read_text().splitlines()) + "\n"
    (folder / "a.csv").write_text(csv)
    (folder / "a.tsv").write_text(csv.replace(",", "\t"))
    (folder / "a.csv.gz").write_bytes(gzip.compress(csv.encode(), mtime=0))
    (folder / "a.tsv.gz").write_bytes(gzip.compress(csv.replace(",", "\t").encode(), mtime=0))
    pyarrow.parquet.write_table(table, folder / "a.parquet")
    pyarrow.feather.write_feather(table, folder / "a.arrow", compression="uncompressed")
    np.save(folder / "a.npy", np.column_stack([c.to_numpy() for c in table.columns]) * 1.0)
    return sorted(path.name for path in folder.glob("a.*"))


def test_every_kind_of_input_gives_the_same_numbers(princomp, tmp_path):
    names = _inputs(tmp_path)
    assert len(names) == 7
    documents = [princomp("fit", name, "--json", "-o", f"of_{name}").document for name in names]
    for name, found in zip(names, documents, strict=True):
        np.testing.assert_allclose(found["eigenvalues"], documents[0]["eigenvalues"], rtol=1e-13)
        expected = list(range(4)) if name == "a.npy" else documents[-1]["columns"]
        assert found["columns"] == expected
        scores = [numbers(tmp_path / f"of_{one}" / "scores.csv", skip=0) for one in (name, "a.csv")]
        np.testing.assert_allclose(*scores, atol=1e-11)


def test_columns_and_exclude_select_columns(princomp, arrests):
    done = princomp("fit", ARRESTS, "--columns", "Rape, Murder", "--json")
    assert done.document["columns"] == ["Rape", "Murder"]
    np.testing.assert_allclose(done.document["mean"], arrests[:, [3, 0]].mean(axis=0))
    done = princomp("fit", ARRESTS, "--exclude", "State,Assault", "--json", "--force")
    assert done.document["columns"] == ["Murder", "UrbanPop", "Rape"]
    assert done.document["notes"] == []


def test_names_with_commas_are_quoted(princomp, tmp_path):
    write_csv(tmp_path / "t.csv", '"a, m",b,c', "1,2,5", "2,1,3", "4,5,6")
    found = princomp("fit", "t.csv", "--columns", '"a, m", c', "--json").document
    assert found["columns"] == ["a, m", "c"]


@pytest.mark.parametrize("scale", ["none", "unit", "pareto", "range"])
def test_every_scale_divides_the_columns(princomp, arrests, scale):
    found = princomp("fit", ARRESTS, "--scale", scale, "--json").document
    deviation, spread = arrests.std(axis=0, ddof=1), np.ptp(arrests, axis=0)
    divisor = {"unit": deviation, "pareto": np.sqrt(deviation), "range": spread}.get(scale)
    np.testing.assert_allclose(found["eigenvalues"], truth(arrests, divisor=divisor)[0])


def test_no_center_keeps_the_mean(princomp, arrests):
    found = princomp("fit", ARRESTS, "--no-center", "--json").document
    np.testing.assert_allclose(found["eigenvalues"], truth(arrests, center=False)[0])
    assert found["mean"] == [0.0] * 4


@pytest.mark.parametrize(
    ("solver", "found"),
    [
        ("auto", "eigh"),
        ("full", "svd"),
        ("covariance_eigh", "eigh"),
        ("arpack", "lanczos"),
        ("lanczos", "lanczos"),
        ("randomized", "randomized"),
        ("row_gram", "row_gram"),
    ],
)
def test_every_solver_gives_the_same_eigenvalues(princomp, arrests, solver, found):
    document = princomp("fit", ARRESTS, "-k", 2, "--solver", solver, "--json").document
    assert document["plan"]["solver"] == found
    np.testing.assert_allclose(document["eigenvalues"][:2], truth(arrests)[0][:2], rtol=1e-9)


def test_every_way_to_choose_the_number_of_components(princomp):
    for option, kept in [("3", 3), ("0.97", 2), ("mle", 3), (None, 4)]:
        args = () if option is None else ("--components", option)
        found = princomp("fit", ARRESTS, *args, "--json", "--force").document
        assert found["n_components"] == kept, option


def test_missing_values_may_be_dropped(princomp, tmp_path):
    write_csv(tmp_path / "t.csv", "n,a,b", "u,1,2", "v,NA,3", "w,4,1", "x,2,", "y,5,5")
    done = princomp("fit", "t.csv", "--id", "n", "--missing", "drop")
    assert done.code == 0
    assert "note: rows with missing values: 2; they were left out of the fit" in done.err
    lines = (tmp_path / "t_pca" / "scores.csv").read_text().splitlines()
    assert [line.split(",")[0] for line in lines] == ["n", "u", "v", "w", "x", "y"]
    assert lines[2] == "v,,"
    assert lines[4] == "x,,"
    kept = np.array([[1, 2], [4, 1], [5, 5]])
    np.testing.assert_allclose(
        numbers(tmp_path / "t_pca" / "eigenvalues.csv")[:, 0], truth(kept)[0]
    )
    found = princomp("fit", "t.csv", "--missing", "drop", "--json", "--force").document
    assert (found["rows"], found["dropped"]) == (3, 2)


@pytest.mark.parametrize(
    ("header", "flags", "note"),
    [
        ("a,hole,b", ("--missing", "drop"), "rows with missing values: 1; they were left out"),
        ("a,hole,b", ("--missing", "em", "-k", 1), "--missing em: 1 cell "),
        ("a,flat,b", ("--constant", "drop", "--scale", "unit"), "constant column is dropped: flat"),
    ],
)
def test_commands_that_fit_give_the_same_notes(princomp, tmp_path, header, flags, note):
    middle = ["5"] * 10 + (["6", ""] if "hole" in header else ["5", "5"])
    rows = [f"{i * i % 7},{cell},{i * 5 % 11}" for i, cell in enumerate(middle)]
    write_csv(tmp_path / "t.csv", header, *rows)
    for command in (("fit",), ("report",), ("bootstrap", "-n", 5), ("choose", "--rules", "kaiser")):
        if command[0] in ("bootstrap", "choose") and "em" in flags:
            continue  # both refuse filled cells
        done = princomp(*command, "t.csv", "--no-id", *flags)
        assert done.code == 0
        assert done.err.count(f"note: {note}") == 1, command


def test_existing_results_are_replaced_only_with_force(princomp, tmp_path):
    assert princomp("fit", ARRESTS, "-o", "out").code == 0
    before = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    refused = princomp("fit", ARRESTS, "-o", "out", "--scale", "unit")
    assert (refused.code, refused.out) == (73, "")
    assert "--force" in refused.err
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == before
    assert princomp("fit", ARRESTS, "-o", "out", "--scale", "unit", "--force").code == 0
    assert (tmp_path / "out" / "model.pca").read_bytes() != before["model.pca"]


def test_a_randomized_fit_is_the_same_in_each_run_and_takes_a_seed(princomp, tmp_path):
    rows = np.random.default_rng(0).standard_normal((40, 300))
    np.save(tmp_path / "t.npy", rows)
    fit = ("fit", "t.npy", "-k", 3, "--solver", "randomized", "--no-scores", "--force", "--json")
    for seed, flags in ((0, ()), (5, ("--seed", 5))):
        expected = PCA(3, svd_solver="randomized", random_state=seed).fit(rows)
        for _ in range(2):
            found = princomp(*fit, *flags).document
            assert found["eigenvalues"] == expected.explained_variance_.tolist()


@pytest.mark.filterwarnings("default")
def test_warnings_are_notes_without_lines_of_code(princomp, tmp_path):
    rows = np.random.default_rng(0).standard_normal((12, 3))
    kernel = rows @ rows.T
    kernel[0, 1] += 1e-3
    np.save(tmp_path / "t.npy", kernel)
    done = princomp("fit", "t.npy", "--kernel", "precomputed", "-k", 1)
    assert done.code == 0
    assert "note: the kernel matrix is not symmetric" in done.err
    assert ".py" not in done.err


def test_the_seed_of_a_rule_is_that_of_choose(princomp):
    chosen = princomp("choose", ARRESTS, "--rules", "parallel", "--seed", 7, "--json").document
    fitted = princomp("fit", ARRESTS, "-k", "parallel", "--seed", 7, "--json").document
    assert fitted["decision"] == chosen["decisions"][0]


def test_cells_filled_without_convergence_are_noted_once(princomp, tmp_path, monkeypatch):
    monkeypatch.setattr("princomp.core.missing.methods.MAX_ITERATIONS", 3)
    rows = np.random.default_rng(0).standard_normal((30, 5))
    rows[::4, 1] = np.nan
    np.save(tmp_path / "t.npy", rows)
    done = princomp("fit", "t.npy", "-k", 2, "--missing", "em")
    assert done.err.count("NOT CONVERGED") == 1
    assert "NOT CONVERGED: use fewer components, or leave out columns with many" in done.err
