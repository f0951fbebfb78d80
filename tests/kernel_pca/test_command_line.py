"""``princomp fit --kernel``, and the commands that read its model."""

from __future__ import annotations

import io
import json
import os
import sys

import numpy as np
import pandas as pd
import pytest

import princomp as package
from command_line import ARRESTS, files_in, numbers, spawn, write_csv
from princomp.cli import kinds_of_pca as by_kernel
from princomp.errors import NotAvailableError, ParameterError
from princomp.kernel_pca.functions import KERNELS

KERNEL = ("fit", ARRESTS, "--id", "State", "--kernel", "rbf", "--gamma", "median", "-k", 2)
WITH_PRE_IMAGE = (*KERNEL, "--pre-image", "fixed_point")
NO_LOADINGS = "a kernel PCA has no loadings"


@pytest.fixture
def expected(arrests):
    return package.KernelPCA(2, kernel="rbf", gamma="median", pre_image="fixed_point").fit(arrests)


def random_rows(n, p=4, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, p)) * np.linspace(3, 1, p) + 2


@pytest.mark.parametrize("approximation", [(), ("--approximation", "nystrom", "--landmarks", 30)])
def test_scale_option_matches_the_estimator(princomp, tmp_path, arrests, approximation):
    done = princomp(*WITH_PRE_IMAGE, "--scale", "unit", *approximation, "--json")
    assert done.code == 0, done.err
    model = package.load(tmp_path / "usarrests_pca" / "model.pca")
    divisors = arrests.std(axis=0, ddof=1)
    np.testing.assert_allclose(json.loads(done.out)["scale"], divisors, rtol=1e-12)
    given = {"kernel": "rbf", "gamma": "median", "pre_image": "fixed_point", "scale": "unit"}
    if approximation:
        given |= {"approximation": "nystrom", "n_landmarks": 30}
    known = package.KernelPCA(2, **given).fit(arrests)
    np.testing.assert_allclose(model.eigenvalues_, known.eigenvalues_, rtol=1e-9)
    scores = numbers(tmp_path / "usarrests_pca" / "scores.csv")
    np.testing.assert_allclose(scores, known.transform(arrests), atol=1e-9)
    back = model.inverse_transform(scores)
    np.testing.assert_allclose(back, known.inverse_transform(scores), rtol=1e-9)


def test_command_line_kernels_match_the_library():
    assert set(by_kernel.KERNELS) == {*KERNELS, "precomputed"} - {"polynomial"}


def test_fit_writes_the_linear_outputs_except_loadings(princomp, tmp_path, arrests, expected):
    done = princomp(*KERNEL)
    assert done.code == 0
    assert done.err == f"note: {by_kernel.NO_LOADINGS}\n"
    rate = expected.accumulated_rate_[-1]
    assert f"50 rows × 4 columns, kernel rbf, gamma {expected.gamma_:.6g}: 2 comp" in done.out
    assert f"2 components explain {rate:.1%} of the variance in its feature space" in done.out
    folder = tmp_path / "usarrests_pca"
    assert files_in(folder) == ["eigenvalues.csv", "model.pca", "scores.csv"]
    lines = (folder / "scores.csv").read_text().splitlines()
    assert lines[0] == "State,PC1,PC2"
    assert lines[2].startswith("Alaska,")
    scores = numbers(folder / "scores.csv")
    np.testing.assert_allclose(scores, expected.transform(arrests), atol=1e-12)
    values = numbers(folder / "eigenvalues.csv")
    np.testing.assert_allclose(values[:, 0], expected.explained_variance_)
    np.testing.assert_allclose(values[:, 1], expected.explained_variance_ratio_)
    np.testing.assert_allclose(values[:, 2], expected.accumulated_rate_)
    model = package.load(folder / "model.pca")
    assert model.id_column_ == "State"
    frame = pd.DataFrame(arrests, columns=model.feature_names_in_)
    np.testing.assert_allclose(model.transform(frame), scores, atol=1e-12)


