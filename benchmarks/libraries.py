"""Each library's way to do a case: functions without arguments that return an Answer.

A call is a whole job: a new estimator, the fit, and the attributes read that a person reads.
A library is imported in its own function, for each runs in a process of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from cases import BATCH, Case

MAX_GRAM_COLUMNS = 4_000  # columns up to which p × p and its eigenvectors take less than 20 s
MAX_SVD_WORK = 1e10  # long · short² up to which an SVD of the rows takes about 5 s
STREAM_ROWS = 200_000  # of a stream whose library is slow: the time is counted a row

Call = Callable[[], "Answer"]
Method = Call | str  # a str says why it is not run


class Answer(NamedTuple):
    """Variances (k,), axes (k, p), and scores where the case asks for them."""

    variances: Any
    axes: Any
    scores: Any = None


def _estimator(case: Case, X: Any, make: Callable[[], Any]) -> Call:
    """Tasks of libraries that follow scikit-learn's conventions."""

    def answer(model: Any, scores: Any = None) -> Answer:
        return Answer(model.explained_variance_, model.components_, scores)

    def fit() -> Answer:
        return answer(make().fit(X))

    def fit_transform() -> Answer:
        model = make()
        return answer(model, model.fit_transform(X))

    if case.task == "fit_transform":
        return fit_transform
    if case.task in ("transform", "row"):
        model = make().fit(X)
        rows = X[:1] if case.task == "row" else X
        return lambda: answer(model, model.transform(rows))
    return fit


def _stream(X: Any, make: Callable[[], Any]) -> Call:
    def run() -> Answer:
        model = make()
        for start in range(0, len(X), BATCH):
            model.partial_fit(X[start : start + BATCH])
        return Answer(model.explained_variance_, model.components_)

    return run


def princomp(case: Case, X: Any) -> dict[str, Method]:
    from princomp import PCA

    k = case.k if case.k < 1 else int(case.k)
    if case.task == "stream":
        return {"princomp": _stream(X, lambda: PCA(k))}
    return {"princomp": _estimator(case, X, partial(PCA, k, scale=_scale(case)))}


def _scale(case: Case) -> str | None:
    return "unit" if case.task == "unit" else None


class _Scaled:
    """StandardScaler, then a PCA; variances in the convention of n − 1.

    The scaler divides by the deviation over n, which makes each variance n/(n − 1) times that of
    a correlation PCA.
    """

    def __init__(self, pca: Any) -> None:
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        self.pipeline = make_pipeline(StandardScaler(), pca)

    def fit(self, X: Any) -> _Scaled:
        last = self.pipeline.fit(X)[-1]
        self.explained_variance_ = last.explained_variance_ * ((len(X) - 1) / len(X))
        self.components_ = last.components_
        return self


def sklearn(case: Case, X: Any) -> dict[str, Method]:
    from sklearn.decomposition import PCA, IncrementalPCA

    k = case.k if case.k < 1 else int(case.k)
    if case.task == "stream":
        return {"sklearn": _stream(X[:STREAM_ROWS], lambda: IncrementalPCA(k))}
    methods: dict[str, Method] = {}
    for solver in ("auto", "full", "covariance_eigh", "arpack", "randomized"):
        reason = _reason_to_skip(case, solver)
        if reason == "":
            continue
        pca = partial(PCA, k, svd_solver=solver, random_state=0)
        make = (lambda pca=pca: _Scaled(pca())) if case.task == "unit" else pca
        methods[f"sklearn {solver}"] = reason or _estimator(case, X, make)
    return methods


def _auto_solver(case: Case) -> str:
    """What svd_solver="auto" of scikit-learn 1.9 means here."""
    short, long = min(case.n, case.p), max(case.n, case.p)
    if case.density:
        return "arpack"
    if case.p <= 1_000 and case.n >= 10 * case.p:
        return "covariance_eigh"
    if long <= 500:
        return "full"
    return "randomized" if 1 <= case.k < 0.8 * short else "full"


