"""``merge``: models combined without their rows."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time

import numpy as np
import pytest

import princomp as package
from command_line import ENVIRONMENT, files_in, numbers, write_csv
from helpers import EPS, assert_models_close, truth

COLUMNS = ("a", "b", "c", "d")
PARTS = (slice(0, 31), slice(31, 64), slice(64, 90))


def random_rows(n=90, seed=11):
    rng = np.random.default_rng(seed)
    return np.round(rng.standard_normal((n, 4)) * [8.0, 4.0, 2.0, 1.0] + [0.0, 5.0, -3.0, 20.0], 3)


def write_rows(path, X, columns=COLUMNS):
    lines = [",".join(["id", *columns])]
    lines += [
        ",".join([f"r{i}", *("" if np.isnan(x) else repr(x) for x in row)])
        for i, row in enumerate(X.tolist())
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


def tolerance(X, divisor=1.0):
    """Error bound of variances: n + p roundings of the squared length of the longest row."""
    n, p = X.shape
    return 4 * (n + p) * EPS * float(((X / divisor) ** 2).sum(axis=1).max())


@pytest.fixture
def fit(princomp, tmp_path):
    """A function that fits rows on the command line and returns the name of the model."""

    def fit_rows(name, X, *args, columns=COLUMNS):
        write_rows(tmp_path / f"{name}.csv", X, columns)
        done = princomp(
            "fit", f"{name}.csv", "--id", "id", "-m", f"{name}.pca", "--no-scores", "-o",
            f"{name}_out", *args,
        )  # fmt: skip
        assert done.code == 0, done
        return f"{name}.pca"

    return fit_rows


@pytest.fixture
def parts(fit):
    """Models of three parts of one table."""
    X = random_rows()
    return [fit(f"p{i}", X[part], "-k", 2) for i, part in enumerate(PARTS)]


@pytest.mark.parametrize("count", [2, 3])
def test_a_merged_model_is_that_of_all_rows(princomp, fit, parts, tmp_path, count):
    X = random_rows()[: PARTS[count - 1].stop]
    done = princomp("merge", *parts[:count], "-m", "all.pca", "--json")
    assert (done.code, done.err) == (0, "")
    document = done.document
    assert document["document"] == "princomp.merge"
    assert document["rows"] == len(X)
    assert document["columns"] == list(COLUMNS)
    assert document["id_column"] == "id"
    assert document["n_components"] == 2
    assert document["files"] == {"model": "all.pca"}
    variances, _ = truth(X)
    np.testing.assert_allclose(document["eigenvalues"], variances, rtol=0, atol=tolerance(X))
    np.testing.assert_allclose(document["mean"], X.mean(axis=0), rtol=4 * len(X) * EPS, atol=1e-13)
    merged, whole = package.load("all.pca"), package.load(fit("whole", X, "-k", 2))
    assert_models_close(whole, merged)
    # ``show`` reports the same results, and rows get the scores of a single fit.
    shown = princomp("show", "all.pca", "--json").document
    assert shown["eigenvalues"] == document["eigenvalues"]
    assert shown["rows"] == len(X)
    scores = []
    for name in ("all.pca", "whole.pca"):
        done = princomp("transform", name, "whole.csv", "-o", f"{name}.csv")
        assert (done.code, done.err) == (0, "")
        lines = (tmp_path / f"{name}.csv").read_text().splitlines()
        assert lines[1].startswith("r0,")
        scores.append(numbers(tmp_path / f"{name}.csv"))
    np.testing.assert_allclose(*scores, rtol=0, atol=1e-10)


def test_merge_writes_the_same_bytes_as_python(princomp, parts):
    assert princomp("merge", *parts, "-m", "all.pca").code == 0
    model = package.load(parts[0])
    for name in parts[1:]:
        model.merge(package.load(name))
    model.save("python.pca")
    with open("all.pca", "rb") as one, open("python.pca", "rb") as other:
        assert one.read() == other.read()


@pytest.mark.parametrize("order", [(0, 2, 1), (2, 1, 0), (1, 0, 2)])
def test_the_order_of_models_changes_only_rounding(princomp, parts, order):
    assert princomp("merge", *parts, "-m", "one.pca").code == 0
    assert princomp("merge", *(parts[i] for i in order), "-m", "other.pca").code == 0
    assert_models_close(package.load("one.pca"), package.load("other.pca"))


def test_a_merged_model_can_be_merged_again(princomp, parts):
    assert princomp("merge", *parts, "-m", "all.pca").code == 0
    assert princomp("merge", *parts[:2], "-m", "two.pca").code == 0
    assert princomp("merge", "two.pca", parts[2], "-m", "three.pca").code == 0
    assert_models_close(package.load("all.pca"), package.load("three.pca"))
    # With --force, the output may replace one of the inputs.
    done = princomp("merge", "two.pca", parts[2], "-m", "two.pca", "--force")
    assert done.code == 0
    assert_models_close(package.load("all.pca"), package.load("two.pca"))


@pytest.mark.parametrize("solver", ["auto", "full", "covariance_eigh"])
@pytest.mark.parametrize("scale", ["none", "unit", "pareto", "range"])
def test_every_scale_is_computed_from_all_rows(princomp, fit, solver, scale):
    X = random_rows()
    args = ("--scale", scale, "--solver", solver)
    names = [fit(f"p{i}", X[part], *args) for i, part in enumerate(PARTS)]
    done = princomp("merge", *names, "-m", "all.pca", "--json")
    assert (done.code, done.err) == (0, "")
    deviation = X.std(axis=0, ddof=1)
    divisor = {
        "none": np.ones(4),
        "unit": deviation,
        "pareto": np.sqrt(deviation),
        "range": np.ptp(X, axis=0),
    }[scale]
    np.testing.assert_allclose(
        done.document["eigenvalues"],
        truth(X, divisor=divisor)[0],
        rtol=0,
        atol=tolerance(X, divisor),
    )
    if scale != "none":
        np.testing.assert_allclose(done.document["scale"], divisor, rtol=1e-13)


def test_parameters_are_those_of_the_first_model(princomp, fit):
    X = random_rows()
    one = fit("one", X[:40], "--scale", "unit", "-k", "0.8")
    other = fit("other", X[40:], "-k", 1)
    found = princomp("merge", one, other, "-m", "a.pca", "--json").document
    divisor = X.std(axis=0, ddof=1)
    variances, _ = truth(X, divisor=divisor)
    np.testing.assert_allclose(found["eigenvalues"], variances, rtol=0, atol=tolerance(X, divisor))
    expected = int(np.searchsorted(np.cumsum(variances) / 4, 0.8, side="right")) + 1
    assert found["n_components"] == expected
    shown = princomp("show", "a.pca", "--json").document
    assert shown["parameters"]["scale"] == "unit"
    assert shown["parameters"]["n_components"] == 0.8
    found = princomp("merge", other, one, "-m", "b.pca", "--json").document
    assert (found["n_components"], found["scale"]) == (1, None)
    np.testing.assert_allclose(found["eigenvalues"], truth(X)[0], rtol=0, atol=tolerance(X))


def test_uncentred_models_are_merged_about_the_origin(princomp, fit):
    X = random_rows()
    names = [fit(f"p{i}", X[part], "--no-center") for i, part in enumerate(PARTS)]
    found = princomp("merge", *names, "-m", "all.pca", "--json").document
    np.testing.assert_allclose(
        found["eigenvalues"], truth(X, center=False)[0], rtol=0, atol=tolerance(X)
    )


def test_counts_of_dropped_rows_are_added(princomp, fit):
    X = random_rows()
    X[[3, 50, 51, 89], [0, 1, 3, 2]] = np.nan
    names = [fit(f"p{i}", X[part], "--missing", "drop") for i, part in enumerate(PARTS)]
    found = princomp("merge", *names, "-m", "all.pca", "--json").document
    assert (found["rows"], found["dropped"]) == (86, 4)
    kept = X[~np.isnan(X).any(axis=1)]
    np.testing.assert_allclose(found["eigenvalues"], truth(kept)[0], rtol=0, atol=tolerance(kept))


def test_sketches_are_merged(princomp, tmp_path):
    rng = np.random.default_rng(4)
    # The rank is three, so a sketch with more columns loses nothing.
    X = rng.standard_normal((120, 3)) * [5.0, 3.0, 2.0] @ rng.standard_normal((3, 25))
    names = []
    for i, rows in enumerate((X[:50], X[50:])):
        np.save(tmp_path / f"x{i}.npy", rows)
        args = ("--solver", "sketch", "-k", 3, "-m", f"x{i}.pca", "--no-scores")
        assert princomp("fit", f"x{i}.npy", *args).code == 0
        names.append(f"x{i}.pca")
    done = princomp("merge", *names, "-m", "all.pca", "--json")
    assert (done.code, done.err) == (0, "")
    np.testing.assert_allclose(done.document["eigenvalues"][:3], truth(X)[0][:3], rtol=1e-9)
    # A model with a scatter can be merged with one of a sketch.
    assert princomp("fit", "x1.npy", "-k", 3, "-m", "dense.pca", "--force").code == 0
    for order in (("x0.pca", "dense.pca"), ("dense.pca", "x0.pca")):
        found = princomp("merge", *order, "-m", "mixed.pca", "--force", "--json").document
        np.testing.assert_allclose(found["eigenvalues"][:3], truth(X)[0][:3], rtol=1e-9)
        assert any("the result is a sketch" in why for why in found["plan"]["reasons"])


def test_models_without_names_are_merged(princomp, tmp_path):
    X = random_rows()
    for i, part in enumerate(PARTS[:2]):
        package.PCA().fit(X[part]).save(tmp_path / f"n{i}.pca")
    found = princomp("merge", "n0.pca", "n1.pca", "-m", "all.pca", "--json").document
    assert found["columns"] == [0, 1, 2, 3]
    np.testing.assert_allclose(found["eigenvalues"], truth(X[:64])[0], rtol=0, atol=tolerance(X))


def test_merge_prints_a_summary(princomp, parts):
    done = princomp("merge", *parts, "-m", "all.pca")
    assert (done.code, done.err) == (0, "")
    assert "90 rows × 4 columns, scale none: 2 components explain" in done.out
    assert "(left out)" in done.out
    assert done.out.splitlines()[-1].split() == ["model", "all.pca"]


# ---- what is refused ------------------------------------------------------------------


def test_at_least_two_models_and_an_output_are_needed(princomp, parts, tmp_path):
    before = files_in(tmp_path)
    for args, message in (
        ((parts[0], "-m", "x.pca"), "at least two models"),
        (("-m", "x.pca"), "Missing argument 'MODEL MODEL...'"),
        (parts, "Missing option '-m' / '--model'"),
        ((*parts, "-m", "x.pca", "--scale", "unit"), "No such option"),
    ):
        done = princomp("merge", *args)
        assert (done.code, done.out) == (2, "")
        assert message in done.err
        assert princomp("merge", *args, "--json").error["kind"] == "UsageError"
    assert files_in(tmp_path) == before


def test_a_model_named_twice_is_refused(princomp, parts, tmp_path):
    (tmp_path / "link.pca").symlink_to(parts[1])
    before = files_in(tmp_path)
    for again in (parts[1], "link.pca"):
        done = princomp("merge", *parts, again, "-m", "all.pca")
        assert (done.code, done.out) == (2, "")
        assert f"{again} is named twice, so its rows would count twice" in done.err
        assert "Hint: name each model once" in done.err
    assert files_in(tmp_path) == before


def test_an_existing_output_is_replaced_only_with_force(princomp, parts, tmp_path):
    (tmp_path / "all.pca").write_bytes(b"precious")
    done = princomp("merge", *parts, "-m", "all.pca")
    assert (done.code, done.out) == (73, "")
    assert "--force" in done.err
    assert (tmp_path / "all.pca").read_bytes() == b"precious"
    assert princomp("merge", *parts, "-m", "all.pca", "--force").code == 0
    assert package.load("all.pca").n_samples_ == 90


def test_an_output_that_is_an_input_is_kept_without_force(princomp, parts, tmp_path):
    (tmp_path / "link.pca").symlink_to(parts[1])
    (tmp_path / "deep").mkdir()
    before = {name: (tmp_path / name).read_bytes() for name in files_in(tmp_path)}
    for output in (parts[0], parts[2], "link.pca", f"deep/../{parts[1]}"):
        done = princomp("merge", *parts, "-m", output)
        assert (done.code, done.out) == (73, "")
        assert output in done.err
        assert "or replace this model by the merged one (--force)" in done.err
    assert {name: (tmp_path / name).read_bytes() for name in files_in(tmp_path)} == before


def test_outputs_that_cannot_be_created_are_refused(princomp, parts, tmp_path):
    (tmp_path / "file").write_bytes(b"")
    before = files_in(tmp_path)
    for output in (".", "file/m.pca"):
        for force in ((), ("--force",)):
            done = princomp("merge", *parts, "-m", output, *force)
            assert (done.code, done.out) == (73, "")
            assert "Hint: " in done.err
    assert files_in(tmp_path) == before


INCOMPATIBLE = {
    "fewer columns": ({"columns": ("a", "b", "c")}, (), "have 4 and 3 columns; missing: d"),
    "other names": ({"columns": ("a", "b", "c", "e")}, (), "missing: d; new: e"),
    "no scatter": ({}, ("--solver", "randomized", "-k", 2), "kept no scatter"),
    "no scatter either": ({}, ("--solver", "row_gram", "-k", 2), "kept no scatter"),
}


@pytest.mark.parametrize("case", INCOMPATIBLE)
def test_incompatible_models_are_named(princomp, fit, parts, tmp_path, case):
    named, args, message = INCOMPATIBLE[case]
    X = random_rows()[:, : len(named.get("columns", COLUMNS))]
    other = fit("other", X, *args, **named)
    before = files_in(tmp_path)
    # The incompatible model comes last, then first.
    for models, (bad, first) in (
        ((*parts[:2], other), (other, parts[0])),
        ((other, *parts), (parts[0], other)),
    ):
        done = princomp("merge", *models, "-m", "all.pca")
        assert (done.code, done.out) == (65, "")
        assert f"{bad} cannot be merged with {first}: " in done.err
        error = princomp("merge", *models, "-m", "all.pca", "--json").error
        assert error["place"]["file"] == bad
        assert error["hint"]
        assert files_in(tmp_path) == before
    assert message in princomp("merge", *parts, other, "-m", "all.pca").err


def test_columns_are_matched_by_name(princomp, fit):
    X = random_rows()
    one, other = (
        fit("one", X[:40]),
        fit("other", X[40:, [1, 0, 3, 2]], columns=("b", "a", "d", "c")),
    )
    found = princomp("merge", one, other, "-m", "all.pca", "--json").document
    assert found["columns"] == list(COLUMNS)
    np.testing.assert_allclose(found["eigenvalues"], truth(X)[0], rtol=0, atol=tolerance(X))


def test_models_that_may_be_of_the_same_rows_are_noted(princomp, parts, tmp_path):
    shutil.copy(tmp_path / parts[0], tmp_path / "copy.pca")
    note = "copy.pca has the number of rows, means and variances of p0.pca: if both are of the "
    note += "same rows, these count twice"
    done = princomp("merge", *parts, "copy.pca", "-m", "all.pca")
    assert (done.code, done.err) == (0, f"note: {note}\n")
    done = princomp("merge", parts[0], "copy.pca", "-m", "two.pca", "--json")
    assert (done.err, done.document["notes"]) == ("", [note])
    assert princomp("merge", *parts, "-m", "three.pca", "--json").document["notes"] == []


def test_a_copy_with_its_columns_in_another_order_is_noted(princomp, tmp_path):
    rows = np.random.default_rng(0).standard_normal((20, 2))
    for name, order in (("ab", [0, 1]), ("ba", [1, 0])):
        lines = (f"{one!r},{two!r}" for one, two in rows[:, order].tolist())
        write_csv(tmp_path / f"{name}.csv", ",".join(name), *lines)
        princomp("fit", f"{name}.csv", "-m", f"{name}.pca", "-o", name)
    done = princomp("merge", "ab.pca", "ba.pca", "-m", "all.pca", "--json")
    assert (
        "ba.pca has the number of rows, means and variances of ab.pca" in done.document["notes"][0]
    )


# Runs a command. The first of two touches "loaded" when it has read its last model, and goes on
# when the second one has begun to wait for it, or has ended.
_ONE_OF_TWO = """
import sys, time
from pathlib import Path
import fcntl
from princomp import cli, estimators