def test_json_document_has_the_numbers_of_the_model(princomp, expected):
    found = princomp(*KERNEL, "--json").document
    assert (found["document"], found["estimator"]) == ("princomp.fit", "KernelPCA")
    assert (found["kernel"], found["approximation"], found["pre_image"]) == ("rbf", None, None)
    assert found["gamma"] == expected.gamma_
    assert found["approximation_error"] == 0
    np.testing.assert_allclose(found["eigenvalues"], expected.explained_variance_)
    np.testing.assert_allclose(found["accumulated_rate"], expected.accumulated_rate_)
    assert found["total_variance"] == pytest.approx(expected.total_variance_)
    assert found["plan"] == expected.plan_.to_dict()
    assert max(found["certificate"]["residuals"]) < 1e-14
    assert found["notes"] == [by_kernel.NO_LOADINGS]
    assert sorted(found["files"]) == ["eigenvalues", "model", "scores"]
    assert found["columns"] == ["Murder", "Assault", "UrbanPop", "Rape"]


def test_the_other_commands_read_the_model(princomp, tmp_path, arrests, expected):
    assert princomp(*WITH_PRE_IMAGE, "-m", "m.pca", "--no-scores").code == 0
    assert files_in(tmp_path / "usarrests_pca") == ["eigenvalues.csv"]
    shown = princomp("show", "m.pca")
    for word in ("kernel rbf", "Assault", "id column: State", "route    exact", "Certificate"):
        assert word in shown.out
    document = princomp("show", "m.pca", "--json").document
    assert document["parameters"]["pre_image"] == "fixed_point"
    assert document["parameters"]["n_components"] == 2
    assert document["certificate"]["inseparable"] == []
    assert princomp("transform", "m.pca", ARRESTS, "-o", "s.csv").code == 0
    scores = expected.transform(arrests)
    np.testing.assert_allclose(numbers(tmp_path / "s.csv"), scores, atol=1e-12)
    assert princomp("inverse", "m.pca", "s.csv", "-o", "x.csv").code == 0
    back = numbers(tmp_path / "x.csv")
    np.testing.assert_allclose(back, expected.inverse_transform(scores), rtol=1e-6)
    assert np.abs(back - arrests).mean() < np.abs(arrests - arrests.mean(axis=0)).mean() / 2
    assert (tmp_path / "x.csv").read_text().startswith("State,Murder,Assault,UrbanPop,Rape\n")


def test_plots_are_drawn_except_those_of_loadings(princomp, tmp_path):
    assert princomp(*KERNEL, "-m", "m.pca", "--no-scores").code == 0
    table = tmp_path / "groups.csv"
    header, *lines = ARRESTS.read_text().splitlines()
    rows = [f"{line},{'ab'[i % 2]}" for i, line in enumerate(lines)]
    write_csv(table, f"{header},half", *rows)
    for words in (
        ("scree", "m.pca"),
        ("scree", "m.pca", "--top", 2),
        ("scores", "m.pca", ARRESTS, "--label", 3),
        ("scores", "m.pca", table, "--groups", "half"),
        ("pairs", "m.pca", ARRESTS),
    ):
        done = princomp("plot", *words, "-o", "p.svg", "--force")
        assert done.code == 0, (words, done.err)
        assert "<svg" in (tmp_path / "p.svg").read_text()
    for words in (
        *(("biplot", "m.pca", ARRESTS), ("circle", "m.pca"), ("loadings", "m.pca")),
        *(("contributions", "m.pca"), ("cos2", "m.pca"), ("outliers", "m.pca", ARRESTS)),
    ):
        error = princomp("plot", *words, "-o", "q.svg", "--json").error
        assert error["exit_code"] == 65
        assert error["message"] == (
            f"m.pca is a KernelPCA, and the figure {words[0]} needs a PCA; figures of this model: "
            "scree, scores, pairs"
        )
        assert error["hint"].endswith("princomp fit without --kernel")
    done = princomp("plot", "scree", "m.pca", "--rule", "gcv", "-o", "q.svg", "--json")
    assert (done.code, "--rule" in done.error["message"]) == (65, True)
    for words in (
        *(("rotate", "varimax", "m.pca"), ("bootstrap", "m.pca", ARRESTS)),
        ("report", "m.pca", "-o", "q.html"),
    ):
        error = princomp(*words, "--json").error
        assert "KernelPCA" in error["message"]
        assert error["hint"]
    assert not [name for name in files_in(tmp_path) if name.startswith("q.")]


