"""Random tables for the search.

A recipe is a flat dict of plain values. ``draw`` makes one, ``changed`` changes one of its values,
and ``rows_of`` builds the same rows from the same recipe every time.
"""

from __future__ import annotations

import numpy as np
from patterns import PATTERNS

# Largest number of cells of a table, and of multiplications of its decomposition.
MOST_NUMBERS, MOST_WORK = 2**20, 1.2e9
ORDERS = ("as made", "reversed", "shuffled", "sorted", "largest first", "largest last")
DTYPES = {
    "float64": 0.6,
    "float32": 0.2,
    "float16": 0.03,
    "bool": 0.06,
    "uint8": 0.03,
    "int32": 0.03,
    "int64": 0.03,
    "uint64": 0.02,
}
WEIGHTS = {
    "none": 0.68,
    "counts": 0.06,
    "uniform": 0.06,
    "some zero": 0.04,
    "spread": 0.06,
    "few heavy": 0.05,
    "one heavy": 0.03,
    "beyond float32": 0.02,
    # Only in cases of a kind.
    "below float32": 0.0,
    "wide spread": 0.0,
}


def one_of(rng, chances):
    """A key of a dict of probabilities, or an item of a sequence."""
    if not isinstance(chances, dict):
        return chances[int(rng.integers(len(chances)))]
    bounds = np.cumsum(list(chances.values()))
    return list(chances)[int((bounds / bounds[-1]).searchsorted(rng.random(), side="right"))]


def log_uniform(rng, low, high):
    """A number whose logarithm is uniform, an integer where the bounds are integers."""
    value = float(np.exp(rng.uniform(np.log(low), np.log(high))))
    return round(value) if isinstance(low, int) else value


def _sometimes(rng, chance, value):
    return value() if rng.random() < chance else 0


def _power_of_two_often(rng, low, high):
    value = log_uniform(rng, low, high)
    return 1 << (value.bit_length() - 1) if rng.random() < 0.6 else value


SIZES = {
    "tiny": (0.28, lambda rng: (int(rng.integers(2, 40)), int(rng.integers(1, 9)))),
    "small": (0.35, lambda rng: (log_uniform(rng, 20, 500), log_uniform(rng, 2, 40))),
    "long": (
        0.17,
        lambda rng: (_power_of_two_often(rng, 2**12, 2**20 - 1), int(rng.integers(1, 4))),
    ),
    "wide": (0.12, lambda rng: (log_uniform(rng, 2, 60), log_uniform(rng, 50, 2000))),
    "large": (0.08, lambda rng: (log_uniform(rng, 300, 1400), log_uniform(rng, 200, 1700))),
}

# Random values of the recipe of a table, except its size.
DRAWS = {
    "seed": lambda rng: int(rng.integers(2**31)),
    "pattern": lambda rng: one_of(rng, list(PATTERNS)),
    "decades": lambda rng: round(rng.uniform(0, 14), 2),
    "period": lambda rng: _power_of_two_often(rng, 2, 2**14),
    "height": lambda rng: round(log_uniform(rng, 1e-2, 1e4), 4),
    "noise": lambda rng: round(log_uniform(rng, 1e-8, 1.0), 10),
    "multiplicity": lambda rng: log_uniform(rng, 1, 64),
    "levels": lambda rng: int(rng.integers(1, 5)),
    "ratio": lambda rng: round(1 + log_uniform(rng, 1e-3, 10.0), 4),
    "mean": lambda rng: _sometimes(rng, 0.35, lambda: float(f"{log_uniform(rng, 1.0, 1e15):.3g}")),
    "power": lambda rng: _sometimes(rng, 0.12, lambda: int(rng.integers(-165, 150))),
    "column_decades": lambda rng: _sometimes(rng, 0.2, lambda: round(rng.uniform(0, 12), 2)),
    "first": lambda rng: _sometimes(
        rng, 0.12, lambda: float(f"{log_uniform(rng, 10.0, 1e12):.3g}")
    ),
    "constant": lambda rng: _sometimes(rng, 0.1, lambda: int(rng.integers(1, 3))),
    "density": lambda rng: round(_sometimes(rng, 0.2, lambda: rng.uniform(0.02, 0.9)), 3),
    "order": lambda rng: "as made" if rng.random() < 0.6 else one_of(rng, ORDERS),
    "dtype": lambda rng: one_of(rng, DTYPES),
    "weights": lambda rng: one_of(rng, WEIGHTS),
}