def _reason_to_skip(case: Case, solver: str) -> str | None:
    """Why a solver of scikit-learn is not run; "" where it says nothing new; None: it is run."""
    short, long = min(case.n, case.p), max(case.n, case.p)
    if case.task in ("transform", "row"):
        return None if solver == "auto" else ""  # one product, the same for every solver
    if case.density:
        supported = solver in ("auto", "arpack", "covariance_eigh")
    else:
        supported = solver in ("auto", "full", "covariance_eigh") or case.k >= 1
        supported = supported and not (solver == "arpack" and case.k >= short)
    if not supported:
        return "not supported here"
    if solver == _auto_solver(case):
        return ""  # auto is the same
    if solver == "covariance_eigh" and case.p > MAX_GRAM_COLUMNS:
        return "p × p would take more than 20 s, or the memory"
    if solver == "full" and long * short**2 > MAX_SVD_WORK:
        return "takes 5 to 20 s, many times the best"
    return None


def onedal(case: Case, X: Any) -> dict[str, Method]:
    if case.density:
        return {"oneDAL": "sparse rows fall back to scikit-learn"}
    k = case.k if case.k < 1 else int(case.k)
    if case.task == "stream":
        from sklearnex.preview.decomposition import IncrementalPCA

        return {"oneDAL": _stream(X, lambda: IncrementalPCA(k))}
    from sklearnex.decomposition import PCA

    solvers = {}
    if case.p <= MAX_GRAM_COLUMNS:
        solvers["oneDAL"] = "covariance_eigh"
    if _auto_solver(case) == "randomized" and case.task not in ("transform", "row"):
        solvers["oneDAL auto"] = "auto"  # what a person gets: scikit-learn's
    methods: dict[str, Method] = {}
    for name, solver in solvers.items():
        pca = partial(PCA, k, svd_solver=solver, random_state=0)
        make = (lambda pca=pca: _Scaled(pca())) if case.task == "unit" else pca
        methods[name] = _estimator(case, X, make)
    return methods


def fbpca(case: Case, X: Any) -> dict[str, Method]:
    import fbpca

    if case.task not in ("fit", "fit_transform"):
        return {}
    k = case.components
    n = X.shape[0]

    def fit() -> Answer:
        np.random.seed(0)  # noqa: NPY002 (the only one it listens to)
        U, s, Va = fbpca.pca(X, k)
        return Answer(s**2 / (n - 1), Va, U * s if case.task == "fit_transform" else None)

    return {"fbpca": fit}


def faiss(case: Case, X: Any) -> dict[str, Method]:
    import faiss

    if case.floats != "f32" or case.density or case.task not in ("fit", "transform", "row"):
        return {}
    n, p = X.shape
    if p > 3_000:
        return {"faiss": "takes more than 20 s"}
    k = case.components

    def train() -> Any:
        matrix = faiss.PCAMatrix(p, k)
        matrix.max_points_per_d = n // p + 1  # all rows: it takes a sample of many
        matrix.train(X)
        return matrix

    def answer(matrix: Any, scores: Any = None) -> Answer:
        variances = faiss.vector_to_array(matrix.eigenvalues)[:k] / (n - 1)
        axes = faiss.vector_to_array(matrix.PCAMat).reshape(-1, p)[:k]
        return Answer(variances, axes, scores)

    if case.task == "fit":
        return {"faiss": lambda: answer(train())}
    matrix, rows = train(), X[:1] if case.task == "row" else X
    fitted = answer(matrix)
    return {"faiss": lambda: fitted._replace(scores=matrix.apply(rows))}


def torch(case: Case, X: Any) -> dict[str, Method]:
    import torch
    from bare_torch import methods
    from bound import cores

    torch.set_num_threads(cores())
    if sp.issparse(X):
        return {"torch lowrank": "it centres sparse rows by a dense n × p matrix"}
    return methods(case, torch.from_numpy(X))


LIBRARIES: dict[str, Callable[[Case, Any], dict[str, Method]]] = {
    "princomp": princomp,
    "sklearn": sklearn,
    "onedal": onedal,
    "fbpca": fbpca,
    "faiss": faiss,
    "torch": torch,
}
ESTIMATORS = ("sklearn", "onedal", "fbpca")  # they validate, centre and answer in full
DISTRIBUTIONS = (
    "princomp",
    "numpy",
    "scipy",
    "scikit-learn",
    "scikit-learn-intelex",
    "fbpca",
    "faiss-cpu",
    "torch",
)