def test_options_reach_the_estimator(princomp, tmp_path):
    np.save(tmp_path / "x.npy", np.abs(random_rows(90)))
    for words, parameters in (
        (("--kernel", "linear"), {"kernel": "linear"}),
        (("--kernel", "cosine", "-k", 0.5), {"kernel": "cosine", "n_components": 0.5}),
        (
            ("--kernel", "poly", "--gamma", 0.1, "--degree", 2, "--coef0", 0),
            {"kernel": "poly", "gamma": 0.1, "degree": 2.0, "coef0": 0.0},
        ),
        (
            ("--kernel", "rbf", "--pre-image", "ridge", "--alpha", 0.1),
            {"kernel": "rbf", "pre_image": "ridge", "alpha": 0.1},
        ),
        (
            (
                *("--kernel", "rbf", "--gamma", 0.1, "--approximation", "nystrom"),
                *("--landmarks", 30, "--landmark-rule", "kmeans", "--seed", 5),
                *("--memory", "1GB", "--missing", "drop"),
            ),
            {
                "kernel": "rbf",
                "gamma": 0.1,
                "approximation": "nystrom",
                "n_landmarks": 30,
                "landmarks": "kmeans",
                "random_state": 5,
                "memory_limit": "1GB",
                "missing": "drop",
            },
        ),
        (
            ("--kernel", "laplacian", "--approximation", "features", "--landmarks", "auto"),
            {"kernel": "laplacian", "approximation": "features", "n_landmarks": "auto"},
        ),
    ):
        done = princomp("fit", "x.npy", "-k", 2, *words, "-o", "r", "--force", "--json")
        assert done.code == 0, words
        model = package.load(tmp_path / "r" / "model.pca")
        wanted = package.KernelPCA(**{"n_components": 2, **parameters})
        given = {name: model.get_params()[name] for name in wanted.get_params()}
        assert given == {**wanted.get_params(), "n_components": given["n_components"]}
        wanted.fit(tmp_path / "x.npy")
        np.testing.assert_allclose(
            done.document["eigenvalues"][: wanted.n_components_], wanted.explained_variance_
        )


def test_a_kernel_matrix_can_be_read_from_a_file(princomp, tmp_path):
    X = random_rows(40)
    np.save(tmp_path / "k.npy", X @ X.T)
    np.save(tmp_path / "x.npy", X)
    given = princomp("fit", "k.npy", "--kernel", "precomputed", "-k", 2, "--json").document
    own = princomp("fit", "x.npy", "--kernel", "linear", "-k", 2, "--json").document
    np.testing.assert_allclose(given["eigenvalues"], own["eigenvalues"])
    matrix, rows = (numbers(tmp_path / f"{n}_pca" / "scores.csv", skip=0) for n in "kx")
    np.testing.assert_allclose(matrix, rows, atol=1e-9)
    assert princomp("transform", "k_pca/model.pca", "k.npy", "-o", "s.csv").code == 0
    np.testing.assert_allclose(numbers(tmp_path / "s.csv", skip=0), matrix, atol=1e-9)


def test_missing_cells_are_dropped_or_filled(princomp, tmp_path, arrests):
    header, *lines = ARRESTS.read_text().splitlines()
    lines[4] = lines[4].replace(",9,", ",NA,")
    assert "NA" in lines[4]
    write_csv(tmp_path / "t.csv", header, *lines)
    words = ("fit", "t.csv", "--id", "State", *KERNEL[4:], "--force")
    assert "Murder" in princomp(*words, "--json").error["message"]
    done = princomp(*words, "--missing", "drop")
    assert "rows with missing values: 1" in done.err
    assert np.isnan(numbers(tmp_path / "t_pca" / "scores.csv")[4]).all()
    done = princomp(*words, "--missing", "em")
    assert (done.code, "1 cell" in done.err) == (0, True), done.err
    scores = numbers(tmp_path / "t_pca" / "scores.csv")
    assert np.isfinite(scores).all()
    assert princomp("transform", "t_pca/model.pca", "t.csv", "-o", "s.csv").code == 0
    np.testing.assert_array_equal(numbers(tmp_path / "s.csv"), scores)


def test_rows_from_a_pipe(princomp, monkeypatch, tmp_path, expected):
    class Stream:
        buffer = io.BufferedReader(io.BytesIO(ARRESTS.read_bytes()))

    monkeypatch.setattr(sys, "stdin", Stream())
    done = princomp("fit", "-", *KERNEL[2:], "--json")
    assert done.code == 0
    np.testing.assert_allclose(done.document["eigenvalues"], expected.explained_variance_)


