"""One fit of a recipe: parameters, the form of the rows, and the sequence of calls."""

from __future__ import annotations

import copy
import math
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations_with_replacement, pairwise
from typing import Any

import bootstrap_cases
import diagnosed_cases
import kernel_route_cases
import missing_cases
import numpy as np
import robust_cases
from handed import ON_ENGINES, batch_form, in_form, scores_on_engine
from oracle import LONG
from recipes import ONLINE

from princomp import PCA, IncrementalPCA, KernelPCA, load
from princomp.errors import PrincompError
from princomp.summaries import Columns

# Up to this many numbers, "auto" keeps a summary that can be updated with new rows.
_KEPT = 2**18
# Largest number of columns for which the monomials of a polynomial kernel are few.
_MOST_OF_A_POLYNOMIAL = 4


@dataclass
class Fit:
    """A model, and the rows and weights that it was fitted to.

    ``wrong_refusal`` is the error of a call that must not be refused. ``check`` returns the
    Findings of models with other claims than a PCA, and ``scores`` the scores of all rows if they
    are on an engine.
    """

    model: Any
    rows: np.ndarray
    weights: np.ndarray | None
    wrong_refusal: str = ""
    check: Callable[[], list] | None = None
    scores: Callable[[], np.ndarray] | None = None


def run(recipe, rows, weights, folder):
    """The Fit of a recipe. May raise any of princomp's errors."""
    rng = np.random.default_rng([2, recipe["seed"]])
    calls = _Calls(recipe, rows, weights, folder, rng)
    name = recipe["sequence"].replace(",", "").replace(" ", "_")
    return getattr(calls, name)()