is_first, *arguments = sys.argv[1:]
load, lock = estimators.load, fcntl.flock

def load_and_wait(path):
    model = load(path)
    if str(path) != "total.pca":
        Path("loaded").touch()
        while not Path("second").exists():
            time.sleep(0.01)
    return model

def lock_and_tell(handle, how):
    Path("second").touch()
    lock(handle, how)

if is_first == "first":
    estimators.load = load_and_wait
else:
    fcntl.flock = lock_and_tell
sys.exit(cli.run(arguments))
"""


@pytest.mark.skipif(os.name == "nt", reason="there are no locks")
def test_two_processes_that_add_to_one_model_lose_no_rows(princomp, parts, tmp_path):
    shutil.copy(tmp_path / parts[0], tmp_path / "total.pca")

    def add(which, model):
        command = [sys.executable, "-c", _ONE_OF_TWO, which, "merge", "total.pca", model]
        command += ["-m", "total.pca", "--force"]
        return subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.DEVNULL)

    with add("first", parts[1]) as first:
        while not (tmp_path / "loaded").exists():
            assert first.poll() is None
            time.sleep(0.01)
        with add("second", parts[2]) as second:
            assert second.wait() == 0
        assert first.wait() == 0
    assert package.load("total.pca").n_samples_ == 90


def test_a_first_model_with_range_scale_needs_ranges(princomp, fit):
    X = random_rows()
    with_ranges, without = fit("r", X[:40], "--scale", "range"), fit("n", X[40:])
    done = princomp("merge", with_ranges, without, "-m", "all.pca")
    assert (done.code, done.out) == (65, "")
    assert "kept no ranges" in done.err
    # In the other order they are not needed.
    found = princomp("merge", without, with_ranges, "-m", "all.pca", "--json").document
    np.testing.assert_allclose(found["eigenvalues"], truth(X)[0], rtol=0, atol=tolerance(X))


def test_a_truncated_model_is_refused_by_name(princomp, parts, tmp_path):
    whole = (tmp_path / parts[1]).read_bytes()
    before = files_in(tmp_path)
    for i in range(64):
        (tmp_path / parts[1]).write_bytes(whole[: len(whole) * i // 64])
        done = princomp("merge", *parts, "-m", "all.pca", "--json")
        assert (done.code, done.err) == (65, ""), i
        assert done.error["kind"] == "ModelFileError"
        assert parts[1] in done.error["message"]
        assert files_in(tmp_path) == before
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 4
    (tmp_path / parts[1]).write_bytes(flipped)
    done = princomp("merge", *parts, "-m", "all.pca")
    assert (done.code, done.out) == (65, "")
    assert parts[1] in done.err


def test_missing_and_invalid_models_are_refused(princomp, parts, tmp_path):
    before = files_in(tmp_path)
    for model, code in (("no.pca", 66), ("p0.csv", 65), (".", 66), ("p0_out", 66)):
        for models in ((parts[0], model), (model, parts[0])):
            done = princomp("merge", *models, "-m", "all.pca")
            assert (done.code, done.out) == (code, ""), (models, done)
            assert model in done.err
            assert "Traceback" not in done.err
    assert files_in(tmp_path) == before


def test_a_full_disk_leaves_the_old_model(princomp, parts, tmp_path, monkeypatch):
    assert princomp("merge", *parts[:2], "-m", "all.pca").code == 0
    before = {name: (tmp_path / name).read_bytes() for name in files_in(tmp_path)}

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    done = princomp("merge", *parts, "-m", "all.pca", "--force")
    assert (done.code, done.out) == (73, "")
    assert "No space left on device" in done.err
    assert {name: (tmp_path / name).read_bytes() for name in files_in(tmp_path)} == before


def test_an_interruption_leaves_the_old_model(princomp, parts, tmp_path, monkeypatch):
    assert princomp("merge", *parts[:2], "-m", "all.pca").code == 0
    before = {name: (tmp_path / name).read_bytes() for name in files_in(tmp_path)}

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    done = princomp("merge", *parts, "-m", "all.pca", "--force")
    assert (done.code, done.out) == (130, "")
    assert {name: (tmp_path / name).read_bytes() for name in files_in(tmp_path)} == before
