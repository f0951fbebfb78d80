"""Recorded fits of PCA and IncrementalPCA in memory, over time, and by functions."""

# ruff: noqa: C408  (parameters read as they stand in a call)
from __future__ import annotations

from functools import partial

import numpy as np
from recorded_rows import case, counts_for, in_memory, results_of, shares_for, table, to_npy

from princomp import PCA, IncrementalPCA, Moments, Sketch, Triangle, pca, plan, svd

IN_MEMORY = {
    "auto, int": dict(of="tall", k=3),
    "auto, all": dict(of="tall"),
    "auto, fraction": dict(of="tall", k=0.9),
    "auto, square": dict(of="square"),
    "auto, square, few": dict(of="square", k=4),
    "auto, long": dict(of="long", k=5),
    "auto, long32": dict(of="long32", k=5),
    "auto, middle": dict(of="middle", k=8),
    "auto, middle32": dict(of="middle32", k=8),
    "auto, small wide": dict(of="small wide", k=6),
    "auto, small wide, all": dict(of="small wide"),
    "auto, wide": dict(of="wide", k=6),
    "auto, wide32, fraction": dict(of="wide32", k=0.7),
    "auto, large wide": dict(of="large wide", k=5),
    "auto, broad": dict(of="broad", k=5),
    "auto, broad, fraction": dict(of="broad", k=0.6),
    "auto, broad noise, fraction": dict(of="broad noise", k=0.3),
    "auto, one column": dict(of="one column"),
    "auto, two rows": dict(of="two rows"),
    "auto, far": dict(of="far", k=3),
    "auto, far32": dict(of="far32", k=3),
    "auto, unequal": dict(of="unequal"),
    "auto, unequal32": dict(of="unequal32"),
    "auto, dependent": dict(of="dependent"),
    "auto, repeated": dict(of="repeated"),
    "float32": dict(of="tall32", k=4),
    "by column": dict(of="tall, by column", k=4),
    "float32, by column": dict(of="tall32, by column", k=4),
    "strided": dict(of="every other", k=4),
    "int64": dict(of="integers", k=3),
    "uint8": dict(of="small integers", k=3),
    "float16": dict(of="half", k=3),
    "full": dict(of="tall", k=3, svd_solver="full"),
    "full, float32": dict(of="tall32", svd_solver="full"),
    "full, long": dict(of="long", k=5, svd_solver="full"),
    "full, unequal": dict(of="unequal", svd_solver="full"),
    "covariance_eigh": dict(of="middle", k=0.8, svd_solver="covariance_eigh"),
    "covariance_eigh, wide": dict(of="small wide", k=3, svd_solver="covariance_eigh"),
    "arpack": dict(of="tall", k=3, svd_solver="arpack"),
    "arpack, tol": dict(of="middle", k=6, svd_solver="arpack", tol=1e-6, random_state=0),
    "lanczos": dict(of="middle32", k=6, svd_solver="lanczos"),
    "lanczos, fraction": dict(of="middle", k=0.6, svd_solver="lanczos"),
    "randomized": dict(of="middle", k=6, svd_solver="randomized", random_state=0),
    "randomized, options": dict(
        of="wide", k=4, svd_solver="randomized", random_state=5, iterated_power=2,
        n_oversamples=6, power_iteration_normalizer="QR",
    ),
    "row_gram": dict(of="wide", k=5, svd_solver="row_gram"),
    "row_gram, float32": dict(of="wide32", svd_solver="row_gram"),
    "krylov": dict(of="middle", k=6, svd_solver="krylov"),
    "krylov, float32, wide": dict(of="wide32", k=4, svd_solver="krylov"),
    "krylov, fraction": dict(of="tall", k=0.9, svd_solver="krylov"),
    "sketch": dict(of="middle", k=6, svd_solver="sketch"),
    "sketch, unit scale": dict(of="wide32", k=4, svd_solver="sketch", scale="unit"),
    "memory_limit, broad": dict(of="broad", k=5, memory_limit="60MB"),
    "csr": dict(of="csr", k=4),
    "csr, float32": dict(of="csr32", k=4),
    "csr, not centred": dict(of="csr", k=4, center=False),
    "csr, unit scale, weights": dict(of="csr", k=4, scale="unit", weights=counts_for),
    "csr, full": dict(of="csr", k=4, svd_solver="full"),
    "csr, krylov": dict(of="csr large", k=4, svd_solver="krylov"),
    "csr, sketch": dict(of="csr large", k=4, svd_solver="sketch"),
    "csr, randomized": dict(of="csr wide", k=4, svd_solver="randomized", random_state=1),
    "csr, wide": dict(of="csr wide", k=4),
    "csr, large": dict(of="csr large", k=4),
    "csc": dict(of="csc", k=4),
    "coo": dict(of="coo", k=4),
    "weights, counts": dict(of="tall", weights=counts_for),
    "weights, shares": dict(of="tall32", k=4, weights=shares_for),
    "weights, full": dict(of="tall", k=4, weights=counts_for, svd_solver="full"),
    "weights, lanczos": dict(of="middle", k=4, weights=shares_for, svd_solver="lanczos"),
    "weights, row_gram": dict(of="wide", k=4, weights=counts_for),
    "drop": dict(of="holes", k=3, missing="drop", scale="range"),
    "em": dict(of="holes", k=2, missing="em", scale="unit"),
    "em, weights": dict(of="holes", k=2, missing="em", weights=counts_for),
    "em, float32": dict(of="holes32", k=3, missing="em"),
    "nipals": dict(of="holes", k=2, missing="nipals"),
    "scale unit": dict(of="tall", k=0.8, scale="unit"),
    "scale pareto": dict(of="tall32", k=3, scale="pareto"),
    "scale range": dict(of="middle", k=3, scale="range"),
    "scale array": dict(of="tall", k=3, scale=np.linspace(1, 2, 12)),
    "scale unit, full": dict(of="tall", k=3, scale="unit", svd_solver="full"),
    "scale unit, wide": dict(of="wide", k=3, scale="unit"),
    "not centred": dict(of="tall", k=3, center=False),
    "not centred, full, unit": dict(of="tall32", center=False, scale="unit", svd_solver="full"),
    "whiten": dict(of="tall", k=4, whiten=True),
    "whiten, noise": dict(of="dependent", whiten=True),
    "mle": dict(of="tall", k="mle"),
    "mle, full": dict(of="tall", k="mle", svd_solver="full"),
}  # fmt: skip
RULES = [
    "kaiser",
    "broken-stick",
    "elbow",
    "parallel",
    "gavish-donoho",
    "marchenko-pastur",
    "gcv",
    "bi-cv",
    "cv",
    "permutation",
]
IN_MEMORY |= {f"rule {rule}": dict(of="tall", k=rule, random_state=3) for rule in RULES}
for _name, _options in IN_MEMORY.items():
    case(f"pca/{_name}")(partial(in_memory, **_options))


