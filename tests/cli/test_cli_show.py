"""``show`` and ``plan``: the contents of a model, and the plan of a fit."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.shell_completion import ShellComplete

from command_line import ARRESTS, files_in, write_csv
from princomp import PCA, IncrementalPCA, KernelPCA, load
from princomp.cli import commands
from princomp.estimators.notebook import card

EIGENVALUES = [2.4802416, 0.9897652, 0.3565632, 0.1734301]


@pytest.fixture
def model(princomp, tmp_path):
    """A model of USArrests with two components."""
    princomp(
        "fit", ARRESTS, "--id", "State", "--scale", "unit", "-k", 2, "-m", "m.pca", "-o", "fit"
    )
    return tmp_path / "m.pca"


def test_show_reports_the_results_of_fit(princomp, model):
    shown = princomp("show", model)
    for word in ("50 rows × 4 columns", "Plan for 50 × 4", "Certificate", "Assault"):
        assert word in shown.out
    assert (shown.code, shown.err) == (0, "")
    document = princomp("show", model, "--json").document
    assert document["document"] == "princomp.show"
    np.testing.assert_allclose(document["eigenvalues"], EIGENVALUES, atol=5e-8)
    assert document["id_column"] == "State"
    assert document["parameters"]["scale"] == "unit"
    assert document["parameters"]["n_components"] == 2


def test_show_says_what_weighted_rows_count_as(princomp, tmp_path, rng):
    PCA(2).fit(rng.standard_normal((20, 3)), sample_weight=np.full(20, 60.0)).save(
        tmp_path / "w.pca"
    )
    shown = princomp("show", tmp_path / "w.pca").out
    assert "20 rows (counted as 1,200) × 3 columns" in shown


def test_show_prints_loadings_by_component(princomp, model):
    shown = princomp("show", model, "--loadings")
    assert (shown.code, shown.err) == (0, "")
    lines = [line.split() for line in shown.out.splitlines()]
    start = lines.index(["loading", "PC1", "PC2"]) + 1
    assert [line[0] for line in lines[start : start + 4]] == [
        *("Assault", "Rape", "Murder", "UrbanPop"),
    ]
    assert lines[start] == ["Assault", "0.918", "-0.187"]
    hidden = princomp("show", model, "--hide-below", 0.3).out
    assert "\nAssault   0.918        \n" in hidden
    assert "\nUrbanPop  0.438   0.868\n" in hidden
    found = princomp("show", model, "--loadings", "--json").document["loadings"]
    assert np.round(found, 3).tolist()[1] == [0.918, -0.187]


@pytest.mark.parametrize("name", ["[red]dish, an item\nof two lines", "x" * 200])
def test_loadings_of_any_names_and_numbers_are_complete(princomp, tmp_path, rng, name):
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame(1e5 * rng.standard_normal((60, 30)), columns=[name, *map(str, range(29))])
    model = PCA(25).fit(X)
    model.save(tmp_path / "m.pca")
    out = princomp("show", "m.pca", "--loadings").out
    assert all(word in out.replace("\n", " ") for word in name[:20].split())
    assert all(f"{x:.4g}" in out for x in model.loadings_.flat)
    assert "…" not in out.split("loading")[1].split("PC25")[1].split("columns:")[0]


def test_models_without_loadings_or_components_have_none_to_show(princomp, tmp_path, arrests):
    PCA(0).fit(arrests).save(tmp_path / "none.pca")
    assert princomp("show", "none.pca", "--loadings").code == 0
    KernelPCA(2).fit(arrests).save(tmp_path / "kernel.pca")
    done = princomp("show", "kernel.pca", "--loadings", "--json")
    assert (done.code, done.error["kind"]) == (65, "NotAvailableError")
    assert "a kernel PCA has no loadings" in done.error["message"]


def test_show_reads_rows_with_options(princomp, model, tmp_path):
    rows = ARRESTS.read_text().replace(".", "!").replace(",", ";").replace("!", ",")
    (tmp_path / "t.txt").write_text(rows)
    args = ("--verify", "t.txt", "--sep", ";", "--decimal", ",", "--untrusted", "--json")
    residuals = princomp("show", model, *args).document["certificate"]["residuals"]
    assert max(residuals) < 1e-14


def test_certificates_call_axes_inseparable_only_if_the_verdicts_do(princomp, tmp_path, rng):
    sizes = np.r_[8, 7, 4, 2.5, 2.1, np.ones(121)]
    X = (rng.standard_normal((400, 126)) * sizes).astype(np.float32)
    PCA(5).fit(X).save(tmp_path / "m.pca")
    assert "inseparable           none" in princomp("show", "m.pca").out
    assert princomp("show", "m.pca", "--json").document["certificate"]["inseparable"]


def test_fit_and_show_say_that_a_sketch_is_approximate(princomp, tmp_path, rng):
    np.save(tmp_path / "t.npy", rng.standard_normal((300, 400)))
    fitted = princomp("fit", "t.npy", "--solver", "sketch", "-k", "2", "-m", "m.pca", "-o", "fit")
    for shown in (fitted.out, princomp("show", "m.pca").out):
        assert "\napproximate: a sketch, whose variances are lower bounds" in shown
        assert "\ninaccurate: PC1 and PC2. " in shown
    assert princomp("fit", "t.npy", "-k", "2", "-m", "e.pca", "-o", "e").code == 0
    assert "approximate" not in princomp("show", "e.pca").out


def test_show_names_the_first_of_many_columns(princomp, tmp_path, rng):
    names = [f"gene{i}" for i in range(60)]
    rows = "\n".join(",".join(f"{x:.3f}" for x in row) for row in rng.standard_normal((70, 60)))
    (tmp_path / "wide.csv").write_text(",".join(names) + "\n" + rows + "\n")
    assert princomp("fit", "wide.csv", "-m", "wide.pca", "-o", "fit").code == 0
    assert "columns: gene0, gene1," in (shown := princomp("show", "wide.pca").out)
    assert "gene19, … 40 more\n" in shown
    assert princomp("show", "wide.pca", "--json").document["columns"] == names


def test_plan_works_without_fitting(princomp, tmp_path):
    done = princomp("plan", ARRESTS, "-k", 2, "--solver", "full", "--scale", "range")
    assert done.code == 0
    assert "Plan for 50 × 4 float64" in done.out
    assert "--solver full was asked for" in done.out
    document = princomp("plan", ARRESTS, "--id", "State", "--json").document
    assert document["document"] == "princomp.plan"
    assert document["plan"]["summary"] == "moments"
    assert files_in(tmp_path) == []
    fitted = princomp("fit", ARRESTS, "--id", "State", "--json").document
    assert fitted["plan"] == document["plan"]


def test_plan_and_fit_report_the_same_error(princomp):
    planned = princomp("plan", ARRESTS, "--columns", "Nope", "--json")
    fitted = princomp("fit", ARRESTS, "--columns", "Nope", "--json")
    assert planned.code == fitted.code == 65
    assert planned.error == fitted.error


def test_documents_are_one_line_of_plain_json(princomp, model):
    for args in (["show", model], ["plan", ARRESTS], ["transform", model, ARRESTS]):
        done = princomp(*args, "--json")
        assert "NaN" not in done.out
        assert json.loads(done.out)["version"] == 1


def test_show_names_the_estimator(princomp, model, arrests, tmp_path):
    IncrementalPCA(2, batch_size=9).fit(arrests).save(tmp_path / "i.pca")
    document = princomp("show", "i.pca", "--json").document
    assert (document["estimator"], document["parameters"]["batch_size"]) == ("IncrementalPCA", 9)
    assert princomp("show", model, "--json").document["estimator"] == "PCA"
    assert "50 rows × 4 columns" in princomp("show", "i.pca").out


@pytest.mark.parametrize(
    ("args", "note"),
    [
        (("show", "m.pca", "--sep", ";"), "--sep has no effect without --verify"),
        (
            ("plot", "scree", "m.pca", "--no-header", "-o", "s.svg"),
            "--header/--no-header has no effect without",
        ),
        (("report", "m.pca", "--na", "x"), "--na has no effect without DATA"),
        (("rotate", "varimax", "m.pca", "--no-id"), "--no-id has no effect without DATA"),
    ],
)
def test_options_of_reading_without_rows_are_ignored_with_a_note(princomp, model, args, note):
    done = princomp(*args)
    assert (done.code, note in done.err) == (0, True)


def test_notes_of_verified_rows_are_in_the_document(princomp):
    assert princomp("fit", ARRESTS, "--exclude", "Rape", "-k", 2, "-o", "r").code == 0
    found = princomp("show", "r/model.pca", "--verify", ARRESTS, "--json")
    assert found.err == ""
    assert found.document["notes"] == ["ignored columns that the model does not use: Rape"]


def test_verify_with_other_rows_hints_at_rows_alone(princomp, model, tmp_path):
    (tmp_path / "t.csv").write_text("".join(ARRESTS.read_text().splitlines(keepends=True)[:9]))
    found = princomp("show", model, "--verify", "t.csv")
    assert found.code == 65
    assert found.err.endswith("Hint: give the rows that the model was fitted to\n")


@pytest.mark.parametrize("factor", [0, -2])
def test_a_factor_of_arrows_that_is_not_positive_is_refused_by_its_flag(princomp, model, factor):
    found = princomp("plot", "biplot", model, ARRESTS, "-o", "b.svg", "--factor", factor)
    assert found.code == 2
    assert "Invalid value for '--factor'" in found.err


@pytest.mark.parametrize(
    "words",
    [
        ["fit", "t"],
        ["report", "t"],
        ["bootstrap", "m.pca", "t"],
        ["plot", "scores", "m.pca", "t"],
        ["show", "m.pca", "--verify", "t"],
    ],
)
def test_shells_complete_names_of_files(words):
    *before, incomplete = words
    completion = ShellComplete(commands.cli, {}, "princomp", "_PRINCOMP_COMPLETE")
    found = completion.get_completions(before, incomplete)
    assert [(item.type, item.value) for item in found] == [("file", "t")]


def test_fits_without_centring_say_so(princomp, tmp_path):
    lines = [f"{i + 50},{i * i % 7 + 80},{i % 3}" for i in range(20)]
    write_csv(tmp_path / "t.csv", "a,b,c", *lines)
    fitted = princomp("fit", "t.csv", "--no-center", "-k", "2", "-m", "m.pca")
    head = "20 rows × 3 columns, not centred, scale none: 2 components explain "
    for done in (fitted, princomp("show", "m.pca")):
        assert done.out.startswith(head)
        assert done.out.split("\n")[0].endswith("% of the sum of squares about the origin")
    assert "not centred, scale none" in card(load("m.pca"))
    done = princomp("choose", "t.csv", "--no-center", "--rules", "kaiser")
    assert "without centring, the first component often points towards the column means" in done.err
    assert "centring" not in princomp("choose", "t.csv", "--rules", "kaiser").err