class _Calls:
    def __init__(self, recipe, rows, weights, folder, rng):
        self.recipe, self.rows, self.weights = recipe, rows, weights
        self.folder, self.rng = folder, rng
        self.scale, self.wrong_refusal = recipe["scale"], ""

    def model(self, **changes):
        recipe = self.recipe
        k, solver = recipe["k"], recipe["solver"]
        if isinstance(k, int):
            # Fewer than min(n, p), if the solver requires it.
            k = max(1, min(k, *(s - (solver == "arpack") for s in self.rows.shape)))
        parameters = {
            "n_components": k,
            "svd_solver": solver,
            "scale": self.scale,
            "center": recipe["center"],
            "random_state": 0,
        }
        return PCA(**{**parameters, **changes})

    def cuts(self, n):
        return np.sort(self.rng.integers(0, n + 1, self.recipe["cuts"]))

    def rows_in_form(self, start=0, stop=None, form=None):
        """A range of rows in a form, and their weights as keyword argument."""
        part = self.rows[start:stop]
        X = in_form(part, form or self.recipe["source"], self.folder, self.cuts(len(part)))
        weights = None if self.weights is None else self.weights[start:stop]
        return X, {} if weights is None else {"sample_weight": weights}

    def fit_another_model(self):
        """Fit and drop another model, as programs do."""
        if self.recipe["others"]:
            n, p = int(self.rng.integers(3, 60)), self.rows.shape[1]
            PCA(1).partial_fit(1e3 * self.rng.standard_normal((n, p)))

    def batches(self, model, start=0):
        """Add the rows from ``start`` on, in batches of any form."""
        n = len(self.rows)
        ends = [start, *(start + self.cuts(n - start)), n]
        for first, stop in pairwise(ends):
            if first == stop and not self.recipe["empty"]:
                continue
            X, weights = self.rows_in_form(first, stop, batch_form(self.rng))
            try:
                model.partial_fit(X, **weights)
            except PrincompError as error:
                if first < stop or start == stop == 0 or not hasattr(model, "_fitted"):
                    raise
                self.wrong_refusal = f"no rows: {type(error).__name__}: {error}"
            if self.rng.random() < 0.2:
                self.fit_another_model()
        self.fit_another_model()
        return model

    def finished_fit(self, model, rows=None, weights=None):
        self.fit_another_model()
        if rows is None:
            rows, weights = self.rows, self.weights
        return Fit(model, rows, weights, self.wrong_refusal)

    # ---- sequences of calls ---

    def fit(self):
        X, weights = self.rows_in_form()
        return self.finished_fit(self.model().fit(X, **weights))

    def partial_fit(self):
        return self.finished_fit(self.batches(self.model()))

    def fit_then_partial_fit(self):
        start = len(self.rows) // 2
        X, weights = self.rows_in_form(0, start)
        return self.finished_fit(self.batches(self.model().fit(X, **weights), start))

    def merge(self):
        n = len(self.rows)
        middle = int(self.rng.integers(2, max(n - 1, 3)))
        models = []
        for first, stop in ((0, middle), (middle, n)):
            X, weights = self.rows_in_form(first, stop)
            models.append(self.model().fit(X, **weights))
        # Routes that keep no scatter cannot merge; the rows must not decide whether one is kept.
        kept = any(not isinstance(model.summary_, Columns) for model in models)
        solvers = ONLINE if kept else ()
        return self._must_not_be_refused(models[0], lambda: models[0].merge(models[1]), solvers)

    def forget(self):
        """Rows of another magnitude are added and removed again."""
        n, p = self.rows.shape
        many = int(self.rng.integers(1, n + 1))
        size = 10.0 ** self.recipe["extra"] * (np.abs(self.rows).max() if n else 1.0)
        extra = (self.rng.standard_normal((many, p)) * float(size)).astype(np.float64)
        model = self.model()
        before = self.rng.random() < 0.5
        if before:
            model.partial_fit(extra)
        X, weights = self.rows_in_form(form="array")
        if before or self.rng.random() < 0.5:
            model.partial_fit(X, **weights)
        else:
            model.fit(X, **weights)
        if not before:
            model.partial_fit(extra)
        self.fit_another_model()
        kept = ("auto", "covariance_eigh")
        return self._must_not_be_refused(model, lambda: model.forget(extra), kept, removed=extra)

    def decay(self):
        decay = float(1 - 10.0 ** -self.rng.uniform(1, 4))
        model = self.batches(self.model(decay=decay))
        each = decay ** np.arange(len(self.rows) - 1, -1, -1.0)
        return self.finished_fit(
            model, self.rows, each if self.weights is None else each * self.weights
        )

    def rescaled(self):
        scale, self.scale = self.scale, None
        X, weights = self.rows_in_form()
        return self.finished_fit(self.model().fit(X, **weights).rescaled(scale))

    def truncated(self):
        X, weights = self.rows_in_form()
        model = self.model(n_components=None).fit(X, **weights)
        return self.finished_fit(model.truncated(self.model().n_components))

    def saved(self):
        path = f"{self.folder}/model.pca"
        half = len(self.rows) // 2
        online = self.recipe["solver"] in ONLINE and self.rng.random() < 0.5
        stop = half if online else None
        X, weights = self.rows_in_form(0, stop)
        model = self.model().fit(X, **weights)
        way = int(self.rng.integers(3))
        if way == 0:
            model.save(path)
            model = load(path)
        else:
            model = pickle.loads(pickle.dumps(model)) if way == 1 else copy.deepcopy(model)
        self.fit_another_model()
        return self.finished_fit(self.batches(model, half) if online else model)

    def kernel(self):
        k = self.model().n_components
        solver = "auto" if self.recipe["solver"] == "auto" else "arpack"
        X, _ = self.rows_in_form()
        self.weights, self.scale = None, None
        with np.errstate(all="ignore"):
            square = float((self.rows.astype(np.float64) ** 2).mean())
        if self.rows.shape[1] > _MOST_OF_A_POLYNOMIAL or not 1e-300 < square < np.inf:
            square = 0.0
        if not square or self.rng.random() < 0.4:
            return self.finished_fit(KernelPCA(k, kernel="linear", eigen_solver=solver).fit(X))
        gamma = float(10.0 ** self.rng.uniform(-3, 1)) / square
        degree, coef0 = int(self.rng.integers(1, 4)), float(self.rng.integers(2))
        options = {"gamma": gamma, "degree": degree, "coef0": coef0, "eigen_solver": solver}
        model = KernelPCA(k, kernel="poly", **options).fit(X)
        return self.finished_fit(model, monomials(self.rows, gamma, degree, coef0))

    # ---- other estimators, and what is computed from a model: see the modules ---

    def _with_check(self, run):
        model, check = run(self)
        return Fit(model, self.rows, self.weights, self.wrong_refusal, check)

    def any_kernel(self):
        return self._with_check(kernel_route_cases.exact)

    def nystrom(self):
        return self._with_check(kernel_route_cases.nystrom)

    def features(self):
        return self._with_check(kernel_route_cases.features)

    def robust(self):
        return self._with_check(robust_cases.robust)

    def missing(self):
        return self._with_check(missing_cases.missing)

    def diagnosed(self):
        return self._with_check(diagnosed_cases.diagnosed)

    def bootstrapped(self):
        return self._with_check(bootstrap_cases.bootstrapped)

    def incremental(self):
        k = self.model().n_components
        return self.finished_fit(self.batches(IncrementalPCA(k if isinstance(k, int) else None)))

    def engine(self):
        """Rows are on an engine, and so are their scores."""
        form = self.recipe["source"] if self.recipe["source"] in ON_ENGINES else "partitions"
        X, weights = self.rows_in_form(form=form)
        model = self.model().fit(X, **weights)
        fit, cuts = self.finished_fit(model), self.cuts(len(self.rows))
        fit.scores = lambda: scores_on_engine(model, self.rows, form, cuts)
        return fit

    def _must_not_be_refused(self, model, call, solvers, removed=None):
        """Which calls a fit supports must not depend on its rows.

        Except that no share of a variance exists if it is zero, or rounding of rows ``removed``.
        """
        kept = self.recipe["solver"] in solvers and self.rows.size <= _KEPT
        try:
            call()
            _ = model.explained_variance_
        except PrincompError as error:
            if not kept or self.scale is not None or type(error).__name__ == "NotFiniteError":
                raise
            if self.weights is not None and self.weights.sum() <= 1:
                raise  # too few rows for a variance
            if "fraction" in str(error) and _only_rounding_is_left(
                self.rows, self.weights, removed
            ):
                raise
            return Fit(None, self.rows, self.weights, f"{type(error).__name__}: {error}")
        return self.finished_fit(model)