# ---- rows over time -----------------------------------------------------------------


def fit_in_batches(model, rows, step=37, **options):
    for at in range(0, rows.shape[0], step):
        model.partial_fit(rows[at : at + step], **options)
    return model


OVER_TIME = {
    "partial_fit": (dict(n_components=3), "tall"),
    "partial_fit, full": (dict(n_components=3, svd_solver="full"), "tall32"),
    "partial_fit, sketch": (dict(n_components=3, svd_solver="sketch"), "middle32"),
    "partial_fit, decay": (dict(n_components=3, decay=0.99), "tall"),
    "partial_fit, csr": (dict(n_components=3), "csr"),
    "partial_fit, unit scale": (dict(n_components=3, scale="unit"), "integers"),
}
for _name, (_options, _of) in OVER_TIME.items():
    case(f"over time/{_name}")(
        lambda folder, options=_options, of=_of: results_of(
            fit_in_batches(PCA(**options), table(of)), table(of)[:7], folder
        )
    )


@case("over time/forget")
def _(folder):
    X = table("tall")
    model = PCA(3).fit(X, sample_weight=shares_for(400))
    return results_of(model.forget(X[:90], sample_weight=shares_for(400)[:90]), X[:7], folder)


@case("over time/merge")
def _(folder):
    X = table("tall")
    one = PCA(3).fit(X[:150]).merge(PCA(3).fit(X[150:], sample_weight=counts_for(250)))
    other = PCA(3, svd_solver="full").fit(X[:150]).merge(PCA(3).fit(X[150:]))
    sketches = [PCA(3, svd_solver="sketch").fit(half) for half in np.split(table("middle"), 2)]
    merged = sketches[0].merge(sketches[1])
    return {**results_of(one, X[:7], folder), "other": other, "sketch": merged}


