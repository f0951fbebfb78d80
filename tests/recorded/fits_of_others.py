"""Recorded results of other estimators, tables, figures, frames and the command line."""

# ruff: noqa: C408  (parameters read as they stand in a call)
from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from recorded_rows import NYSTROM, case, counts_for, results_after_saving, table, to_npy

import princomp
from princomp import PCA, KernelPCA, RobustPCA, diagnostics, load

EXAMPLE = Path(__file__).parents[2] / "examples" / "usarrests.csv"


# ---- kernel PCA ---------------------------------------------------------------------


def with_kernel(folder, *, of, k=4, weights=None, back=False, **parameters):
    X = table(of)
    X = abs(X) if parameters["kernel"] in ("chi2", "additive_chi2") else X
    sample_weight = None if weights is None else weights(X.shape[0])
    model = KernelPCA(k, **parameters).fit(X, sample_weight=sample_weight)
    rows = sp.csr_array(X)[:7] if sp.issparse(X) else X[:7]
    scores = model.transform(rows)
    found = {"model": model, "scores": scores, "error": model.reconstruction_error(rows)}
    if back:
        found["back"] = model.inverse_transform(scores)
        found["pre-image error"] = model.pre_image_error(rows, per_row=True)
    return {**found, **results_after_saving(model, rows, folder)}


FEATURES = dict(approximation="features", n_landmarks=120, random_state=2)
KERNELS = {
    "linear": dict(of="tall", kernel="linear", pre_image="distance", back=True),
    "poly": dict(of="tall32", kernel="poly", degree=2, gamma=0.01),
    "rbf": dict(of="tall", kernel="rbf", gamma="median", k=0.9),
    "rbf, search": dict(of="middle", kernel="rbf", gamma="median"),
    "rbf, little memory": dict(of="middle", kernel="rbf", gamma=0.001, memory_limit="30MB"),
    "rbf, weights": dict(of="tall", kernel="rbf", gamma=0.01, weights=counts_for),
    "rbf, csr": dict(of="csr", kernel="rbf", gamma=0.1),
    "rbf, unit scale, all": dict(of="square", kernel="rbf", k=None, scale="unit"),
    "sigmoid": dict(of="square", kernel="sigmoid", gamma=0.001),
    "cosine": dict(of="tall", kernel="cosine", eigen_solver="dense"),
    "laplacian": dict(of="tall", kernel="laplacian", gamma=0.05, eigen_solver="arpack"),
    "chi2": dict(of="tall", kernel="chi2", gamma=0.05),
    "additive_chi2": dict(of="tall", kernel="additive_chi2"),
    "em": dict(of="holes", kernel="rbf", gamma=0.02, missing="em", k=2),
    "ridge": dict(of="tall", kernel="rbf", gamma=0.01, pre_image="ridge", alpha=0.1, back=True),
    "fixed_point": dict(of="tall", kernel="rbf", gamma=0.01, pre_image="fixed_point", back=True),
    "distance": dict(of="tall", kernel="rbf", gamma=0.01, pre_image="distance", back=True),
    "nystrom": dict(of="long", **NYSTROM, n_landmarks=50),
    "nystrom, kmeans": dict(of="middle32", **NYSTROM, n_landmarks=40, landmarks="kmeans"),
    "nystrom, leverage": dict(of="middle", **NYSTROM, n_landmarks=40, landmarks="leverage"),
    "nystrom, auto": dict(of="tall", **NYSTROM, random_state=1),
    "features, rbf": dict(of="long32", kernel="rbf", gamma=0.01, **FEATURES),
    "features, laplacian": dict(of="middle", kernel="laplacian", gamma=0.01, **FEATURES),
    "features, poly": dict(of="middle", kernel="poly", degree=2, gamma=0.01, **FEATURES),
}
for _name, _options in KERNELS.items():
    case(f"kernel/{_name}")(partial(with_kernel, **_options))


@case("kernel/precomputed")
def _(folder):
    X = table("tall")
    model = KernelPCA(3, kernel="precomputed").fit(X @ X.T)
    return {"model": model, "scores": model.transform(X[:7] @ X.T)}