def monomials(rows, gamma, degree, coef0):
    """Rows whose inner products are (γxᵀy + c)ᵈ, in extended precision."""
    wide = np.sqrt(LONG(gamma)) * rows.astype(LONG)
    wide = np.concatenate([wide, np.full((len(rows), 1), np.sqrt(LONG(coef0)))], axis=1)
    columns = []
    for chosen in combinations_with_replacement(range(wide.shape[1]), degree):
        repeats = [math.factorial(chosen.count(j)) for j in set(chosen)]
        count = math.factorial(degree) // math.prod(repeats)
        columns.append(np.sqrt(LONG(count)) * wide[:, chosen].prod(axis=1))
    return np.stack(columns, axis=1)


def _only_rounding_is_left(rows, weights, removed):
    """Whether the scatter of all columns is zero, or less than the rounding of rows removed.

    As much as `summaries.centred` allows for: of the products' unit roundoff, which for float32
    rows in one fit is float32's.
    """
    weights = np.ones(len(rows)) if weights is None else weights
    # About the row that counts most: with weights that span many orders of magnitude, the rounding
    # errors of any other difference could exceed the spread.
    wide = rows.astype(np.float64)
    about = wide - wide[np.argmax(weights)]
    about -= np.average(about, axis=0, weights=weights)
    left = weights @ about**2
    gone = 0.0 if removed is None else ((removed - np.average(rows, axis=0)) ** 2).sum(axis=0)
    unit = max(float(np.finfo(kind).eps) for kind in (np.float64, _floating(rows.dtype)))
    count = len(rows) + (0 if removed is None else len(removed))
    units = max(64 * rows.shape[1], min(count, 256))
    return bool((left <= units * unit * gone).all())


def _floating(dtype):
    return np.float32 if dtype in (np.float16, np.float32) else np.float64