@case("over time/rescaled, truncated")
def _(folder):
    X = table("tall")
    model = PCA().fit(X)
    found = {f"rescaled {way}": model.rescaled(way) for way in ("unit", "pareto", None)}
    found |= {f"truncated {k}": model.truncated(k) for k in (2, 0.7, "gcv", "parallel")}
    return {**found, **results_of(model.rescaled("unit").truncated(2), X[:7], folder)}


@case("over time/from_covariance")
def _(folder):
    X = table("tall")
    C = np.cov(X, rowvar=False)
    known = dict(mean=X.mean(axis=0), n_samples=400)
    given = PCA.from_covariance(C, **known, n_components=3)
    return {
        "correlation": PCA.from_covariance(np.corrcoef(X, rowvar=False), n_components=0.9),
        "unit": PCA.from_covariance(C, **known, scale="unit", n_components="mle"),
        **results_of(given, X[:7], folder),
    }


@case("over time/summaries")
def _(folder):
    X = table("tall")
    found = {}
    for kind in (Moments, Triangle):
        joined = kind.of(X[:120]).merge(kind.of(X[120:]))
        found[kind.__name__] = PCA.from_summary(joined, n_components=4, scale="unit")
    sketched = PCA(4, svd_solver="sketch").fit(X).summary_
    assert isinstance(sketched, Sketch)
    return {**found, "Sketch": PCA.from_summary(sketched, n_components=2)}


@case("over time/IncrementalPCA")
def _(folder):
    X = table("tall32")
    online = fit_in_batches(IncrementalPCA(3, whiten=True), X)
    return {**results_of(online, X[:7], folder), "fit": IncrementalPCA(batch_size=50).fit(X)}


# ---- functions ----------------------------------------------------------------------


@case("functions/pca")
def _(folder):
    return {
        "ED": pca(table("tall"), 0.8),
        "SVD": pca(table("tall32"), 0.9, "SVD", ddof=0),
        "wide": pca(table("small wide"), 0.7),
        "sparse": pca(table("csr"), 0.5),
    }


@case("functions/svd")
def _(folder):
    return {
        "sparse": list(svd(table("csr wide"), 5)),
        "dense": list(svd(table("middle"), 4, center=True)),
        "most": list(svd(table("tall32"), 10)),
    }


@case("functions/plan")
def _(folder):
    path = to_npy(folder, table("middle"))
    found = {name: plan(table(name), 3) for name in ("tall", "wide32", "broad", "csr large")}
    found["file"] = plan(path, n_components=3, svd_solver="krylov", memory_limit="1GB")
    return found


@case("functions/verify, fit_transform")
def _(folder):
    model = PCA(4, svd_solver="sketch")
    scores = model.fit_transform(table("middle"))
    return {"scores": scores[:9], "verified": model.verify(table("middle"))}


@case("functions/impute")
def _(folder):
    X = table("holes")
    found = {way: PCA(2, missing=way).fit(X) for way in ("em", "nipals")}
    return {way: [model.impute(X), model.transform(X)] for way, model in found.items()}