@case("kernel/file, over time")
def _(folder):
    X = table("middle")
    whole = KernelPCA(3, **NYSTROM, landmarks=X[:30]).fit(to_npy(folder, X))
    online = KernelPCA(3, **NYSTROM, landmarks=X[:30])
    for start in range(0, 3_000, 700):
        online.partial_fit(X[start : start + 700])
    merged = KernelPCA(3, **NYSTROM, landmarks=X[:30]).fit(X[:900]).merge(online)
    return {"file": whole, "online": online, "merged": merged.forget(X[:400])}


@case("kernel/tune")
def _(folder):
    grid = {"gamma": ["0.5 * median", "median"], "n_components": [2, 4], "kernel": ["rbf"]}
    found = princomp.tune(table("tall")[:150], grid, cv=3)
    other = princomp.tune(table("square"), grid, cv=3, by="reconstruction")
    return {
        "errors": found.fold_errors,
        "best": found.best,
        "model": found.best_model,
        "reconstruction": other.fold_errors,
    }


# ---- robust, rotated, resampled, chosen ---------------------------------------------


def with_outliers(n=200, p=6):
    rows = np.random.default_rng(9).standard_normal((n, p)) * np.linspace(10, 0.3, p)
    rows[: n // 5, -1] += 60
    return rows


ROBUST = {
    "two": (dict(n_components=2), with_outliers()),
    "support, mad": (
        dict(n_components=0.9, support=0.6, scale="mad", random_state=4),
        with_outliers(),
    ),
    "wide": (dict(n_directions=100), with_outliers(40, 90)),
    "float32": (dict(n_components=2), with_outliers().astype(np.float32)),
}


def with_robust_pca(folder, *, parameters, rows):
    model = RobustPCA(**parameters).fit(rows)
    scores = model.transform(rows[:7])
    found = {"model": model, "scores": scores, "back": model.inverse_transform(scores)}
    return {
        **found,
        "map": model.outlier_map(rows[:50]),
        **results_after_saving(model, rows[:7], folder),
    }


for _name, (_options, _rows) in ROBUST.items():
    case(f"robust/{_name}")(partial(with_robust_pca, parameters=_options, rows=_rows))


@case("robust/pursuit")
def _(folder):
    rng = np.random.default_rng(10)
    low = rng.standard_normal((60, 3)) @ rng.standard_normal((3, 40))
    spoilt = low + 10 * (rng.random(low.shape) < 0.05)
    return {"found": princomp.principal_component_pursuit(spoilt)}


@case("results/rotate")
def _(folder):
    model = PCA(3, scale="unit").fit(table("tall"))
    found = {}
    for method, options in (("varimax", {}), ("promax", {}), ("varimax", {"kaiser": False})):
        rotated = princomp.rotate(model, method, **options)
        scores = rotated.transform(table("tall")[:7])
        found[f"{method} {options}"] = [rotated, scores, rotated.inverse_transform(scores)]
    return found


@case("results/bootstrap")
def _(folder):
    X = table("tall")
    model = PCA(2).fit(X)
    return {
        "signs": princomp.bootstrap(X, n=60, random_state=1, n_components=3, scale="unit"),
        "procrustes": princomp.bootstrap(model, X, n=40, random_state=2, align="procrustes"),
        "wide": princomp.bootstrap(table("small wide"), n=20, n_components=2),
        "weights": princomp.bootstrap(X, n=30, n_components=2, sample_weight=counts_for(400)),
    }


@case("results/choose")
def _(folder):
    from princomp.choosing import CV, GavishDonoho, Parallel

    chosen = princomp.choose(table("tall"), scale="unit", random_state=3)
    some = princomp.choose(table("wide"), ["gcv", "parallel"])
    others = [CV(folds=4), GavishDonoho(noise=0.5), Parallel(draws=30, null="permuted")]
    model = princomp.choose(PCA().fit(table("middle")), ["gcv", "kaiser", "marchenko-pastur"])
    return {
        "all": chosen,
        "some": some,
        "options": princomp.choose(table("tall"), others),
        "model": dict(model),
        "weights": princomp.choose(table("tall"), "gcv", sample_weight=counts_for(400)),
    }


# ---- tables and figures -------------------------------------------------------------


@case("diagnostics/model", "pandas")
def _(folder):
    model = PCA(3, scale="unit").fit(table("tall"))
    return {
        "variables": diagnostics.variables(model, frame="listing"),
        "wide": diagnostics.variables(model, form="wide", components=[1, 3], frame="pandas"),
        "limits": diagnostics.limits(model, level=0.9),
        "left": diagnostics.reconstruction_error(model, frame="listing"),
        "bartlett": diagnostics.bartlett(model),
        "kmo": diagnostics.kmo(model, frame="listing"),
    }


@case("diagnostics/rows", "pandas")
def _(folder):
    X = table("tall")
    model = PCA(2).fit(X, sample_weight=counts_for(400))
    listed = dict(frame="listing")
    return {
        "rows": diagnostics.rows(model, X, counts_for(400), **listed),
        "supplementary": diagnostics.rows(model, X[:9], supplementary=True, form="long", **listed),
        "distances": diagnostics.distances(model, X, **listed),
        "contributions": diagnostics.contributions(model, X[:5], **listed),
        "outliers": diagnostics.outliers(model, X, 0.8, training=True, **listed),
        "left": diagnostics.reconstruction_error(model, X[:50], **listed),
        "sparse": diagnostics.distances(PCA(2).fit(table("csr")), table("csr"), **listed),
    }


@case("diagnostics/other data", "pandas")
def _(folder):
    import pandas as pd

    X = table("tall")
    model = PCA(3).fit(X)
    extra = pd.DataFrame(
        {"sum": X.sum(axis=1), "sign": X[:, 0] > X[:, 0].mean(), "few": counts_for(400)}
    )
    return {
        "columns": diagnostics.supplementary_columns(model, X, extra[["sum", "few"]]),
        "categories": diagnostics.categories(model, X, extra[["sign"]]),
        "metadata": diagnostics.metadata(model, X, extra, categorical=["few"]),
    }


def points_of(axes):
    """The points of a figure's lines, marks and bars."""
    lines = [np.asarray(line.get_xydata(), dtype=float) for line in axes.lines]
    marks = [np.asarray(some.get_offsets(), dtype=float) for some in axes.collections]
    bars = [[float(x) for x in bar.get_bbox().bounds] for bar in axes.patches
            if hasattr(bar, "get_bbox")]  # fmt: skip
    return [lines, marks, bars]


@case("plots/figures", "matplotlib")
def _(folder):
    from princomp import plots

    X = table("tall")
    model = PCA(3, scale="unit").fit(X)
    return {
        "scree": points_of(plots.scree(model)),
        "scores": points_of(plots.scores(model, X)),
        "circle": points_of(plots.circle(model)),
        "biplot": points_of(plots.biplot(model, X)),
        "contributions": points_of(plots.contributions(model)),
        "outliers": points_of(plots.outliers(model, X)),
        "robust": points_of(plots.outliers(RobustPCA(2).fit(with_outliers()), with_outliers())),
    }


# ---- frames -------------------------------------------------------------------------


@case("frames/pandas, polars, pyarrow", "pandas", "polars", "pyarrow")
def _(folder):
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    columns = {f"c{i}": column for i, column in enumerate(table("tall").T)}
    frames = {"pandas": pd.DataFrame(columns), "polars": pl.DataFrame(columns)}
    frames["pyarrow"] = pa.table(columns)
    found = {}
    for name, frame in frames.items():
        model = PCA(3).fit(frame)
        found |= {name: model, f"{name} scores": np.asarray(model.transform(frame))}
    named = PCA(2).set_output(transform="pandas").fit(frames["pandas"])
    return {**found, "output": named.transform(frames["pandas"])}


# ---- the command line ---------------------------------------------------------------


def run(folder, *arguments, code=0, **options):
    """A command as a process of its own: the document, or the text, on its standard output."""
    environment = {**os.environ, "COLUMNS": "100"}
    command = [sys.executable, "-m", "princomp", *map(str, arguments)]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, check=False, **options
    )
    if done.returncode != code:
        raise RuntimeError(done.stderr.decode())
    return json.loads(done.stdout) if "--json" in arguments else done.stdout