# ---- approximations ----------------------------------------------------------------------


def test_files_are_streamed_with_progress_on_a_terminal(tmp_path):
    pty = pytest.importorskip("pty")
    X = random_rows(600_000, 8)  # 38 MB
    np.save(tmp_path / "x.npy", X)
    words = ("fit", "x.npy", "--kernel", "rbf", "--gamma", 0.01, "-k", 2, "--memory", "32MB")
    words = (*words, "--approximation", "nystrom", "--landmarks", 40, "-o", "r", "--format", "npy")
    master, slave = pty.openpty()
    with spawn(*words, cwd=tmp_path, stderr=slave) as process:
        os.close(slave)
        drawn = b""
        while True:
            try:
                part = os.read(master, 4096)
            except OSError:  # Linux raises this when the other side is closed
                break
            if not part:
                break
            drawn += part
        out = process.stdout.read()
    os.close(master)
    assert process.returncode == 0, drawn
    assert "600,000 rows × 8 columns, kernel rbf" in out
    assert b"pass 1 moments" in drawn
    assert b"scores" in drawn
    model = package.load(tmp_path / "r" / "model.pca")
    options = {"gamma": 0.01, "approximation": "nystrom", "n_landmarks": 40}
    again = package.KernelPCA(2, kernel="rbf", **options).fit(X)
    np.testing.assert_array_equal(model.transform(X[:50]), again.transform(X[:50]))
    scores = np.load(tmp_path / "r" / "scores.npy")
    np.testing.assert_allclose(scores, again.transform(X), atol=1e-12)


def test_approximation_error_is_estimated_and_printed(princomp, tmp_path):
    np.save(tmp_path / "x.npy", random_rows(900))
    words = ("fit", "x.npy", "--kernel", "rbf", "--gamma", 0.02, "-k", 2, "--force")
    for kind, what in {
        "nystrom": "an estimated {:.2%} of the variance is left out",
        "features": "estimated relative error of the kernel matrix {:.2%}",
    }.items():
        done = princomp(*words, "--approximation", kind)
        model = package.load(tmp_path / "x_pca" / "model.pca")
        assert f"{kind}: " + what.format(model.approximation_error_) in done.out
    fixed = princomp(*words, "--approximation", "nystrom", "--landmarks", 30)
    assert "estimated" not in fixed.out
    document = princomp("show", "x_pca/model.pca", "--json").document
    assert document["approximation_error"] is None
    assert document["plan"]["route"] == "nystrom"


def test_models_with_random_features_are_merged(princomp, tmp_path):
    X = random_rows(400)
    for name, rows in (("a", X[:150]), ("b", X[150:]), ("all", X)):
        np.save(tmp_path / f"{name}.npy", rows)
        done = princomp(
            *("fit", f"{name}.npy", "--kernel", "rbf", "--gamma", 0.02, "-k", 3, "--no-scores"),
            *("--approximation", "features", "--landmarks", 60, "-m", f"{name}.pca"),
        )
        assert done.code == 0
    merged = princomp("merge", "a.pca", "b.pca", "-m", "both.pca", "--json").document
    whole = package.load(tmp_path / "all.pca")
    assert (merged["estimator"], merged["rows"]) == ("KernelPCA", 400)
    both = package.load(tmp_path / "both.pca")
    np.testing.assert_allclose(both.transform(X), whole.transform(X), atol=1e-9)


def test_merge_refusals_explain_why(princomp, tmp_path):
    X = random_rows(80)
    np.save(tmp_path / "x.npy", X)
    for name, gamma in (("one", 0.02), ("other", 0.03)):
        package.KernelPCA(
            2, kernel="rbf", gamma=gamma, approximation="nystrom", n_landmarks=20
        ).fit(X).save(tmp_path / f"{name}.pca")
    package.KernelPCA(2, kernel="rbf").fit(X).save(tmp_path / "exact.pca")
    package.PCA(2).fit(X).save(tmp_path / "linear.pca")
    for first, second, reported, code in (
        (
            "one",
            "other",
            "other.pca cannot be merged with one.pca: the two fits have different feature maps",
            2,
        ),
        ("exact", "one", "exact.pca is an exact kernel PCA", 65),
        ("one", "linear", "linear.pca cannot be merged with one.pca: merge takes a fitted K", 2),
        ("linear", "one", "one.pca cannot be merged with linear.pca: merge takes a fitted PCA", 2),
    ):
        done = princomp("merge", f"{first}.pca", f"{second}.pca", "-m", "m.pca", "--json")
        assert done.code == code
        assert reported in done.error["message"]
        assert done.error["hint"]
    assert not (tmp_path / "m.pca").exists()


