"""Recipes of cases: which rows, and what is done with them."""

from __future__ import annotations

import numpy as np
import tables
from handed import SOURCES
from tables import one_of
from themes import of_a_theme

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
}
# Summaries that rows can be added to, whatever the data.
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
}

_ALL = {**tables.DRAWS, **DRAWS}
_SIZES = ("n", "p")
# The most rows whose products with each other are quick enough.
_MOST_PRODUCTS = 1500


def draw(rng):
    """The part of a recipe that says what is done with the rows, at random."""
    return {name: make(rng) for name, make in DRAWS.items()}


def feasible(recipe):
    """The recipe with a solver that supports its calls, and few rows where n² is computed."""
    sequence, solver = recipe["sequence"], recipe["solver"]
    batches = sequence in ("partial_fit", "fit, then partial_fit", "merge", "forget", "decay")
    if batches and solver not in _BATCHWISE:
        recipe = {**recipe, "solver": "auto"}
    if solver == "row_gram" or sequence == "kernel":
        recipe = {**recipe, "n": min(recipe["n"], _MOST_PRODUCTS)}
    return recipe


def recipe_of(name):
    """The recipe of a case: a seed, and the seeds of changes after dots."""
    first, *changes = map(int, str(name).split("."))
    rng = np.random.default_rng([0, first])
    recipe = of_a_theme({**tables.draw(rng), **draw(rng)}, rng)
    recipe = feasible(tables.fitted_to_limits(recipe))
    for seed in changes:
        recipe = mutated(recipe, np.random.default_rng([3, seed]))
    return recipe


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