def written_tables(folder):
    """The tables that a command wrote, byte for byte."""
    found = sorted(path for path in folder.rglob("*") if path.suffix in (".csv", ".npy"))
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


@case("command line/fit, transform, inverse, show", "click", "pyarrow")
def _(folder):
    fit = ["fit", EXAMPLE, "--id", "State", "--scale", "unit", "-k", "0.8", "-o", "results"]
    found = {"fit": run(folder, *fit, "--json"), "written": written_tables(folder / "results")}
    model = "results/model.pca"
    found["model"] = load(folder / model)
    found["show"] = run(folder, "show", model, "--json")
    found["verify"] = run(folder, "show", model, "--verify", EXAMPLE, "--json")
    found["scores"] = run(folder, "transform", model, EXAMPLE)
    found["scores in the document"] = run(folder, "transform", model, EXAMPLE, "--json")
    found["back"] = run(folder, "inverse", model, "results/scores.csv")
    return found


@case("command line/streamed", "click", "pyarrow")
def _(folder):
    path = to_npy(folder, table("middle32"))
    fit = ["fit", path, "-k", 3, "--solver", "krylov", "--memory", "1GB", "--format", "npy"]
    found = {"fit": run(folder, *fit, "-o", "a", "--json"), "written": written_tables(folder / "a")}
    from_stdin = run(folder, "fit", "-", "-k", 2, "-o", "b", "--json", input=path.read_bytes())
    return {**found, "standard input": from_stdin, "its scores": written_tables(folder / "b")}