# ---- refusals ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "reported"),
    [
        (("--gamma", 1), "--gamma has no effect without --kernel poly, rbf"),
        (("--degree", 2), "--degree has no effect without --kernel poly"),
        (("--coef0", 2), "--coef0 has no effect without --kernel poly or sigmoid"),
        (("--approximation", "nystrom"), "--approximation has no effect without --kernel"),
        (("--landmarks", 20), "--landmarks has no effect without --approximation"),
        (
            ("--landmark-rule", "kmeans"),
            "--landmark-rule has no effect without --approximation nystrom",
        ),
        (("--pre-image", "ridge"), "--pre-image has no effect without --kernel"),
        (("--alpha", 1), "--alpha has no effect without --pre-image ridge"),
        (("--kernel", "rbf", "--support", "0.6"), "--support has no effect without --robust"),
        (("--kernel", "linear", "--gamma", 1), "--gamma has no effect without --kernel poly, rbf"),
        (("--kernel", "rbf", "--degree", 2), "--degree has no effect without --kernel poly"),
        (
            ("--kernel", "rbf", "--coef0", 2),
            "--coef0 has no effect without --kernel poly or sigmoid",
        ),
        (("--kernel", "rbf", "--landmarks", 20), "--landmarks has no effect without"),
        (
            ("--kernel", "rbf", "--seed", 1),
            "--seed has no effect without --robust, --approximation",
        ),
        (("--kernel", "rbf", "--alpha", 1), "--alpha has no effect without --pre-image ridge"),
        (
            ("--kernel", "linear", "--pre-image", "ridge", "--alpha", 1),
            "--alpha has no effect with --kernel linear",
        ),
        (
            ("--kernel", "rbf", "--approximation", "features", "--landmark-rule", "kmeans"),
            "--landmark-rule has no effect without --approximation nystrom",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore:the kernel .* is near zero for nearly all pairs")
def test_options_without_effect_are_ignored_with_a_note(princomp, tmp_path, words, reported):
    done = princomp("fit", ARRESTS, *words, "-k", 2, "-o", "r", "--json")
    assert done.code == 0
    assert any(note.startswith(reported) for note in done.document["notes"])
    needed = [words.index(word) for word in ("--kernel", "--approximation") if word in words]
    needed = [word for at in needed if "--kernel" in words for word in words[at : at + 2]]
    assert princomp("fit", ARRESTS, *needed, "-k", 2, "-o", "plain", "--json").code == 0
    for name in ("scores.csv", "eigenvalues.csv"):
        assert (tmp_path / "r" / name).read_bytes() == (tmp_path / "plain" / name).read_bytes()


@pytest.mark.parametrize(
    ("words", "reported"),
    [
        (("--kernel", "rbf", "-k", "parallel"), "rule for a linear PCA"),
        (
            ("--kernel", "precomputed", "--scale", "unit"),
            "--scale unit needs rows",
        ),
        (("--kernel", "rbf", "--scale", "mad"), "--scale mad is an option of robust fits"),
        (("--kernel", "rbf", "--no-center"), "--no-center cannot be used with --kernel"),
        (("--kernel", "rbf", "--solver", "full"), "--solver cannot be used with --kernel"),
        (("--kernel", "rbf", "--checkpoint", "c"), "--checkpoint cannot be used with --kernel"),
        (("--kernel", "rbf", "--robust"), "--robust cannot be used with --kernel"),
        (
            ("--kernel", "rbf", "--approximation", "features", "--pre-image", "ridge"),
            "random features do not keep",
        ),
        (("--kernel", "cosine", "--pre-image", "distance"), "--pre-image distance does not work"),
        (("--kernel", "precomputed", "--missing", "drop"), "--missing drop needs rows"),
        (("--kernel", "rbf", "--gamma", "wide"), "--gamma wide is not valid"),
        (("--kernel", "rbf", "--gamma", -1), "--gamma -1.0 is not valid"),
        (("--kernel", "rbf", "--gamma", "nan"), "--gamma nan is not valid"),
        (
            ("--kernel", "rbf", "--approximation", "nystrom", "--landmarks", 0),
            "--landmarks 0 is not valid",
        ),
        (("--kernel", "magic"), "magic"),
    ],
)
def test_incompatible_options_are_refused_before_any_work(princomp, tmp_path, words, reported):
    done = princomp("fit", ARRESTS, *words, "--json")
    assert done.code == 2
    assert reported in done.error["message"]
    assert done.error["hint"]
    assert files_in(tmp_path) == []


def test_invalid_ranks_inverses_and_columns_are_refused(princomp, tmp_path):
    assert princomp(*KERNEL[:-1], 0, "--json").error["message"] == "-k 0 is not valid"
    assert princomp(*KERNEL, "-m", "m.pca", "-o", "r").code == 0
    error = princomp("inverse", "m.pca", "r/scores.csv", "--json").error
    assert error["message"] == "m.pca cannot turn scores back into rows"
    assert error["hint"].startswith("fit again with --pre-image")
    features = ("--approximation", "features", "--landmarks", 8)
    assert princomp(*KERNEL, *features, "-m", "f.pca", "-o", "f").code == 0
    error = princomp("inverse", "f.pca", "f/scores.csv", "--json").error
    assert error["hint"].endswith("and without --approximation features")
    write_csv(tmp_path / "u.csv", "Murder,Assault", "1,2", "3,4")
    error = princomp("transform", "m.pca", "u.csv", "--json").error
    assert error["place"]["missing"] == ["UrbanPop", "Rape"]


def test_many_rows_are_mentioned_before_an_exact_fit():
    exact = {"kernel": "rbf", "approximation": None}
    (reported,) = by_kernel.cost_notes(exact, 60_000)
    assert "60,000 rows" in reported
    assert "--approximation nystrom" in reported
    for options, rows in (
        ({"kernel": "rbf", "approximation": "nystrom"}, 60_000),
        ({"kernel": None, "approximation": None}, 60_000),
        (exact, 50_000),
        (exact, None),
    ):
        assert by_kernel.cost_notes(options, rows) == []


def test_plan_and_choose_refuse_kernel_options(princomp):
    for command in ("plan", "choose"):
        assert princomp(command, ARRESTS, "--kernel", "rbf").code == 2


# ---- figures from Python -----------------------------------------------------------------


def test_figures_take_a_kernel_pca(arrests, expected):
    pytest.importorskip("matplotlib")
    from princomp import plots

    ax = plots.scores(expected, arrests, label=2, ids=[f"row {i}" for i in range(50)])
    rates = expected.explained_variance_ratio_
    assert ax.get_xlabel() == f"PC1 ({rates[0]:.1%})"
    assert any(text.get_text().startswith("row ") for text in ax.texts)
    drawn = ax.collections[0].get_offsets()
    np.testing.assert_allclose(drawn, expected.transform(arrests), atol=1e-12)
    ax = plots.scree(expected)
    heights = [bar.get_height() for bar in ax.patches]
    np.testing.assert_allclose(heights, 100 * rates)
    assert plots.pairs(expected, arrests).shape == (2, 2)
    images = package.KernelPCA(
        2, kernel="rbf", gamma=1e-4, approximation="nystrom", n_landmarks=20
    ).fit(arrests)
    ax = plots.scree(images)
    count = int((images._fitted.spectrum.variances > 0).sum())
    assert any(f"of {count} components" in text.get_text() for text in ax.texts)
    every = package.KernelPCA(kernel="linear").fit(arrests)
    assert not any("k =" in text.get_text() for text in plots.scree(every).texts)


def test_figures_and_tables_of_loadings_are_refused(arrests, expected):
    pytest.importorskip("matplotlib")
    from princomp import plots

    for figure in (plots.circle, plots.contributions, plots.cos2, plots.loadings):
        with pytest.raises(NotAvailableError, match=NO_LOADINGS):
            figure(expected)
    for figure in (plots.biplot, plots.outliers, package.diagnostics.rows):
        with pytest.raises(NotAvailableError, match=NO_LOADINGS) as caught:
            figure(expected, arrests)
        assert "scree" in caught.value.hint
    decision = package.choose(arrests, ["gcv"])["gcv"]
    with pytest.raises(ParameterError, match="feature space"):
        plots.scree(expected, decision=decision)
    with pytest.raises(ParameterError, match="got int"):
        plots.circle(3)
