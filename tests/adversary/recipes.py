"""Recipes of cases: the rows and the calls."""

from __future__ import annotations

import numpy as np
import tables
from handed import SOURCES
from kinds import values_of
from tables import one_of
from themes import apply_theme

SOLVERS = {
    "auto": 0.5,
    "covariance_eigh": 0.08,
    "full": 0.1,
    "row_gram": 0.07,
    "lanczos": 0.1,
    "arpack": 0.02,
    "krylov": 0.06,
    "randomized": 0.03,
    "sketch": 0.04,
}
SEQUENCES = {
    "fit": 0.48,
    "partial_fit": 0.14,
    "fit, then partial_fit": 0.05,
    "merge": 0.08,
    "forget": 0.08,
    "decay": 0.03,
    "rescaled": 0.03,
    "truncated": 0.03,
    "saved": 0.04,
    "kernel": 0.04,
    "any kernel": 0.08,
    "nystrom": 0.04,
    "features": 0.03,
    "robust": 0.03,
    "missing": 0.06,
    "diagnosed": 0.1,
    "bootstrapped": 0.03,
    "incremental": 0.03,
    "engine": 0.03,
}
# For small problems: a robust fit or many steps of EM take as long as a hundred other fits.
SMALL = {**SEQUENCES, "robust": 0.002, "missing": 0.004}
# Forms of rows that need no file and no library.
QUICK = (
    "array",
    "fortran",
    "reversed",
    "strided",
    "big endian",
    "csr",
    "csc",
    "iterator",
    "callable",
)
KERNELS = {
    "linear": 0.2,
    "poly": 0.2,
    "rbf": 0.25,
    "laplacian": 0.1,
    "cosine": 0.1,
    "chi2": 0.05,
    "sigmoid": 0.02,
    "precomputed": 0.08,
}
BATCHWISE = ("partial_fit", "fit, then partial_fit", "merge", "forget", "decay", "incremental")
# Solvers whose summaries can always be updated with new rows.
ONLINE = ("auto", "covariance_eigh", "full")
_BATCHWISE = (*ONLINE, "sketch")


def _components(rng):
    return one_of(
        rng,
        {
            None: 0.4,
            float(rng.integers(1, 100)) / 100: 0.12,
            int(np.exp(rng.uniform(0, np.log(64)))): 0.48,
        },
    )


DRAWS = {
    "solver": lambda rng: one_of(rng, SOLVERS),
    "k": _components,
    "scale": lambda rng: one_of(rng, {None: 0.75, "unit": 0.12, "pareto": 0.04, "range": 0.09}),
    "center": lambda rng: bool(rng.random() < 0.9),
    "source": lambda rng: one_of(rng, SOURCES),
    "sequence": lambda rng: one_of(rng, SEQUENCES),
    "cuts": lambda rng: int(rng.integers(0, 6)),
    "extra": lambda rng: round(float(rng.uniform(0, 8)), 2),
    "others": lambda rng: bool(rng.random() < 0.5),
    "empty": lambda rng: bool(rng.random() < 0.15),
    "kernel": lambda rng: one_of(rng, KERNELS),
    # log₁₀ of γ for rows of size 1, and the degree less 1 of a polynomial.
    "gamma": lambda rng: round(float(rng.uniform(-4, 4)), 2),
    "degree": lambda rng: int(rng.integers(0, 3)),
    "method": lambda rng: one_of(rng, {"em": 0.75, "nipals": 0.25}),
    "holes": lambda rng: round(float(rng.uniform(0.01, 0.4)), 3),
}

_ALL = {**tables.DRAWS, **DRAWS}
_SIZES = ("n", "p")
# Largest number of rows whose mutual products are quick enough.
_MOST_PRODUCTS = 1500


def draw(rng):
    """A random recipe for the calls."""
    return {name: make(rng) for name, make in DRAWS.items()}


def feasible(recipe):
    """The recipe with a solver that supports its calls, and few rows where n² is computed."""
    sequence, solver = recipe["sequence"], recipe["solver"]
    batches = sequence in BATCHWISE
    if batches and solver not in _BATCHWISE:
        recipe = {**recipe, "solver": "auto"}
    if solver == "row_gram" or sequence == "kernel":
        recipe = {**recipe, "n": min(recipe["n"], _MOST_PRODUCTS)}
    return recipe


def recipe_of(name):
    """The recipe of a case: a seed, and the seeds of changes after dots.

    "s" before the seed stands for a small case, and "sketch:" for one of this kind.
    """
    first, *changes = str(name).split(".")
    kind, _, first = first.rpartition(":")
    if first.startswith("s"):
        recipe = small(np.random.default_rng([8, int(first[1:])]))
    else:
        rng = np.random.default_rng([0, int(first)])
        recipe = {**tables.draw(rng), **draw(rng)}
        recipe = {**recipe, **values_of(kind, rng)} if kind else apply_theme(recipe, rng)
    recipe = feasible(tables.fitted_to_limits(recipe))
    for seed in changes:
        recipe = mutated(recipe, np.random.default_rng([3, int(seed)]))
    return recipe


def small(rng):
    """A recipe of up to 8 rows and columns, in forms that take little time."""
    recipe = {**tables.draw(rng), **draw(rng), "sequence": one_of(rng, SMALL)}
    n, p = int(rng.integers(2, 9)), int(rng.integers(1, 9))
    source = recipe["source"] if recipe["source"] in QUICK else "array"
    return {**recipe, "n": n, "p": p, "period": int(rng.integers(2, 9)), "source": source}


def mutated(recipe, rng):
    """The recipe with one to three values changed."""
    for _ in range(int(rng.integers(1, 4))):
        name = one_of(rng, [*_SIZES, *_ALL])
        if name in _SIZES:
            factor = 2.0 ** rng.uniform(-1, 1)
            recipe = {**recipe, name: int(recipe[name] * factor)}
        else:
            recipe = tables.changed(recipe, name, _ALL, rng)
    return feasible(tables.fitted_to_limits(recipe))
