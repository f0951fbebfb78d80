"""Themes: difficult combinations of values of a recipe that are rare by chance.

Each takes a random generator and returns some values of a recipe; the others stay as drawn.
"""

from __future__ import annotations

from tables import log_uniform, one_of

_PLAIN = {
    "mean": 0,
    "power": 0,
    "column_decades": 0,
    "first": 0,
    "constant": 0,
    "density": 0,
    "dtype": "float64",
    "weights": "none",
    "scale": None,
    "source": "array",
    "sequence": "fit",
}


def _copies(rng):
    """More copies of an eigenvalue than a block of vectors is wide, and k among them."""
    multiplicity = int(rng.integers(12, 65))
    n, p = int(rng.integers(300, 1000)), int(rng.integers(250, 1500))
    k = int(multiplicity * rng.uniform(0.6, 1.6))
    return {
        **_PLAIN,
        **({"n": n, "p": p} if rng.random() < 0.7 else {"n": max(n, p), "p": min(n, p)}),
        "pattern": "repeated eigenvalues",
        "multiplicity": multiplicity,
        "levels": int(rng.integers(1, 4)),
        "ratio": round(1 + log_uniform(rng, 2e-3, 1.0), 4),
        "k": float(rng.integers(10, 90)) / 100 if rng.random() < 0.15 else k,
        "solver": one_of(rng, {"auto": 0.6, "lanczos": 0.3, "krylov": 0.1}),
        "sequence": one_of(rng, {"fit": 0.8, "kernel": 0.2}),
        # A much longer first row makes all other eigenvalues small.
        "first": round(log_uniform(rng, 1e2, 1e7), 2) if rng.random() < 0.3 else 0,
    }


def _share(rng):
    """Copies of eigenvalues where a share of the variance is searched for."""
    return {
        **_copies(rng),
        "n": int(rng.integers(1010, 1037)),  # more would exceed MOST_NUMBERS
        "p": int(rng.integers(1000, 1010)),
        "levels": 2,
        "ratio": round(1 + log_uniform(rng, 1e-3, 0.05), 4),
        "k": float(rng.integers(10, 60)) / 100,
        "solver": "auto",
        "sequence": "fit",
        "first": 0,
    }


def _markers(rng):
    """Spikes at a regular distance: a sample of every such row sees nothing else."""
    power = int(rng.integers(12, 20))
    return {
        **_PLAIN,
        "n": 2**power,
        "p": int(rng.integers(1, 4)),
        "pattern": "periodic",
        "period": 2 ** int(rng.integers(max(power - 9, 1), power - 5)),
        "dtype": one_of(rng, {"float64": 0.6, "float32": 0.4}),
    }


def _heavy_sparse(rng):
    """Sparse rows, few of which have nearly all the weight."""
    return {
        **_PLAIN,
        "n": log_uniform(rng, 30, 600),
        "p": log_uniform(rng, 2, 30),
        "pattern": one_of(rng, ("clusters", "few values", "falling")),
        "density": round(rng.uniform(0.02, 0.3), 3),
        "mean": one_of(rng, (0, 1.0, 10.0, 1000.0)),
        "weights": one_of(rng, ("few heavy", "one heavy", "spread")),
        "source": one_of(rng, ("csr", "csc")),
    }


def _range(rng):
    """Squares near the ends of float64, rows near those of float32."""
    single = rng.random() < 0.4
    power = one_of(rng, ((-45, -36), (30, 39)) if single else ((-165, -150), (130, 153)))
    return {
        **_PLAIN,
        "pattern": one_of(rng, ("falling", "low rank", "clusters", "few values")),
        "n": log_uniform(rng, 2, 400),
        "p": log_uniform(rng, 2, 30),
        "decades": round(rng.uniform(0, 2), 2),
        "power": int(rng.integers(*power)),
        "dtype": "float32" if single else "float64",
        "scale": one_of(rng, {None: 0.7, "unit": 0.3}),
    }


def _device(rng):
    """Tensors of various dtypes."""
    return {
        **_PLAIN,
        "n": log_uniform(rng, 20, 5000),
        "p": int(rng.integers(1, 6)),
        "dtype": one_of(rng, ("bool", "bool", "uint8", "int32", "int64", "uint64", "float16")),
        "mean": one_of(rng, (0, 1.0, 1e3, 1e18)),
        "height": round(log_uniform(rng, 1.0, 1e3), 2),
        "pattern": one_of(rng, ("falling", "few values", "clusters", "spikes")),
        "source": "torch",
    }


def _routes(rng):
    """Parts of one table that take different routes."""
    return {
        **_PLAIN,
        "n": log_uniform(rng, 4, 100),
        "p": log_uniform(rng, 2, 60),
        "pattern": one_of(rng, ("falling", "low rank")),
        "sequence": one_of(rng, ("merge", "forget", "saved", "fit, then partial_fit")),
        "solver": "auto",
        "empty": bool(rng.random() < 0.5),
    }


def _unequal_columns(rng):
    """Scaled columns in units that differ by many orders of magnitude."""
    return {
        "n": log_uniform(rng, 4, 300),
        "p": log_uniform(rng, 2, 300),
        "pattern": one_of(rng, {"hilbert": 0.6, "falling": 0.2, "low rank": 0.2}),
        "k": log_uniform(rng, 1, 12),
        "column_decades": round(rng.uniform(2, 14), 2),
        "scale": one_of(rng, ("unit", "range", "pareto")),
        "solver": one_of(rng, ("auto", "full", "lanczos", "krylov", "sketch")),
        "dtype": "float64",
        "power": 0,
        "source": "array",
        "sequence": "fit",
    }


# Probabilities of the themes; None leaves a recipe unchanged.
THEMES = {
    None: 0.65,
    _copies: 0.06,
    _share: 0.01,
    _markers: 0.05,
    _heavy_sparse: 0.05,
    _range: 0.05,
    _device: 0.06,
    _routes: 0.04,
    _unequal_columns: 0.03,
}


def apply_theme(recipe, rng):
    """The recipe, perhaps with the values of a theme."""
    theme = one_of(rng, THEMES)
    return recipe if theme is None else {**recipe, **theme(rng)}