@case("command line/robust, kernel", "click", "pyarrow")
def _(folder):
    robust = ["fit", EXAMPLE, "--id", "State", "--robust", "--scale", "mad", "-k", 2, "-o", "r"]
    kernel = ["fit", EXAMPLE, "--id", "State", "--kernel", "rbf", "--gamma", "median", "-k", 2]
    found = {"robust": run(folder, *robust, "--json")}
    found["kernel"] = run(folder, *kernel, "--pre-image", "distance", "-o", "k", "--json")
    found["back"] = run(folder, "inverse", "k/model.pca", "k/scores.csv")
    return {**found, "written": written_tables(folder)}


@case("command line/merge, missing", "click", "pyarrow")
def _(folder):
    lines = EXAMPLE.read_text().splitlines()
    lines[3] = lines[3].replace(lines[3].split(",")[2], "")
    for name, part in (("a", lines[1:24]), ("b", lines[24:])):
        (folder / f"{name}.csv").write_text("\n".join([lines[0], *part]) + "\n")
        fit = ["fit", f"{name}.csv", "--id", "State", "--missing", "drop", "-m", f"{name}.pca"]
        run(folder, *fit, "-o", name)
    found = {"merge": run(folder, "merge", "a.pca", "b.pca", "-m", "both.pca", "--json")}
    fill = ["fit", "a.csv", "--missing", "em", "-k", 2, "--no-center", "-o", "em", "--json"]
    return {**found, "model": load(folder / "both.pca"), "em": run(folder, *fill)}


@case("command line/plan, choose, rotate, bootstrap", "click", "pyarrow")
def _(folder):
    model = PCA(2, scale="unit").fit(EXAMPLE)
    model.save(folder / "model.pca")
    choose = ["choose", EXAMPLE, "--scale", "unit", "--rules", "parallel,gcv,cv", "--seed", 7]
    rotate = ["rotate", "promax", "model.pca", EXAMPLE, "-o", "turned"]
    return {
        "plan": run(folder, "plan", EXAMPLE, "-k", 2, "--scale", "unit", "--json"),
        "choose": run(folder, *choose, "--json"),
        "rotate": run(folder, *rotate, "--json"),
        "bootstrap": run(folder, "bootstrap", "model.pca", EXAMPLE, "-n", 30, "--seed", 1),
        "written": written_tables(folder / "turned"),
    }