def draw(rng):
    """A recipe for a table."""
    kind = one_of(rng, {name: chance for name, (chance, _) in SIZES.items()})
    n, p = SIZES[kind][1](rng)
    recipe = {"n": n, "p": p, **{name: make(rng) for name, make in DRAWS.items()}}
    # These patterns need certain sizes more often than chance gives them.
    if kind == "long" and rng.random() < 0.5:
        recipe["pattern"] = "periodic"
    if kind == "large" and rng.random() < 0.7:
        recipe["pattern"] = "repeated eigenvalues"
    return fitted_to_limits(recipe)


def fitted_to_limits(recipe):
    """The recipe with rows and columns reduced to the limits."""
    n, p = max(int(recipe["n"]), 2), max(int(recipe["p"]), 1)
    while n * p > MOST_NUMBERS or n * p * min(n, p) > MOST_WORK:
        n, p = (n, p // 2) if p > n else (n // 2, p)
    return {**recipe, "n": n, "p": max(p, 1)}


def changed(recipe, name, draws, rng):
    """The recipe with one value doubled, halved, moved by one, or drawn again."""
    value = recipe[name]
    redraw = isinstance(value, str | bool | list) or value is None or name == "seed" or not value
    if redraw or rng.random() < 0.25:
        return {**recipe, name: draws[name](rng)}
    steps = (2 * value, value / 2, value + 1, value - 1, value * float(rng.uniform(0.8, 1.25)))
    value = type(value)(one_of(rng, steps))
    if name == "density":
        value = min(value, 1.0)
    if name == "power":
        value = max(min(value, 300), -300)
    return {**recipe, name: value}


# ---- rows -------------------------------------------------------------------------------


def rows_of(recipe):
    """Rows (n, p) and weights (n,) or None."""
    rng = np.random.default_rng([1, recipe["seed"]])
    n, p = recipe["n"], recipe["p"]
    with np.errstate(all="ignore"):
        rows = PATTERNS[recipe["pattern"]](rng, n, p, recipe)
        if recipe["column_decades"]:
            rows = rows * np.logspace(0, -recipe["column_decades"], p)
        if recipe["density"]:
            rows = rows * (rng.random((n, p)) < recipe["density"])
        if recipe["mean"]:
            rows = rows + recipe["mean"] * rng.integers(1, 4, p)
        if recipe["constant"]:
            rows[:, : recipe["constant"]] = np.resize([0.1, 1e8 + 0.1], min(recipe["constant"], p))
        if recipe["first"]:
            rows[0] *= recipe["first"]
        rows = _ordered(rows, recipe["order"], rng)
        rows = _cast(rows * 10.0 ** recipe["power"], recipe["dtype"])
    return np.ascontiguousarray(rows), _weights(recipe["weights"], n, rng)


def _ordered(rows, order, rng):
    if order == "shuffled":
        return rows[rng.permutation(len(rows))]
    if order in ("as made", "reversed"):
        return rows if order == "as made" else rows[::-1]
    key = rows[:, 0] if order == "sorted" else (rows**2).sum(axis=1)
    return rows[np.argsort(-key if order == "largest first" else key, kind="stable")]


def _cast(rows, dtype):
    kind = np.dtype(dtype)
    if kind.kind == "f":
        # Rows and their scores must be numbers that the precision can hold.
        limit = float(np.finfo(kind).max) / (8 * np.sqrt(rows.shape[1]))
        return np.clip(np.nan_to_num(rows), -limit, limit).astype(kind)
    if kind.kind == "b":
        return rows > 0
    info = np.iinfo(kind)
    low, high = float(info.min), float(info.max) * (1 - 2.0**-52)
    return np.clip(np.rint(np.nan_to_num(rows)), low, high).astype(kind)


def _weights(kind, n, rng):
    if kind == "none":
        return None
    heavy = np.full(n, 1e-6)
    heavy[rng.integers(n, size=4 if kind == "few heavy" else 1)] = 1e6
    return {
        "counts": lambda: rng.integers(1, 5, n).astype(float),
        "uniform": lambda: rng.uniform(0.5, 3.0, n),
        "some zero": lambda: rng.integers(0, 3, n).astype(float),
        "spread": lambda: 10.0 ** rng.uniform(-10, 10, n),
        "beyond float32": lambda: 10.0 ** rng.uniform(60, 150) * rng.uniform(0.5, 3.0, n),
        "below float32": lambda: 10.0 ** -rng.uniform(60, 150) * rng.uniform(0.5, 3.0, n),
        "wide spread": lambda: 10.0 ** rng.uniform(-60, 60, n),
        "few heavy": lambda: heavy,
        "one heavy": lambda: heavy,
    }[kind]()
